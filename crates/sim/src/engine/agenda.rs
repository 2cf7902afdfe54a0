//! The queue of events: arrivals, of which each link has one at most, and timers.
//!
//! The arrivals stand in a tournament. A link's next one takes the place of the one before and meets one other at each level.
//! Timers are moved rarely, and are many: a heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bentpipe_cc::Time;

/// Events in the order of (time, number), apart for each place. Links have the lowest numbers; arrivals at one instant come in the
/// order of entities.
#[derive(Debug)]
pub(super) struct Agenda {
    /// The place where something happens now. It is not among the others.
    here: Place,
    number: usize,
    others: Vec<Place>,
    /// Of the links.
    seats: Vec<Seat>,
}

/// The events of one place.
#[derive(Debug)]
struct Place {
    /// The first of all arrivals.
    first: Arrival,
    /// The first timer.
    timer: Timer,
    /// Is it kept only there? A timer that is the first when it is set, as one that paces is, does without the heap.
    apart: bool,
    /// Who came to each seat of the tournament. The winner of those in `2 n` and `2 n + 1` goes to `n`; the first of all needs no
    /// seat. Links begin in the second half.
    seated: Vec<Arrival>,
    timers: BinaryHeap<Reverse<Timer>>,
    /// How late it was when we left.
    now: Time,
}

/// Where a link stands, if it ever holds a packet.
#[derive(Clone, Copy, Debug)]
struct Seat {
    place: u32,
    seat: u32,
    /// The entity, then the link.
    whose: u64,
}

/// The instant, the entity, the link: 64 and twice 32 bits, so that the lesser one is first.
type Arrival = u128;

/// The instant and the number, in the same way.
type Timer = u128;

/// No arrival, or no timer.
const NONE: u128 = u128::MAX;

/// A link, as the agenda knows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) entity: u32,
    /// Does it ever hold a packet?
    pub(super) holds: bool,
    /// The place at its far end.
    pub(super) place: u32,
}

impl Agenda {
    /// An empty one of so many places.
    pub(super) fn new(places: usize, links: &[Entry]) -> Self {
        let held = |place: usize| links.iter().filter(|l| l.holds && l.place as usize == place).count();
        let mut free: Vec<usize> = (0..places).map(|place| held(place).max(1)).collect();
        let others = free.iter().map(|&held| Place::new(held)).collect();
        let seat = |(i, link): (usize, &Entry)| {
            let next = &mut free[link.place as usize];
            let seat = if link.holds { *next as u32 } else { 0 };
            *next += usize::from(link.holds);
            Seat { place: link.place, seat, whose: whose(link.entity, i) }
        };
        let seats = links.iter().enumerate().map(seat).collect();
        let mut agenda = Self { here: Place::new(0), number: 0, others, seats };
        std::mem::swap(&mut agenda.here, &mut agenda.others[0]);
        agenda
    }

    /// When the next event of all is; [`Time::MAX`] if there is none.
    pub(super) fn earliest(&self) -> Time {
        let next = |place: &Place| time(place.timer.min(place.first));
        self.others.iter().map(next).fold(next(&self.here), Time::min)
    }

    /// From now on it is the events of this place that are asked for. Takes how late it is where we were, and returns how late it
    /// was there.
    pub(super) fn go_to(&mut self, place: usize, now: Time) -> Time {
        self.here.now = now;
        std::mem::swap(&mut self.here, &mut self.others[self.number]);
        std::mem::swap(&mut self.here, &mut self.others[place]);
        self.number = place;
        self.here.now
    }

    /// When the next arrival here is and its link; at [`Time::MAX`] there is none.
    #[inline(always)]
    pub(super) fn arrival(&self) -> (Time, usize) {
        (time(self.here.first), self.here.first as u32 as usize)
    }

    /// When the next timer here expires; [`Time::MAX`] if there is none. Arrivals at the same instant come before.
    #[inline(always)]
    pub(super) fn timer(&self) -> Time {
        time(self.here.timer)
    }

    /// What is expected of link `i` from now on is an arrival of that entity.
    pub(super) fn rename(&mut self, i: usize, entity: u32) {
        self.seats[i].whose = whose(entity, i);
    }

    /// The next arrival of link `i`, which arrives here, will be at `at`, or there is none.
    #[inline(always)]
    pub(super) fn expect_here(&mut self, i: usize, at: Option<Time>) {
        self.here.expect(&self.seats[i], at);
    }

    /// The next arrival of link `i`, wherever, will be at `at`, or there is none.
    pub(super) fn expect(&mut self, i: usize, at: Option<Time>) {
        let seat = self.seats[i];
        self.place(seat.place as usize).expect(&seat, at);
    }

    /// Adds a timer.
    #[inline(always)]
    pub(super) fn push(&mut self, place: usize, at: Time, number: u64) {
        self.place(place).push(Timer::from(at.0) << 64 | Timer::from(number));
    }

