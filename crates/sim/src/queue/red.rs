//! Random early detection (Floyd and Jacobson 1993), by the rules of ns-2 2.35.
//!
//! What ns-2 does differently from the paper: after a drop the count of packets starts at 0, so that
//! without `wait` the gap between two drops is uniform over 1 .. 1/p_b - 1, with it over 1/p_b ..
//! 2/p_b - 1; nothing happens to a packet that finds at most one other waiting; the first packet after the
//! average has risen above the minimum always passes; above the maximum the probability either is 1 or, if
//! gentle, climbs from max_p to 1 at twice the maximum (Floyd 2000). Adaptive RED and the experimental
//! variants of ns-2 are left out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::keys::error::Error;
use crate::keys::table::keys;
use crate::keys::units::{MAX_PACKET, QueueSize, Size};
use crate::link::packet::Ecn;
use crate::link::random::Stream;
use crate::queue::context::{Context, QueueLimit};
use crate::queue::kind::{QueueKeys, QueuePlan, Rule};
use crate::queue::on_arrival::{Arrival, OnArrival, Verdict};

keys! {
    /// Random early detection (Floyd and Jacobson 1993) by the rules of ns-2. First in, first out, but some
    /// packets are dropped or marked before the queue is full, as its average length says. Where the defaults
    /// are not those of ns-2 2.35, these are given.
    pub struct Red {
        /// Room, the packet in transmission not counted. In bytes, the average counts bytes, too (ns-2
        /// `queue_in_bytes_`), and the last packet may exceed it.
        pub limit: QueueSize = QueueSize::Bdp(1.0),
        /// Average below which nothing is dropped: a part of the limit, or a size (ns-2 `thresh_`:
        /// 5 packets, or 2.5 ms of the rate).
        pub min: Threshold = Threshold::Part(0.15),
        /// Average at which packets are dropped with probability `max_p`: a part of the limit, or a size
        /// (ns-2 `maxthresh_`: three times the minimum).
        pub max: Threshold = Threshold::Part(0.5),
        /// Weight of the newest packet in the average (ns-2 `q_weight_`: set from the rate).
        #[schemars(range(min = 1e-9, max = 1.0))]
        pub weight: f64 = 0.002,
        /// Probability of a drop at `max` (ns-2: 1 / `linterm_`).
        #[schemars(range(min = 1e-9, max = 1.0))]
        pub max_p: f64 = 0.1,
        /// Above `max` the probability climbs to 1 at twice `max`; otherwise all are dropped there.
        pub gentle: bool = true,
        /// Some packets always pass between two drops, so that none follow each other closely.
        pub wait: bool = true,
        /// A packet is dropped with a probability in proportion to its size (ns-2 `bytes_`: yes).
        pub by_size: bool = false,
        /// Marks packets of flows with `ecn` where it would drop them early; a full queue or an average above
        /// `max` (twice that if gentle) still drops.
        pub ecn: bool = false,
        /// An average at which all packets are dropped drops even those that could be marked; false marks
        /// them all, as Linux's `red` does without `harddrop`. With a `min` just below `max` and without
        /// `gentle` that is TCP Jersey's congestion warning (Xu, Tian and Ansari 2004), which marks every
        /// packet while the average is above one threshold.
        pub hard_drop: bool = true,
        /// Drops even packets of flows with `ecn` when the average asks for this probability or more; without
        /// it there is no such bound (ns-2 `mark_p_`: 0.1).
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 0.0, max = 1.0))]
        pub mark_p: Option<f64> = None,
        /// Size of packets by which the average falls while the link is idle (ns-2 `mean_pktsize_`: 500).
        pub mean_packet: Size = Size(1_000),
    }
}

/// A length of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Threshold {
    /// As a part of the limit, 0 to 1.
    Part(#[schemars(range(min = 0.0, max = 1.0))] f64),
    /// As a size.
    Size(QueueSize),
}

/// Random early detection, by the rules of ns-2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedPlan {
    /// Average below which nothing happens, in the unit of the limit: packets or bytes.
    pub min: f64,
    /// Average at which the probability is `max_p`; greater than `min`.
    pub max: f64,
    /// Weight of the newest packet in the average, 0 to 1.
    pub weight: f64,
    /// Probability of a drop or a mark at `max`.
    pub max_p: f64,
    /// From `max` to twice that the probability climbs from `max_p` to 1, rather than jump to 1.
    pub gentle: bool,
    /// At least 1/p packets pass between two drops.
    pub wait: bool,
    /// The probability is in proportion to a packet's size.
    pub by_size: bool,
    /// Marks rather than drops packets whose transport understands it.
    pub ecn: bool,
    /// Drops them nevertheless where the average asks for all packets.
    pub hard_drop: bool,
    /// Drops them nevertheless where the average asks for this probability or more.
    pub mark_p: Option<f64>,
    /// Bytes of the packets by which the average falls while the transmitter is idle.
    pub mean_packet: u32,
}

