//! Packets in the air of a constellation, in the order of their arrivals.
//!
//! This is a calendar queue (Brown, CACM 31(10), 1988) of two levels. A packet goes to its month or, within the
//! current month, to its day, without order. A day is sorted when it begins. So a packet is copied two or three
//! times, from the end of one list to the end of another, whatever the number of packets and ports; a tree of
//! thousands of ports costs a walk over its levels for each packet.

use std::collections::{BTreeSet, VecDeque};

use bentpipe_cc::Time;

use crate::link::packet::Packet;
use crate::resolve::plan::Plan;

/// Days of a month.
const DAYS: usize = 1 << 10;
const WORDS: usize = DAYS / 64;
/// The most months of a run: each has a list.
const MOST_MONTHS: u64 = 1 << 20;
/// Packets that would arrive in a day if all stations sent at the rate of their ports. Some tenth of them does.
const A_DAY: f64 = 24.0;
/// The longest day, as a power of two, ns: fewer packets a day are as good.
const LONGEST: u32 = 20;

/// Hops of a usual path, and bytes of a usual packet, where nothing more exact is needed.
const HOPS: f64 = 8.0;
const PACKET: f64 = 1_500.0;

/// A packet in the air behind a port, and the instant at which it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Landing {
    pub(super) at: Time,
    /// The number of the air.
    pub(super) air: u32,
    pub(super) packet: Packet,
}

/// The packets in the air.
#[derive(Debug)]
pub(super) struct Calendar {
    /// The length of a day is this power of two, ns.
    shift: u32,
    /// The current day, since the start of the run.
    day: u64,
    /// The packets of the current day and of days before it, in order. Those before `next` have arrived.
    today: Vec<Landing>,
    next: usize,
    /// The packets of the further days of this month, in the order in which they came, and which days have some.
    days: Vec<Vec<Landing>>,
    busy: [u64; WORDS],
    /// Those of the further months.
    months: VecDeque<Vec<Landing>>,
    len: usize,
}

impl Landing {
    /// The order of arrivals: by instant, then by entity, which has the order of the airs.
    #[inline(always)]
    pub(super) fn key(&self) -> (Time, u32) {
        (self.at, self.air)
    }
}

impl Calendar {
    /// An empty calendar for a run until `end` with this many arrivals a second.
    pub(super) fn new(end: Time, per_second: f64) -> Self {
        let day_ns = (A_DAY * 1e9 / per_second.max(1.0)) as u64;
        let shortest = (end.0 / DAYS as u64 / MOST_MONTHS + 1).next_power_of_two().ilog2();
        let shift = day_ns.clamp(1, 1 << LONGEST).ilog2().max(shortest);
        Self {
            shift,
            day: 0,
            today: Vec::new(),
            next: 0,
            days: vec![Vec::new(); DAYS],
            busy: [0; WORDS],
            months: VecDeque::new(),
            len: 0,
        }
    }

    /// How many packets are in the air.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The packet that arrives next.
    #[inline(always)]
    pub(super) fn first(&self) -> Option<&Landing> {
        self.today.get(self.next)
    }

    /// Takes the packet that arrives next, and that [`Calendar::first`] has shown. A copy as the result would cost a
    /// store-to-load forwarding stall, 7 to 14 % of the time of a run.
    #[inline(always)]
    pub(super) fn take_first(&mut self) {
        self.next += 1;
        self.len -= 1;
        if self.next == self.today.len() && self.len > 0 {
            self.turn();
        }
    }

    /// Adds a packet that arrives no earlier than those that have arrived.
    #[inline(always)]
    pub(super) fn add(&mut self, landing: Landing) {
        let day = landing.at.0 >> self.shift;
        self.len += 1;
        if day <= self.day {
            return self.add_today(landing);
        }
        let ahead = (day / DAYS as u64 - self.day / DAYS as u64) as usize;
        if ahead == 0 {
            let day = day as usize % DAYS;
            self.days[day].push(landing);
            self.busy[day / 64] |= 1 << (day % 64);
        } else {
            self.add_to_month(ahead - 1, landing);
        }
        if self.next == self.today.len() {
            self.turn();
        }
    }

