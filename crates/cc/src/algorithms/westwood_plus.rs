//! TCP Westwood+: L. A. Grieco, S. Mascolo: Performance Evaluation and Comparison of Westwood+, New Reno, and
//! Vegas TCP Congestion Control, ACM SIGCOMM Computer Communication Review 34(2), 2004; Linux
//! `tcp_westwood.c` (6.1: docs/oracle.md) and ns-3.
//!
//! Unit: segments. Valid for 1 <= cwnd < 2^40, RTT above 1 us; RTTmin is of the whole connection, or since
//! the last timeout. The filter needs some 30 round trips of a steady rate (0.91 of a step, Linux). A loss at
//! the end of slow start comes earlier. On a long path the estimate is then a fraction of the rate; by the
//! end of recovery it has had some more round trips.
//! Rules: one sample of the rate per round trip, b = acknowledged / Delta with Delta > max(RTT, 50 ms), and
//! its filter -> [`RoundRate::observe`]. The estimate is T = max(2, bw RTTmin). A loss halves W, and when its
//! recovery ends W = T -> [`Retreat::complete`]. After a timeout W = 1 and slow start leads up to
//! T -> `backoff`. Growth is Reno's.
//! Decisions where the authorities differ:
//!  * `filter`: `linux` cascades two low-passes of 7/8 (default), `paper` has one, `ns-3` one of 0.9 over the
//!    mean of two samples. The first sample sets them.
//!  * `rules`: `linux` (default; `tcp_westwood_event`, CA_EVENT_COMPLETE_CWR) goes to half when the loss
//!    is found, and to the estimate that it has when recovery ends, upwards too and whatever limits the
//!    sender. ECN has no recovery here whose end is reported: the estimate at once. `paper` (also ns-3)
//!    goes to the estimate when the loss is found, never up. `ns-2` is Linux's module in ns-2.35, whose
//!    `Agent/TCP/Linux` does not raise that event (tcp-linux.cc, `tcp_fastretrans_alert`). T stays half
//!    of the window of the loss. The window goes to the estimate that was known then, if that is more
//!    than T, or by slow start to T.
//!  * a timeout makes RTTmin begin anew with the next sample (Linux).
//!  * a window closes with the first ACK after Delta, whose own data belongs to the next (Linux).

use crate::algorithms::prelude::*;
use crate::algorithms::vegas::{BASE_WINDOW, base_rtt};
use crate::algorithms::westwood::to_estimate;
use crate::filter::WindowedMin;

pub(crate) const ENTRY: Entry = Entry {
    id: "westwood-plus",
    label: "Westwood+",
    about: "Westwood with one rate sample per round trip, which ACK compression cannot deceive.",
    source: "L. A. Grieco, S. Mascolo: Performance Evaluation and Comparison of Westwood+, New Reno, and Vegas TCP Congestion Control, ACM SIGCOMM CCR 34(2), 2004",
    reference: "doi:10.1145/997150.997155",
    grade: Grade::A,
    params: &[FILTER, RULES, BASE_WINDOW],
    sender: SenderOptions::NONE,
    colour: "#66ccee",
    marker: ">",
    build: |args, start| Windowed::hosted(WestwoodPlus::new(args), start),
};

/// See the head of this file.
pub(crate) const FILTER: Param = Param::choice("filter", &["linux", "paper", "ns-3"]).about(
    "low-pass of the rate samples: 7/8 twice (linux), 7/8 once (paper), 0.9 over the mean of two (ns-3)",
);

/// See the head of this file.
pub(crate) const RULES: Param = Param::choice("rules", &["linux", "paper", "ns-2"]).about(
    "when the window goes to the estimate: when recovery ends, half before (linux); at the loss (paper); at the loss, with \
     ssthresh at half (ns-2)",
);

/// The shortest interval of a rate sample (Linux).
const SHORTEST: Span = Span::from_millis(50);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Filter {
    Linux,
    Paper,
    Ns3,
}

/// The low-pass filters; each is set by its first sample that is not zero.
#[derive(Clone, Debug)]
struct LowPass {
    filter: Filter,
    /// Linux: the first stage; ns-3: the last sample.
    inner: f64,
    out: f64,
}

impl LowPass {
    fn add(&mut self, b: f64) {
        if self.inner == 0.0 && self.out == 0.0 {
            (self.inner, self.out) = (b, b);
            return;
        }
        match self.filter {
            Filter::Linux => {
                self.inner = (7.0 * self.inner + b) / 8.0;
                self.out = (7.0 * self.out + self.inner) / 8.0;
            }
            Filter::Paper => self.out = (7.0 * self.out + b) / 8.0,
            Filter::Ns3 => {
                self.out = 0.9 * self.out + 0.05 * (b + self.inner);
                self.inner = b;
            }
        }
    }
}

