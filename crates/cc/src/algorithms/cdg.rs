//! CDG: D. A. Hayes, G. Armitage: Revisiting TCP Congestion Control Using Delay Gradients, IFIP
//! Networking, 2011; Linux's module, tcp_cdg.c, by K. K. Jonassen (since Linux 4.2, 2015; that of
//! 6.1 was compared). Backs off with a probability that grows with the gradient of the RTT, and
//! tolerates flows that fill the buffer.
//!
//! Unit: segments, seconds. Valid for 1 <= cwnd < 2^40 and RTT above 1 us.
//! Rules, from the module, which was read:
//!  * the least and the greatest RTT of a round (`tcp_cdg_acked`) -> `observe`.
//!  * Their changes from round to round, summed over a window of eight (`tcp_cdg_grad`) -> `gradient`.
//!  * a backoff to 0.7 of the window, with probability 1 - exp(-g/G) where g, the mean change per round, is
//!    positive. G is 3 ms (`backoff_factor` = 1000 / (8 G) = 42) -> `end_round`.
//!  * no backoff after five in a row that did not bring the delay down (`tcp_cdg_backoff`) -> `end_round`.
//!  * the shadow window grows as Reno's does. Backoffs do not cut it.
//!  * a loss leads to half of the window or of the shadow window, whichever is more. So backoffs and losses
//!    do not add up (`tcp_cdg_ssthresh`) -> `backoff`.
//!
//! Decisions and deviations:
//!  * a controller has no randomness: the numbers that the probability is compared with are those of a
//!    linear congruential generator that begins at `seed`. Two flows with one seed draw the same
//!    numbers, at different rounds.
//!  * the loss tolerance heuristic (`use_tolerance`, off in the module) is `loss_tolerance`, off too.
//!  * a backoff cuts at once; the module's comes down within a round (`tcp_enter_cwr`). As there,
//!    nothing grows for that round, its change of RTT does not count, and a loss or mark in it cuts no
//!    further; a timeout keeps ssthresh.
//!  * a window that does not limit the sender bounds the shadow window (`tcp_cdg_cong_avoid`). Rounds in
//!    which it does not bring no backoff; in the module they may. With bulk data the window always
//!    limits, and nothing differs.
//!  * the module's filter for delayed ACKs is not needed: the RTT of an ACK is that of its last segment.
//!  * the module starts with Hybrid Slow Start. Here that is the choice `slow_start = "hystart"`, which
//!    `validate kernel` makes for it.
//!  * an ECN echo counts as a loss.
//!  * an idle restart forgets gradients, backoffs and shadow window; the module does so where the
//!    pause was longer than an RTO.

use alloc::collections::VecDeque;
use core::f64::consts::FRAC_1_SQRT_2;

use crate::algorithms::prelude::*;

pub(crate) const ENTRY: Entry = Entry {
    id: "cdg",
    label: "CDG",
    about: "Backs off at random, the more likely the faster the RTT rises, and keeps a shadow window so as to coexist with Reno.",
    source: "D. A. Hayes, G. Armitage: Revisiting TCP Congestion Control Using Delay Gradients, IFIP Networking, 2011; Linux tcp_cdg.c",
    reference: "doi:10.1007/978-3-642-20798-3_25",
    grade: Grade::A,
    params: Cdg::PARAMS,
    sender: SenderOptions::NONE,
    colour: "#44bb99",
    marker: "^",
    build: |args, start| Windowed::hosted(Cdg::new(args, start), start),
};

/// A fall of the sums by this counts as effect, seconds.
const EFFECT: f64 = 32e-6;
/// With the loss tolerance smaller sums count as none: 1/64 us, rounded, in the module.
const SMALL: f64 = 32e-6;

/// Least and greatest RTT of a round, or their change, seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Extremes {
    min: f64,
    max: f64,
}

/// What the gradients say of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Queue {
    Unknown,
    Full,
    NotFull,
}

