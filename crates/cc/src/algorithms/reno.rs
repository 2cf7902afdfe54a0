//! TCP Reno's window (RFC 5681), used by Reno, NewReno and SACK senders alike: what differs between those three is the
//! sender's loss recovery (`recovery` of a flow), not the window.
//!
//! Unit: segments. Valid for 1 <= cwnd < 2^40.
//! Equations: RFC 5681 section 3.1 (2) slow start (host), (3) congestion avoidance, (4) ssthresh.
//! Deviations:
//!  * ssthresh is half of cwnd, not of FlightSize. RFC 9438 section 4.6 allows it; the window only grows while it limits
//!    the sender, so the two agree. ns-2 and the five papers use cwnd.

use alloc::boxed::Box;

use crate::controller::Congestion;
use crate::registry::{Entry, Grade, SenderOptions};
use crate::report::{Ack, Flow};
use crate::windowed::{Cut, Policy, Window, Windowed};

pub(crate) const ENTRY: Entry = Entry {
    id: "reno",
    label: "Reno",
    about: "Additive increase by one segment per round trip, halving at a loss; the baseline of every paper.",
    source: "M. Allman, V. Paxson, E. Blanton: TCP Congestion Control, 2009",
    reference: "RFC 5681",
    grade: Grade::A,
    params: &[],
    sender: SenderOptions { aen: false, bulk_repeat: false, fixed_rto: false },
    colour: "#7f7f7f",
    marker: "o",
    build: |_, start| Box::new(Windowed::new(Reno, start)),
};

/// Reno's window rules.
#[derive(Debug)]
pub(crate) struct Reno;

/// One segment per round trip: 1/W per acknowledged segment (RFC 5681 eq. 3).
pub(crate) fn additive(w: &mut Window, flow: &Flow, ack: &Ack, per_round: f64) {
    w.cwnd += per_round * ack.segments(flow) / w.cwnd;
}

impl Policy for Reno {
    fn avoid(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        additive(w, flow, ack, 1.0); // RFC 5681 eq. 3
    }

    fn backoff(&self, w: &Window, _flow: &Flow, why: Congestion) -> Cut {
        Cut::standard(w.cwnd / 2.0, why) // RFC 5681 eq. 4
    }
}
