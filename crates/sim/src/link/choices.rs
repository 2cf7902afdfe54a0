//! What a direction with a link layer does, choice by choice.
//!
//! It decides lazily, as `departures.rs` does: all choices due by an instant are made when somebody asks, in
//! order of time, and the result does not depend on who asks when. Here, however, a packet may wait while
//! nothing is in flight. The direction then announces a wake instead of an arrival: at that instant
//! [`Direction::pop`] decides and returns no packet.

use bentpipe_cc::{Span, Time};

use crate::link::arq::{ArqSender, Frame};
use crate::link::direction::{Direction, Promises, Transit};
use crate::link::foreseen::Doom;
use crate::link::link_layer::LinkLayer;
use crate::link::moving::Moving;
use crate::link::packet::{LOST, Packet, WAKE};

impl Direction {
    /// Those promises of a direction without its link layer that still hold with it.
    pub(super) fn promises_layered(&self, without: Promises) -> Promises {
        let Some(layer) = self.peek_link_layer() else { return without };
        Promises {
            least_delay: without.least_delay + layer.least_time(),
            least_gap: if layer.comes_in_bunches() { Span::ZERO } else { without.least_gap },
            ..without
        }
    }

    /// Transmissions by ARQ besides the first of each packet.
    pub(crate) fn repeated(&mut self) -> u64 {
        self.arq().map_or(0, |arq| arq.repeats)
    }

    /// Acknowledgements dropped because a newer one says the same.
    pub(crate) fn thinned(&mut self) -> u64 {
        self.scheduled().map_or(0, |scheduled| scheduled.thinned())
    }

    /// The link layer, if it does more than send packets one after the other.
    pub(super) fn link_layer(&mut self) -> Option<&mut LinkLayer> {
        self.scheduled()?.link_layer.as_deref_mut()
    }

    /// [`Direction::catch_up`] with a link layer.
    pub(super) fn work_until(&mut self, now: Time) {
        self.cancel_wake();
        if self.link_layer().is_some_and(|layer| layer.has_access()) {
            while self.use_opportunity(now) {}
        } else {
            while self.decide_next(now) {}
        }
    }

    /// Without opportunities: makes the next choice that was due by `now`, or processes the handover before
    /// it. Returns false if there is none.
    fn decide_next(&mut self, now: Time) -> bool {
        let choice = self.next_choice().unwrap_or(Time::MAX);
        let flush = self.moving().map_or(Time::MAX, |moving| moving.next_flush());
        if flush <= now && flush <= choice {
            self.moving().into_iter().for_each(Moving::flushed);
            self.scheduled().into_iter().for_each(|scheduled| scheduled.flush(flush));
        } else if choice <= now {
            self.choose(choice);
        }
        let next = flush.min(choice);
        next <= now && next < Time::MAX
    }

    /// Announces the instant of the next decision if nothing is in flight, or if packets may overtake: the
    /// next packet sent may then come out before all that are in flight.
    pub(super) fn plan_wake(&mut self) {
        self.cancel_wake();
        let overtake = self.moving().is_some_and(|moving| moving.line.reorder);
        let next = if overtake || self.next().is_none() { self.next_choice() } else { None };
        if let Some(at) = next.filter(|at| !self.wakes_at(*at)) {
            self.keep_in_place(at, &Packet { flags: LOST | WAKE, ..Packet::default() });
        }
    }

    /// When the next decision is due if no packet comes before it; `None` if there is nothing to decide.
    fn next_choice(&mut self) -> Option<Time> {
        let free_at = self.free_at();
        let scheduled = self.scheduled()?;
        let (idle, waiting) = (scheduled.is_idle(), scheduled.waiting());
        let layer = scheduled.link_layer.as_deref_mut()?;
        let repeat = layer.arq.as_ref().and_then(ArqSender::due);
        match &layer.access {
            Some(access) if waiting > 0 || layer.partial.is_some() => Some(Time(access.due())),
            Some(access) => repeat.map(|due| Time(due.max(access.due()))),
            None if !idle => Some(free_at),
            None => repeat.map(|due| free_at.max(Time(due))),
        }
    }

