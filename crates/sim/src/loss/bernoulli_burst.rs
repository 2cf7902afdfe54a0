//! Bernoulli bursts: runs of lost packets that begin at random.
//!
//! Each packet outside a run begins one with the same probability, as in ns-3's `BurstErrorModel`
//! (`src/network/utils/error-model.cc`), and the length of a run is geometric. Loss runs and their lengths
//! are the metrics of RFC 3357 (loss period) and of H. Sanneck, G. Carle: A Framework Model for Packet Loss
//! Metrics Based on Loss Runlengths, MMCN 2000.
//!
//! With a share R of lost packets and a mean length L, a run begins with p = R / (R + (1 - R) L): on average
//! (1 - p) / p packets lie between two runs, so L / (L + (1 - p) / p) = R. A run may begin right after
//! another one. The mean number of losses in a row is then L / (1 - p), and with L = 1 the losses are
//! independent. In Gilbert's terms it is a chain with r = (1 - p) / L that loses all packets in its bad
//! state.

use bentpipe_cc::Time;

use crate::keys::table::keys;
use crate::link::random::Stream;
use crate::loss::kind::{LossRule, PlannedLoss};

keys! {
    /// Runs of lost packets: they begin independently of each other, and their lengths are geometric.
    #[derive(Copy)]
    pub struct BernoulliBurst {
        /// Share of all packets that is lost.
        #[schemars(range(min = 0.0, max = 1.0))]
        pub rate: f64,
        /// Mean length of a run in packets. With 1 the losses are independent.
        #[schemars(range(min = 1.0, max = 1_000_000.0), extend("examples" = [8.0]))]
        pub mean_length: f64,
    }
}

impl PlannedLoss for BernoulliBurst {
    /// It starts in its stationary state: the first packet is lost with probability `rate`.
    fn start(&self, random: &mut Stream) -> Box<dyn LossRule> {
        let BernoulliBurst { rate, mean_length } = *self;
        let [begins, ends] = [rate / (rate + (1.0 - rate) * mean_length), 1.0 / mean_length];
        let mut runs = Runs { begins, ends, intact: 0, lost: 0 };
        if rate > 0.0 && random.uniform() <= rate {
            runs.lost = runs.length(random);
        } else {
            // The first packet is not lost.
            runs.intact = runs.gap(random).saturating_add(1);
        }
        Box::new(runs)
    }
}

/// The current run, or the gap before the next one.
#[derive(Debug)]
struct Runs {
    /// The probability that a packet outside a run begins one, and the probability that a packet of a run is
    /// its last.
    begins: f64,
    ends: f64,
    /// Packets that pass before the next run.
    intact: u64,
    /// Packets left of the current run.
    lost: u64,
}

impl Runs {
    /// Draws the packets up to the next run.
    fn gap(&self, random: &mut Stream) -> u64 {
        random.run_length(self.begins)
    }

    /// Draws the packets of a run.
    fn length(&self, random: &mut Stream) -> u64 {
        random.run_length(self.ends).saturating_add(1)
    }
}

impl LossRule for Runs {
    fn strikes(&mut self, _: Time, _: u16, random: &mut Stream) -> bool {
        if self.lost == 0 {
            if self.intact > 0 {
                self.intact -= 1;
                return false;
            }
            self.lost = self.length(random);
        }
        self.lost -= 1;
        if self.lost == 0 {
            self.intact = self.gap(random);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fates of `n` packets.
    fn struck(rate: f64, mean_length: f64, n: usize) -> Vec<bool> {
        let mut random = Stream::new(3, "loss");
        let mut runs = BernoulliBurst { rate, mean_length }.start(&mut random);
        (0..n).map(|_| runs.strikes(Time(0), 1500, &mut random)).collect()
    }

    /// The share of lost packets, and how many are lost in a row.
    fn measured(struck: &[bool]) -> (f64, f64) {
        let lost = struck.iter().filter(|&&lost| lost).count() as f64;
        let runs = struck.chunk_by(|a, b| a == b).filter(|run| run[0]).count() as f64;
        (lost / struck.len() as f64, lost / runs)
    }

    #[test]
    fn share_and_runs_are_those_of_the_closed_forms() {
        // A tenth lost in runs of 9: p = 0.1 / (0.1 + 0.9 * 9) = 1/82, and 9 / (81/82) = 9.1111 in a row.
        // Half lost in runs of 2: p = 0.5 / (0.5 + 0.5 * 2) = 1/3, and 2 / (2/3) = 3 in a row.
        // A fifth lost alone: independent losses, 1 / (1 - 0.2) = 1.25 in a row.
        for (rate, length, in_a_row) in [(0.1, 9.0, 9.1111), (0.5, 2.0, 3.0), (0.2, 1.0, 1.25)] {
            let (share, run) = measured(&struck(rate, length, 2_000_000));
            // The share's variance is that of independent losses times at most (1 + c) / (1 - c), with
            // the correlation c of neighbours, which is 1 - 1/9.11 - 1/82 = 0.878, 1 - 1/3 - 1/3, and
            // 0: four standard errors.
            let error = 4.0 * (rate * (1.0 - rate) / 2_000_000.0 * 15.4_f64).sqrt();
            assert!((share - rate).abs() < error, "{share}, not {rate}");
            assert!((run / in_a_row - 1.0).abs() < 0.02, "{run}, not {in_a_row}");
        }
    }

    #[test]
    fn lengths_of_runs_are_geometric() {
        // Runs of 4 that hardly ever touch: a share of 1/4 has one packet, 3/16 two,
        // (3/4)^9 = 7.5 % more than nine.
        let struck = struck(0.001, 4.0, 20_000_000);
        let runs: Vec<usize> =
            struck.chunk_by(|a, b| a == b).filter(|run| run[0]).map(<[bool]>::len).collect();
        let share = |holds: &dyn Fn(usize) -> bool| {
            runs.iter().filter(|&&run| holds(run)).count() as f64 / runs.len() as f64
        };
        assert!(runs.len() > 4_000);
        // Four standard errors with 4,500 runs are at most 4 * 0.5 / 67 = 0.03.
        assert!((share(&|run| run == 1) - 0.25).abs() < 0.03);
        assert!((share(&|run| run == 2) - 0.1875).abs() < 0.03);
        assert!((share(&|run| run > 9) - 0.0751).abs() < 0.03);
    }

    #[test]
    fn all_or_none_may_be_lost_and_the_first_packet_is_as_any_other() {
        assert!(struck(1.0, 5.0, 1_000).iter().all(|&lost| lost));
        assert!(struck(0.0, 5.0, 1_000).iter().all(|&lost| !lost));
        let first = |seed| {
            let mut random = Stream::new(seed, "loss");
            let mut runs = BernoulliBurst { rate: 0.3, mean_length: 50.0 }.start(&mut random);
            runs.strikes(Time(0), 1500, &mut random)
        };
        let lost = (0..10_000).filter(|&seed| first(seed)).count();
        // Four standard errors: 4 sqrt(10,000 * 0.3 * 0.7) = 183.
        assert!(lost.abs_diff(3_000) < 183, "{lost}");
    }
}
