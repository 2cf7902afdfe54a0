//! The link layer of a direction: access, repeats, thinning of acknowledgements.

use bentpipe_cc::Span;

use crate::access::{AccessContext, Opportunities};
use crate::keys::error::{Error, Key};
use crate::keys::units::BitRate;
use crate::queue::QueueLimit;
use crate::resolve::plan::{AccessPlan, ArqPlan, DirectionPlan, LinkLayerPlan};
use crate::resolve::work::Work;
use crate::scenario::{Access, Reverse};

/// What is needed besides the keys of one direction to resolve them.
pub(super) struct Surroundings<'a> {
    /// The direction as warnings name it.
    pub(super) link: &'a str,
    /// Propagation there and back.
    pub(super) round_trip: Span,
    /// The place of the direction in the scenario.
    pub(super) key: &'a Key,
}

impl Work<'_> {
    /// Gives a direction the link layer that its keys describe.
    pub(super) fn add_link_layer(
        &mut self,
        direction: &mut DirectionPlan,
        keys: &Reverse,
        around: &Surroundings<'_>,
    ) -> Result<(), Error> {
        if keys.access.is_some() && keys.opportunities.is_some() {
            let message = "the opportunities already say when the link may send; leave out one of \
                access and opportunities";
            return Err(self.error(&around.key.with("access"), message));
        }
        let access = match given_access(keys.access.as_ref(), keys.opportunities.as_ref()) {
            Some((access, name)) => Some(self.access(&access, name, direction, around)?),
            None => None,
        };
        let arq = keys.arq.map(|arq| ArqPlan {
            tries: arq.tries,
            round_trip: arq.round_trip.map_or(around.round_trip, |given| given.0).0,
            in_order: arq.in_order,
        });
        let loses = direction.line.as_ref().is_some_and(|line| line.handover.loses);
        if arq.is_some() && direction.loss.is_empty() && !loses {
            self.warnings
                .push(format!("link {}: arq repeats what is lost, and nothing is lost here", around.link));
        }
        let ack_thinning = keys.ack_thinning.map(|thinning| thinning.keep);
        direction.link_layer = LinkLayerPlan { access, arq, ack_thinning };
        Ok(())
    }

    /// Resolves the access that the key called `name` gives to a direction.
    fn access(
        &mut self,
        access: &Access,
        name: &str,
        direction: &mut DirectionPlan,
        around: &Surroundings<'_>,
    ) -> Result<AccessPlan, Error> {
        let key = around.key.with(name);
        let plan = access.resolve(direction.rate_bps, around.round_trip, &mut self.access_context(&key))?;
        if let Some(rate) = plan.own_rate() {
            direction.rate_bps = rate;
        }
        if matches!(direction.queue, QueueLimit::Packets(0) | QueueLimit::Bytes(0)) {
            let message = "each packet waits for its turn, and the queue has no room; write e.g. limit = \"50 packets\"";
            return Err(self.error(&key, message));
        }
        if direction.line.is_some() {
            let message =
                "it cannot be combined with a rate, delay or path that changes; leave out one of them";
            return Err(self.error(&key, message));
        }
        Ok(plan)
    }

    /// The mean rate of a direction's access, if the link's rate does not say it; `key` is the place of the
    /// direction.
    pub(super) fn own_rate(
        &mut self,
        access: Option<&Access>,
        opportunities: Option<&String>,
        key: &Key,
    ) -> Result<Option<BitRate>, Error> {
        let Some((access, name)) = given_access(access, opportunities) else { return Ok(None) };
        let rate = access.own_rate(&mut self.access_context(&key.with(name)))?;
        Ok(rate.map(BitRate))
    }

    fn access_context<'a>(&'a mut self, key: &'a Key) -> AccessContext<'a> {
        AccessContext { key, origin: &self.scenario.origin, instants: &mut self.instants }
    }
}

/// The access of a direction with these two keys, and the name of the key that gives it.
fn given_access(access: Option<&Access>, opportunities: Option<&String>) -> Option<(Access, &'static str)> {
    let listed = opportunities.map(|file| {
        let access = Access::Opportunities(Opportunities { file: file.clone() });
        (access, "opportunities")
    });
    listed.or_else(|| access.map(|access| (access.clone(), "access")))
}
