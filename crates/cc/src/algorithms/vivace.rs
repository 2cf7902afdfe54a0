//! PCC Vivace: M. Dong, T. Meng, D. Zarchy, E. Arslan, Y. Gilad, P. B. Godfrey, M. Schapira: PCC Vivace:
//! Online-Learning Congestion Control, USENIX NSDI, 2018. A rate that climbs the gradient of a utility which
//! is measured by sending a little faster and a little slower.
//!
//! Unit: bytes and bytes per second; inside the utility x is in Mbit/s, as in the paper. Valid for RTT from
//! 1 us to 10^3 s and reports of much less than a round trip.
//! Equations:
//!  * u = x^t - b x dRTT/dT - c x L (eq. 1) -> [`Utility::of`].
//!  * dRTT/dT by linear regression over the RTTs of an interval -> `MonitorInterval::slope`.
//!  * gradient = (u(x (1 + eps)) - u(x (1 - eps))) / (2 eps x) -> `decide`.
//!  * the step theta0 m(tau) gradient with the confidence amplifier m and the change boundary
//!    omega = omega0 + k delta -> [`Ascent::step`].
//!
//! Starting phase: one interval at the rate, then the rate doubles, as long as the utility grows; when it
//! falls, the rate goes back by half. An interval's result comes a round trip after it, so the rate doubles
//! once in two round trips. Then pairs of intervals at x (1 + eps) and x (1 - eps), the rate x while their
//! results are on the way, and a step.
//! The paper could not be read as a whole: its equations and constants are from knowledge of it, hence grade
//! B. They were compared with the authors' code (PCCproject/PCC-Uspace, branches NSDI-2018 at 98ac946 and
//! master at 30c2cfe). From there come the amplifier's numbers, the two pairs where the last steps did not
//! agree, its caution after changes of direction, and the tolerance of the starting phase.
//! Decisions and deviations:
//!  * a controller has no randomness. The order within a pair alternates from pair to pair, and the first
//!    of a decision from decision to decision; the paper draws it. Flows that run in step can therefore
//!    disturb each other's probes.
//!  * two pairs per decision until two steps agree, then one (branch NSDI-2018). Pairs
//!    that disagree move nothing.
//!  * an interval lasts one smoothed RTT, or as long as its rate needs for ten segments (NSDI-2018,
//!    `CUDT::start_monitor`), and begins with an ACK. A segment belongs to the interval in which it was sent
//!    (known by `RateSample::prior_delivered`); a loss to that of the segment whose ACK revealed it.
//!  * x is the rate that was set. Where less than 4/5 of it was sent, because the application or the receiver
//!    held the sender back, the interval says nothing and is measured again: such a sender does not change
//!    its rate. What was sent is what was acknowledged or lost (master,
//!    `PccMonitorIntervalQueue::IsUtilityAvailable`).
//!  * a retransmission has no RTT in TCP (RFC 6298 section 3). In the code it has one, because the receiver
//!    acknowledges the number of the transmission (NSDI-2018, `CUDT::processCtrl`). The slope of an interval
//!    whose acknowledgements have fewer than two RTTs counts as none; its losses count.
//!  * |dRTT/dT| below `filter` counts as none (the code rounds to 0.02). In the starting phase the first 50
//!    lost segments do not count, and until they are used up neither does a slope below 0.2 (NSDI-2018).
//!  * `losses`: in the code (NSDI-2018, with which the paper's figures were made) c is 1 where an interval
//!    loses 3 % or less, and probes that lose 1 % or less together share their losses evenly. An interval of
//!    100 segments measures a loss of 1 % to within as much, and c = 11.35 makes that noise outweigh the
//!    rate. The equation as it is printed is `losses = "equation"`.
//!  * `delta` is 0.06 as in branch NSDI-2018 (`boundary_increment`; 0.05 in master), where the paper has
//!    0.1. With 0.1 the steps outgrow the delay with which results come. At 10 Mbit/s and 40 ms the rate
//!    then swings between 4.7 and 11.4 Mbit/s every 4 s, the buffer of a BDP is full in the median and 5.8 %
//!    are sent again. With 0.06 0.3 % are, and the median RTT is 41 ms instead of 80 ms. Over GEO it is
//!    560 ms instead of 1110 ms.
//!  * `latency` is the paper's 900. That branch's own default is 0 (`double latency = 0`), which bears any
//!    delay. With 0 the buffer of a BDP is full in the median, at 10 Mbit/s and 40 ms as over GEO, and
//!    9 and 10 % are sent again.
//!  * the code's second guesses at unlikely results, its emergency stop (half the rate where more than half
//!    was lost, `onMonitorEnds`) and its smallest step and rate (0.5 and 1.3 Mbit/s) are left out. The rate
//!    stays above two segments per RTT, and a step at most halves it.
//!  * the connection begins with the sender's initial window, and with that window per
//!    RTT from the first RTT on.
//!  * a loss changes nothing by itself, ECN is ignored. A timeout halves the rate and ends the starting phase
//!    (NSDI-2018, `onTimeout`).
//!  * an idle restart keeps the rate and forgets the intervals under way, which a pause has spoilt.
//!  * cwnd is a guard, not a control ([`guard`]).

