//! FAST TCP: D. X. Wei, C. Jin, S. H. Low, S. Hegde: FAST TCP: Motivation, Architecture, Algorithms,
//! Performance, IEEE/ACM Transactions on Networking 14(6), 2006. A window that is set from the queueing delay
//! rather than moved by it.
//!
//! Unit: segments. Valid for 1 <= cwnd < 2^40, RTT above 1 us, on a path whose propagation delay does not
//! rise for good unless `base_window` is set. Meant for a sender that paces: the window may change by up
//! to its own size at once.
//! Rule: W = min(2 W, (1 - gamma) W + gamma (W baseRTT / RTT + alpha)) per update, so that alpha segments
//! queue in equilibrium -> `avoid`.
//! The paper could not be read. The rule was compared with the ns-2 module of the University of Melbourne (T.
//! Cui, L. Andrew: tcp-fast.cc 1.1.3, 2007). Equal: the update with gamma = 1/2, but for the bound 2 W, which
//! the module lacks, and the half at a loss. The module differs: W beside baseRTT / RTT is that of the time
//! when the acknowledged segment was sent. RTT is a mean of the last 256 ACKs or W / 3. Updates come every
//! other RTT "as in Linux" (`period = "alternate"`), spread over ACKs. W grows by one an ACK while the
//! queueing delay is below a threshold.
//! Decisions:
//!  * an update per round trip, at its end, from its mean RTT; `period = "alternate"` is every other
//!    round trip, as the paper's window needs a round trip to show in the RTT. Rounds that touch
//!    recovery are not measured.
//!  * alpha follows the flow's own rate unless given: 8 segments up to 10 Mbit/s of payload,
//!    20 up to 100, 200 above.
//!  * slow start is RFC 5681's and ends, with T = W, when a round's mean RTT exceeds baseRTT by more than
//!    `start_queue` of it. Its bursts alone make a mean queue of a quarter of the window that a round starts
//!    with. So 1/16 is met when the window is between half and all of the bandwidth-delay product, whatever
//!    that is. (A number of segments is met long before that on a long path.)
//!  * T follows the window down, so that an update never leads back into slow start. A
//!    loss, or an ECN echo, halves.

use crate::algorithms::prelude::*;
use crate::algorithms::vegas::{BASE_WINDOW, Gauge};
use crate::round::Measured;

pub(crate) const ENTRY: Entry = Entry {
    id: "fast",
    label: "FAST TCP",
    about: "Sets the window once per round trip so that a fixed number of segments stays queued.",
    source: "D. X. Wei, C. Jin, S. H. Low, S. Hegde: FAST TCP: Motivation, Architecture, Algorithms, Performance, IEEE/ACM Trans. Netw. 14(6), 2006; compared with the ns-2 module tcp-fast.cc 1.1.3",
    reference: "doi:10.1109/TNET.2006.886335",
    grade: Grade::B,
    params: Fast::PARAMS,
    sender: SenderOptions::NONE,
    colour: "#ee3377",
    marker: "3",
    build: |args, start| Windowed::hosted(Fast::new(args), start),
};

algorithm! {
    #[derive(Debug)]
    struct Fast {
        use Param::number("alpha", 20.0, 0.0..=1e5)
            .unit("segments")
            .about("segments that each flow keeps queued; 8, 20 or 200 by the flow's rate unless given");
        /// share of the way to the new window that an update goes
        gamma: f64 = 0.5, 0.01..=1.0, "1";
        use Param::choice("period", &["round", "alternate"])
            .about("update every round trip, or every other one");
        /// slow start ends when the queueing delay exceeds this share of baseRTT
        start_queue: f64 = 0.0625, 0.0..=10.0, "1";
        use BASE_WINDOW;
    }
    state(args) {
        /// `None`: by the flow's rate.
        alpha: Option<f64> = args.given("alpha").then(|| args.number("alpha")),
        alternate: bool = args.is("period", "alternate"),
        gauge: Gauge = Gauge::new(args),
        /// `alternate`: the next round is left out.
        rest: bool,
    }
}

impl Fast {
    /// alpha after a round that measured this.
    fn alpha(&self, round: &Measured) -> f64 {
        let bits_per_s = 8.0 * round.acked as f64 / round.rtt.mean_secs().max(1e-9);
        self.alpha.unwrap_or(match bits_per_s {
            r if r <= 10e6 => 8.0,
            r if r <= 100e6 => 20.0,
            _ => 200.0,
        })
    }
}

