//! DualPI2: two coupled queues (De Schepper, Briscoe and White, RFC 9332, appendix A).
//!
//! Packets of L4S transports, ECT(1) or marked already, wait in a queue of their own, in which marks begin at a delay of about a
//! millisecond. All others are classic. The PI2 controller moves a base probability p' by the longer delay of both queues. A
//! classic packet is dropped or marked with p_C = p'^2, and an L4S packet marked with p_CL = k p' at least, so that a flow whose
//! rate falls with the square root of its loss and one whose rate falls with its marks share the link evenly.
//!
//! [`DualPi2State::update`] is the RFC's dualpi2_update, `dequeue` its dualpi2_dequeue with the edge cases of appendix A.2,
//! [`Side::recurs`] its recur, which spaces marks evenly without a random number, and [`DualPi2Plan::ramp`] its laqm.
//!
//! Decisions where the RFC leaves a choice:
//!  * The scheduler is weighted round robin by bytes: while both queues hold packets, the classic one gets its share. It bounds
//!    what either queue can take from the other, and it is what Linux does. The time-shifted FIFO bounds neither.
//!  * Delays are measured by time stamps: at an update that of the packet at the head, at departure that of the packet itself.
//!  * The constants of PI2 are keys, as those of PIE. The defaults are those of Linux; RFC 9332 derives them from the longest
//!    round trip: alpha = 0.1 T_UPDATE / RTT_max^2 and beta = 0.3 / RTT_max.
//!  * A queue of one L4S packet, the one that leaves, is not marked for its own delay (Th_len).
//!  * Updates fall on multiples of T_UPDATE from the start of the run. They are made before the next packet comes or leaves;
//!    nothing else looks at the probability, and between two such instants both heads stay where they are.

use bentpipe_cc::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::link::packet::{Ecn, Packet};
use crate::link::random::Stream;
use crate::queue::at_departure::{AtDeparture, Class};
use crate::queue::context::{Context, QueueLimit};
use crate::queue::kind::{QueueKeys, QueuePlan, Rule};
use crate::queue::on_arrival::Verdict;
use crate::queue::packet_store::{Fifo, Store};
use crate::scenario::error::Error;
use crate::scenario::units::{Duration, QueueSize};

/// Two coupled queues (RFC 9332). Packets of flows with `ect1` wait for a millisecond or so and are marked early. Those of all
/// other flows are dropped, or marked if the flow has `ecn`, with a probability that follows the waiting time. A flow whose
/// window falls with the share of its marks gets about the rate of one that is dropped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DualPi2 {
    /// Room of both queues together, the packet in transmission not counted (RFC 9332: 250 ms of the rate).
    pub limit: QueueSize,
    /// Waiting time of classic packets that it aims at.
    pub target: Duration,
    /// Time between two computations of the base probability, at least 100 us.
    pub update: Duration,
    /// Weight of the distance from the target, per second. RFC 9332: 0.1 `update` / R^2, R being the longest round trip.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub alpha: f64,
    /// Weight of the change between two computations, per second. RFC 9332: 0.3 / R.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub beta: f64,
    /// The factor k between the base probability and the marks of L4S packets.
    #[schemars(range(min = 0.1, max = 100.0))]
    pub coupling: f64,
    /// Waiting time at which marks of L4S packets begin.
    pub step: Duration,
    /// By how much longer an L4S packet waits that is always marked; between the two the probability climbs (RFC 9332: a
    /// step of 800 us and a ramp of 400 us).
    pub ramp: Duration,
    /// Part of the rate that classic packets get at least while both kinds wait.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub classic_share: f64,
}

impl Default for DualPi2 {
    fn default() -> Self {
        Self {
            limit: QueueSize::Bdp(1.0),
            target: Duration(Span::from_millis(15)),
            update: Duration(Span::from_millis(16)),
            alpha: 0.16,
            beta: 3.2,
            coupling: 2.0,
            step: Duration(Span::from_millis(1)),
            ramp: Duration(Span::ZERO),
            classic_share: 0.1,
        }
    }
}

