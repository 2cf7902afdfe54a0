//! TCP Vegas: L. S. Brakmo, L. L. Peterson: TCP Vegas: End to End Congestion Avoidance on a Global Internet,
//! IEEE Journal on Selected Areas in Communications, 1995; in the two forms in use, ns-2.35's and Linux's
//! (6.1: docs/oracle.md). Equation numbers are those of the summary in L. Li, J. Zhu, N. He: TCP Vegas-L.
//!
//! Unit: segments. Valid for 1 <= cwnd < 2^40, RTT from 1 us to 10^4 s, on a path whose propagation delay
//! does not rise for good (baseRTT would stay too small and the window with it) unless `base_window` is set.
//! Equations: (1)-(3) Diff = W (1 - Base / RTT) -> [`Gauge::diff`]; (4) +1, 0 or -1 per round -> `avoid`.
//! `rules` chooses between two authorities:
//!  * `paper` (ns-2.35): mean RTT of the round; Diff rounded to whole segments. Slow start doubles every
//!    other round and ends with T = 2, W - W/8 when Diff > gamma. Growth is spread over the round; a loss
//!    keeps 3/4 of the window.
//!  * `linux`: smallest RTT of the round, which needs three samples (else that ACK grows the window as
//!    Reno's would). Slow start doubles every round and ends with W = W Base / RTT + 1. Steps are taken at
//!    the end of the round; a loss keeps half. alpha and beta are 2 and 4 unless given. Outside
//!    `Phase::Open` it is Reno.
//!
//! Deviations and decisions:
//!  * Diff equal to alpha or beta holds the window; a beta below alpha is taken as alpha.
//!  * T is lowered with the window, so that a step down never leads back into slow start (ns-2 sets T = 2 for
//!    that; the sender's recovery needs the real target in T).
//!  * ns-2 cuts by half if the lost segment was itself a retransmission, retransmits on a fine-grained timer,
//!    and cuts only if the window was not cut since that segment was sent. All three are properties of the
//!    sender's loss recovery: a sender reports one loss per episode, and the window part is 3/4.
//!  * a timeout leads to one segment (ns-2: two) and T = W/2; slow start begins anew
//!    with a round without growth.
//!  * rounds that touch fast recovery are not measured. ns-2's reset of baseRTT when one segment
//!    is in flight is left out.
//!  * ECN is answered as a loss.

use core::mem;

use crate::algorithms::prelude::*;
use crate::filter::WindowedMin;
use crate::round::{Measured, Round};

pub(crate) const ENTRY: Entry = Entry {
    id: "vegas",
    label: "Vegas",
    about: "Keeps a few segments queued, judged by the RTT: one segment more or less per round trip.",
    source: "L. S. Brakmo, L. L. Peterson: TCP Vegas: End to End Congestion Avoidance on a Global Internet, IEEE J. Sel. Areas Commun., 1995",
    reference: "doi:10.1109/49.464716",
    grade: Grade::A,
    params: &[
        Param::choice("rules", &["paper", "linux"])
            .about("whose slow start, measurement, steps and loss response: ns-2.35's (paper) or Linux's"),
        Param::number("alpha", 1.0, 0.0..=1000.0)
            .unit("segments")
            .about("alpha of eq. 4: grow while fewer segments are queued; 2 with rules = linux unless given"),
        Param::number("beta", 3.0, 0.0..=1000.0)
            .unit("segments")
            .about("beta of eq. 4: shrink while more segments are queued; 4 with rules = linux unless given"),
        GAMMA,
        BASE_WINDOW,
    ],
    sender: SenderOptions::NONE,
    colour: "#56b4e9",
    marker: "s",
    build: |args, start| Windowed::hosted(Vegas::new(args), start),
};

/// The parameter that ends slow start, the same for every algorithm built on Vegas.
pub(crate) const GAMMA: Param = Param::number("gamma", 1.0, 0.0..=1000.0)
    .unit("segments")
    .about("slow start ends when more segments than this are queued");

/// The parameter that lets baseRTT rise again, the same for every algorithm that measures a base RTT.
pub(crate) const BASE_WINDOW: Param = Param::number("base_window", 0.0, 0.0..=1e6).unit("s").about(
    "baseRTT is the smallest RTT of the last base_window seconds; 0: of the whole connection, as published",
);

