//! The handovers at which waiting packets are dropped.

use bentpipe_cc::Time;

use crate::link::time_line::TimeLine;

/// The handovers of one direction, and how many of them have been made.
#[derive(Debug)]
pub(crate) struct Flushes {
    line: TimeLine,
    made: usize,
}

impl Flushes {
    /// `None` if no waiting packet is dropped at the handovers of `line`.
    pub(super) fn new(line: &TimeLine) -> Option<Self> {
        line.handover.flushes.then(|| Self { line: line.clone(), made: 0 })
    }

    /// The next handover; the end of time if there is none.
    pub(crate) fn next(&self) -> Time {
        self.line.handovers().get(self.made).copied().unwrap_or(Time::MAX)
    }

    /// That handover has been made.
    pub(crate) fn pass(&mut self) {
        self.made += 1;
    }
}
