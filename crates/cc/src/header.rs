//! Headers that travel: what a data segment carries to the queues on its way, and what an acknowledgement
//! brings back.
//!
//! A controller that returns an [`Echo`] (`Needs::echo`) writes a [`Header`] on each of its data segments. A
//! queue that computes may read the header when the packet arrives and rewrite it when the packet departs.
//! The receiving end hands it to the echo, which says what the next acknowledgement carries. The sender gives
//! that to the controller (`Event::Header`) before it reports the acknowledgement itself, even if the
//! acknowledgement acknowledges nothing new.
//!
//! An echo may answer with something of its own, such as a rate that the receiver has computed from the
//! segments that came.

use core::fmt::Debug;

use crate::time::{Span, Time};

/// The header of a data segment, or the answer to it on an acknowledgement. Times are in seconds,
/// rates in bytes per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Header {
    /// The change of throughput that the path allows: XCP (draft-falk-xcp-spec-03 section 2).
    Change {
        /// The sender's round-trip time; 0 while it has none.
        rtt: f64,
        /// The time from one of its segments to the next: the RTT over the segments of its window.
        spacing: f64,
        /// The change that the sender wants. Each queue that computes lowers it to what it allows.
        change: f64,
        /// True if a queue has computed; otherwise `change` is only a wish.
        computed: bool,
    },
    /// The rate that the path allows one flow: RCP.
    Rate {
        /// The sender's round-trip time; 0 while it has none.
        rtt: f64,
        /// The rate that the sender wants, infinite for as much as there is. Each queue that computes
        /// lowers it to what it allows.
        rate: f64,
        /// True if a queue has computed; otherwise `rate` is only a wish.
        computed: bool,
    },
    /// The load of the most loaded queue: VCP. [`Load::Unknown`] where no queue has computed.
    Load(Load),
    /// The rate that the receiver has computed: TEAR.
    ReceiverRate(f64),
    /// When the last data segment came, by the receiver's clock: a timestamp of the acknowledgement (RFC
    /// 7323). The clock is the receiver's own, so only differences are meaningful.
    Arrival(Time),
}

/// The load of a queue in the code points of VCP, the least first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Load {
    /// No queue has computed.
    #[default]
    Unknown,
    /// Low load.
    Low,
    /// High load.
    High,
    /// Overload.
    Over,
}

/// A data segment as the receiving end sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrived {
    /// When it came.
    pub now: Time,
    /// Its number, from 0: full segments, as the sender numbers them. A retransmission has
    /// the number of the original.
    pub seq: u64,
    /// Its bytes on the wire.
    pub size: u32,
    /// True if it was sent before.
    pub retransmission: bool,
    /// The two ECN bits of its IP header (RFC 3168 section 5): 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
    pub ecn: u8,
    /// Its header as the last queue left it, if it has one.
    pub header: Option<Header>,
}

/// The receiving end's part of a protocol: a pure state machine like a controller. It decides what is carried
/// by an acknowledgement that covers several segments.
pub trait Echo: Debug + Send {
    /// A data segment arrives, in order or not.
    fn on_data(&mut self, arrived: &Arrived);

    /// What the acknowledgement that leaves at `now` carries.
    fn answer(&mut self, now: Time) -> Option<Header>;
}

/// Returns the header of the last segment that came. Between two segments an acknowledgement repeats it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Newest {
    header: Option<Header>,
}

impl Echo for Newest {
    fn on_data(&mut self, arrived: &Arrived) {
        self.header = arrived.header.or(self.header);
    }

    fn answer(&mut self, _: Time) -> Option<Header> {
        self.header
    }
}

/// A round-trip time as headers carry it: seconds, 0 for none.
pub(crate) fn seconds(rtt: Option<Span>) -> f64 {
    rtt.map_or(0.0, Span::secs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Congestion, Event};
    use crate::registry;
    use crate::rig::Rig;

    /// Whatever queues may write, and in whatever order acknowledgements and losses come between.
    #[test]
    fn no_header_makes_a_window_less_than_a_segment_or_endless() {
        let change = |change| Header::Change { rtt: 0.5, spacing: 0.01, change, computed: true };
        let rate = |rate| Header::Rate { rtt: 0.5, rate, computed: true };
        let headers = [
            change(1e300),
            change(-1e300),
            change(f64::INFINITY),
            change(0.0),
            rate(0.0),
            rate(f64::INFINITY),
            rate(1e-9),
            Header::Load(Load::Unknown),
            Header::Load(Load::Low),
            Header::Load(Load::Over),
            Header::ReceiverRate(1e300),
            Header::Arrival(Time::MAX),
        ];
        let mut with_headers = 0;
        for entry in registry::all() {
            let mut rig = Rig::new(entry.id, &[], 10.0, 20.0);
            let mss = u64::from(rig.flow.mss);
            with_headers += u32::from(rig.cc.needs().echo.is_some());
            for (i, header) in headers.iter().cycle().take(200).enumerate() {
                rig.cc.on(&rig.flow, Event::Header(header));
                let _ = rig.header();
                if i % 7 == 0 {
                    rig.congestion(if i % 2 == 0 { Congestion::Loss } else { Congestion::Timeout });
                }
                rig.ack(1.0, 0.1, 0.5, i % 10 == 0);
                let cwnd = rig.cc.decision().cwnd;
                assert!(cwnd >= mss && cwnd < u64::MAX, "{}: {cwnd} after {header:?}", entry.id);
            }
        }
        assert!(with_headers >= 3);
    }

    #[test]
    fn the_newest_header_is_returned_until_there_is_a_newer_one() {
        let mut echo = Newest::default();
        let now = Time::default();
        assert_eq!(echo.answer(now), None);
        for header in [Some(Header::Load(Load::High)), None] {
            echo.on_data(&Arrived { now, seq: 0, size: 40, retransmission: false, ecn: 0, header });
            assert_eq!(echo.answer(now), Some(Header::Load(Load::High)));
        }
    }
}
