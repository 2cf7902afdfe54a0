//! TCP Vegas-A: K. N. Srijith, L. Jacob, A. L. Ananda: TCP Vegas-A: Improving the Performance of TCP Vegas,
//! Computer Communications, 2005, as summarised in figure 1 of L. Li, J. Zhu, N. He: TCP Vegas-L, whose
//! line numbers are used here.
//!
//! Unit: segments. Valid as Vegas is.
//! Equations: figure 1 -> [`Thresholds::step`]; eq. 1 to 3 (Diff) and slow start are Vegas's.
//! Invariants: alpha >= 1 and beta = alpha + 2.
//! Decisions where the figure is silent:
//!  * Th is the data acknowledged in the round over the round's mean RTT; before there are two rounds Th
//!    counts as not having grown.
//!  * Diff is a real number; `diff = "rounded"` rounds it to nearest, as `VegasTcpAgent::recv` in
//!    ns-2.35's tcp-vegas.cc does.
//!  * Diff equal to alpha or beta counts as between them. Figure 1 prints "<" on both sides, so that no line
//!    of it applies: `equal_diff = "hold"`, which leaves the window, alpha and beta alone.
//!  * with Diff > beta and alpha = 1 nothing happens (line 21), so the initial state never backs off on
//!    delay; `a1_dec` makes it step down instead.
//!  * every change of Th counts; `dead_band` asks for a relative growth of more than that.
//!  * a loss keeps 3/4 of the window, as Vegas in ns-2 does, or half of it, as in Linux (`at_loss`). Tahoe's
//!    answer, a window of one segment without fast recovery, is `recovery = "tahoe"` of the flow.
//!  * a timeout also resets alpha to 1 (`alpha_at_timeout`).

use crate::algorithms::prelude::*;
use crate::algorithms::vegas::{
    AlternatingStart, BASE_WINDOW, GAMMA, Gauge, step_down, three_quarters, whole,
};

pub(crate) const ENTRY: Entry = Entry {
    id: "vegas-a",
    label: "Vegas-A",
    about: "Vegas whose thresholds move up while the throughput grows and down while it does not.",
    source: "K. N. Srijith, L. Jacob, A. L. Ananda: TCP Vegas-A: Improving the Performance of TCP Vegas, Computer Communications 28(4), 2005",
    reference: "doi:10.1016/j.comcom.2004.08.016",
    grade: Grade::A,
    params: &[A1_DEC, DIFF, EQUAL_DIFF, AT_LOSS, ALPHA_AT_TIMEOUT, DEAD_BAND, GAMMA, BASE_WINDOW],
    sender: SenderOptions::NONE,
    colour: "#009e73",
    marker: "^",
    build: |args, start| Windowed::hosted(VegasA::new(args), start),
};

/// See the head of this file.
pub(crate) const A1_DEC: Param = Param::flag("a1_dec", false)
    .about("step down when Diff > beta even while alpha = 1 (figure 1, line 21: no update)");

/// See the head of this file.
pub(crate) const DEAD_BAND: Param = Param::number("dead_band", 0.0, 0.0..=1.0)
    .unit("1")
    .about("throughput has grown only if by more than this fraction of the last round's");

/// See the head of this file.
pub(crate) const DIFF: Param = Param::choice("diff", &["real", "rounded"])
    .about("Diff of eq. 3 as it is, or rounded to whole segments as in ns-2's Vegas");

/// See the head of this file.
pub(crate) const EQUAL_DIFF: Param = Param::choice("equal_diff", &["inside", "hold"]).about(
    "Diff equal to alpha or beta: as between them, or no update, since figure 1 prints < on both sides",
);

/// See the head of this file.
pub(crate) const AT_LOSS: Param = Param::choice("at_loss", &["three-quarters", "half"])
    .about("the share of the window that a loss leaves; neither figure 1 nor figure 2 has an answer to loss");

/// See the head of this file.
pub(crate) const ALPHA_AT_TIMEOUT: Param = Param::choice("alpha_at_timeout", &["reset", "keep"])
    .about("alpha at a timeout: back to 1, or kept; the paper does not say");

