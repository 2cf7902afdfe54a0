//! PIE: proportional integral controller enhanced (Pan, Natarajan, Baker and White, RFC 8033).
//!
//! An arriving packet is dropped with a probability that follows the queueing delay. Every T_UPDATE the
//! probability moves by the delay's distance from the target and by the delay's change (section 4.2). The
//! smaller the probability, the smaller the steps. Of the optional elements there are ECN (5.1),
//! derandomisation (5.4) and the cap on the adjustment (5.5).
//!
//! The delay is neither a time stamp nor an estimate of the departure rate. The rate of a link is known and
//! constant, so the delay at an instant is exactly what a packet would wait that arrived then (the rest of
//! the packet in transmission and all that waits, over the rate). Updates fall on multiples of T_UPDATE from
//! the start of the run. They are made when the next packet arrives; nothing else reads the probability.

use bentpipe_cc::{Span, Time};

use crate::keys::error::Error;
use crate::keys::table::keys;
use crate::keys::units::{Duration, QueueSize};
use crate::link::packet::Ecn;
use crate::link::random::Stream;
use crate::queue::context::{Context, QueueLimit};
use crate::queue::kind::{QueueKeys, QueuePlan, Rule};
use crate::queue::on_arrival::{Arrival, OnArrival, Verdict};

/// Below each bound on the left, the adjustment is divided by the number on the right (section 4.2).
const TUNING: [(f64, f64); 6] =
    [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
/// The part of the probability that remains after an update without delay (section 4.2).
const DECAY: f64 = 0.98;
/// From the first of these on, the probability grows by no more than the second (section 5.5).
const CAP: (f64, f64) = (0.1, 0.02);
/// A delay below half the target is ignored while the probability is below this (section 4.1).
const LIGHT: f64 = 0.2;
/// There is no drop before the probabilities since the last one add up to the first value, and always one at
/// the second (section 5.4).
const ACCUMULATED: (f64, f64) = (0.85, 8.5);

keys! {
    /// Proportional integral controller enhanced (RFC 8033). First in, first out; packets are dropped or
    /// marked on arrival with a probability that follows the waiting time.
    pub struct Pie {
        /// Room, the packet in transmission not counted.
        pub limit: QueueSize = QueueSize::Bdp(1.0),
        /// Waiting time that it aims at.
        pub target: Duration = Duration(Span::from_millis(15)),
        /// Time between two computations of the probability, at least 100 us.
        pub update: Duration = Duration(Span::from_millis(15)),
        /// Weight of the distance from the target, per second.
        #[schemars(range(min = 0.0, max = 1000.0))]
        pub alpha: f64 = 0.125,
        /// Weight of the change between two computations, per second.
        #[schemars(range(min = 0.0, max = 1000.0))]
        pub beta: f64 = 1.25,
        /// How long a burst passes without drops.
        pub burst: Duration = Duration(Span::from_millis(150)),
        /// Marks packets of flows with `ecn` where it would drop them; a full queue still drops.
        pub ecn: bool = false,
        /// Drops even packets of flows with `ecn` at this probability or more.
        #[schemars(range(min = 0.0, max = 1.0))]
        pub mark_p: f64 = 0.1,
    }
}

/// PIE (RFC 8033).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PiePlan {
    /// Delay that it aims at: QDELAY_REF.
    pub target: Span,
    /// Time between two computations of the probability: T_UPDATE.
    pub update: Span,
    /// Weight of the delay's distance from the target, per second.
    pub alpha: f64,
    /// Weight of the delay's change, per second.
    pub beta: f64,
    /// How long a burst passes without drops: MAX_BURST.
    pub burst: Span,
    /// Marks rather than drops packets whose transport understands it.
    pub ecn: bool,
    /// Drops them nevertheless at this probability or more.
    pub mark_p: f64,
    /// Bytes of a full packet; with no more than two waiting nothing is dropped.
    pub mtu: u32,
}

impl QueueKeys for Pie {
    type Plan = PiePlan;
    const LABEL: &'static str = "PIE";
    const SOURCE: &'static str = "R. Pan, P. Natarajan, F. Baker, G. White: Proportional Integral Controller Enhanced (PIE): \
        A Lightweight Control Scheme to Address the Bufferbloat Problem, 2017";
    const REFERENCE: &'static str = "RFC 8033";

