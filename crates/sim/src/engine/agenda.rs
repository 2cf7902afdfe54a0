//! The queue of events: arrivals, of which each link has one at most, and timers.
//!
//! The arrivals stand in a tournament. A link's next one takes the place of the one before and meets one other at each level.
//! Timers are moved rarely, and are many: a heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bentpipe_cc::Time;

/// Events in the order of (time, number). Links have the lowest numbers; arrivals at one instant come in the order of entities.
#[derive(Debug)]
pub(super) struct Agenda {
    /// The first of all arrivals.
    first: Arrival,
    /// Numbered from 1, whose winner is the first of all. At `n` meet the winners at `2 n` and `2 n + 1`, or a link in the place of
    /// either: links stand in the places from `matches.len()` on.
    matches: Vec<[Arrival; 2]>,
    /// Of the links.
    places: Vec<Place>,
    timers: BinaryHeap<Reverse<(Time, u64)>>,
}

/// Where a link stands, if it ever holds a packet.
#[derive(Clone, Copy, Debug)]
struct Place {
    place: usize,
    whose: u64,
}

#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: u64,
    /// The entity, then the link: one word, as both are read together.
    whose: u64,
}

/// No arrival.
const NONE: Arrival = Arrival { at: u64::MAX, whose: 0 };

impl Agenda {
    /// An empty one, for links that are these entities and hold packets or not.
    pub(super) fn new(links: &[(u32, bool)]) -> Self {
        let held = links.iter().filter(|&&(_, holds)| holds).count().max(1);
        let mut free = held..;
        let place = |(i, &(entity, holds)): (usize, &(u32, bool))| {
            let place = if holds { free.next().unwrap_or(0) } else { 0 };
            Place { place, whose: whose(entity, i) }
        };
        let places = links.iter().enumerate().map(place).collect();
        Self { first: NONE, matches: vec![[NONE; 2]; held], places, timers: BinaryHeap::new() }
    }

    /// The next event.
    #[inline]
    pub(super) fn top(&self) -> Option<(Time, u64)> {
        if let Some(&Reverse((at, number))) = self.timers.peek()
            && at.0 < self.first.at
        {
            return Some((at, number));
        }
        (self.first.at != NONE.at).then_some((Time(self.first.at), self.first.whose & u64::from(u32::MAX)))
    }

    /// What is expected of link `i` from now on is an arrival of that entity.
    pub(super) fn rename(&mut self, i: usize, entity: u32) {
        self.places[i].whose = whose(entity, i);
    }

    /// The next arrival of link `i` will be at `at`, or there is none.
    #[inline(always)]
    pub(super) fn expect(&mut self, i: usize, at: Option<Time>) {
        let Place { mut place, whose } = self.places[i];
        let mut first = Arrival { at: at.map_or(NONE.at, |at| at.0), whose };
        while place > 1 {
            let pair = &mut self.matches[place / 2];
            pair[place % 2] = first;
            let other = pair[(place % 2) ^ 1];
            // A branch, which the processor guesses: without, the next event would wait for all levels.
            if other.at <= first.at && (other.at < first.at || other.whose < first.whose) {
                first = other;
            }
            place /= 2;
        }
        self.first = first;
    }

    /// Adds a timer.
    pub(super) fn push(&mut self, at: Time, number: u64) {
        self.timers.push(Reverse((at, number)));
    }

    /// Removes the next event, which is a timer.
    pub(super) fn pop(&mut self) {
        self.timers.pop();
    }
}

fn whose(entity: u32, link: usize) -> u64 {
    u64::from(entity) << 32 | link as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn events_come_in_the_order_of_time_and_number(
            holds in prop::collection::vec(any::<bool>(), 0..12),
            calls in prop::collection::vec((0_u8..4, 0_u64..20, any::<prop::sample::Index>()), 0..300),
        ) {
            let links: Vec<(u32, bool)> = (0..).zip(holds.iter().copied()).collect();
            let held: Vec<usize> = (0..holds.len()).filter(|&i| holds[i]).collect();
            let (mut agenda, mut sorted) = (Agenda::new(&links), Vec::new());
            for (call, at, which) in calls {
                match call {
                    0 if sorted.first().is_some_and(|&(_, _, number)| number >= 12) => {
                        sorted.remove(0);
                        agenda.pop();
                    }
                    1 | 2 if !held.is_empty() => {
                        let i = held[which.index(held.len())];
                        sorted.retain(|&(_, _, number)| number != i as u64);
                        // Whose arrival it is does not follow from the link alone: twelve a link.
                        let entity = 12 * ((5 * i as u32 + at as u32) % 12) + i as u32;
                        let next = (call == 1).then_some(Time(at));
                        sorted.extend(next.map(|at| (at, entity, i as u64)));
                        agenda.rename(i, entity);
                        agenda.expect(i, next);
                    }
                    _ => {
                        let number = 12 + which.index(6) as u64;
                        sorted.push((Time(at), u32::MAX, number));
                        agenda.push(Time(at), number);
                    }
                }
                sorted.sort_unstable();
                prop_assert_eq!(agenda.top(), sorted.first().map(|&(at, _, number)| (at, number)));
            }
        }
    }
}
