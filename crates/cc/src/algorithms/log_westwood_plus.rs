//! TCP LogWestwood+: D. Kliazovich, F. Granelli, D. Miorandi: Logarithmic Window Increase for TCP
//! Westwood+ for Improvement in High Speed, Long Distance Networks, Computer Networks 52(12), 2008.
//! Westwood+ with a logarithmic increase.
//!
//! Unit: segments. Valid for 1 <= cwnd < 2^40, RTT above 1 us; RTTmin is of the whole connection,
//! or since the last timeout.
//! Rules: Wmax is the window of the last loss. Below it W grows by (Wmax - W) / (alpha W) per ACK, alpha = 2,
//! and by Reno's 1/W if that is more; from Wmax on as Reno -> `avoid`. The decrease is
//! Westwood+'s -> [`Retreat`].
//! Decisions:
//!  * growth is per ACK as the rule is written, which leaves exp(-1/2) of the gap after a round trip.
//!    `ack_mode = "round"` leaves half of the gap, which alpha = 2 means.
//!  * alpha is constant. Before the first loss Wmax is unknown, and growth is Reno's.
//!  * a timeout leaves Wmax as it was; an ECN echo sets it as a loss does.

use crate::algorithms::logarithmic::{ACK_MODE, Approach};
use crate::algorithms::prelude::*;
use crate::algorithms::vegas::BASE_WINDOW;
use crate::algorithms::westwood_plus::{FILTER, RULES, Retreat};
use crate::registry::Kind;

pub(crate) const ENTRY: Entry = Entry {
    id: "log-westwood-plus",
    label: "LogWestwood+",
    about: "Westwood+ that returns to the window of the last loss in logarithmic steps.",
    source: "D. Kliazovich, F. Granelli, D. Miorandi: Logarithmic Window Increase for TCP Westwood+ for Improvement in High Speed, Long Distance Networks, Computer Networks 52(12), 2008",
    reference: "Computer Networks 52(12), pp. 2395-2410",
    grade: Grade::B,
    params: LogWestwoodPlus::PARAMS,
    sender: SenderOptions::NONE,
    colour: "#009988",
    marker: "1",
    build: |args, start| Windowed::hosted(LogWestwoodPlus::new(args), start),
};

algorithm! {
    #[derive(Debug)]
    struct LogWestwoodPlus {
        /// the gap to Wmax over alpha is the growth of a round trip
        alpha: f64 = 2.0, 1.0..=1000.0, "1";
        use Param { kind: Kind::Choice(&["eq6", "round"]), ..ACK_MODE };
        use FILTER;
        use Param { kind: Kind::Choice(&["paper", "linux", "ns-2"]), ..RULES };
        use BASE_WINDOW;
    }
    state(args) {
        approach: Approach = Approach::new(args),
        retreat: Retreat = Retreat::new(args),
        w_max: Option<f64>,
        before: Option<Option<f64>>,
    }
}

impl Policy for LogWestwoodPlus {
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        self.approach.observe(ack);
        self.retreat.rate.observe(flow, ack);
    }

    fn avoid(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        match self.w_max {
            Some(w_max) if w.cwnd < w_max => {
                self.approach.grow(w, w_max, 1.0 / self.alpha, ack.segments(flow));
            }
            _ => additive(w, flow, ack, 1.0),
        }
    }

    fn backoff(&self, w: &Window, _flow: &Flow, why: Congestion) -> Cut {
        self.retreat.backoff(w, why)
    }

    fn on(&mut self, w: &mut Window, flow: &Flow, event: Event<'_>) {
        self.retreat.on(w, flow, &event);
        match event {
            Event::Congestion(why) => {
                self.before = Some(self.w_max);
                if why != Congestion::Timeout {
                    self.w_max = Some(w.cwnd);
                }
                self.approach.restart();
            }
            Event::Undo(_) => {
                self.w_max = self.before.take().unwrap_or(self.w_max);
                self.approach.restart();
            }
            _ => {}
        }
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("w_max_segments", self.w_max.unwrap_or(f64::NAN));
        self.retreat.rate.probe(emit);
    }
}

#[cfg(test)]
mod tests {
    use crate::event::{Congestion, Event};
    use crate::rig::{Rig, near, text};

    /// A path of 1000 segments on which 2000 were lost: Westwood+'s decrease empties the
    /// queue, and Wmax is 2000.
    fn after_a_loss(mode: &str) -> Rig {
        let mut rig = Rig::new("log-westwood-plus", &[("ack_mode", text(mode))], 2000.0, 2.0);
        rig.ack(0.001, 0.5, 0.5, false);
        for _ in 0..10 {
            rig.path(1000.0, 0.5);
        }
        rig.congestion(Congestion::Loss);
        near(rig.w(), 1000.0, 0.02);
        near(rig.t(), 1000.0, 0.02);
        rig
    }

    fn w_max(rig: &Rig) -> f64 {
        let mut found = f64::NAN;
        rig.cc.probe(&mut |name, value| {
            if name == "w_max_segments" {
                found = value;
            }
        });
        found
    }

    /// Near Wmax the gap shrinks to exp(-1/2) = 0.607 per round trip, or to half; one segment per round trip
    /// from where half of the gap is less than that, also beyond Wmax.
    #[test]
    fn the_gap_shrinks_by_a_constant_factor() {
        for (mode, left) in [("eq6", 0.6065), ("round", 0.5)] {
            let mut rig = after_a_loss(mode);
            let w_max = w_max(&rig);
            near(w_max, 2010.0, 1e-3);
            let mut gap = w_max - rig.w();
            for round in 0..20 {
                rig.round(0.5);
                let now = w_max - rig.w();
                if (2.0..200.0).contains(&gap) && now > 2.0 {
                    near(now / gap, left, 0.03);
                }
                assert!(gap - now >= 0.99, "{mode}, round {round}: grew by {}", gap - now);
                gap = now;
            }
            let before = rig.w();
            assert!(before > w_max);
            rig.round(0.5);
            near(rig.w() - before, 1.0, 0.01);
        }
    }

    /// Growth is Reno's before the first loss. A timeout leaves Wmax alone, an ECN echo sets
    /// it, and undo gives it back.
    #[test]
    fn w_max_is_the_window_of_the_last_loss() {
        let mut rig = Rig::new("log-westwood-plus", &[], 100.0, 2.0);
        rig.round(0.5);
        near(rig.w(), 101.0, 1e-3);
        assert!(w_max(&rig).is_nan());

        let mut rig = after_a_loss("eq6");
        let known = w_max(&rig);
        let w = rig.w();
        let before = rig.congestion(Congestion::Ecn);
        near(w_max(&rig), w, 1e-6);
        rig.cc.on(&rig.flow, Event::Undo(&before));
        assert_eq!(w_max(&rig), known);
        rig.congestion(Congestion::Timeout);
        assert_eq!((rig.w(), w_max(&rig)), (1.0, known));
    }
}