    /// The transmitter is free at `at` and takes the next packet: a repeat, or a packet that waits.
    pub(super) fn choose(&mut self, at: Time) {
        let Some(mut frame) = self.take_frame(at, at.0) else { return };
        let (arrival, lost) = match self.transit(at, &mut frame.packet) {
            Transit::Arrives(arrival) => (arrival, false),
            Transit::Lost(arrival) => (arrival, true),
            Transit::Refused(_) => return, // what it hands over always has room
        };
        let sent = self.free_at();
        self.finish(sent, arrival, lost, frame);
    }

    /// The next packet to be sent at `at`; repeats must be due by `due`.
    fn take_frame(&mut self, at: Time, due: u64) -> Option<Frame> {
        let scheduled = self.scheduled()?;
        let arq = scheduled.link_layer.as_deref_mut().and_then(|layer| layer.arq.as_mut());
        if let Some(frame) = arq.and_then(|arq| arq.repeat(due)) {
            scheduled.stay_busy();
            return Some(frame);
        }
        let packet = scheduled.dequeue(at)?;
        let arq = scheduled.link_layer.as_deref_mut().and_then(|layer| layer.arq.as_mut());
        Some(arq.map_or(Frame::once(packet), |arq| arq.first(packet)))
    }

    /// Uses the next opportunity that is due by `now`. Returns false if there is none, or nothing to send.
    fn use_opportunity(&mut self, now: Time) -> bool {
        let Some(scheduled) = self.scheduled() else { return false };
        let (packets, bytes) = (scheduled.waiting(), scheduled.bytes());
        let Some(layer) = scheduled.link_layer.as_deref_mut() else { return false };
        let Some(access) = &mut layer.access else { return false };
        let arq = layer.arq.as_ref();
        if packets == 0 && layer.partial.is_none() {
            // A repeat that becomes due at the instant of an opportunity has missed it.
            let begin = arq.and_then(ArqSender::due).filter(|due| *due <= now.0);
            access.pass(begin.unwrap_or(now.0));
            if begin.is_none() {
                return false;
            }
        }
        let at = access.due();
        if at > now.0 {
            return false;
        }
        let rest = layer.partial.as_ref().map_or(0, |(_, left)| *left);
        let waiting = bytes + rest + arq.map_or(0, |arq| arq.bytes_due(at.saturating_sub(1)));
        let mut room = access.take(waiting);
        let sent = Time(at.saturating_add(access.length()));
        while room > 0 {
            let partial = self.link_layer().and_then(|layer| layer.partial.take());
            let next =
                || self.take_frame(Time(at), at.saturating_sub(1)).map(|f| (f, u64::from(f.packet.size)));
            let Some((frame, left)) = partial.or_else(next) else { break };
            let part = left.min(room);
            room -= part;
            if let Some(layer) = self.link_layer() {
                layer.sent += part;
                if part < left {
                    layer.partial = Some((frame, left - part));
                }
            }
            if part == left {
                let lost = self.is_struck(sent, frame.packet.size);
                if lost {
                    self.foresee(Time(at), sent, Doom::Error, &frame.packet);
                }
                self.finish(sent, self.arrival_of(sent.0), lost, frame);
            }
        }
        true
    }

    /// The last byte of a packet has been sent at `sent`. The packet reaches the far end at `at` if it is not
    /// lost.
    fn finish(&mut self, sent: Time, mut at: Time, lost: bool, mut frame: Frame) {
        if lost && self.arq().is_some_and(|arq| arq.retry(sent.0, &frame)) {
            return self.survive();
        }
        if lost {
            frame.packet.flags |= LOST;
            if let Some(scheduled) = self.scheduled() {
                scheduled.store.verdicts.untold.push(frame.packet);
            }
        }
        let Some(arq) = self.arq().filter(|arq| arq.is_in_order()) else {
            return self.keep_in_place(at, &frame.packet);
        };
        at = arq.settle(&frame, at);
        while let Some(packet) = self.arq().and_then(ArqSender::release) {
            self.keep_in_place(at, &packet);
        }
    }

