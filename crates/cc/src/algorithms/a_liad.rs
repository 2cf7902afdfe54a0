//! A-LIAD: M. Shin, M. Park, D. Oh, B. Kim, J. Lee: Adaptive Logarithmic Increase Congestion Control
//! Algorithm for Satellite Networks, KSII Transactions on Internet and Information Systems 8(8), 2014.
//!
//! Unit: segments. Valid for 1 <= cwnd < 2^40. alpha is fitted for RTTs of 25 to 600 ms (to 0.02 %; to
//! 0.6 % from 5 ms to 1 s) and clamped beyond 5 ms and 1 s. The estimate of the initial ssthresh needs a
//! sender that does not pace.
//! Equations: (1), (2) hybrid slow start -> `slow_start`; (3) delay-based max-probing and (5), (6)
//! logarithmic increase -> `avoid`, by [`Approach`]. (7) adaptive decrease -> `shrink`; (11) alpha of the
//! RTT, by a fit -> [`alpha_of`]. (4) is the closed form of (5), and (8) to (10) lead to (11).
//! Deviations and decisions:
//!  * eq. 6 ACK by ACK is not eq. 5 and loses the equal epochs that the paper claims: `ack_mode`
//!    chooses, eq. 5 by default. The choice holds for eq. 2 and 3 too, which are the same rule with half
//!    of the gap per round trip.
//!  * eq. 2 and 3 stall before their targets: growth is at least one segment per round trip, and
//!    slow start ends at T - 1.
//!  * eq. 3's second branch adds a segment per ACK, but the text calls it linear: one per round trip;
//!    `probe = "eq3"` is literal.
//!  * RTTmax in eq. 7 is the largest since the last congestion, of ACKs outside recovery: the largest RTT
//!    ever would cut at every later random loss by the depth of the buffer. `decrease` also offers that and a
//!    constant. beta is at most `beta_max`, 1/2 by default; eq. 7 has no bound, which is `beta_max = 1`.
//!  * Wmax is the window of the loss, also below the last Wmax. Eq. 4 to 6 never exceed Wmax, and of a window
//!    that reaches it without a loss the paper says nothing. Both grow by one segment per round trip then.
//!    With `at_w_max = "probe"` max-probing (eq. 3) begins anew, with the ssthresh that the last loss has
//!    set: towards 2 (1 - beta) Wmax.
//!  * after a timeout T = (1 - beta) W and exponential slow start leads there; Wmax is kept.
//!  * alpha is that of SRTT when the epoch begins. The reference is the paper's 75 ms with
//!    beta = 0.46 and a packet error rate of 1e-8, which give its constant 1.5787. Before an RTT sample
//!    alpha is 2 and beta 1/2.
//!  * "Hoe's estimation" is a packet-pair estimate, renewed every round of slow start; it
//!    replaces a given ssthresh.
//!  * ECN is answered as a loss. In congestion avoidance that no slow start led to,
//!    max-probing starts from T.
//!
//! At RTTs above 0.4 s alpha exceeds 60. One round trip after a single loss the window is back, and losses
//! far apart do not lower it.

use crate::algorithms::hoe::Hoe;
use crate::algorithms::logarithmic::{ACK_MODE, Approach};
use crate::algorithms::prelude::*;

pub(crate) const ENTRY: Entry = Entry {
    id: "a-liad",
    label: "A-LIAD",
    about: "Closes a share of the gap to the window of the last loss per round trip, the larger the longer the RTT.",
    source: "M. Shin, M. Park, D. Oh, B. Kim, J. Lee: Adaptive Logarithmic Increase Congestion Control Algorithm for Satellite Networks, KSII Trans. Internet Inf. Syst. 8(8), 2014",
    reference: "KSII TIIS 8(8), pp. 2796 ff.",
    grade: Grade::A,
    params: Liad::PARAMS,
    sender: SenderOptions::NONE,
    colour: "#cc3311",
    marker: "d",
    build: |args, start| Windowed::hosted(Liad::new(args, true), start),
};

