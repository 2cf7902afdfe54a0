//! Access to a channel: a transmitter that may send only at given instants, a given number of bytes at each.
//!
//! At an opportunity the waiting packets are sent in order. Small packets share it, and the rest of a large
//! one continues at the next opportunity. A packet that arrives at the very instant of an opportunity has
//! missed it.

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

/// The instants of one transmitter, in order.
#[derive(Debug)]
pub(crate) enum AccessChannel {
    Opportunities(Opportunities),
    Dama(Dama),
}

impl AccessChannel {
    pub(crate) fn new(plan: &AccessPlan) -> Self {
        match plan {
            AccessPlan::Opportunities(plan) => Self::Opportunities(Opportunities::new(plan)),
            AccessPlan::Dama(plan) => Self::Dama(Dama::new(plan)),
        }
    }

    /// The instant of the next opportunity, or the instant at which the next ones are assigned.
    pub(crate) fn due(&self) -> u64 {
        match self {
            Self::Opportunities(its) => its.due(),
            Self::Dama(its) => its.due(),
        }
    }

    /// The bytes of the opportunity at that instant, while `waiting` bytes wait; 0 if there is none. The next
    /// opportunity is then due.
    pub(crate) fn take(&mut self, waiting: u64) -> u64 {
        match self {
            Self::Opportunities(its) => its.take(),
            Self::Dama(its) => its.take(waiting),
        }
    }

    /// Nothing has waited: all opportunities up to `now` have passed unused.
    pub(crate) fn pass(&mut self, now: u64) {
        match self {
            Self::Opportunities(its) => its.pass(now),
            Self::Dama(its) => its.pass(now),
        }
    }

    /// How long after its instant the bytes of an opportunity have all been sent.
    pub(crate) fn length(&self) -> u64 {
        match self {
            Self::Opportunities(_) => 0,
            Self::Dama(its) => its.slot(),
        }
    }

    /// Bytes that could have been sent until `end`; all opportunities up to then have passed.
    pub(crate) fn offered(&self, end: u64, rate: u64) -> f64 {
        match self {
            Self::Opportunities(its) => its.offered() as f64,
            Self::Dama(_) => end as f64 * rate as f64 / 8e9,
        }
    }
}