/// DualPI2 (RFC 9332).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DualPi2Plan {
    /// Delay that PI2 aims at.
    pub target: Span,
    /// Time between two computations of p': T_UPDATE.
    pub update: Span,
    /// Weight of the delay's distance from the target, per second.
    pub alpha: f64,
    /// Weight of the delay's change, per second.
    pub beta: f64,
    /// k.
    pub coupling: f64,
    /// Delay at which the native marks of L4S packets begin: minTh.
    pub step: Span,
    /// From there on, the length of the ramp on which their probability climbs to 1: range.
    pub ramp: Span,
    /// Part of the bytes sent that are classic while both queues hold packets.
    pub classic_share: f64,
}

impl QueueKeys for DualPi2 {
    type Plan = DualPi2Plan;
    const LABEL: &'static str = "DualPI2";
    const SOURCE: &'static str = "K. De Schepper, B. Briscoe, G. White: Dual-Queue Coupled Active Queue Management (AQM) for \
        Low Latency, Low Loss, and Scalable Throughput (L4S), 2023";
    const REFERENCE: &'static str = "RFC 9332";

    fn resolve(&self, context: &mut Context<'_>) -> Result<(QueueLimit, DualPi2Plan), Error> {
        let limit = context.limit(self.limit);
        context.check_room(limit, "DualPI2 queue drops by its delay")?;
        let plan = DualPi2Plan {
            target: context.longer_than_zero(self.target, "target")?,
            update: context.update_interval(self.update)?,
            alpha: self.alpha,
            beta: self.beta,
            coupling: self.coupling,
            step: self.step.0,
            ramp: self.ramp.0,
            classic_share: self.classic_share,
        };
        Ok((limit, plan))
    }
}

impl QueuePlan for DualPi2Plan {
    fn marks(&self) -> bool {
        true
    }

    fn start(&self, limit: QueueLimit, _: u64, _: Stream) -> Rule {
        Rule::AtDeparture(Box::new(DualPi2State::new(*self, limit)))
    }
}

impl DualPi2Plan {
    /// The native probability of a mark for an L4S packet that has waited so long.
    fn ramp(&self, waited: Span) -> f64 {
        let over = waited.0.saturating_sub(self.step.0);
        if waited < self.step {
            0.0
        } else if over >= self.ramp.0 {
            1.0
        } else {
            over as f64 / self.ramp.0 as f64
        }
    }

    /// From this p_C on, classic packets are dropped even if they could be marked: p_Cmax. L4S packets are always marked then.
    fn most_classic(&self) -> f64 {
        (1.0 / (self.coupling * self.coupling)).min(1.0)
    }
}

/// One of the two queues.
#[derive(Debug, Default)]
struct Side {
    fifo: Fifo,
    /// Sum of the probabilities of packets, less one for each mark or drop.
    count: f64,
}

impl Side {
    /// True for this part of all calls, evenly spaced.
    fn recurs(&mut self, likelihood: f64) -> bool {
        self.count += likelihood;
        let recurs = self.count > 1.0;
        if recurs {
            self.count -= 1.0;
        }
        recurs
    }
}

/// Both queues in front of one transmitter.
#[derive(Debug)]
struct DualPi2State {
    plan: DualPi2Plan,
    limit: QueueLimit,
    l4s: Side,
    classic: Side,
    /// p'.
    base: f64,
    /// The longer delay at the last update.
    delay: Span,
    next_update: Time,
    /// Bytes that the classic queue may send before its next turn is over; not above zero while it is the turn of L4S.
    credit: f64,
}

impl AtDeparture for DualPi2State {
    fn enqueue(&mut self, now: Time, packet: Packet, _: Class, idle: bool, store: &mut Store) {
        self.catch_up(now, store);
        let packets = self.l4s.fifo.packets + self.classic.fifo.packets;
        if !idle && !self.limit.has_room(packets, self.bytes(), packet.size) {
            return store.verdicts.drop(packet);
        }
        let side = match packet.ecn() {
            Ecn::Ect1 | Ecn::Congested => &mut self.l4s,
            Ecn::NotCapable | Ecn::Ect0 => &mut self.classic,
        };
        store.push(&mut side.fifo, now, packet);
    }

