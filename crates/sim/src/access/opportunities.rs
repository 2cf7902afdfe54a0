//! mahimahi's packet opportunities: instants at which exactly 1504 bytes may be sent (R. Netravali et al.:
//! Mahimahi: Accurate Record-and-Replay for HTTP, USENIX ATC 2015; `src/frontend/link_queue.cc`,
//! `LinkQueue::rationalize`).
//!
//! The rules: an opportunity that finds nothing waiting is lost. One opportunity may carry several small
//! packets and parts of two large ones; a packet has left when its last byte has. After the last opportunity
//! the list begins again, counted from the instant of the last one.

use std::sync::Arc;

use bentpipe_cc::Span;

use crate::access::context::AccessContext;
use crate::access::kind::{AccessKeys, AccessRule, PlannedAccess};
use crate::keys::error::{Error, quoted_name};
use crate::keys::file;

/// Bytes of an opportunity: 1500 of IP and 4 of the tunnel device's header (mahimahi,
/// `LinkQueue::PACKET_SIZE`).
pub const OPPORTUNITY: u64 = 1_504;
/// Nanoseconds in the unit of the files.
const MILLISECOND: u64 = 1_000_000;
/// Largest file of opportunities, in bytes.
const MAX_FILE: u64 = 256 << 20;
/// The latest instant in such a file, ms: ten years.
const MAX_MS: u64 = 3_652 * 86_400 * 1_000;

/// The key `opportunities` of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct Opportunities {
    /// The name of a file with their instants.
    pub file: String,
}

/// The opportunities of one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct OpportunitiesPlan {
    /// Their instants in milliseconds, at least one. They never decrease, and the last one is above 0.
    pub at_ms: Arc<[u64]>,
}

impl OpportunitiesPlan {
    /// Their mean rate, bits per second.
    pub fn mean_rate(&self) -> u64 {
        let period = u128::from(self.period_ms().max(1));
        (self.at_ms.len() as u128 * u128::from(OPPORTUNITY) * 8_000 / period).max(1) as u64
    }

    fn period_ms(&self) -> u64 {
        self.at_ms.last().copied().unwrap_or(1)
    }
}

impl AccessKeys for Opportunities {
    type Plan = OpportunitiesPlan;

    fn resolve(&self, _: u64, _: Span, context: &mut AccessContext<'_>) -> Result<OpportunitiesPlan, Error> {
        if let Some(known) = context.instants.get(&self.file) {
            return Ok(OpportunitiesPlan { at_ms: known.clone() });
        }
        let at_ms = read(&self.file).map_err(|message| context.origin.error(context.key, message))?;
        context.instants.insert(self.file.clone(), at_ms.clone());
        Ok(OpportunitiesPlan { at_ms })
    }

    fn own_rate(&self, context: &mut AccessContext<'_>) -> Result<Option<u64>, Error> {
        self.resolve(0, Span::ZERO, context).map(|plan| plan.own_rate())
    }
}

/// Reads a file of opportunities, by the rules of mahimahi's `LinkQueue`. No message quotes a line, because
/// the file may not be the one that was meant.
fn read(file: &str) -> Result<Arc<[u64]>, String> {
    let in_file = |message: String| format!("file of opportunities {}: {message}", quoted_name(file));
    let text = file::text(file.as_ref(), MAX_FILE).map_err(in_file)?;
    let mut all: Vec<u64> = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let wrong = |message: String| in_file(format!("line {}: {message}", i + 1));
        let at = line.trim().parse().ok().filter(|&at| at <= MAX_MS);
        let Some(at) = at else {
            return Err(wrong("it is not a whole number of milliseconds from 0".to_owned()));
        };
        if let Some(last) = all.last().copied().filter(|&last| last > at) {
            return Err(wrong(format!("{at} comes after {last}; the instants may not decrease")));
        }
        all.push(at);
    }
    match all.last() {
        None => Err(in_file("it holds no opportunity; each line is an instant in milliseconds".to_owned())),
        Some(0) => Err(in_file(
            "all is at 0 ms; the last instant, after which all repeats, must be later".to_owned(),
        )),
        Some(_) => Ok(all.into()),
    }
}