mod ascent;
mod interval;
#[cfg(test)]
mod tests;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::algorithms::model::{GUARD, LARGEST, guard, times};
use crate::algorithms::prelude::*;
use crate::time::whole;
use ascent::Ascent;
use interval::{MonitorInterval, Role};

pub(crate) const ENTRY: Entry = Entry {
    id: "vivace",
    label: "PCC Vivace",
    about: "Sends a little faster and a little slower, sees which has more utility (rate, less a rising RTT, less losses), and moves there.",
    source: "M. Dong, T. Meng, D. Zarchy, E. Arslan, Y. Gilad, P. B. Godfrey, M. Schapira: PCC Vivace: Online-Learning Congestion Control, USENIX NSDI, 2018; compared with PCC-Uspace",
    reference: "https://www.usenix.org/conference/nsdi18/presentation/dong",
    grade: Grade::B,
    params: Vivace::PARAMS,
    sender: SenderOptions::NONE,
    colour: "#44bb99",
    marker: "D",
    build: |args, start| Box::new(Vivace::new(args, start)),
};

/// Bytes per second in a Mbit/s.
const MEGABIT: f64 = 125_000.0;
/// Lost segments that the starting phase does not count, and the slope that it bears until they are used up.
const GRACE: u64 = 50;
const GRACE_SLOPE: f64 = 0.2;
/// Up to this loss c is 1, and up to that the probes of a decision share their losses (NSDI-2018,
/// `utility` and `onMonitorEnds`).
const MILD: f64 = 0.03;
const SHARED: f64 = 0.01;
/// The smallest rate in segments per RTT.
const LEAST: f64 = 2.0;

/// The utility function of eq. 1.
#[derive(Clone, Copy, Debug)]
struct Utility {
    exponent: f64,
    latency: f64,
    loss: f64,
    /// c is 1 where losses are mild.
    lenient: bool,
}

impl Utility {
    /// u of `x` Mbit/s at which the RTT rises by `slope` seconds a second and a share `lost` is lost.
    fn of(&self, x: f64, slope: f64, lost: f64) -> f64 {
        let c = if self.lenient && lost <= MILD { self.loss.min(1.0) } else { self.loss };
        libm::pow(x, self.exponent) - self.latency * x * slope - c * x * lost // eq. 1
    }
}

algorithm! {
    #[derive(Debug)]
    struct Vivace {
        use Param::number("exponent", 0.9, 0.01..=1.0).about("t of eq. 1: how much more rate is worth");
        use Param::number("latency", 900.0, 0.0..=1e6)
            .about("b of eq. 1: what a rising RTT costs; 0: only losses count");
        use Param::number("loss", 11.35, 0.0..=1e6)
            .about("c of eq. 1: what losses cost; 11.35 bears 5 % random loss at 100 Mbit/s");
        use Param::choice("losses", &["code", "equation"])
            .about("code: c is 1 up to 3 % loss, and probes share up to 1 %, as in the authors' code; equation: eq. 1 as printed");
        /// probes go this share above and below the rate
        epsilon: f64 = 0.05, 0.001..=0.5;
        use Param::number("theta0", 1.0, 1e-3..=1e3).unit("Mbit/s").about("step for a gradient of one");
        use Param::number("omega0", 0.05, 0.001..=1.0).about("first bound on a step, as a share of the rate");
        use Param::number("delta", 0.06, 0.0..=1.0)
            .about("growth of that bound with each step that exceeds it");
        /// slopes of the RTT below this count as none
        filter: f64 = 0.01, 0.0..=1.0;
    }
    state(args, start: Start) {
        utility: Utility = Utility {
                exponent: args.number("exponent"),
                latency: args.number("latency"),
                loss: args.number("loss"),
                lenient: args.is("losses", "code"),
            },
        mss: u32 = start.mss.max(1),
        /// Intervals whose results are on the way, the one under way last.
        intervals: VecDeque<MonitorInterval>,
        /// What is to be sent next.
        plan: VecDeque<Role>,
        /// The finished probes of this decision.
        results: Vec<MonitorInterval>,
        /// Results to wait for.
        expected: usize,
        /// True if there is a new plan: the current interval ends with this ACK.
        replanned: bool,
        starting: bool = true,
        /// Utility of the last interval of the starting phase.
        reached: f64 = f64::NEG_INFINITY,
        grace: u64 = GRACE,
        /// Which of a pair goes first.
        up_first: bool = true,
        ascent: Ascent = Ascent::new(args.number("theta0"), args.number("omega0"), args.number("delta")),
        gradient: f64,
        /// x, bytes per second; 0 before the first RTT.
        rate: f64,
        /// The rate that an undo restores.
        before: f64,
        cwnd: u64 = times(start.initial_window.max(1.0), u64::from(mss)),
        collapsed: bool,
    }
}

