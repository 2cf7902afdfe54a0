//! TCP Veno: C. P. Fu, S. C. Liew: TCP Veno: TCP Enhancement for Transmission over Wireless Access Networks,
//! IEEE Journal on Selected Areas in Communications, 2003. Reno with Vegas's estimate of the queue, which
//! decides whether a loss was congestion.
//!
//! Unit: segments. Valid for 1 <= cwnd < 2^40, RTT above 1 us, and as for Vegas a propagation delay that does
//! not rise for good unless `base_window` is set.
//! Rules: N = W (1 - BaseRTT / RTT); congestion avoidance grows by one segment per round trip while
//! N < beta, by one per two round trips otherwise -> `avoid`. A loss keeps 4/5 of the window if N < beta,
//! half otherwise -> `backoff`.
//! Decisions:
//!  * RTT is the smallest of the last whole round outside recovery. Linux (6.1: docs/oracle.md)
//!    takes the smallest since the last ACK, and so does the module of ns-2.35, which is made from
//!    it: `rtt = "latest"`. Where a queue comes and goes within a round trip, the first hides it
//!    and the second shows it.
//!  * N is real-valued; Linux's has a resolution of half a segment.
//!  * one segment per two round trips is spread evenly: half a segment per round trip. The paper skips every
//!    other ACK, Linux every other round; the mean is the same.
//!  * a round with fewer than three RTT samples is not used; before the first usable one Veno is Reno, also
//!    at a loss. With the latest RTT three samples in all are enough.
//!  * ECN says that there is congestion: half.
//!  * a timeout sets ssthresh by the same rule; an idle restart forgets BaseRTT (Linux does both).

use crate::algorithms::prelude::*;
use crate::algorithms::vegas::{BASE_WINDOW, Gauge, SAMPLES};

pub(crate) const ENTRY: Entry = Entry {
    id: "veno",
    label: "Veno",
    about: "Reno that grows half as fast when a queue shows, and keeps 4/5 of the window at a loss when none does.",
    source: "C. P. Fu, S. C. Liew: TCP Veno: TCP Enhancement for Transmission over Wireless Access Networks, IEEE J. Sel. Areas Commun., 2003",
    reference: "doi:10.1109/JSAC.2002.807336",
    grade: Grade::A,
    params: Veno::PARAMS,
    sender: SenderOptions::NONE,
    colour: "#cc79a7",
    marker: "P",
    build: |args, start| Windowed::hosted(Veno::new(args), start),
};

algorithm! {
    #[derive(Debug)]
    struct Veno {
        /// from this many queued segments on the network counts as congested
        beta: f64 = 3.0, 0.0..=1000.0, "segments";
        /// share of the window that stays after a loss without congestion
        keep: f64 = 0.8, 0.1..=1.0, "1";
        use Param::choice("rtt", &["round", "latest"])
            .about("which RTT N is computed with: the smallest of the last round, or that of the latest ACK as in Linux and ns-2");
        use BASE_WINDOW;
    }
    state(args) {
        gauge: Gauge = Gauge::new(args),
        /// RTT samples so far, if the RTT is that of the latest ACK.
        latest: Option<u32> = args.is("rtt", "latest").then_some(0),
        /// Smallest RTT of the last usable round, or that of the latest ACK; seconds.
        rtt: Option<f64>,
    }
}

impl Veno {
    /// N, the segments that a window of `cwnd` keeps queued; `None` before the first usable round.
    fn queued(&self, cwnd: f64) -> Option<f64> {
        self.rtt.map(|rtt| self.gauge.diff(cwnd, rtt))
    }
}

impl Policy for Veno {
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        self.gauge.observe(flow, ack, flow.phase != Phase::Open);
        if let Some(samples) = &mut self.latest {
            if let Some(rtt) = ack.rtt {
                *samples = samples.saturating_add(rtt.count);
                self.rtt = (*samples >= SAMPLES).then_some(rtt.min.secs());
            }
        } else if let Some(round) = self.gauge.close().filter(|r| r.rtt.count >= SAMPLES) {
            self.rtt = Some(round.rtt.min.secs());
        }
    }

    fn avoid(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        let congested = self.queued(w.cwnd).is_some_and(|n| n >= self.beta);
        additive(w, flow, ack, if congested { 0.5 } else { 1.0 });
    }

    fn backoff(&self, w: &Window, _flow: &Flow, why: Congestion) -> Cut {
        let random = why != Congestion::Ecn && self.queued(w.cwnd).is_some_and(|n| n < self.beta);
        Cut::standard(w.cwnd * if random { self.keep } else { 0.5 }, why)
    }

    fn on(&mut self, _w: &mut Window, _flow: &Flow, event: Event<'_>) {
        if let Event::Life(Life::IdleRestart) = event {
            self.gauge.restart();
            self.latest = self.latest.map(|_| 0);
            self.rtt = None;
        }
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("base_rtt_s", self.gauge.base_secs());
        emit("queued_share", self.rtt.map_or(0.0, |rtt| self.gauge.queued_share(rtt)));
    }
}