    fn dequeue(&mut self, now: Time, store: &mut Store) -> Option<Packet> {
        self.catch_up(now, store);
        loop {
            let is_l4s = self.is_turn_of_l4s();
            let side = if is_l4s { &mut self.l4s } else { &mut self.classic };
            let Some((since, mut packet)) = store.pop(&mut side.fifo) else {
                self.credit = 0.0;
                return None;
            };
            let verdict =
                if is_l4s { self.judge_l4s(now.since(since)) } else { self.judge_classic(packet.ecn()) };
            match verdict {
                Verdict::Drop => {
                    store.verdicts.drop(packet);
                    continue;
                }
                Verdict::Mark => store.verdicts.mark(&mut packet),
                Verdict::Pass => {}
            }
            self.charge(is_l4s, packet.size);
            return Some(packet);
        }
    }

    fn bytes(&self) -> u64 {
        self.l4s.fifo.bytes + self.classic.fifo.bytes
    }
}

impl DualPi2State {
    fn new(plan: DualPi2Plan, limit: QueueLimit) -> Self {
        let next_update = Time(0) + plan.update;
        let (l4s, classic) = (Side::default(), Side::default());
        Self { plan, limit, l4s, classic, base: 0.0, delay: Span::ZERO, next_update, credit: 0.0 }
    }

    /// Makes the updates that were due by `now`.
    fn catch_up(&mut self, now: Time, store: &Store) {
        while self.next_update <= now {
            if self.base == 0.0 && self.delay == Span::ZERO && self.bytes() == 0 {
                // Updates without delay change nothing any more.
                let missed = now.since(self.next_update).0 / self.plan.update.0;
                self.next_update = self.next_update + Span(missed * self.plan.update.0);
            }
            let waited =
                |side: &Side| store.head(&side.fifo).map_or(Span::ZERO, |s| self.next_update.since(s));
            self.update(waited(&self.l4s).max(waited(&self.classic)));
            self.next_update = self.next_update + self.plan.update;
        }
    }

    /// Moves p'.
    fn update(&mut self, delay: Span) {
        let p = &self.plan;
        let (now, before, target) = (delay.secs(), self.delay.secs(), p.target.secs());
        let base = self.base + p.alpha * (now - target) + p.beta * (now - before);
        self.base = base.clamp(0.0, 1.0);
        self.delay = delay;
    }

    /// The choice of the scheduler.
    fn is_turn_of_l4s(&self) -> bool {
        self.l4s.fifo.packets > 0 && (self.classic.fifo.packets == 0 || self.credit <= 0.0)
    }

    /// A packet of `size` bytes is sent. What one queue sends while the other waits earns that one its share.
    fn charge(&mut self, is_l4s: bool, size: u16) {
        let other = if is_l4s { &self.classic } else { &self.l4s };
        if other.fifo.packets > 0 {
            let share = self.plan.classic_share;
            self.credit += f64::from(size) * if is_l4s { share } else { share - 1.0 };
        }
    }

    /// What becomes of an L4S packet that has left its queue.
    fn judge_l4s(&mut self, waited: Span) -> Verdict {
        let (coupled, classic) = ((self.plan.coupling * self.base).min(1.0), self.base * self.base);
        let likelihood = if coupled >= 1.0 {
            // Marks alone no longer slow anybody down.
            if self.l4s.recurs(classic) {
                return Verdict::Drop;
            }
            coupled
        } else if self.l4s.fifo.packets > 0 {
            coupled.max(self.plan.ramp(waited))
        } else {
            coupled
        };
        if self.l4s.recurs(likelihood) { Verdict::Mark } else { Verdict::Pass }
    }

