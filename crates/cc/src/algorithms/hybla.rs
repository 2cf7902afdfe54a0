//! TCP Hybla: C. Caini, R. Firrincieli: TCP Hybla: a TCP Enhancement for Heterogeneous Networks,
//! International Journal of Satellite Communications and Networking, 2004; details as in Linux's module of
//! that name (6.1: docs/oracle.md). The growth of a flow of RTT `rtt0`, at any longer RTT.
//!
//! Unit: segments and seconds. Valid for 1 <= cwnd < 2^40, any RTT; a path shorter than `rtt0` gets Reno.
//! Rules, with rho = max(RTT / RTT0, 1): slow start W + 2^rho - 1 per ACK -> `slow_start`. Congestion
//! avoidance W + rho^2 / W per ACK -> `avoid`. Half the window stays after a loss -> `backoff`.
//! The paper adds two companions, both on unless turned off:
//!  * `ssthresh_est`: Hoe's estimate (ACM SIGCOMM 1996) gives slow start its end, without which the first ACK
//!    at 500 ms would add a million segments. Three ACKs in a row within half the smallest RTT give the
//!    bottleneck's rate (the data of the last two over the time from the first to the third). T is that times
//!    the smallest RTT -> [`PacketPair`]. Until then slow start is Reno's.
//!  * `pacing`: segments are spread over the round trip, at max(cwnd, data in flight) / SRTT times 2 below
//!    half of T and 1.2 from there on (Linux, `tcp_update_pacing_rate`).
//!
//! Decisions:
//!  * growth is once for an ACK, however much it acknowledges (the paper; Linux, `hybla_cong_avoid`),
//!    so a receiver that delays its ACKs halves it. With `per = "segment"` the growth is rho^2 per RTT
//!    for every receiver (ns-3).
//!  * rho is that of the smallest smoothed RTT so far (Linux), so a queue does not raise it;
//!    RTT0 is 25 ms (ns-3: 50 ms).
//!  * the exponent of slow start is at most `exponent_cap` = 16 (Linux); the window stops at T. With
//!    `per = "segment"` the data that is left counts for congestion avoidance.
//!  * the initial window is the sender's, not rho.
//!  * in slow start after a timeout, until all data sent before it is acknowledged, growth is Reno's (Linux).
//!  * an estimate needs three reports in a round trip. One report that covers a whole round trip is too
//!    coarse; slow start then stays Reno's until the first loss.
//!  * ECN is answered as a loss.

use crate::algorithms::increments::{Increments, PER_ACK};
use crate::algorithms::prelude::*;
use crate::time::whole;

pub(crate) const ENTRY: Entry = Entry {
    id: "hybla",
    label: "Hybla",
    about: "Reno's growth in time, not in round trips, as if the RTT were 25 ms: a long RTT costs no throughput.",
    source: "C. Caini, R. Firrincieli: TCP Hybla: a TCP Enhancement for Heterogeneous Networks, Int. J. Satellite Communications and Networking, 2004",
    reference: "doi:10.1002/sat.799",
    grade: Grade::A,
    params: Hybla::PARAMS,
    sender: SenderOptions::NONE,
    colour: "#332288",
    marker: "4",
    build: |args, start| Windowed::hosted(Hybla::new(args), start),
};

/// Hoe's estimate of the bottleneck's rate from the spacing of ACKs.
#[derive(Clone, Copy, Debug, Default)]
struct PacketPair {
    /// The last two ACKs: when they came, and their segments.
    seen: [Option<(Time, f64)>; 2],
    /// Segments per second.
    rate: Option<f64>,
}

impl PacketPair {
    /// Takes an ACK of `segments` on a path whose smallest RTT is `rtt_min`.
    fn add(&mut self, now: Time, segments: f64, rtt_min: Span) {
        if self.rate.is_some() {
            return;
        }
        if let [Some((first, _)), Some((_, middle))] = self.seen {
            let took = now.since(first);
            if took > Span::ZERO && took.0 <= rtt_min.0 / 2 {
                self.rate = Some((middle + segments) / took.secs());
            }
        }
        self.seen = [self.seen[1], Some((now, segments))];
    }
}

algorithm! {
    #[derive(Debug)]
    struct Hybla {
        /// RTT0: the RTT of the flow to be equal to
        rtt0: f64 = 0.025, 1e-3..=10.0, "s";
        /// largest rho in the exponent of slow start
        exponent_cap: f64 = 16.0, 1.0..=40.0, "1";
        use PER_ACK;
        /// end slow start at the bottleneck's rate, given by the spacing of ACKs, times the smallest RTT
        ssthresh_est: bool = true;
        /// spread segments over the round trip, whatever the sender's pacing option says
        pacing: bool = true;
    }
    state(args) {
        increments: Increments = Increments::new(args),
        /// Normalised RTT.
        rho: f64 = 1.0,
        /// Smallest smoothed RTT.
        srtt_min: Span = Span::MAX,
        pair: PacketPair,
        /// SRTT, bytes of a segment, and bytes in flight at the last ACK.
        srtt: Span,
        mss: u32 = 1,
        in_flight: u64,
    }
}