    fn resolve(&self, context: &mut Context<'_>) -> Result<(QueueLimit, PiePlan), Error> {
        let limit = context.limit(self.limit);
        context.check_room(limit, "PIE queue drops by its delay")?;
        let target = context.longer_than_zero(self.target, "target")?;
        let update = context.update_interval(self.update)?;
        let (&Self { alpha, beta, ecn, mark_p, .. }, mtu) = (self, context.wire);
        Ok((limit, PiePlan { target, update, alpha, beta, burst: self.burst.0, ecn, mark_p, mtu }))
    }
}

impl QueuePlan for PiePlan {
    fn marks(&self) -> bool {
        self.ecn
    }

    fn start(&self, limit: QueueLimit, _: u64, stream: Stream) -> Rule {
        Rule::OnArrival(Box::new(PieState::new(*self, limit, stream)))
    }
}

/// The state of PIE in front of one transmitter.
#[derive(Debug)]
struct PieState {
    plan: PiePlan,
    limit: QueueLimit,
    probability: f64,
    /// Sum of the probabilities of the packets since the last drop.
    accumulated: f64,
    /// Delay at the last update.
    delay: Span,
    /// How much longer a burst may last.
    allowance: Span,
    next_update: Time,
    stream: Stream,
}

impl OnArrival for PieState {
    fn judge(&mut self, arrival: &Arrival) -> Verdict {
        self.catch_up(arrival.now, arrival.free_at);
        if !arrival.has_room(self.limit) {
            self.accumulated = 0.0;
            return Verdict::Drop;
        }
        if self.allowance > Span::ZERO || !self.strikes(arrival.waiting_bytes) {
            return Verdict::Pass;
        }
        if self.plan.ecn && arrival.ecn != Ecn::NotCapable && self.probability < self.plan.mark_p {
            Verdict::Mark
        } else {
            Verdict::Drop
        }
    }

    fn counts_bytes(&self) -> bool {
        true
    }
}

impl PieState {
    fn new(plan: PiePlan, limit: QueueLimit, stream: Stream) -> Self {
        Self {
            limit,
            probability: 0.0,
            accumulated: 0.0,
            delay: Span::ZERO,
            allowance: plan.burst,
            next_update: Time(0) + plan.update,
            plan,
            stream,
        }
    }

    /// The random decision, with its safeguards.
    fn strikes(&mut self, waiting_bytes: u64) -> bool {
        let light = self.delay.0 < self.plan.target.0 / 2 && self.probability < LIGHT;
        if light || waiting_bytes <= 2 * u64::from(self.plan.mtu) {
            return false;
        }
        if self.probability == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += self.probability;
        let (none, sure) = ACCUMULATED;
        let strikes =
            self.accumulated >= sure || self.accumulated >= none && self.stream.uniform() <= self.probability;
        if strikes {
            self.accumulated = 0.0;
        }
        strikes
    }

    /// Makes the updates that were due by `now`. Nothing has arrived since the last call, so the delay at
    /// each of them follows from when the transmitter will be free.
    fn catch_up(&mut self, now: Time, free_at: Time) {
        while self.next_update <= now {
            let before = (self.probability, self.delay, self.allowance);
            self.update(free_at.since(self.next_update));
            self.next_update = self.next_update + self.plan.update;
            if self.probability == 1.0 {
                self.leave_out(self.due(now).min(self.updates_that_stay_at_one(free_at)), free_at);
            } else if self.delay == Span::ZERO && before == (self.probability, self.delay, self.allowance) {
                self.leave_out(self.due(now), free_at);
            }
        }
    }

    /// How many updates are due by `now`.
    fn due(&self, now: Time) -> u64 {
        match self.next_update <= now {
            true => now.since(self.next_update).0 / self.plan.update.0 + 1,
            false => 0,
        }
    }