/// The moving thresholds: alpha, and beta = alpha + 2.
#[derive(Debug)]
pub(crate) struct Thresholds {
    /// alpha, at least 1.
    pub(crate) alpha: f64,
    a1_dec: bool,
    rounds_diff: bool,
    /// Figure 1 is read with "<" as printed.
    strict: bool,
    /// alpha after a timeout, if one changes it.
    at_timeout: Option<f64>,
    before_timeout: Option<f64>,
    /// Diff of the last round of congestion avoidance, segments.
    diff: f64,
}

/// beta less alpha, segments.
const APART: f64 = 2.0;

impl Thresholds {
    /// alpha = 1, beta = 3.
    pub(crate) fn new(args: &Args) -> Self {
        Self {
            alpha: 1.0,
            a1_dec: args.flag(A1_DEC.name),
            rounds_diff: args.is(DIFF.name, "rounded"),
            strict: args.is(EQUAL_DIFF.name, "hold"),
            at_timeout: args.is(ALPHA_AT_TIMEOUT.name, "reset").then_some(1.0),
            before_timeout: None,
            diff: f64::NAN,
        }
    }

    /// Moves alpha, and beta with it, but not below alpha = 1.
    pub(crate) fn shift(&mut self, by: f64) {
        self.alpha = (self.alpha + by).max(1.0);
    }

    /// Figure 1 for a round with this Diff whose throughput did or did not grow. Vegas-A's steps are one
    /// segment; Vegas-L's are `m` wherever the direction of the step is that of the throughput; `line_15` is
    /// its step while Th grows.
    pub(crate) fn step(&mut self, w: &mut Window, diff: f64, th_grew: bool, m: f64, line_15: f64) {
        let diff = if self.rounds_diff { whole(diff) } else { diff };
        self.diff = diff;
        let fixed = self.alpha <= 1.0;
        if self.strict && (diff == self.alpha || diff == self.alpha + APART) {
            return;
        }
        if diff < self.alpha {
            if fixed {
                w.cwnd += if th_grew { line_15 } else { 1.0 };
            } else if th_grew {
                w.cwnd += m; // line 10
            } else {
                step_down(w, m); // line 12
                self.shift(-m);
            }
        } else if diff <= self.alpha + APART {
            if th_grew {
                w.cwnd += m; // line 3
                self.shift(m);
            } // else line 5
        } else {
            let down = if th_grew { 1.0 } else { m };
            if !fixed {
                step_down(w, down); // line 19
                self.shift(-down);
            } else if self.a1_dec {
                step_down(w, down);
            } // else line 21
        }
    }

    /// A timeout returns alpha to 1, unless `alpha_at_timeout` keeps it.
    pub(crate) fn on_congestion(&mut self, why: Congestion) {
        self.before_timeout = (why == Congestion::Timeout).then_some(self.alpha);
        if why == Congestion::Timeout {
            self.alpha = self.at_timeout.unwrap_or(self.alpha);
        }
    }

    /// The timeout was spurious.
    pub(crate) fn on_undo(&mut self) {
        self.alpha = self.before_timeout.take().unwrap_or(self.alpha);
    }
}

/// What Vegas-A and Vegas-L share beside the step at the end of a round: slow start,
/// measurement, answer to congestion.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) gauge: Gauge,
    pub(crate) start: AlternatingStart,
    pub(crate) thresholds: Thresholds,
    /// Changes of Th below this share of it are none.
    pub(crate) dead_band: f64,
    halves: bool,
    /// Th of the last round, segments per second.
    th: Option<f64>,
}

impl Frame {
    pub(crate) fn new(args: &Args) -> Self {
        Self {
            gauge: Gauge::new(args),
            start: AlternatingStart::new(args.number(GAMMA.name)),
            thresholds: Thresholds::new(args),
            dead_band: args.number(DEAD_BAND.name),
            halves: args.is(AT_LOSS.name, "half"),
            th: None,
        }
    }

    /// Takes an ACK. If it closes a round that is not the first: Th of the one before, and of this one.
    pub(crate) fn observe(&mut self, flow: &Flow, ack: &Ack) -> Option<(f64, f64)> {
        self.gauge.observe(flow, ack, flow.phase == Phase::Recovery);
        let round = self.gauge.closed()?;
        let th = round.segments(flow) / round.rtt.mean_secs().max(1e-9); // Th_i
        self.th.replace(th).map(|last| (last, th))
    }

    /// As [`Policy::slow_start`].
    pub(crate) fn slow_start(&mut self, w: &mut Window, segments: f64) -> f64 {
        self.start.grow(w, &mut self.gauge, segments)
    }

