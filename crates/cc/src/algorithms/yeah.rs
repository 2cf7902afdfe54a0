//! YeAH-TCP: A. Baiocchi, A. P. Castellani, F. Vacirca: YeAH-TCP: Yet Another Highspeed TCP, PFLDnet, 2007;
//! details as in Linux's module of that name (tcp_yeah.c, 6.1). Scalable TCP while the queue is short; Reno,
//! and a window that drains the queue, when it is not.
//!
//! Unit: segments and seconds. Valid for 1 <= cwnd < 2^40, RTT from 1 us to 10^4 s, and as for Vegas a
//! propagation delay that does not rise for good unless `base_window` is set.
//! Rules, once a round: Q = W (1 - base / RTT) segments queue, L = (RTT - base) / base. Fast mode while
//! Q <= alpha and L <= 1/phy, slow mode otherwise. Slow mode with Q > alpha drains the queue, W - min(Q,
//! W/2), but not below the window that Reno would have (`reno_count`) -> [`Yeah::decide`]. Growth is
//! Scalable's in fast mode and Reno's in slow mode -> `avoid`. A loss gives up Q, at least W/8 and at most
//! W/2; half if Reno flows compete, which 16 rounds of slow mode in a row show -> `backoff`.
//! Decisions:
//!  * RTT is the smallest of the round, which needs three samples (Linux). Rounds in recovery are not
//!    measured, nor is one in which the window did not limit the sender.
//!  * Q and the windows are real numbers. Fast mode adds the larger of 1/100 and 1/W per segment (Linux).
//!  * the comparison is with 1/phy itself: ns-3 compares with an integer quotient, which is 0.
//!  * T follows a drained window, so that it does not lead back into slow start.
//!  * Linux's counters are changed at every loss and timeout alike; ECN is answered as a
//!    loss. Undo gives them back.

use crate::algorithms::prelude::*;
use crate::algorithms::vegas::{BASE_WINDOW, Gauge, SAMPLES};

pub(crate) const ENTRY: Entry = Entry {
    id: "yeah",
    label: "YeAH",
    about: "Scalable's growth while fewer than 80 segments queue; then Reno's, and the queue is drained before it overflows.",
    source: "A. Baiocchi, A. P. Castellani, F. Vacirca: YeAH-TCP: Yet Another Highspeed TCP, PFLDnet, 2007",
    reference: "PFLDnet 2007, paper without a DOI",
    grade: Grade::A,
    params: Yeah::PARAMS,
    sender: SenderOptions::NONE,
    colour: "#994455",
    marker: "|",
    build: |args, start| Windowed::hosted(Yeah::new(args), start),
};

/// Fast mode's growth per segment, Scalable's.
const FAST: f64 = 0.01;
/// After more rounds of fast mode than this the window of competing Reno flows is forgotten.
const ZETA: u32 = 50;

/// The state that a congestion changes and an undo gives back.
#[derive(Clone, Copy, Debug)]
struct Rivals {
    /// Window that Reno would have, segments; 2 when none is known.
    reno_count: f64,
    /// Rounds of fast mode since it was set.
    fast_rounds: u32,
}

algorithm! {
    #[derive(Debug)]
    struct Yeah {
        /// largest queue of fast mode
        alpha: f64 = 80.0, 1.0..=1e5, "segments";
        /// fast mode wants a queueing delay of at most baseRTT / phy
        phy: f64 = 8.0, 0.1..=1e4, "1";
        /// this many rounds of slow mode in a row show Reno flows on the path
        rho: f64 = 16.0, 1.0..=1e4, "round trips";
        use BASE_WINDOW;
    }
    state(args) {
        gauge: Gauge = Gauge::new(args),
        /// Q of the last round, segments.
        queue: f64,
        /// Rounds of slow mode in a row; 0 in fast mode.
        slow_rounds: u32,
        rivals: Rivals = Rivals { reno_count: 2.0, fast_rounds: 0 },
        before: Option<Rivals>,
    }
}

