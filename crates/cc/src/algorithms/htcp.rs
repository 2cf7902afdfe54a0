//! H-TCP: D. Leith, R. Shorten: H-TCP: TCP for High-speed and Long-distance Networks, PFLDnet, 2004;
//! draft-leith-tcp-htcp; details as in Linux's module of that name (6.1: docs/oracle.md). The draft's text
//! could not be read. FreeBSD's cc_htcp.c implements draft 06 and has the same alpha, the limits of beta and
//! of the RTT scaling, and 0.95 for RTTmax. It scales with SRTT, keeps alpha at 1 up to 1 s whatever beta is,
//! and has no `bandwidth_switch`.
//!
//! Unit: segments and seconds. Valid for 1 <= cwnd < 2^40, RTT above 1 us.
//! Rules, with Delta the time since the last congestion ended:
//!  * alpha(Delta) = 1 up to 1 s, then 1 + 10 (Delta - 1) + ((Delta - 1)/2)^2 -> [`alpha`].
//!  * W + 2 (1 - beta) alpha(Delta) s per round trip, s the RTT scaling -> [`Htcp::increase`].
//!  * beta = RTTmin / RTTmax, or 1/2 if the throughput changed by a fifth since the last
//!    congestion -> [`Htcp::adapted`].
//!
//! Decisions:
//!  * s is 1 / clamp(0.1 s / RTTmin, 0.5, 10), and s alpha is never below 1; both real-valued, where
//!    Linux has integers. `rtt_scaling` and `bandwidth_switch` turn the two refinements off;
//!    ns-3 has no RTT scaling.
//!  * beta adapts from the second congestion on and only if RTTmin exceeds 10 ms, in [0.5, `beta_max`].
//!  * RTTmin is that of the connection. RTTmax follows samples outside recovery that exceed it by 20 ms or
//!    less, and every congestion takes away a twentieth of its distance from RTTmin.
//!  * throughput is measured over a window of data and at least RTTmin. Its mean (3/4 old) gives the maximum
//!    of the epoch, without the first three round trips after a congestion.
//!  * Delta starts at the congestion and again when recovery ends. ECN is answered as a loss.
//!  * RTTs are this ACK's own; Linux's come in clock ticks.

use crate::algorithms::prelude::*;

pub(crate) const ENTRY: Entry = Entry {
    id: "htcp",
    label: "H-TCP",
    about: "Growth rises with the time since the last loss; the cut follows RTTmin/RTTmax, so that the queue just empties.",
    source: "D. Leith, R. Shorten: H-TCP: TCP for High-speed and Long-distance Networks, PFLDnet, 2004; Linux tcp_htcp.c; compared with FreeBSD's cc_htcp.c (draft 06)",
    reference: "draft-leith-tcp-htcp-06",
    grade: Grade::A,
    params: Htcp::PARAMS,
    sender: SenderOptions::NONE,
    colour: "#661100",
    marker: "3",
    build: |args, start| Windowed::hosted(Htcp::new(args), start),
};

/// Delta_L: up to this many seconds after a congestion growth is Reno's.
const LOW_PERIOD: f64 = 1.0;
/// Smallest beta.
const BETA_MIN: f64 = 0.5;
/// RTTmax grows by at most this much at a sample, seconds.
const RTT_STEP: f64 = 0.02;
/// RTTmin must exceed this for beta to adapt, seconds.
const RTT_LEAST: f64 = 0.01;

/// alpha(Delta) before scaling, `delta` in seconds.
fn alpha(delta: f64) -> f64 {
    let x = (delta - LOW_PERIOD).max(0.0);
    1.0 + 10.0 * x + (x / 2.0) * (x / 2.0)
}

/// Throughput over a window of data and at least RTTmin.
#[derive(Clone, Copy, Debug, Default)]
struct Throughput {
    /// Start of the sample under way; `None` during recovery.
    since: Option<Time>,
    /// Segments acknowledged since.
    segments: f64,
    /// B, segments per second.
    mean: f64,
    /// Largest B of the epoch.
    max: f64,
    /// Largest B of the epoch before.
    old_max: f64,
}