    #[inline(never)]
    fn add_today(&mut self, landing: Landing) {
        let place = self.next + self.today[self.next..].partition_point(|of| of.key() <= landing.key());
        self.today.insert(place, landing);
    }

    #[inline]
    fn add_to_month(&mut self, month: usize, landing: Landing) {
        if self.months.len() <= month {
            self.months.resize_with(month + 1, Vec::new);
        }
        self.months[month].push(landing);
    }

    /// Goes on to the next day that has packets. The calendar is not empty.
    #[inline(never)]
    fn turn(&mut self) {
        let mut from = self.day as usize % DAYS + 1;
        let day = loop {
            match self.next_busy(from) {
                Some(day) => break day,
                None => self.turn_month(),
            }
            from = 0;
        };
        self.day = self.day / DAYS as u64 * DAYS as u64 + day as u64;
        self.busy[day / 64] &= !(1 << (day % 64));
        self.today.clear();
        self.next = 0;
        std::mem::swap(&mut self.today, &mut self.days[day]);
        self.today.sort_by_key(Landing::key); // stable: packets of one air and instant stay in their order
    }

    /// The first day of this month from `from` on that has packets.
    fn next_busy(&self, from: usize) -> Option<usize> {
        let rest = |word: usize| {
            if word == from / 64 { self.busy[word] & (u64::MAX << (from % 64)) } else { self.busy[word] }
        };
        let word = (from / 64..WORDS).find(|word| rest(*word) != 0)?;
        Some(64 * word + rest(word).trailing_zeros() as usize)
    }

    /// Goes on to the first day of the next month with packets.
    #[inline(never)]
    fn turn_month(&mut self) {
        let passed = self.months.iter().position(|month| !month.is_empty()).unwrap_or(0);
        self.day = (self.day / DAYS as u64 + 1 + passed as u64) * DAYS as u64;
        let month = self.months.drain(..=passed).next_back().unwrap_or_default();
        for landing in month {
            let day = (landing.at.0 >> self.shift) as usize % DAYS;
            self.days[day].push(landing);
            self.busy[day / 64] |= 1 << (day % 64);
        }
    }

    /// All packets, in no order of time, but those of one air and instant in theirs.
    pub(super) fn into_packets(self) -> impl Iterator<Item = Landing> {
        let Self { today, next, days, months, .. } = self;
        today.into_iter().skip(next).chain(days.into_iter().flatten()).chain(months.into_iter().flatten())
    }
}

/// Arrivals at nodes per second if all stations with a flow send at the rate of their ports.
pub(super) fn arrivals_per_second(plan: &Plan) -> f64 {
    let senders: BTreeSet<u32> = plan.flows.iter().filter_map(|flow| Some(flow.stations?[0])).collect();
    let rate_bps = plan.network.as_ref().map_or(0, |network| network.up.rate_bps);
    // Data and acknowledgements.
    2.0 * HOPS * senders.len() as f64 * rate_bps as f64 / 8.0 / PACKET
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a list that is sorted each time. Instants come close to each other and days, months and years ahead.
        #[test]
        fn packets_arrive_in_order(
            per_second in 1.0..1e10_f64,
            calls in prop::collection::vec((any::<bool>(), 0..3_u32, 0..40_u32, 0..1_u64 << 10), 1..400),
        ) {
            let mut calendar = Calendar::new(Time(1 << 40), per_second);
            let mut sorted: Vec<Landing> = Vec::new();
            let mut now = 0;
            for (number, (adds, air, scale, ahead)) in calls.into_iter().enumerate() {
                if adds {
                    let packet = Packet::new(100, number as u32);
                    let landing = Landing { at: Time(now + (ahead << scale >> 10)), air, packet };
                    let place = sorted.partition_point(|of| of.key() <= landing.key());
                    sorted.insert(place, landing);
                    calendar.add(landing);
                } else if let Some(&landing) = calendar.first() {
                    calendar.take_first();
                    prop_assert_eq!(landing, sorted.remove(0));
                    now = landing.at.0;
                }
                prop_assert_eq!(calendar.first(), sorted.first());
                prop_assert_eq!(calendar.len(), sorted.len());
            }
            let mut rest: Vec<Landing> = calendar.into_packets().collect();
            rest.sort_by_key(Landing::key);
            prop_assert_eq!(rest, sorted);
        }
    }
}