impl Yeah {
    /// At the end of a round: which mode, and does the queue have to be drained?
    fn decide(&mut self, w: &mut Window) {
        let Some(round) = self.gauge.close().filter(|r| r.rtt.count >= SAMPLES) else { return };
        let (rtt, base) = (round.rtt.min.secs(), self.gauge.base_secs());
        self.queue = self.gauge.diff(w.cwnd, rtt);
        let rivals = &mut self.rivals;
        if self.queue <= self.alpha && rtt - base <= base / self.phy {
            rivals.fast_rounds += 1;
            if rivals.fast_rounds > ZETA {
                *rivals = Rivals { reno_count: 2.0, fast_rounds: 0 };
            }
            self.slow_rounds = 0;
            return;
        }
        if self.queue > self.alpha && w.cwnd > rivals.reno_count {
            w.cwnd = (w.cwnd - self.queue.min(w.cwnd / 2.0)).max(rivals.reno_count);
            w.ssthresh = w.cwnd;
        }
        rivals.reno_count =
            if rivals.reno_count <= 2.0 { (w.cwnd / 2.0).max(2.0) } else { rivals.reno_count + 1.0 };
        self.slow_rounds = self.slow_rounds.saturating_add(1);
    }
}

impl Policy for Yeah {
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        self.gauge.observe(flow, ack, flow.phase != Phase::Open);
    }

    fn refuses_slow_start(&self) -> Option<&'static str> {
        Some("its slow start ends by a measure of the queue of its own, alpha")
    }

    fn slow_start(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) -> f64 {
        let left = exponential(w, ack.segments(flow));
        if left <= 0.0 {
            self.decide(w);
        }
        left
    }

    fn avoid(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        let reno = 1.0 / w.cwnd;
        let per_segment = if self.slow_rounds == 0 { reno.max(FAST) } else { reno };
        w.cwnd += per_segment * ack.segments(flow);
        self.decide(w);
    }

    fn backoff(&self, w: &Window, _flow: &Flow, why: Congestion) -> Cut {
        let half = w.cwnd / 2.0;
        let alone = f64::from(self.slow_rounds) < self.rho;
        let given_up = if alone { self.queue.clamp(w.cwnd / 8.0, half) } else { half };
        Cut::standard(w.cwnd - given_up, why)
    }

    fn on(&mut self, _w: &mut Window, _flow: &Flow, event: Event<'_>) {
        match event {
            Event::Congestion(_) => {
                self.before = Some(self.rivals);
                self.rivals = Rivals { reno_count: (self.rivals.reno_count / 2.0).max(2.0), fast_rounds: 0 };
            }
            Event::Undo(_) => self.rivals = self.before.take().unwrap_or(self.rivals),
            Event::Life(Life::IdleRestart) => self.gauge.restart(),
            _ => {}
        }
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("queue_segments", self.queue);
        emit("reno_count_segments", self.rivals.reno_count);
        emit("slow_rounds", f64::from(self.slow_rounds));
    }
}

#[cfg(test)]
mod tests {
    use crate::event::{Congestion, Event, Life};
    use crate::registry::Value;
    use crate::rig::{Rig, near, probe};

    /// A flow of `w` segments on a path of 0.5 s that has measured a round with
    /// `queued` segments in the queue.
    fn with_queue(w: f64, queued: f64, given: &[(&str, Value)]) -> Rig {
        let mut rig = Rig::new("yeah", given, w, 2.0);
        rig.ack(1e-6, 0.5, 0.5, true);
        for i in 1..=3 {
            rig.ack(1e-6, 0.01, 0.5 * w / (w - queued), i == 3);
        }
        rig
    }

    /// Growth of the next round trip.
    fn growth(rig: &mut Rig) -> f64 {
        let before = rig.w();
        rig.ack(before, 0.5, 0.5, false);
        rig.w() - before
    }

    /// Fast mode while at most 80 segments queue and the delay is at most an eighth of baseRTT; Scalable's
    /// growth, but no less than Reno's. Slow mode is Reno's.
    #[test]
    fn modes() {
        for (w, queued, expected) in [
            (1000.0, 0.0, 10.0),
            (1000.0, 79.0, 10.0),
            (400.0, 44.0, 4.0),
            (400.0, 46.0, 1.0), // L = 46/354 > 1/8
            (50.0, 0.0, 1.0),
        ] {
            near(growth(&mut with_queue(w, queued, &[])), expected, 1e-3);
        }
        // The window 1000 with 90 queued is drained by 90, and grows as Reno's.
        let mut rig = with_queue(1000.0, 90.0, &[]);
        near(rig.w(), 910.0, 1e-3);
        near(rig.t(), 910.0, 1e-3);
        near(growth(&mut rig), 1.0, 1e-3);
        // At most half of the window goes.
        near(with_queue(200.0, 150.0, &[]).w(), 100.0, 1e-3);
    }

