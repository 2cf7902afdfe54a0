//! The controller's answer in the sender's units. Divisions are made when it changes, not whenever it is looked at; nor is the
//! controller asked again before something was said to it.

use core::ops::Deref;

use bentpipe_cc::{Controller, Decision, Time};

/// Most segments that one connection should have outstanding: at 1460 bytes 5.7 times what the window field of TCP can say (2^30 bytes,
/// RFC 7323 section 2.3). An algorithm may want any window after one acknowledgement, all of which would be sent at once, and a
/// hundred connections may do so together; so each gets one segment more than these, and [`Sender::room`](crate::Sender::room) tells
/// that it was too much.
pub const MAX_OUTSTANDING: u64 = 1 << 22;

/// What the controller wants.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    decision: Decision,
    segments: u64,
    /// When the controller wants to be called; [`Time::MAX`] for not at all.
    deadline: Time,
}

impl Wanted {
    pub(super) fn new(cc: &dyn Controller, mss: u32) -> Self {
        let mut wanted = Self { decision: cc.decision(), segments: 1, deadline: Time::MAX };
        wanted.measure(mss);
        wanted.deadline = cc.deadline().unwrap_or(Time::MAX);
        wanted
    }

    /// The controller has been told something and is asked again.
    pub(super) fn ask(&mut self, cc: &dyn Controller, mss: u32) {
        self.renew(mss, |decision| {
            decision.follow(cc.decision());
            cc.deadline().unwrap_or(Time::MAX)
        });
    }

    /// `answer` brings the controller's answer up to date, and says when the controller wants to be called.
    #[inline]
    pub(super) fn renew(&mut self, mss: u32, answer: impl FnOnce(&mut Decision) -> Time) {
        let before = self.decision.cwnd;
        self.deadline = answer(&mut self.decision);
        if self.decision.cwnd != before {
            self.measure(mss);
        }
    }

    #[inline]
    fn measure(&mut self, mss: u32) {
        let (cwnd, size) = (self.decision.cwnd, u64::from(mss));
        // Most changes are less than a segment.
        if cwnd.wrapping_sub(self.segments.wrapping_mul(size)) >= size {
            self.segments = (cwnd / size).clamp(1, MAX_OUTSTANDING + 1);
        }
    }

    /// When the controller wants to be called; [`Time::MAX`] for not at all.
    pub(super) fn deadline(&self) -> Time {
        self.deadline
    }

    /// Whole segments that may be in flight, at least one and at most one more than [`MAX_OUTSTANDING`].
    pub(super) fn segments(&self) -> u64 {
        self.segments
    }
}

impl Deref for Wanted {
    type Target = Decision;

    fn deref(&self) -> &Decision {
        &self.decision
    }
}
