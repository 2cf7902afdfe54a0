//! Scalable TCP: T. Kelly: Scalable TCP: Improving Performance in Highspeed Wide Area Networks, ACM SIGCOMM
//! Computer Communication Review, 2003; constants as in Linux's module of that name (6.1: docs/oracle.md).
//!
//! Unit: segments. Valid for 1 <= cwnd < 2^40.
//! Rules: W + a per acknowledged segment -> `avoid`; W - b W at a loss -> `backoff`. Both are shares of the
//! window, so the time to regain it does not depend on its size.
//! Decisions:
//!  * segments are counted, not ACKs: delayed ACKs change nothing. (Linux before 2020 and ns-3
//!    double a to make up for them.)
//!  * below `legacy_window` (Kelly: 16) the window is Reno's. It is off (0) unless given, so that the
//!    algorithm is the multiplicative one at every window.
//!  * Linux adds 1/min(W, 1/a) per segment, so that it grows no slower than Reno:
//!    `at_least_reno`, off unless given.
//!  * ECN is answered as a loss; a timeout sets ssthresh by the same rule, as `tcp_enter_loss` of Linux does
//!    with every module. (RFC 5681 section 3.1, eq. 4, would halve.)

use crate::algorithms::prelude::*;

pub(crate) const ENTRY: Entry = Entry {
    id: "scalable",
    label: "Scalable",
    about: "Grows by one per cent of the window a round trip and gives up an eighth of it at a loss.",
    source: "T. Kelly: Scalable TCP: Improving Performance in Highspeed Wide Area Networks, ACM SIGCOMM CCR, 2003",
    reference: "doi:10.1145/956981.956989",
    grade: Grade::A,
    params: Scalable::PARAMS,
    sender: SenderOptions::NONE,
    colour: "#88ccee",
    marker: "1",
    build: |args, start| Windowed::hosted(Scalable::new(args), start),
};

algorithm! {
    #[derive(Debug)]
    struct Scalable {
        /// growth per acknowledged segment
        a: f64 = 0.01, 1e-4..=1.0, "1";
        /// share of the window that is given up at a loss
        b: f64 = 0.125, 1e-3..=0.99, "1";
        /// up to this window growth and cut are Reno's; Kelly's value is 16
        legacy_window: f64 = 0.0, 0.0..=1e6, "segments";
        /// grow by one segment a round trip or more, as Linux does
        at_least_reno: bool = false;
    }
}

impl Scalable {
    fn legacy(&self, cwnd: f64) -> bool {
        cwnd <= self.legacy_window
    }
}

impl Policy for Scalable {
    fn avoid(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        let reno = 1.0 / w.cwnd;
        let per_segment = if self.legacy(w.cwnd) {
            reno
        } else if self.at_least_reno {
            self.a.max(reno)
        } else {
            self.a
        };
        w.cwnd += per_segment * ack.segments(flow);
    }

    fn backoff(&self, w: &Window, _flow: &Flow, why: Congestion) -> Cut {
        let b = if self.legacy(w.cwnd) { 0.5 } else { self.b };
        Cut::standard(w.cwnd * (1.0 - b), why)
    }
}

#[cfg(test)]
mod tests {
    use crate::event::Congestion;
    use crate::registry::Value;
    use crate::rig::{Rig, near};

    /// Round trips, counted as the sum of 1/W over the ACKs, until the window has grown by `factor`.
    fn rounds(a: f64, w: f64, factor: f64) -> f64 {
        let mut rig = Rig::new("scalable", &[("a", Value::Number(a))], w, 2.0);
        let mut rounds = 0.0;
        while rig.w() < w * factor {
            rounds += 1.0 / rig.w();
            rig.ack(1.0, 0.001, 0.5, false);
        }
        rounds
    }

    /// Kelly: doubling takes ln 2 / a round trips and regaining the window after a loss
    /// ln(8/7) / a, at any window. (Once a round trip instead of at every segment, a window of
    /// growth costs 1/2 % more: 69.66 and 13.42.)
    #[test]
    fn doubling_and_recovery_do_not_depend_on_the_window() {
        for w in [50.0, 750.0] {
            near(rounds(0.01, w, 2.0), 69.66, 0.01);
            near(rounds(0.02, w, 2.0), 35.0, 0.012);
        }
        let mut rig = Rig::new("scalable", &[], 750.0, 2.0);
        rig.congestion(Congestion::Loss);
        assert_eq!((rig.w(), rig.t()), (656.25, 656.25));
        // Once a round trip: 13.42 rounds, so the fourteenth, at 0.6 s: 8.05 s and the rest of a round.
        for (round, regained) in [(13, false), (14, true)] {
            let mut rig = Rig::new("scalable", &[], 656.25, 2.0);
            for _ in 0..round {
                rig.ack(rig.w(), 0.6, 0.6, true);
            }
            assert_eq!(rig.w() >= 750.0, regained);
        }
        near(rounds(0.01, 6562.5, 8.0 / 7.0), 13.42, 0.01);
        near(rounds(0.02, 6562.5, 8.0 / 7.0), 6.74, 0.012);
    }

    /// Up to Kelly's legacy window it is Reno; Linux never grows slower than Reno.
    #[test]
    fn small_windows() {
        let legacy = [("legacy_window", Value::Number(16.0))];
        let linux = [("at_least_reno", Value::Flag(true))];
        for (given, w, growth, keep) in [
            (&legacy[..], 16.0, 1.0, 0.5),
            (&legacy, 17.0, 0.17, 0.875),
            (&linux, 20.0, 1.0, 0.875),
            (&linux, 200.0, 2.0, 0.875),
            (&[], 20.0, 0.2, 0.875),
        ] {
            let mut rig = Rig::new("scalable", given, w, 2.0);
            rig.ack(w, 0.5, 0.5, true);
            near(rig.w() - w, growth, 1e-4);
            let mut rig = Rig::new("scalable", given, w, 2.0);
            rig.congestion(Congestion::Loss);
            near(rig.w(), w * keep, 1e-6);
        }
    }
}
