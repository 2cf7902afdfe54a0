//! What the file of each kind of queue defines.

use schemars::JsonSchema;
use serde::Serialize;

use crate::keys::error::Error;
use crate::link::random::Stream;
use crate::link::time_line::TimeLine;
use crate::queue::at_departure::AtDeparture;
use crate::queue::context::{Context, QueueLimit};
use crate::queue::in_order::InOrder;
use crate::queue::on_arrival::OnArrival;

/// The keys of one kind of queue.
pub(crate) trait QueueKeys: Default + Serialize + JsonSchema {
    /// The plan into which they resolve.
    type Plan: QueuePlan;
    /// Name in tables.
    const LABEL: &'static str;
    /// Authors, title, year.
    const SOURCE: &'static str;
    /// DOI, or the number of an RFC or of another standard.
    const REFERENCE: &'static str;

    /// The room of the queue, and its plan.
    fn resolve(&self, context: &mut Context<'_>) -> Result<(QueueLimit, Self::Plan), Error>;
}

/// What a run needs to know of one kind of queue.
pub(crate) trait QueuePlan {
    /// Does it mark packets of flows with ECN?
    fn marks(&self) -> bool {
        false
    }

    /// How many bands it has, if a flow's priority must be one of them.
    fn bands(&self) -> Option<u8> {
        None
    }

    /// Does it sort packets by flow, so that each needs its class?
    fn sorts_by_flow(&self) -> bool {
        false
    }

    /// The most that may wait in total.
    fn most(&self, limit: QueueLimit) -> QueueLimit {
        limit
    }

    /// The rule in use in front of a transmitter of `rate_bps`; it draws from `stream`.
    fn start(&self, limit: QueueLimit, rate_bps: u64, stream: Stream) -> Rule;

    /// The same where the rate follows `line`. Most rules do not ask for it.
    fn start_along(&self, _line: &TimeLine, limit: QueueLimit, rate_bps: u64, stream: Stream) -> Rule {
        self.start(limit, rate_bps, stream)
    }
}

/// A queue's rule in use.
#[derive(Debug)]
pub(crate) enum Rule {
    /// All packets pass that have room.
    DropTail,
    OnArrival(Box<dyn OnArrival>),
    AtDeparture(Box<dyn AtDeparture>),
}

impl Rule {
    /// The same rule in front of a link layer, which asks for packets one by one.
    pub(crate) fn at_departure(self, limit: QueueLimit, rate_bps: u64) -> Self {
        let rule = match self {
            Self::DropTail => None,
            Self::OnArrival(rule) => Some(rule),
            Self::AtDeparture(_) => return self,
        };
        Self::AtDeparture(Box::new(InOrder::new(rule, limit, rate_bps)))
    }
}
