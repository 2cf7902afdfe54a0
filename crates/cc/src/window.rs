//! The window of a window-based algorithm, in segments, and the two ways in which it usually grows.

use crate::event::Congestion;
use crate::report::{Ack, Flow};

/// The window state that a policy works on, in segments (real-valued; floored only when deciding to send).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Congestion window W, at least 1.
    pub cwnd: f64,
    /// Slow-start threshold T; infinite before the first congestion.
    pub ssthresh: f64,
}

/// A policy's answer to congestion, in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    /// Window to go to; the host keeps it at 1 or more.
    pub cwnd: f64,
    /// New slow-start threshold; the host keeps it at 2 or more (RFC 5681 eq. 4).
    pub ssthresh: f64,
    /// See [`Backoff::repeat`](crate::Backoff::repeat).
    pub repeat: bool,
}

impl Cut {
    /// The common case: go to `target`, but to one segment after a timeout (RFC 5681 section 3.1).
    pub fn standard(target: f64, why: Congestion) -> Cut {
        let cwnd = if why == Congestion::Timeout { 1.0 } else { target };
        Cut { cwnd, ssthresh: target, repeat: false }
    }
}

/// How a connection starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Start {
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Initial window in segments.
    pub initial_window: f64,
    /// Initial slow-start threshold in segments; infinite if unknown.
    pub initial_ssthresh: f64,
}

/// One segment of growth per acknowledged segment up to T; returns the segments left over.
pub fn exponential(w: &mut Window, acked: f64) -> f64 {
    let room = (w.ssthresh - w.cwnd).max(0.0);
    // A sum that fills the room may round to less than T, and the next ACK would be one of slow start again.
    w.cwnd = if acked < room { w.cwnd + acked } else { w.cwnd.max(w.ssthresh) };
    (acked - room).max(0.0)
}

/// `per_round` segments of growth per round trip, spread over its ACKs: that share of 1/W for
/// each acknowledged segment.
pub(crate) fn additive(w: &mut Window, flow: &Flow, ack: &Ack, per_round: f64) {
    w.cwnd += per_round * ack.segments(flow) / w.cwnd;
}
