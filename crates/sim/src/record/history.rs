//! Counts that run ahead of time, and their values at the instants of samples.

use std::collections::VecDeque;

use bentpipe_cc::{Span, Time};

/// The history of a count that may be ahead of the ticks at which it is sampled. Its instants never go back.
#[derive(Debug)]
pub(crate) struct Past {
    /// For each interval after the last tick: the instant of its first change, and the count before that
    /// change.
    before: VecDeque<(Time, u64)>,
    /// A tick: changes up to it need no entry.
    until: Time,
    /// The time between two ticks.
    interval: Span,
}

impl Past {
    /// A count that is sampled at all multiples of `interval`.
    pub(crate) fn new(interval: Span) -> Self {
        Self { before: VecDeque::new(), until: Time(0), interval }
    }

    /// The count changes at `at`; before that it was `before`.
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

    /// A tick: changes up to it need no entry.
    pub(crate) fn until(&self) -> Time {
        self.until
    }

    /// The count at a tick, after all events of its instant. Ticks come in order. `count`: the present
    /// count, which may be ahead.
    pub(crate) fn at(&mut self, tick: Time, count: u64) -> u64 {
        while self.before.front().is_some_and(|&(change, _)| change <= tick) {
            self.before.pop_front();
        }
        self.before.front().map_or(count, |&(_, before)| before)
    }
}

/// The history of a count that may be sampled at any instant: a ring of the instants of its last changes.
#[derive(Debug, Default)]
pub(crate) struct Moments {
    /// The ring, a power of two long; change `i` is at `i` modulo its length.
    times: Vec<Time>,
    /// The oldest change that may still matter, and the next one to come.
    first: usize,
    next: usize,
}

impl Moments {
    /// Increments the count at `at`, which never goes back. No later call asks for an instant before `asked`.
    #[inline]
    pub(crate) fn add(&mut self, at: Time, asked: Time) {
        if self.next - self.first == self.times.len() {
            self.make_room(asked);
        }
        let place = self.next & (self.times.len() - 1);
        self.times[place] = at;
        self.next += 1;
    }

    /// The same `count` times.
    #[inline(never)]
    pub(crate) fn add_all(&mut self, count: u64, at: Time, asked: Time) {
        for _ in 0..count {
            self.add(at, asked);
        }
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

    /// How many changes came after `until`, which never goes back.
    #[inline]
    pub(crate) fn after(&mut self, until: Time) -> u64 {
        while self.first < self.next && self.times[self.first & (self.times.len() - 1)] <= until {
            self.first += 1;
        }
        (self.next - self.first) as u64
    }
}