/// Westwood+'s rate estimate with the RTTmin that turns it into a window.
#[derive(Clone, Debug)]
pub(crate) struct RoundRate {
    /// Segments per second.
    rate: LowPass,
    base: WindowedMin,
    /// RTTmin begins anew with the next sample.
    stale: bool,
    /// When the window under way began.
    began: Option<Time>,
    /// Segments acknowledged in it.
    acked: f64,
}

impl RoundRate {
    /// An estimate of 0 with the parameters [`FILTER`] and [`BASE_WINDOW`] of `args`.
    pub(crate) fn new(args: &Args) -> Self {
        let filter = match args.choice(FILTER.name) {
            "paper" => Filter::Paper,
            "ns-3" => Filter::Ns3,
            _ => Filter::Linux,
        };
        Self::by(filter, base_rtt(args))
    }

    /// An estimate of 0 by the rules of the paper.
    pub(crate) fn published() -> Self {
        Self::by(Filter::Paper, WindowedMin::new(Span::MAX))
    }

    fn by(filter: Filter, base: WindowedMin) -> Self {
        Self { rate: LowPass { filter, inner: 0.0, out: 0.0 }, base, stale: false, began: None, acked: 0.0 }
    }

    /// bw, segments per second.
    pub(crate) fn rate(&self) -> f64 {
        self.rate.out
    }

    /// Takes an ACK.
    pub(crate) fn observe(&mut self, flow: &Flow, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            if core::mem::take(&mut self.stale) {
                self.base.clear();
            }
            self.base.add(flow.now, rtt.min);
        }
        if ack.acked == 0 {
            return;
        }
        let Some(began) = self.began else {
            self.began = Some(flow.now); // what this ACK covers was sent before the window
            return;
        };
        let (past, rtt) = (flow.now.since(began), flow.rtt.map(|rtt| rtt.latest));
        if rtt.is_some_and(|rtt| past > rtt.max(SHORTEST)) {
            self.rate.add(self.acked / past.secs());
            self.began = Some(flow.now);
            self.acked = 0.0;
        }
        self.acked += ack.segments(flow);
    }

    /// RTTmin begins anew with the next sample.
    pub(crate) fn forget_min(&mut self) {
        self.stale = true;
    }

    /// bw RTTmin in segments; 0 before the first sample of either.
    pub(crate) fn window(&self) -> f64 {
        self.base.get().map_or(0.0, |min| self.rate.out * min.secs())
    }

    /// Names rate and RTTmin for traces.
    pub(crate) fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("rate_segments_per_s", self.rate.out);
        emit("base_rtt_s", self.base.get().map_or(f64::INFINITY, Span::secs));
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum RetreatRules {
    Linux,
    Paper,
    Ns2,
}

/// Segments that may follow each other at the end of a recovery (ns-2, `tcp_moderate_cwnd`).
const BURST: f64 = 3.0;

/// Westwood+'s answer to congestion, which LogWestwood+ shares.
#[derive(Debug)]
pub(crate) struct Retreat {
    pub(crate) rate: RoundRate,
    rules: RetreatRules,
    /// A recovery is under way, at whose end the window is set: the estimate at its start.
    due: Option<f64>,
}

impl Retreat {
    /// With the parameters [`FILTER`], [`RULES`] and [`BASE_WINDOW`] of `args`.
    pub(crate) fn new(args: &Args) -> Self {
        let rules = match args.choice(RULES.name) {
            "paper" => RetreatRules::Paper,
            "ns-2" => RetreatRules::Ns2,
            _ => RetreatRules::Linux,
        };
        Self { rate: RoundRate::new(args), rules, due: None }
    }

    /// See [`Policy::backoff`].
    pub(crate) fn backoff(&self, w: &Window, why: Congestion) -> Cut {
        let (half, estimate) = (w.cwnd / 2.0, self.rate.window());
        match self.rules {
            RetreatRules::Linux if why == Congestion::Loss => Cut::standard(half, why),
            // Rate halving goes on below half only after a round trip, but stops at the estimate.
            RetreatRules::Ns2 if why == Congestion::Loss => {
                Cut { cwnd: estimate.clamp(half, w.cwnd), ssthresh: half, repeat: false }
            }
            _ => to_estimate(w, estimate, why),
        }
    }

    /// See [`Policy::on`].
    pub(crate) fn on(&mut self, w: &mut Window, flow: &Flow, event: &Event<'_>) {
        match *event {
            Event::Congestion(why) => {
                let late = self.rules != RetreatRules::Paper && why == Congestion::Loss;
                self.due = late.then(|| self.rate.window());
                if why == Congestion::Timeout {
                    self.rate.forget_min();
                }
            }
            Event::Undo(_) => {
                self.due = None;
                self.rate.stale = false;
            }
            Event::Life(Life::Recovered) => self.complete(w, flow),
            _ => {}
        }
    }

