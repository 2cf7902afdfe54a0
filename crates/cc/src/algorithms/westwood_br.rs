//! TCP-WestwoodBR: G. Yang, R. Wang, M. Y. Sanadidi, M. Gerla: TCPW with Bulk Repeat in Next Generation
//! Wireless Networks, IEEE ICC, 2003, as far as it is known from H. Obata et al.: TCP-STAR. Westwood with a
//! test whether a loss was an error.
//!
//! Unit: segments. Valid for 1 <= cwnd < 2^40, RTT above 1 us, on a path whose propagation delay
//! does not rise for good unless `base_window` is set. The queue must have been full once: before
//! that RTTmax is too small.
//! Grade C: the original could not be read. What would decide is its loss discrimination: which measure, and
//! which thresholds. TCP-STAR's authors name its parts. Bulk Repeat retransmits all outstanding segments at
//! once (`Cut::repeat` and the sender option `bulk_repeat`). The retransmission timeout is fixed (sender
//! option `fixed_rto`). Intelligent Window Adjustment keeps cwnd, and a Loss Discrimination Algorithm
//! decides. Congestion halves the window "as well as NewReno". Reconstructed:
//!  * loss discrimination -> [`LossDiscrimination`], which TCP-STAR may have, too: the spike scheme (Tobe, Cen) is
//!    in its congested state from an RTT above RTTmin + `enter` (RTTmax - RTTmin) until one below
//!    RTTmin + `leave` (RTTmax - RTTmin). A loss is an error unless that state is on and the rate estimate
//!    b^ RTTmin is no more than `gap` W.
//!  * an error: W and T stay; all is repeated if two segments or more are known to be lost
//!    (`repeat = "always"`: in any case).
//!  * a timeout by an error: W = 1, T = b^ RTTmin and all is repeated. TCP-STAR's figure 6 shows the protocol
//!    as slow as NewReno where timeouts dominate. `keep_w_on_rto` keeps W and T.
//!  * a timeout by congestion is Westwood's; an ECN echo halves.
//!  * the RTO is fixed in both cases: the sender's option knows no causes. Westwood's decisions
//!    on the estimate hold here.

use crate::algorithms::loss_discrimination::{ENTER, GAP, LEAVE, LossDiscrimination};
use crate::algorithms::prelude::*;
use crate::algorithms::vegas::BASE_WINDOW;
use crate::algorithms::westwood::{Bandwidth, FILTER, MAX_SAMPLE, TAU, to_estimate};

pub(crate) const ENTRY: Entry = Entry {
    id: "westwood-br",
    label: "WestwoodBR",
    about: "Westwood that keeps its window when a loss looks like an error, and then retransmits all that is outstanding.",
    source: "G. Yang, R. Wang, M. Y. Sanadidi, M. Gerla: TCPW with Bulk Repeat in Next Generation Wireless Networks, IEEE ICC, 2003",
    reference: "IEEE ICC 2003, pp. 674-678",
    grade: Grade::C,
    params: WestwoodBr::PARAMS,
    sender: SenderOptions { bulk_repeat: true, fixed_rto: true, ..SenderOptions::NONE },
    colour: "#228833",
    marker: "p",
    build: |args, start| Windowed::hosted(WestwoodBr::new(args), start),
};

algorithm! {
    #[derive(Debug)]
    struct WestwoodBr {
        use ENTER, LEAVE, GAP;
        use Param::choice("repeat", &["multiple", "always"])
            .about("bulk repeat after duplicate ACKs: when two lost segments are known, or after any error");
        /// keep the window at a timeout that was an error, too
        keep_w_on_rto: bool = false;
        use FILTER, TAU, MAX_SAMPLE, BASE_WINDOW;
    }
    state(args) {
        always: bool = args.is("repeat", "always"),
        bandwidth: Bandwidth = Bandwidth::new(args),
        lda: LossDiscrimination = LossDiscrimination::new(args),
        /// `Flow::lost` at the last ACK, bytes.
        lost: u64,
    }
}

impl WestwoodBr {
    fn error(&self, w: &Window, flow: &Flow) -> bool {
        self.lda.error(self.bandwidth.window(flow), w.cwnd)
    }
}

impl Policy for WestwoodBr {
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        self.bandwidth.observe(flow, ack);
        self.lost = flow.lost;
        self.lda.observe(ack, self.bandwidth.min_secs());
    }

    fn backoff(&self, w: &Window, flow: &Flow, why: Congestion) -> Cut {
        let estimate = self.bandwidth.window(flow);
        match (why, self.error(w, flow)) {
            (Congestion::Ecn, _) | (Congestion::Loss, false) => Cut::standard(w.cwnd / 2.0, why),
            (Congestion::Loss, true) => {
                let holes = flow.lost.saturating_sub(self.lost) >= 2 * u64::from(flow.mss);
                Cut { cwnd: w.cwnd, ssthresh: w.ssthresh, repeat: self.always || holes }
            }
            (Congestion::Timeout, true) if self.keep_w_on_rto => {
                Cut { cwnd: w.cwnd, ssthresh: w.ssthresh, repeat: true }
            }
            (Congestion::Timeout, error) => Cut { repeat: error, ..to_estimate(w, estimate, why) },
        }
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("rate_segments_per_s", self.bandwidth.rate());
        emit("base_rtt_s", self.bandwidth.min_secs());
        emit("rtt_max_s", self.lda.rtt_max);
        emit("congested", f64::from(u8::from(self.lda.congested)));
    }
}

