//! CUBIC: L. Xu, S. Ha, I. Rhee, V. Goel, L. Eggert: CUBIC for Fast and Long-Distance Networks, RFC 9438, 2023.
//!
//! Unit: segments and seconds. Valid for 1 <= cwnd < 2^40, RTT above 1 us.
//! Equations: section 4.2 W_cubic(t), K and target -> `avoid`; 4.3 W_est; 4.6 multiplicative decrease -> `backoff`;
//! 4.7 fast convergence, 4.8 timeout -> `on_congestion`; 4.9 spurious events -> `on_undo`; 4.10 slow start left without a
//! loss -> `begin`; 5.8 application-limited time -> `observe`.
//! Deviations:
//!  * the decrease starts from cwnd, not flight_size. Section 4.6 allows that where the window grows only while it limits
//!    the sender, as here.
//!  * W_cubic(t) below W_est raises the window to W_est, but never lowers it.
//!  * a window above W_max when the epoch begins starts a plateau of its own (K = 0, W_max = cwnd).
//!  * slow start is RFC 5681's; HyStart++ (a SHOULD of section 4.10) is not part of this controller.
//!  * `beta_ecn` is `beta` unless given; RFC 8511 recommends 0.85 for it.

use alloc::boxed::Box;

use crate::controller::{Congestion, Life};
use crate::registry::{Args, Entry, Grade, Kind, Param, SenderOptions};
use crate::report::{Ack, Flow};
use crate::time::{Span, Time};
use crate::windowed::{Cut, Policy, Window, Windowed};

pub(crate) const ENTRY: Entry = Entry {
    id: "cubic",
    label: "CUBIC",
    about: "The window is a cubic function of the time since the last loss, flat around the window of that loss.",
    source: "L. Xu, S. Ha, I. Rhee, V. Goel, L. Eggert: CUBIC for Fast and Long-Distance Networks, 2023",
    reference: "RFC 9438",
    grade: Grade::A,
    params: &[
        Param {
            name: "c",
            kind: Kind::Number { default: 0.4, min: 1e-3, max: 100.0 },
            unit: "segments/s^3",
            about: "C of section 4.2: how fast the cubic function rises",
            from_path: None,
        },
        Param {
            name: "beta",
            kind: Kind::Number { default: 0.7, min: 0.1, max: 0.99 },
            unit: "1",
            about: "beta_cubic of section 4.6: share of the window that stays after a loss",
            from_path: None,
        },
        Param {
            name: "beta_ecn",
            kind: Kind::Number { default: 0.7, min: 0.1, max: 0.99 },
            unit: "1",
            about: "share of the window that stays after an ECN echo; beta unless given, 0.85 in RFC 8511",
            from_path: None,
        },
        Param {
            name: "fast_convergence",
            kind: Kind::Flag { default: true },
            unit: "",
            about: "section 4.7: give up W_max early when losses come below it",
            from_path: None,
        },
    ],
    sender: SenderOptions { aen: false, bulk_repeat: false, fixed_rto: false },
    colour: "#000000",
    marker: "X",
    build: |args, start| Box::new(Windowed::new(Cubic::new(args), start)),
};

/// The variables that section 4.9 saves and restores.
#[derive(Clone, Copy, Debug, Default)]
struct Epoch {
    /// t_epoch, moved on by the time that does not count (section 5.8); `None` before congestion avoidance begins.
    start: Option<Time>,
    /// K, seconds.
    k: f64,
    /// W_max, segments; `None` before the first loss and after a timeout.
    w_max: Option<f64>,
    /// W_est, segments.
    w_est: f64,
    /// cwnd_prior, segments.
    prior: Option<f64>,
}

#[derive(Debug)]
struct Cubic {
    c: f64,
    beta: f64,
    beta_ecn: f64,
    fast_convergence: bool,
    epoch: Epoch,
    undo: Option<Epoch>,
    seen: Time,
}

impl Cubic {
    fn new(args: &Args) -> Self {
        let beta = args.number("beta");
        Self {
            c: args.number("c"),
            beta,
            beta_ecn: if args.given("beta_ecn") { args.number("beta_ecn") } else { beta },
            fast_convergence: args.flag("fast_convergence"),
            epoch: Epoch::default(),
            undo: None,
            seen: Time::default(),
        }
    }

