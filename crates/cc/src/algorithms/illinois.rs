//! TCP-Illinois: S. Liu, T. Basar, R. Srikant: TCP-Illinois: A Loss- and Delay-based Congestion Control
//! Algorithm for High-speed Networks, Performance Evaluation, 2008; details as in Linux's module of that name
//! (6.1: docs/oracle.md). AIMD whose coefficients follow the queueing delay.
//!
//! Unit: segments and seconds. Valid for 1 <= cwnd < 2^40, RTT from 1 us to 3.3 s, on a path whose
//! propagation delay does not rise for good unless `base_window` is set.
//! Rules, with d the mean queueing delay of a round and D the largest seen:
//!  * alpha falls from 10 at d = D/100 to 0.3 at d = D -> [`Delays::alpha`].
//!  * beta rises from 1/8 at d = D/10 to 1/2 at 0.8 D -> [`Delays::beta`].
//!  * W + alpha per round trip, W - beta W at a loss -> `avoid`, `backoff`.
//!
//! Decisions:
//!  * once the delay has left the lowest hundredth, five rounds there must pass before
//!    alpha is 10 again (theta).
//!  * below 15 segments alpha = 1 and beta = 1/2, whatever the delay.
//!  * a timeout sets alpha = 1, beta = 1/2 until the next round ends, and sets T by the beta before it.
//!  * RTTs above 3.3 s count as 3.3 s. The largest delay never ages, as in Linux.
//!  * all rounds are measured, recovery included; ECN is answered as a loss.
//!  * a spurious congestion gives the window back; coefficients follow the next round anyway.

use crate::algorithms::prelude::*;
use crate::algorithms::vegas::{BASE_WINDOW, base_rtt};
use crate::filter::WindowedMin;
use crate::round::Round;

pub(crate) const ENTRY: Entry = Entry {
    id: "illinois",
    label: "Illinois",
    about: "AIMD that grows by 10 segments a round trip and cuts by 1/8 when no queue shows, by 0.3 and 1/2 when it is long.",
    source: "S. Liu, T. Basar, R. Srikant: TCP-Illinois: A Loss- and Delay-based Congestion Control Algorithm for High-speed Networks, Performance Evaluation, 2008",
    reference: "doi:10.1016/j.peva.2007.12.007",
    grade: Grade::A,
    params: Illinois::PARAMS,
    sender: SenderOptions::NONE,
    colour: "#665500",
    marker: "+",
    build: |args, start| Windowed::hosted(Illinois::new(args), start),
};

/// Smallest alpha, segments per round trip.
const ALPHA_MIN: f64 = 0.3;
/// Largest beta.
const BETA_MAX: f64 = 0.5;
/// Below this window, in segments, alpha is 1 and beta the largest.
const WINDOW_LEAST: f64 = 15.0;
/// RTTs are taken to be no longer than this.
const RTT_CAP: Span = Span::from_millis(3300);

/// Queueing delays in seconds.
#[derive(Clone, Copy, Debug)]
struct Delays {
    /// Mean of the round.
    mean: f64,
    /// Largest that was seen.
    most: f64,
}

impl Delays {
    /// Is the delay in the lowest hundredth?
    fn low(&self) -> bool {
        self.mean <= self.most / 100.0
    }

    /// alpha above the lowest hundredth: a hyperbola from `alpha_max` to 0.3.
    fn alpha(&self, alpha_max: f64) -> f64 {
        let low = self.most / 100.0;
        let (most, mean) = (self.most - low, self.mean - low);
        most * alpha_max / (most + mean * (alpha_max - ALPHA_MIN) / ALPHA_MIN)
    }

    /// beta: linear between `beta_min` at a tenth and 1/2 at eight tenths of the largest delay.
    fn beta(&self, beta_min: f64) -> f64 {
        let (low, high) = (self.most / 10.0, self.most * 8.0 / 10.0);
        if self.mean <= low {
            beta_min
        } else if self.mean >= high || high <= low {
            BETA_MAX
        } else {
            beta_min + (BETA_MAX - beta_min) * (self.mean - low) / (high - low)
        }
    }
}

algorithm! {
    #[derive(Debug)]
    struct Illinois {
        /// growth per round trip without a queue
        alpha_max: f64 = 10.0, 1.0..=100.0, "segments";
        /// share of the window that is given up at a loss without a queue
        beta_min: f64 = 0.125, 0.0..=0.5, "1";
        /// rounds of low delay after which growth is the largest again
        theta: f64 = 5.0, 1.0..=1000.0, "round trips";
        use BASE_WINDOW;
    }
    state(args) {
        base: WindowedMin = base_rtt(args),
        longest: Span,
        round: Round,
        alpha: f64 = 1.0,
        beta: f64 = BETA_MAX,
        /// True if the delay has been above its lowest hundredth; and the number of rounds for which it has
        /// been back.
        above: bool,
        low_rounds: f64,
    }
}

impl Illinois {
    /// The coefficients for the next round.
    fn adapt(&mut self, delays: Delays) {
        self.beta = delays.beta(self.beta_min);
        if !delays.low() {
            self.above = true;
            self.alpha = delays.alpha(self.alpha_max);
            return;
        }
        if self.above {
            self.low_rounds += 1.0;
            if self.low_rounds < self.theta {
                return;
            }
            (self.above, self.low_rounds) = (false, 0.0);
        }
        self.alpha = self.alpha_max;
    }
}

