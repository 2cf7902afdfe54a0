//! BALIA, Balanced Linked Adaptation (Q. Peng, A. Walid, J. Hwang, S. H. Low, IEEE/ACM Trans. Networking
//! 2016; draft-walid-mptcp-congestion-control): between LIA, which is friendly but slow to balance, and OLIA,
//! which may be slow to respond.
//!
//! Unit: segments. Valid for 1 <= w < 2^40.
//! Equations, as the authors' implementation for Linux has them (multipath-tcp/mptcp, net/mptcp/mptcp_balia.c
//! at 0075cb4d), where they were read; the draft's text was not at hand. With x_r = w_r / rtt_r and
//! alpha_r = max x_k / x_r:
//!  * for each ACK w_r grows by x_r / (rtt_r (sum of
//!    x_k)^2) * (1 + alpha_r) / 2 * (4 + alpha_r) / 5 ([`Balia::increase`])
//!  * a loss takes w_r / 2 * min(alpha_r, 1.5) ([`Balia::keeps`])
//!  * slow start is that of RFC 5681
//!
//! Deviations:
//!  * `per = "segment"` counts each acknowledged segment instead, as Reno does here. With delayed ACKs
//!    that is twice the growth: two subflows beside one Reno through 12 Mbit/s and RED take 1.08 of its
//!    rate, and 0.85 if ACKs count.
//!  * alpha_r is a real number; Linux divides integers. Both are computed for each ACK and each loss,
//!    Linux does so once a window.
//!  * after a timeout ssthresh is that of a loss, as Linux does, and the window is one segment.

use crate::algorithms::coupled::{Coupled, Coupling, Path};
use crate::algorithms::increments::PER_ACK;
use crate::algorithms::prelude::*;

pub(crate) const ENTRY: Entry = Entry {
    id: "balia",
    label: "BALIA",
    about: "Coupled as LIA, with an increase and a decrease that grow with the lead of the fastest path; alone it is Reno.",
    source: "Q. Peng, A. Walid, J. Hwang, S. H. Low: Multipath TCP: Analysis, Design, and Implementation, IEEE/ACM Trans. Networking, 2016",
    reference: "10.1109/TNET.2014.2379698",
    grade: Grade::A,
    params: &[PER_ACK],
    sender: SenderOptions::NONE,
    colour: "#0077bb",
    marker: "X",
    build: |args, start| Coupled::hosted(Balia, args, start),
};

/// BALIA's window rules.
#[derive(Debug)]
struct Balia;

/// The numbers of the equations, on the own path.
struct Balance {
    /// alpha_r; 1 on the fastest path.
    alpha: f64,
    /// x_r / (rtt_r (sum of x_k)^2).
    linked: f64,
}

impl Balance {
    fn of<P: Iterator<Item = Path> + Clone>(paths: P) -> Option<Self> {
        let own = paths.clone().find(|p| p.own)?;
        let (most, sum) = paths.fold((0.0_f64, 0.0), |(most, sum), p| (most.max(p.rate()), sum + p.rate()));
        Some(Self { alpha: most / own.rate(), linked: own.rate() / (own.rtt * sum * sum) })
    }
}

impl Coupling for Balia {
    fn increase<P: Iterator<Item = Path> + Clone>(&mut self, w: f64, paths: P) -> f64 {
        Balance::of(paths)
            .map_or(1.0 / w, |Balance { alpha, linked }| linked * (1.0 + alpha) / 2.0 * (4.0 + alpha) / 5.0)
    }

    fn keeps<P: Iterator<Item = Path> + Clone>(&self, paths: P) -> f64 {
        let alpha = Balance::of(paths).map_or(1.0, |balance| balance.alpha);
        1.0 - 0.5 * alpha.min(1.5)
    }
}

#[cfg(test)]
mod tests {
    use crate::algorithms::coupled::tests::on_paths;
    use crate::event::Congestion;
    use crate::rig::near;

    /// By hand: x = 200 and 100 segments a second, both 100 ms. On the faster path alpha = 1: it grows by
    /// 200 / (0.1 * 90000) = 0.022222 and keeps half. On the slower alpha = 2: 100 / 9000 * 3/2 * 6/5 = 0.02,
    /// and it keeps 1 - 0.75 of its window.
    #[test]
    fn the_slower_path_grows_by_more_and_gives_up_more() {
        let mut fast = on_paths("balia", 0, &[(20.0, 0.1, 0), (10.0, 0.1, 0)]);
        near(fast.w() - 20.0, 0.022_222, 1e-3);
        let before = fast.w();
        fast.congestion(Congestion::Loss);
        near(fast.w(), before / 2.0, 1e-6);

        let mut slow = on_paths("balia", 0, &[(10.0, 0.1, 0), (20.0, 0.1, 0)]);
        near(slow.w() - 10.0, 0.02, 1e-3);
        let before = slow.w();
        slow.congestion(Congestion::Loss);
        near(slow.w(), before / 4.0, 1e-6);
    }
}
