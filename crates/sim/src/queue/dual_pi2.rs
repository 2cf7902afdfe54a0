//! DualPI2: two coupled queues (De Schepper, Briscoe and White, RFC 9332, appendix A).
//!
//! Packets of L4S transports, ECT(1) or marked already, wait in a queue of their own, in which marks begin at
//! a delay of about a millisecond. All others are classic. The PI2 controller moves a base probability p' by
//! the longer delay of both queues. A classic packet is dropped or marked with p_C = p'^2, and an L4S packet
//! marked with p_CL = k p' at least, so that a flow whose rate falls with the square root of its loss and one
//! whose rate falls with its marks share the link evenly.
//!
//! [`DualPi2State::update`] is the RFC's dualpi2_update, `dequeue` its dualpi2_dequeue with the edge cases of
//! appendix A.2, [`Side::recurs`] its recur, which spaces marks evenly without a random number, and
//! [`DualPi2::ramp`] its laqm.
//!
//! Decisions where the RFC leaves a choice:
//!  * The scheduler is weighted round robin by bytes: while both queues hold packets, the classic one gets
//!    its share. It bounds what either queue can take from the other, and it is what Linux does. The
//!    time-shifted FIFO bounds neither.
//!  * Delays are measured by time stamps: at an update that of the packet at the head, at departure
//!    that of the packet itself.
//!  * The constants of PI2 are keys, as those of PIE. The defaults are those of Linux; RFC 9332 derives them
//!    from the longest round trip: alpha = 0.1 T_UPDATE / RTT_max^2 and beta = 0.3 / RTT_max.
//!  * Linux's sch_dualpi2.c, as the L4S team published it, never marks or drops while fewer than two MTUs
//!    wait in both queues (`must_drop`), and begins the round robin anew with a credit of one MTU times
//!    the difference of the weights. The RFC's pseudo-code has neither, and is followed: on links of a
//!    few Mbit/s, where one packet takes longer than `step`, an L4S flow may be marked more than by
//!    Linux. With both exempt below two MTUs of 1,514 bytes, at 2 Mbit/s and 40 ms, Prague beside CUBIC
//!    has 1.20 Mbit/s instead of 0.81, and alone a median RTT of 55 ms instead of 48; at 10 Mbit/s and
//!    above the shares move by 1 %.
//!  * A queue of one L4S packet, the one that leaves, is not marked for its own delay (Th_len).
//!  * Updates fall on multiples of T_UPDATE from the start of the run. They are made before the next
//!    packet comes or leaves; nothing else looks at the probability, and between two such instants both
//!    heads stay where they are.

use bentpipe_cc::{Span, Time};

use crate::keys::error::Error;
use crate::keys::table::keys;
use crate::keys::units::{Duration, QueueSize};
use crate::link::packet::{Ecn, Packet};
use crate::link::random::Stream;
use crate::queue::at_departure::{AtDeparture, Class};
use crate::queue::context::{Context, QueueLimit};
use crate::queue::kind::{QueueKeys, QueuePlan, Rule};
use crate::queue::on_arrival::Verdict;
use crate::queue::packet_store::{Fifo, Sifting, Store};

keys! {
    /// Two coupled queues (RFC 9332). Packets of flows with `ect1` wait for a millisecond or so and are
    /// marked early. Those of all other flows are dropped, or marked if the flow has `ecn`, with a
    /// probability that follows the waiting time. A flow whose window falls with the share of its marks gets
    /// about the rate of one that is dropped.
    #[derive(Copy)]
    pub struct DualPi2 {
        /// Room of both queues together, the packet in transmission not counted
        /// (RFC 9332: 250 ms of the rate).
        pub limit: QueueSize = QueueSize::Bdp(1.0),
        /// Waiting time of classic packets that it aims at.
        pub target: Duration = Duration(Span::from_millis(15)),
        /// Time between two computations of the base probability, at least 100 us.
        pub update: Duration = Duration(Span::from_millis(16)),
        /// Weight of the distance from the target, per second. RFC 9332: 0.1 `update` / R^2, R
        /// being the longest round trip.
        #[schemars(range(min = 0.0, max = 1000.0))]
        pub alpha: f64 = 0.16,
        /// Weight of the change between two computations, per second. RFC 9332: 0.3 / R.
        #[schemars(range(min = 0.0, max = 1000.0))]
        pub beta: f64 = 3.2,
        /// The factor k between the base probability and the marks of L4S packets.
        #[schemars(range(min = 0.1, max = 100.0))]
        pub coupling: f64 = 2.0,
        /// Waiting time at which marks of L4S packets begin.
        pub step: Duration = Duration(Span::from_millis(1)),
        /// By how much longer an L4S packet waits that is always marked; between the two the probability
        /// climbs (RFC 9332: a step of 800 us and a ramp of 400 us).
        pub ramp: Duration = Duration(Span::ZERO),
        /// Part of the rate that classic packets get at least while both kinds wait.
        #[schemars(range(min = 0.0, max = 1.0))]
        pub classic_share: f64 = 0.1,
    }
}