algorithm! {
    #[derive(Debug)]
    struct Cdg {
        /// rounds over which gradients are smoothed
        window: usize = 8.0, 1.0..=256.0, "rounds";
        use Param::number("g", 3.0, 0.001..=1e4)
            .unit("ms")
            .about("G: at this rise per round the probability of a backoff is 63 %");
        /// share of the window that stays after a backoff
        beta: f64 = FRAC_1_SQRT_2, 0.1..=1.0;
        /// backoffs without effect after which there are no more until the delay falls; 0: no limit
        ineffectual: u32 = 5.0, 0.0..=1000.0;
        use Param::flag("shadow", true).about("shadow window: losses undo the backoffs before them");
        /// losses while no queue is full keep the window
        loss_tolerance: bool = false;
        use Param::number("seed", 1.0, 0.0..=1e15).about("where the pseudo-random numbers begin");
    }
    state(args, start: Start) {
        g: f64 = args.number("g") / 1000.0,
        shadows: bool = args.flag("shadow"),
        round: Option<Extremes>,
        last: Option<Extremes>,
        gradients: VecDeque<Extremes>,
        sum: Extremes = Extremes { min: 0.0, max: 0.0 },
        /// A round has ended and is not yet answered.
        due: bool,
        /// A backoff was made: nothing grows, no loss cuts again, and the round does not count.
        held: bool,
        /// The window has not limited the sender since the shadow window was set last.
        unused: bool,
        backoffs: u32,
        queue: Queue = Queue::Unknown,
        shadow: f64 = start.initial_window,
        state: u64 = args.number("seed") as u64,
    }
}

impl Cdg {
    /// A pseudo-random number from 0 to 1.
    fn draw(&mut self) -> f64 {
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The mean change per round, of the least RTT if it rose and of the greatest otherwise (`tcp_cdg_grad`).
    fn gradient(&mut self, change: Extremes) -> f64 {
        if self.gradients.len() >= self.window
            && let Some(old) = self.gradients.pop_front()
        {
            self.sum = Extremes { min: self.sum.min - old.min, max: self.sum.max - old.max };
        }
        self.gradients.push_back(change);
        self.sum = Extremes { min: self.sum.min + change.min, max: self.sum.max + change.max };
        let Extremes { min, max } = self.sum;
        if min <= -EFFECT || max <= -EFFECT {
            self.backoffs = 0; // it had an effect
        }
        if self.loss_tolerance {
            let level = |sum: f64| if sum.abs() < SMALL { 0.0 } else { sum };
            let (min, max) = (level(min), level(max));
            if min > 0.0 && max <= 0.0 {
                self.queue = Queue::Full;
            } else if (min > 0.0 && max > 0.0) || max < 0.0 {
                self.queue = Queue::NotFull;
            }
        }
        let sum = if min > 0.0 { min } else { max };
        sum / self.gradients.len() as f64
    }

    /// A round is over: back off?
    fn end_round(&mut self, w: &mut Window) -> bool {
        let Some(round) = self.round.take() else { return false };
        let Some(last) = self.last.replace(round) else { return false };
        let gradient = self.gradient(Extremes { min: round.min - last.min, max: round.max - last.max });
        if gradient <= 0.0 || self.draw() <= libm::exp(-gradient / self.g) {
            return false; // the paper's equation: P = 1 - exp(-g/G)
        }
        if self.ineffectual > 0 {
            self.backoffs = self.backoffs.saturating_add(1);
            if self.backoffs > self.ineffectual {
                return false;
            }
        }
        self.shadow = self.shadow_at(w.cwnd).max(w.cwnd);
        self.unused = false;
        w.cwnd = (w.cwnd * self.beta).max(2.0_f64.min(w.cwnd));
        w.ssthresh = w.cwnd;
        self.held = true;
        true
    }

    /// The round of a reduction is over (`CA_EVENT_COMPLETE_CWR`).
    fn complete(&mut self) {
        (self.last, self.queue) = (self.round.take(), Queue::Unknown);
        (self.due, self.held) = (false, false);
    }

    /// Is a loss taken for one that no queue made?
    fn tolerates(&self, why: Congestion) -> bool {
        self.loss_tolerance && self.queue == Queue::NotFull && why == Congestion::Loss
    }

    /// The shadow window beside a window of `cwnd`.
    fn shadow_at(&self, cwnd: f64) -> f64 {
        if self.unused { self.shadow.min(cwnd) } else { self.shadow }
    }

    /// The window limits the sender, and may grow from here on.
    fn use_window(&mut self, w: &Window) -> f64 {
        self.shadow = self.shadow_at(w.cwnd);
        self.unused = false;
        w.cwnd
    }

    fn forget(&mut self) {
        (self.round, self.last, self.due, self.held, self.unused) = (None, None, false, false, false);
        self.gradients.clear();
        self.sum = Extremes { min: 0.0, max: 0.0 };
        (self.backoffs, self.queue) = (0, Queue::Unknown);
    }

    fn on_life(&mut self, w: &mut Window, what: Life) {
        match what {
            Life::Recovered => self.complete(),
            Life::IdleRestart => {
                self.forget();
                self.shadow = w.cwnd;
            }
            Life::MssChanged => {}
        }
    }
}

impl Policy for Cdg {
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        if let Some(rtt) = ack.rtt.map(|rtt| rtt.latest.secs()) {
            let known = self.round.unwrap_or(Extremes { min: rtt, max: rtt });
            self.round = Some(Extremes { min: known.min.min(rtt), max: known.max.max(rtt) });
        }
        if ack.round_end && flow.phase != Phase::Recovery {
            if self.held {
                self.complete();
            } else {
                self.due = true;
            }
        }
        self.unused |= !self.held && !flow.cwnd_limited && flow.phase != Phase::Recovery;
    }