impl QueueKeys for Red {
    type Plan = RedPlan;
    const LABEL: &'static str = "RED";
    const SOURCE: &'static str =
        "S. Floyd, V. Jacobson: Random Early Detection Gateways for Congestion Avoidance, 1993; ns-2 2.35";
    const REFERENCE: &'static str = "doi:10.1109/90.251892";

    fn resolve(&self, context: &mut Context<'_>) -> Result<(QueueLimit, RedPlan), Error> {
        let mean_packet = context.packet_size(self.mean_packet, "mean_packet")?;
        let limit = context.limit(self.limit);
        let plan = RedPlan {
            min: level(self.min, limit, mean_packet, context),
            max: level(self.max, limit, mean_packet, context),
            weight: self.weight,
            max_p: self.max_p,
            gentle: self.gentle,
            wait: self.wait,
            by_size: self.by_size,
            ecn: self.ecn,
            hard_drop: self.hard_drop,
            mark_p: self.mark_p,
            mean_packet,
        };
        context.check_room(limit, "RED queue drops by its length")?;
        let (most, unit) = match limit {
            QueueLimit::Packets(n) => (n, "packets"),
            QueueLimit::Bytes(n) => (n, "bytes"),
        };
        let RedPlan { min, max, .. } = plan;
        if max > most as f64 {
            let message = format!("{max} {unit} is more than limit = {most} {unit}; it must not be");
            return Err(context.error("max", message));
        }
        if max <= min {
            let message = format!("{max} {unit} is not above min = {min} {unit}; it must be greater");
            return Err(context.error("max", message));
        }
        Ok((limit, plan))
    }
}

/// A threshold in the unit of the limit.
fn level(threshold: Threshold, limit: QueueLimit, mean_packet: u32, context: &Context<'_>) -> f64 {
    let mean = f64::from(mean_packet);
    match (threshold, limit) {
        (Threshold::Part(part), QueueLimit::Packets(n) | QueueLimit::Bytes(n)) => part * n as f64,
        (Threshold::Size(QueueSize::Packets(n)), QueueLimit::Packets(_)) => n as f64,
        (Threshold::Size(QueueSize::Packets(n)), QueueLimit::Bytes(_)) => n as f64 * mean,
        (Threshold::Size(QueueSize::Bytes(n)), QueueLimit::Packets(_)) => n as f64 / mean,
        (Threshold::Size(QueueSize::Bytes(n)), QueueLimit::Bytes(_)) => n as f64,
        (Threshold::Size(QueueSize::Bdp(times)), QueueLimit::Packets(_)) => {
            context.bdp_bits(times) / (8.0 * f64::from(context.wire))
        }
        (Threshold::Size(QueueSize::Bdp(times)), QueueLimit::Bytes(_)) => context.bdp_bits(times) / 8.0,
    }
}

impl QueuePlan for RedPlan {
    fn marks(&self) -> bool {
        self.ecn
    }

    fn most(&self, limit: QueueLimit) -> QueueLimit {
        match limit {
            QueueLimit::Packets(_) => limit,
            // The last packet may exceed it.
            QueueLimit::Bytes(most) => QueueLimit::Bytes(most.saturating_add(MAX_PACKET)),
        }
    }

    fn start(&self, limit: QueueLimit, rate_bps: u64, stream: Stream) -> Rule {
        Rule::OnArrival(Box::new(RedState::new(*self, limit, rate_bps, stream)))
    }
}

/// The state of RED in front of one transmitter.
#[derive(Debug)]
struct RedState {
    plan: RedPlan,
    limit: QueueLimit,
    /// Of the transmitter; where that changes, on average since it became idle.
    rate_bps: u64,
    average: f64,
    /// Arrivals since the last drop or mark, and their bytes.
    count: u64,
    count_bytes: u64,
    /// The packet before this one found the average above the minimum and a queue.
    above: bool,
    stream: Stream,
}

