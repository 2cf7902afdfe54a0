//! TCP New Jersey (TCP-NJ): K. Xu, Y. Tian, N. Ansari: Improving TCP Performance in Integrated Wireless
//! Communications Networks, Computer Networks 47(2), 2005.
//!
//! Unit: segments. Valid where TCP Jersey is (`jersey.rs`): 1 <= cwnd < 2^40, RTT above 1 us, congested
//! routers that mark (flow option `ecn`, a queue that marks from a threshold on).
//!
//! Grade B: the abstract was read, and what the paper on A-LIAD says: New Jersey is Jersey with an estimate
//! that the path of the acknowledgements does not disturb. The equation is Jersey's, R_n = (RTT
//! R_(n-1) + L_n) / (t_n - t_(n-1) + K RTT) with K = 1 ([`Jersey`]). What differs is the clock
//! (timestamp-based available bandwidth estimation, TABE): t_n is when the segment came that led to the ACK,
//! by the receiver's clock, which the ACK brings as a timestamp -> [`ReceiverClock`], [`Event::Header`]. So
//! acknowledgements that bunch up, wait in a queue or are lost on their way change neither the sum of L_n nor
//! that of the intervals. Congestion warning (CW), the growth of the window and its answers are Jersey's.
//!
//! Decisions:
//!  * a delayed acknowledgement brings the arrival of the last segment that it
//!    acknowledges, not its own departure.
//!  * an ACK that a later one has overtaken brings its segments and no interval.
//!  * a receiver that tells no arrival (the Linux kernel's, QUIC's) makes it Jersey, by the sender's clock.
//!  * after an idle time the receiver's clock starts anew, as Jersey's.

use alloc::boxed::Box;

use crate::algorithms::jersey::Jersey;
use crate::algorithms::prelude::*;
use crate::header::{Arrived, Echo, Header};

pub(crate) const ENTRY: Entry = Entry {
    id: "new-jersey",
    label: "TCP New Jersey",
    about: "TCP Jersey whose bandwidth estimate goes by the times of arrival at the receiver, so that the way of the ACKs does not disturb it.",
    source: "K. Xu, Y. Tian, N. Ansari: Improving TCP Performance in Integrated Wireless Communications Networks, Computer Networks 47(2), 2005",
    reference: "Computer Networks 47(2), pp. 219-237",
    grade: Grade::B,
    params: Jersey::PARAMS,
    sender: SenderOptions::NONE,
    colour: "#ee8866",
    marker: "2",
    build: |args, start| Windowed::hosted(NewJersey::new(args), start),
};

#[derive(Debug)]
struct NewJersey {
    jersey: Jersey,
    /// The arrival time on the acknowledgement that is about to be reported.
    arrived: Option<Time>,
}

impl NewJersey {
    fn new(args: &Args) -> Self {
        Self { jersey: Jersey::new(args), arrived: None }
    }
}

impl Policy for NewJersey {
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        let when = self.arrived.unwrap_or(flow.now);
        self.jersey.on_data_acked(when, flow, ack);
    }

    fn backoff(&self, w: &Window, flow: &Flow, why: Congestion) -> Cut {
        self.jersey.backoff(w, flow, why)
    }

    fn on(&mut self, w: &mut Window, flow: &Flow, event: Event<'_>) {
        match event {
            Event::Header(Header::Arrival(when)) => self.arrived = Some(*when),
            event => self.jersey.on(w, flow, event),
        }
    }

    fn needs(&self) -> Needs {
        Needs { echo: Some(Box::new(ReceiverClock::default())), ..Needs::default() }
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        self.jersey.probe(emit);
    }
}

/// The receiver's part of TABE: an acknowledgement tells when the last data segment came.
#[derive(Debug, Default)]
struct ReceiverClock {
    last: Option<Time>,
}

impl Echo for ReceiverClock {
    fn on_data(&mut self, arrived: &Arrived) {
        self.last = Some(arrived.now);
    }

    fn answer(&mut self, _now: Time) -> Option<Header> {
        self.last.map(Header::Arrival)
    }
}

#[cfg(test)]
mod tests {
    use super::ReceiverClock;
    use crate::event::Event;
    use crate::header::{Arrived, Echo, Header};
    use crate::rig::{Rig, near, probe};
    use crate::time::{Span, Time};

    /// One segment a millisecond reaches the receiver for three seconds; the RTT is half a second. The `n`-th
    /// acknowledgement comes after `comes(n)` ms, and all but every `kept`-th are lost on their way, so that
    /// each of the rest acknowledges more.
    fn estimate(id: &str, kept: u32, comes: impl Fn(u32) -> u32) -> f64 {
        let mut rig = Rig::new(id, &[], 10.0, 2.0);
        let at = |ms: u32| Time(0) + Span::from_millis(u64::from(ms));
        for n in (1..=3000_u32).filter(|n| n % kept == 0) {
            rig.cc.on(&rig.flow, Event::Header(&Header::Arrival(at(n))));
            let wait = at(comes(n)).since(rig.flow.now).secs();
            rig.ack(f64::from(kept), wait, 0.5, false);
        }
        probe(&*rig.cc, "rate_segments_per_s")
    }

    /// TABE: of C = 1000 segments a second, R_n = C (1 - e^(-t / RTT)) is 99.8 % after six round trips.
    /// Acknowledgements that are lost, that come in bunches of twenty, or that wait in a queue which lets one
    /// pass in 2 ms change nothing. By Jersey's clock such a queue halves the bandwidth.
    #[test]
    fn the_way_of_the_acknowledgements_leaves_the_estimate_alone() {
        for kept in [1, 4, 20] {
            near(estimate("new-jersey", kept, |n| n), 998.0, 0.005);
            near(estimate("new-jersey", kept, |n| n.div_ceil(20) * 20), 998.0, 0.005);
        }
        near(estimate("new-jersey", 1, |n| 2 * n), 998.0, 0.005);
        near(estimate("jersey", 1, |n| 2 * n), 500.0, 0.005);
    }

    /// A delayed acknowledgement tells of the segment, not of its own departure.
    #[test]
    fn the_receiver_tells_when_the_last_segment_came() {
        let mut clock = ReceiverClock::default();
        assert_eq!(clock.answer(Time(5)), None);
        for now in [Time(7), Time(9)] {
            clock.on_data(&Arrived { now, seq: 0, size: 1500, retransmission: false, ecn: 0, header: None });
        }
        assert_eq!(clock.answer(Time(200)), Some(Header::Arrival(Time(9))));
    }
}