impl Policy for Hybla {
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        (self.mss, self.in_flight) = (flow.mss, flow.in_flight);
        let Some(rtt) = flow.rtt else { return };
        self.srtt = rtt.smoothed;
        if rtt.smoothed < self.srtt_min {
            self.srtt_min = rtt.smoothed;
            self.rho = (rtt.smoothed.secs() / self.rtt0).max(1.0);
        }
        if self.ssthresh_est && ack.acked > 0 {
            self.pair.add(flow.now, ack.segments(flow), rtt.min);
        }
    }

    fn slow_start(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) -> f64 {
        let n = ack.segments(flow);
        if flow.phase == Phase::Loss {
            return exponential(w, n);
        }
        if self.ssthresh_est && w.ssthresh.is_infinite() {
            let (Some(rate), Some(rtt)) = (self.pair.rate, flow.rtt) else { return exponential(w, n) };
            w.ssthresh = (rate * rtt.min.secs()).max(2.0);
        }
        let increment = libm::exp2(self.rho.min(self.exponent_cap)) - 1.0;
        let left = exponential(w, self.increments.of(flow, ack) * increment) / increment;
        if self.increments.per_ack { 0.0 } else { left }
    }

    fn avoid(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        if flow.phase == Phase::Loss {
            return additive(w, flow, ack, 1.0);
        }
        w.cwnd += self.rho * self.rho * self.increments.of(flow, ack) / w.cwnd;
    }

    fn on(&mut self, _w: &mut Window, flow: &Flow, event: Event<'_>) {
        if let Event::Life(Life::MssChanged) = event {
            self.mss = flow.mss;
        }
    }

    fn pacing(&self, w: &Window) -> Pacing {
        if !self.pacing || self.srtt == Span::ZERO {
            return Pacing::Window;
        }
        let bytes = |segments: f64| whole(segments * f64::from(self.mss.max(1)));
        let (cwnd, ssthresh) = (bytes(w.cwnd), bytes(w.ssthresh));
        let gain = if cwnd < ssthresh / 2 { 2.0 } else { 1.2 };
        Pacing::Rate(Rate((gain * cwnd.max(self.in_flight) as f64 / self.srtt.secs()) as u64))
    }

    fn paces(&self) -> bool {
        self.pacing
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("rho", self.rho);
        emit("bottleneck_segments_per_s", self.pair.rate.unwrap_or(f64::NAN));
    }
}

#[cfg(test)]
mod tests {
    use crate::decision::Pacing;
    use crate::event::Congestion;
    use crate::registry::Value;
    use crate::report::Phase;
    use crate::rig::{Rig, near, text};
    use crate::time::Rate;

    const LONE: [(&str, Value); 2] =
        [("ssthresh_est", Value::Flag(false)), ("exponent_cap", Value::Number(40.0))];

    /// A round trip of ACKs for one segment each.
    fn whole_window(rig: &mut Rig, rtt: f64) {
        let acks = rig.w() as u64;
        for i in 1..=acks {
            rig.ack(1.0, rtt / acks as f64, rtt, i == acks);
        }
    }

    /// The paper's rho, and its growth per round trip (rho^2) and per ACK of slow start
    /// (2^rho - 1), at six RTTs.
    #[test]
    fn growth_at_six_rtts() {
        for (ms, rho, per_ack) in [
            (25.0, 1.0, 1.0),
            (50.0, 2.0, 3.0),
            (100.0, 4.0, 15.0),
            (250.0, 10.0, 1023.0),
            (500.0, 20.0, 1.05e6),
            (600.0, 24.0, 1.68e7),
            (10.0, 1.0, 1.0),
        ] {
            let rtt = ms / 1000.0;
            let mut rig = Rig::new("hybla", &LONE, 10.0, f64::INFINITY);
            rig.ack(1.0, rtt, rtt, true);
            near(rig.w() - 10.0, per_ack, 2e-3);

            let mut rig = Rig::new("hybla", &LONE, 1e5, 2.0);
            whole_window(&mut rig, rtt);
            near(rig.w() - 1e5, rho * rho, 3e-3); // 1 / W falls by rho^2 / W meanwhile
        }
    }

    /// Linux `hybla_cong_avoid` and the paper: an ACK counts once, so ACKs for two segments each halve the
    /// growth; by segment they do not.
    #[test]
    fn an_ack_of_two_segments_counts_once_unless_segments_count() {
        for (per, in_avoidance, in_slow_start) in [("ack", 8.0, 15.0), ("segment", 16.0, 30.0)] {
            let given = [LONE[0].clone(), LONE[1].clone(), ("per", text(per))];
            let mut rig = Rig::new("hybla", &given, 1e4, 2.0);
            for i in 1..=5000 {
                rig.ack(2.0, 2e-5, 0.1, i == 5000);
            }
            near(rig.w() - 1e4, in_avoidance, 1e-3);
            let mut rig = Rig::new("hybla", &given, 10.0, 1e6);
            rig.ack(2.0, 0.1, 0.1, false);
            near(rig.w() - 10.0, in_slow_start, 1e-6);
        }
    }

