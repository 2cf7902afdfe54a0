//! RCP's sender: N. Dukkipati, N. McKeown: Why Flow-Completion Time is the Right Metric for Congestion
//! Control, ACM SIGCOMM Computer Communication Review, 2006.
//!
//! Unit: bytes per second, seconds. Valid for any RTT.
//! A segment carries the rate that its sender wants, which is all, and its RTT. Each queue lowers the rate to
//! what it offers to every flow. The sender paces its segments at the rate that comes back. It has no window
//! and answers to no loss: queues keep the rate right.
//!
//! The rules are those of the authors' module for ns-2.35 (rcp/rcp-host.cc), which was read; the paper
//! is cited from knowledge.
//! Decisions and deviations:
//!  * the module sends a SYN without data and begins when the answer brings a rate. A SYN carries
//!    no header here, so a connection begins with its initial window, as Reno does, and has a
//!    rate after one round trip.
//!  * the module has no window. Here cwnd is a guard, not a control: twice what the rate fills in a round
//!    trip, and four segments. It binds only when acknowledgements fail to come.
//!  * an application that pauses goes on at the last rate. The module asks for the rate without data (REF) if
//!    segments are more than a round trip apart; here the next segment does.
//!  * lost segments are sent again within the rate, when the sender finds the loss; the module does so at
//!    the end of the transfer.
//!  * where no queue on the path computes, it behaves as Reno until a rate comes back. In fast recovery it
//!    keeps ssthresh as its window.
//!  * queues count bytes on the wire, and the rate is that of payload: it is too large by the share of
//!    headers, which the queues then see. The module counts its header.
//!  * the header has 12 bytes: two rates and an RTT of four bytes each. The paper does not say; the
//!    module counts 40 with IP's.

use alloc::boxed::Box;

use crate::algorithms::model::{guard, pace};
use crate::algorithms::prelude::*;
use crate::header::{Header, Newest, seconds};
use crate::time::whole;

pub(crate) const ENTRY: Entry = Entry {
    id: "rcp",
    label: "RCP",
    about: "Queues of kind rcp tell all senders one rate, at which they are paced; behaves as Reno where there is none.",
    source: "N. Dukkipati, N. McKeown: Why Flow-Completion Time is the Right Metric for Congestion Control, ACM SIGCOMM CCR, 2006",
    reference: "doi:10.1145/1111322.1111336",
    grade: Grade::A,
    params: &[],
    sender: SenderOptions { header: 12, queue: Some("rcp"), ..SenderOptions::NONE },
    colour: "#aaaa00",
    marker: "X",
    build: |_, start| Box::new(Rcp::new(start)),
};

/// The gain of its guard.
const GAIN: f64 = 2.0;

#[derive(Debug)]
struct Rcp {
    /// What it does until a rate comes back.
    reno: Windowed<Fallback>,
    /// The rate that queues allow.
    rate: Option<f64>,
    /// The guard, bytes.
    guard: u64,
}

/// Reno's window rules.
#[derive(Debug)]
struct Fallback;

impl Policy for Fallback {}

impl Rcp {
    fn new(start: Start) -> Self {
        Self { reno: Windowed::new(Fallback, start), rate: None, guard: 0 }
    }

    /// The guard for the present RTT.
    fn measure(&mut self, flow: &Flow) {
        let Some(rate) = self.rate else { return };
        let in_flight = rate * seconds(flow.rtt.map(|rtt| rtt.smoothed));
        self.guard = guard(GAIN, in_flight, flow.mss.max(1));
    }
}

impl Controller for Rcp {
    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        if self.rate.is_none() {
            return self.reno.on_ack(flow, ack);
        }
        self.measure(flow);
    }

    fn on(&mut self, flow: &Flow, event: Event<'_>) {
        match event {
            Event::Congestion(_) | Event::Undo(_) if self.rate.is_none() => self.reno.on(flow, event),
            Event::Life(_) => {
                self.reno.on(flow, event);
                self.measure(flow);
            }
            Event::Departure(slot) => {
                let rtt = seconds(flow.rtt.map(|rtt| rtt.smoothed));
                *slot = Some(Header::Rate { rtt, rate: f64::INFINITY, computed: false });
            }
            Event::Header(header) => {
                let &Header::Rate { rate, computed: true, .. } = header else { return };
                self.rate = Some(rate);
                self.measure(flow);
            }
            _ => {}
        }
    }

    fn needs(&self) -> Needs {
        Needs {
            echo: Some(Box::new(Newest::default())),
            recovery: RecoveryWindow::Controller,
            ..Needs::default()
        }
    }

    fn decision(&self) -> Decision {
        let reno = self.reno.decision();
        match self.rate {
            None => reno,
            Some(rate) => Decision {
                cwnd: self.guard,
                ssthresh: reno.ssthresh,
                pacing: Pacing::Rate(pace(1.0, whole(rate))),
                deadline: Time::MAX,
            },
        }
    }

    fn backoff(&self, flow: &Flow, why: Congestion) -> Backoff {
        if self.rate.is_none() {
            return self.reno.backoff(flow, why);
        }
        let Decision { cwnd, ssthresh, .. } = self.decision();
        Backoff { cwnd, ssthresh, repeat: false }
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("offered_bytes_per_s", self.rate.unwrap_or(f64::NAN));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Congestion, Event};
    use crate::rig::Rig;
    use crate::time::Rate;

    /// 1 MB/s and 500 ms: the guard is twice 0.5 segments of 1 MB and four.
    #[test]
    fn it_is_paced_at_the_rate_that_comes_back_and_a_loss_changes_nothing() {
        let mut rig = Rig::new("rcp", &[], 10.0, 20.0);
        rig.round(0.5);
        assert_eq!((rig.w(), rig.cc.decision().pacing), (20.0, Pacing::Window), "as Reno at first");
        let wish = Header::Rate { rtt: 0.5, rate: f64::INFINITY, computed: false };
        assert_eq!(rig.header(), Some(wish));
        rig.cc.on(&rig.flow, Event::Header(&wish));
        assert_eq!(rig.w(), 20.0, "a wish is no rate");
        rig.cc.on(&rig.flow, Event::Header(&Header::Rate { rtt: 0.5, rate: 1e6, computed: true }));
        assert_eq!((rig.w(), rig.cc.decision().pacing), (5.0, Pacing::Rate(Rate(1_000_000))));
        for why in [Congestion::Loss, Congestion::Timeout] {
            let before = rig.congestion(why);
            assert_eq!(rig.cc.decision(), before);
        }
    }
}
