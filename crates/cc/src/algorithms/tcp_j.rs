//! TCP-J: N. Sato, M. Kunishi, F. Teraoka: TCP-J: New Transport Protocol for Wireless Network
//! Environments, Journal of IPSJ 43(12), 2002, as far as it is known from H. Obata et al.: TCP-STAR, whose
//! equation numbers are used here.
//!
//! Unit: segments. Valid for 1 <= cwnd < 2^40, RTT above 1 us, on a path whose propagation
//! delay does not rise for good.
//! Equations: (2) bandwidth sample and (3) its smoothing, the available-bandwidth estimate
//! ABE -> [`Abe::add`], shared with TCP-STAR. Growth is Reno's.
//! Grade C: the original is in Japanese and could not be read. What would decide is its rule after a loss.
//! TCP-STAR's authors say that it "sets cwnd and ssthresh by taking into account the estimated bandwidth
//! after data losses", and that it differs from Westwood by its estimate. Hence:
//!  * after duplicate ACKs T = max(2, BW RTTmin) and W = min(W, T); after a timeout the same T and
//!    W = 1 (Westwood's rule).
//!  * `raise` sets W = T even where that is more than W, which the words allow as well.
//!  * ECN is answered as a loss. What ABE counts is said at TCP-STAR.

use crate::algorithms::abe::{Abe, BW_SAMPLES};
use crate::algorithms::prelude::*;
use crate::algorithms::westwood::to_estimate;

pub(crate) const ENTRY: Entry = Entry {
    id: "tcp-j",
    label: "TCP-J",
    about: "Westwood with another bandwidth estimate: smoothed per ACK instead of per time.",
    source: "N. Sato, M. Kunishi, F. Teraoka: TCP-J: New Transport Protocol for Wireless Network Environments, J. IPSJ 43(12), 2002",
    reference: "J. IPSJ 43(12), pp. 3848-3858 (Japanese)",
    grade: Grade::C,
    params: TcpJ::PARAMS,
    sender: SenderOptions::NONE,
    colour: "#ee6677",
    marker: "h",
    build: |args, start| Windowed::hosted(TcpJ::new(args), start),
};

algorithm! {
    #[derive(Debug)]
    struct TcpJ {
        /// after a loss go to the estimate even if it lies above the window
        raise: bool = false;
        use BW_SAMPLES;
    }
    state(args) {
        abe: Abe = Abe::new(args),
        /// BW RTTmin as of the last ACK, segments; for traces.
        estimate: f64,
    }
}

impl Policy for TcpJ {
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        self.abe.observe(flow, ack); // eq. 2 and 3
        if ack.acked > 0 {
            self.estimate = self.abe.window(flow);
        }
    }

    fn backoff(&self, w: &Window, flow: &Flow, why: Congestion) -> Cut {
        let estimate = self.abe.window(flow);
        if self.raise { Cut::standard(estimate.max(2.0), why) } else { to_estimate(w, estimate, why) }
    }

    fn on(&mut self, _w: &mut Window, _flow: &Flow, event: Event<'_>) {
        if let Event::Life(Life::IdleRestart) = event {
            self.abe.pause();
        }
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("estimate_segments", self.estimate);
    }
}

#[cfg(test)]
mod tests {
    use crate::event::{Congestion, Event, Life};
    use crate::registry::Value;
    use crate::rig::{Rig, near};

    /// Westwood's rule: random loss on an empty path gives nothing up, a queue is emptied, and a
    /// timeout leaves one segment.
    #[test]
    fn the_window_goes_to_the_estimate() {
        let mut rig = Rig::new("tcp-j", &[], 200.0, 2.0);
        for _ in 0..3 {
            rig.round(0.5);
        }
        let before = rig.w();
        rig.congestion(Congestion::Loss);
        near(rig.w(), before, 0.01);

        for why in [Congestion::Loss, Congestion::Ecn, Congestion::Timeout] {
            let mut rig = Rig::new("tcp-j", &[], 150.0, 2.0);
            rig.ack(0.001, 0.5, 0.5, false);
            for _ in 0..3 {
                rig.path(100.0, 0.5);
            }
            rig.congestion(why);
            near(rig.w(), if why == Congestion::Timeout { 1.0 } else { 100.0 }, 0.01);
            near(rig.t(), 100.0, 0.01);
        }
    }

    /// An estimate above the window: W stays and T is the estimate; with `raise` W goes there too.
    /// An idle time is no sample.
    #[test]
    fn an_estimate_above_the_window() {
        for raise in [false, true] {
            let mut rig = Rig::new("tcp-j", &[("raise", Value::Flag(raise))], 14.0, 2.0);
            for _ in 0..60 {
                rig.ack(1.0, 0.01, 0.5, false);
            }
            rig.flow.now = rig.flow.now + crate::time::Span::from_millis(60_000);
            rig.cc.on(&rig.flow, Event::Life(Life::IdleRestart));
            rig.ack(1.0, 0.0, 0.5, false);
            let before = rig.w();
            rig.congestion(Congestion::Loss);
            near(rig.w(), if raise { 50.0 } else { before }, 0.01);
            near(rig.t(), 50.0, 0.01);
        }
    }
}