    /// Removes the next event here, which is a timer. Returns its number.
    pub(super) fn pop(&mut self) -> Option<u64> {
        self.here.pop()
    }

    fn place(&mut self, place: usize) -> &mut Place {
        if place == self.number { &mut self.here } else { &mut self.others[place] }
    }
}

impl Place {
    fn new(held: usize) -> Self {
        Self {
            first: NONE,
            timer: NONE,
            apart: false,
            seated: vec![NONE; 2 * held],
            timers: BinaryHeap::new(),
            now: Time(0),
        }
    }

    #[inline(always)]
    fn push(&mut self, timer: Timer) {
        if timer < self.timer && !self.apart {
            (self.timer, self.apart) = (timer, true);
        } else {
            self.push_many(timer);
        }
    }

    #[inline(never)]
    fn push_many(&mut self, timer: Timer) {
        let mut later = timer;
        if timer < self.timer {
            later = std::mem::replace(&mut self.timer, timer);
        }
        self.timers.push(Reverse(later));
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<u64> {
        let timer = self.timer;
        if !self.apart {
            self.forget_first();
        }
        self.apart = false;
        self.timer = self.timers.peek().map_or(NONE, |&Reverse(timer)| timer);
        (timer != NONE).then_some(timer as u64)
    }

    #[inline(never)]
    fn forget_first(&mut self) {
        self.timers.pop();
    }

    #[inline(always)]
    fn expect(&mut self, seat: &Seat, at: Option<Time>) {
        let mut first = at.map_or(NONE, |at| Arrival::from(at.0) << 64 | Arrival::from(seat.whose));
        let mut seat = seat.seat as usize;
        while seat > 1 {
            self.seated[seat] = first;
            let other = self.seated[seat ^ 1];
            // A branch, which the processor guesses: without, the next event would wait for all levels.
            if other < first {
                first = other;
            }
            seat /= 2;
        }
        self.first = first;
    }
}

fn time(event: u128) -> Time {
    Time((event >> 64) as u64)
}

fn whose(entity: u32, link: usize) -> u64 {
    u64::from(entity) << 32 | link as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PLACES: usize = 3;

    proptest! {
        #[test]
        fn events_come_in_the_order_of_time_and_number(
            links in prop::collection::vec((any::<bool>(), 0..PLACES as u32), 0..12),
            calls in prop::collection::vec((0_u8..4, 0_u64..20, any::<prop::sample::Index>(), 0..PLACES), 0..300),
        ) {
            let entry = |(entity, &(holds, place))| Entry { entity, holds, place };
            let entries: Vec<Entry> = (0..).zip(&links).map(entry).collect();
            let held: Vec<usize> = (0..links.len()).filter(|&i| links[i].0).collect();
            let mut agenda = Agenda::new(PLACES, &entries);
            // Of each place: when, the entity, and the link or the timer.
            let mut sorted = vec![Vec::new(); PLACES];
            for (call, at, which, place) in calls {
                agenda.go_to(place, Time(0));
                match call {
                    0 if sorted[place].first().is_some_and(|&(_, _, number)| number >= 12) => {
                        let (_, _, number) = sorted[place].remove(0);
                        prop_assert_eq!(agenda.pop(), Some(number));
                    }
                    1 | 2 if !held.is_empty() => {
                        let i = held[which.index(held.len())];
                        let there = &mut sorted[links[i].1 as usize];
                        there.retain(|&(_, _, number)| number != i as u64);
                        // Whose arrival it is does not follow from the link alone: twelve a link.
                        let entity = 12 * ((5 * i as u32 + at as u32) % 12) + i as u32;
                        let next = (call == 1).then_some(Time(at));
                        there.extend(next.map(|at| (at, entity, i as u64)));
                        agenda.rename(i, entity);
                        if entries[i].place as usize == place {
                            agenda.expect_here(i, next);
                        } else {
                            agenda.expect(i, next);
                        }
                    }
                    _ => {
                        let number = 12 + which.index(6) as u64;
                        let there = which.index(PLACES);
                        sorted[there].push((Time(at), u32::MAX, number));
                        agenda.push(there, Time(at), number);
                    }
                }
                sorted.iter_mut().for_each(|there| there.sort_unstable());
                for (place, there) in sorted.iter().enumerate() {
                    agenda.go_to(place, Time(0));
                    let ((at, link), timer) = (agenda.arrival(), agenda.timer());
                    let next = if timer < at { (timer, None) } else { (at, Some(link as u64)) };
                    let (at, number) = there.first().map_or((Time::MAX, None), |&(at, _, n)| (at, (n < 12).then_some(n)));
                    prop_assert_eq!(next.0, at);
                    prop_assert!(at == Time::MAX || next.1 == number);
                }
                let earliest = sorted.iter().flatten().map(|&(at, _, _)| at).min();
                prop_assert_eq!(agenda.earliest(), earliest.unwrap_or(Time::MAX));
            }
        }
    }
}
