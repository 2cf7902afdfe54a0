//! BIC: L. Xu, K. Harfoush, I. Rhee: Binary Increase Congestion Control for Fast, Long Distance
//! Networks, IEEE INFOCOM, 2004; details as in Linux's module of that name (6.1, whose windows are
//! replayed ACK by ACK: docs/oracle.md).
//!
//! Unit: segments. Valid for 1 <= cwnd < 2^40.
//! Rules, per round trip, with M the window at the last loss -> [`Bic::step`]. Below M: a share 1/B of the
//! distance, at most `smax`, and B / smooth_part near M. Above M: B / smooth_part up to M + B, then
//! (W - M)/(B - 1), at most `smax`. At a loss the window is multiplied by `beta`, and M is lowered if it was
//! not reached (fast convergence) -> `backoff`, `on_congestion`.
//! Decisions:
//!  * constants are Linux's. The paper's own: b = 2, smax = 32, beta = 0.875; ns-3 has smooth_part = 5.
//!  * windows and distances are real numbers; Linux rounds them, and halts early at a distance below 2B.
//!  * growth is per acknowledged segment, so that Linux's factor for delayed ACKs is 1. In Linux 2.6.22, and
//!    so in ns-2's TCP/Linux, the factor sticks at 31/16 where each segment is acknowledged (`bictcp_acked`
//!    in tcp_bic.c): `ack_ratio`.
//!  * before the first loss growth is at least 5 % a round trip, at any time at most one
//!    window a round trip (Linux).
//!  * up to `low_window` growth and cut are Reno's.
//!  * a timeout sets T by `beta` and forgets M; a spurious congestion brings it back.
//!    ECN is answered as a loss.

use crate::algorithms::prelude::*;

pub(crate) const ENTRY: Entry = Entry {
    id: "bic",
    label: "BIC",
    about: "Searches the window of the last loss by steps that shrink with the distance; CUBIC's predecessor.",
    source: "L. Xu, K. Harfoush, I. Rhee: Binary Increase Congestion Control for Fast, Long Distance Networks, IEEE INFOCOM, 2004",
    reference: "doi:10.1109/INFCOM.2004.1354672",
    grade: Grade::A,
    params: Bic::PARAMS,
    sender: SenderOptions::NONE,
    colour: "#004488",
    marker: "x",
    build: |args, start| Windowed::hosted(Bic::new(args), start),
};

algorithm! {
    #[derive(Debug)]
    struct Bic {
        /// largest growth per round trip; 32 in the paper
        smax: f64 = 16.0, 0.1..=1000.0, "segments";
        /// growth below the window of the last loss is 1/b of the distance to it; 2 in the paper
        b: f64 = 4.0, 1.1..=100.0, "1";
        /// growth around the window of the last loss is b / smooth_part; 5 in ns-3
        smooth_part: f64 = 20.0, 0.1..=1000.0, "round trips";
        /// up to this window growth and cut are Reno's
        low_window: f64 = 14.0, 0.0..=1e6, "segments";
        /// share of the window that stays after a loss; 0.875 in the paper
        beta: f64 = 819.0 / 1024.0, 0.1..=0.99, "1";
        /// remember (1 + beta)/2 of the window if a loss comes below that of the last one
        fast_convergence: bool = true;
        /// growth is multiplied by this, Linux's estimate of segments per ACK; 31/16 in Linux 2.6.22, where
        /// it sticks
        ack_ratio: f64 = 1.0, 1.0..=16.0, "segments";
    }
    state {
        /// Window of the last loss, segments; 0 before the first and after a timeout.
        last_max: f64,
        /// What a spurious congestion gives back.
        before: Option<f64>,
    }
}

impl Bic {
    /// Growth per round trip at a window of `w` segments.
    fn step(&self, w: f64) -> f64 {
        if w <= self.low_window {
            return 1.0;
        }
        let smooth = self.b / self.smooth_part;
        let step = if w < self.last_max {
            match (self.last_max - w) / self.b {
                share if share > self.smax => self.smax,
                share if share <= 1.0 => smooth,
                share => share,
            }
        } else {
            match w - self.last_max {
                above if above < self.b => smooth,
                above if above < self.smax * (self.b - 1.0) => above / (self.b - 1.0),
                _ => self.smax,
            }
        };
        let least = if self.last_max == 0.0 { w / 20.0 } else { 0.0 };
        (step.max(least) * self.ack_ratio).min(w)
    }

    fn on_congestion(&mut self, w: &Window, why: Congestion) {
        self.before = Some(self.last_max);
        self.last_max = match why {
            Congestion::Timeout => 0.0,
            _ if self.fast_convergence && w.cwnd < self.last_max => w.cwnd * (1.0 + self.beta) / 2.0,
            _ => w.cwnd,
        };
    }
}

