//! TCP Vegas-L: L. Li, J. Zhu, N. He: TCP Vegas-L: An Adaptive End-to-End Congestion Control
//! Algorithm over Satellite Communications. Vegas-A whose steps depend on how the throughput changed
//! over the last two rounds.
//!
//! Unit: segments. Valid as Vegas is.
//! Equations: (5), (6) changes of throughput and figure 2 (six cases) -> [`multiplier`];
//! Vegas-A's figure 1 -> `avoid`.
//! The text allows two readings of figure 2:
//!  * B (default): the cases scale the steps of Vegas-A's branches on Diff by 2, 1 or 1/2. The
//!    text speaks of "twice" and "half of Vegas-A's strategy", and the steady window of figure 4
//!    needs the branch that holds.
//!  * A: the cases alone decide, every round. W, alpha and beta change by +2, +1, +1/2, -1/2, -1 or -2. alpha
//!    and beta are then never used. A steady throughput is case 6: two segments less every round.
//!
//! Decisions where the paper is silent:
//!  * W, alpha and beta are real; alpha >= 1, beta = alpha + 2, W >= 2.
//!  * three rounds of history are needed; until then Vegas-A's steps (reading A: none).
//!  * equal changes count as Diff_Now <= Diff_Before, and no change as "not above 0", as printed.
//!  * a step of Vegas-A against the direction of the throughput (growth at alpha = 1, reduction at
//!    Diff > beta) stays one segment. The paper defines the factor for the other direction only.
//!  * cases 1 to 3 scale "the condition of Th(i) > Th(i-1)". Line 15 of Vegas-A's figure 1 grows without that
//!    condition; it is scaled, too, while Th grows (`line_15 = "one"`: never).
//!  * loss, timeout, slow start, `a1_dec`, `diff`, `equal_diff`, `at_loss`,
//!    `alpha_at_timeout` and `dead_band` are Vegas-A's.

use crate::algorithms::prelude::*;
use crate::algorithms::vegas::{BASE_WINDOW, GAMMA, step_down};
use crate::algorithms::vegas_a::{A1_DEC, ALPHA_AT_TIMEOUT, AT_LOSS, DEAD_BAND, DIFF, EQUAL_DIFF, Frame};

pub(crate) const ENTRY: Entry = Entry {
    id: "vegas-l",
    label: "Vegas-L",
    about: "Vegas-A with steps of 1/2, 1 or 2 segments, chosen by how the throughput changed over two rounds.",
    source: "L. Li, J. Zhu, N. He: TCP Vegas-L: An Adaptive End-to-End Congestion Control Algorithm over Satellite Communications",
    reference: "doi not printed in the paper",
    grade: Grade::A,
    params: VegasL::PARAMS,
    sender: SenderOptions::NONE,
    colour: "#0072b2",
    marker: "v",
    build: |args, start| Windowed::hosted(VegasL::new(args), start),
};

/// Figure 2: the signed factor of cases 1 to 6.
fn multiplier(now: f64, before: f64) -> f64 {
    match (now > 0.0, before > 0.0, now > before) {
        (true, true, true) => 2.0,     // case 1
        (true, true, false) => 1.0,    // case 2
        (true, false, _) => 0.5,       // case 3
        (false, true, _) => -0.5,      // case 4
        (false, false, true) => -1.0,  // case 5
        (false, false, false) => -2.0, // case 6
    }
}

algorithm! {
    #[derive(Debug)]
    struct VegasL {
        use Param::choice("reading", &["B", "A"])
            .about("figure 2 scales Vegas-A's steps (B), or replaces them (A)");
        use Param::choice("line_15", &["scaled", "one"]).about(
            "growth at alpha = 1 and Diff < alpha (figure 1, line 15) while Th grows: by the case's factor, or always one segment",
        );
        use A1_DEC, DIFF, EQUAL_DIFF, AT_LOSS, ALPHA_AT_TIMEOUT, DEAD_BAND, GAMMA, BASE_WINDOW;
    }
    state(args) {
        flat: bool = args.is("reading", "A"),
        /// The factor of a case holds for line 15 of figure 1, too.
        scales_line_15: bool = args.is("line_15", "scaled"),
        frame: Frame = Frame::new(args),
        /// Diff_Now of the last round (eq. 5), segments per second.
        change: Option<f64>,
        /// Figure 2 for the round that this ACK closed, once there are three rounds.
        case: Option<f64>,
    }
}

impl VegasL {
    /// Takes Th of the last round and of this one.
    fn add(&mut self, last: f64, th: f64) {
        let now = if (th - last).abs() > self.frame.dead_band * last { th - last } else { 0.0 }; // eq. 5
        let before = self.change.replace(now); // eq. 6
        self.case = before.map(|before| multiplier(now, before));
    }
}