impl Vivace {
    /// Smoothed RTT in seconds, positive; `None` before the first sample.
    fn rtt(flow: &Flow) -> Option<f64> {
        flow.rtt.map(|rtt| rtt.smoothed.secs().max(1e-6))
    }

    fn set_rate(&mut self, flow: &Flow, rate: f64) {
        let least = LEAST * f64::from(self.mss) / Self::rtt(flow).unwrap_or(1.0);
        self.rate = rate.max(least).min(LARGEST as f64);
    }

    /// The starting phase sends one interval at the rate; later a decision takes one pair of probes or two.
    fn replan(&mut self) {
        self.plan.clear();
        self.results.clear();
        self.intervals.iter_mut().for_each(|probe| probe.role = Role::Waiting); // of a plan that is given up
        if self.starting {
            self.plan.push_back(Role::Starting);
        } else {
            for _ in 0..if self.ascent.has_trend() { 1 } else { 2 } {
                let pair =
                    if self.up_first { [Role::Faster, Role::Slower] } else { [Role::Slower, Role::Faster] };
                self.plan.extend(pair);
                self.up_first = !self.up_first;
            }
            if self.plan.len() > 2 {
                self.up_first = !self.up_first; // so that decisions alternate too
            }
        }
        self.expected = self.plan.len();
        self.replanned = true;
    }

    fn sent_at(&self, role: Role) -> f64 {
        match role {
            Role::Faster => self.rate * (1.0 + self.epsilon),
            Role::Slower => self.rate * (1.0 - self.epsilon),
            Role::Starting | Role::Waiting => self.rate,
        }
    }

    /// The rate at which segments go out now.
    fn pace(&self) -> f64 {
        self.intervals.back().map_or(self.rate, |interval| interval.rate)
    }

    /// Ends the interval under way and begins the next of the plan.
    fn begin(&mut self, flow: &Flow) {
        if let Some(last) = self.intervals.back_mut() {
            last.end(flow);
        }
        let role = self.plan.pop_front().unwrap_or(Role::Waiting);
        self.intervals.push_back(MonitorInterval::new(role, self.sent_at(role), flow));
        self.replanned = false;
    }

    /// All that was sent in `done` has been acknowledged or lost.
    fn finish(&mut self, flow: &Flow, done: &MonitorInterval) {
        match done.role {
            Role::Waiting => {}
            _ if done.is_limited(self.mss) => self.replan(),
            Role::Starting => self.climb(flow, done),
            Role::Faster | Role::Slower => {
                self.results.push(*done);
                if self.results.len() >= self.expected {
                    self.decide(flow);
                }
            }
        }
    }

    fn slope(&self, done: &MonitorInterval, filter: f64) -> f64 {
        let slope = done.slope();
        if slope.abs() < filter { 0.0 } else { slope }
    }

    /// A result of the starting phase.
    fn climb(&mut self, flow: &Flow, done: &MonitorInterval) {
        let borne = done.lost.min(self.grace * u64::from(self.mss));
        let filter = if self.grace > 0 { GRACE_SLOPE.max(self.filter) } else { self.filter };
        self.grace -= borne.div_ceil(u64::from(self.mss)).min(self.grace);
        let lost = (done.lost - borne) as f64 / (done.sent() as f64).max(1.0);
        let utility = self.utility.of(done.rate / MEGABIT, self.slope(done, filter), lost);
        if utility > self.reached {
            self.reached = utility;
            self.set_rate(flow, 2.0 * self.rate);
        } else {
            self.starting = false;
            self.set_rate(flow, self.rate / 2.0);
        }
        self.replan();
    }