    /// As [`Policy::backoff`].
    pub(crate) fn backoff(&self, w: &Window, why: Congestion) -> Cut {
        if self.halves { Cut::standard((w.cwnd / 2.0).max(2.0), why) } else { three_quarters(w, why) }
    }

    /// As [`Policy::on`].
    pub(crate) fn on(&mut self, event: &Event<'_>) {
        match *event {
            Event::Congestion(why) => {
                self.thresholds.on_congestion(why);
                if why == Congestion::Timeout {
                    self.start.restart();
                }
            }
            Event::Undo(_) => self.thresholds.on_undo(),
            _ => {}
        }
    }

    /// As [`Policy::probe`].
    pub(crate) fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("alpha_segments", self.thresholds.alpha);
        emit("beta_segments", self.thresholds.alpha + APART);
        emit("diff_segments", self.thresholds.diff);
        emit("base_rtt_s", self.gauge.base_secs());
    }
}

#[derive(Debug)]
struct VegasA {
    frame: Frame,
    /// Th grew in the round that this ACK closed.
    th_grew: bool,
}

impl VegasA {
    fn new(args: &Args) -> Self {
        Self { frame: Frame::new(args), th_grew: false }
    }
}

impl Policy for VegasA {
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        if let Some((last, th)) = self.frame.observe(flow, ack) {
            self.th_grew = th - last > self.frame.dead_band * last;
        }
    }

    fn refuses_slow_start(&self) -> Option<&'static str> {
        Some("its slow start ends by a measure of the queue of its own, gamma")
    }

    fn slow_start(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) -> f64 {
        self.frame.slow_start(w, ack.segments(flow))
    }

    fn avoid(&mut self, w: &mut Window, _flow: &Flow, _ack: &Ack) {
        if let Some(round) = self.frame.gauge.close() {
            let diff = self.frame.gauge.diff(w.cwnd, round.rtt.mean_secs()); // eq. 3
            self.frame.thresholds.step(w, diff, self.th_grew, 1.0, 1.0);
        }
    }

    fn backoff(&self, w: &Window, _flow: &Flow, why: Congestion) -> Cut {
        self.frame.backoff(w, why)
    }

    fn on(&mut self, _w: &mut Window, _flow: &Flow, event: Event<'_>) {
        self.frame.on(&event);
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        self.frame.probe(emit);
    }
}

#[cfg(test)]
mod tests {
    use super::Thresholds;
    use crate::event::Congestion;
    use crate::registry::Value;
    use crate::rig::{Rig, args, text};
    use crate::window::Window;

    fn step(alpha: f64, diff: f64, th_grew: bool, given: &[(&str, Value)]) -> (f64, f64) {
        let mut w = Window { cwnd: 50.0, ssthresh: 2.0 };
        let mut thresholds = Thresholds::new(&args("vegas-a", given));
        thresholds.alpha = alpha;
        thresholds.step(&mut w, diff, th_grew, 1.0, 1.0);
        (w.cwnd - 50.0, thresholds.alpha - alpha)
    }

    /// Figure 1, line by line: the change of W and that of alpha (and beta).
    #[test]
    fn figure_1() {
        for (alpha, diff, th_grew, change) in [
            (1.0, 2.0, true, (1.0, 1.0)),    // line 3
            (4.0, 5.0, true, (1.0, 1.0)),    // line 3
            (1.0, 2.0, false, (0.0, 0.0)),   // line 5
            (4.0, 5.0, false, (0.0, 0.0)),   // line 5
            (4.0, 3.0, true, (1.0, 0.0)),    // line 10
            (4.0, 3.0, false, (-1.0, -1.0)), // line 12
            (1.0, 0.5, true, (1.0, 0.0)),    // line 15
            (1.0, 0.5, false, (1.0, 0.0)),   // line 15
            (4.0, 7.0, true, (-1.0, -1.0)),  // line 19
            (4.0, 7.0, false, (-1.0, -1.0)), // line 19
            (1.0, 7.0, true, (0.0, 0.0)),    // line 21
            (1.0, 7.0, false, (0.0, 0.0)),   // line 21
            // Diff equal to a threshold: decided as between them.
            (4.0, 4.0, true, (1.0, 1.0)),
            (4.0, 6.0, false, (0.0, 0.0)),
        ] {
            assert_eq!(step(alpha, diff, th_grew, &[]), change, "{alpha} {diff} {th_grew}");
        }
        assert_eq!(step(1.0, 7.0, false, &[("a1_dec", Value::Flag(true))]), (-1.0, 0.0));
    }