    /// How many of the next updates leave a probability of one as it is, if the transmitter will be free at
    /// `free_at`. While the delay falls by one interval an update, the step is above zero until the delay is
    /// near the target; nearer than here, where even twice beta cannot make it negative.
    fn updates_that_stay_at_one(&self, free_at: Time) -> u64 {
        let p = &self.plan;
        let falls = 1.0 + 2.0 * p.beta / p.alpha;
        let near = Span((p.target.0 as f64 + falls * p.update.0 as f64) as u64);
        let above = free_at.since(self.next_update).0.saturating_sub(near.0);
        above / p.update.0
    }

    /// Leaves out `n` updates that do not change the probability.
    fn leave_out(&mut self, n: u64, free_at: Time) {
        if n == 0 {
            return;
        }
        let all = n * self.plan.update.0;
        self.next_update = self.next_update + Span(all);
        if self.probability > 0.0 {
            self.allowance = Span(self.allowance.0.saturating_sub(all));
        }
        self.delay = free_at.since(Time(self.next_update.0 - self.plan.update.0));
    }

    fn update(&mut self, delay: Span) {
        let p = &self.plan;
        let (now, before, target) = (delay.secs(), self.delay.secs(), p.target.secs());
        let mut step = p.alpha * (now - target) + p.beta * (now - before);
        if let Some((_, divisor)) = TUNING.iter().find(|(bound, _)| self.probability < *bound) {
            step /= divisor;
        }
        let (bound, most) = CAP;
        if self.probability >= bound {
            step = step.min(most);
        }
        let mut probability = self.probability + step;
        if delay == Span::ZERO && self.delay == Span::ZERO {
            probability *= DECAY;
        }
        self.probability = probability.clamp(0.0, 1.0);
        self.allowance = Span(self.allowance.0.saturating_sub(p.update.0));
        let half = p.target.0 / 2;
        if self.probability == 0.0 && delay.0 < half && self.delay.0 < half {
            self.allowance = p.burst;
        }
        self.delay = delay;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PLAN: PiePlan = PiePlan {
        target: Span::from_millis(15),
        update: Span::from_millis(15),
        alpha: 0.125,
        beta: 1.25,
        burst: Span::from_millis(150),
        ecn: false,
        mark_p: 0.1,
        mtu: 1500,
    };

    fn pie(plan: PiePlan) -> PieState {
        PieState::new(plan, QueueLimit::Packets(101), Stream::new(1, "pie"))
    }

    fn ms(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    /// A packet that comes at `now` (ms) and would wait for `delay` ms.
    fn arrival(now: u64, delay: u64) -> Arrival {
        let (size, waiting_packets, waiting_bytes) = (1_000, 100, 100_000);
        let (now, free_at, ecn) = (ms(now), ms(now + delay), Ecn::NotCapable);
        Arrival { now, size, ecn, waiting_packets, waiting_bytes, free_at, idle: free_at <= now }
    }

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 1e-9 * expected.abs().max(1e-3), "{found} is not {expected}");
    }

    /// After the updates of `delays` (ms), one each 15 ms.
    fn after(plan: PiePlan, delays: &[u64]) -> PieState {
        let mut pie = pie(plan);
        for (i, delay) in delays.iter().enumerate() {
            let now = 15 * (i as u64 + 1);
            pie.judge(&arrival(now, *delay));
        }
        pie
    }

    #[test]
    fn the_probability_follows_the_control_law() {
        // (0.125 x (30 - 15) + 1.25 x 30) ms = 0.039375, times 1/2048.
        close(after(PLAN, &[30]).probability, 1.922_607_421_875e-5);
        // Between 1e-5 and 1e-4 it is 1/128: 0.125 x 15 ms = 0.001875, then with 20 ms more 0.004375 + 0.025.
        close(after(PLAN, &[30, 30]).probability, 1.922_607_421_875e-5 + 1.464_843_75e-5);
        close(after(PLAN, &[30, 50]).probability, 1.922_607_421_875e-5 + 0.029_375 / 128.0);
        // Falling below zero it stays there: 0.125 x (5 - 15) - 1.25 x 25 ms.
        assert_eq!(after(PLAN, &[30, 5]).probability, 0.0);
    }