    fn arq(&mut self) -> Option<&mut ArqSender> {
        self.link_layer()?.arq.as_mut()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Scenario;
    use crate::link::access::AccessPlan;
    use crate::link::arq::ArqPlan;
    use crate::link::dama::DamaPlan;
    use crate::link::direction::{Fate, Push};
    use crate::link::link_layer::LinkLayerPlan;
    use crate::queue::{Class, Discipline, DropTailPlan, QueueLimit};
    use crate::resolve::plan::{DirectionPlan, LossPlan, LossTracePlan, OpportunitiesPlan};

    const MS: u64 = 1_000_000;
    const END: Time = Time(10_000 * MS);

    /// A link of 10 Mbit/s with these keys, on which 3 of 10 transmissions are struck.
    fn direction(keys: &str) -> DirectionPlan {
        let text = format!(
            "duration = \"1 s\"\n[link.x]\nrate = \"10 Mbit/s\"\n{keys}\nloss = {{ kind = \"packet-error\", rate = 0.3 }}\n\
             [[flow]]\ncc = \"reno\"\npath = [\"x\"]\n"
        );
        let plan = Scenario::from_toml(&text, "x.toml", &[]).and_then(|s| s.resolve());
        plan.expect("a valid scenario").links.remove(0).forward
    }

    fn opportunities() -> impl Strategy<Value = AccessPlan> {
        prop::collection::vec(0_u64..20, 1..6).prop_map(|mut at_ms| {
            at_ms.sort_unstable();
            *at_ms.last_mut().unwrap() += 1;
            AccessPlan::Opportunities(OpportunitiesPlan { at_ms: at_ms.into() })
        })
    }

    fn demand_assignment() -> impl Strategy<Value = AccessPlan> {
        (0_u64..3, 0_u64..3, 0_u64..2, 0_u64..20 * MS).prop_map(|(cra, vbdc, free, grant_delay)| {
            let vbdc = if cra + free == 0 { vbdc.max(1) } else { vbdc };
            AccessPlan::Dama(DamaPlan {
                frame: 6 * MS,
                slots: 6,
                slot_bytes: 700,
                cra,
                vbdc,
                free,
                grant_delay,
            })
        })
    }

    /// Number, instant and fate of all packets that leave, and what the caller learns of them. Each of
    /// `events` comes a given number of ns after the one before: a packet of a given size in bytes, or `None`
    /// for a look. The loops do not learn of looks.
    fn all(
        plan: &DirectionPlan,
        events: &[(u64, Option<u16>)],
        looks: bool,
    ) -> (Vec<(u32, Time, Fate)>, Vec<u32>, String) {
        let mut link = Direction::new(plan, 1, "test");
        let (mut out, mut told, mut due) = (Vec::new(), Vec::new(), None);
        let mut drain = |link: &mut Direction, due: &mut Option<Time>, until: Time| {
            while let Some(at) = due.filter(|at| *at <= until) {
                out.extend(link.pop(at).map(|(packet, fate)| (packet.seq, at, fate)));
                *due = link.next();
            }
        };
        let mut now = Time(0);
        for (seq, &(gap, size)) in (0..).zip(events) {
            now = now + Span(gap);
            drain(&mut link, &mut due, now);
            if let Some(size) = size {
                let packet = Packet { seq, flow: seq % 3, size, ..Packet::default() };
                let class = Class { band: (seq % 2) as u8, hash: u64::from(seq % 3) << 51 };
                if let Push::Dropped(_) = link.push(now, packet, class) {
                    told.push(seq);
                }
                due = link.next();
                assert!(due.is_none_or(|at| at >= now), "{due:?} is before {now:?}");
            } else if looks {
                link.waiting(now);
            }
        }
        drain(&mut link, &mut due, END);
        link.catch_up(END);
        told.extend(std::iter::from_fn(|| link.take_doomed()).map(|(packet, _)| packet.seq));
        told.sort_unstable();
        let (counts, mean) = (link.counts, link.queue_mean(END));
        (out, told, format!("{counts:?} {} {mean}", link.repeated()))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]
        #[test]
        fn nothing_hangs_on_who_asks_when(
            queue in prop::sample::select(vec![
                "kind = \"drop-tail\", limit = \"9 packets\"",
                "kind = \"codel\", limit = \"30 packets\", target = \"1 ms\", interval = \"4 ms\"",
                "kind = \"fq-codel\", limit = \"20 kB\", target = \"1 ms\", interval = \"4 ms\", quantum = \"300 bytes\"",
                "kind = \"dualpi2\", limit = \"30 packets\", target = \"1 ms\", update = \"1 ms\"",
                "kind = \"red\", limit = \"30 packets\", min = \"5 packets\", max = \"15 packets\"",
            ]),
            way in prop::sample::select(vec![
                "delay = \"3 ms\"",
                "delay = \"0 ms\"",
                "delay = [[\"0 s\", \"9 ms\"], [\"40 ms\", \"2 ms\"]]\nnominal = { delay = \"3 ms\" }\nreorder = true",
                "delay = \"3 ms\"\nup = [[\"0 s\", true], [\"40 ms\", false], [\"55 ms\", true]]\n\
                 handover = { queue = \"flushed\", in_flight = \"lost\" }",
            ]),
            access in prop_oneof![
                Just(None),
                opportunities().prop_map(Some),
                demand_assignment().prop_map(Some),
            ],
            arq in prop::option::of((1_u32..5, 0_u64..30 * MS, any::<bool>())),
            events in prop::collection::vec(
                (
                    prop_oneof![0_u64..4 * MS, 0_u64..30 * MS],
                    prop_oneof![1 => (40_u16..1_501).prop_map(Some), 3 => Just(None)],
                ),
                1..150,
            ),
        ) {
            let mut plan = direction(&format!("{way}\nqueue = {{ {queue} }}"));
            plan.link_layer.access = access.filter(|_| plan.line.is_none());
            plan.link_layer.arq = arq.map(|(tries, round_trip, in_order)| ArqPlan { tries, round_trip, in_order });
            let [looked, alone] = [true, false].map(|looks| all(&plan, &events, looks));
            prop_assert_eq!(looked, alone);
        }
    }

