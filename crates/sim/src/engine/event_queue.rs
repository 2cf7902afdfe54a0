//! The event queue: arrivals, at most one per direction, and timers.
//!
//! Arrivals are kept in a tournament tree (Knuth, volume 3, section 5.4.1). A direction's next arrival
//! replaces its last one and is compared with one other arrival at each level. Timers are many and rarely
//! move, so they are kept in a heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bentpipe_cc::Time;

/// Events by (time, number), separate for each partition. Arrivals of one instant come before timers, in the
/// order of their entities.
#[derive(Debug)]
pub(super) struct EventQueue {
    /// The current partition. It is not among the others.
    here: Part,
    number: usize,
    others: Vec<Part>,
    /// The seat of each direction.
    seats: Vec<Seat>,
}

/// The events of one partition.
#[derive(Debug)]
struct Part {
    /// The earliest arrival.
    first: ArrivalKey,
    /// The earliest timer.
    timer: TimerKey,
    /// True if the earliest timer is kept outside the heap.
    outside: bool,
    /// The entrant of each seat of the tournament. The winner of seats `2 n` and `2 n + 1` moves to `n`; the
    /// overall winner needs no seat. Directions start in the second half.
    seated: Vec<ArrivalKey>,
    timers: BinaryHeap<Reverse<TimerKey>>,
    /// The time that the partition had reached when the loop left it.
    now: Time,
}

/// The seat of a direction, if it ever holds a packet.
#[derive(Clone, Copy, Debug)]
struct Seat {
    partition: u32,
    seat: u32,
    /// The entity in the upper half, the direction in the lower.
    whose: u64,
}

/// Instant, entity and direction in 64, 32 and 32 bits, so that the earlier key compares as less.
type ArrivalKey = u128;

/// The instant and the number of the timer, likewise.
type TimerKey = u128;

/// No arrival, or no timer.
const NONE: u128 = u128::MAX;

/// A direction, as the queue knows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seated {
    pub(super) entity: u32,
    /// Does it ever hold a packet?
    pub(super) holds: bool,
    /// The partition at its far end.
    pub(super) partition: u32,
}

impl EventQueue {
    /// An empty queue for this many partitions.
    pub(super) fn new(partitions: usize, directions: &[Seated]) -> Self {
        let mut free = vec![0; partitions];
        for direction in directions.iter().filter(|direction| direction.holds) {
            free[direction.partition as usize] += 1;
        }
        free.iter_mut().for_each(|held| *held = (*held).max(1));
        let others = free.iter().map(|&held| Part::new(held)).collect();
        let seat = |(i, direction): (usize, &Seated)| {
            let next = &mut free[direction.partition as usize];
            let seat = if direction.holds { *next as u32 } else { 0 };
            *next += usize::from(direction.holds);
            Seat { partition: direction.partition, seat, whose: whose(direction.entity, i) }
        };
        let seats = directions.iter().enumerate().map(seat).collect();
        let mut queue = Self { here: Part::new(0), number: 0, others, seats };
        std::mem::swap(&mut queue.here, &mut queue.others[0]);
        queue
    }

    /// The instant of the earliest event of all partitions; [`Time::MAX`] if there is none.
    pub(super) fn earliest(&self) -> Time {
        let next = |partition: &Part| time(partition.timer.min(partition.first));
        self.others.iter().map(next).fold(next(&self.here), Time::min)
    }

    /// Makes `partition` the current one. `now` is the time that the old partition has reached; returns the
    /// time that the new one had reached.
    pub(super) fn go_to(&mut self, partition: usize, now: Time) -> Time {
        self.here.now = now;
        std::mem::swap(&mut self.here, &mut self.others[self.number]);
        std::mem::swap(&mut self.here, &mut self.others[partition]);
        self.number = partition;
        self.here.now
    }

    /// The earliest arrival in the present partition, and its direction; at [`Time::MAX`] there is none.
    #[inline(always)]
    pub(super) fn arrival(&self) -> (Time, usize) {
        (time(self.here.first), self.here.first as u32 as usize)
    }

    /// The instant of the earliest arrival in the present partition, and its entity.
    #[inline(always)]
    pub(super) fn arrival_key(&self) -> (Time, u32) {
        (time(self.here.first), (self.here.first as u64 >> 32) as u32)
    }

    /// The instant of the earliest timer here; [`Time::MAX`] if there is none. Arrivals at the
    /// same instant come before.
    #[inline(always)]
    pub(super) fn timer(&self) -> Time {
        time(self.here.timer)
    }

    /// The instant of the earliest arrival here by another direction than `i`; [`Time::MAX`] if there is none.
    #[inline(always)]
    pub(super) fn arrival_besides(&self, i: usize) -> Time {
        let (mut seat, mut first) = (self.seats[i].seat as usize, NONE);
        while seat > 1 {
            first = first.min(self.here.seated[seat ^ 1]);
            seat /= 2;
        }
        time(first)
    }

    /// The number of the earliest timer here.
    #[inline(always)]
    pub(super) fn timer_number(&self) -> u64 {
        self.here.timer as u64
    }

    /// From now on, arrivals of direction `i` belong to this entity.
    pub(super) fn rename(&mut self, i: usize, entity: u32) {
        self.seats[i].whose = whose(entity, i);
    }

    /// Sets the next arrival of direction `i`, which is in the present partition; `None` if there is none.
    #[inline(always)]
    pub(super) fn expect_here(&mut self, i: usize, at: Option<Time>) {
        self.here.expect(&self.seats[i], at);
    }

