//! TCP Westwood: S. Mascolo, C. Casetti, M. Gerla, M. Y. Sanadidi, R. Wang: TCP Westwood: Bandwidth
//! Estimation for Enhanced Transport over Wireless Links, ACM MobiCom, 2001. Reno that sets its window to the
//! measured rate at a loss.
//!
//! Unit: segments. Valid for 1 <= cwnd < 2^40, RTT above 1 us, on a path whose propagation delay does not
//! rise for good unless `base_window` is set.
//! Rules (section 2): sample b_k = d_k / (t_k - t_(k-1)) and its low-pass filter b^_k -> [`Bandwidth::add`].
//! After duplicate ACKs T = b^ RTTmin and W = min(W, T), after a timeout T = b^ RTTmin and
//! W = 1 -> [`to_estimate`]. Growth is Reno's. The paper could not be read. The rules were compared with the
//! authors' module for ns-2 (M. Valla, tcp-westwood.cc v1.3, 2002).
//! Equal: both answers to congestion, alpha_k and its 3/5 for a virtual sample, the count of duplicate ACKs.
//! The module differs: `filter = "constant"` is its default (rounded to .9047 and .0476), its tau is 1 s, an
//! ACK counts for two segments at most, and timeouts in slow start divide T by their number (up to 4).
//! Decisions where the paper is silent:
//!  * d_k counts a duplicate ACK as one segment and the cumulative ACK that follows as that much less (the
//!    paper's correction). ACKs at the same instant are added up; the first ACK only starts the clock.
//!  * the virtual samples b = 0 of a silence of more than tau/2 are spread evenly over it, so
//!    that the step before the next real sample is never arbitrarily short. At a timeout those
//!    that are due have been taken.
//!  * `filter = "constant"` is ns-2's module: weights 19/21, 1/21, 1/21 per ACK whatever the
//!    time, and no virtual samples.
//!  * compressed ACKs overstate the rate by the ratio of burst to link rate; `max_sample` bounds
//!    b_k (off, as published).
//!  * ECN is answered as duplicate ACKs are.

use crate::algorithms::prelude::*;
use crate::algorithms::vegas::{BASE_WINDOW, base_rtt};
use crate::filter::WindowedMin;

pub(crate) const ENTRY: Entry = Entry {
    id: "westwood",
    label: "Westwood",
    about: "Reno that measures the rate of its ACKs and goes to rate x RTTmin at a loss, instead of to half.",
    source: "S. Mascolo, C. Casetti, M. Gerla, M. Y. Sanadidi, R. Wang: TCP Westwood: Bandwidth Estimation for Enhanced Transport over Wireless Links, MobiCom, 2001; compared with the authors' ns-2 module, tcp-westwood.cc v1.3",
    reference: "doi:10.1145/381677.381704",
    grade: Grade::B,
    params: &[FILTER, TAU, MAX_SAMPLE, BASE_WINDOW],
    sender: SenderOptions::NONE,
    colour: "#336677",
    marker: "<",
    build: |args, start| Windowed::hosted(Westwood::new(args), start),
};

/// See the head of this file.
pub(crate) const FILTER: Param = Param::choice("filter", &["tustin", "constant"]).about(
    "filter of the rate: by time with constant tau (paper), or by ACK with weights 19/21, 1/21, 1/21 (ns-2)",
);

/// See the head of this file.
pub(crate) const TAU: Param = Param::number("tau", 0.5, 0.01..=100.0)
    .unit("s")
    .about("time constant of filter = tustin; a silence of tau/2 counts as a sample of rate 0");

/// See the head of this file.
pub(crate) const MAX_SAMPLE: Param = Param::number("max_sample", 0.0, 0.0..=1e9)
    .unit("segments/s")
    .about("largest rate that a sample may have, against compressed ACKs; 0: no limit, as published");

/// Westwood's rate estimate with the RTTmin that turns it into a window.
#[derive(Clone, Debug)]
pub(crate) struct Bandwidth {
    tau: f64,
    constant: bool,
    max_sample: f64,
    /// b^, segments per second.
    rate: f64,
    /// b_(k-1), segments per second.
    last: f64,
    at: Option<Time>,
    pending: f64,
    base: WindowedMin,
}

impl Bandwidth {
    /// An estimate of 0 with the parameters [`FILTER`], [`TAU`], [`MAX_SAMPLE`] and
    /// [`BASE_WINDOW`] of `args`.
    pub(crate) fn new(args: &Args) -> Self {
        let max_sample = args.number(MAX_SAMPLE.name);
        Self {
            tau: args.number(TAU.name),
            constant: args.is(FILTER.name, "constant"),
            max_sample: if max_sample > 0.0 { max_sample } else { f64::INFINITY },
            base: base_rtt(args),
            ..Self::published()
        }
    }