impl OnArrival for RedState {
    fn judge(&mut self, arrival: &Arrival) -> Verdict {
        let (waiting, limit) = arrival.waiting(self.limit);
        self.follow(arrival, waiting);
        self.count += 1;
        self.count_bytes += u64::from(arrival.size);
        let p = &self.plan;
        let hard = if p.gentle { 2.0 * p.max } else { p.max };
        let mut forced = arrival.free_at > arrival.now && waiting >= limit;
        let mut verdict = Verdict::Pass;
        if self.average < p.min || waiting <= 1 {
            self.above = false;
        } else if p.mark_p.is_none() && self.average >= hard {
            if self.can_mark(arrival) && !p.hard_drop {
                verdict = Verdict::Mark;
            } else {
                forced = true;
            }
        } else if !self.above {
            self.above = true;
            self.count = 1;
            self.count_bytes = u64::from(arrival.size);
        } else {
            verdict = self.early(arrival);
        }
        if forced {
            self.restart();
            verdict = Verdict::Drop;
        }
        verdict
    }

    fn set_rate(&mut self, rate_bps: u64) {
        self.rate_bps = rate_bps;
    }
}

impl RedState {
    fn new(plan: RedPlan, limit: QueueLimit, rate_bps: u64, stream: Stream) -> Self {
        Self { plan, limit, rate_bps, average: 0.0, count: 0, count_bytes: 0, above: false, stream }
    }

    /// Moves the average: one step for the packet, and one of an empty queue for each packet of mean size
    /// that the transmitter could have sent while it was idle.
    fn follow(&mut self, arrival: &Arrival, waiting: u64) {
        let weight = self.plan.weight;
        if let Some(idle) = arrival.now.0.checked_sub(arrival.free_at.0) {
            let bits = u128::from(idle) * u128::from(self.rate_bps) / 1_000_000_000;
            let packets = bits / (8 * u128::from(self.plan.mean_packet));
            self.average *= libm::pow(1.0 - weight, packets as f64);
        }
        self.average = self.average * (1.0 - weight) + weight * waiting as f64;
    }

    /// p_b: the probability that the average asks for.
    fn base_probability(&self) -> f64 {
        let p = &self.plan;
        let probability = if self.average < p.max {
            p.max_p * (self.average - p.min) / (p.max - p.min)
        } else if p.gentle {
            p.max_p + (1.0 - p.max_p) * (self.average - p.max) / p.max
        } else {
            1.0
        };
        probability.min(1.0)
    }

    /// p_a: made greater as packets pass, which turns geometric gaps into uniform ones.
    fn spread(&self, base: f64, size: u16) -> f64 {
        let p = &self.plan;
        let mean = u64::from(p.mean_packet);
        let passed = (if p.by_size { self.count_bytes / mean } else { self.count }) as f64 * base;
        let limit = if p.wait { 2.0 } else { 1.0 };
        let mut probability = match passed {
            passed if p.wait && passed < 1.0 => 0.0,
            passed if passed < limit => base / (limit - passed),
            _ => 1.0,
        };
        if p.by_size && probability < 1.0 {
            probability *= f64::from(size) / mean as f64;
        }
        probability
    }

    /// The random decision.
    fn early(&mut self, arrival: &Arrival) -> Verdict {
        let base = self.base_probability();
        let probability = self.spread(base, arrival.size);
        if probability <= 0.0 || self.stream.uniform() > probability {
            return Verdict::Pass;
        }
        self.restart();
        let p = &self.plan;
        let marks = self.can_mark(arrival) && p.mark_p.is_none_or(|most| base < most);
        if marks { Verdict::Mark } else { Verdict::Drop }
    }

    /// Does the queue mark, and does the packet's transport understand it?
    fn can_mark(&self, arrival: &Arrival) -> bool {
        self.plan.ecn && arrival.ecn != Ecn::NotCapable
    }