    /// Recovery is over.
    fn complete(&mut self, w: &mut Window, flow: &Flow) {
        let Some(at_loss) = self.due.take() else { return };
        if self.rules == RetreatRules::Linux {
            let target = self.rate.window().max(2.0);
            *w = Window { cwnd: target, ssthresh: target };
            return;
        }
        let out = flow.in_flight as f64 / f64::from(flow.mss.max(1));
        w.cwnd = at_loss.max(2.0);
        if w.cwnd < w.ssthresh {
            w.cwnd = w.ssthresh.min(out + BURST);
        }
    }
}

#[derive(Debug)]
struct WestwoodPlus {
    retreat: Retreat,
}

impl WestwoodPlus {
    fn new(args: &Args) -> Self {
        Self { retreat: Retreat::new(args) }
    }
}

impl Policy for WestwoodPlus {
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        self.retreat.rate.observe(flow, ack);
    }

    fn backoff(&self, w: &Window, _flow: &Flow, why: Congestion) -> Cut {
        self.retreat.backoff(w, why)
    }

    fn on(&mut self, w: &mut Window, flow: &Flow, event: Event<'_>) {
        self.retreat.on(w, flow, &event);
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        self.retreat.rate.probe(emit);
    }
}

#[cfg(test)]
mod tests {
    use super::{Filter, LowPass};
    use crate::event::{Congestion, Event, Life};
    use crate::report::Phase;
    use crate::rig::{Rig, near, probe, text};

    /// Shares of a step that the filters have reached after n samples. The cascade of two: 1 - (1 + n/8)
    /// (7/8)^n.
    #[test]
    fn step_response_of_the_filters() {
        for (filter, shares) in [
            (Filter::Linux, [(10, 0.408), (20, 0.758), (30, 0.914)]),
            (Filter::Paper, [(10, 0.7369), (20, 0.9308), (30, 0.9818)]), // 1 - (7/8)^n
            (Filter::Ns3, [(10, 0.6319), (20, 0.8717), (30, 0.9553)]),   // 1 - 0.95 * 0.9^(n-1)
        ] {
            let mut low_pass = LowPass { filter, inner: 0.0, out: 0.0 };
            low_pass.add(100.0);
            assert_eq!(low_pass.out, 100.0);
            let mut n = 0;
            for (samples, share) in shares {
                while n < samples {
                    low_pass.add(200.0);
                    n += 1;
                }
                near((low_pass.out - 100.0) / 100.0, share, 2e-3);
            }
        }
    }

    fn after_rounds(rules: &str, filter: &str, from: f64) -> Rig {
        let mut rig =
            Rig::new("westwood-plus", &[("rules", text(rules)), ("filter", text(filter))], from, 2.0);
        rig.ack(0.001, 0.5, 0.5, false);
        for _ in 0..40 {
            rig.path(100.0, 0.5);
        }
        rig
    }

    /// Random loss on an empty path gives up nothing beyond the filter's lag; a queue is emptied.
    #[test]
    fn the_window_goes_to_the_bandwidth_delay_product() {
        for filter in ["linux", "paper", "ns-3"] {
            for from in [110.0, 150.0, 300.0] {
                let mut rig = after_rounds("paper", filter, from);
                rig.congestion(Congestion::Loss);
                near(rig.w(), 100.0, 0.02);
                near(rig.t(), 100.0, 0.02);
            }
        }
        let mut rig = Rig::new("westwood-plus", &[("rules", text("paper"))], 1000.0, 2.0);
        for _ in 0..20 {
            rig.round(0.5);
        }
        let before = rig.w();
        rig.congestion(Congestion::Loss);
        near(rig.w(), before, 0.03);
    }

    /// Linux: half at the loss, the estimate when recovery ends, also upwards; not if the loss was a timeout.
    #[test]
    fn linux_waits_for_the_end_of_recovery() {
        let mut rig = after_rounds("linux", "linux", 110.0);
        let before = rig.w();
        rig.congestion(Congestion::Loss);
        near(rig.w(), before / 2.0, 1e-6);
        rig.flow.phase = Phase::Recovery;
        rig.cc.on(&rig.flow, Event::Life(Life::Recovered));
        near(rig.w(), 100.0, 0.02);
        near(rig.t(), 100.0, 0.02);

        let mut rig = after_rounds("linux", "linux", 110.0);
        rig.congestion(Congestion::Timeout);
        near(rig.t(), 100.0, 0.02);
        rig.cc.on(&rig.flow, Event::Life(Life::Recovered));
        assert_eq!(rig.w(), 1.0);

        let mut rig = after_rounds("linux", "linux", 110.0);
        rig.congestion(Congestion::Ecn);
        near(rig.w(), 100.0, 0.02);
    }

