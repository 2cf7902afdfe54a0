//! The hint that the rate of the path changes.
//!
//! A modem that changes its modulation with the weather (DVB-S2X, ETSI EN 302 307-2) knows its rate before
//! and after. It may report the rate to the host beside it, as a radio does by DLEP (RFC 8175, Current Data
//! Rate). A sender without this report finds a lower rate by the loss of what its window holds too much, and
//! a higher one by growth.

use crate::time::{Rate, Span};

/// What is known about a path whose rate changes: the rate of its slowest link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateChange {
    /// How long it is until the change; zero if it has just happened, or has happened before.
    pub ahead: Span,
    /// The rate until then.
    pub from: Rate,
    /// The rate from then on.
    pub to: Rate,
}

impl RateChange {
    /// The share of a window that fits the path after the change: less than 1 if the rate falls, and 1
    /// otherwise, since nobody has promised the new room to this flow.
    pub fn share(&self) -> f64 {
        (self.to.0 as f64 / self.from.0.max(1) as f64).min(1.0)
    }
}