/// The filter behind [`BASE_WINDOW`].
pub(crate) fn base_rtt(args: &Args) -> WindowedMin {
    let window = args.number(BASE_WINDOW.name);
    WindowedMin::new(if window > 0.0 { Span::from_secs(window) } else { Span::MAX })
}

/// RTT samples that a round needs before its minimum is trusted not to be that of a delayed ACK (Linux).
pub(crate) const SAMPLES: u32 = 3;

/// What Vegas and its relatives measure: baseRTT, and the RTT and throughput of each round.
#[derive(Debug)]
pub(crate) struct Gauge {
    base: WindowedMin,
    round: Round,
    /// Did the round under way begin outside recovery?
    whole: bool,
    closed: Option<Measured>,
}

impl Gauge {
    /// A gauge whose baseRTT is as the parameter [`BASE_WINDOW`] in `args` says.
    pub(crate) fn new(args: &Args) -> Self {
        Self { base: base_rtt(args), round: Round::default(), whole: true, closed: None }
    }

    /// Takes an ACK. While `paused`, only baseRTT is measured, and the round that follows
    /// the pause is dropped too.
    pub(crate) fn observe(&mut self, flow: &Flow, ack: &Ack, paused: bool) {
        if let Some(rtt) = ack.rtt {
            self.base.add(flow.now, rtt.min);
        }
        self.closed = None;
        if paused {
            self.round = Round::default();
            self.whole = false;
            return;
        }
        let done = self.round.add(ack);
        if ack.round_end {
            if mem::replace(&mut self.whole, true) {
                self.closed = done;
            } else {
                self.round = Round::default();
            }
        }
    }

    /// The round that this ACK closed, handed out once.
    pub(crate) fn close(&mut self) -> Option<Measured> {
        self.closed.take()
    }

    /// The round that this ACK closed, if it closed one.
    pub(crate) fn closed(&self) -> Option<Measured> {
        self.closed
    }

    /// baseRTT in seconds; infinite before the first sample.
    pub(crate) fn base_secs(&self) -> f64 {
        self.base.get().map_or(f64::INFINITY, Span::secs)
    }

    /// Share of an RTT of `rtt_secs` that is spent in queues: (1 - Base / RTT), from 0 to 1.
    pub(crate) fn queued_share(&self, rtt_secs: f64) -> f64 {
        let base = self.base_secs();
        if rtt_secs > base { 1.0 - base / rtt_secs } else { 0.0 }
    }

    /// Segments that a window of `cwnd` keeps queued at this RTT: eq. 1 to 3, (W/Base - W/RTT) Base.
    pub(crate) fn diff(&self, cwnd: f64, rtt_secs: f64) -> f64 {
        cwnd * self.queued_share(rtt_secs)
    }

    /// Forgets everything: after an idle time the path may have changed.
    pub(crate) fn restart(&mut self) {
        self.base.clear();
        self.round = Round::default();
        self.whole = false;
        self.closed = None;
    }
}

/// Vegas's slow start as in ns-2.35: growth every other round only, and out of it as soon as a queue shows.
#[derive(Debug)]
pub(crate) struct AlternatingStart {
    gamma: f64,
    flag: bool,
    growing: bool,
}

impl AlternatingStart {
    /// Leaves slow start when more than `gamma` segments are queued.
    pub(crate) fn new(gamma: f64) -> Self {
        Self { gamma, flag: true, growing: false }
    }

    /// As [`Policy::slow_start`].
    pub(crate) fn grow(&mut self, w: &mut Window, gauge: &mut Gauge, segments: f64) -> f64 {
        if let Some(round) = gauge.close() {
            self.flag = !self.flag;
            self.growing = self.flag;
            if self.flag && whole(gauge.diff(w.cwnd, round.rtt.mean_secs())) > self.gamma {
                w.cwnd = (w.cwnd - w.cwnd / 8.0).max(2.0);
                w.ssthresh = 2.0;
                self.growing = false;
                return 0.0;
            }
        }
        if self.growing { exponential(w, segments) } else { 0.0 }
    }

