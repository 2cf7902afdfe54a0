//! CoDel: controlled delay (Nichols, Jacobson, McGregor and Iyengar, RFC 8289).
//!
//! The decision falls when a packet is about to be sent. Once packets have waited at least the target for a
//! whole interval, one packet is dropped from the head. Another follows each interval / sqrt(count) later,
//! until a packet has waited less than the target or no more than one full packet waits behind it. When drops
//! begin again soon, they start at the last rate (section 5, the variant that the RFC gives).
//!
//! The RFC's pseudo-code knows only drops. With ECN a mark takes the place of a drop: it counts, and the
//! packet that carries it is sent. So one call marks at most one packet.

use bentpipe_cc::{Span, Time};

use crate::keys::error::Error;
use crate::keys::table::keys;
use crate::keys::units::{Duration, QueueSize};
use crate::link::packet::{Ecn, Packet};
use crate::link::random::Stream;
use crate::queue::at_departure::{AtDeparture, Class};
use crate::queue::context::{Context, QueueLimit};
use crate::queue::kind::{QueueKeys, QueuePlan, Rule};
use crate::queue::packet_store::{Fifo, Sifting, Store};

/// Drops that begin again within this many intervals of the last one start at the rate that they had reached.
const MEMORY: u64 = 16;

keys! {
    /// Controlled delay (RFC 8289). First in, first out; packets are dropped or marked at the head when they
    /// have waited too long for a whole interval.
    pub struct Codel {
        /// Room, the packet in transmission not counted.
        pub limit: QueueSize = QueueSize::Bdp(1.0),
        /// Waiting time that is accepted.
        pub target: Duration = Duration(Span::from_millis(5)),
        /// Time for which a longer wait counts as a burst; about the longest round-trip time of the flows.
        pub interval: Duration = Duration(Span::from_millis(100)),
        /// Marks packets of flows with `ecn` where it would drop them; a full queue still drops.
        pub ecn: bool = false,
    }
}

/// CoDel (RFC 8289).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CodelPlan {
    /// The standing delay that is accepted: TARGET.
    pub target: Span,
    /// For how long a delay above it counts as a burst: INTERVAL.
    pub interval: Span,
    /// Marks rather than drops packets whose transport understands it.
    pub ecn: bool,
    /// Bytes of a full packet; with no more than one waiting nothing is dropped: MAXPACKET.
    pub mtu: u32,
}

impl CodelPlan {
    /// What these keys come to.
    pub(crate) fn new(
        target: Duration,
        interval: Duration,
        ecn: bool,
        context: &Context<'_>,
    ) -> Result<Self, Error> {
        let target = context.longer_than_zero(target, "target")?;
        if interval.0 <= target {
            let message = format!("{interval} is not longer than target = {}; it must be", Duration(target));
            return Err(context.error("interval", message));
        }
        Ok(Self { target, interval: interval.0, ecn, mtu: context.wire })
    }
}

impl QueueKeys for Codel {
    type Plan = CodelPlan;
    const LABEL: &'static str = "CoDel";
    const SOURCE: &'static str =
        "K. Nichols, V. Jacobson, A. McGregor, J. Iyengar: Controlled Delay Active Queue Management, 2018";
    const REFERENCE: &'static str = "RFC 8289";

    fn resolve(&self, context: &mut Context<'_>) -> Result<(QueueLimit, CodelPlan), Error> {
        let limit = context.limit(self.limit);
        context.check_room(limit, "CoDel queue drops by its delay")?;
        Ok((limit, CodelPlan::new(self.target, self.interval, self.ecn, context)?))
    }
}

impl QueuePlan for CodelPlan {
    fn marks(&self) -> bool {
        self.ecn
    }

    fn start(&self, limit: QueueLimit, _: u64, _: Stream) -> Rule {
        let (codel, fifo) = (CodelState::default(), Fifo::default());
        Rule::AtDeparture(Box::new(CodelQueue { plan: *self, limit, codel, fifo }))
    }
}

/// One queue that CoDel governs.
#[derive(Debug)]
struct CodelQueue {
    plan: CodelPlan,
    limit: QueueLimit,
    codel: CodelState,
    fifo: Fifo,
}

impl AtDeparture for CodelQueue {
    fn enqueue(&mut self, now: Time, packet: Packet, _: Class, idle: bool, store: &mut Store) {
        store.push_if_room(&mut self.fifo, self.limit, now, packet, idle);
    }

    fn dequeue(&mut self, now: Time, store: &mut Store) -> Option<Packet> {
        self.codel.next(&self.plan, now, &mut self.fifo, store)
    }

    fn sift(&mut self, _: Time, store: &mut Store, verdict: &mut Sifting<'_>) {
        store.sift(&mut self.fifo, verdict);
    }

    fn bytes(&self) -> u64 {
        self.fifo.bytes
    }
}

/// The state of CoDel for one queue.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CodelState {
    /// When packets will have waited too long for a whole interval; `None` while they have not.
    first_above: Option<Time>,
    dropping: bool,
    drop_next: Time,
    /// Drops since dropping began, and their number when it last began.
    count: u32,
    last_count: u32,
}

