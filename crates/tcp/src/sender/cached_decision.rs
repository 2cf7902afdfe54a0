//! The controller's last decision, in the sender's units. The sender reads it again only after
//! it has reported an event.

use core::ops::Deref;

use bentpipe_cc::{Controller, Decision, Time};

/// The most segments that one connection should have outstanding. At 1460 bytes this is 5.7 times the largest
/// window of TCP (2^30 bytes, RFC 7323 section 2.3). An algorithm may ask for any window after a single
/// acknowledgement, and a hundred connections may do so at once. The sender therefore stops one segment
/// beyond this number, and [`Sender::room`](crate::Sender::room) shows the excess.
pub const MAX_OUTSTANDING: u64 = 1 << 22;

/// The controller's decision, and its window in whole segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct CachedDecision {
    decision: Decision,
    segments: u64,
}

impl CachedDecision {
    pub(super) fn new(cc: &dyn Controller, mss: u32) -> Self {
        let mut cached = Self { decision: cc.decision(), segments: 1 };
        cached.measure(mss);
        cached
    }

    /// Replaces the decision after an event reported to the controller.
    #[inline(always)]
    pub(super) fn set(&mut self, decision: Decision, mss: u32) {
        let before = self.decision.cwnd;
        let Decision { cwnd, ssthresh, pacing, deadline } = decision;
        (self.decision.cwnd, self.decision.deadline) = (cwnd, deadline);
        // The comparisons keep the compiler from reading at once two words that were written one by one. That
        // would be a store-to-load forwarding stall of 4 % of the time with BBR.
        if self.decision.ssthresh != ssthresh {
            self.decision.ssthresh = ssthresh;
        }
        if self.decision.pacing != pacing {
            self.decision.pacing = pacing;
        }
        if self.decision.cwnd != before {
            self.measure(mss);
        }
    }

    /// The sender itself has something to do at `at`: until the decision is read again, the deadline is no
    /// later.
    pub(super) fn wake_at(&mut self, at: Time) {
        self.decision.deadline = self.decision.deadline.min(at);
    }

    #[inline]
    fn measure(&mut self, mss: u32) {
        let (cwnd, size) = (self.decision.cwnd, u64::from(mss));
        // Most changes are smaller than a segment and need no division.
        if cwnd.wrapping_sub(self.segments.wrapping_mul(size)) >= size {
            self.segments = (cwnd / size).clamp(1, MAX_OUTSTANDING + 1);
        }
    }

    /// Whole segments that may be in flight, at least one and at most one more than [`MAX_OUTSTANDING`].
    pub(super) fn segments(&self) -> u64 {
        self.segments
    }
}

impl Deref for CachedDecision {
    type Target = Decision;

    fn deref(&self) -> &Decision {
        &self.decision
    }
}
