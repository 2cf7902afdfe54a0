//! Directions of links, sampled at ticks. They may be ahead of the tick: packets are offered and handed on
//! ahead of time, and delay lines do not touch their directions. When the first packet beyond a tick comes,
//! the state at the tick is noted.

use std::collections::VecDeque;

use bentpipe_cc::{Span, Time};

use crate::link::direction::Direction;
use crate::record::history::Past;
use crate::record::samples::{LinkSamples, Seen};
use crate::resolve::plan::Plan;

/// The samples of the links, and the state that they need.
#[derive(Debug)]
pub(crate) struct LinkRecorder {
    interval: Span,
    known: Vec<DirectionHistory>,
    /// Delay lines, in the order of the engine.
    delay_lines: Vec<DelayLineHistory>,
    /// Packets of delay lines that each direction has delivered by the current tick.
    passed: Vec<u64>,
    samples: LinkSamples,
}

/// A direction that may be ahead of the tick.
#[derive(Debug)]
struct DirectionHistory {
    /// The first tick whose state is not noted; every packet offered up to then counts at this tick.
    until: Time,
    /// The state at each tick from the next one to `until`.
    looks: VecDeque<Seen>,
    /// Packets handed on ahead of time.
    handed: u64,
    past: Past,
}

/// A delay line. No packet waits or is dropped there.
#[derive(Debug)]
struct DelayLineHistory {
    /// A packet that enters before this instant changes no sample that must be noted.
    from: Time,
    count: u64,
    passed: Vec<Passed>,
}

/// A direction that is part of a delay line.
#[derive(Debug)]
struct Passed {
    direction: usize,
    /// The time from entering the delay line to the far end of the direction.
    time: Span,
    past: Past,
}

impl LinkRecorder {
    /// A recorder of all directions of a plan, sampled at multiples of `interval`.
    pub(crate) fn new(plan: &Plan, interval: Span) -> Self {
        let links = 2 * plan.links.len();
        let known = || DirectionHistory {
            until: Time(0),
            looks: VecDeque::new(),
            handed: 0,
            past: Past::new(interval),
        };
        Self {
            interval,
            known: std::iter::repeat_with(known).take(links).collect(),
            delay_lines: Vec::new(),
            passed: vec![0; links],
            samples: LinkSamples::new(plan),
        }
    }

    /// Adds the next delay line: its directions, and how long after entry each of them delivers.
    pub(crate) fn expect_delay_line(&mut self, directions: &[(usize, Span)]) {
        let recorded = directions.iter().filter(|(direction, _)| *direction < self.known.len());
        let passed =
            recorded.map(|&(direction, time)| Passed { direction, time, past: Past::new(self.interval) });
        self.delay_lines.push(DelayLineHistory { from: Time(0), count: 0, passed: passed.collect() });
    }

    /// A packet is about to be offered to direction `i` at `at`.
    #[inline(always)]
    pub(crate) fn offered(&mut self, at: Time, i: usize, link: &mut Direction) {
        if let Some(known) = self.known.get_mut(i)
            && at > known.until
        {
            known.look(at, link, self.interval);
        }
    }

    /// Direction `i` hands a packet on ahead of time, which arrives at `at`.
    #[inline(always)]
    pub(crate) fn handed_on(&mut self, at: Time, i: usize) {
        if let Some(known) = self.known.get_mut(i) {
            known.past.changes(at, known.handed);
            known.handed += 1;
        }
    }

    /// A packet enters delay line `i` at `at`.
    #[inline(always)]
    pub(crate) fn passes(&mut self, at: Time, i: usize) {
        if let Some(line) = self.delay_lines.get_mut(i) {
            if at >= line.from {
                line.note(at);
            }
            line.count += 1;
        }
    }

    /// Takes a sample of each direction.
    pub(crate) fn tick(&mut self, now: Time, links: &mut [Direction]) {
        self.passed.fill(0);
        for line in &mut self.delay_lines {
            for hop in &mut line.passed {
                self.passed[hop.direction] += hop.past.at(now, line.count);
            }
        }
        for (i, (link, known)) in links.iter_mut().zip(&mut self.known).enumerate() {
            let seen = known.looks.pop_front().unwrap_or_else(|| {
                known.until = now + self.interval;
                seen(link, now)
            });
            let still_ahead = known.handed - known.past.at(now, known.handed);
            let delivered = link.counts.delivered - still_ahead + self.passed[i];
            self.samples.take(now, i, delivered, seen);
        }
    }

    pub(crate) fn rows(&self) -> u64 {
        self.samples.len() as u64
    }

    pub(crate) fn finish(self) -> LinkSamples {
        self.samples
    }
}

impl DirectionHistory {
    /// Notes the state of the direction at all ticks before `at`, when the next packet will be offered.
    #[cold]
    #[inline(never)]
    fn look(&mut self, at: Time, link: &mut Direction, interval: Span) {
        while self.until < at {
            self.looks.push_back(seen(link, self.until));
            self.until = self.until + interval;
        }
    }
}

impl DelayLineHistory {
    #[cold]
    #[inline(never)]
    fn note(&mut self, at: Time) {
        self.from = Time::MAX;
        for hop in &mut self.passed {
            hop.past.changes(at + hop.time, self.count);
            let next = hop.past.until().0.saturating_add(1);
            self.from = self.from.min(Time(next.saturating_sub(hop.time.0)));
        }
    }
}

fn seen(link: &mut Direction, now: Time) -> Seen {
    let waiting = link.waiting(now);
    let (queue, errors) = link.dropped(now);
    let dropped_queue = queue - link.thinned();
    Seen { waiting, dropped: dropped_queue + errors, dropped_queue }
}