impl CodelState {
    /// The packet to send at `now`; `None` if none is left.
    pub(crate) fn next(
        &mut self,
        plan: &CodelPlan,
        now: Time,
        fifo: &mut Fifo,
        store: &mut Store,
    ) -> Option<Packet> {
        let (mut packet, mut bad) = self.look(plan, now, fifo, store);
        if self.dropping {
            self.dropping = bad;
            while self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                if marks(plan, &mut packet, store) {
                    self.drop_next = control_law(plan.interval, self.drop_next, self.count);
                    break;
                }
                packet.into_iter().for_each(|p| store.verdicts.drop(p));
                (packet, bad) = self.look(plan, now, fifo, store);
                self.dropping = bad;
                if bad {
                    self.drop_next = control_law(plan.interval, self.drop_next, self.count);
                }
            }
        } else if bad {
            if !marks(plan, &mut packet, store) {
                packet.into_iter().for_each(|p| store.verdicts.drop(p));
                (packet, _) = self.look(plan, now, fifo, store);
            }
            self.dropping = true;
            let since = Span(now.0.saturating_sub(self.drop_next.0));
            let delta = self.count.saturating_sub(self.last_count);
            let soon = since < Span(plan.interval.0.saturating_mul(MEMORY));
            self.count = if delta > 1 && soon { delta } else { 1 };
            self.last_count = self.count;
            self.drop_next = control_law(plan.interval, now, self.count);
        }
        packet
    }

    /// Takes the head of the queue; has the delay been bad for a whole interval?
    fn look(
        &mut self,
        plan: &CodelPlan,
        now: Time,
        fifo: &mut Fifo,
        store: &mut Store,
    ) -> (Option<Packet>, bool) {
        let Some((since, packet)) = store.pop(fifo) else {
            self.first_above = None;
            return (None, false);
        };
        let good = now.since(since) < plan.target || fifo.bytes <= u64::from(plan.mtu);
        let bad = match self.first_above {
            _ if good => {
                self.first_above = None;
                false
            }
            None => {
                self.first_above = Some(now + plan.interval);
                false
            }
            Some(at) => now >= at,
        };
        (Some(packet), bad)
    }
}

/// Marks the packet, if it may be.
fn marks(plan: &CodelPlan, packet: &mut Option<Packet>, store: &mut Store) -> bool {
    match packet {
        Some(packet) if plan.ecn && packet.ecn() != Ecn::NotCapable => {
            store.verdicts.mark(packet);
            true
        }
        _ => false,
    }
}