    /// Linux: at most 2^16 - 1 segments per ACK, and never beyond T. By segment, what is left over counts
    /// for congestion avoidance.
    #[test]
    fn slow_start_is_capped_and_stops_at_ssthresh() {
        let mut rig = Rig::new("hybla", &[("ssthresh_est", Value::Flag(false))], 10.0, f64::INFINITY);
        rig.ack(1.0, 0.6, 0.6, true);
        near(rig.w(), 65_545.0, 1e-6);
        let mut rig = Rig::new("hybla", &[], 10.0, 500.0);
        rig.ack(1.0, 0.6, 0.6, true);
        assert_eq!(rig.w(), 500.0);
        let mut rig = Rig::new("hybla", &[("per", text("segment"))], 10.0, 500.0);
        rig.ack(1.0, 0.6, 0.6, true);
        near(rig.w(), 500.0 + 576.0 / 500.0, 1e-4);
    }

    /// Hoe's estimate: ACKs of two segments every 2.4 ms are 833 segments a second; at 0.5 s that is a window
    /// of 417. The ACKs of different rounds tell nothing.
    #[test]
    fn the_spacing_of_acks_ends_slow_start() {
        let mut rig = Rig::new("hybla", &[], 2.0, f64::INFINITY);
        for _ in 0..2 {
            rig.ack(1.0, 0.5, 0.5, true);
        }
        assert_eq!((rig.w(), rig.t()), (4.0, u64::MAX as f64 / 1e6));
        rig.ack(2.0, 0.5, 0.5, false);
        rig.ack(2.0, 0.0024, 0.5, false);
        assert_eq!(rig.w(), 8.0);
        rig.ack(2.0, 0.0024, 0.5, true);
        near(rig.t(), 4.0 / 0.0048 * 0.5, 1e-3);
        near(rig.w(), rig.t(), 0.01);
    }

    /// Half of 750 segments at 0.6 s: 375 / 576 of a round trip; Reno at 25 ms takes as
    /// many of its own round trips.
    #[test]
    fn regains_half_of_750_segments_in_less_than_a_round_trip() {
        let mut rig = Rig::new("hybla", &[], 750.0, 2.0);
        rig.congestion(Congestion::Loss);
        assert_eq!((rig.w(), rig.t()), (375.0, 375.0));
        let mut rounds = 0.0;
        rig.ack(1e-6, 0.6, 0.6, false);
        while rig.w() < 750.0 {
            rounds += 1.0 / rig.w();
            rig.ack(1.0, 0.001, 0.6, false);
        }
        near(rounds, 375.0 / 576.0, 0.01);
    }

    /// Linux: Reno's growth while a timeout is repaired; rho does not follow a queue.
    #[test]
    fn after_a_timeout_and_with_a_queue() {
        let mut rig = Rig::new("hybla", &[], 100.0, 2.0);
        rig.ack(1e-6, 0.5, 0.5, false);
        rig.congestion(Congestion::Timeout);
        rig.flow.phase = Phase::Loss;
        rig.ack(1.0, 0.5, 0.5, true);
        assert_eq!(rig.w(), 2.0);

        let mut rig = Rig::new("hybla", &[], 1e5, 2.0);
        rig.ack(1e-6, 0.1, 0.1, false);
        whole_window(&mut rig, 0.2);
        near(rig.w() - 1e5, 16.0, 1e-3);
    }

    /// Linux `tcp_update_pacing_rate`: max(cwnd, packets out) / SRTT, times 2 below half of
    /// T and 1.2 from there on.
    #[test]
    fn pacing() {
        let on = [("pacing", Value::Flag(true)), LONE[0].clone()];
        for (t, out, rate_of) in [
            (2.0, 0.0, 1200.0),
            (f64::INFINITY, 0.0, 2000.0),
            (2001.0, 0.0, 2000.0),
            (1999.0, 0.0, 1200.0),
            (2.0, 1500.0, 1800.0),
        ] {
            let mut rig = Rig::new("hybla", &on, 1000.0, t);
            assert_eq!(rig.cc.decision().pacing, Pacing::Window);
            rig.flow.in_flight = (out * 1e6) as u64;
            rig.ack(1e-6, 0.025, 0.025, false);
            let Pacing::Rate(Rate(rate)) = rig.cc.decision().pacing else { panic!("it paces") };
            near(rate as f64, rate_of * 1e6 / 0.025, 1e-6);
        }
        let mut rig = Rig::new("hybla", &[("pacing", Value::Flag(false))], 1000.0, 2.0);
        rig.ack(1.0, 0.5, 0.5, false);
        assert_eq!(rig.cc.decision().pacing, Pacing::Window);
    }
}
