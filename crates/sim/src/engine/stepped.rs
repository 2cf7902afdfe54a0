//! A run that goes on step by step.
//!
//! The loops are those of [`run`](super::run), and stop between two events. So a run gives the same bits
//! however it is divided into steps.

use bentpipe_cc::Time;
use bentpipe_tcp::Sender;

use crate::capture::tap::Tap;
use crate::engine::error::RunError;
use crate::engine::fast_path::{BatchSizes, FastPath, eligibility};
use crate::engine::hosts::EventLoop;
use crate::engine::network::{Network, Supply};
use crate::engine::reference::Reference;
use crate::engine::routed::Routed;
use crate::record::Outcome;
use crate::resolve::plan::Plan;

/// A run between two steps.
#[derive(Debug)]
pub struct SteppedRun {
    plan: Plan,
    events: Events,
    /// False once the run keeps too much; [`SteppedRun::finish`] reports that.
    goes_on: bool,
}

#[derive(Debug)]
enum Events {
    Fast(Box<FastPath>),
    Routed(Box<Routed>),
    Reference(Box<Reference>),
}

impl SteppedRun {
    /// The run of `plan` before anything has happened.
    ///
    /// # Errors
    /// A controller that cannot be built.
    pub fn new(plan: Plan, supply: &mut Supply<'_>) -> Result<Self, RunError> {
        let network = Network::new(&plan, Tap::new(&plan, None)?, supply, &mut |_| true)?;
        let events = match eligibility(&plan, &network) {
            Some(eligible) => {
                Events::Fast(Box::new(FastPath::new(&plan, network, eligible, BatchSizes::default())))
            }
            None if plan.network.is_some() => Events::Routed(Box::new(Routed::new(&plan, network))),
            None => Events::Reference(Box::new(Reference::new(&plan, network))),
        };
        Ok(Self { plan, events, goes_on: true })
    }

    /// What is simulated.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The instant of the next event, or an earlier one; [`Time::MAX`] if there is none before the end of
    /// the run.
    pub fn next(&self) -> Time {
        let next = match &self.events {
            Events::Fast(run) => run.next(),
            Events::Routed(run) => run.next(),
            Events::Reference(run) => run.next(),
        };
        if self.goes_on && next <= Time(self.plan.duration.0) { next } else { Time::MAX }
    }

    /// Processes all events up to `until`, and those of that instant, but none after the end of the run.
    ///
    /// # Errors
    /// The run exceeds a bound, or breaks a law.
    pub fn advance(&mut self, until: Time) -> Result<(), RunError> {
        let until = until.min(Time(self.plan.duration.0));
        if self.goes_on {
            let watch = &mut |_| true;
            self.goes_on = match &mut self.events {
                Events::Fast(run) => run.advance(until, watch)?,
                Events::Routed(run) => run.advance(until, watch)?,
                Events::Reference(run) => run.advance(until, watch)?,
            };
            // A step may be shorter than the events between two looks.
            self.goes_on = self.goes_on && self.network().look(0.0, watch)?;
        }
        Ok(())
    }

    /// Has the flow with this number sent all that it ever will, and is that acknowledged?
    pub(crate) fn is_complete(&mut self, flow: usize) -> bool {
        self.network().flows[flow].life_ends(Time::MAX) < Time::MAX
    }

    /// The sender of the flow with this number, if it is a connection.
    pub(crate) fn sender(&mut self, flow: usize) -> Option<&Sender> {
        self.network().flows[flow].tcp().map(|tcp| &tcp.sender)
    }

    fn network(&mut self) -> &mut Network {
        match &mut self.events {
            Events::Fast(run) => run.network(),
            Events::Routed(run) => run.network(),
            Events::Reference(run) => run.network(),
        }
    }

    /// Goes on to the end of the run, and writes its report.
    ///
    /// # Errors
    /// The run exceeds a bound, or breaks a law.
    pub fn finish(mut self) -> Result<Outcome, RunError> {
        self.advance(Time::MAX)?;
        let network = match self.events {
            Events::Fast(run) => run.into_network(),
            Events::Routed(run) => run.into_network(),
            Events::Reference(run) => run.into_network(),
        };
        network.finish(&self.plan)
    }
}
