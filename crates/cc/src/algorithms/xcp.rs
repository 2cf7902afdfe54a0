//! XCP's sender: D. Katabi, M. Handley, C. Rohrs: Congestion Control for High Bandwidth-Delay Product
//! Networks, ACM SIGCOMM, 2002, and A. Falk, Y. Pryadkin, D. Katabi: Specification for the Explicit Control
//! Protocol (XCP), draft-falk-xcp-spec-03, 2007.
//!
//! Unit: segments of one MSS, seconds; the header has bytes per second. Valid for RTTs from 1 ms to 1 s:
//! queues count a longer one as 1 s. A segment tells the queues its sender's RTT and X, the time from one
//! segment to the next, RTT / W. Queues answer with a change of throughput, and W changes by
//! change x RTT / segment with each acknowledgement. There is no slow start and no congestion avoidance.
//! Equations: header -> [`Event::Departure`], W <- max(W + feedback, 1) of section 3.2 -> `on_header`; the
//! queue's part is the queue `xcp`.
//!
//! The rules are those of the authors' module for ns-2.35 (xcp/xcp-end-sys.cc), which was read; paper and
//! draft are cited from knowledge.
//! Decisions and deviations:
//!  * where no queue on the path computes, the sender would get what it asks for. Then it behaves
//!    as Reno: slow start and congestion avoidance. It does so until the first header comes back
//!    that a queue has written.
//!  * a loss is answered as Reno answers it: the window is halved; one segment after a timeout. The
//!    module does so; the paper says that losses are rare and answered as TCP does. ssthresh has no
//!    use while queues compute.
//!  * in fast recovery the sender's own rules hold, and feedback is not taken.
//!  * it asks for as much as there is while its window limits it, and for no change otherwise. The
//!    module always asks for the most. A window which did not limit the sender does not grow here, so it
//!    leaves the capacity to others.
//!  * an acknowledgement that covers several segments brings the sum of their changes. The module
//!    acknowledges each segment.
//!  * queues count bytes on the wire, the window counts payload: the change is too large by the share
//!    of headers, a few percent.
//!  * after a pause it does what all do (`idle_restart` of the flow).

use alloc::boxed::Box;

use crate::algorithms::prelude::*;
use crate::header::{Arrived, Echo, Header, seconds};

pub(crate) const ENTRY: Entry = Entry {
    id: "xcp",
    label: "XCP",
    about: "Queues of kind xcp tell each sender by how much to change its throughput; behaves as Reno where there is none.",
    source: "D. Katabi, M. Handley, C. Rohrs: Congestion Control for High Bandwidth-Delay Product Networks, ACM SIGCOMM, 2002",
    reference: "doi:10.1145/633025.633035",
    grade: Grade::A,
    params: &[],
    sender: SenderOptions { header: 20, queue: Some("xcp"), ..SenderOptions::NONE },
    colour: "#33bbee",
    marker: "X",
    build: |_, start| Windowed::hosted(Xcp { computed: false }, start),
};

/// XCP's window rules.
#[derive(Debug)]
struct Xcp {
    /// A queue on the path computes.
    computed: bool,
}

impl Xcp {
    fn on_header(&mut self, w: &mut Window, flow: &Flow, header: &Header) {
        let &Header::Change { change, computed: true, .. } = header else { return };
        self.computed = true;
        if flow.phase == Phase::Recovery || change > 0.0 && !flow.cwnd_limited {
            return;
        }
        let rtt = seconds(flow.rtt.map(|rtt| rtt.smoothed));
        let change = change * rtt / f64::from(flow.mss.max(1));
        w.cwnd = (w.cwnd + change).max(1.0); // section 3.2
    }
}

impl Policy for Xcp {
    fn avoid(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        if !self.computed {
            additive(w, flow, ack, 1.0);
        }
    }

    fn slow_start(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) -> f64 {
        if self.computed { 0.0 } else { exponential(w, ack.segments(flow)) }
    }

    fn needs(&self) -> Needs {
        Needs { echo: Some(Box::new(Sum::default())), ..Needs::default() }
    }

    fn on(&mut self, w: &mut Window, flow: &Flow, event: Event<'_>) {
        match event {
            Event::Departure(slot) => {
                let rtt = seconds(flow.rtt.map(|rtt| rtt.smoothed));
                let change = if flow.cwnd_limited { f64::INFINITY } else { 0.0 };
                *slot = Some(Header::Change { rtt, spacing: rtt / w.cwnd, change, computed: false });
            }
            Event::Header(header) => self.on_header(w, flow, header),
            _ => {}
        }
    }