    fn slow_start(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) -> f64 {
        if (core::mem::take(&mut self.due) && self.end_round(w)) || self.held {
            return 0.0;
        }
        let before = self.use_window(w);
        let left = exponential(w, ack.segments(flow));
        self.shadow += w.cwnd - before;
        left
    }

    fn avoid(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        if (core::mem::take(&mut self.due) && self.end_round(w)) || self.held {
            return;
        }
        let before = self.use_window(w);
        additive(w, flow, ack, 1.0);
        self.shadow += w.cwnd - before;
    }

    fn backoff(&self, w: &Window, _flow: &Flow, why: Congestion) -> Cut {
        if self.held || self.tolerates(why) {
            return Cut::standard(w.cwnd, why);
        }
        let shadow = if self.shadows { (self.shadow_at(w.cwnd) / 2.0).min(w.cwnd) } else { 0.0 };
        Cut::standard(shadow.max(w.cwnd / 2.0), why)
    }

    fn on(&mut self, w: &mut Window, _flow: &Flow, event: Event<'_>) {
        match event {
            Event::Congestion(why) if !self.held && !self.tolerates(why) => {
                self.shadow = (self.shadow_at(w.cwnd) / 2.0).min(w.cwnd);
                self.unused = false;
            }
            Event::Life(what) => self.on_life(w, what),
            _ => {}
        }
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        let n = (self.gradients.len() as f64).max(1.0);
        emit("gradient_min_s", self.sum.min / n);
        emit("gradient_max_s", self.sum.max / n);
        emit("shadow_segments", self.shadow);
        emit("backoffs", f64::from(self.backoffs));
    }
}

#[cfg(test)]
mod tests {
    use core::f64::consts::FRAC_1_SQRT_2;

    use crate::event::{Congestion, Event, Life};
    use crate::registry::Value;
    use crate::rig::{Rig, near, probe};

    /// A round of ten ACKs with this RTT.
    fn round(rig: &mut Rig, rtt: f64) {
        for i in 1..=10 {
            rig.ack(0.1, rtt / 10.0, rtt, i == 10);
        }
    }

    /// The share of windows that backed off when the RTT had risen by `rise` a round for two rounds;
    /// the window is one round.
    fn share(rise: f64) -> f64 {
        let tries: u32 = 2000;
        let mut backed = 0;
        for seed in 0..tries {
            let seed = f64::from(seed) * 7919.0;
            let mut rig =
                Rig::new("cdg", &[("seed", Value::Number(seed)), ("window", Value::Number(1.0))], 100.0, 2.0);
            round(&mut rig, 0.5);
            let before = rig.w();
            round(&mut rig, 0.5 + rise);
            backed += u32::from(rig.w() < before);
        }
        f64::from(backed) / f64::from(tries)
    }

    /// 1 - exp(-g/G) with G = 3 ms by hand: 63.2 % at 3 ms, 28.3 % at 1 ms, none where nothing rises.
    #[test]
    fn the_probability_of_a_backoff_is_one_less_an_exponential_of_the_gradient() {
        near(share(0.003), 0.632, 0.06);
        near(share(0.001), 0.283, 0.12);
        assert_eq!(share(-0.003), 0.0);
        assert!(share(0.1) > 0.999);
    }