#[cfg(test)]
mod tests {
    use crate::event::Congestion;
    use crate::registry::Value;
    use crate::rig::{Rig, near, text};

    /// A path of 100 segments and 0.5 s on which the window reached `from`, whose queue
    /// is as deep as it is now.
    fn queued(given: &[(&str, Value)], from: f64) -> Rig {
        let mut rig = Rig::new("westwood-br", given, from, 2.0);
        rig.ack(0.001, 0.5, 0.5, false);
        for _ in 0..6 {
            rig.path(100.0, 0.5);
        }
        rig
    }

    /// A constant RTT says error, whatever the loss rate: the window never shrinks, and grows as Reno's.
    #[test]
    fn without_a_queue_no_loss_reduces_the_window() {
        let mut rig = Rig::new("westwood-br", &[], 50.0, 2.0);
        for loss in 1..=40_u32 {
            rig.round(0.5);
            let before = rig.w();
            rig.congestion(Congestion::Loss);
            assert_eq!(rig.w(), before);
            near(before, 50.0 + f64::from(loss), 0.01);
        }
    }

    /// A loss that finds a full queue of a bandwidth-delay product is congestion: half. A queue that has
    /// drained since, or one so small that the rate explains the window, is none.
    #[test]
    fn a_full_queue_says_congestion() {
        let mut rig = queued(&[], 200.0);
        let before = rig.w();
        for why in [Congestion::Ecn, Congestion::Loss] {
            assert!(!rig.cc.backoff(&rig.flow, why).repeat);
        }
        rig.congestion(Congestion::Loss);
        near(rig.w(), before / 2.0, 1e-6);
        near(rig.t(), before / 2.0, 1e-6);

        let mut rig = queued(&[], 200.0);
        rig.round(0.5); // an RTT as on the empty path
        let before = rig.w();
        rig.congestion(Congestion::Loss);
        assert_eq!(rig.w(), before);

        for (from, kept) in [(110.0, true), (140.0, false)] {
            let mut rig = queued(&[], from);
            let before = rig.w();
            rig.congestion(Congestion::Loss);
            near(rig.w(), if kept { before } else { before / 2.0 }, 1e-6);
        }
    }

    /// The state is held between the two thresholds.
    #[test]
    fn the_spike_scheme_has_a_hysteresis() {
        let mut rig = Rig::new("westwood-br", &[], 10.0, 2.0);
        for (rtt, congested) in [
            (0.5, 0.0),
            (0.6, 1.0), // RTTmax itself
            (1.0, 1.0),
            (0.65, 1.0), // between 0.525 and 0.7
            (0.53, 1.0),
            (0.52, 0.0),
            (0.69, 0.0),
            (0.71, 1.0),
        ] {
            rig.ack(0.001, 0.1, rtt, false);
            let mut found = f64::NAN;
            rig.cc.probe(&mut |name, value| {
                if name == "congested" {
                    found = value;
                }
            });
            assert_eq!(found, congested, "{rtt} s");
        }
    }

    /// Bulk repeat: at an error with two lost segments or more, or always by parameter;
    /// at a timeout by an error.
    #[test]
    fn bulk_repeat() {
        for (repeat, lost, expected) in
            [("multiple", 1, false), ("multiple", 2, true), ("always", 1, true), ("always", 0, true)]
        {
            let mut rig = Rig::new("westwood-br", &[("repeat", text(repeat))], 50.0, 2.0);
            rig.flow.lost = 7_000_000;
            rig.round(0.5);
            rig.flow.lost += lost * u64::from(rig.flow.mss);
            assert_eq!(rig.cc.backoff(&rig.flow, Congestion::Loss).repeat, expected, "{repeat}, {lost}");
            assert!(rig.cc.backoff(&rig.flow, Congestion::Timeout).repeat);
            assert!(!rig.cc.backoff(&rig.flow, Congestion::Ecn).repeat);
        }
        assert!(!queued(&[], 200.0).cc.backoff(&queued(&[], 200.0).flow, Congestion::Timeout).repeat);
    }

    /// A timeout: one segment and T = b^ RTTmin in both cases, unless errors are to keep the window.
    #[test]
    fn timeouts() {
        for (keep, from) in [(false, 100.0), (false, 200.0), (true, 100.0), (true, 200.0)] {
            let mut rig = queued(&[("keep_w_on_rto", Value::Flag(keep))], from);
            let before = (rig.w(), rig.t());
            let error = from < 150.0;
            rig.congestion(Congestion::Timeout);
            if keep && error {
                assert_eq!((rig.w(), rig.t()), before);
                rig.congestion(Congestion::Timeout);
                assert_eq!((rig.w(), rig.t()), before);
            } else {
                assert_eq!(rig.w(), 1.0);
                near(rig.t(), 100.0, 0.03);
            }
        }
    }
}