    proptest! {
        #[test]
        fn updates_that_are_left_out_would_change_nothing(
            (alpha, beta) in prop::sample::select(vec![(0.125, 1.25), (0.0, 1.25), (20.0, 0.0), (0.0, 0.0), (1.0, 1000.0)]),
            update in 1_u64..40,
            target in 0_u64..60,
            // Some queues take minutes to empty, and some pauses are as long.
            steps in prop::collection::vec((0_u64..9, 0_u64..9, 0_u64..40_000, 0_u64..40_000), 1..30),
        ) {
            let (target, update) = (Span::from_millis(target), Span::from_millis(update));
            let plan = PiePlan { alpha, beta, target, update, ..PLAN };
            let (mut quick, mut plain) = (pie(plan), pie(plan));
            let (mut now, mut free_at) = (ms(0), ms(0));
            for (far, long, gap, wait) in steps {
                now = now + Span::from_millis(if far == 0 { gap } else { gap % 100 });
                quick.catch_up(now, free_at);
                while plain.next_update <= now {
                    plain.update(free_at.since(plain.next_update));
                    plain.next_update = plain.next_update + update;
                }
                prop_assert_eq!(format!("{quick:?}"), format!("{plain:?}"));
                free_at = free_at.max(now) + Span::from_millis(if long == 0 { wait } else { wait % 100 });
            }
        }
    }

    /// Ten years with an update in 100 us are three trillion updates. One packet in two
    /// days takes a day to send.
    #[test]
    fn years_in_which_nothing_changes_cost_nothing() {
        let day = 86_400_000;
        for (alpha, busy) in [(0.125, day), (0.0, 0)] {
            let mut pie = pie(PiePlan { alpha, update: Span(100_000), ..PLAN });
            pie.probability = 0.5;
            for i in 0..1825 {
                pie.catch_up(ms(2 * (i + 1) * day), ms(2 * i * day + busy));
            }
            assert!(pie.probability < 1e-300 && pie.delay == Span::ZERO, "{pie:?}");
        }
    }

    #[test]
    fn the_smaller_the_probability_the_smaller_the_step() {
        // A delay that stays at 115 ms: 0.125 x 100 ms = 0.0125 undivided (RFC 8033 section 4.2).
        for (from, divisor) in [
            (0.0, 2048.0),
            (5e-6, 512.0),
            (5e-5, 128.0),
            (5e-4, 32.0),
            (5e-3, 8.0),
            (5e-2, 2.0),
            (0.1, 1.0),
            (0.5, 1.0),
        ] {
            let mut p = PieState { probability: from, delay: Span::from_millis(115), ..pie(PLAN) };
            p.judge(&arrival(15, 115));
            close(p.probability, from + 0.0125 / divisor);
        }
    }

    #[test]
    fn the_step_up_is_capped_once_a_tenth_is_dropped() {
        // 0.125 x 300 ms = 0.0375: half of it below 0.1, 0.02 from there on; steps down have
        // no cap, and 1 is the most.
        for (from, delay, expected) in
            [(0.09, 315, 0.10875), (0.1, 315, 0.12), (0.99, 315, 1.0), (0.5, 1, 0.5 - 0.00175 - 0.3925)]
        {
            let mut p = PieState { probability: from, delay: Span::from_millis(315), ..pie(PLAN) };
            p.judge(&arrival(15, delay));
            close(p.probability, expected);
        }
    }

    #[test]
    fn without_delay_the_probability_decays() {
        let mut p = PieState { probability: 0.5, ..pie(PLAN) };
        p.judge(&Arrival { now: ms(15), ..arrival(0, 0) });
        close(p.probability, (0.5 - 0.001875) * 0.98);
        // Many updates at once are the same as one after the other, however long the pause.
        let (mut lazy, mut eager) =
            (PieState { probability: 0.3, ..pie(PLAN) }, PieState { probability: 0.3, ..pie(PLAN) });
        for now in 0..4_000 {
            eager.judge(&Arrival { now: ms(now), ..arrival(0, 100) });
        }
        lazy.judge(&Arrival { now: ms(3_999), ..arrival(0, 100) });
        assert_eq!((lazy.probability, lazy.delay, lazy.allowance), (0.0, Span::ZERO, PLAN.burst));
        assert_eq!((eager.probability, eager.next_update), (0.0, lazy.next_update));
        lazy.judge(&Arrival { now: ms(10_000_000), ..arrival(0, 0) });
        assert_eq!(lazy.next_update, ms(10_000_005));
    }

