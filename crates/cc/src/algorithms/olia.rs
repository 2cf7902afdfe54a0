//! OLIA, Opportunistic Linked Increases (R. Khalili, N. Gast, M. Popovic, U. Upadhyay, J.-Y. Le Boudec,
//! CoNEXT 2012; draft-khalili-mptcp-congestion-control): LIA's aims with a better balance. It moves windows
//! from congested paths to those that lose less, and yet keeps a little traffic on the others, so that it
//! notices when they become better.
//!
//! Unit: segments. Valid for 1 <= w < 2^40.
//! Equations, as the authors' implementation for Linux has them (multipath-tcp/mptcp, net/mptcp/mptcp_olia.c
//! at 34ebf9ff), where they were read; the draft's text was not at hand:
//!  * for each ACK w_r grows by (w_r / rtt_r^2) / (sum of w_p / rtt_p)^2 + alpha_r / w_r ([`Olia::increase`])
//!  * l_r is the greater of the bytes delivered between the last two losses and since the last one; the best
//!    paths B maximise l_r / rtt_r^2, and M are the paths with the largest window. With R all paths,
//!    alpha_r = 1 / (|R| |B\M|) in B\M, -1 / (|R| |M|) in M if B\M is not empty, and 0 elsewhere ([`alpha`])
//!  * slow start and the answer to losses are those of RFC 5681, for each subflow alone
//!
//! Deviations:
//!  * `per = "segment"` counts each acknowledged segment instead, as Reno does here. With delayed ACKs
//!    that is twice the growth: two subflows beside one Reno through 12 Mbit/s and RED take 0.94 of its
//!    rate, and 0.77 if ACKs count.
//!  * windows are real-valued here; whole segments are compared to find the largest, as
//!    the integers of Linux do.
//!  * the least ssthresh is two segments, as for every window algorithm here, and not the
//!    one that the draft allows.
//!  * l_r counts what was delivered, selectively or not; Linux counts what was acknowledged in order.

use crate::algorithms::coupled::{Coupled, Coupling, Path};
use crate::algorithms::increments::PER_ACK;
use crate::algorithms::prelude::*;

pub(crate) const ENTRY: Entry = Entry {
    id: "olia",
    label: "OLIA",
    about: "Coupled as LIA, with windows moved from the largest to the best path; alone it is Reno.",
    source: "R. Khalili et al.: MPTCP is not Pareto-optimal: Performance Issues and a Possible Solution, CoNEXT, 2012",
    reference: "10.1145/2413176.2413178",
    grade: Grade::A,
    params: &[PER_ACK],
    sender: SenderOptions::NONE,
    colour: "#ffaabb",
    marker: "X",
    build: |args, start| Coupled::hosted(Olia::default(), args, start),
};

/// OLIA's window rules.
#[derive(Debug, Default)]
struct Olia {
    alpha: f64,
}

/// alpha of the own path.
fn alpha<P: Iterator<Item = Path> + Clone>(paths: P) -> f64 {
    let quality = |p: &Path| p.between_losses / (p.rtt * p.rtt);
    let whole = |p: &Path| libm::floor(p.w);
    let most = |of: &dyn Fn(&Path) -> f64| paths.clone().fold(f64::NEG_INFINITY, |m, p| m.max(of(&p)));
    let (best, largest) = (most(&quality), most(&whole));
    let is_large = |p: &Path| whole(p) == largest;
    let is_collected = |p: &Path| quality(p) == best && !is_large(p);
    let count = |holds: &dyn Fn(&Path) -> bool| paths.clone().filter(|p| holds(p)).count() as f64;
    let (all, large, collected) = (count(&|_| true), count(&is_large), count(&is_collected));
    match paths.clone().find(|p| p.own) {
        Some(own) if collected > 0.0 && is_collected(&own) => 1.0 / (all * collected),
        Some(own) if collected > 0.0 && is_large(&own) => -1.0 / (all * large),
        _ => 0.0,
    }
}

impl Coupling for Olia {
    fn increase<P: Iterator<Item = Path> + Clone>(&mut self, w: f64, paths: P) -> f64 {
        let sum: f64 = paths.clone().map(|p| p.rate()).sum();
        let own = paths.clone().find(|p| p.own).map_or(f64::NAN, |p| p.rate() / p.rtt);
        self.alpha = alpha(paths);
        let linked = (own / (sum * sum)).min(1.0 / w); // min ignores a NaN of no path
        linked + self.alpha / w
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("alpha", self.alpha);
    }
}

#[cfg(test)]
mod tests {
    use crate::algorithms::coupled::tests::on_paths;
    use crate::rig::near;

    /// What one acknowledged segment adds to the window of path `own` of these: window, round trip in
    /// seconds, bytes between losses.
    fn grows(own: usize, paths: &[(f64, f64, u64)]) -> f64 {
        on_paths("olia", own, paths).w() - paths[own].0
    }

    /// By hand: paths of 20 and 10 segments, both 100 ms. The sum of w / rtt is 300. The first term is
    /// (20 / 0.01) / 90000 = 0.022222 and 0.011111. If the small one loses less, it is collected:
    /// alpha = 1 / (2 * 1) for it and -1 / (2 * 1) for the large one, so they grow by
    /// 0.011111 + 0.5 / 10 and 0.022222 - 0.5 / 20.
    #[test]
    fn windows_move_from_the_largest_to_the_best_path() {
        let paths = [(20.0, 0.1, 30_000), (10.0, 0.1, 60_000)];
        near(grows(0, &paths), 0.022_222 - 0.025, 1e-3);
        near(grows(1, &paths), 0.011_111 + 0.05, 1e-4);
    }

    /// The largest path is the best one, also where a shorter round trip makes it so (l / rtt^2: 10 / 0.01
    /// beside 60 / 0.36): alpha is 0.
    #[test]
    fn nothing_moves_if_the_largest_path_is_the_best() {
        near(grows(0, &[(20.0, 0.1, 60_000), (10.0, 0.1, 30_000)]), 0.022_222, 1e-4);
        let paths = [(20.0, 0.1, 10_000), (10.0, 0.6, 60_000)];
        // (20 / 0.01) / (200 + 16.667)^2 and (10 / 0.36) / (216.667)^2.
        near(grows(0, &paths), 0.042_604, 1e-4);
        near(grows(1, &paths), 0.000_591_7, 1e-2);
    }

    /// Of three paths two are the largest: each gives up half of what the best one gets.
    #[test]
    fn two_largest_paths_share_what_they_give_up() {
        let paths = [(20.0, 0.1, 100), (20.0, 0.1, 100), (5.0, 0.1, 900)];
        // Sum 450; (20 / 0.01) / 202500 - 1 / (3 * 2 * 20), and (5 / 0.01) / 202500 + 1 / (3 * 5).
        near(grows(0, &paths), 0.009_876_5 - 0.008_333_3, 1e-3);
        near(grows(2, &paths), 0.002_469_1 + 0.066_666_7, 1e-4);
    }
}