    fn restart(&mut self) {
        self.count = 0;
        self.count_bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_cc::{Span, Time};

    const PLAN: RedPlan = RedPlan {
        min: 10.0,
        max: 30.0,
        weight: 0.002,
        max_p: 0.1,
        gentle: true,
        wait: true,
        by_size: false,
        ecn: false,
        hard_drop: true,
        mark_p: None,
        mean_packet: 1000,
    };

    fn red(plan: RedPlan) -> RedState {
        // A packet of mean size takes 1 ms.
        RedState::new(plan, QueueLimit::Packets(1_000), 8_000_000, Stream::new(1, "red"))
    }

    /// A packet that finds the transmitter busy.
    fn waiting(waiting_packets: u64) -> Arrival {
        let (now, ecn) = (Time(1_000_000_000), Ecn::NotCapable);
        let free_at = now + Span(1);
        Arrival { now, size: 1000, ecn, waiting_packets, waiting_bytes: 0, free_at, idle: free_at <= now }
    }

    /// A packet that finds nothing, the transmitter having been idle for so long.
    fn idle(idle: Span) -> Arrival {
        let arrival = waiting(0);
        Arrival { free_at: Time(arrival.now.0 - idle.0), ..arrival }
    }

    /// A queue whose average stays where it is: nothing but the weight of a step away from `at`.
    fn held(plan: RedPlan, at: u64) -> RedState {
        RedState { average: at as f64, above: true, ..red(plan) }
    }

    #[test]
    fn the_average_is_the_closed_form_of_a_moving_average() {
        let mut r = red(PLAN);
        // From 0 towards a constant q: q (1 - (1 - w)^n).
        for n in 1..=5_000 {
            r.judge(&waiting(9));
            let expected = 9.0 * -libm::expm1(f64::from(n) * libm::log1p(-0.002));
            assert!((r.average - expected).abs() < 1e-9, "{n}: {} is not {expected}", r.average);
        }
        // And the sum of w (1 - w)^(n - i) q_i for a queue that moves.
        let mut r = red(PLAN);
        let queue = |i: u64| i * i % 17;
        for i in 0..400 {
            r.judge(&waiting(queue(i)));
        }
        let term = |i: u64| 0.002 * libm::pow(0.998, (399 - i) as f64) * queue(i) as f64;
        assert!((r.average - (0..400).map(term).sum::<f64>()).abs() < 1e-9);
    }

    #[test]
    fn an_idle_transmitter_counts_as_packets_that_found_nothing() {
        let mut r = RedState { average: 20.0, ..red(PLAN) };
        // 123.9 ms are 123 whole packets of 1 ms, then one step for the packet that arrives.
        r.judge(&idle(Span(123_900_000)));
        assert!((r.average - 20.0 * libm::pow(0.998, 124.0)).abs() < 1e-9, "{}", r.average);
        let mut r = RedState { average: 20.0, ..red(PLAN) };
        r.judge(&idle(Span(999_999)));
        assert!((r.average - 20.0 * 0.998).abs() < 1e-12);
    }

    #[test]
    fn the_probability_climbs_to_max_p_and_then_gently_to_one() {
        let at = |average: f64, plan| RedState { average, ..red(plan) }.base_probability();
        for (average, expected) in
            [(10.0, 0.0), (20.0, 0.05), (30.0, 0.1), (45.0, 0.55), (60.0, 1.0), (80.0, 1.0)]
        {
            assert!((at(average, PLAN) - expected).abs() < 1e-12, "{average}: {}", at(average, PLAN));
        }
        let steep = RedPlan { gentle: false, ..PLAN };
        assert!((at(29.999, steep) - 0.1).abs() < 1e-4);
        assert_eq!(at(30.0, steep), 1.0);
    }

    /// Chi-square of the gaps between drops against the uniform distribution over `gaps`.
    fn spacing(plan: RedPlan, gaps: std::ops::Range<usize>) -> f64 {
        // Half-way to the maximum with max_p = 1/16: p_b = 1/32.
        let mut r = held(RedPlan { max_p: 0.0625, ..plan }, 20);
        let mut seen = vec![0_u32; 2 * gaps.end];
        let (mut gap, drops) = (0, 20_000_u32);
        for _ in 0..drops {
            loop {
                gap += 1;
                if r.judge(&waiting(20)) != Verdict::Pass {
                    break;
                }
            }
            seen[std::mem::take(&mut gap)] += 1;
        }
        let inside: u32 = seen[gaps.clone()].iter().sum();
        assert_eq!(inside, drops, "a gap outside {gaps:?}");
        let expected = f64::from(drops) / gaps.len() as f64;
        seen[gaps].iter().map(|n| (f64::from(*n) - expected).powi(2) / expected).sum()
    }

    #[test]
    fn gaps_between_drops_are_uniform() {
        // 1 % points of chi-square with 30 and with 31 degrees of freedom.
        let without_wait = spacing(RedPlan { wait: false, ..PLAN }, 1..32);
        assert!(without_wait < 50.9, "{without_wait}");
        let with_wait = spacing(PLAN, 32..64);
        assert!(with_wait < 52.2, "{with_wait}");
    }

    #[test]
    fn below_the_minimum_or_with_hardly_a_queue_everything_passes() {
        let mut r = held(PLAN, 9);
        assert!((0..10_000).all(|_| r.judge(&waiting(9)) == Verdict::Pass));
        let mut r = RedState { average: 1e9, ..red(PLAN) };
        assert_eq!(r.judge(&waiting(1)), Verdict::Pass);
        assert_eq!(r.judge(&waiting(2)), Verdict::Drop);
    }

    #[test]
    fn the_first_packet_above_the_minimum_passes_and_starts_the_count() {
        let mut r = RedState { average: 29.0, count: 1_000_000, ..red(PLAN) };
        assert_eq!(r.judge(&waiting(29)), Verdict::Pass);
        assert_eq!((r.count, r.above), (1, true));
        let mut r = RedState { average: 29.0, count: 1_000_000, above: true, ..red(PLAN) };
        assert_eq!(r.judge(&waiting(29)), Verdict::Drop, "p_a has reached 1");
        assert_eq!(r.count, 0);
    }

    #[test]
    fn marks_replace_early_drops_of_those_who_understand_them() {
        let plan = RedPlan { ecn: true, ..PLAN };
        let count = |plan: RedPlan, at: u64, capable: bool, wanted: Verdict| {
            let mut r = held(plan, at);
            let ecn = if capable { Ecn::Ect0 } else { Ecn::NotCapable };
            (0..1_000).filter(|_| r.judge(&Arrival { ecn, ..waiting(at) }) == wanted).count()
        };
        assert!(count(plan, 25, true, Verdict::Mark) > 30);
        assert_eq!(count(plan, 25, true, Verdict::Drop), 0);
        assert!(count(plan, 25, false, Verdict::Drop) > 30);
        assert_eq!(count(plan, 25, false, Verdict::Mark), 0);
        assert_eq!(count(PLAN, 25, true, Verdict::Mark), 0, "without ecn nothing is marked");
        // Above the maximum marks go on while RED is gentle, unless mark_p ends them; above
        // twice the maximum all drop.
        assert_eq!(count(plan, 45, true, Verdict::Drop), 0);
        assert!(count(RedPlan { mark_p: Some(0.1), ..plan }, 45, true, Verdict::Drop) > 300);
        assert_eq!(count(RedPlan { mark_p: Some(0.1), ..plan }, 25, true, Verdict::Drop), 0);
        assert_eq!(count(plan, 61, true, Verdict::Drop), 1_000);
        assert_eq!(count(RedPlan { gentle: false, ..plan }, 31, true, Verdict::Drop), 1_000);
    }

    /// TCP Jersey's congestion warning: all packets above one average are marked, none below.
    #[test]
    fn without_hard_drops_all_that_could_be_marked_is() {
        let plan = RedPlan { ecn: true, hard_drop: false, gentle: false, min: 9.999, max: 10.0, ..PLAN };
        let judged = |at: u64, ecn: Ecn| held(plan, at).judge(&Arrival { ecn, ..waiting(at) });
        assert_eq!(judged(11, Ecn::Ect0), Verdict::Mark);
        assert_eq!(judged(11, Ecn::NotCapable), Verdict::Drop);
        assert_eq!(judged(9, Ecn::Ect0), Verdict::Pass);
        let limit = QueueLimit::Packets(11);
        let full = RedState { limit, ..held(plan, 11) }.judge(&Arrival { ecn: Ecn::Ect0, ..waiting(11) });
        assert_eq!(full, Verdict::Drop);
    }

    #[test]
    fn a_full_queue_drops_even_what_could_be_marked() {
        let limit = QueueLimit::Packets(25);
        let mut r = RedState { limit, ..held(RedPlan { ecn: true, ..PLAN }, 25) };
        assert_eq!(r.judge(&Arrival { ecn: Ecn::Ect0, ..waiting(25) }), Verdict::Drop);
        assert_eq!(r.count, 0);
        let mut r = RedState { limit, ..red(PLAN) };
        assert_eq!(r.judge(&waiting(25)), Verdict::Drop, "below the minimum, too");
        assert_eq!(
            r.judge(&Arrival { waiting_packets: 25, ..idle(Span(0)) }),
            Verdict::Pass,
            "nobody is before it"
        );
    }

    #[test]
    fn by_size_small_packets_are_dropped_in_proportion() {
        // Alternating packets of 1500 and 500 bytes, rare drops: one in four hits a small one.
        let mut r = held(RedPlan { by_size: true, max_p: 0.01, ..PLAN }, 25);
        let mut drops = [0_u32; 2];
        for i in 0..2_000_000 {
            let size = if i % 2 == 0 { 1500 } else { 500 };
            drops[i % 2] += u32::from(r.judge(&Arrival { size, ..waiting(25) }) == Verdict::Drop);
        }
        let share = f64::from(drops[1]) / f64::from(drops[0] + drops[1]);
        assert!((share - 0.25).abs() < 0.02, "{share} of {drops:?}");
    }
}
