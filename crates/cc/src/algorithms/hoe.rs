//! Hoe's estimate of the bandwidth-delay product in slow start: J. C. Hoe: Improving the Start-up Behavior of
//! a Congestion Control Scheme for TCP, ACM SIGCOMM, 1996. Segments sent back to back leave the bottleneck at
//! its rate, and so do their ACKs.
//!
//! Unit: segments. Valid while segments leave the sender in bursts: a paced sender's ACKs show the pacing
//! rate. (The delivery rate is no substitute: it is at most W / RTT, so a threshold made of it could
//! never exceed the window.)
//! Decisions:
//!  * a gap between two ACKs counts as close up to a quarter of RTTmin; ACKs at one instant are added up.
//!  * the estimate of a round is the median of its first three close gaps, and the estimate is
//!    the median of the rounds'.
//!  * a gap gives the rate of what its last ACK acknowledges, so that delayed ACKs do not halve it.

use crate::algorithms::prelude::*;

/// Gaps that a round takes.
const GAPS: usize = 3;
/// Rounds that are remembered; slow start lasts fewer.
const ROUNDS: usize = 16;

/// The estimate.
#[derive(Debug, Default)]
pub(crate) struct Hoe {
    at: Option<Time>,
    pending: f64,
    /// Rates of this round's gaps, segments per second.
    gaps: [f64; GAPS],
    taken: usize,
    /// Medians of past rounds, segments per second.
    rounds: [f64; ROUNDS],
    done: usize,
}

impl Hoe {
    /// Takes an ACK. True if it ended a round that had an estimate.
    pub(crate) fn observe(&mut self, flow: &Flow, ack: &Ack) -> bool {
        if let Some(rtt) = flow.rtt.filter(|_| ack.acked > 0) {
            self.add(ack.segments(flow), flow.now, rtt.min.secs() / 4.0);
        }
        if !ack.round_end {
            return false;
        }
        let complete = core::mem::take(&mut self.taken) == GAPS;
        if complete {
            self.rounds[self.done % ROUNDS] = median(&mut self.gaps);
            self.done += 1;
        }
        complete
    }

    fn add(&mut self, segments: f64, now: Time, close: f64) {
        let gap = self.at.map_or(f64::INFINITY, |at| now.since(at).secs());
        self.pending += segments;
        if gap == 0.0 {
            return;
        }
        if gap <= close && self.taken < GAPS {
            self.gaps[self.taken] = self.pending / gap;
            self.taken += 1;
        }
        self.at = Some(now);
        self.pending = 0.0;
    }

    /// Rate x RTTmin in segments; `None` before the first estimate.
    pub(crate) fn window(&self, flow: &Flow) -> Option<f64> {
        let mut known = self.rounds;
        let known = &mut known[..self.done.min(ROUNDS)];
        let min = flow.rtt?.min.secs();
        (!known.is_empty()).then(|| median(known) * min)
    }
}

/// The middle value, or the mean of the two.
fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let n = values.len();
    (values[(n - 1) / 2] + values[n / 2]) / 2.0
}

#[cfg(test)]
mod tests {
    use super::{Hoe, median};
    use crate::time::Time;

    #[test]
    fn the_median_of_odd_and_even_numbers_of_values() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
    }

    /// Wide gaps do not count, those after the third neither, and ACKs at one instant are one; two
    /// segments per ACK are two.
    #[test]
    fn three_close_gaps_make_a_round() {
        let mut hoe = Hoe::default();
        for (segments, ms) in
            [(1.0, 0), (1.0, 500), (2.0, 502), (1.0, 504), (1.0, 504), (2.0, 900), (2.0, 903), (2.0, 904)]
        {
            hoe.add(segments, Time(ms * 1_000_000), 0.125);
        }
        assert_eq!(hoe.taken, 3);
        for (got, expected) in hoe.gaps.iter().zip([1000.0, 500.0, 2.0 / 0.003]) {
            assert!((got - expected).abs() < 1e-6, "{got} instead of {expected}");
        }
    }
}