/// alpha of eq. 11 for an RTT in seconds, by a fit of its logarithm; clamped to 5 ms .. 1 s.
pub(crate) fn alpha_of(rtt: f64) -> f64 {
    let r = rtt.clamp(0.005, 1.0);
    libm::exp(r * (10.8606 + 0.6194 * libm::log(r) - 0.165 * r)) // eq. 11
}

/// eq. 2, 3: half of the gap per round trip.
const HALF: f64 = 0.5;
/// beta before the first RTT sample.
const UNSAMPLED: f64 = 0.5;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Decrease {
    Epoch,
    Lifetime,
    Fixed(f64),
}

impl Decrease {
    fn of(args: &Args) -> Self {
        match args.choice("decrease") {
            "lifetime" => Self::Lifetime,
            "fixed" => Self::Fixed(args.number("beta")),
            _ => Self::Epoch,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum LiadStage {
    /// Before congestion avoidance.
    Start,
    /// Max-probing up to twice the ssthresh: that of slow start, or that of the last loss
    /// with `at_w_max = "probe"`.
    Probe { ssthresh: f64 },
    /// Logarithmic increase.
    Log { w_max: f64 },
}

/// What an epoch knows, and an undone one gives back.
#[derive(Clone, Copy, Debug)]
struct LiadEpoch {
    stage: LiadStage,
    alpha: f64,
    rtt_max: Option<Span>,
}

algorithm! {
    /// A-LIAD, and LIAD with a constant alpha.
    #[derive(Debug)]
    pub(crate) struct Liad {
        use ACK_MODE;
        use Param::choice("decrease", &["epoch", "lifetime", "fixed"]).about(
            "RTTmax of eq. 7 is the largest since the last congestion or ever; fixed: beta is the parameter beta",
        );
        use Param::number("beta", 0.46, 0.0..=0.9)
            .unit("1")
            .about("share of the window that a loss takes, with decrease = fixed only");
        /// largest beta of eq. 7, which prints no bound: 1 is none
        beta_max: f64 = 0.5, 0.0..=1.0, "1";
        use Param::choice("start", &["hybrid", "standard"])
            .about("slow start: eq. 2 with an estimated ssthresh, or that of RFC 5681");
        /// delta of eq. 3: max-probing is fast while RTT / RTTmin is less
        delta: f64 = 1.93, 1.0..=100.0, "1";
        use Param::choice("probe", &["linear", "eq3"])
            .about("slow max-probing: one segment per round trip as in the text, or per ACK as eq. 3 prints");
        use Param::choice("at_w_max", &["linear", "probe"]).about(
            "a window that reaches Wmax without a loss: one segment per round trip, or max-probing again (eq. 3)",
        );
    }
    state(args, adaptive: bool) {
        /// alpha follows the RTT; else it is 2.
        adaptive: bool = adaptive,
        hybrid: bool = args.is("start", "hybrid"),
        decrease: Decrease = Decrease::of(args),
        literal_probe: bool = args.is("probe", "eq3"),
        probes_at_w_max: bool = args.is("at_w_max", "probe"),
        approach: Approach = Approach::new(args),
        hoe: Hoe,
        /// A round of slow start has ended with an estimate.
        renewed: bool,
        epoch: LiadEpoch = LiadEpoch { stage: LiadStage::Start, alpha: 2.0, rtt_max: None },
        before: Option<LiadEpoch>,
    }
}

impl Liad {
    /// beta: the share of the window that congestion takes now.
    fn shrink(&self, flow: &Flow) -> f64 {
        if let Decrease::Fixed(beta) = self.decrease {
            return beta;
        }
        let Some(min) = flow.rtt.map(|rtt| rtt.min.secs()) else { return UNSAMPLED.min(self.beta_max) };
        let max = self.epoch.rtt_max.map_or(min, Span::secs);
        if max > min { (1.0 - min / max).min(self.beta_max) } else { 0.0 } // eq. 7
    }

    fn begin_probe(&mut self, w: &mut Window) {
        self.epoch.stage = LiadStage::Probe { ssthresh: w.ssthresh };
        self.approach.restart();
        w.ssthresh = w.ssthresh.min(w.cwnd);
    }

    fn on_congestion(&mut self, w: &Window, flow: &Flow, why: Congestion) {
        self.before = Some(self.epoch);
        let w_max = match self.epoch.stage {
            LiadStage::Log { w_max } if why == Congestion::Timeout => w_max,
            _ => w.cwnd,
        };
        self.epoch.stage = LiadStage::Log { w_max };
        if let Some(rtt) = flow.rtt.filter(|_| self.adaptive) {
            self.epoch.alpha = alpha_of(rtt.smoothed.secs());
        }
        if self.decrease != Decrease::Lifetime {
            self.epoch.rtt_max = None;
        }
        self.approach.restart();
    }
}

impl Policy for Liad {
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        self.approach.observe(ack);
        if self.hybrid && self.epoch.stage == LiadStage::Start {
            self.renewed |= self.hoe.observe(flow, ack);
        }
        let counts = self.decrease == Decrease::Lifetime || flow.phase != Phase::Recovery;
        if let Some(rtt) = ack.rtt.filter(|_| counts) {
            self.epoch.rtt_max = self.epoch.rtt_max.max(Some(rtt.max));
        }
    }

    fn refuses_slow_start(&self) -> Option<&'static str> {
        self.hybrid.then_some(
            "its hybrid slow start (eq. 2) approaches an ssthresh that it estimates; start = \"standard\" can be combined",
        )
    }

    fn slow_start(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) -> f64 {
        let n = ack.segments(flow);
        if !self.hybrid || self.epoch.stage != LiadStage::Start {
            return exponential(w, n);
        }
        if core::mem::take(&mut self.renewed) {
            w.ssthresh = self.hoe.window(flow).unwrap_or(w.ssthresh).max(2.0);
        }
        let mut first = Window { cwnd: w.cwnd, ssthresh: w.ssthresh / 2.0 };
        let left = exponential(&mut first, n); // eq. 2, first branch
        w.cwnd = first.cwnd;
        if left > 0.0 {
            self.approach.grow(w, w.ssthresh, HALF, left); // second branch: (2 gamma - W) / 2
        }
        if w.cwnd >= w.ssthresh - 1.0 {
            self.begin_probe(w);
        }
        0.0
    }

    fn avoid(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        if self.epoch.stage == LiadStage::Start {
            self.begin_probe(w);
        }
        let n = ack.segments(flow);
        match &mut self.epoch.stage {
            LiadStage::Probe { ssthresh } => {
                let fast = flow.rtt.is_none_or(|rtt| rtt.latest.secs() < self.delta * rtt.min.secs());
                if fast {
                    self.approach.grow(w, 2.0 * *ssthresh, HALF, n); // eq. 3, first branch: (2 T - W) / 2
                } else if self.literal_probe {
                    w.cwnd += n; // second branch as printed
                } else {
                    additive(w, flow, ack, 1.0); // second branch as described
                }
            }
            LiadStage::Log { w_max } => {
                self.approach.grow(w, *w_max, 1.0 - 1.0 / self.epoch.alpha, n); // eq. 5 or 6
                if self.probes_at_w_max && w.cwnd >= *w_max {
                    self.begin_probe(w);
                } else {
                    *w_max = w_max.max(w.cwnd);
                }
            }
            LiadStage::Start => {}
        }
    }

    fn backoff(&self, w: &Window, flow: &Flow, why: Congestion) -> Cut {
        Cut::standard((1.0 - self.shrink(flow)) * w.cwnd, why)
    }

    fn on(&mut self, w: &mut Window, flow: &Flow, event: Event<'_>) {
        match event {
            Event::Congestion(why) => self.on_congestion(w, flow, why),
            Event::Undo(_) => {
                if let Some(before) = self.before.take() {
                    self.epoch = LiadEpoch { rtt_max: before.rtt_max.max(self.epoch.rtt_max), ..before };
                    self.approach.restart();
                }
            }
            _ => {}
        }
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        let target = match self.epoch.stage {
            LiadStage::Start => f64::NAN,
            LiadStage::Probe { ssthresh } => 2.0 * ssthresh,
            LiadStage::Log { w_max } => w_max,
        };
        emit("target_segments", target);
        emit("alpha", self.epoch.alpha);
        emit("rtt_max_s", self.epoch.rtt_max.map_or(f64::NAN, Span::secs));
    }
}

#[cfg(test)]
mod tests;
