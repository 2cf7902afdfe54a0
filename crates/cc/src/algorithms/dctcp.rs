//! DCTCP: M. Alizadeh, A. Greenberg, D. A. Maltz, J. Padhye, P. Patel, B. Prabhakar, S. Sengupta, M.
//! Sridharan: Data Center TCP (DCTCP), ACM SIGCOMM, 2010; S. Bensley, D. Thaler, P. Balasubramanian, L.
//! Eggert, G. Judd: Data Center TCP (DCTCP), RFC 8257, 2017.
//!
//! Unit: segments. Valid for 1 <= cwnd < 2^40.
//! Equations:
//!  * alpha = (1 - g) alpha + g F once per window, F being the share of bytes acknowledged as marked (paper
//!    eq. 1, RFC 8257 section 3.3) -> `observe`.
//!  * W (1 - alpha/2) once per window with marks (paper eq. 2, RFC section 3.3) -> `backoff`.
//!  * growth of Reno, the default of [`Policy`].
//!
//! The receiver's part, an exact echo of marks, is an option of the connection, `ecn = "dctcp"`, for which
//! the entry asks. With the echo of RFC 3168 alpha is the share of bytes acknowledged between a mark and CWR,
//! which is more than was marked.
//! Decisions:
//!  * the window of observation is a round of the sender (`Ack::round_end`), which begins with the next
//!    segment sent, as DCTCP.WindowEnd.
//!  * alpha is 1 at first (RFC 8257 section 3.3), so that the first mark halves the window.
//!    The paper leaves it open.
//!  * an acknowledgement that ends a window and asks for a reduction reduces by the alpha of before, since
//!    congestion is reported ahead of the acknowledgement. The RFC updates alpha first. It differs by one
//!    acknowledgement in a window.
//!  * a loss halves the window (RFC 8257 section 3.4), and so does a timeout for ssthresh.
//!  * a window that marks cut below two segments stays at two (RFC 8257 leaves the least window to the
//!    implementation; Linux has two).
//!  * idle restart: alpha stays, as RFC 8257 says nothing of pauses.
//!
//! The rules of the paper and of the RFC are from knowledge of them; the rules of the receiver were compared
//! with Linux (tcp_dctcp.h, 6.1).

use crate::algorithms::prelude::*;
use crate::registry::Marks;

pub(crate) const ENTRY: Entry = Entry {
    id: "dctcp",
    label: "DCTCP",
    about: "Cuts the window by half of the smoothed share of marked bytes; for queues that mark above a threshold.",
    source: "M. Alizadeh et al.: Data Center TCP (DCTCP), ACM SIGCOMM, 2010; S. Bensley et al., RFC 8257, 2017",
    reference: "RFC 8257",
    grade: Grade::B,
    params: MarkedShare::PARAMS,
    sender: SenderOptions { marks: Marks::Dctcp, ..SenderOptions::NONE },
    colour: "#bbcc33",
    marker: "o",
    build: |args, start| Windowed::hosted(Dctcp { share: MarkedShare::new(args) }, start),
};

algorithm! {
    /// The smoothed share of marked bytes.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct MarkedShare {
        /// weight of the last window in alpha
        g: f64 = 0.0625, 1e-4..=1.0, "1";
        use Param::number("alpha", 1.0, 0.0..=1.0).unit("1").about("share of marked bytes assumed at first");
    }
    state(args) {
        pub(crate) alpha: f64 = args.number("alpha"),
        acked: u64,
        marked: u64,
    }
}

impl MarkedShare {
    /// Counts what is acknowledged and what of it was marked.
    pub(crate) fn count(&mut self, ack: &Ack) {
        self.acked = self.acked.saturating_add(ack.acked);
        self.marked = self.marked.saturating_add(ack.ce);
    }

    /// A window of observation is over.
    pub(crate) fn end_window(&mut self) {
        if self.acked > 0 {
            let share = (self.marked as f64 / self.acked as f64).min(1.0);
            self.alpha += self.g * (share - self.alpha); // eq. 1
        }
        self.forget();
    }

    /// Begins a window of observation anew.
    pub(crate) fn forget(&mut self) {
        (self.acked, self.marked) = (0, 0);
    }
}

#[derive(Debug)]
struct Dctcp {
    share: MarkedShare,
}

/// The least window that marks may leave, in segments.
const LEAST: f64 = 2.0;

impl Policy for Dctcp {
    fn observe(&mut self, _flow: &Flow, ack: &Ack) {
        self.share.count(ack);
        if ack.round_end {
            self.share.end_window();
        }
    }

    fn backoff(&self, w: &Window, _flow: &Flow, why: Congestion) -> Cut {
        match why {
            Congestion::Ecn => {
                let target = (w.cwnd * (1.0 - self.share.alpha / 2.0)).max(LEAST.min(w.cwnd)); // eq. 2
                Cut::standard(target, why)
            }
            Congestion::Loss | Congestion::Timeout => Cut::standard(w.cwnd / 2.0, why), // RFC 8257 section 3.4
        }
    }

    fn needs(&self) -> Needs {
        Needs { losses_after_marks: true, ..Needs::default() }
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("alpha", self.share.alpha);
    }
}

#[cfg(test)]
mod tests {
    use crate::event::Congestion;
    use crate::registry::Value;
    use crate::rig::{Rig, near, probe};

    /// Eq. 1 with g = 1/16 from alpha = 0: a window wholly marked gives 1/16, the next one with a quarter
    /// marked gives 15/256 + 1/64.
    #[test]
    fn alpha_is_the_smoothed_share_of_marked_bytes() {
        let mut rig = Rig::new("dctcp", &[("alpha", Value::Number(0.0))], 8.0, 2.0);
        rig.marked(8.0, 8.0, 0.001, true);
        near(probe(&*rig.cc, "alpha"), 0.0625, 1e-12);
        rig.marked(6.0, 0.0, 0.001, false);
        rig.marked(2.0, 2.0, 0.001, true);
        near(probe(&*rig.cc, "alpha"), 15.0 / 256.0 + 1.0 / 64.0, 1e-12);
        for _ in 0..400 {
            rig.marked(8.0, 2.0, 0.001, true);
        }
        near(probe(&*rig.cc, "alpha"), 0.25, 1e-9);
    }

    /// Eq. 2, and RFC 8257 section 3.4: a loss halves.
    #[test]
    fn a_mark_cuts_by_half_of_alpha_and_a_loss_by_half() {
        for (alpha, why, left) in [
            (1.0, Congestion::Ecn, 50.0),
            (0.25, Congestion::Ecn, 87.5),
            (0.25, Congestion::Loss, 50.0),
            (0.0, Congestion::Ecn, 100.0),
        ] {
            let mut rig = Rig::new("dctcp", &[("alpha", Value::Number(alpha))], 100.0, 2.0);
            rig.congestion(why);
            near(rig.w(), left, 1e-9);
        }
        let mut rig = Rig::new("dctcp", &[], 2.5, 2.0);
        rig.congestion(Congestion::Ecn);
        near(rig.w(), 2.0, 1e-9);
    }
}
