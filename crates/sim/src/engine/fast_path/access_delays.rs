//! Access delays, the flows' own: before the path, behind that of the acknowledgements, and random ones where those set out.
//!
//! Each is an entity of its own in the order of events. But flows whose data and acknowledgements go the same ways with the same
//! delay share one direction for it: a packet that went in first comes out first. Packets of one nanosecond come out in the order of
//! their flows. A hundred thousand flows need no more than one.

use std::collections::BTreeMap;

use bentpipe_cc::Span;

use super::routes::Hop;
use crate::engine::network::Network;
use crate::link::direction::Direction;
use crate::link::random::Stream;
use crate::resolve::plan::{DirectionId, FlowPlan, Plan};

/// Entities of each flow: its delay there, the one back, and the random one of its acknowledgements.
pub(super) const OF_FLOW: u32 = 3;

/// What flows that share a delay have in common: the delay, the ways of data and of acknowledgements.
type Alike<'a> = (Span, &'a [DirectionId], &'a [DirectionId]);

/// Gives flows their delays.
pub(super) struct AccessDelays<'a> {
    /// Directions of the scenario.
    count: u32,
    entities: Vec<u32>,
    /// The first of the two directions for all flows with this delay and these ways.
    known: BTreeMap<Alike<'a>, usize>,
}

impl<'a> AccessDelays<'a> {
    /// Adds the access delays to `network`. Gives the entity of each direction, and the routes of all flows one behind the other; the
    /// flows know where theirs begin.
    pub(super) fn add(plan: &'a Plan, network: &mut Network) -> (Vec<u32>, Vec<Hop>) {
        let count = network.directions.len() as u32;
        let mut delays = Self { count, entities: (0..count).collect(), known: BTreeMap::new() };
        let mut hops = Vec::new();
        for (f, flow) in (0..).zip(&plan.flows) {
            let delay = (flow.extra_delay.0 > 0).then(|| delays.delay(f, flow, &mut network.directions));
            let jitter = (flow.ack_jitter.0 > 0).then(|| {
                let stream = Stream::new(plan.seed, &format!("flow/{}/ack-jitter", flow.name));
                delays.push(Direction::jitter(flow.ack_jitter, stream), 2, f, &mut network.directions)
            });
            let ids = |path: &'a [DirectionId]| path.iter().map(|id| id.index());
            let mut add = |route: &mut dyn Iterator<Item = usize>| {
                let first = hops.len() as u32;
                hops.extend(route.map(Hop::new));
                hops.push(Hop::LAST);
                first
            };
            let host = &mut network.flows[f as usize];
            host.data_route = add(&mut delay.into_iter().chain(ids(&flow.path)));
            let back = jitter.into_iter().chain(ids(&flow.ack_path)).chain(delay.map(|there| there + 1));
            host.ack_route = add(&mut { back });
        }
        (delays.entities, hops)
    }

    /// The direction before the path of flow `f`; the one behind that of its acknowledgements follows it.
    fn delay(&mut self, f: u32, flow: &'a FlowPlan, directions: &mut Vec<Direction>) -> usize {
        let delay = flow.extra_delay;
        let alike = (delay, &*flow.path, &*flow.ack_path);
        if let Some(&there) = self.known.get(&alike) {
            for k in 0..2 {
                directions[there + k].share();
                self.entities[there + k] = self.count + k as u32;
            }
            return there;
        }
        let there = self.push(Direction::access_delay(delay), 0, f, directions);
        self.push(Direction::access_delay(delay), 1, f, directions);
        self.known.insert(alike, there);
        there
    }

    /// Adds entity `which` of flow `f`.
    fn push(&mut self, direction: Direction, which: u32, f: u32, directions: &mut Vec<Direction>) -> usize {
        directions.push(direction);
        self.entities.push(self.count + OF_FLOW * f + which);
        directions.len() - 1
    }
}