impl Policy for Bic {
    fn avoid(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        additive(w, flow, ack, self.step(w.cwnd));
    }

    fn backoff(&self, w: &Window, _flow: &Flow, why: Congestion) -> Cut {
        let keep = if w.cwnd <= self.low_window { 0.5 } else { self.beta };
        Cut::standard(w.cwnd * keep, why)
    }

    fn on(&mut self, w: &mut Window, _flow: &Flow, event: Event<'_>) {
        match event {
            Event::Congestion(why) => self.on_congestion(w, why),
            Event::Undo(_) => self.last_max = self.before.take().unwrap_or(self.last_max),
            _ => {}
        }
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("last_max_segments", self.last_max);
    }
}

#[cfg(test)]
mod tests {
    use super::Bic;
    use crate::event::{Congestion, Event};
    use crate::registry::Value;
    use crate::rig::{Rig, args, near};

    /// Growth per round trip at `w` segments after a loss at 1000.
    fn growth(w: f64, given: &[(&str, Value)]) -> f64 {
        Bic { last_max: 1000.0, ..Bic::new(&args("bic", given)) }.step(w)
    }

    /// Linux: steps of 16, a quarter of the distance, and a fifth of a segment, below and
    /// above the window of the loss.
    #[test]
    fn steps() {
        for (w, step) in [
            (820.0, 16.0),
            (940.0, 15.0),
            (980.0, 5.0),
            (997.0, 0.2),
            (1001.0, 0.2),
            (1012.0, 4.0),
            (1045.0, 15.0),
            (1060.0, 16.0),
        ] {
            near(growth(w, &[]), step, 1e-12);
        }
        let paper = [("b", 2.0), ("smax", 32.0), ("beta", 0.875)].map(|(name, x)| (name, Value::Number(x)));
        for (w, step) in [(900.0, 32.0), (960.0, 20.0), (1020.0, 20.0), (1060.0, 32.0)] {
            near(growth(w, &paper), step, 1e-12);
        }
    }

    /// Linux 2.6.22: 31/16 of the growth, but not up to 14 segments.
    #[test]
    fn the_estimate_of_segments_per_ack_multiplies_the_growth() {
        let old = [("ack_ratio", Value::Number(31.0 / 16.0))];
        for (w, step) in [(820.0, 31.0), (997.0, 0.3875), (1001.0, 0.3875), (14.0, 1.0)] {
            near(growth(w, &old), step, 1e-12);
        }
    }

    /// From 819/1024 of the window to the window, a step a round trip.
    #[test]
    fn round_trips_to_regain_the_window() {
        for (w, rounds) in [(50.0, 20), (100.0, 24), (432.0, 28), (700.0, 32), (1000.0, 35), (4167.0, 77)] {
            let mut rig = Rig::new("bic", &[], w, 2.0);
            rig.congestion(Congestion::Loss);
            near(rig.w(), 0.8 * w, 1e-3);
            let mut count = 0;
            while rig.w() < w - 1e-5 {
                rig.ack(rig.w(), 0.5, 0.5, true);
                count += 1;
            }
            assert_eq!(count, rounds, "{w} segments");
        }
    }

    /// Before the first loss 5 % a round trip at least; up to 14 segments it is Reno.
    #[test]
    fn small_windows_and_the_first_epoch() {
        for (w, step) in [(14.0, 1.0), (1000.0, 50.0), (200.0, 16.0), (15.0, 5.0)] {
            let mut rig = Rig::new("bic", &[], w, 2.0);
            rig.ack(w, 0.5, 0.5, true);
            near(rig.w() - w, step, 1e-6);
        }
        let mut rig = Rig::new("bic", &[], 14.0, 2.0);
        rig.congestion(Congestion::Loss);
        assert_eq!(rig.w(), 7.0);
    }

    fn last_max(rig: &Rig) -> f64 {
        let mut found = f64::NAN;
        rig.cc.probe(&mut |_, value| found = value);
        found
    }

    /// Fast convergence, timeout and undo.
    #[test]
    fn what_is_remembered() {
        for (on, share) in [(true, (1.0 + 819.0 / 1024.0) / 2.0), (false, 1.0)] {
            let mut rig = Rig::new("bic", &[("fast_convergence", Value::Flag(on))], 1000.0, 2.0);
            rig.congestion(Congestion::Loss);
            let w = rig.w();
            assert_eq!(last_max(&rig), 1000.0);
            let before = rig.congestion(Congestion::Loss);
            near(last_max(&rig), share * w, 1e-6);
            rig.cc.on(&rig.flow, Event::Undo(&before));
            assert_eq!(last_max(&rig), 1000.0);
            near(rig.w(), w, 1e-6);
            rig.congestion(Congestion::Timeout);
            assert_eq!((rig.w(), last_max(&rig)), (1.0, 0.0));
        }
    }
}