#[cfg(test)]
mod tests {
    use crate::event::{Congestion, Event, Life};
    use crate::rig::{Rig, near, text};

    /// A flow of 100 segments, `queued` of them in the queue.
    fn with_queue(queued: f64) -> Rig {
        let mut rig = Rig::new("veno", &[], 100.0, 2.0);
        rig.ack(0.001, 0.5, 0.5, false);
        for i in 1..=3 {
            rig.ack(0.001, 0.01, 0.5 * 100.0 / (100.0 - queued), i == 3);
        }
        // The first round held the empty path's sample: its minimum is that. The second is the queue's.
        for i in 1..=3 {
            rig.ack(0.001, 0.01, 0.5 * 100.0 / (100.0 - queued), i == 3);
        }
        rig
    }

    /// The paper's section III: 4/5 of the window stay iff N < 3; an ECN echo is congestion.
    #[test]
    fn the_decrease_is_a_fifth_iff_fewer_than_three_segments_queue() {
        for (queued, why, keep) in [
            (0.0, Congestion::Loss, 0.8),
            (2.9, Congestion::Loss, 0.8),
            (3.1, Congestion::Loss, 0.5),
            (30.0, Congestion::Loss, 0.5),
            (0.0, Congestion::Ecn, 0.5),
        ] {
            let mut rig = with_queue(queued);
            let before = rig.w();
            rig.congestion(why);
            near(rig.w(), before * keep, 1e-6);
            near(rig.t(), before * keep, 1e-6);
        }
        let mut rig = with_queue(0.0);
        let before = rig.w();
        rig.congestion(Congestion::Timeout);
        assert_eq!(rig.w(), 1.0);
        near(rig.t(), before * 0.8, 1e-6);
    }

    /// The paper's section III: one segment per round trip while N < 3, one per two round trips otherwise.
    #[test]
    fn growth_is_halved_when_a_queue_shows() {
        for (queued, growth) in [(0.0, 1.0), (2.0, 1.0), (4.0, 0.5)] {
            let mut rig = with_queue(queued);
            let before = rig.w();
            let acks = 100;
            for _ in 0..acks {
                rig.ack(1.0, 0.005, 0.5 * 100.0 / (100.0 - queued), false);
            }
            near(rig.w() - before, growth, 0.01);
        }
    }

    /// A queue of 20 segments stood when the last round ended, and is gone. The round's RTT still shows
    /// congestion (half stays), the latest shows none (4/5). And the other way round.
    #[test]
    fn the_latest_rtt_forgets_the_round() {
        for (rtt, now, keep) in
            [("round", 0.0, 0.5), ("latest", 0.0, 0.8), ("round", 20.0, 0.8), ("latest", 20.0, 0.5)]
        {
            let mut rig = Rig::new("veno", &[("rtt", text(rtt))], 100.0, 2.0);
            let seconds = |queued: f64| 0.5 * 100.0 / (100.0 - queued);
            rig.ack(0.001, 0.5, 0.5, true);
            for i in 1..=3 {
                rig.ack(0.001, 0.01, seconds(20.0 - now), i == 3);
            }
            rig.ack(0.001, 0.01, seconds(now), false);
            let before = rig.w();
            rig.congestion(Congestion::Loss);
            near(rig.w(), before * keep, 1e-6);
        }
        // Reno until three samples are there.
        let mut rig = Rig::new("veno", &[("rtt", text("latest"))], 100.0, 2.0);
        (0..2).for_each(|_| rig.ack(0.001, 0.5, 0.5, false));
        rig.congestion(Congestion::Loss);
        near(rig.w(), 50.0, 1e-4);
    }

    /// Linux: fewer than three samples in a round, or none since the restart after
    /// idleness, and Veno is Reno.
    #[test]
    fn without_a_measured_round_it_is_reno() {
        let mut rig = Rig::new("veno", &[], 100.0, 2.0);
        rig.ack(1.0, 0.5, 0.5, false);
        rig.ack(1.0, 0.5, 0.5, true);
        let before = rig.w();
        rig.congestion(Congestion::Loss);
        near(rig.w(), before / 2.0, 1e-6);

        let mut rig = with_queue(0.0);
        rig.cc.on(&rig.flow, Event::Life(Life::IdleRestart));
        let before = rig.w();
        rig.congestion(Congestion::Loss);
        near(rig.w(), before / 2.0, 1e-6);
    }
}
