//! What is worked out ahead of time, as it was at the instants at which samples are taken.

use std::collections::VecDeque;

use bentpipe_cc::{Span, Time};

/// The past of a count that may be ahead of the ticks at which it is looked at. It changes at instants that never go back.
#[derive(Debug)]
pub(crate) struct Past {
    /// What had been counted before some instants after the last tick.
    before: VecDeque<(Time, u64)>,
    /// A tick: until then changes make no difference to what is seen.
    until: Time,
    /// Between two ticks.
    interval: Span,
}

impl Past {
    /// A count that is looked at at all multiples of `interval`.
    pub(crate) fn new(interval: Span) -> Self {
        Self { before: VecDeque::new(), until: Time(0), interval }
    }

    /// The count, `before` so far, changes at `at`.
    #[inline(always)]
    pub(crate) fn changes(&mut self, at: Time, before: u64) {
        if at > self.until {
            self.keep(at, before);
        }
    }

    #[inline(never)]
    fn keep(&mut self, at: Time, before: u64) {
        self.before.push_back((at, before));
        self.until = Time(at.0.checked_next_multiple_of(self.interval.0).unwrap_or(u64::MAX));
    }

    /// A tick: changes until then make no difference to what is seen.
    pub(crate) fn until(&self) -> Time {
        self.until
    }

    /// The count at a tick, with all that happens at its instant; ticks come in order. What it has come to ahead of time is `count`.
    pub(crate) fn at(&mut self, tick: Time, count: u64) -> u64 {
        while self.before.front().is_some_and(|&(change, _)| change <= tick) {
            self.before.pop_front();
        }
        self.before.front().map_or(count, |&(_, before)| before)
    }
}

/// The past of a count that may be looked at at any instant: when the last were counted.
#[derive(Debug, Default)]
pub(crate) struct Moments {
    /// A ring of a power of two; moment `i` is at `i` modulo its length.
    times: Vec<Time>,
    /// The oldest moment that may still matter, and the next.
    first: usize,
    next: usize,
}

impl Moments {
    /// One more at `at`, which never goes back. Nobody will ask for an instant before `asked`.
    #[inline]
    pub(crate) fn add(&mut self, at: Time, asked: Time) {
        if self.next - self.first == self.times.len() {
            self.make_room(asked);
        }
        let place = self.next & (self.times.len() - 1);
        self.times[place] = at;
        self.next += 1;
    }

    #[cold]
    #[inline(never)]
    fn make_room(&mut self, asked: Time) {
        let remain = self.after(asked) as usize;
        let old = self.times.len();
        if 2 * remain < old {
            return;
        }
        let mut times = vec![Time(0); (2 * old).max(64)];
        let room = times.len();
        for i in self.first..self.next {
            times[i & (room - 1)] = self.times[i & (old - 1)];
        }
        self.times = times;
    }

    /// How many came after `until`, which never goes back.
    #[inline]
    pub(crate) fn after(&mut self, until: Time) -> u64 {
        while self.first < self.next && self.times[self.first & (self.times.len() - 1)] <= until {
            self.first += 1;
        }
        (self.next - self.first) as u64
    }
}
