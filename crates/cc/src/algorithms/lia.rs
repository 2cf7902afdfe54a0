//! LIA, Linked Increases: the coupled congestion control of Multipath TCP (RFC 6356; D. Wischik, C. Raiciu,
//! A. Greenhalgh, M. Handley, NSDI 2011). All subflows together take as much as one TCP on the best of their
//! paths, and none takes more than a TCP there.
//!
//! Unit: segments. Valid for 1 <= w < 2^40.
//! Equations: RFC 6356 section 3 (1) the increase, (2) alpha. Read in the reference implementation for Linux
//! (multipath-tcp/mptcp, `mptcp_coupled.c` at 0523c034), which the RFC describes.
//! Slow start and the answer to losses are those of RFC 5681, for each subflow alone.
//! Deviations:
//!  * eq. 1 counts acknowledged bytes, and so does this; that implementation counts ACKs in congestion
//!    avoidance (`per = "ack"`), which with delayed ACKs halves the growth.
//!  * alpha is computed for each ACK, not once per window (section 4.1 leaves that to implementations).
//!    alpha / w_total is one factor, so that w_total cancels out.
//!  * windows of all subflows count in segments of the own size: `MSS_i` of eq. 1.
//!  * a subflow without a round-trip time yet is left out, as Linux does. With one path
//!    left the increase is Reno's.

use crate::algorithms::coupled::{Coupled, Coupling, Path};
use crate::algorithms::increments::PER_SEGMENT;
use crate::algorithms::prelude::*;

pub(crate) const ENTRY: Entry = Entry {
    id: "lia",
    label: "LIA",
    about: "Reno whose subflows share one increase: together as strong as one TCP on the best path; alone it is Reno.",
    source: "C. Raiciu, M. Handley, D. Wischik: Coupled Congestion Control for Multipath Transport Protocols, 2011",
    reference: "RFC 6356",
    grade: Grade::A,
    params: &[PER_SEGMENT],
    sender: SenderOptions::NONE,
    colour: "#0077bb",
    marker: "P",
    build: |args, start| Coupled::hosted(Lia::default(), args, start),
};

/// LIA's window rules.
#[derive(Debug, Default)]
struct Lia {
    /// The last share of a segment by which the window grew for each one acknowledged.
    increase: f64,
}

/// alpha / w_total of eq. 2: max(w / rtt^2) / (sum of w / rtt)^2.
fn linked(paths: impl Iterator<Item = Path>) -> f64 {
    let (best, sum) =
        paths.fold((0.0_f64, 0.0), |(best, sum), p| (best.max(p.rate() / p.rtt), sum + p.rate()));
    best / (sum * sum)
}

impl Coupling for Lia {
    fn increase<P: Iterator<Item = Path> + Clone>(&mut self, w: f64, paths: P) -> f64 {
        self.increase = linked(paths).min(1.0 / w); // eq. 1; min ignores a NaN of no path
        self.increase
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("increase_segments", self.increase);
    }
}

#[cfg(test)]
mod tests {
    use crate::algorithms::coupled::tests::on_paths;
    use crate::rig::near;

    /// What one acknowledged segment adds to a window of `w` at `rtt` beside another path.
    fn grows(w: f64, rtt: f64, other: (f64, f64)) -> f64 {
        on_paths("lia", 0, &[(w, rtt, 0), (other.0, other.1, 0)]).w() - w
    }

    /// RFC 6356 eq. 2 by hand. Two equal paths of 10 segments and 100 ms:
    /// alpha = 20 * (10 / 0.01) / (200)^2 = 1/2, so eq. 1 gives min(0.5 / 20, 1 / 10) = 1/40. Together they
    /// grow by half a segment a round trip each, a quarter of two Renos' 2 * (1 / 10) a segment.
    #[test]
    fn two_equal_paths_grow_a_quarter_as_fast_as_reno() {
        near(grows(10.0, 0.1, (10.0, 0.1)), 1.0 / 40.0, 1e-4);
    }

    /// A LEO path of 20 segments and 50 ms beside a GEO path of 100 segments and 600 ms. w_total = 120;
    /// max(w / rtt^2) = 20 / 0.0025 = 8000 (GEO: 277.8); sum of w / rtt = 400 + 166.67 = 566.67,
    /// squared 321111. alpha = 120 * 8000 / 321111 = 2.98962, and eq. 1 gives 2.98962 / 120 = 0.0249135 on
    /// both: less than 1/20, but more than 1/100, which then holds on GEO.
    #[test]
    fn a_satellite_beside_a_fast_path() {
        near(grows(20.0, 0.05, (100.0, 0.6)), 0.024_913_5, 1e-4);
        near(grows(100.0, 0.6, (20.0, 0.05)), 0.01, 1e-4);
    }
}