    /// An estimate of 0 by the rules of the paper.
    pub(crate) fn published() -> Self {
        let base = WindowedMin::new(Span::MAX);
        let (tau, max_sample) = (0.5, f64::INFINITY);
        Self { tau, constant: false, max_sample, rate: 0.0, last: 0.0, at: None, pending: 0.0, base }
    }

    /// Takes an ACK.
    pub(crate) fn observe(&mut self, flow: &Flow, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.base.add(flow.now, rtt.min);
        }
        if ack.acked > 0 {
            self.add(ack.segments(flow), flow.now);
        }
    }

    /// Takes `segments` acknowledged at `now`.
    fn add(&mut self, segments: f64, now: Time) {
        let Some(at) = self.at else {
            self.at = Some(now);
            return;
        };
        self.pending += segments;
        if now == at {
            return;
        }
        let mut step = now.since(at).secs();
        if !self.constant {
            let parts = libm::ceil(2.0 * step / self.tau).max(1.0);
            step /= parts;
            (self.rate, self.last) = self.silence(parts - 1.0, step);
        }
        let sample = (self.pending / step).min(self.max_sample); // b_k
        let keep = self.keep(step);
        self.rate = keep * self.rate + (1.0 - keep) * (sample + self.last) / 2.0; // b^_k
        self.last = sample;
        self.at = Some(now);
        self.pending = 0.0;
    }

    /// alpha_k = (2 tau - step) / (2 tau + step).
    fn keep(&self, step: f64) -> f64 {
        if self.constant { 19.0 / 21.0 } else { (2.0 * self.tau - step) / (2.0 * self.tau + step) }
    }

    /// b^ and b_(k-1) after `count` virtual samples b = 0, `step` seconds apart.
    fn silence(&self, count: f64, step: f64) -> (f64, f64) {
        if count < 1.0 {
            return (self.rate, self.last);
        }
        let keep = self.keep(step);
        let first = keep * self.rate + (1.0 - keep) * self.last / 2.0;
        (first * libm::pow(keep, count - 1.0), 0.0)
    }

    /// b^ RTTmin at the flow's present instant, in segments; 0 before the first RTT sample.
    pub(crate) fn window(&self, flow: &Flow) -> f64 {
        let silent = self.at.map_or(0.0, |at| flow.now.since(at).secs());
        let due = if self.constant { 0.0 } else { libm::floor(2.0 * silent / self.tau) };
        let (rate, _) = self.silence(due, self.tau / 2.0);
        self.base.get().map_or(0.0, |min| rate * min.secs())
    }

    /// b^ in segments per second.
    pub(crate) fn rate(&self) -> f64 {
        self.rate
    }

    /// RTTmin in seconds; infinite before the first sample.
    pub(crate) fn min_secs(&self) -> f64 {
        self.base.get().map_or(f64::INFINITY, Span::secs)
    }
}

/// Westwood's answer to congestion: T is the estimate (at least two segments) and W is lowered
/// to it, but never raised.
pub(crate) fn to_estimate(w: &Window, estimate: f64, why: Congestion) -> Cut {
    let target = estimate.max(2.0);
    let cwnd = if why == Congestion::Timeout { 1.0 } else { w.cwnd.min(target) };
    Cut { cwnd, ssthresh: target, repeat: false }
}

#[derive(Debug)]
struct Westwood {
    bandwidth: Bandwidth,
}

impl Westwood {
    fn new(args: &Args) -> Self {
        Self { bandwidth: Bandwidth::new(args) }
    }
}

impl Policy for Westwood {
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        self.bandwidth.observe(flow, ack);
    }

    fn backoff(&self, w: &Window, flow: &Flow, why: Congestion) -> Cut {
        to_estimate(w, self.bandwidth.window(flow), why)
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("rate_segments_per_s", self.bandwidth.rate());
        emit("base_rtt_s", self.bandwidth.min_secs());
    }
}

#[cfg(test)]
mod tests {
    use super::Bandwidth;
    use crate::event::Congestion;
    use crate::registry::Value;
    use crate::rig::{Rig, args, near, text};
    use crate::time::{Span, Time};

    fn estimate(given: &[(&str, Value)]) -> Bandwidth {
        Bandwidth::new(&args("westwood", given))
    }

    /// Both filters tend to a constant ACK rate: within 2 s (4 tau) or 100 ACKs from zero.
    #[test]
    fn a_constant_ack_rate_is_the_estimate() {
        for filter in ["tustin", "constant"] {
            for rate in [4.0, 10.0, 863.3, 1e5] {
                let mut b = estimate(&[("filter", text(filter))]);
                for k in 0..=(100.0_f64).max(4.0 * rate) as u32 {
                    b.add(1.0, Time((f64::from(k) * 1e9 / rate) as u64));
                }
                near(b.rate(), rate, 0.02);
            }
        }
    }

