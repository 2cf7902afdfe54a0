//! The controller's answer in the sender's units. Divisions are made when it changes, not whenever it is looked at.

use core::ops::Deref;

use bentpipe_cc::Decision;

/// What the controller wants.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    decision: Decision,
    segments: u64,
    real: f64,
}

impl Wanted {
    pub(super) fn new(decision: Decision, mss: u32) -> Self {
        let cwnd = decision.cwnd;
        Self { decision, segments: Self::whole(cwnd, mss), real: cwnd as f64 / f64::from(mss) }
    }

    /// The controller has been asked again. Field by field: the answer was written in words, and a copy of all of it reads wider
    /// than that, for which the processor waits.
    #[inline]
    pub(super) fn set(&mut self, decision: Decision, mss: u32) {
        let Decision { cwnd, ssthresh, pacing } = decision;
        if cwnd != self.decision.cwnd {
            self.decision.cwnd = cwnd;
            self.segments = Self::whole(cwnd, mss);
            self.real = cwnd as f64 / f64::from(mss);
        }
        if ssthresh != self.decision.ssthresh {
            self.decision.ssthresh = ssthresh;
        }
        if pacing != self.decision.pacing {
            self.decision.pacing = pacing;
        }
    }

    #[inline]
    fn whole(cwnd: u64, mss: u32) -> u64 {
        (cwnd / u64::from(mss)).max(1)
    }

    /// Whole segments that may be in flight, at least one.
    pub(super) fn segments(&self) -> u64 {
        self.segments
    }

    /// The congestion window in segments, real-valued.
    pub(super) fn real(&self) -> f64 {
        self.real
    }
}

impl Deref for Wanted {
    type Target = Decision;

    fn deref(&self) -> &Decision {
        &self.decision
    }
}