impl Policy for Illinois {
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.base.add(flow.now, rtt.min.min(RTT_CAP));
            self.longest = self.longest.max(rtt.max.min(RTT_CAP));
        }
        if let (Some(round), Some(base)) = (self.round.add(ack), self.base.get()) {
            let mean = (round.rtt.mean_secs().min(RTT_CAP.secs()) - base.secs()).max(0.0);
            let most = (self.longest.secs() - base.secs()).max(0.0);
            self.adapt(Delays { mean, most });
        }
    }

    fn avoid(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        additive(w, flow, ack, if w.cwnd < WINDOW_LEAST { 1.0 } else { self.alpha });
    }

    fn backoff(&self, w: &Window, _flow: &Flow, why: Congestion) -> Cut {
        let beta = if w.cwnd < WINDOW_LEAST { BETA_MAX } else { self.beta };
        Cut::standard(w.cwnd * (1.0 - beta), why)
    }

    fn on(&mut self, _w: &mut Window, _flow: &Flow, event: Event<'_>) {
        if let Event::Congestion(Congestion::Timeout) = event {
            (self.alpha, self.beta) = (1.0, BETA_MAX);
            (self.above, self.low_rounds) = (false, 0.0);
            self.round = Round::default();
        }
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("alpha", self.alpha);
        emit("beta", self.beta);
    }
}

#[cfg(test)]
mod tests {
    use super::Delays;
    use crate::event::Congestion;
    use crate::rig::{Rig, near};

    /// Linux's curves: alpha and beta over the share of the largest delay.
    #[test]
    fn alpha_and_beta() {
        for (mean, alpha, beta) in [
            (0.02, 7.54, 0.125),
            (0.1, 2.54, 0.125),
            (0.2, 1.388, 0.179),
            (0.45, 0.652, 0.3125),
            (0.5, 0.588, 0.339),
            (0.8, 0.373, 0.5),
            (1.0, 0.3, 0.5),
        ] {
            let delays = Delays { mean: mean * 0.4, most: 0.4 };
            near(delays.alpha(10.0), alpha, 4e-3);
            near(delays.beta(0.125), beta, 3e-3);
        }
    }

    /// A round of `w` segments whose RTT is 0.5 s and this much more.
    fn round(rig: &mut Rig, delay: f64) -> f64 {
        let before = rig.w();
        rig.ack(before, 0.5, 0.5 + delay, true);
        rig.w() - before
    }

    /// No queue is AIMD(10, 1/8): 656 to 750 segments in 9.4 round trips, half a window of 750 in 37.5.
    #[test]
    fn without_a_queue_it_is_aimd_10_8() {
        for (from, rounds) in [(656.25, 10), (375.0, 38)] {
            let mut rig = Rig::new("illinois", &[], from, 2.0);
            let mut count = 0;
            while rig.w() < 750.0 {
                round(&mut rig, 0.0);
                count += 1;
            }
            assert_eq!(count, rounds);
            let before = rig.w();
            rig.congestion(Congestion::Loss);
            near(rig.w(), before * 7.0 / 8.0, 1e-6);
        }
    }

    /// With the largest delay 0.4 s: a delay of a fifth of it means alpha 1.388 and a cut of 0.179. Five low
    /// rounds must pass before alpha is 10.
    #[test]
    fn a_queue_lowers_growth_and_it_takes_five_rounds_to_rise_again() {
        let mut rig = Rig::new("illinois", &[], 1000.0, 2.0);
        round(&mut rig, 0.0);
        near(round(&mut rig, 0.4), 0.3, 1e-4);
        near(round(&mut rig, 0.08), 1.388, 4e-3);
        for _ in 1..5 {
            near(round(&mut rig, 0.0), 1.388, 4e-3);
        }
        near(round(&mut rig, 0.0), 10.0, 1e-4);
        round(&mut rig, 0.08);
        let before = rig.w();
        rig.congestion(Congestion::Loss);
        near(rig.w(), before * (1.0 - 0.179), 1e-3);
    }

    /// Below 15 segments it is Reno; a timeout sets T by the beta before it, and then it is Reno for a round.
    #[test]
    fn small_windows_and_timeouts() {
        let mut rig = Rig::new("illinois", &[], 14.9, 2.0);
        near(round(&mut rig, 0.0), 1.0, 1e-6);
        let mut rig = Rig::new("illinois", &[], 12.0, 2.0);
        rig.congestion(Congestion::Loss);
        assert_eq!(rig.w(), 6.0);

        let mut rig = Rig::new("illinois", &[], 100.0, 2.0);
        round(&mut rig, 0.0);
        let before = rig.w();
        rig.congestion(Congestion::Timeout);
        assert_eq!(rig.w(), 1.0);
        near(rig.t(), before * 7.0 / 8.0, 1e-6);
        while rig.w() < rig.t() {
            rig.ack(1.0, 0.001, 0.5, false);
        }
        let now = rig.w();
        rig.ack(now / 1000.0, 0.001, 0.5, false);
        near((rig.w() - now) * 1000.0, 1.0, 1e-2);
    }

    /// RTTs count as 3.3 s at most.
    #[test]
    fn a_very_long_rtt_is_cut_short() {
        let mut rig = Rig::new("illinois", &[], 1000.0, 2.0);
        round(&mut rig, 0.0);
        near(round(&mut rig, 60.0), 0.3, 1e-4);
        // 1.4 s is half of the largest delay that counts, 2.8 s.
        near(round(&mut rig, 1.4), 0.588, 4e-3);
    }
}
