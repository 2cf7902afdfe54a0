//! Links whose queue decides at departure.
//!
//! The departure of a packet is not known when it arrives: packets may be dropped, or others may go first.
//! Yet such a link needs no event besides the arrivals at its far end. A decision at an instant depends only
//! on what came before that instant. The link therefore decides when somebody asks: before it takes another
//! packet, and when nothing is left in flight. A transmitter that becomes free at an instant chooses before
//! packets of the same instant arrive. The result therefore does not depend on who asks when, and a link in
//! front of it may hand packets on ahead of time.

use bentpipe_cc::Time;

use crate::link::direction::{Direction, Push, Refusal, Transit};
use crate::link::packet::{LOST, Packet, WAKE};
use crate::queue::at_departure::Class;

impl Direction {
    /// [`Direction::push`] for a queue that decides at departure.
    pub(crate) fn push_scheduled(&mut self, now: Time, packet: Packet, class: Class) -> Push {
        self.decide_until(now);
        let Some(scheduled) = self.scheduled() else { return Push::Taken };
        let before = scheduled.store.verdicts.dropped;
        scheduled.enqueue(now, packet, class);
        let verdicts = &mut scheduled.store.verdicts;
        let refused = verdicts.dropped > before && verdicts.untold.pop_if(|last| *last == packet).is_some();
        if scheduled.is_idle() {
            self.transmit(now);
        }
        self.settle();
        if refused { Push::Dropped(Refusal::Full) } else { Push::Taken }
    }

    /// Makes the choices that were due by `now`.
    pub(crate) fn catch_up(&mut self, now: Time) {
        self.decide_until(now);
        self.settle();
    }

    fn decide_until(&mut self, now: Time) {
        if self.link_layer().is_some() {
            return self.work_until(now);
        }
        if self.transmitter.rate == 0 {
            return self.catch_up_moving(now);
        }
        while self.free_at() <= now && self.scheduled().is_some_and(|s| !s.is_idle()) {
            self.transmit(self.free_at());
        }
    }

    /// All decisions that were due have been made.
    fn settle(&mut self) {
        if self.link_layer().is_some() {
            self.plan_wake();
        }
        self.count();
    }

    /// The transmitter is free at `now` and takes the next packet.
    pub(super) fn transmit(&mut self, now: Time) {
        if self.link_layer().is_some() {
            return self.choose(now);
        }
        let Some(mut packet) = self.scheduled().and_then(|s| s.dequeue(now)) else { return };
        match self.transit(now, &mut packet) {
            Transit::Arrives(at) => self.keep_in_place(at, &packet),
            Transit::Lost(at) => {
                // Its arrival is an event all the same: the queue is checked then.
                packet.flags |= LOST;
                self.keep_in_place(at, &packet);
                if let Some(scheduled) = self.scheduled() {
                    scheduled.store.verdicts.untold.push(packet);
                }
            }
            Transit::Refused(_) => {} // what it hands over always has room
        }
        // Where packets may overtake, the next one may come out before all that are in flight. The queue must
        // be checked before that.
        if self.transmitter.rate == 0 && self.moving().is_some_and(|moving| moving.line.reorder) {
            self.keep_in_place(self.free_at(), &Packet { flags: LOST | WAKE, ..Packet::default() });
        }
    }