impl Policy for VegasL {
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        if let Some((last, th)) = self.frame.observe(flow, ack) {
            self.add(last, th);
        }
    }

    fn refuses_slow_start(&self) -> Option<&'static str> {
        Some("its slow start ends by a measure of the queue of its own, gamma")
    }

    fn slow_start(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) -> f64 {
        self.frame.slow_start(w, ack.segments(flow))
    }

    fn avoid(&mut self, w: &mut Window, _flow: &Flow, _ack: &Ack) {
        let Some(round) = self.frame.gauge.close() else { return };
        if !self.flat {
            let diff = self.frame.gauge.diff(w.cwnd, round.rtt.mean_secs()); // eq. 3
            let th_grew = self.change.is_some_and(|now| now > 0.0);
            let factor = self.case.map_or(1.0, f64::abs);
            let line_15 = if self.scales_line_15 { factor } else { 1.0 };
            self.frame.thresholds.step(w, diff, th_grew, factor, line_15);
        } else if let Some(m) = self.case {
            self.frame.thresholds.shift(m);
            if m > 0.0 { w.cwnd += m } else { step_down(w, -m) }
        }
    }

    fn backoff(&self, w: &Window, _flow: &Flow, why: Congestion) -> Cut {
        self.frame.backoff(w, why)
    }

    fn on(&mut self, _w: &mut Window, _flow: &Flow, event: Event<'_>) {
        self.frame.on(&event);
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("step_segments", self.case.unwrap_or(0.0));
        self.frame.probe(emit);
    }
}

#[cfg(test)]
mod tests {
    use super::{VegasL, multiplier};
    use crate::registry::Value;
    use crate::rig::{Rig, args, text};

    /// Figure 2: three throughputs and the case that they are.
    #[test]
    fn figure_2() {
        for (th, m) in [
            ([10.0, 11.0, 13.0], 2.0),  // case 1
            ([10.0, 12.0, 13.0], 1.0),  // case 2
            ([12.0, 11.0, 13.0], 0.5),  // case 3
            ([10.0, 13.0, 12.0], -0.5), // case 4
            ([13.0, 11.0, 10.0], -1.0), // case 5
            ([13.0, 12.0, 10.0], -2.0), // case 6
            ([10.0, 11.0, 12.0], 1.0),  // equal changes: not greater
            ([10.0, 10.0, 10.0], -2.0), // no change: not above 0, and not greater
        ] {
            assert_eq!(multiplier(th[2] - th[1], th[1] - th[0]), m, "{th:?}");
            let mut policy = VegasL::new(&args("vegas-l", &[]));
            for rounds in th.windows(2) {
                assert_eq!(policy.case, None);
                policy.add(rounds[0], rounds[1]);
            }
            assert_eq!(policy.case, Some(m));
        }
    }

    /// Three rounds of these throughputs (segments per round at an RTT of 1 s), then
    /// their effect on the window.
    fn after(th: [u32; 3], rtt: f64, given: &[(&str, Value)]) -> f64 {
        let mut rig = Rig::new("vegas-l", given, 50.0, 2.0);
        rig.ack(1.0, 0.5, 1.0, true);
        let mut before = 50.0;
        for n in th {
            before = rig.w();
            for i in 1..=n {
                rig.ack(1.0, 0.01, rtt, i == n);
            }
        }
        rig.w() - before
    }

    /// Reading B: at alpha = 1 and without a queue Vegas-A's step is up, scaled by the case while throughput
    /// grows. With Diff between alpha and beta it is up or none; above beta at alpha = 1, none.
    #[test]
    fn reading_b_scales_the_steps_of_vegas_a() {
        for (th, rtt, change) in [
            ([10, 11, 13], 1.0, 2.0),
            ([10, 12, 13], 1.0, 1.0),
            ([12, 11, 13], 1.0, 0.5),
            ([10, 13, 12], 1.0, 1.0),
            ([13, 11, 10], 1.0, 1.0),
            ([13, 12, 10], 1.0, 1.0),
            ([13, 12, 10], 1.04, 0.0), // Diff = 50 * (1 - 1/1.04) = 1.9
            ([13, 12, 10], 1.5, 0.0),  // Diff = 17
        ] {
            assert_eq!(after(th, rtt, &[]), change, "{th:?} at {rtt} s");
        }
    }

    /// The case need not scale line 15: at alpha = 1 and without a queue the step is then
    /// Vegas-A's. Line 3 is scaled still.
    #[test]
    fn line_15_can_stay_one_segment() {
        let given = [("line_15", text("one"))];
        for (th, rtt, change) in [
            ([10, 11, 13], 1.0, 1.0),
            ([12, 11, 13], 1.0, 1.0),
            ([10, 11, 16], 1.04, 2.0), // Diff = 1.9: line 3
        ] {
            assert_eq!(after(th, rtt, &given), change, "{th:?} at {rtt} s");
        }
    }

    /// Reading A: the case is the step, whatever Diff is.
    #[test]
    fn reading_a_adds_the_signed_case() {
        for (th, change) in [
            ([10, 11, 13], 2.0),
            ([10, 12, 13], 1.0),
            ([12, 11, 13], 0.5),
            ([10, 13, 12], -0.5),
            ([13, 11, 10], -1.0),
            ([13, 12, 10], -2.0),
        ] {
            assert_eq!(after(th, 1.0, &[("reading", text("A"))]), change, "{th:?}");
        }
    }

    /// A steady path: reading B holds its window, as figure 4 needs; reading A loses
    /// two segments every round.
    #[test]
    fn only_reading_b_keeps_a_steady_window() {
        for (reading, holds) in [("B", true), ("A", false)] {
            let mut rig = Rig::new("vegas-l", &[("reading", text(reading))], 102.0, 2.0);
            rig.ack(1.0, 0.5, 0.5, false);
            for _ in 0..60 {
                rig.path(100.0, 0.5);
            }
            assert_eq!(rig.w() == 102.0, holds, "{reading}: {}", rig.w());
            assert_eq!(rig.w() < 10.0, !holds, "{reading}: {}", rig.w());
        }
    }
}
