//! Per-round measurement, shared by every algorithm that decides once per round trip.

use crate::report::{Ack, Flow, RttSample};

/// The measurements of a finished round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The round's RTT samples.
    pub rtt: RttSample,
    /// Bytes delivered during the round.
    pub acked: u64,
}

impl Measured {
    /// Segments delivered during the round.
    pub fn segments(&self, flow: &Flow) -> f64 {
        self.acked as f64 / f64::from(flow.mss.max(1))
    }
}

/// Gathers acknowledgements into rounds. Feed it every ACK (`Policy::observe`).
#[derive(Clone, Copy, Debug, Default)]
pub struct Round {
    rtt: Option<RttSample>,
    acked: u64,
}

impl Round {
    /// Adds `ack`. On the ACK that ends a round, returns the round's measurements. `None` if it had no RTT
    /// sample; its bytes are then carried over into the next.
    pub fn add(&mut self, ack: &Ack) -> Option<Measured> {
        self.rtt = match (self.rtt, ack.rtt) {
            (Some(a), Some(b)) => Some(a.and(b)),
            (a, b) => b.or(a),
        };
        self.acked = self.acked.saturating_add(ack.acked);
        if !ack.round_end {
            return None;
        }
        let done = Measured { rtt: self.rtt?, acked: self.acked };
        *self = Round::default();
        Some(done)
    }
}
