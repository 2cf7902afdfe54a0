//! The limits of a flow's speed, and the time for which each was in force.

use bentpipe_cc::{Span, Time};

/// The limit that holds the sender back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Limit {
    /// The congestion window, outside recovery.
    Cwnd,
    /// The receive window.
    Rwnd,
    /// The application had nothing to send.
    #[default]
    App,
    /// The pacing rate.
    Pacing,
    /// Loss recovery: repairing with a reduced window.
    Recovery,
    /// Silence until the retransmission timer expired.
    Timeout,
}

/// Time spent under each limit.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct Limits {
    since: Time,
    /// Integral of the window over time, byte-nanoseconds.
    window_time: f64,
    now: Limit,
    spent: [u64; 6],
}

impl Limits {
    /// Time counts from `now` on. Data may have been requested earlier within that instant.
    pub(crate) fn begin(&mut self, now: Time) {
        *self = Self { now: self.now, since: now, ..Self::default() };
    }

    /// Time passes until `now` under the current limit and a window of `cwnd` bytes.
    #[inline(always)]
    pub(crate) fn pass(&mut self, now: Time, cwnd: u64) {
        self.pass_as(now, cwnd, self.now);
    }

    /// As `pass`, but the time that passed belongs to `limit`.
    #[inline(always)]
    pub(crate) fn pass_as(&mut self, now: Time, cwnd: u64, limit: Limit) {
        let span = now.since(self.since).0;
        if span == 0 {
            return;
        }
        self.spent[limit as usize] += span;
        // A span is less than 292 years, and a window less than 2^63 bytes. The conversion of a signed number
        // takes one instruction instead of five.
        self.window_time += (cwnd as i64) as f64 * (span as i64) as f64;
        self.since = now;
    }

    pub(crate) fn set(&mut self, limit: Limit) {
        self.now = limit;
    }

    /// Time spent under `limit`.
    pub fn spent(&self, limit: Limit) -> Span {
        Span(self.spent[limit as usize])
    }

    /// Time-average of the congestion window in bytes; 0 if no time has passed.
    pub fn mean_window(&self) -> f64 {
        let total: u64 = self.spent.iter().sum();
        if total == 0 { 0.0 } else { self.window_time / total as f64 }
    }
}