/// What a spurious congestion gives back.
#[derive(Clone, Copy, Debug)]
struct Before {
    since: Time,
    rtt_max: f64,
    old_max: f64,
}

algorithm! {
    #[derive(Debug)]
    struct Htcp {
        /// scale growth with RTTmin, by 2 from 0.2 s on
        rtt_scaling: bool = true;
        /// halve if the highest throughput of the epoch differs by a fifth from that of the one before
        bandwidth_switch: bool = true;
        /// largest share of the window that stays after a loss
        beta_max: f64 = 0.8, 0.5..=1.0, "1";
    }
    state {
        /// Delta counts from here.
        since: Time,
        /// Share of the window that stays after a loss; as of the last one.
        beta: f64 = BETA_MIN,
        /// One congestion has been seen in the present mode: beta may adapt.
        adapts: bool,
        /// RTTmin and RTTmax, seconds; infinite and 0 before the first sample.
        rtt_min: f64 = f64::INFINITY,
        rtt_max: f64,
        throughput: Throughput,
        /// Window when it was last looked at, segments.
        window: f64 = 1.0,
        before: Option<Before>,
    }
}

impl Htcp {
    /// Segments per round trip, `delta` seconds after the last congestion.
    fn increase(&self, delta: f64) -> f64 {
        let mut factor = alpha(delta);
        if self.rtt_scaling && self.rtt_min.is_finite() {
            factor = (factor / (0.1 / self.rtt_min).clamp(0.5, 10.0)).max(1.0);
        }
        2.0 * (1.0 - self.beta) * factor
    }

    /// beta for a congestion now, and whether beta may adapt at the next one.
    fn adapted(&self) -> (f64, bool) {
        let Throughput { max, old_max, .. } = self.throughput;
        if self.bandwidth_switch && (max - old_max).abs() > 0.2 * old_max {
            (BETA_MIN, false)
        } else if self.adapts && self.rtt_min > RTT_LEAST && self.rtt_max > 0.0 {
            ((self.rtt_min / self.rtt_max).clamp(BETA_MIN, self.beta_max), true)
        } else {
            (BETA_MIN, true)
        }
    }

    fn measure_rtt(&mut self, min: f64, max: f64, open: bool) {
        self.rtt_min = self.rtt_min.min(min);
        if open {
            self.rtt_max = self.rtt_max.max(self.rtt_min);
            if max <= self.rtt_max + RTT_STEP {
                self.rtt_max = self.rtt_max.max(max);
            }
        }
    }

    fn measure_throughput(&mut self, flow: &Flow, segments: f64) {
        let delta = flow.now.since(self.since).secs();
        let (window, rtt_min) = (self.window, self.rtt_min);
        let b = &mut self.throughput;
        let Some(since) = b.since else {
            (b.since, b.segments) = (Some(flow.now), 0.0);
            return;
        };
        b.segments += segments;
        let took = flow.now.since(since).secs();
        if b.segments < window || took < rtt_min || took <= 0.0 {
            return;
        }
        let sample = b.segments / took;
        if delta <= 4.0 * rtt_min {
            // Just after a congestion; Linux counts whole round trips up to three.
            (b.mean, b.max) = (sample, sample);
        } else {
            b.mean = 0.75 * b.mean + 0.25 * sample;
            b.max = b.max.max(b.mean);
        }
        (b.since, b.segments) = (Some(flow.now), 0.0);
    }

    fn on_congestion(&mut self, w: &Window, flow: &Flow, why: Congestion) {
        self.before =
            Some(Before { since: self.since, rtt_max: self.rtt_max, old_max: self.throughput.old_max });
        (self.beta, self.adapts) = self.adapted();
        self.throughput.old_max = self.throughput.max;
        if self.rtt_max > self.rtt_min {
            self.rtt_max = self.rtt_min + 0.95 * (self.rtt_max - self.rtt_min);
        }
        self.since = flow.now;
        self.window = if why == Congestion::Timeout { 1.0 } else { w.cwnd * self.beta };
    }
}

