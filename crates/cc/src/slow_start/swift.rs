//! Swift Start: C. Partridge, D. Rockwell, M. Allman, R. Krishnan, J. Sterbenz: A Swifter Start for TCP, BBN
//! Technical Report 8339, 2002.
//!
//! Grade C: only the abstract could be read, and what later papers say of it: the spacing of the first
//! acknowledgements gives the rate of the bottleneck (packet pair), the window becomes a share of rate times
//! RTT, and its segments are paced over one round trip; then slow start goes on. Unit: segments. The report's
//! text would decide how the pairs are chosen, which share is taken and when it is given up.
//!
//! Reconstruction:
//!  * rate: bytes acknowledged over the time since the ACK before, summed over the ACKs of the initial window
//!    (four segments at least) and leaving out pauses of half an RTT or more, which come from waiting and not
//!    from the bottleneck. Bytes are counted, so delayed ACKs do no harm.
//!  * window: `swift_fraction` x rate x smallest RTT, if that is more than W. The share of
//!    1/8 is what later papers name.
//!  * pacing: at that window in one RTT, for one RTT, in which W does not grow.
//!  * congestion ends it.

use super::SlowStartRule;
use crate::event::Congestion;
use crate::report::{Ack, Flow, Phase};
use crate::time::{Rate, Span, Time};
use crate::window::{Cut, Window};

pub(super) const FRACTION: &str = "swift_fraction";
/// Segments that the estimate needs at least.
const LEAST: f64 = 4.0;

#[derive(Clone, Copy, Debug, PartialEq)]
enum SwiftStage {
    /// Counts what the first ACKs acknowledge, and in which time.
    Measuring {
        bytes: u64,
        time: Span,
        /// When the last ACK came.
        last: Option<Time>,
    },
    /// The window is sent in one round trip.
    Paced {
        rtt: Span,
        until: Time,
    },
    Done,
}

/// See the head of this file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Swift {
    fraction: f64,
    /// Segments that are measured.
    measured: f64,
    stage: SwiftStage,
}

impl Swift {
    pub(super) fn new(fraction: f64, initial_window: f64) -> Self {
        let stage = SwiftStage::Measuring { bytes: 0, time: Span::ZERO, last: None };
        Self { fraction, measured: initial_window.max(LEAST), stage }
    }
}

impl SlowStartRule for Swift {
    fn before_growth(&mut self, flow: &Flow, ack: &Ack, w: &mut Window) {
        match &mut self.stage {
            SwiftStage::Measuring { bytes, time, last } => {
                let (Some(rtt), true) = (flow.rtt, ack.acked > 0) else { return };
                let gap = last.replace(flow.now).map(|last| flow.now.since(last));
                if let Some(gap) = gap.filter(|gap| gap.0 < rtt.min.0 / 2) {
                    *bytes = bytes.saturating_add(ack.acked);
                    *time += gap;
                }
                if (flow.delivered as f64) < self.measured * f64::from(flow.mss) {
                    return;
                }
                let (bytes, time) = (*bytes, *time);
                let rate = bytes as f64 / time.secs();
                let target = self.fraction * rate * rtt.min.secs() / f64::from(flow.mss.max(1));
                self.stage = SwiftStage::Done;
                let may_grow = flow.cwnd_limited
                    && flow.phase == Phase::Open
                    && ack.acked > ack.uncounted
                    && ack.ce == 0
                    && w.cwnd < w.ssthresh;
                if may_grow && time > Span::ZERO && target > w.cwnd {
                    w.cwnd = target.min(w.ssthresh);
                    self.stage = SwiftStage::Paced { rtt: rtt.latest, until: flow.now + rtt.latest };
                }
            }
            SwiftStage::Paced { until, .. } if flow.now >= *until => self.stage = SwiftStage::Done,
            SwiftStage::Paced { .. } | SwiftStage::Done => {}
        }
    }

    fn holds(&self) -> bool {
        matches!(self.stage, SwiftStage::Paced { .. })
    }

    fn pace(&self, cwnd: u64) -> Option<Rate> {
        match self.stage {
            SwiftStage::Paced { rtt, .. } if rtt > Span::ZERO => {
                Some(Rate(((cwnd as f64 / rtt.secs()) as u64).max(1)))
            }
            _ => None,
        }
    }

    fn on_congestion(&mut self, _flow: &Flow, _why: Congestion, _w: &Window, _own: &Cut) {
        self.stage = SwiftStage::Done;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{SLOW_START, SWIFT};
    use crate::decision::Pacing;
    use crate::event::Congestion;
    use crate::rig::{Rig, near, text};
    use crate::time::Rate;

    fn rig() -> Rig {
        Rig::new("reno", &[(SLOW_START, text(SWIFT))], 10.0, f64::INFINITY)
    }

    /// By hand: ACKs 1 ms apart are 1000 segments a second. At 600 ms the path takes 600; an eighth is 75,
    /// and paced over 600 ms that is 125 a second. Delayed ACKs of two segments every 2 ms give the same.
    #[test]
    fn the_first_acks_give_the_window() {
        for (each, gap) in [(1.0, 0.001), (2.0, 0.002)] {
            let mut rig = rig();
            let acks = (10.0 / each) as u32;
            for i in 0..acks {
                assert!(rig.w() < 20.0, "{i}");
                rig.ack(each, if i == 0 { 0.6 } else { gap }, 0.6, i == 0);
            }
            near(rig.w(), 75.0, 1e-9);
            assert_eq!(rig.cc.decision().pacing, Pacing::Rate(Rate(125_000_000)));
            rig.ack(1.0, 0.3, 0.6, false);
            near(rig.w(), 75.0, 1e-9);
            rig.ack(1.0, 0.31, 0.6, true);
            near(rig.w(), 76.0, 1e-9);
            assert_eq!(rig.cc.decision().pacing, Pacing::Window);
        }
    }

    /// An initial window of one segment: the pause of a round trip between the first two ACKs is no
    /// spacing of the bottleneck.
    #[test]
    fn pauses_do_not_count() {
        let mut rig = Rig::new("reno", &[(SLOW_START, text(SWIFT))], 1.0, f64::INFINITY);
        for gap in [0.6, 0.6, 0.001, 0.6] {
            rig.ack(1.0, gap, 0.6, false);
        }
        near(rig.w(), 75.0, 1e-9);
    }

    #[test]
    fn a_slow_path_and_congestion_leave_slow_start_as_it_is() {
        let mut slow = rig();
        (0..10).for_each(|_| slow.ack(1.0, 0.05, 0.6, false));
        assert_eq!(slow.w(), 20.0); // an eighth of 12 segments is less
        let mut lost = rig();
        lost.ack(1.0, 0.6, 0.6, true);
        lost.congestion(Congestion::Loss);
        (0..20).for_each(|_| lost.ack(1.0, 0.001, 0.6, false));
        assert!(lost.w() < 11.0);
    }
}