    /// The results of all probes are in: a step along the gradient.
    fn decide(&mut self, flow: &Flow) {
        let sum =
            |of: fn(&MonitorInterval) -> u64| self.results.iter().map(|probe| of(probe) as f64).sum::<f64>();
        let overall = sum(|probe| probe.lost) / sum(MonitorInterval::sent).max(1.0);
        let shares = self.utility.lenient && overall <= SHARED;
        // What faster brought over slower, pair by pair.
        let gains: Vec<f64> = self
            .results
            .chunks(2)
            .map(|pair| {
                pair.iter().fold(0.0, |gain, probe| {
                    let lost = if shares { overall } else { probe.loss() };
                    let utility = self.utility.of(probe.rate / MEGABIT, self.slope(probe, self.filter), lost);
                    if probe.role == Role::Faster { gain + utility } else { gain - utility }
                })
            })
            .collect();
        let x = self.rate / MEGABIT;
        self.gradient = gains.iter().sum::<f64>() / gains.len() as f64 / (2.0 * self.epsilon * x);
        if gains.iter().all(|gain| gain * gains[0] > 0.0) {
            let step = self.ascent.step(self.gradient, x);
            self.set_rate(flow, (self.rate + step * MEGABIT).max(self.rate / 2.0));
        } else {
            self.ascent.forget();
        }
        self.replan();
    }

    /// What was measured up to now is of no use.
    fn restart(&mut self) {
        self.intervals.clear();
        self.replan();
    }

    /// Rate and window after `why`.
    fn answer(&self, why: Congestion) -> (f64, u64) {
        if why == Congestion::Timeout && !self.collapsed {
            (self.rate / 2.0, (self.cwnd / 2).max(u64::from(self.mss)))
        } else {
            (self.rate, self.cwnd)
        }
    }

    fn on_congestion(&mut self, flow: &Flow, why: Congestion) {
        if self.collapsed || why != Congestion::Timeout {
            return;
        }
        self.before = self.rate;
        let (rate, cwnd) = self.answer(why);
        if self.rate > 0.0 {
            self.set_rate(flow, rate);
            self.starting = false;
        }
        self.cwnd = cwnd;
        self.ascent.forget();
        self.restart();
        self.collapsed = true;
    }

    fn on_life(&mut self, flow: &Flow, what: Life) {
        match what {
            Life::IdleRestart => self.restart(),
            Life::MssChanged => {
                self.mss = flow.mss.max(1);
                self.cwnd = self.cwnd.max(u64::from(self.mss));
            }
            Life::Recovered => {}
        }
    }
}

impl Controller for Vivace {
    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        self.collapsed &= ack.acked == 0;
        let Some(rtt) = Self::rtt(flow) else { return };
        if self.rate == 0.0 {
            self.set_rate(flow, self.cwnd as f64 / rtt);
            self.replan();
        }
        if let Some(sample) = ack.rate {
            while self.intervals.len() > 1 && self.intervals[0].to <= sample.prior_delivered {
                if let Some(done) = self.intervals.pop_front() {
                    self.finish(flow, &done);
                }
            }
            if let Some(first) = self.intervals.front_mut()
                && first.from <= sample.prior_delivered
            {
                first.add(flow, ack, sample.app_limited);
            }
        }
        let due = self.intervals.back().is_none_or(|last| {
            let over = || flow.now.since(last.began).secs() >= last.duration(rtt, self.mss);
            flow.delivered > last.from && (self.replanned || over())
        });
        if due {
            self.begin(flow);
        }
        self.cwnd = guard(GUARD, self.rate * rtt, self.mss);
    }

    fn on(&mut self, flow: &Flow, event: Event<'_>) {
        match event {
            Event::Congestion(why) => self.on_congestion(flow, why),
            Event::Undo(before) => {
                self.rate = self.rate.max(self.before);
                self.cwnd = self.cwnd.max(before.cwnd).min(LARGEST);
                self.collapsed = false;
            }
            Event::Life(what) => self.on_life(flow, what),
            _ => {}
        }
    }

    fn decision(&self) -> Decision {
        let pacing =
            if self.rate > 0.0 { Pacing::Rate(Rate(whole(self.pace()).max(1))) } else { Pacing::Off };
        Decision::of_model(self.cwnd, pacing)
    }

    fn backoff(&self, _flow: &Flow, why: Congestion) -> Backoff {
        Backoff::of_model(self.answer(why).1)
    }

    fn needs(&self) -> Needs {
        Needs { recovery: RecoveryWindow::Controller, rate: true, ..Needs::default() }
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("rate_bytes_per_s", self.rate);
        emit("gradient", self.gradient);
        emit("boundary", self.ascent.boundary());
        emit("starting", f64::from(u8::from(self.starting)));
    }
}