impl Policy for Htcp {
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        let open = flow.phase == Phase::Open;
        if let Some(rtt) = ack.rtt {
            self.measure_rtt(rtt.min.secs(), rtt.max.secs(), open);
        }
        if !open {
            self.throughput.since = None;
        } else if ack.acked > 0 {
            self.measure_throughput(flow, ack.segments(flow));
        }
    }

    fn slow_start(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) -> f64 {
        let left = exponential(w, ack.segments(flow));
        self.window = w.cwnd;
        left
    }

    fn avoid(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        additive(w, flow, ack, self.increase(flow.now.since(self.since).secs()));
        self.window = w.cwnd;
    }

    fn backoff(&self, w: &Window, _flow: &Flow, why: Congestion) -> Cut {
        Cut::standard(w.cwnd * self.adapted().0, why)
    }

    fn on(&mut self, w: &mut Window, flow: &Flow, event: Event<'_>) {
        match event {
            Event::Congestion(why) => self.on_congestion(w, flow, why),
            Event::Undo(_) => {
                if let Some(before) = self.before.take() {
                    (self.since, self.rtt_max, self.throughput.old_max) =
                        (before.since, before.rtt_max, before.old_max);
                }
                self.window = w.cwnd;
            }
            Event::Life(Life::Recovered) => self.since = self.before.take().map_or(self.since, |_| flow.now),
            _ => {}
        }
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("beta", self.beta);
        emit("rtt_min_s", self.rtt_min);
        emit("rtt_max_s", self.rtt_max);
        emit("b_max_segments_per_s", self.throughput.max);
    }
}

#[cfg(test)]
mod tests {
    use super::alpha;
    use crate::event::{Congestion, Event, Life};
    use crate::registry::Value;
    use crate::rig::{Rig, near};

    const PLAIN: [(&str, Value); 1] = [("rtt_scaling", Value::Flag(false))];

    /// alpha(Delta) of the draft.
    #[test]
    fn growth_rises_with_the_time_since_the_last_congestion() {
        for (delta, expected) in
            [(0.0, 1.0), (1.0, 1.0), (2.0, 11.25), (5.0, 45.0), (10.0, 111.25), (20.0, 281.25)]
        {
            assert_eq!(alpha(delta), expected);
        }
    }

    /// Segments per round trip `delta` seconds after a congestion at this RTT, beta being 1/2.
    fn growth(rtt: f64, delta: f64, given: &[(&str, Value)]) -> f64 {
        let mut rig = Rig::new("htcp", given, 1000.0, 2.0);
        rig.ack(1e-6, 0.0, rtt, false);
        rig.congestion(Congestion::Loss);
        let before = rig.w();
        rig.ack(before * 1e-3, delta, rtt, false);
        (rig.w() - before) * 1e3
    }

    /// RTT scaling: twice from 0.2 s on, a quarter at 25 ms, but Reno's growth at least; none if it is off.
    #[test]
    fn rtt_scaling() {
        for (rtt, delta, expected) in [
            (0.6, 5.0, 90.0),
            (0.2, 5.0, 90.0),
            (0.1, 5.0, 45.0),
            (0.025, 5.0, 11.25),
            (0.001, 5.0, 4.5),
            (0.025, 0.5, 1.0),
            (0.5, 0.5, 2.0),
        ] {
            near(growth(rtt, delta, &[]), expected, 1e-4);
        }
        near(growth(0.6, 5.0, &PLAIN), 45.0, 1e-4);
    }

    /// From half the window: 375 to 750 segments in 6.0 s at 0.6 s, 2083 to 4167 in 11.0 s at
    /// 0.5 s, whole round trips.
    #[test]
    fn regains_half_of_750_segments_in_6_s_at_600_ms() {
        for (w, rtt, seconds) in [(750.0, 0.6, 6.0), (4167.0, 0.5, 11.0)] {
            let mut rig = Rig::new("htcp", &[], w, 2.0);
            rig.ack(1e-6, 0.0, rtt, false);
            rig.congestion(Congestion::Loss);
            assert_eq!(rig.w(), w / 2.0);
            let begin = rig.secs();
            let mut first = true;
            while rig.w() < w {
                // Growth of a round is that of its beginning.
                rig.ack(rig.w(), if first { 0.0 } else { rtt }, rtt, true);
                first = false;
            }
            near(rig.secs() + rtt - begin, seconds, 1e-6);
        }
    }