    fn refuses_slow_start(&self) -> Option<&'static str> {
        Some("queues tell it its window from the first round trip on")
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("computed", f64::from(u8::from(self.computed)));
    }
}

/// The sum of the changes of all segments since the last acknowledgement.
#[derive(Debug, Default)]
struct Sum {
    held: Option<Header>,
}

impl Echo for Sum {
    fn on_data(&mut self, arrived: &Arrived) {
        let Some(Header::Change { rtt, spacing, change, computed: true }) = arrived.header else { return };
        let before = match self.held {
            Some(Header::Change { change, .. }) => change,
            _ => 0.0,
        };
        self.held = Some(Header::Change { rtt, spacing, change: before + change, computed: true });
    }

    fn answer(&mut self, _: Time) -> Option<Header> {
        self.held.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Congestion, Event};
    use crate::rig::{Rig, near};

    fn feedback(change: f64) -> Header {
        Header::Change { rtt: 0.5, spacing: 0.01, change, computed: true }
    }

    /// 500 ms and 100 segments of 1 MB: one more segment in flight is 2 MB/s more.
    #[test]
    fn the_window_changes_by_the_change_of_throughput_times_the_rtt() {
        let mut rig = Rig::new("xcp", &[], 100.0, 2.0);
        rig.ack(1.0, 0.5, 0.5, true);
        let before = rig.w();
        rig.cc.on(&rig.flow, Event::Header(&feedback(6e6)));
        near(rig.w() - before, 3.0, 1e-5);
        rig.cc.on(&rig.flow, Event::Header(&feedback(-20e6)));
        near(before - rig.w(), 7.0, 1e-5);
        rig.cc.on(&rig.flow, Event::Header(&feedback(-1e12)));
        assert_eq!(rig.w(), 1.0);
    }

    #[test]
    fn once_a_queue_has_computed_nothing_else_makes_the_window_grow() {
        let mut rig = Rig::new("xcp", &[], 10.0, 20.0);
        rig.round(0.5);
        assert_eq!(rig.w(), 20.0, "as Reno");
        rig.round(0.5);
        near(rig.w(), 21.0, 0.01);
        let wish = Header::Change { rtt: 0.5, spacing: 0.01, change: f64::INFINITY, computed: false };
        rig.cc.on(&rig.flow, Event::Header(&wish));
        near(rig.w(), 21.0, 0.01);
        rig.cc.on(&rig.flow, Event::Header(&feedback(0.0)));
        let before = rig.w();
        rig.round(0.5);
        assert_eq!(rig.w(), before);
        rig.congestion(Congestion::Timeout);
        rig.round(0.5);
        assert_eq!(rig.w(), 1.0, "and no slow start either");
    }

    #[test]
    fn a_header_tells_the_rtt_and_the_time_between_segments() {
        let mut rig = Rig::new("xcp", &[], 50.0, 2.0);
        let none = Header::Change { rtt: 0.0, spacing: 0.0, change: f64::INFINITY, computed: false };
        assert_eq!(rig.header(), Some(none));
        rig.cc.on(&rig.flow, Event::Header(&feedback(0.0)));
        rig.ack(1.0, 0.5, 0.5, true);
        let Some(Header::Change { rtt, spacing, .. }) = rig.header() else { panic!() };
        assert_eq!((rtt, spacing), (0.5, 0.01));
        rig.flow.cwnd_limited = false;
        let Some(Header::Change { change, .. }) = rig.header() else { panic!() };
        assert_eq!(change, 0.0);
    }

    #[test]
    fn a_delayed_acknowledgement_brings_the_sum_of_the_changes() {
        let mut echo = Sum::default();
        let now = Time::default();
        let hear = |echo: &mut Sum, header| {
            let arrived = Arrived { now, seq: 0, size: 1500, retransmission: false, ecn: 0, header };
            echo.on_data(&arrived);
        };
        hear(&mut echo, Some(feedback(300.0)));
        hear(&mut echo, Some(feedback(-100.0)));
        hear(&mut echo, None);
        assert_eq!(echo.answer(now), Some(feedback(200.0)));
        assert_eq!(echo.answer(now), None, "each change is reported once");
    }
}
