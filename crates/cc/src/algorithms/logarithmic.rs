//! The logarithmic increase of LogWestwood+, LIAD and A-LIAD: each round trip closes a fixed share of the gap
//! between the window and a target.
//!
//! Unit: segments. Equation numbers are those of the A-LIAD paper. Eq. 5 is the increase per round trip,
//! W + share (target - W); eq. 6, meant as the same per ACK, is W + share (target - W) / W. Applied ACK by
//! ACK, eq. 6 recomputes the gap as it closes and leaves exp(-share) of it after a round trip instead of
//! 1 - share. Both are here ([`Approach`]). Neither reaches its target; an increase is therefore at least one
//! segment per round trip, also beyond the target.

use crate::algorithms::prelude::*;

/// Which equation a user wants; per round trip by default.
pub(crate) const ACK_MODE: Param = Param::choice("ack_mode", &["round", "eq6"])
    .about("logarithmic increase: eq. 5 per round trip, spread over its ACKs, or eq. 6 per ACK as printed");

/// The share of a window acknowledged before eq. 6 is evaluated anew. So a report on many ACKs differs
/// little from as many reports.
const PARTS: f64 = 16.0;

/// The way of a window towards a target.
#[derive(Debug)]
pub(crate) struct Approach {
    whole_rounds: bool,
    /// The last ACK closed a round.
    ended: bool,
    /// The growth of the round under way for each segment acknowledged.
    round: Option<f64>,
}

impl Approach {
    /// As the parameter `ack_mode` in `args` says.
    pub(crate) fn new(args: &Args) -> Self {
        Self { whole_rounds: args.is(ACK_MODE.name, "round"), ended: false, round: None }
    }

    /// Takes every ACK, for the rounds.
    pub(crate) fn observe(&mut self, ack: &Ack) {
        if self.ended {
            self.round = None;
        }
        self.ended = ack.round_end;
    }

    /// The target has changed: the gap is measured anew.
    pub(crate) fn restart(&mut self) {
        self.round = None;
    }

    /// `n` segments were acknowledged on the way to `target`; a round trip closes `share` of the gap.
    pub(crate) fn grow(&mut self, w: &mut Window, target: f64, share: f64, n: f64) {
        if self.whole_rounds {
            let growth = || (share * (target - w.cwnd)).max(1.0) / w.cwnd; // eq. 5
            let per_segment = *self.round.get_or_insert_with(growth);
            advance(w, target, n, per_segment);
            return;
        }
        let parts = libm::ceil(n).clamp(1.0, PARTS);
        for _ in 0..parts as u32 {
            let step = (share * (target - w.cwnd)).max(1.0); // eq. 6
            advance(w, target, n / parts, step / w.cwnd);
        }
    }
}

/// `per_segment` for each of `n` segments, but not past `target` unless by one segment per round trip.
fn advance(w: &mut Window, target: f64, n: f64, per_segment: f64) {
    let grown = w.cwnd + n * per_segment;
    w.cwnd = if grown <= target { grown } else { grown.min(target.max(w.cwnd + n / w.cwnd)) };
}

#[cfg(test)]
mod tests {
    use super::Approach;
    use crate::window::Window;

    fn rounds(whole_rounds: bool, share: f64, merged: bool, count: usize) -> f64 {
        let mut w = Window { cwnd: 378.0, ssthresh: 2.0 };
        let mut approach = Approach { whole_rounds, ended: false, round: None };
        for _ in 0..count {
            approach.restart();
            let acks = libm::floor(w.cwnd);
            if merged {
                approach.grow(&mut w, 700.0, share, acks);
            } else {
                for _ in 0..acks as u32 {
                    approach.grow(&mut w, 700.0, share, 1.0);
                }
            }
        }
        w.cwnd
    }

    /// From 378 towards 700 segments with alpha = 2 and 527, share = 1 - 1/alpha, floor(W) ACKs per round.
    #[test]
    fn five_rounds_towards_700_segments() {
        let vectors: [(bool, f64, &[f64]); 4] = [
            (true, 2.0, &[539.0, 619.5, 659.7, 679.9, 689.9]),
            (true, 527.0, &[699.4]),
            (false, 2.0, &[490.8, 568.0, 618.1, 649.7, 669.2]),
            (false, 527.0, &[554.1, 641.6, 677.8, 691.7, 696.9]),
        ];
        for (whole_rounds, alpha, windows) in vectors {
            for (i, expected) in windows.iter().enumerate() {
                let got = rounds(whole_rounds, 1.0 - 1.0 / alpha, false, i + 1);
                assert!((got - expected).abs() < 0.12, "alpha = {alpha}: {got} instead of {expected}");
                let merged = rounds(whole_rounds, 1.0 - 1.0 / alpha, true, i + 1);
                assert!((merged - got).abs() < 6.0, "one report per round: {merged} instead of {got}");
            }
        }
    }

    /// Rounds until one segment is missing, at alpha for 25, 75, 200, 400 and 600 ms. The least increase
    /// takes over when the gap is 1 / share; without it 25 ms would take 27 and 31 rounds.
    #[test]
    fn rounds_to_come_within_a_segment() {
        for (alpha, whole, literal) in
            [(1.23876, 24, 26), (2.00030, 9, 12), (7.14407, 3, 8), (59.7787, 2, 7), (527.056, 1, 7)]
        {
            for (whole_rounds, expected) in [(true, whole), (false, literal)] {
                let reached = (1..40).find(|&n| rounds(whole_rounds, 1.0 - 1.0 / alpha, false, n) >= 699.0);
                assert_eq!(reached, Some(expected), "alpha = {alpha}, whole rounds: {whole_rounds}");
            }
        }
    }

    /// One segment per round trip once the gap is small, at the target and beyond it; never past it faster.
    #[test]
    fn the_least_increase() {
        for whole_rounds in [true, false] {
            for from in [699.5, 700.0, 750.0] {
                let mut w = Window { cwnd: from, ssthresh: 2.0 };
                let mut approach = Approach { whole_rounds, ended: false, round: None };
                approach.grow(&mut w, 700.0, 0.5, from);
                assert!((w.cwnd - from - 1.0).abs() < 1e-3, "{from}: {}", w.cwnd);
            }
            let mut w = Window { cwnd: 600.0, ssthresh: 2.0 };
            Approach { whole_rounds, ended: false, round: None }.grow(&mut w, 700.0, 1.0, 6000.0);
            assert!(w.cwnd <= 701.0 && whole_rounds || w.cwnd <= 710.0);
        }
    }
}