    /// A loss gives up the queue, an eighth at least, half at most; half after 16 rounds of slow mode.
    #[test]
    fn cuts() {
        for (w, queued, keep) in [(800.0, 0.0, 700.0), (500.0, 40.0, 437.5), (400.0, 78.0, 322.0)] {
            let mut rig = with_queue(w, queued, &[]);
            rig.congestion(Congestion::Loss);
            near(rig.w(), keep, 1e-4);
        }
        for (rounds, keep) in [(15, 322.0), (16, 200.0)] {
            let mut rig = with_queue(400.0, 78.0, &[]);
            for _ in 1..rounds {
                for i in 1..=3 {
                    rig.ack(1e-6, 0.01, 0.5 * 400.0 / 322.0, i == 3);
                }
            }
            rig.congestion(Congestion::Loss);
            near(rig.w(), keep, 1e-4);
        }
        let mut rig = with_queue(800.0, 0.0, &[]);
        rig.congestion(Congestion::Timeout);
        assert_eq!(rig.w(), 1.0);
        near(rig.t(), 700.0, 1e-4);
    }

    /// One flow: the queue stays at 80 segments or a little more, and there is no loss at
    /// a buffer that holds them.
    #[test]
    fn one_flow_keeps_the_queue_short() {
        for (bdp, base) in [(721.0, 0.6), (4167.0, 0.5)] {
            let mut rig = Rig::new("yeah", &[], bdp * 0.9, 2.0);
            let (mut most, mut least) = (0.0_f64, f64::INFINITY);
            for round in 0..200 {
                rig.path(bdp, base);
                if round > 50 {
                    most = most.max(rig.w() - bdp);
                    least = least.min(rig.w());
                }
            }
            assert!(most < 80.0 + 0.02 * bdp, "{most} segments queue at {bdp}");
            assert!(least > 0.95 * bdp, "{least} of {bdp} segments");
        }
    }

    /// `reno_count`: half the window at first, one more in each slow round; the drained window does not go
    /// below it. It is halved by a loss, forgotten after 50 fast rounds, and given back by an undo.
    #[test]
    fn the_window_of_competing_reno_flows() {
        let reno_count = |rig: &Rig| probe(&*rig.cc, "reno_count_segments");
        let round = |rig: &mut Rig, rtt: f64| {
            for i in 1..=3 {
                rig.ack(1e-6, 0.01, rtt, i == 3);
            }
        };
        let mut rig = with_queue(400.0, 78.0, &[]);
        near(reno_count(&rig), 200.0, 1e-4);
        round(&mut rig, 0.65);
        near(reno_count(&rig), 201.0, 1e-4);
        round(&mut rig, 5.0); // 360 of 400 segments queue: down to half, but not below 201
        near(rig.w(), 201.0, 1e-3);
        near(reno_count(&rig), 202.0, 1e-4);
        let before = rig.congestion(Congestion::Loss);
        near(reno_count(&rig), 101.0, 1e-4);
        rig.cc.on(&rig.flow, Event::Undo(&before));
        near(reno_count(&rig), 202.0, 1e-4);
        for _ in 0..50 {
            round(&mut rig, 0.5);
        }
        near(reno_count(&rig), 202.0, 1e-4);
        round(&mut rig, 0.5);
        assert_eq!(reno_count(&rig), 2.0);
    }

    /// After a pause baseRTT is measured anew (Linux, `tcp_vegas_cwnd_event`): a longer path is no queue.
    #[test]
    fn after_a_pause_a_longer_path_is_no_queue() {
        let mut rig = with_queue(1000.0, 0.0, &[]);
        rig.cc.on(&rig.flow, Event::Life(Life::IdleRestart));
        for i in 0..8 {
            rig.ack(1e-6, 0.01, 0.7, i % 4 == 3);
        }
        near(rig.w(), 1000.0, 1e-3);
        near(growth(&mut rig), 10.0, 1e-3);
    }
}