    /// Figure 1 prints alpha < Diff < beta, Diff < alpha and Diff > beta: no line is about
    /// Diff = alpha or Diff = beta.
    #[test]
    fn diff_equal_to_a_threshold_can_hold_everything() {
        let strict = [("equal_diff", text("hold"))];
        for (diff, change) in [(3.99, (1.0, 0.0)), (4.0, (0.0, 0.0)), (4.01, (1.0, 1.0))] {
            assert_eq!(step(4.0, diff, true, &strict), change, "{diff}");
        }
        for (diff, change) in [(5.99, (1.0, 1.0)), (6.0, (0.0, 0.0)), (6.01, (-1.0, -1.0))] {
            assert_eq!(step(4.0, diff, true, &strict), change, "{diff}");
        }
    }

    /// ns-2's Vegas: Diff is int(delta * rate + 0.5).
    #[test]
    fn diff_can_be_rounded_to_whole_segments() {
        let rounded = [("diff", text("rounded"))];
        for (diff, real, whole) in [(3.6, (1.0, 0.0), (1.0, 1.0)), (6.4, (-1.0, -1.0), (1.0, 1.0))] {
            assert_eq!(step(4.0, diff, true, &[]), real, "{diff}");
            assert_eq!(step(4.0, diff, true, &rounded), whole, "{diff}");
        }
        // With both, whole numbers of segments that equal a threshold hold the window.
        assert_eq!(step(4.0, 6.4, true, &[rounded[0].clone(), ("equal_diff", text("hold"))]), (0.0, 0.0));
    }

    /// A timeout resets alpha unless it is to be kept; a spurious one changes nothing.
    #[test]
    fn alpha_at_a_timeout() {
        for id in ["vegas-a", "vegas-l"] {
            for (choice, after) in [("reset", 1.0), ("keep", 4.0)] {
                let mut thresholds = Thresholds::new(&args(id, &[("alpha_at_timeout", text(choice))]));
                thresholds.alpha = 4.0;
                thresholds.on_congestion(Congestion::Loss);
                assert_eq!(thresholds.alpha, 4.0);
                thresholds.on_congestion(Congestion::Timeout);
                assert_eq!(thresholds.alpha, after, "{choice}");
                thresholds.on_undo();
                assert_eq!(thresholds.alpha, 4.0);
            }
        }
    }

    /// Neither figure prints an answer to loss: 3/4 as ns-2's Vegas, or half as Linux's.
    #[test]
    fn a_loss_leaves_three_quarters_or_half() {
        for id in ["vegas-a", "vegas-l"] {
            for (choice, left) in [("three-quarters", 75.0), ("half", 50.0)] {
                let mut rig = Rig::new(id, &[("at_loss", text(choice))], 100.0, 2.0);
                rig.congestion(Congestion::Loss);
                assert_eq!(rig.w(), left, "{id} {choice}");
            }
        }
    }

    /// A constant network with alpha = 1, Diff = 2 and steady throughput leaves the window alone.
    #[test]
    fn a_steady_network_holds_the_window() {
        let mut rig = Rig::new("vegas-a", &[], 102.0, 2.0);
        rig.ack(1.0, 0.5, 0.5, false);
        for _ in 0..50 {
            rig.path(100.0, 0.5);
        }
        assert_eq!(rig.w(), 102.0);
    }

    /// While the throughput grows, alpha and beta rise: an empty path is filled by one segment a round trip,
    /// and the thresholds follow once there is a queue.
    #[test]
    fn fills_an_empty_path_and_keeps_its_queue_within_the_thresholds() {
        let mut rig = Rig::new("vegas-a", &[], 50.0, 2.0);
        for _ in 0..200 {
            rig.path(100.0, 0.5);
        }
        let mut alpha = 0.0;
        rig.cc.probe(&mut |name, value| {
            if name == "alpha_segments" {
                alpha = value;
            }
        });
        assert!(alpha >= 1.0);
        assert!((100.0..=100.0 + alpha + 3.0).contains(&rig.w()), "{} with alpha = {alpha}", rig.w());
    }
}
