//! The queue of events: arrivals, of which each link has one at most, and timers.
//!
//! The arrivals stand in a tournament. A link's next one takes the place of the one before and meets one other at each level.
//! Timers are moved rarely, and are many: a heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bentpipe_cc::Time;

/// Events in the order of (time, number). Links have the lowest numbers.
#[derive(Debug)]
pub(super) struct Agenda {
    /// The first of all arrivals.
    first: Arrival,
    /// Numbered from 1, whose winner is the first of all. At `n` meet the winners at `2 n` and `2 n + 1`, or a link in the place of
    /// either: links stand in the places from `matches.len()` on, such that what is to the left has lower numbers.
    matches: Vec<[Arrival; 2]>,
    /// The place of each link that ever holds a packet.
    places: Vec<u32>,
    timers: BinaryHeap<Reverse<(Time, u64)>>,
}

#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: u64,
    link: u32,
}

/// No arrival. One less than the greatest time, for a tie to be told by adding one.
const NONE: Arrival = Arrival { at: u64::MAX - 1, link: 0 };

impl Agenda {
    /// An empty one, for links of which these hold packets.
    pub(super) fn new(holds: &[bool]) -> Self {
        let held = holds.iter().filter(|&&holds| holds).count().max(1);
        // Where the tree is not full, what is deepest is leftmost.
        let deepest = held.next_power_of_two();
        let mut free = (deepest..2 * held).chain(held..deepest);
        let place = |&holds: &bool| if holds { free.next().map_or(0, |place| place as u32) } else { 0 };
        let places = holds.iter().map(place).collect();
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
        (self.first.at != NONE.at).then_some((Time(self.first.at), u64::from(self.first.link)))
    }

    /// The next arrival of link `i` will be at `at`, or there is none.
    #[inline]
    pub(super) fn expect(&mut self, i: usize, at: Option<Time>) {
        let mut first = Arrival { at: at.map_or(NONE.at, |at| at.0.min(NONE.at)), link: i as u32 };
        let mut place = self.places[i] as usize;
        while place > 1 {
            let side = place % 2;
            let pair = &mut self.matches[place / 2];
            pair[side] = first;
            let other = pair[side ^ 1];
            // At the same time the left one wins. A branch, which the processor guesses: without, the next event would wait for all
            // levels.
            if other.at < first.at + side as u64 {
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
