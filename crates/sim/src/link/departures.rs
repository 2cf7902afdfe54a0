//! Links whose queue decides at departure.
//!
//! When a packet arrives its departure is not known: packets may be dropped, or others may go first. Yet such a link needs
//! no event besides the arrivals at its far end. Whatever it decides at an instant depends on what came before that instant,
//! so it decides when somebody asks: before it takes another packet, and when nothing is left under way. The transmitter
//! that becomes free at an instant chooses before packets of the same instant arrive; so nothing hangs on who asks when, and
//! a link in front of it may hand packets on ahead of time.

use bentpipe_cc::Time;

use crate::link::direction::{Fate, Link};
use crate::link::packet::{LOST, Packet};
use crate::queue::at_departure::Class;

impl Link {
    /// Offers a packet of this class at `now` to a link that decides at departure. Is its next event new?
    pub(crate) fn offer(&mut self, now: Time, packet: Packet, class: Class) -> bool {
        let first = self.next().is_none();
        self.catch_up(now);
        let Some(scheduled) = self.scheduled() else { return false };
        scheduled.enqueue(now, packet, class);
        if scheduled.is_idle() {
            self.transmit(now);
        }
        self.count();
        first && self.next().is_some()
    }

    /// When the next packet reaches the far end, nothing being under way as far as the link knows at `now`.
    pub(crate) fn refill(&mut self, now: Time) -> Option<Time> {
        self.scheduled()?;
        self.catch_up(now);
        self.next()
    }

    /// Makes the choices that were due by `now`.
    pub(crate) fn catch_up(&mut self, now: Time) {
        while self.free_at() <= now && self.scheduled().is_some_and(|s| !s.is_idle()) {
            self.transmit(self.free_at());
        }
        self.count();
    }

    /// The transmitter is free at `now` and takes the next packet.
    fn transmit(&mut self, now: Time) {
        let Some(mut packet) = self.scheduled().and_then(|s| s.dequeue(now)) else { return };
        match self.admit(now, &mut packet) {
            Fate::Arrives(at) => _ = self.keep(at, packet.hop, &packet),
            Fate::Lost(at) => {
                // Its arrival is an event all the same: the queue is looked at then.
                packet.flags |= LOST;
                self.keep(at, packet.hop, &packet);
                if let Some(scheduled) = self.scheduled() {
                    scheduled.store.verdicts.untold.push(packet);
                }
            }
            Fate::Dropped => {} // what it hands over always has room
        }
    }

    fn count(&mut self) {
        let Some(scheduled) = self.scheduled() else { return };
        let verdicts = &scheduled.store.verdicts;
        let (dropped, marked) = (verdicts.dropped, verdicts.marked);
        let waiting = scheduled.waiting();
        self.counts.dropped_queue = dropped;
        self.counts.marked = marked;
        self.counts.most = self.counts.most.max(waiting);
    }