    /// A packet that will not arrive comes out at `now`. Is it only an event, at which the queue is checked?
    pub(super) fn wakes(&mut self, now: Time, packet: &Packet) -> bool {
        let wakes = packet.has(WAKE);
        if wakes {
            self.catch_up(now);
        }
        wakes
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;
    use crate::link::direction::Fate;
    use crate::link::packet::{ACK, ECT, ECT1};
    use crate::resolve::plan::Plan;
    use proptest::prelude::*;

    /// A lossy link of 10 Mbit/s with a queue of this kind.
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
        /// Every packet arrives, is dropped, is lost, is in flight, or waits. Each packet that will not
        /// arrive is reported once.
        #[test]
        fn nothing_is_lost_from_sight(
            queue in prop::sample::select(vec![
                "kind = \"codel\", limit = \"30 packets\", target = \"1 ms\", interval = \"4 ms\"",
                "kind = \"codel\", limit = \"20 kB\", target = \"1 ms\", interval = \"4 ms\", ecn = true",
                "kind = \"fq-codel\", limit = \"30 packets\", target = \"1 ms\", interval = \"4 ms\", queues = 4",
                "kind = \"fq-codel\", limit = \"20 kB\", target = \"1 ms\", interval = \"4 ms\", ecn = true",
                "kind = \"priority\", limit = \"10 packets\"",
                "kind = \"priority\", limit = \"9 kB\"",
                "kind = \"dualpi2\", limit = \"30 packets\", target = \"1 ms\", update = \"1 ms\"",
                "kind = \"xcp\", limit = \"20 packets\"",
                "kind = \"vcp\", limit = \"9 kB\", update = \"1 ms\"",
                "kind = \"rcp\", limit = \"20 kB\", update = \"1 ms\"",
                "kind = \"dualpi2\", limit = \"20 kB\", target = \"1 us\", update = \"100 us\", alpha = 1000, beta = 1000",
            ]),
            packets in prop::collection::vec((0_u64..2_000_000, 40_u16..1501, 0_u32..5, any::<bool>(), 0_u16..3), 1..400),
        ) {
            let plan = plan(queue);
            let mut link = Direction::new(&plan.links[0].forward, 1, "link/x/forward");
            let (mut now, mut told, mut taken_out, mut lost) = (Time(0), Vec::new(), 0, 0);
            for (i, (gap, size, flow, ack, look)) in packets.iter().enumerate() {
                now = Time(now.0 + gap);
                while let Some(at) = link.next().filter(|at| *at <= now) {
                    match link.pop(at) {
                        Some((_, Fate::Lost)) => lost += 1,
                        _ => taken_out += 1,
                    }
                }
                // Looking now and then must not matter, so the counts below hold either way.
                if *look == 0 {
                    link.catch_up(now);
                }
                let flags = if *ack { ACK } else if flow % 2 == 0 { ECT } else { ECT1 };
                let packet = Packet { seq: i as u32, flow: *flow, size: *size, flags, ..Packet::default() };
                // Five flows, in two bands and four parts of the hash space.
                let class = Class { band: u8::from(*flow > 2), hash: u64::from(*flow % 4) << 51 };
                if let Push::Dropped(_) = link.push(now, packet, class) {
                    told.push(packet);
                }
                told.extend(std::iter::from_fn(|| link.take_doomed()).map(|(packet, _)| packet));
            }
            let counts = link.counts;
            prop_assert_eq!(counts.delivered, taken_out);
            let mut under_way = 0;
            let waiting = link.scheduled().unwrap().waiting();
            for packet in link.on_the_way() {
                if packet.has(LOST) { lost += 1 } else { under_way += 1 }
            }
            let all = packets.len() as u64;
            prop_assert_eq!(all, taken_out + counts.dropped_queue + lost + under_way + waiting);
            prop_assert_eq!(counts.dropped_error, lost);
            prop_assert_eq!(told.len() as u64, counts.dropped_queue + counts.dropped_error);
            let mut numbers: Vec<u32> = told.iter().map(|p| p.seq).collect();
            numbers.sort_unstable();
            numbers.dedup();
            prop_assert_eq!(numbers.len(), told.len());
            // Finally the queue runs empty.
            link.catch_up(Time::MAX);
            while let Some(at) = link.next() {
                link.pop(at);
            }
            prop_assert_eq!((link.scheduled().unwrap().waiting(), link.counts.delivered + link.counts.dropped_queue + link.counts.dropped_error), (0, all));
        }
    }

    #[test]
    fn the_mean_queue_counts_waiting_and_not_transmission() {
        // Packets of 1250 bytes take 1 ms. Four come at 0; until 3 ms 3, 2 and 1 of them wait.
        let plan = plan("kind = \"priority\", limit = \"10 packets\"");
        let mut link = Direction::new(&plan.links[0].forward, 1, "link/x/forward");
        for _ in 0..4 {
            link.push(Time(0), Packet { size: 1250, ..Packet::default() }, Class::default());
        }
        assert_eq!(link.waiting(Time(2_500_000)), 1);
        link.catch_up(Time(3_000_000));
        assert!((link.queue_mean(Time(3_000_000)) - 2.0).abs() < 1e-12);
        assert_eq!((link.queue_max(), link.utilisation(Time(8_000_000))), (3, 0.5));
    }
}
