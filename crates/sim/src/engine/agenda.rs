//! The queue of events: arrivals, of which each link has one at most, and timers.
//!
//! The arrivals stand in a tournament. A link's next one takes the place of the one before and meets one other at each level.
//! Timers are moved rarely, and are many: a heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bentpipe_cc::Time;

/// Events in the order of (time, number), each packed into one integer so that one comparison tells. Links have the lowest numbers.
#[derive(Debug)]
pub(super) struct Agenda {
    /// The first of all arrivals.
    first: u128,
    /// Numbered from 1, whose winner is the first of all. At `n` meet the winners at `2 n` and `2 n + 1`, or two links: the second
    /// half has a place for each that ever holds a packet.
    matches: Vec<[u128; 2]>,
    /// The place of each link; half of it is its first match.
    places: Vec<u32>,
    timers: BinaryHeap<Reverse<u128>>,
}

/// No arrival: behind all others.
const NONE: u128 = u128::MAX;

impl Agenda {
    /// An empty one, for links of which these hold packets.
    pub(super) fn new(holds: &[bool]) -> Self {
        let leaves = holds.iter().filter(|&&holds| holds).count().next_power_of_two();
        let mut next = leaves as u32;
        let place = |&holds: &bool| {
            let place = next;
            next += u32::from(holds);
            if holds { place } else { u32::MAX }
        };
        let places = holds.iter().map(place).collect();
        Self { first: NONE, matches: vec![[NONE; 2]; leaves], places, timers: BinaryHeap::new() }
    }

    /// The next event.
    #[inline]
    pub(super) fn top(&self) -> Option<(Time, u64)> {
        let timer = self.timers.peek().map_or(NONE, |timer| timer.0);
        let key = self.first.min(timer);
        (key != NONE).then_some((Time((key >> 64) as u64), key as u64))
    }

    /// The next arrival of link `i` will be at `at`, or there is none.
    #[inline]
    pub(super) fn expect(&mut self, i: usize, at: Option<Time>) {
        let mut key = at.map_or(NONE, |at| pack(at, i as u64));
        let mut place = self.places[i] as usize;
        while place > 1 {
            let pair = &mut self.matches[place / 2];
            let side = place % 2;
            pair[side] = key;
            // A branch, which the processor guesses: without, the next event would wait for all levels (f took 5 % more).
            key = key.min(pair[side ^ 1]);
            place /= 2;
        }
        self.first = key;
    }

    /// Adds a timer.
    pub(super) fn push(&mut self, at: Time, number: u64) {
        self.timers.push(Reverse(pack(at, number)));
    }

    /// Removes the next event, which is a timer.
    pub(super) fn pop(&mut self) {
        self.timers.pop();
    }
}

fn pack(at: Time, number: u64) -> u128 {
    u128::from(at.0) << 64 | u128::from(number)
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
            let held: Vec<usize> = (0..holds.len()).filter(|&i| holds[i]).collect();
            let (mut agenda, mut sorted) = (Agenda::new(&holds), Vec::new());
            for (call, at, which) in calls {
                match call {
                    0 if sorted.first().is_some_and(|&(_, number)| number >= 12) => {
                        sorted.remove(0);
                        agenda.pop();
                    }
                    1 | 2 if !held.is_empty() => {
                        let i = held[which.index(held.len())];
                        sorted.retain(|&(_, number)| number != i as u64);
                        let next = (call == 1).then_some(Time(at));
                        sorted.extend(next.map(|at| (at, i as u64)));
                        agenda.expect(i, next);
                    }
                    _ => {
                        let number = 12 + which.index(6) as u64;
                        sorted.push((Time(at), number));
                        agenda.push(Time(at), number);
                    }
                }
                sorted.sort_unstable();
                prop_assert_eq!(agenda.top(), sorted.first().copied());
            }
        }
    }
}