    /// Sets the next arrival of direction `i`, in whatever partition; `None` if there is none.
    pub(super) fn expect(&mut self, i: usize, at: Option<Time>) {
        let seat = self.seats[i];
        self.partition(seat.partition as usize).expect(&seat, at);
    }

    /// Adds a timer.
    #[inline(always)]
    pub(super) fn push(&mut self, partition: usize, at: Time, number: u64) {
        self.partition(partition).push(TimerKey::from(at.0) << 64 | TimerKey::from(number));
    }

    /// Removes the next event here, which is a timer, and returns its number.
    pub(super) fn pop(&mut self) -> Option<u64> {
        self.here.pop()
    }

    fn partition(&mut self, partition: usize) -> &mut Part {
        if partition == self.number { &mut self.here } else { &mut self.others[partition] }
    }
}

impl Part {
    fn new(held: usize) -> Self {
        Self {
            first: NONE,
            timer: NONE,
            outside: false,
            seated: vec![NONE; 2 * held],
            timers: BinaryHeap::new(),
            now: Time(0),
        }
    }

    #[inline(always)]
    fn push(&mut self, timer: TimerKey) {
        if timer < self.timer && !self.outside {
            (self.timer, self.outside) = (timer, true);
        } else {
            self.push_many(timer);
        }
    }

    #[inline(never)]
    fn push_many(&mut self, timer: TimerKey) {
        let mut later = timer;
        if timer < self.timer {
            later = std::mem::replace(&mut self.timer, timer);
        }
        self.timers.push(Reverse(later));
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<u64> {
        let timer = self.timer;
        if !self.outside {
            self.forget_first();
        }
        self.outside = false;
        self.timer = self.timers.peek().map_or(NONE, |&Reverse(timer)| timer);
        (timer != NONE).then_some(timer as u64)
    }

    #[inline(never)]
    fn forget_first(&mut self) {
        self.timers.pop();
    }

    #[inline(always)]
    fn expect(&mut self, seat: &Seat, at: Option<Time>) {
        let mut first = at.map_or(NONE, |at| ArrivalKey::from(at.0) << 64 | ArrivalKey::from(seat.whose));
        let mut seat = seat.seat as usize;
        while seat > 1 {
            self.seated[seat] = first;
            let other = self.seated[seat ^ 1];
            // A branch lets the processor predict the winner. Without it, the next event would wait for every
            // level of the tree.
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

fn whose(entity: u32, direction: usize) -> u64 {
    u64::from(entity) << 32 | direction as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PARTITIONS: usize = 3;

    proptest! {
        #[test]
        fn events_come_in_the_order_of_time_and_number(
            directions in prop::collection::vec((any::<bool>(), 0..PARTITIONS as u32), 0..12),
            calls in prop::collection::vec((0_u8..4, 0_u64..20, any::<prop::sample::Index>(), 0..PARTITIONS), 0..300),
        ) {
            let entry = |(entity, &(holds, partition))| Seated { entity, holds, partition };
            let entries: Vec<Seated> = (0..).zip(&directions).map(entry).collect();
            let held: Vec<usize> = (0..directions.len()).filter(|&i| directions[i].0).collect();
            let mut queue = EventQueue::new(PARTITIONS, &entries);
            // For each partition: instant, entity, and direction or timer.
            let mut sorted = vec![Vec::new(); PARTITIONS];
            for (call, at, which, partition) in calls {
                queue.go_to(partition, Time(0));
                match call {
                    0 if sorted[partition].first().is_some_and(|&(_, _, number)| number >= 12) => {
                        let (_, _, number) = sorted[partition].remove(0);
                        prop_assert_eq!(queue.pop(), Some(number));
                    }
                    1 | 2 if !held.is_empty() => {
                        let i = held[which.index(held.len())];
                        let there = &mut sorted[directions[i].1 as usize];
                        there.retain(|&(_, _, number)| number != i as u64);
                        // The entity does not follow from the direction alone: each direction has twelve.
                        let entity = 12 * ((5 * i as u32 + at as u32) % 12) + i as u32;
                        let next = (call == 1).then_some(Time(at));
                        there.extend(next.map(|at| (at, entity, i as u64)));
                        queue.rename(i, entity);
                        if entries[i].partition as usize == partition {
                            queue.expect_here(i, next);
                        } else {
                            queue.expect(i, next);
                        }
                    }
                    _ => {
                        let number = 12 + which.index(6) as u64;
                        let there = which.index(PARTITIONS);
                        sorted[there].push((Time(at), u32::MAX, number));
                        queue.push(there, Time(at), number);
                    }
                }
                sorted.iter_mut().for_each(|there| there.sort_unstable());
                for (partition, there) in sorted.iter().enumerate() {
                    queue.go_to(partition, Time(0));
                    let ((at, direction), timer) = (queue.arrival(), queue.timer());
                    let next = if timer < at { (timer, None) } else { (at, Some(direction as u64)) };
                    let (at, number) = there.first().map_or((Time::MAX, None), |&(at, _, n)| (at, (n < 12).then_some(n)));
                    prop_assert_eq!(next.0, at);
                    prop_assert!(at == Time::MAX || next.1 == number);
                }
                let earliest = sorted.iter().flatten().map(|&(at, _, _)| at).min();
                prop_assert_eq!(queue.earliest(), earliest.unwrap_or(Time::MAX));
            }
        }
    }
}