    /// A packet of whose end its flow has not been told: dropped, or, with [`LOST`], under way without ever arriving.
    pub(crate) fn take_untold(&mut self) -> Option<Packet> {
        self.scheduled()?.store.verdicts.untold.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;
    use crate::link::packet::ACK;
    use crate::resolve::plan::Plan;
    use proptest::prelude::*;

    /// A link of 10 Mbit/s that is lossy, with a queue of this kind.
    fn plan(queue: &str) -> Plan {
        let text = format!(
            "duration = \"1 s\"\n[link.x]\nrate = \"10 Mbit/s\"\ndelay = \"3 ms\"\nqueue = {{ {queue} }}\n\
             loss = {{ kind = \"packet-error\", rate = 0.1 }}\n\
             [[flow]]\ncc = \"reno\"\npath = [\"x\"]\n"
        );
        Scenario::from_toml(&text, "x.toml", &[]).and_then(|s| s.resolve()).expect("a valid scenario")
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
        /// Every packet arrives, is dropped, is lost, is under way, or waits; each that will not arrive is told of once.
        #[test]
        fn nothing_is_lost_from_sight(
            queue in prop::sample::select(vec![
                "kind = \"codel\", limit = \"30 packets\", target = \"1 ms\", interval = \"4 ms\"",
                "kind = \"codel\", limit = \"20 kB\", target = \"1 ms\", interval = \"4 ms\", ecn = true",
                "kind = \"fq-codel\", limit = \"30 packets\", target = \"1 ms\", interval = \"4 ms\", queues = 4",
                "kind = \"fq-codel\", limit = \"20 kB\", target = \"1 ms\", interval = \"4 ms\", ecn = true",
                "kind = \"priority\", limit = \"10 packets\"",
                "kind = \"priority\", limit = \"9 kB\"",
            ]),
            packets in prop::collection::vec((0_u64..2_000_000, 40_u16..1501, 0_u32..5, any::<bool>(), 0_u16..3), 1..400),
        ) {
            let plan = plan(queue);
            let mut link = Link::new(&plan.links[0].forward, 0, 1, "link/x/forward");
            let (mut now, mut told, mut taken_out, mut lost) = (Time(0), Vec::new(), 0, 0);
            for (i, (gap, size, flow, ack, look)) in packets.iter().enumerate() {
                now = Time(now.0 + gap);
                while link.next().is_some_and(|t| t <= now) {
                    if link.pop().is_some_and(|p| p.has(LOST)) { lost += 1 } else { taken_out += 1 }
                    if link.next().is_none() {
                        link.catch_up(now);
                    }
                }
                // Looking now and then must not matter, so the counts below hold either way.
                if *look == 0 {
                    link.catch_up(now);
                }
                let flags = if *ack { ACK } else { crate::link::packet::ECT };
                let packet = Packet { seq: i as u32, flow: *flow, size: *size, flags, ..Packet::default() };
                // Five flows, of two bands and four parts of all hashes.
                let class = Class { band: u8::from(*flow > 2), hash: u64::from(*flow % 4) << 51 };
                link.offer(now, packet, class);
                told.extend(std::iter::from_fn(|| link.take_untold()));
            }
            let counts = link.counts;
            prop_assert_eq!(counts.delivered, taken_out);
            let mut under_way = 0;
            while link.next().is_some() {
                if link.pop().is_some_and(|p| p.has(LOST)) { lost += 1 } else { under_way += 1 }
            }
            let waiting = link.scheduled().unwrap().waiting();
            let all = packets.len() as u64;
            prop_assert_eq!(all, taken_out + counts.dropped_queue + lost + under_way + waiting);
            prop_assert_eq!(counts.dropped_error, lost);
            prop_assert_eq!(told.len() as u64, counts.dropped_queue + counts.dropped_error);
            let mut numbers: Vec<u32> = told.iter().map(|p| p.seq).collect();
            numbers.sort_unstable();
            numbers.dedup();
            prop_assert_eq!(numbers.len(), told.len());
            // And at last the queue runs empty.
            link.catch_up(Time::MAX);
            while link.next().is_some() {
                link.pop();
            }
            prop_assert_eq!((link.scheduled().unwrap().waiting(), link.counts.delivered + link.counts.dropped_queue + link.counts.dropped_error), (0, all));
        }
    }

    #[test]
    fn the_mean_queue_counts_waiting_and_not_transmission() {
        // Packets of 1250 bytes take 1 ms. Four come at 0; until 3 ms 3, 2 and 1 of them wait.
        let plan = plan("kind = \"priority\", limit = \"10 packets\"");
        let mut link = Link::new(&plan.links[0].forward, 0, 1, "link/x/forward");
        for _ in 0..4 {
            link.offer(Time(0), Packet { size: 1250, ..Packet::default() }, Class::default());
        }
        assert_eq!(link.waiting(Time(2_500_000)), 1);
        link.catch_up(Time(3_000_000));
        assert!((link.queue_mean(Time(3_000_000)) - 2.0).abs() < 1e-12);
        assert_eq!((link.queue_max(), link.utilisation(Time(8_000_000))), (3, 0.5));
    }
}