    /// Lets time pass up to `now`; only time that counts makes the epoch older (section 5.8).
    fn pass(&mut self, now: Time, counts: bool) {
        if !counts {
            self.epoch.start = self.epoch.start.map(|start| start + now.since(self.seen));
        }
        self.seen = now;
    }

    /// Congestion avoidance begins with a window of `cwnd`.
    fn begin(&mut self, cwnd: f64, now: Time) {
        let epoch = &mut self.epoch;
        epoch.start = Some(now);
        epoch.w_est = cwnd; // section 4.3
        epoch.prior.get_or_insert(cwnd); // section 4.10
        match epoch.w_max {
            Some(w_max) if w_max > cwnd => epoch.k = libm::cbrt((w_max - cwnd) / self.c), // section 4.2, K
            _ => {
                epoch.k = 0.0; // sections 4.8 and 4.10
                epoch.w_max = Some(cwnd);
            }
        }
    }

    /// W_cubic(t) of section 4.2, t in seconds.
    fn w_cubic(&self, t: f64) -> f64 {
        let x = t - self.epoch.k;
        self.c * x * x * x + self.epoch.w_max.unwrap_or(0.0)
    }
}

impl Policy for Cubic {
    fn observe(&mut self, flow: &Flow, _ack: &Ack) {
        self.pass(flow.now, flow.cwnd_limited);
    }

    fn avoid(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        if self.epoch.start.is_none() {
            self.begin(w.cwnd, flow.now);
        }
        let n = ack.segments(flow);
        let t = self.epoch.start.map_or(Span::ZERO, |start| flow.now.since(start)).secs();
        let srtt = flow.rtt.map_or(0.0, |rtt| rtt.smoothed.secs());

        // Section 4.3, and its last paragraph.
        let reached = self.epoch.prior.is_none_or(|prior| self.epoch.w_est >= prior);
        let alpha = if reached { 1.0 } else { 3.0 * (1.0 - self.beta) / (1.0 + self.beta) };
        self.epoch.w_est += alpha * n / w.cwnd;

        if self.w_cubic(t) < self.epoch.w_est {
            w.cwnd = w.cwnd.max(self.epoch.w_est); // Reno-friendly region, section 4.3
        } else {
            let target = self.w_cubic(t + srtt).max(w.cwnd).min(1.5 * w.cwnd); // section 4.2
            let grown = w.cwnd + n * (target - w.cwnd) / w.cwnd; // sections 4.4 and 4.5
            w.cwnd = grown.min(target);
        }
    }

    fn backoff(&self, w: &Window, _flow: &Flow, why: Congestion) -> Cut {
        match why {
            Congestion::Ecn => Cut::standard(w.cwnd * self.beta_ecn, why),
            Congestion::Loss => Cut::standard((w.cwnd * self.beta).max(2.0), why), // section 4.6
            Congestion::Timeout => Cut::standard(w.cwnd * self.beta, why),         // section 4.8
        }
    }

    fn on_congestion(&mut self, w: &Window, _flow: &Flow, why: Congestion) {
        self.undo = Some(self.epoch); // section 4.9.2
        let below = self.epoch.w_max.is_some_and(|w_max| w.cwnd < w_max);
        let w_max = if self.fast_convergence && below {
            w.cwnd * (1.0 + self.beta) / 2.0 // section 4.7
        } else {
            w.cwnd
        };
        self.epoch = Epoch {
            start: None,
            k: 0.0,
            w_max: (why != Congestion::Timeout).then_some(w_max), // section 4.8
            w_est: 0.0,
            prior: Some(w.cwnd),
        };
    }

    fn on_undo(&mut self, w: &mut Window, _flow: &Flow) {
        let Some(before) = self.undo.take() else { return };
        // Section 4.9.2: only if the window had not outgrown cwnd_prior meanwhile.
        if self.epoch.prior.is_some_and(|prior| w.cwnd <= prior) {
            self.epoch = before;
        }
    }

    fn on_life(&mut self, _w: &mut Window, flow: &Flow, what: Life) {
        if what == Life::IdleRestart {
            self.pass(flow.now, false);
        }
    }

    fn probe(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("k_s", self.epoch.k);
        emit("w_max_segments", self.epoch.w_max.unwrap_or(f64::NAN));
        emit("w_est_segments", self.epoch.w_est);
    }
}
