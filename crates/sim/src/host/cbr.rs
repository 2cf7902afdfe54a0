//! A source of packets at a constant rate.

use bentpipe_cc::Time;

/// A constant-rate source, which does not react to the network.
#[derive(Debug)]
pub(crate) struct Cbr {
    rate: u64,
    pub(crate) size: u16,
    on: u64,
    off: u64,
    begin: u64,
    /// When the next packet is due, and the remainder of that time in 1/rate nanoseconds.
    due: u64,
    carry: u64,
    /// When its last packet so far arrived.
    pub(super) last_arrival: Time,
}

impl Cbr {
    pub(crate) fn new(rate: u64, size: u16, on: u64, off: u64, start: Time) -> Self {
        Self { rate: rate.max(1), size, on, off, begin: start.0, due: start.0, carry: 0, last_arrival: start }
    }

    /// When the next packet is due.
    pub(crate) fn due(&self) -> Time {
        Time(self.due)
    }

    /// A packet arrives at `at`.
    pub(crate) fn on_data(&mut self, at: Time) {
        self.last_arrival = self.last_arrival.max(at);
    }

    /// One packet leaves now; the next is due one packet time later, or when the next on-period begins.
    pub(crate) fn send(&mut self) {
        let work = u64::from(self.size) * 8 * 1_000_000_000 + self.carry;
        self.due = self.due.saturating_add(work / self.rate);
        self.carry = work % self.rate;
        let period = self.on.saturating_add(self.off);
        let into = (self.due - self.begin) % period.max(1);
        if into >= self.on {
            self.due = self.due.saturating_add(period - into);
        }
    }
}
