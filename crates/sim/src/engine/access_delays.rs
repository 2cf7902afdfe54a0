//! The routes of flows, and the access delays on them. An access delay belongs to a single flow. It lies
//! before the
//! flow's path, behind its `ack_path`, or, if it is random, before its `ack_path`.
//!
//! Each access delay is an entity of its own in the order of events. On the fast path, flows with the same
//! paths and the same delay share one direction. Packets leave it in the order in which they entered; packets
//! of one nanosecond leave in the order of their flows. A hundred thousand flows need no more than one.

use std::collections::BTreeMap;

use bentpipe_cc::Span;

use crate::engine::network::Network;
use crate::link::direction::Direction;
use crate::resolve::plan::{DirectionId, FlowPlan, Plan};

/// The entities of each flow: its access delay there, its access delay back, and the random delay of its
/// acknowledgements.
pub(super) const OF_FLOW: u32 = 3;

/// Ends a route.
pub(super) const END: u32 = u32::MAX;

/// The entity of the air behind a port. The entities of links and of ports come before.
pub(super) fn air_entity(plan: &Plan, port: usize) -> u32 {
    (2 * plan.links.len() + plan.ports().count() + port) as u32
}

/// The routes of all flows.
pub(super) struct Routes {
    /// The entity of each direction; for a shared direction, the entity of flow 0.
    pub(super) entities: Vec<u32>,
    /// The directions of all routes, one route after the other; [`END`] ends each. A flow keeps the places at
    /// which its own routes begin.
    pub(super) directions: Vec<u32>,
}

/// What flows that share a direction have in common: the delay, `path` and `ack_path`.
type Alike<'a> = (Span, &'a [DirectionId], &'a [DirectionId]);

/// Adds the access delays of the flows, one flow after the other.
pub(super) struct AccessDelays<'a> {
    /// Entities of the scenario: its directions, and the air behind each port.
    count: u32,
    /// May flows share a direction?
    shares: bool,
    entities: Vec<u32>,
    /// The first of the two directions for all flows with this delay and these paths.
    known: BTreeMap<Alike<'a>, usize>,
}

impl<'a> AccessDelays<'a> {
    /// Adds the access delays to `network`. Each is a direction of its own.
    pub(super) fn add(plan: &'a Plan, network: &mut Network) -> Routes {
        Self::routes(plan, network, false)
    }

    /// As `add`, but flows with equal access delays share a direction.
    pub(super) fn add_shared(plan: &'a Plan, network: &mut Network) -> Routes {
        Self::routes(plan, network, true)
    }

    fn routes(plan: &'a Plan, network: &mut Network, shares: bool) -> Routes {
        let count = network.directions.len() as u32;
        let entities = (0..count).collect();
        let count = count + network.airs.len() as u32;
        let mut delays = Self { count, shares, entities, known: BTreeMap::new() };
        let mut hops = Vec::new();
        for (f, flow) in (0..).zip(&plan.flows) {
            let delay = (flow.extra_delay.0 > 0).then(|| delays.delay(f, flow, &mut network.directions));
            let jitter = (flow.ack_jitter.0 > 0).then(|| {
                let held = Direction::ack_jitter(flow.ack_jitter, plan.seed, &flow.name);
                delays.push(held, 2, f, &mut network.directions)
            });
            let ids = |path: &'a [DirectionId]| path.iter().map(|id| id.index());
            let mut add = |route: &mut dyn Iterator<Item = usize>| {
                let first = hops.len() as u32;
                hops.extend(route.map(|direction| direction as u32));
                hops.push(END);
                first
            };
            let host = &mut network.flows[f as usize];
            if let (Some([from, to]), Some(of)) = (flow.stations, &network.forwarding) {
                (host.data_route, host.ack_route) = (of.hop(from, to), of.hop(to, from));
                continue;
            }
            host.data_route = add(&mut delay.into_iter().chain(ids(&flow.path)));
            let back = jitter.into_iter().chain(ids(&flow.ack_path)).chain(delay.map(|there| there + 1));
            host.ack_route = add(&mut { back });
        }
        Routes { entities: delays.entities, directions: hops }
    }

    /// The direction before the path of flow `f`. The one behind its `ack_path` has the next index.
    fn delay(&mut self, f: u32, flow: &'a FlowPlan, directions: &mut Vec<Direction>) -> usize {
        let delay = flow.extra_delay;
        let alike = (delay, &*flow.path, &*flow.ack_path);
        if let Some(&there) = self.known.get(&alike).filter(|_| self.shares) {
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