    /// A flow of 100 segments whose RTT rises from 0.1 to `high` seconds; without the bandwidth switch.
    fn queueing(high: f64, given: &[(&str, Value)]) -> Rig {
        let mut given = given.to_vec();
        given.push(("bandwidth_switch", Value::Flag(false)));
        let mut rig = Rig::new("htcp", &given, 100.0, 2.0);
        let mut rtt = 0.1;
        while rtt < high {
            rig.ack(1e-6, 0.1, rtt, false);
            rtt += 0.01;
        }
        rig.ack(1e-6, 0.1, high, false);
        rig
    }

    /// beta: 1/2 at the first congestion, then RTTmin/RTTmax within [0.5, 0.8]; RTTmax
    /// forgets a twentieth each time.
    #[test]
    fn the_cut_follows_the_ratio_of_the_rtts() {
        for (high, max, expected) in
            [(0.16, 0.8, 0.1 / 0.157), (0.4, 0.8, 0.5), (0.1, 0.8, 0.8), (0.1, 1.0, 1.0)]
        {
            let mut rig = queueing(high, &[("beta_max", Value::Number(max))]);
            rig.congestion(Congestion::Loss);
            near(rig.w(), 50.0, 1e-4);
            rig.cc.on(&rig.flow, Event::Life(Life::Recovered));
            rig.congestion(Congestion::Loss);
            near(rig.w(), 50.0 * expected, 1e-4);
        }
    }

    /// RTTmax takes no sample that exceeds it by more than 20 ms.
    #[test]
    fn an_outlier_does_not_raise_the_largest_rtt() {
        for (sample, share) in [(0.19, 0.1 / 0.157), (0.17, 0.1 / (0.1 + 0.95 * 0.07))] {
            let mut rig = queueing(0.16, &[]);
            rig.ack(1e-6, 0.1, sample, false);
            rig.congestion(Congestion::Loss);
            rig.congestion(Congestion::Loss);
            near(rig.w(), 50.0 * share, 1e-3);
        }
    }

    /// The bandwidth switch: throughput that has changed by more than a fifth since the last congestion means
    /// half. Steady throughput lets beta adapt from the second congestion of that kind on.
    #[test]
    fn a_change_of_throughput_halves() {
        let epoch = |rig: &mut Rig, rate: f64| {
            let begin = rig.secs();
            while rig.secs() < begin + 20.0 {
                rig.ack(1.0, 1.0 / rate, 0.1, false);
            }
            rig.w()
        };
        let mut rig = Rig::new("htcp", &[], 50.0, 2.0);
        rig.flow.cwnd_limited = false; // the window stays what it is
        for (rate, keep) in
            [(500.0, 0.5), (500.0, 0.5), (500.0, 0.8), (300.0, 0.5), (320.0, 0.5), (320.0, 0.8)]
        {
            let before = epoch(&mut rig, rate);
            rig.congestion(Congestion::Loss);
            near(rig.w(), (before * keep).max(1.0), 1e-5);
        }
    }

    /// A timeout starts Delta anew; a spurious one does not.
    #[test]
    fn timeouts_and_undo() {
        let mut rig = Rig::new("htcp", &[], 1000.0, 2.0);
        rig.ack(1e-6, 10.0, 0.2, false);
        let before = rig.congestion(Congestion::Timeout);
        near(rig.t(), 500.0, 1e-6);
        rig.ack(1.0, 0.2, 0.2, false);
        rig.cc.on(&rig.flow, Event::Undo(&before));
        let w = rig.w();
        rig.ack(1.0, 0.0, 0.2, false);
        near((rig.w() - w) * w, 2.0 * alpha(10.2), 1e-2);
    }
}