    /// Slow start begins anew, with a round that does not grow.
    pub(crate) fn restart(&mut self) {
        *self = Self::new(self.gamma);
    }
}

/// ns-2's Diff is an integer, rounded to nearest.
pub(crate) fn whole(diff: f64) -> f64 {
    libm::floor(diff + 0.5)
}

/// One step down of Vegas's kind: at least two segments remain, and T follows so that
/// slow start does not resume.
pub(crate) fn step_down(w: &mut Window, by: f64) {
    w.cwnd = (w.cwnd - by).max(2.0);
    w.ssthresh = w.ssthresh.min(w.cwnd);
}

/// ns-2's answer to congestion: 3/4 of the window stay, but T = W/2 after a timeout.
pub(crate) fn three_quarters(w: &Window, why: Congestion) -> Cut {
    match why {
        Congestion::Timeout => Cut::standard(w.cwnd / 2.0, why),
        _ => Cut::standard((w.cwnd * 0.75).max(2.0), why),
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Rules {
    Paper,
    Linux,
}

#[derive(Debug)]
struct Vegas {
    rules: Rules,
    alpha: f64,
    beta: f64,
    gamma: f64,
    gauge: Gauge,
    start: AlternatingStart,
    /// `Rules::Paper`: the round under way grows the window (eq. 4, first branch).
    up: bool,
    /// Diff of the last round of congestion avoidance, segments.
    diff: f64,
}

impl Vegas {
    fn new(args: &Args) -> Self {
        let rules = if args.is("rules", "linux") { Rules::Linux } else { Rules::Paper };
        let number = |name, linux| {
            if rules == Rules::Linux && !args.given(name) { linux } else { args.number(name) }
        };
        let (alpha, gamma) = (number("alpha", 2.0), args.number("gamma"));
        Self {
            rules,
            alpha,
            beta: number("beta", 4.0).max(alpha),
            gamma,
            gauge: Gauge::new(args),
            start: AlternatingStart::new(gamma),
            up: false,
            diff: f64::NAN,
        }
    }

    /// Diff of a closed round, rounded as the authority does: in ns-2 to nearest, in Linux W
    /// (RTT - Base) / Base down.
    fn diff_of(&self, cwnd: f64, round: &Measured) -> f64 {
        match self.rules {
            Rules::Paper => whole(self.gauge.diff(cwnd, round.rtt.mean_secs())),
            Rules::Linux => {
                let base = self.gauge.base_secs().max(1e-6); // Linux counts whole microseconds, at least one
                libm::floor(cwnd * (round.rtt.min.secs() - base).max(0.0) / base)
            }
        }
    }
}

impl Policy for Vegas {
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        let paused = match self.rules {
            Rules::Paper => flow.phase == Phase::Recovery,
            Rules::Linux => flow.phase != Phase::Open,
        };
        self.gauge.observe(flow, ack, paused);
    }

    fn refuses_slow_start(&self) -> Option<&'static str> {
        Some("its slow start ends by a measure of the queue of its own, gamma")
    }

    fn slow_start(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) -> f64 {
        let n = ack.segments(flow);
        if self.rules == Rules::Paper {
            return self.start.grow(w, &mut self.gauge, n);
        }
        match self.gauge.close() {
            Some(round) if round.rtt.count >= SAMPLES && self.diff_of(w.cwnd, &round) > self.gamma => {
                let fits = w.cwnd * (1.0 - self.gauge.queued_share(round.rtt.min.secs()));
                w.cwnd = w.cwnd.min(libm::floor(fits) + 1.0).max(2.0);
                w.ssthresh = w.ssthresh.min(w.cwnd);
                0.0
            }
            _ => exponential(w, n),
        }
    }

    fn avoid(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        if let Some(round) = self.gauge.close() {
            let diff = self.diff_of(w.cwnd, &round);
            self.diff = diff;
            let enough = self.rules == Rules::Paper || round.rtt.count >= SAMPLES;
            self.up = false;
            if !enough {
                additive(w, flow, ack, 1.0);
            } else if diff > self.beta {
                step_down(w, 1.0); // eq. 4, Diff > beta
            } else if diff < self.alpha {
                match self.rules {
                    Rules::Paper => self.up = true, // eq. 4, Diff < alpha
                    Rules::Linux => w.cwnd += 1.0,  // the same, at once
                }
            }
        }
        if self.rules == Rules::Linux && flow.phase != Phase::Open || self.up {
            additive(w, flow, ack, 1.0);
        }
    }

    fn backoff(&self, w: &Window, _flow: &Flow, why: Congestion) -> Cut {
        match self.rules {
            Rules::Paper => three_quarters(w, why),
            Rules::Linux => Cut::standard((w.cwnd / 2.0).max(2.0), why),
        }
    }

    fn on(&mut self, _w: &mut Window, _flow: &Flow, event: Event<'_>) {
        match event {
            Event::Congestion(why) => {
                self.up = false;
                if why == Congestion::Timeout {
                    self.start.restart();
                }
            }
            Event::Life(Life::IdleRestart) if self.rules == Rules::Linux => self.gauge.restart(),
            _ => {}
        }
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("alpha_segments", self.alpha);
        emit("beta_segments", self.beta);
        emit("diff_segments", self.diff);
        emit("base_rtt_s", self.gauge.base_secs());
    }
}