/// When the next drop is due.
fn control_law(interval: Span, from: Time, count: u32) -> Time {
    from + Span((interval.0 as f64 / libm::sqrt(f64::from(count.max(1)))) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: CodelPlan =
        CodelPlan { target: Span::from_millis(5), interval: Span::from_millis(100), ecn: false, mtu: 1500 };

    /// The instant 1 s and `ms` after the start, so that packets may have come before 0.
    fn ms(ms: u64) -> Time {
        Time((1_000 + ms) * 1_000_000)
    }

    /// A queue whose transmitter asks at given instants.
    #[derive(Default)]
    struct Bench {
        codel: CodelState,
        store: Store,
    }

    impl Bench {
        /// Asks at `now` (ms) when all waiting packets came `waited` ms before: a head and `behind`. Returns
        /// the drops of this call.
        fn ask(&mut self, plan: &CodelPlan, now: u64, waited: u64, behind: &[Packet]) -> u64 {
            let mut fifo = Fifo::default();
            for packet in [&[packet(1000)], behind].concat() {
                self.store.push(&mut fifo, Time(ms(now).0 - waited * 1_000_000), packet);
            }
            let dropped = self.store.verdicts.dropped;
            let sent = self.codel.next(plan, ms(now), &mut fifo, &mut self.store);
            assert!(sent.is_some());
            let dropped = self.store.verdicts.dropped - dropped;
            assert_eq!(fifo.packets + 1 + dropped, 1 + behind.len() as u64);
            while self.store.pop(&mut fifo).is_some() {}
            dropped
        }

        /// Asks every millisecond of `times`; returns the milliseconds with drops.
        fn drops(&mut self, times: std::ops::Range<u64>, waited: u64) -> Vec<u64> {
            let behind = [packet(1000); 10];
            times.filter(|now| self.ask(&PLAN, *now, waited, &behind) > 0).collect()
        }
    }

    fn packet(size: u16) -> Packet {
        Packet { size, ..Packet::default() }
    }

    #[test]
    fn drops_follow_the_control_law() {
        // 5000 packets come at once and leave one a millisecond. From 5 ms on they have waited too long,
        // for a whole interval at 105 ms. Then t + 100/sqrt(count), rounded up to the next packet: 205,
        // then 205 + 70.71 = 275.71,
        // + 57.74 = 333.45, + 50 = 383.45, + 44.72 = 428.17, + 40.82 = 468.99, + 37.80 = 506.79, + 35.36 = 542.14.
        let (mut bench, mut fifo, mut times) = (Bench::default(), Fifo::default(), Vec::new());
        for _ in 0..5000 {
            bench.store.push(&mut fifo, ms(0), packet(1000));
        }
        for now in 0..550 {
            let Bench { codel, store } = &mut bench;
            let dropped = store.verdicts.dropped;
            assert!(codel.next(&PLAN, ms(now), &mut fifo, store).is_some());
            times.extend((dropped..store.verdicts.dropped).map(|_| now));
        }
        assert_eq!(times, [105, 205, 276, 334, 384, 429, 469, 507, 543]);
        assert_eq!(fifo.packets, 5000 - 550 - 9);
    }

    #[test]
    fn nothing_is_dropped_until_the_delay_was_too_long_for_a_whole_interval() {
        let mut bench = Bench::default();
        // Good at 0, bad from 1 to 99 ms, good once at 100, bad from 101 on: drops begin at 201.
        assert!(bench.drops(0..1, 4).is_empty());
        assert!(bench.drops(1..100, 5).is_empty());
        assert!(bench.drops(100..101, 4).is_empty());
        assert_eq!(bench.drops(101..300, 5), [201]);
    }

    #[test]
    fn one_full_packet_may_wait_for_ever() {
        for (behind, expected) in [(&[packet(1500)][..], 0), (&[packet(750), packet(751)], 1)] {
            let mut bench = Bench::default();
            let dropped: u64 = (1000..1150).map(|now| bench.ask(&PLAN, now, 900, behind)).sum();
            assert_eq!(dropped, expected, "{behind:?}");
        }
    }

    #[test]
    fn drops_that_begin_again_soon_begin_at_the_rate_that_they_had_reached() {
        let first = [100, 200, 271, 329, 379];
        // Five drops; the next would have come at 423.2. Good at 400, bad from 401: drops from 501, and as
        // that is within 16 intervals of 423.2, count is 5 - 1 = 4: 501 + 50,
        // then + 44.7 = 595.7, + 40.8 = 636.5.
        let mut bench = Bench::default();
        assert_eq!(bench.drops(0..400, 10), first);
        assert!(bench.drops(400..401, 0).is_empty());
        assert_eq!(bench.drops(401..640, 10), [501, 551, 596, 637]);
        // Then 6 + 1 - 4 = 3 more: 100 / sqrt(3) = 57.7 after the first.
        assert!(bench.drops(640..641, 0).is_empty());
        assert_eq!(bench.drops(641..800, 10), [741, 799]);
        // Once more at once, with 4 - 3 = 1 more: from the beginning, a whole interval.
        assert!(bench.drops(800..801, 0).is_empty());
        assert_eq!(bench.drops(801..1002, 10), [901, 1001]);
        // Later than 16 intervals after 423.2, that is 2023.2: from the beginning, too.
        for (back, expected) in [(1922, 2022 + 50), (1924, 2024 + 100)] {
            let mut bench = Bench::default();
            assert_eq!(bench.drops(0..400, 10), first);
            assert!(bench.drops(400..back, 0).is_empty());
            assert_eq!(bench.drops(back..expected + 1, 10), [back + 100, expected]);
        }
    }

    #[test]
    fn drops_that_were_due_between_two_packets_are_made_up() {
        let mut bench = Bench::default();
        let behind = [packet(1000); 10];
        assert_eq!(bench.drops(0..101, 10), [100]);
        // Due at 200 and 270.7; the next at 328.4.
        assert_eq!(bench.ask(&PLAN, 300, 200, &behind), 2);
        assert_eq!(bench.ask(&PLAN, 328, 200, &behind), 0);
        assert_eq!(bench.ask(&PLAN, 329, 200, &behind), 1);
        // They end with the queue: two are left of many due.
        assert_eq!(bench.ask(&PLAN, 2_000, 200, &[packet(1000), packet(1000)]), 1);
    }

    #[test]
    fn an_empty_queue_ends_the_dropping() {
        let mut bench = Bench::default();
        assert_eq!(bench.drops(0..150, 10), [100]);
        let Bench { codel, store } = &mut bench;
        assert_eq!(codel.next(&PLAN, ms(150), &mut Fifo::default(), store), None);
        assert_eq!(bench.drops(151..300, 10), [251], "a whole interval again");
    }

    #[test]
    fn marks_come_when_drops_would_and_cost_no_packet() {
        let plan = CodelPlan { ecn: true, ..PLAN };
        let ect = packet(1000).with_ect();
        let mut store = Store::default();
        let (mut codel, mut fifo, mut times) = (CodelState::default(), Fifo::default(), Vec::new());
        for i in 0..1000 {
            // The packet that is sent at 275 + 1 ms does not understand marks.
            store.push(&mut fifo, ms(0), if i == 276 { packet(1000) } else { ect });
        }
        for now in 0..390 {
            let sent = codel.next(&plan, ms(now), &mut fifo, &mut store).unwrap();
            if sent.is_marked() {
                times.push(now);
            }
        }
        assert_eq!(times, [105, 205, 334, 384]);
        assert_eq!((store.verdicts.marked, store.verdicts.dropped), (4, 1));
    }
}