    /// The same for a classic one.
    fn judge_classic(&mut self, ecn: Ecn) -> Verdict {
        let likelihood = self.base * self.base;
        if !self.classic.recurs(likelihood) {
            Verdict::Pass
        } else if ecn == Ecn::NotCapable || likelihood >= self.plan.most_classic() {
            Verdict::Drop
        } else {
            Verdict::Mark
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::packet::{CE, ECT, ECT1};
    use crate::record::report::Report;
    use crate::{Scenario, no_supply, run};

    const PLAN: DualPi2Plan = DualPi2Plan {
        target: Span::from_millis(15),
        update: Span::from_millis(16),
        alpha: 0.16,
        beta: 3.2,
        coupling: 2.0,
        step: Span::from_millis(1),
        ramp: Span::ZERO,
        classic_share: 0.1,
    };

    fn ms(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    /// Both queues, and what waits in them.
    struct Bench {
        state: DualPi2State,
        store: Store,
    }

    impl Bench {
        fn new(plan: DualPi2Plan) -> Self {
            let state = DualPi2State::new(plan, QueueLimit::Packets(1_000_000));
            Self { state, store: Store::default() }
        }

        /// One whose p' stays where it is.
        fn held(plan: DualPi2Plan, base: f64) -> Self {
            let mut bench = Self::new(plan);
            (bench.state.base, bench.state.next_update) = (base, Time::MAX);
            bench
        }

        /// A packet comes at `now`.
        fn push(&mut self, now: Time, flags: u16, size: u16) {
            let packet = Packet { flags, size, ..Packet::default() };
            self.state.enqueue(now, packet, Class::default(), false, &mut self.store);
        }

        /// Pushes so many packets of these flags and takes them, a millisecond each. How many are marked and dropped.
        fn judged(&mut self, flags: u16, packets: u64) -> (u64, u64) {
            (0..packets).for_each(|_| self.push(Time(0), flags, 1000));
            while self.state.dequeue(Time(0), &mut self.store).is_some() {}
            (self.store.verdicts.marked, self.store.verdicts.dropped)
        }
    }

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    }

    #[test]
    fn the_base_probability_follows_the_control_law() {
        let mut bench = Bench::new(PLAN);
        bench.push(ms(0), 0, 1000);
        // The head has waited 16 ms: 0.16 x 1 ms + 3.2 x 16 ms = 0.05136; then 0.16 x 17 ms + 3.2 x 16 ms more.
        bench.state.catch_up(ms(16), &bench.store);
        close(bench.state.base, 0.05136);
        bench.state.catch_up(ms(47), &bench.store);
        close(bench.state.base, 0.10528);
        // An L4S packet counts as well, but the longer delay decides: 48 ms.
        bench.push(ms(47), ECT1, 1000);
        bench.state.catch_up(ms(48), &bench.store);
        close(bench.state.base, 0.10528 + 0.00528 + 0.0512);
        // Nothing waits at 64 ms: 0.16 x -15 ms + 3.2 x -48 ms, then -0.0024 each 16 ms, and never below 0.
        while bench.state.dequeue(ms(48), &mut bench.store).is_some() {}
        bench.state.catch_up(ms(64), &bench.store);
        close(bench.state.base, 0.16176 - 0.0024 - 0.1536);
        bench.state.catch_up(ms(96), &bench.store);
        close(bench.state.base, 0.00096);
        bench.state.catch_up(ms(112), &bench.store);
        assert_eq!(bench.state.base, 0.0);
    }

    #[test]
    fn updates_at_rest_are_left_out_and_fall_on_the_same_instants() {
        let (mut lazy, mut eager) = (Bench::held(PLAN, 0.3), Bench::held(PLAN, 0.3));
        (lazy.state.next_update, eager.state.next_update) = (ms(16), ms(16));
        (0..100_000).for_each(|now| eager.state.catch_up(ms(now), &eager.store));
        lazy.state.catch_up(ms(99_999), &lazy.store);
        assert_eq!((lazy.state.base, lazy.state.next_update), (0.0, ms(100_000)));
        assert_eq!((eager.state.base, eager.state.next_update), (0.0, ms(100_000)));
    }

    #[test]
    fn classic_packets_meet_the_square_and_l4s_packets_the_multiple() {
        // p' = 0.2: p_C = 0.04 and, k being 2, p_CL = 0.4; one packet may be owed.
        let judged = |flags, plan| Bench::held(plan, 0.2).judged(flags, 10_001);
        assert_eq!(judged(0, PLAN), (0, 400), "drops");
        assert_eq!(judged(ECT, PLAN), (400, 0), "marks");
        let slow = DualPi2Plan { step: Span::MAX, ..PLAN };
        assert_eq!(judged(ECT1, slow), (4_000, 0));
        assert_eq!(judged(ECT1, DualPi2Plan { coupling: 3.0, ..slow }), (6_000, 0));
    }

    #[test]
    fn drops_are_spaced_evenly() {
        let mut bench = Bench::held(PLAN, 0.2);
        let mut gaps = Vec::new();
        for i in 0..1_000 {
            if bench.state.judge_classic(Ecn::NotCapable) == Verdict::Drop {
                gaps.push(i);
            }
        }
        assert!(gaps.windows(2).all(|pair| pair[1] - pair[0] == 25), "{gaps:?}");
    }

    #[test]
    fn l4s_marks_climb_from_the_step_to_the_end_of_the_ramp() {
        let us = |us: u64| Span(us * 1_000);
        assert_eq!([999, 1_000, 5_000].map(|waited| PLAN.ramp(us(waited))), [0.0, 1.0, 1.0]);
        // RFC 9332: from 800 us to 1.2 ms.
        let plan = DualPi2Plan { step: us(800), ramp: us(400), ..PLAN };
        assert_eq!(
            [799, 800, 900, 1_000, 1_200].map(|waited| plan.ramp(us(waited))),
            [0.0, 0.0, 0.25, 0.5, 1.0]
        );
        // It is not added to the coupled probability: the greater of both counts.
        let mut bench = Bench::held(plan, 0.1);
        bench.push(Time(0), ECT1, 1000);
        let marks = (0..1_001).filter(|_| bench.state.judge_l4s(us(1_000)) == Verdict::Mark).count();
        assert_eq!(marks, 500);
    }

    #[test]
    fn a_queue_of_one_l4s_packet_is_not_marked_for_its_delay() {
        let mut bench = Bench::held(PLAN, 0.0);
        for now in 0..100 {
            bench.push(ms(now), ECT1, 1000);
            bench.state.dequeue(ms(now + 10), &mut bench.store);
        }
        assert_eq!(bench.store.verdicts.marked, 0);
        // With another behind it, it is: all but the last, and the first, for which one is owed.
        (0..100).for_each(|_| bench.push(ms(200), ECT1, 1000));
        while bench.state.dequeue(ms(210), &mut bench.store).is_some() {}
        assert_eq!(bench.store.verdicts.marked, 98);
    }

    #[test]
    fn in_overload_all_are_dropped_alike_and_the_rest_of_l4s_is_marked() {
        // p' = 0.5 is the least for which k p' = 1 and p_C = p_Cmax = 1/4.
        assert_eq!(Bench::held(PLAN, 0.5).judged(ECT, 10_001), (0, 2_500));
        assert_eq!(Bench::held(PLAN, 0.5).judged(ECT1, 10_001), (7_501, 2_500));
        let (marked, dropped) = Bench::held(PLAN, 0.499).judged(ECT, 10_001);
        assert_eq!((marked, dropped), (2_490, 0));
        assert_eq!(Bench::held(PLAN, 0.499).judged(ECT1, 10_001).1, 0);
    }

    #[test]
    fn classic_packets_get_their_share_while_both_wait_and_all_of_it_otherwise() {
        let mut bench = Bench::held(PLAN, 0.0);
        (0..4_000).for_each(|_| bench.push(Time(0), ECT1, 1000));
        (0..1_000).for_each(|_| bench.push(Time(0), 0, 1500));
        let mut sent = [0_u64; 2];
        while sent[0] < 3_600_000 {
            let packet = bench.state.dequeue(Time(0), &mut bench.store).expect("both wait");
            sent[usize::from(packet.size == 1500)] += u64::from(packet.size);
        }
        assert!(sent[1].abs_diff(400_000) <= 1_500, "{sent:?}");
        // What either sends alone is not held against it.
        while bench.state.dequeue(Time(0), &mut bench.store).is_some() {}
        (0..100).for_each(|_| bench.push(Time(0), 0, 1500));
        (0..50).for_each(|_| _ = bench.state.dequeue(Time(0), &mut bench.store));
        bench.push(Time(0), ECT1, 1000);
        assert_eq!(bench.state.dequeue(Time(0), &mut bench.store).map(|p| p.size), Some(1000));
    }

    #[test]
    fn the_codepoint_chooses_the_queue_and_both_share_the_room() {
        let mut bench = Bench::held(PLAN, 0.0);
        bench.state.limit = QueueLimit::Packets(4);
        [0, ECT, ECT1, ECT | CE, 0, ECT1].into_iter().for_each(|flags| bench.push(Time(0), flags, 1000));
        let waiting = |bench: &Bench| (bench.state.l4s.fifo.packets, bench.state.classic.fifo.packets);
        assert_eq!((waiting(&bench), bench.store.verdicts.dropped), ((2, 2), 2));
        bench.state.limit = QueueLimit::Bytes(5_000);
        [1_001, 1_000, 1].into_iter().for_each(|size| bench.push(Time(0), 0, size));
        assert_eq!((waiting(&bench), bench.state.bytes(), bench.store.verdicts.dropped), ((2, 3), 5_000, 4));
    }

    fn load(queue: &str) -> Result<crate::plan::Plan, crate::Error> {
        let link = format!(
            "[link.x]\nrate = \"1 Mbit/s\"\ndelay = \"9 ms\"\nqueue = {{ kind = \"dualpi2\"{queue} }}\n"
        );
        let text = format!("duration = \"1 s\"\n{link}[[flow]]\ncc = \"reno\"\npath = [\"x\"]\n");
        Scenario::from_toml(&text, "x.toml", &[]).and_then(|s| s.resolve())
    }

    #[test]
    fn keys_resolve_to_their_defaults_and_impossible_ones_are_named() {
        let discipline = load("").expect("a scenario").links[0].forward.discipline;
        assert_eq!(discipline, crate::queue::Discipline::DualPi2(PLAN));
        for (queue, key, words) in [
            (
                ", limit = \"0 packets\"",
                "limit",
                "a DualPI2 queue drops by its delay and cannot be without room",
            ),
            (", target = \"0 s\"", "target", "must be longer than zero"),
            (", update = \"99 us\"", "update", "99 us is out of range; it must be 100 us or longer"),
            (", coupling = 0", "coupling", "0 is out of range"),
            (", classic_share = 1.1", "classic_share", "1.1 is out of range"),
        ] {
            let said = load(queue).expect_err(queue).to_string();
            assert!(said.starts_with(&format!("x.toml:5: link.x.queue.{key}: {words}")), "{said}");
        }
    }

    /// Ten Reno flows over 20 Mbit/s and 50 ms, and one more, of few packets, that sets ECT(1).
    fn ten_and_one() -> Report {
        let text = r#"
            duration = "120 s"
            [link.x]
            rate = "20 Mbit/s"
            delay = "25 ms"
            queue = { kind = "dualpi2", limit = "1000 packets" }
            [[flow]]
            cc = "reno"
            path = ["x"]
            profile = "paper"
            count = 10
            start_jitter = "1 s"
            [[flow]]
            cc = "reno"
            path = ["x"]
            profile = "paper"
            receive_window = "3 segments"
            ecn = true
            ect1 = true
        "#;
        let plan = Scenario::from_toml(text, "x.toml", &[]).and_then(|s| s.resolve()).expect("a scenario");
        run(&plan, &mut no_supply, &mut |_| true).expect("a run").report
    }

    #[test]
    fn classic_flows_have_the_window_of_the_square_and_l4s_marks_are_the_multiple_of_its_root() {
        let report = ten_and_one();
        let (link, classic, l4s) = (&report.links[0], &report.flows[..10], &report.flows[10]);
        // 15 ms at 20 Mbit/s are 25 packets of 1500 bytes.
        assert!((link.queue_mean_packets - 25.0).abs() < 2.5, "{} packets", link.queue_mean_packets);
        assert!(link.utilisation > 0.99);
        let sent: u64 = classic.iter().map(|flow| flow.sent_packets).sum();
        let p_c = link.dropped_queue as f64 / sent as f64;
        // W sqrt(p) of Reno is 1.22 where losses are evenly spaced and 1.31 where they are random (Mathis, Semke, Mahdavi
        // and Ott 1997, table 1).
        let window = classic.iter().map(|flow| flow.cwnd_mean_segments).sum::<f64>() / 10.0;
        let constant = window * p_c.sqrt();
        assert!((1.1..1.4).contains(&constant), "{constant}: {window} at {p_c}");
        // Nothing of the ECT(1) flow is dropped, and it is marked with 2 p' = 2 sqrt(p_C).
        assert_eq!(
            (l4s.dropped_packets, classic.iter().map(|flow| flow.dropped_packets).sum()),
            (0, link.dropped_queue)
        );
        let p_l = link.marked as f64 / l4s.sent_packets as f64;
        let expected = 2.0 * p_c.sqrt();
        assert!((p_l / expected - 1.0).abs() < 0.1, "{p_l} is not {expected}");
    }
}