    /// A backoff keeps 0.7071, and the shadow window remembers what it took: a loss after its round goes to
    /// half of the shadow, which is as far as a Reno flow falls, and not to a third.
    #[test]
    fn the_shadow_window_keeps_backoffs_and_losses_from_adding_up() {
        let mut rig = Rig::new("cdg", &[("window", Value::Number(1.0))], 100.0, 2.0);
        round(&mut rig, 0.5);
        let before = rig.w();
        round(&mut rig, 0.8);
        assert!(rig.w() < 0.72 * before, "{} of {before}", rig.w());
        round(&mut rig, 0.8);
        rig.congestion(Congestion::Loss);
        near(rig.w(), before / 2.0, 0.01);
        let mut rig =
            Rig::new("cdg", &[("window", Value::Number(1.0)), ("shadow", Value::Flag(false))], 100.0, 2.0);
        round(&mut rig, 0.5);
        round(&mut rig, 0.8);
        round(&mut rig, 0.8);
        rig.congestion(Congestion::Loss);
        near(rig.w(), FRAC_1_SQRT_2 * before / 2.0, 0.01);
    }

    /// Linux: `tcp_cdg_backoff` enters CWR, in which `tcp_enter_recovery` does not cut again. 0.7071 of the
    /// window stay, and the shadow window as it was, for the loss after that.
    #[test]
    fn a_loss_in_the_round_of_a_backoff_does_not_cut_again() {
        for why in [Congestion::Loss, Congestion::Ecn] {
            let mut rig = Rig::new("cdg", &[("window", Value::Number(1.0))], 100.0, 2.0);
            round(&mut rig, 0.5);
            let before = rig.w();
            round(&mut rig, 0.8);
            rig.congestion(why);
            near(rig.w(), FRAC_1_SQRT_2 * before, 0.01);
            near(rig.t(), FRAC_1_SQRT_2 * before, 0.01);
            rig.cc.on(&rig.flow, Event::Life(Life::Recovered));
            rig.congestion(Congestion::Loss);
            near(rig.w(), before / 2.0, 0.01);
        }
        let mut rig = Rig::new("cdg", &[("window", Value::Number(1.0))], 100.0, 2.0);
        round(&mut rig, 0.5);
        round(&mut rig, 0.8);
        rig.congestion(Congestion::Timeout);
        assert_eq!(rig.w(), 1.0);
        near(rig.t(), FRAC_1_SQRT_2 * 100.0, 0.01);
    }

    /// `tcp_cdg_cong_avoid`: a window that does not limit the sender bounds the shadow window, so that a loss
    /// halves 70.71 segments and not the 100 of before the backoff.
    #[test]
    fn a_window_that_is_not_used_bounds_the_shadow() {
        let mut rig = Rig::new("cdg", &[("window", Value::Number(1.0))], 100.0, 2.0);
        round(&mut rig, 0.5);
        let before = rig.w();
        round(&mut rig, 0.8);
        round(&mut rig, 0.8);
        rig.flow.cwnd_limited = false;
        rig.ack(0.1, 0.1, 0.8, false);
        rig.congestion(Congestion::Loss);
        near(rig.w(), FRAC_1_SQRT_2 * before / 2.0, 0.01);
    }

    /// Five backoffs that bring nothing, and the delay rises on: there is no sixth until it falls.
    #[test]
    fn backoffs_without_effect_end() {
        let mut rig = Rig::new("cdg", &[("window", Value::Number(1.0))], 1000.0, 2.0);
        let (mut backed, mut rtt) = (0, 0.5);
        for _ in 0..40 {
            let before = rig.w();
            round(&mut rig, rtt);
            rtt += 0.1;
            backed += u32::from(rig.w() < before);
        }
        assert_eq!(backed, 5);
        round(&mut rig, rtt - 1.0);
        let before = rig.w();
        round(&mut rig, rtt);
        assert!(rig.w() < before);
    }

    #[test]
    fn an_idle_restart_forgets_the_gradients() {
        let mut rig = Rig::new("cdg", &[], 100.0, 2.0);
        (0..4).for_each(|i| round(&mut rig, 0.5 - 0.01 * f64::from(i)));
        assert!(probe(&*rig.cc, "gradient_min_s") < 0.0);
        rig.cc.on(&rig.flow, Event::Life(Life::IdleRestart));
        assert_eq!(probe(&*rig.cc, "gradient_min_s"), 0.0);
    }
}