impl QueueKeys for DualPi2 {
    type Plan = Self;
    const LABEL: &'static str = "DualPI2";
    const SOURCE: &'static str = "K. De Schepper, B. Briscoe, G. White: Dual-Queue Coupled Active Queue Management (AQM) for \
        Low Latency, Low Loss, and Scalable Throughput (L4S), 2023";
    const REFERENCE: &'static str = "RFC 9332";

    fn resolve(&self, context: &mut Context<'_>) -> Result<(QueueLimit, Self), Error> {
        let limit = context.limit(self.limit);
        context.check_room(limit, "DualPI2 queue drops by its delay")?;
        context.longer_than_zero(self.target, "target")?;
        context.update_interval(self.update)?;
        Ok((limit, *self))
    }
}

impl QueuePlan for DualPi2 {
    fn marks(&self) -> bool {
        true
    }

    fn start(&self, limit: QueueLimit, _: u64, _: Stream) -> Rule {
        Rule::AtDeparture(Box::new(DualPi2State::new(*self, limit)))
    }
}

impl DualPi2 {
    /// The native probability of a mark for an L4S packet that has waited so long.
    fn ramp(&self, waited: Span) -> f64 {
        let (Duration(step), Duration(ramp)) = (self.step, self.ramp);
        let over = waited.0.saturating_sub(step.0);
        if waited < step {
            0.0
        } else if over >= ramp.0 {
            1.0
        } else {
            over as f64 / ramp.0 as f64
        }
    }

    /// From this p_C on, classic packets are dropped even if they could be marked: p_Cmax. L4S
    /// packets are always marked then.
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
    /// Returns true for this part of all calls, evenly spaced.
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
    plan: DualPi2,
    limit: QueueLimit,
    l4s: Side,
    classic: Side,
    /// p'.
    base: f64,
    /// The longer delay at the last update.
    delay: Span,
    next_update: Time,
    /// Bytes that the classic queue may send before its next turn is over; it is not above zero while L4S has
    /// its turn.
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

    fn sift(&mut self, now: Time, store: &mut Store, verdict: &mut Sifting<'_>) {
        self.catch_up(now, store);
        store.sift(&mut self.l4s.fifo, verdict);
        store.sift(&mut self.classic.fifo, verdict);
    }

    fn bytes(&self) -> u64 {
        self.l4s.fifo.bytes + self.classic.fifo.bytes
    }
}

impl DualPi2State {
    fn new(plan: DualPi2, limit: QueueLimit) -> Self {
        let next_update = Time(0) + plan.update.0;
        let (l4s, classic) = (Side::default(), Side::default());
        Self { plan, limit, l4s, classic, base: 0.0, delay: Span::ZERO, next_update, credit: 0.0 }
    }

    /// Makes the updates that were due by `now`.
    fn catch_up(&mut self, now: Time, store: &Store) {
        while self.next_update <= now {
            let before = (self.base, self.delay);
            self.update(self.waited(self.next_update, store));
            let (latest, update) = (self.next_update, self.plan.update.0);
            self.next_update = latest + update;
            let missed = now.since(latest).0 / update.0;
            // While both heads wait, the delay grows, and a probability of one stays above the target.
            let at_one = self.base == 1.0 && self.delay >= self.plan.target.0;
            if missed > 0 && (at_one || before == (self.base, self.delay) && self.delay == Span::ZERO) {
                let latest = latest + Span(missed * update.0);
                self.delay = self.waited(latest, store);
                self.next_update = latest + update;
            }
        }
    }

    /// For how long the longer of the heads has waited at an update.
    fn waited(&self, at: Time, store: &Store) -> Span {
        let waited = |side: &Side| store.head(&side.fifo).map_or(Span::ZERO, |since| at.since(since));
        waited(&self.l4s).max(waited(&self.classic))
    }

    /// Moves p'.
    fn update(&mut self, delay: Span) {
        let p = &self.plan;
        let (now, before, target) = (delay.secs(), self.delay.secs(), p.target.0.secs());
        let base = self.base + p.alpha * (now - target) + p.beta * (now - before);
        self.base = base.clamp(0.0, 1.0);
        self.delay = delay;
    }

    /// The choice of the scheduler.
    fn is_turn_of_l4s(&self) -> bool {
        self.l4s.fifo.packets > 0 && (self.classic.fifo.packets == 0 || self.credit <= 0.0)
    }

    /// A packet of `size` bytes is sent. Bytes sent by one queue while the other waits earn the waiting
    /// queue its share.
    fn charge(&mut self, is_l4s: bool, size: u16) {
        let other = if is_l4s { &self.classic } else { &self.l4s };
        if other.fifo.packets > 0 {
            let share = self.plan.classic_share;
            self.credit += f64::from(size) * if is_l4s { share } else { share - 1.0 };
        }
    }

    /// Decides what becomes of an L4S packet that has left its queue.
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

    /// Decides the same for a classic packet.
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
mod tests;