    /// The step response of the paper's filter is that of a first-order low-pass with time constant tau.
    #[test]
    fn tau_is_the_time_constant() {
        let mut b = estimate(&[]);
        for ms in 0..=500 {
            b.add(1.0, Time(ms * 1_000_000));
        }
        near(b.rate(), 1000.0 * (1.0 - libm::exp(-1.0)), 0.005);
    }

    /// Each tau/2 without an ACK is a sample of zero: (2 tau - tau/2) / (2 tau + tau/2) = 0.6 remains of
    /// the estimate. A long silence costs no more than a short one, and data that comes after it is
    /// spread over tau/4 or more.
    #[test]
    fn silence_lowers_the_estimate() {
        let mut b = estimate(&[]);
        (b.rate, b.last, b.at) = (1000.0, 1000.0, Some(Time(0)));
        b.base.add(Time(0), Span::from_millis(500));
        let mut rig = Rig::new("westwood", &[], 10.0, 2.0);
        let mut expected = 1000.0;
        for quarter in 0..5_u32 {
            rig.flow.now = Time(0) + Span::from_secs(0.01 + 0.25 * f64::from(quarter));
            near(b.window(&rig.flow), expected * 0.5, 1e-9);
            expected = expected * 0.6 + if quarter == 0 { 0.2 * 1000.0 } else { 0.0 };
        }
        let rate = b.rate;
        b.add(1.0, Time(u64::MAX));
        assert!(b.rate < 2.0 && rate == 1000.0);

        (b.rate, b.last, b.at) = (0.0, 0.0, Some(Time(0)));
        b.add(1.0, Time(250_000_001));
        near(b.last, 8.0, 1e-6);
    }

    /// A burst is one sample; its rate can be bounded.
    #[test]
    fn acks_at_one_instant_are_added_up_and_samples_can_be_bounded() {
        for (given, sample) in [(&[][..], 750.0), (&[("max_sample", Value::Number(200.0))][..], 200.0)] {
            let mut b = estimate(given);
            for (n, ms) in [(1.0, 0), (2.0, 0), (1.0, 10), (2.0, 10), (1.0, 14)] {
                b.add(n, Time(ms * 1_000_000));
            }
            near(b.last, sample, 1e-9); // 2 + 1 segments within the last 4 ms
        }
    }

    /// Random loss on an empty path: the ACK rate x RTTmin is the window itself, and nothing is given up.
    #[test]
    fn random_loss_with_an_empty_queue_reduces_nothing() {
        let mut rig = Rig::new("westwood", &[], 200.0, 2.0);
        for _ in 0..10 {
            rig.round(0.5);
        }
        let before = rig.w();
        for why in [Congestion::Loss, Congestion::Ecn] {
            rig.congestion(why);
            near(rig.w(), before, 0.015); // the filter lags behind the growth
        }
        rig.congestion(Congestion::Timeout);
        assert_eq!(rig.w(), 1.0);
        near(rig.t(), before, 0.015);
    }

    /// With a queue the window goes to the bandwidth-delay product, whatever stood in the queue.
    #[test]
    fn a_full_queue_is_emptied() {
        for filter in ["tustin", "constant"] {
            for from in [120.0, 150.0, 200.0] {
                let mut rig = Rig::new("westwood", &[("filter", text(filter))], from, 2.0);
                rig.ack(0.001, 0.5, 0.5, false);
                for _ in 0..10 {
                    rig.path(100.0, 0.5);
                }
                rig.congestion(Congestion::Loss);
                near(rig.w(), 100.0, 0.01);
                near(rig.t(), 100.0, 0.01);
            }
        }
    }

    /// W is not raised when the estimate lies above it; slow start leads up to T then. Without a
    /// sample T is two segments.
    #[test]
    fn the_estimate_never_raises_the_window() {
        let mut rig = Rig::new("westwood", &[], 10.0, 2.0);
        for _ in 0..300 {
            rig.ack(1.0, 0.01, 0.5, false);
        }
        let before = rig.w();
        assert!(before < 40.0);
        rig.congestion(Congestion::Loss);
        assert_eq!(rig.w(), before);
        near(rig.t(), 50.0, 0.01);

        let mut rig = Rig::new("westwood", &[], 10.0, 20.0);
        rig.congestion(Congestion::Loss);
        assert_eq!((rig.w(), rig.t()), (2.0, 2.0));
    }
}