impl Policy for Fast {
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        self.gauge.observe(flow, ack, flow.phase == Phase::Recovery);
    }

    fn refuses_slow_start(&self) -> Option<&'static str> {
        Some("its slow start ends by a measure of the queue of its own, start_queue")
    }

    fn slow_start(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) -> f64 {
        let limit = self.gauge.base_secs() * (1.0 + self.start_queue);
        if self.gauge.close().is_some_and(|round| round.rtt.mean_secs() > limit) {
            w.ssthresh = w.cwnd.max(2.0);
            return 0.0;
        }
        exponential(w, ack.segments(flow))
    }

    fn avoid(&mut self, w: &mut Window, _flow: &Flow, _ack: &Ack) {
        let Some(round) = self.gauge.close() else { return };
        self.rest = self.alternate && !self.rest;
        if self.rest {
            return;
        }
        let fits = w.cwnd - self.gauge.diff(w.cwnd, round.rtt.mean_secs()); // W baseRTT / RTT
        let target = (1.0 - self.gamma) * w.cwnd + self.gamma * (fits + self.alpha(&round));
        w.cwnd = target.clamp(1.0, 2.0 * w.cwnd);
        w.ssthresh = w.ssthresh.min(w.cwnd);
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("base_rtt_s", self.gauge.base_secs());
    }
}

#[cfg(test)]
mod tests {
    use crate::event::Congestion;
    use crate::registry::Value;
    use crate::rig::{Rig, near, text};

    fn given(alpha: f64) -> [(&'static str, Value); 1] {
        [("alpha", Value::Number(alpha))]
    }

    /// The rule's equilibrium: alpha segments queue, from either side, whatever alpha, gamma and period.
    #[test]
    fn alpha_segments_queue_in_equilibrium() {
        for (alpha, gamma, period) in
            [(8.0, 0.5, "round"), (20.0, 0.5, "round"), (100.0, 0.2, "round"), (20.0, 0.5, "alternate")]
        {
            for from in [150.0, 800.0] {
                let given = [
                    ("alpha", Value::Number(alpha)),
                    ("gamma", Value::Number(gamma)),
                    ("period", text(period)),
                ];
                let mut rig = Rig::new("fast", &given, from, 2.0);
                rig.ack(1e-6, 0.5, 0.5, false);
                for _ in 0..300 {
                    rig.path(300.0, 0.5);
                }
                near(rig.w(), 300.0 + alpha, 1e-3);
            }
        }
    }

    /// Near equilibrium, with the RTT of the present window, an update leaves 1 - gamma RTT's
    /// queue share of the error.
    #[test]
    fn the_error_shrinks_geometrically() {
        let mut rig = Rig::new("fast", &given(100.0), 420.0, 2.0);
        rig.ack(1e-6, 0.5, 0.5, false);
        let mut error = rig.w() - 400.0;
        for _ in 0..10 {
            rig.path(300.0, 0.5);
            let now = rig.w() - 400.0;
            near(now / error, 0.5, 0.06); // W baseRTT / RTT is the BDP: (1 - gamma) of the error is left
            error = now;
            if error < 1.0 {
                break;
            }
        }
    }

    /// On an empty path the window grows by gamma alpha per update, but at most to twice itself.
    #[test]
    fn growth_on_an_empty_path() {
        for (alpha, period, rounds, expected) in
            [(20.0, "round", 3, 130.0), (20.0, "alternate", 4, 120.0), (1e4, "round", 3, 800.0)]
        {
            let given = [("alpha", Value::Number(alpha)), ("period", text(period))];
            let mut rig = Rig::new("fast", &given, 100.0, 2.0);
            for _ in 0..rounds {
                rig.round(0.5);
            }
            near(rig.w(), expected, 1e-6);
        }
    }

    /// 8, 20 or 200 segments by the flow's rate; the rig's segments have 8 Mbit.
    #[test]
    fn alpha_follows_the_rate() {
        for (w, rtt, alpha) in
            [(100.0, 90.0, 8.0), (100.0, 70.0, 20.0), (100.0, 9.0, 20.0), (100.0, 7.0, 200.0)]
        {
            let mut rig = Rig::new("fast", &[], w, 2.0);
            rig.round(rtt);
            near(rig.w() - w, (0.5_f64 * alpha).min(w), 1e-6);
        }
    }

    /// Slow start ends in the first round whose mean RTT is 1/16 longer than the shortest,
    /// and the updates take over.
    #[test]
    fn slow_start_ends_when_a_queue_shows() {
        for (rtt, ends) in [(0.53, false), (0.532, true)] {
            let mut rig = Rig::new("fast", &given(20.0), 10.0, f64::INFINITY);
            rig.round(0.5);
            rig.round(rtt);
            assert_eq!(rig.t() < 41.0, ends);
            near(rig.w(), if ends { 39.0 } else { 40.0 }, 1e-6); // the ACK that shows it does not grow the window
        }
        let mut rig = Rig::new("fast", &given(20.0), 10.0, f64::INFINITY);
        for _ in 0..70 {
            rig.path(100.0, 0.5);
        }
        near(rig.w(), 120.0, 0.01);
    }

    #[test]
    fn congestion_halves() {
        for (why, w) in [(Congestion::Loss, 60.0), (Congestion::Ecn, 60.0), (Congestion::Timeout, 1.0)] {
            let mut rig = Rig::new("fast", &[], 120.0, 2.0);
            rig.congestion(why);
            assert_eq!((rig.w(), rig.t()), (w, 60.0));
        }
    }
}
