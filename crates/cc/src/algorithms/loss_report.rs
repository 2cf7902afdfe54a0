//! What a rate-based sender knows of an interval: what was delivered and what was lost in it, by SACK.
//!
//! LDA+, TFRCP and the scheme of Mahdavi and Floyd reckon by it. Their receivers would report the same.

use crate::algorithms::prelude::*;

/// An interval under way. Amounts in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LossReport {
    begun: Time,
    /// `Flow::delivered` and `Flow::lost` at its beginning.
    delivered: u64,
    lost: u64,
    /// Echoes of marks, a packet each, and what was outstanding at a timeout.
    marked: u64,
    /// Did an ACK show that the application did not limit the sender?
    pub(crate) busy: bool,
}

impl LossReport {
    /// An interval begins.
    pub(crate) fn begin(&mut self, flow: &Flow) {
        *self = Self { begun: flow.now, delivered: flow.delivered, lost: flow.lost, ..Self::default() };
    }

    /// Takes an ACK.
    pub(crate) fn observe(&mut self, ack: &Ack) {
        self.busy |= ack.rate.is_none_or(|sample| !sample.app_limited);
    }

    /// How old it is, seconds.
    pub(crate) fn age(&self, flow: &Flow) -> f64 {
        flow.now.since(self.begun).secs()
    }

    /// The share of the packets that were lost, 0 to 1.
    pub(crate) fn fraction(&self, flow: &Flow) -> f64 {
        let arrived = flow.delivered.saturating_sub(self.delivered) as f64;
        let missing = flow.lost.saturating_sub(self.lost).saturating_add(self.marked) as f64;
        if missing > 0.0 { missing / (missing + arrived) } else { 0.0 }
    }

    /// Takes congestion. Losses are known from the flow, and a mark is one. At a timeout all that is outstanding
    /// is lost, though the sender says so only after this.
    pub(crate) fn on_congestion(&mut self, flow: &Flow, why: Congestion) {
        let segment = u64::from(flow.mss.max(1));
        self.marked = self.marked.saturating_add(match why {
            Congestion::Loss => 0,
            Congestion::Ecn => segment,
            Congestion::Timeout => flow.in_flight.max(segment),
        });
    }

    /// What is outstanding was counted: its loss is not news.
    pub(crate) fn settle(&mut self, flow: &Flow) {
        self.lost = self.lost.saturating_add(flow.in_flight);
    }

    /// The losses so far were none.
    pub(crate) fn forget(&mut self, flow: &Flow) {
        (self.lost, self.marked) = (flow.lost, 0);
    }
}