    /// A look in between moves a wake. The event of the old wake finds nothing, and the new one is still to
    /// come.
    #[test]
    fn a_wake_that_has_moved_is_not_forgotten() {
        let opportunities = OpportunitiesPlan { at_ms: [4].into() };
        let plan = DirectionPlan {
            rate_bps: opportunities.mean_rate(),
            delay: Span::from_millis(7),
            queue: QueueLimit::Packets(9),
            discipline: Discipline::DropTail(DropTailPlan),
            loss: vec![LossPlan::LossTrace(LossTracePlan { lost: [0].into() })],
            line: None,
            link_layer: LinkLayerPlan {
                access: Some(AccessPlan::Opportunities(opportunities)),
                arq: Some(ArqPlan { tries: 2, round_trip: 10 * MS, in_order: true }),
                ack_thinning: None,
            },
        };
        let mut link = Direction::new(&plan, 1, "test");
        link.push(Time(0), Packet { size: 1_500, ..Packet::default() }, Class::default());
        assert_eq!((link.next(), link.pop(Time(4 * MS))), (Some(Time(4 * MS)), None));
        // The packet was struck at 4 ms. It may be sent again from 14 ms on, and is sent at 16 ms.
        assert_eq!(link.next(), Some(Time(14 * MS)));
        link.catch_up(Time(13 * MS));
        assert_eq!(link.next(), Some(Time(16 * MS)));
        assert_eq!(link.pop(Time(14 * MS)), None);
        assert_eq!(link.next(), Some(Time(16 * MS)));
        assert_eq!(link.pop(Time(16 * MS)), None);
        assert_eq!(link.next(), Some(Time(23 * MS)));
        assert_eq!(link.pop(Time(23 * MS)).map(|(_, fate)| fate), Some(Fate::Delivered));
    }
}