    /// Linux `tcp_westwood_event`, CA_EVENT_COMPLETE_CWR: the estimate is the one at the end of recovery, and
    /// nothing but it decides. A loss in slow start, when the filter has not yet seen the rate, costs half of
    /// what is delivered later.
    #[test]
    fn the_estimate_is_taken_when_recovery_ends_whatever_limits_the_sender() {
        for limited in [true, false] {
            let mut rig = Rig::new("westwood-plus", &[], 10.0, f64::INFINITY);
            rig.ack(0.001, 0.5, 0.5, false);
            for _ in 0..5 {
                rig.path(100.0, 0.5);
            }
            rig.congestion(Congestion::Loss);
            let at_loss = rig.w();
            rig.flow.phase = Phase::Recovery;
            for _ in 0..200 {
                rig.ack(50.0, 0.25, 0.5, false);
            }
            rig.flow.cwnd_limited = limited;
            rig.cc.on(&rig.flow, Event::Life(Life::Recovered));
            near(rig.w(), 100.0, 0.01);
            near(rig.t(), 100.0, 0.01);
            assert!(at_loss > 110.0, "half of {} segments", 2.0 * at_loss);
        }
    }

    /// ns-2.35 tcp-linux.cc, `tcp_fastretrans_alert`: ssthresh is half of the window of the loss, and the
    /// window what is in flight and three segments, from which slow start leads back.
    #[test]
    fn ns_2_leaves_the_threshold_at_half() {
        let mut rig = after_rounds("ns-2", "linux", 110.0);
        let before = rig.w();
        rig.congestion(Congestion::Loss);
        rig.cc.on(&rig.flow, Event::Life(Life::Recovered));
        near(rig.w(), 100.0, 0.02);
        near(rig.t(), before / 2.0, 1e-6);

        let mut rig = after_rounds("ns-2", "linux", 300.0);
        let before = rig.w();
        rig.congestion(Congestion::Loss);
        near(rig.w(), before / 2.0, 1e-6);
        near(rig.t(), before / 2.0, 1e-6);
        rig.flow.in_flight = 97_000_000;
        rig.cc.on(&rig.flow, Event::Life(Life::Recovered));
        near(rig.w(), 100.0, 1e-6);
        near(rig.t(), before / 2.0, 1e-6);
        rig.path(100.0, 0.5);
        near(rig.w(), before / 2.0, 0.02);
    }

    /// After a timeout RTTmin is that of the next sample: a path that has become longer is seen.
    #[test]
    fn a_timeout_makes_the_minimum_begin_anew() {
        let mut rig = after_rounds("paper", "linux", 100.0);
        rig.congestion(Congestion::Timeout);
        let t = rig.t();
        let before = rig.congestion(Congestion::Timeout);
        assert_eq!(rig.t(), t);
        for _ in 0..60 {
            rig.path(100.0, 0.8);
        }
        rig.congestion(Congestion::Loss);
        near(rig.t(), 100.0, 0.02);

        let mut rig = after_rounds("paper", "linux", 100.0);
        rig.congestion(Congestion::Timeout);
        rig.cc.on(&rig.flow, Event::Undo(&before));
        rig.path(100.0, 0.8);
        assert_eq!(probe(&*rig.cc, "base_rtt_s"), 0.5);
    }

    /// One packet in 1/p lost at an RTT of R, RTTmin of it propagation: the rate is 1 / sqrt(R
    /// (R - RTTmin) p), less a few per cent because a decrease of a tenth is not small and the
    /// filter lags behind the growth.
    #[test]
    fn the_rate_under_regular_loss() {
        let (p, rtt, min) = (1e-6, 0.5, 0.45);
        let expected = 1.0 / libm::sqrt(rtt * (rtt - min) * p);
        let mut rig = Rig::new("westwood-plus", &[("rules", text("paper"))], expected * rtt, 2.0);
        rig.ack(0.001, min, min, false);
        let (mut since, mut sent, mut losses, mut begin) = (0.0, 0.0, 0, 0.0);
        while losses < 12 {
            let batch = rig.w() / 20.0;
            rig.ack(batch, rtt / 20.0, rtt, false);
            since += batch;
            sent += batch;
            if since >= 1.0 / p {
                (since, losses) = (0.0, losses + 1);
                rig.congestion(Congestion::Loss);
                if losses == 4 {
                    (begin, sent) = (rig.secs(), 0.0);
                }
            }
        }
        near(sent / (rig.secs() - begin), expected, 0.06);
    }
}