impl PlannedAccess for OpportunitiesPlan {
    fn own_rate(&self) -> Option<u64> {
        Some(self.mean_rate())
    }

    fn start(&self) -> Box<dyn AccessRule> {
        Box::new(OpportunitiesState::new(self))
    }
}

/// The opportunities of one transmitter, in order.
#[derive(Debug)]
struct OpportunitiesState {
    plan: OpportunitiesPlan,
    /// Index of the next opportunity, and the instant from which its round of the file counts, ms.
    next: usize,
    base: u64,
    /// How many have passed.
    passed: u64,
}

impl OpportunitiesState {
    fn new(plan: &OpportunitiesPlan) -> Self {
        Self { plan: plan.clone(), next: 0, base: 0, passed: 0 }
    }

    fn move_to(&mut self, next: usize) {
        self.passed += (next - self.next) as u64;
        self.next = next;
        if next == self.plan.at_ms.len() {
            self.next = 0;
            self.base += self.plan.period_ms();
        }
    }
}

impl AccessRule for OpportunitiesState {
    fn due(&self) -> u64 {
        self.base.saturating_add(self.plan.at_ms[self.next]).saturating_mul(MILLISECOND)
    }

    fn take(&mut self, _: u64) -> u64 {
        self.move_to(self.next + 1);
        OPPORTUNITY
    }

    fn pass(&mut self, now: u64) {
        // Whole rounds are skipped at once: a pause may be long.
        let period = self.plan.period_ms().max(1);
        let rounds = ((now / MILLISECOND).saturating_sub(self.base) / period).saturating_sub(1);
        self.passed += rounds * self.plan.at_ms.len() as u64;
        self.base += rounds * period;
        while self.due() <= now {
            let until = now / MILLISECOND - self.base;
            let rest = &self.plan.at_ms[self.next..];
            self.move_to(self.next + rest.partition_point(|&at| at <= until));
        }
    }

    fn offered(&self, _: u64, _: u64) -> f64 {
        (self.passed * OPPORTUNITY) as f64
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use bentpipe_cc::Time;
    use proptest::prelude::*;

    use super::*;
    use crate::link::direction::{Direction, Push};
    use crate::link::packet::Packet;
    use crate::queue::{Class, QueueLimit};
    use crate::resolve::plan::{AccessPlan, DirectionPlan, LinkLayerPlan};

    fn direction(at_ms: &[u64], queue: QueueLimit) -> Direction {
        let access = Some(AccessPlan::Opportunities(OpportunitiesPlan { at_ms: at_ms.into() }));
        let plan = DirectionPlan {
            link_layer: LinkLayerPlan { access, ..LinkLayerPlan::default() },
            ..DirectionPlan::plain(1_000_000, Span::from_millis(7), queue)
        };
        Direction::new(&plan, 1, "test")
    }

    /// An independent model of mahimahi's `LinkQueue` with its drop-tail queue, written from its rules:
    /// packets in, departures out.
    struct Mahimahi<'a> {
        schedule: &'a [u64],
        next: usize,
        base: u64,
        queue: VecDeque<(usize, u64)>,
        limit: QueueLimit,
        transit: Option<(usize, u64)>,
        /// The numbers of packets that have left, and when, ms.
        left: Vec<(usize, u64)>,
    }

    impl Mahimahi<'_> {
        fn rationalize(&mut self, now: u64) {
            while self.schedule[self.next] + self.base <= now {
                let time = self.schedule[self.next] + self.base;
                self.next = (self.next + 1) % self.schedule.len();
                if self.next == 0 {
                    self.base += self.schedule.last().unwrap();
                }
                let mut bytes = 1_504;
                while bytes > 0 {
                    let Some((number, left)) = self.transit.take().or_else(|| self.queue.pop_front()) else {
                        break;
                    };
                    let amount = left.min(bytes);
                    bytes -= amount;
                    match left - amount {
                        0 => self.left.push((number, time)),
                        more => self.transit = Some((number, more)),
                    }
                }
            }
        }

