//! SCPS-TP congestion avoidance: Consultative Committee for Space Data Systems: Space Communications Protocol
//! Specification, Transport Protocol, CCSDS 714.0-B, as summarised in X. Ge, F. Y. Li, F. Reichert: An
//! Enhanced TCP Congestion Avoidance Scheme and its Performance Evaluation in High Speed Satellite Networks,
//! whose equation number is used here.
//!
//! Unit: segments. Valid for 1 <= cwnd < 2^40, RTT above 1 us, on a path whose propagation delay does not
//! rise for good unless `base_window` is set.
//! Equations: sigma = cwnd / BaseRTT - cwnd / AvgRTT and (1) +1, 0 or -1 segment per round trip -> `avoid`.
//! Grade C: CCSDS 714.0-B could not be obtained, and the summary has one equation and no numbers. What would
//! decide is the book's section on congestion control: the thresholds, and which mean of the RTT is meant.
//! Decisions where the summary is silent:
//!  * sigma is a rate and its thresholds are "set according to the satellite link delay". Instead, sigma
//!    BaseRTT is compared with Vegas's 1 and 3 segments: thresholds of 1/BaseRTT and 3/BaseRTT.
//!  * AvgRTT is the mean of the last round; `average = "connection"` is the summary's
//!    mean of all samples so far.
//!  * sigma equal to a threshold holds the window; a beta below alpha is taken as alpha.
//!  * +1 is spread over the round, -1 is taken at its end and takes T along. Rounds that touch
//!    recovery are not measured.
//!  * slow start, loss and timeout are RFC 5681's; ECN is answered as a loss. SCPS-TP's other modes (pure
//!    rate control, Van Jacobson), SNACK and header compression are not part of a window rule.

use crate::algorithms::avg_rtt::{AVERAGE, AvgRtt};
use crate::algorithms::prelude::*;
use crate::algorithms::vegas::{BASE_WINDOW, Gauge, step_down};

pub(crate) const ENTRY: Entry = Entry {
    id: "scps",
    label: "SCPS-TP",
    about: "The space agencies' transport in its Vegas mode: one segment more or less per round trip, by the RTT.",
    source: "Consultative Committee for Space Data Systems: Space Communications Protocol Specification (SCPS), Transport Protocol, 2006",
    reference: "CCSDS 714.0-B-2",
    grade: Grade::C,
    params: Scps::PARAMS,
    sender: SenderOptions::NONE,
    colour: "#ccbb44",
    marker: "8",
    build: |args, start| Windowed::hosted(Scps::new(args), start),
};

algorithm! {
    #[derive(Debug)]
    struct Scps {
        /// alpha of eq. 1 times BaseRTT: grow while fewer segments are queued
        alpha: f64 = 1.0, 0.0..=1000.0, "segments";
        use Param::number("beta", 3.0, 0.0..=1000.0)
            .unit("segments")
            .about("beta of eq. 1 times BaseRTT: shrink while more segments are queued");
        use AVERAGE, BASE_WINDOW;
    }
    state(args) {
        beta: f64 = args.number("beta").max(alpha),
        average: AvgRtt = AvgRtt::new(args),
        gauge: Gauge = Gauge::new(args),
        /// The round under way grows the window (eq. 1, first branch).
        up: bool,
    }
}

impl Policy for Scps {
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        self.gauge.observe(flow, ack, flow.phase == Phase::Recovery);
        self.average.observe(ack);
    }

    fn avoid(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        if let Some(round) = self.gauge.close() {
            let average = self.average.after(&round.rtt);
            let sigma = self.gauge.diff(w.cwnd, average); // sigma BaseRTT
            self.up = sigma < self.alpha; // eq. 1, first branch
            if sigma > self.beta {
                step_down(w, 1.0); // eq. 1, third branch
            }
        }
        if self.up {
            additive(w, flow, ack, 1.0);
        }
    }

    fn on(&mut self, _w: &mut Window, _flow: &Flow, event: Event<'_>) {
        if let Event::Congestion(_) = event {
            self.up = false;
        }
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

    /// Eq. 1: alone on a path the window settles where one to three segments queue, from either side, as
    /// Vegas(1, 3) does (whose Diff ns-2 rounds to whole segments).
    #[test]
    fn settles_with_one_to_three_segments_in_the_queue_as_vegas_does() {
        for from in [80.0, 130.0] {
            let mut pair = ["scps", "vegas"].map(|id| Rig::new(id, &[], from, 2.0));
            for rig in &mut pair {
                rig.ack(1.0, 0.5, 0.5, false);
            }
            for round in 0..60 {
                let windows = pair.each_mut().map(|rig| {
                    rig.path(100.0, 0.5);
                    rig.w()
                });
                assert!((windows[0] - windows[1]).abs() <= 1.0, "round {round}: {windows:?}");
            }
            let settled = pair[0].w();
            assert!((101.0..=103.1).contains(&settled), "{settled}");
            pair[0].path(100.0, 0.5);
            assert_eq!(pair[0].w(), settled);
        }
    }

    /// One segment per round trip: 4167 segments (100 Mbit/s, 0.5 s, 1500 bytes) take 4167 round trips, 34.7
    /// minutes. Measured here over the last 300 of them.
    #[test]
    fn fills_a_hundred_megabit_geo_path_in_35_minutes() {
        let mut rig = Rig::new("scps", &[], 3867.0, 2.0);
        let begin = rig.secs();
        while rig.w() < 4167.0 {
            rig.path(1e4, 0.5);
        }
        near((rig.secs() - begin) / 300.0 * 4167.0 / 60.0, 34.7, 0.01);
    }

    /// RFC 5681: half after a loss or an ECN echo, one segment after a timeout.
    #[test]
    fn congestion_halves() {
        for (why, w) in [(Congestion::Loss, 50.0), (Congestion::Ecn, 50.0), (Congestion::Timeout, 1.0)] {
            let mut rig = Rig::new("scps", &[], 100.0, 2.0);
            rig.congestion(why);
            assert_eq!((rig.w(), rig.t()), (w, 50.0));
        }
    }

    /// The mean of the whole connection hardly sees a queue that is new.
    #[test]
    fn the_mean_of_the_whole_connection_reacts_late() {
        for (average, sees_it) in [("round", true), ("connection", false)] {
            let mut rig = Rig::new("scps", &[("average", text(average))], 100.0, 2.0);
            for _ in 0..100 {
                rig.round(0.5);
            }
            let before = rig.w();
            rig.round(0.53);
            rig.round(0.53);
            assert_eq!(rig.w() < before, sees_it, "{average}");
        }
    }

    /// A beta below alpha is alpha: the window never moves both ways.
    #[test]
    fn thresholds_in_the_wrong_order() {
        let given = [("alpha", Value::Number(5.0)), ("beta", Value::Number(2.0))];
        let mut rig = Rig::new("scps", &given, 104.0, 2.0);
        rig.ack(1.0, 0.5, 0.5, false);
        for _ in 0..20 {
            rig.path(100.0, 0.5);
        }
        near(rig.w(), 105.5, 0.01);
    }
}
