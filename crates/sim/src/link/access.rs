//! Access to a channel: a transmitter that may send only at given instants, a given number of bytes at each.
//!
//! At an opportunity the waiting packets are sent in order. Small packets share it, and the rest of a large
//! one continues at the next opportunity. A packet that arrives at the very instant of an opportunity has
//! missed it.

use crate::link::access_rule::AccessRule;
use crate::link::dama::{Dama, DamaPlan};
use crate::link::opportunities::{Opportunities, OpportunitiesPlan};

/// How the transmitter of a direction gets its instants.
#[derive(Clone, Debug, PartialEq)]
pub enum AccessPlan {
    /// They are listed in a file.
    Opportunities(OpportunitiesPlan),
    /// They are assigned on demand.
    Dama(DamaPlan),
}

impl AccessPlan {
    /// The rule at work, before the first opportunity.
    pub(super) fn start(&self) -> Box<dyn AccessRule> {
        match self {
            AccessPlan::Opportunities(plan) => Box::new(Opportunities::new(plan)),
            AccessPlan::Dama(plan) => Box::new(Dama::new(plan)),
        }
    }
}
