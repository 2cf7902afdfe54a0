//! TCP Reno's window (RFC 5681), used by Reno, NewReno and SACK senders alike. These three differ by the
//! sender's loss recovery (`recovery` of a flow), not by the window.
//!
//! Unit: segments. Valid for 1 <= cwnd < 2^40.
//! Equations: RFC 5681 section 3.1 (2) slow start (host), (3) congestion avoidance, (4) ssthresh.
//! Deviations:
//!  * ssthresh is half of cwnd, not of FlightSize. RFC 9438 section 4.6 allows it if the window only grows
//!    while it limits the sender, which is so here. The two agree while cwnd limits. Where the application or
//!    the receiver does, half of cwnd is more. ns-2 halves the lesser of cwnd and the receive window, Linux
//!    cwnd, the five papers use cwnd.
//!  * a report may acknowledge many segments: eq. 3 is applied to them together, which differs from one ACK
//!    at a time by less than one part in 2W.
//!  * `beta_ecn` (RFC 8511 section 3.1) is 0.5, RFC 3168's answer, unless given.

use crate::algorithms::prelude::*;

pub(crate) const ENTRY: Entry = Entry {
    id: "reno",
    label: "Reno",
    about: "Additive increase by one segment per round trip, halving at a loss; the baseline of every paper.",
    source: "M. Allman, V. Paxson, E. Blanton: TCP Congestion Control, 2009",
    reference: "RFC 5681",
    grade: Grade::A,
    params: &[Param::number("beta_ecn", 0.5, 0.1..=0.99)
        .unit("1")
        .about("share of the window that stays after an ECN echo; RFC 8511 recommends 0.8")],
    sender: SenderOptions::NONE,
    colour: "#999999",
    marker: "o",
    build: |args, start| Windowed::hosted(Reno { beta_ecn: args.number("beta_ecn") }, start),
};

/// Reno's window rules.
#[derive(Debug)]
struct Reno {
    beta_ecn: f64,
}

impl Policy for Reno {
    fn avoid(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        additive(w, flow, ack, 1.0); // RFC 5681 eq. 3
    }

    fn backoff(&self, w: &Window, _flow: &Flow, why: Congestion) -> Cut {
        let keep = if why == Congestion::Ecn { self.beta_ecn } else { 0.5 };
        Cut::standard(w.cwnd * keep, why) // RFC 5681 eq. 4, RFC 8511
    }
}

#[cfg(test)]
mod tests {
    use crate::event::Congestion;
    use crate::registry::Value;
    use crate::rig::{Rig, near};

    /// RFC 5681 section 3.1: half a window takes as many round trips to regain;
    /// 750 segments at 0.6 s take 225 s.
    #[test]
    fn regains_half_of_750_segments_in_225_s_at_600_ms() {
        let mut rig = Rig::new("reno", &[], 750.0, 2.0);
        rig.congestion(Congestion::Loss);
        assert_eq!((rig.w(), rig.t()), (375.0, 375.0));
        let begin = rig.secs();
        while rig.w() < 750.0 {
            rig.round(0.6);
        }
        near(rig.secs() - begin, 225.0, 0.01);
    }

    /// RFC 5681 section 3.1, eq. 2, 3 and 4.
    #[test]
    fn slow_start_doubles_up_to_ssthresh_and_a_timeout_returns_to_one_segment() {
        let mut rig = Rig::new("reno", &[], 4.0, 12.5);
        rig.round(0.5);
        assert_eq!(rig.w(), 8.0);
        rig.round(0.5); // 4.5 segments up to ssthresh, the other 3.5 in congestion avoidance
        near(rig.w(), 12.5 + 3.5 / 12.6, 0.01);
        let before = rig.w();
        rig.congestion(Congestion::Timeout);
        assert_eq!(rig.w(), 1.0);
        near(rig.t(), before / 2.0, 1e-6);
    }

    /// RFC 3168 section 6.1.2 (half), RFC 8511 section 3.1 (0.8).
    #[test]
    fn an_ecn_echo_keeps_half_or_what_was_asked_for() {
        for (given, keeps) in [(&[][..], 50.0), (&[("beta_ecn", Value::Number(0.8))][..], 80.0)] {
            let mut rig = Rig::new("reno", given, 100.0, 2.0);
            rig.congestion(Congestion::Ecn);
            assert_eq!((rig.w(), rig.t()), (keeps, keeps));
        }
    }
}