#[cfg(test)]
mod tests {
    use crate::event::{Congestion, Event, Life};
    use crate::registry::Value;
    use crate::rig::{Rig, near, probe, text};

    fn linux() -> [(&'static str, Value); 1] {
        [("rules", text("linux"))]
    }

    /// Eq. 4: alone on a path, the window settles where between alpha and beta segments queue. ns-2 rounds
    /// Diff to nearest, which widens [1, 3] by half a segment on both sides. Linux rounds (W - BDP) W / BDP
    /// down, so [2, 4] becomes [2, 5).
    #[test]
    fn settles_with_alpha_to_beta_segments_in_the_queue() {
        for (given, low, high) in [(&[][..], 0.5, 3.5), (&linux()[..], 2.0 / 1.05, 5.0)] {
            for from in [80.0, 130.0] {
                let mut rig = Rig::new("vegas", given, from, 2.0);
                rig.ack(1.0, 0.5, 0.5, false); // one sample of the empty path
                for _ in 0..60 {
                    rig.path(100.0, 0.5);
                }
                let settled = rig.w();
                assert!((low..=high).contains(&(settled - 100.0)), "{given:?} from {from}: {settled}");
                for _ in 0..20 {
                    rig.path(100.0, 0.5);
                }
                assert_eq!(rig.w(), settled);
            }
        }
    }

    /// From 100 to 750 segments take 650 round trips: 390 s at 0.6 s.
    #[test]
    fn climbs_by_one_segment_a_round_trip() {
        for given in [&[][..], &linux()[..]] {
            let mut rig = Rig::new("vegas", given, 100.0, 2.0);
            while rig.w() < 750.0 {
                rig.path(1e4, 0.6);
            }
            near(rig.secs(), 390.0, 0.01);
        }
    }

    /// A baseRTT that is too small by e makes Vegas see W e / R segments that are not there.
    #[test]
    fn an_underestimated_base_rtt_costs_w_e_over_r_segments() {
        let error = 0.01;
        let mut rig = Rig::new("vegas", &[], 130.0, 2.0);
        rig.ack(1.0, 0.5, 0.5 - error, false);
        let mut rtt = 0.5;
        for _ in 0..60 {
            rtt = rig.path(100.0, 0.5);
        }
        let unseen = rig.w() * error / rtt;
        let queue = rig.w() - 100.0;
        assert!((0.5..=3.5).contains(&(queue + unseen)), "{queue} {unseen}");
        assert!(unseen > 1.9);
    }

    /// With `base_window` a propagation delay that has risen for good is learnt, without it never.
    #[test]
    fn a_base_window_forgets_the_old_path() {
        for (window, recovers) in [(0.0, false), (60.0, true)] {
            let mut rig = Rig::new("vegas", &[("base_window", Value::Number(window))], 100.0, 2.0);
            rig.path(200.0, 0.4);
            for _ in 0..300 {
                rig.path(250.0, 0.5);
            }
            assert_eq!(rig.w() > 150.0, recovers, "{window}: {}", rig.w());
            assert_eq!(rig.w() < 20.0, !recovers, "{window}: {}", rig.w());
        }
    }

    /// ns-2.35: one doubling in two rounds; out of slow start with T = 2 and W - W/8 once Diff > gamma.
    #[test]
    fn paper_slow_start_grows_every_other_round_and_leaves_when_a_queue_shows() {
        let mut rig = Rig::new("vegas", &[], 2.0, f64::INFINITY);
        let mut windows = [0.0; 8];
        for w in &mut windows {
            // The first ACK of a window's worth is for the first segment sent after the round began.
            for i in 1..=rig.w() as u64 {
                rig.ack(1.0, 0.01, 0.5, i == 1);
            }
            *w = rig.w();
        }
        assert_eq!(windows, [2.0, 4.0, 4.0, 8.0, 8.0, 16.0, 16.0, 32.0]);
        assert!(rig.t().is_infinite() || rig.t() > 1e12);

        let mut rig = Rig::new("vegas", &[], 20.0, f64::INFINITY);
        rig.round(0.5);
        rig.round(0.5 * 20.0 / 18.0); // Diff = 2
        assert_eq!((rig.w(), rig.t()), (17.5, 2.0));
    }

    /// Linux: a doubling every round; at Diff > gamma, W = W Base / RTT + 1 in whole segments.
    #[test]
    fn linux_slow_start_doubles_every_round_and_falls_to_the_actual_rate() {
        let mut rig = Rig::new("vegas", &linux(), 4.0, f64::INFINITY);
        rig.round(0.5);
        rig.round(0.5);
        assert_eq!(rig.w(), 16.0);
        for i in 1..=16 {
            rig.ack(1.0, 0.03, 0.625, i == 16); // at the end W = 31, Diff = 7.75
        }
        assert_eq!((rig.w(), rig.t()), (25.0, 25.0)); // floor(31 * 0.8) + 1
    }

    /// Linux: with fewer than three samples in a round, the ACK counts as Reno's.
    #[test]
    fn linux_wants_three_samples() {
        let mut rig = Rig::new("vegas", &linux(), 10.0, 2.0);
        rig.ack(5.0, 0.5, 0.5, false);
        rig.ack(5.0, 0.1, 0.5, true);
        assert_eq!(rig.w(), 10.5);
        rig.ack(4.0, 0.5, 0.5, false);
        rig.ack(4.0, 0.1, 0.5, false);
        rig.ack(2.5, 0.1, 0.5, true);
        assert_eq!(rig.w(), 11.5);
    }

    /// ns-2 keeps 3/4, Linux 1/2; both set T = W/2 at a timeout; a step down does not
    /// lead back into slow start.
    #[test]
    fn loss_and_timeout() {
        for (given, keeps) in [(&[][..], 75.0), (&linux()[..], 50.0)] {
            for why in [Congestion::Loss, Congestion::Ecn] {
                let mut rig = Rig::new("vegas", given, 100.0, 2.0);
                rig.congestion(why);
                assert_eq!((rig.w(), rig.t()), (keeps, keeps));
            }
            let mut rig = Rig::new("vegas", given, 100.0, 2.0);
            rig.congestion(Congestion::Timeout);
            assert_eq!((rig.w(), rig.t()), (1.0, 50.0));

            let mut rig = Rig::new("vegas", given, 100.0, 2.0);
            rig.round(0.5);
            rig.congestion(Congestion::Loss);
            let cut = rig.w();
            for _ in 0..5 {
                rig.round(1.0);
            }
            assert_eq!((rig.w(), rig.t()), (cut - 5.0, cut - 5.0));
        }
    }

    /// Linux forgets baseRTT when transmission starts again (`tcp_vegas_cwnd_event`): the path may
    /// be another. ns-2 keeps it.
    #[test]
    fn after_a_pause_linux_takes_a_new_base_rtt() {
        for (given, expected) in [(&[][..], 0.1), (&linux()[..], 0.5)] {
            let mut rig = Rig::new("vegas", given, 20.0, 2.0);
            rig.round(0.1);
            rig.cc.on(&rig.flow, Event::Life(Life::IdleRestart));
            rig.round(0.5);
            near(probe(&*rig.cc, "base_rtt_s"), expected, 1e-9);
        }
    }
}