        fn read_packet(&mut self, now: u64, number: usize, size: u64) -> bool {
            self.rationalize(now);
            let bytes: u64 = self.queue.iter().map(|(_, size)| size).sum();
            let fits = match self.limit {
                QueueLimit::Packets(most) => (self.queue.len() as u64) < most,
                QueueLimit::Bytes(most) => bytes + size <= most,
            };
            if fits {
                self.queue.push_back((number, size));
            }
            fits
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
        #[test]
        fn departures_are_those_of_mahimahis_rules(
            steps in prop::collection::vec(prop_oneof![Just(0_u64), 0_u64..4, 0_u64..60], 1..40),
            packets in prop::collection::vec((prop_oneof![Just(0_u64), 0_u64..3_000, 0_u64..90_000], 1_u64..1_505), 1..200),
            limit in prop_oneof![
                (1_u64..40).prop_map(QueueLimit::Packets),
                (1_500_u64..20_000).prop_map(QueueLimit::Bytes),
                Just(QueueLimit::Packets(u64::MAX)),
            ],
        ) {
            let mut at = 0;
            let mut schedule: Vec<u64> = steps.iter().map(|step| { at += step; at }).collect();
            if at == 0 {
                schedule.push(1);
            }
            let mut theirs = Mahimahi {
                schedule: &schedule, next: 0, base: 0, queue: VecDeque::new(), limit, transit: None, left: Vec::new(),
            };
            let mut ours = direction(&schedule, limit);
            let (mut now, mut left) = (0, Vec::new());
            let mut drain = |ours: &mut Direction, until: u64| {
                while let Some(at) = ours.next().filter(|at| at.0 <= until) {
                    if let Some((packet, _)) = ours.pop(at) {
                        left.push((packet.seq as usize, (at.0 - 7_000_000) / 1_000_000));
                    }
                }
            };
            for (number, (gap, size)) in packets.iter().enumerate() {
                now += gap; // us
                let fits = theirs.read_packet(now / 1_000, number, *size);
                // Half of the packets come while nobody has looked for a while.
                if size % 2 == 0 {
                    drain(&mut ours, now * 1_000);
                }
                let packet = Packet { seq: number as u32, size: *size as u16, ..Packet::default() };
                prop_assert_eq!(ours.push(Time(now * 1_000), packet, Class::default()) == Push::Taken, fits);
            }
            theirs.rationalize((now + 1_000_000) / 1_000);
            drain(&mut ours, (now + 1_000_000) * 1_000 + 7_000_000);
            prop_assert_eq!(&left, &theirs.left);
            prop_assert!(ours.utilisation(Time(now * 1_000)) <= 1.0);
        }
    }

    #[test]
    fn small_packets_share_an_opportunity_and_a_large_one_takes_several() {
        let mut ours = direction(&[10, 10, 20], QueueLimit::Packets(100));
        for size in [1_000, 500, 40, 3_000, 4] {
            ours.push(Time(10_000_000), Packet { size, ..Packet::default() }, Class::default());
        }
        // Packets that come at 10 ms have missed both. At 20 ms: 1000, 500, and 4 of 40. The next round has
        // 30, 30 and 40 ms.
        let out: Vec<u64> = std::iter::from_fn(|| {
            let at = ours.next()?;
            Some((at, ours.pop(at)))
        })
        .filter_map(|(at, out)| out.map(|_| at.0 / 1_000_000 - 7))
        .collect();
        assert_eq!(out, [20, 20, 30, 40, 40]);
    }

    #[test]
    fn the_mean_rate_is_that_of_one_round() {
        assert_eq!(OpportunitiesPlan { at_ms: [0, 1, 2, 4].into() }.mean_rate(), 4 * 1_504 * 8 * 250);
    }

    #[test]
    fn hours_without_packets_cost_nothing() {
        let mut ours = OpportunitiesState::new(&OpportunitiesPlan { at_ms: [1, 5, 9].into() });
        ours.pass(9_000_000_000_000 + 5_000_000);
        assert_eq!((ours.due(), ours.offered(0, 0)), (9_000_000_000_000 + 9_000_000, 1_504.0 * 3_000_002.0));
    }
}