    #[test]
    fn a_burst_of_150_ms_passes() {
        let first = |plan: PiePlan| {
            let mut p = pie(plan);
            (0..2_000).find(|now| p.judge(&arrival(*now, 500)) != Verdict::Pass)
        };
        // Updates at 15, 30, ... 150 ms use up the allowance.
        let with = first(PLAN).unwrap();
        assert!((150..400).contains(&with), "{with}");
        assert!(first(PiePlan { burst: Span::ZERO, ..PLAN }).unwrap() < 150);
        // It comes back when two updates saw less than half the target and nothing is dropped.
        let used = after(PLAN, &[500; 10]);
        assert_eq!(used.allowance, Span::ZERO);
        let mut p = PieState { probability: 0.0, delay: Span::from_millis(7), ..used };
        p.judge(&arrival(165, 7));
        assert_eq!(p.allowance, PLAN.burst);
    }

    /// In front of a queue whose delay stays at the target the probability stays where it is.
    fn held(plan: PiePlan, probability: f64) -> PieState {
        let plan = PiePlan { burst: Span::ZERO, ..plan };
        PieState { probability, delay: plan.target, ..pie(plan) }
    }

    #[test]
    fn drops_keep_their_distance_from_each_other() {
        // 0.85 / 0.04 = 21.25: the 22nd packet is the first that may be dropped, the 213th
        // (8.5 / 0.04 = 212.5) always is. Between them each is with probability 0.04, so that
        // the mean gap is 21 + 25.
        let mut p = held(PLAN, 0.04);
        let (mut gaps, mut gap) = (Vec::new(), 0_u64);
        for now in 0..1_000_000 {
            gap += 1;
            if p.judge(&arrival(now, 15)) == Verdict::Drop {
                gaps.push(std::mem::take(&mut gap));
            }
        }
        close(p.probability, 0.04);
        assert_eq!(gaps.iter().min(), Some(&22));
        assert!(gaps.iter().all(|g| (22..=213).contains(g)));
        let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
        // Four standard errors: 4 x 24.5 / sqrt(21 700).
        assert!((mean - 46.0).abs() < 0.7, "{mean}");
    }

    #[test]
    fn short_queues_and_short_delays_are_left_alone() {
        let strikes = |mut p: PieState, arrival: Arrival| {
            (0..1_000).filter(|_| p.judge(&arrival) != Verdict::Pass).count()
        };
        let long = arrival(0, 15);
        assert!(strikes(held(PLAN, 0.1), long) > 30);
        assert_eq!(strikes(held(PLAN, 0.1), Arrival { waiting_bytes: 3_000, ..long }), 0);
        assert!(strikes(held(PLAN, 0.1), Arrival { waiting_bytes: 3_001, ..long }) > 30);
        // Less than half the target at the last update, and less than a fifth is dropped.
        let short = |p| PieState { delay: Span(7_400_000), ..held(PLAN, p) };
        assert_eq!(strikes(short(0.19), long), 0);
        assert!(strikes(short(0.2), long) > 60);
        assert_eq!(strikes(pie(PLAN), long), 0, "a burst");
        assert_eq!(strikes(pie(PLAN), Arrival { waiting_packets: 101, ..long }), 1_000);
    }

    #[test]
    fn marks_replace_drops_up_to_a_tenth() {
        let of = |plan: PiePlan, probability: f64, capable: bool, wanted: Verdict| {
            let mut p = held(plan, probability);
            let ecn = if capable { Ecn::Ect0 } else { Ecn::NotCapable };
            (0..1_000).filter(|_| p.judge(&Arrival { ecn, ..arrival(0, 15) }) == wanted).count()
        };
        let ecn = PiePlan { ecn: true, ..PLAN };
        assert!(of(ecn, 0.09, true, Verdict::Mark) > 30);
        assert_eq!(of(ecn, 0.09, true, Verdict::Drop), 0);
        assert!(of(ecn, 0.09, false, Verdict::Drop) > 30);
        assert!(of(ecn, 0.1, true, Verdict::Drop) > 30);
        assert_eq!(of(ecn, 0.1, true, Verdict::Mark), 0);
        assert_eq!(of(PLAN, 0.09, true, Verdict::Mark), 0);
    }
}
