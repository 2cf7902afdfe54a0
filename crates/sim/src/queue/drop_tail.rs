//! Drop-tail: a packet that finds no room is dropped, all others leave in the order in which they came.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::link::random::Stream;
use crate::queue::context::{Context, QueueLimit};
use crate::queue::kind::{QueueKeys, QueuePlan, Rule};
use crate::scenario::error::Error;
use crate::scenario::units::QueueSize;

/// First in, first out: a packet that finds no room is dropped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DropTail {
    /// Room, the packet in transmission not counted.
    pub limit: QueueSize,
}

impl Default for DropTail {
    fn default() -> Self {
        Self { limit: QueueSize::Bdp(1.0) }
    }
}

/// Drop-tail has nothing but its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropTailPlan;

impl QueueKeys for DropTail {
    type Plan = DropTailPlan;
    const LABEL: &'static str = "Drop-tail";
    const SOURCE: &'static str = "B. Braden et al.: Recommendations on Queue Management and Congestion Avoidance in the Internet, 1998";
    const REFERENCE: &'static str = "RFC 2309";

    fn resolve(&self, context: &mut Context<'_>) -> Result<(QueueLimit, DropTailPlan), Error> {
        Ok((context.limit(self.limit), DropTailPlan))
    }
}

impl QueuePlan for DropTailPlan {
    fn start(&self, _: QueueLimit, _: u64, _: Stream) -> Rule {
        Rule::DropTail
    }
}
