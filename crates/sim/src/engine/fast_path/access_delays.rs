//! Access delays, which belong to a single flow: before its path, behind its `ack_path`, and random ones before its `ack_path`.
//!
//! Each is an entity of its own in the order of events. But flows with the same paths and the same delay share one direction. In it,
//! packets come out in the order in which they went in, and of one nanosecond in the order of their flows. A hundred thousand flows need no
//! more than one.

use std::collections::BTreeMap;

use bentpipe_cc::Span;

use super::routes::Hop;
use crate::engine::network::Network;
use crate::link::direction::Direction;
use crate::link::random::Stream;
use crate::resolve::plan::{DirectionId, FlowPlan, Plan};

/// Entities of each flow: its access delay there, the one back, and the random delay of its acknowledgements.
pub(super) const OF_FLOW: u32 = 3;

/// What flows that share a direction have in common: the delay, `path` and `ack_path`.
type Alike<'a> = (Span, &'a [DirectionId], &'a [DirectionId]);

/// Adds the access delays of the flows, one flow after the other.
pub(super) struct AccessDelays<'a> {
    /// Directions of the scenario.
    count: u32,
    entities: Vec<u32>,
    /// The first of the two directions for all flows with this delay and these paths.
    known: BTreeMap<Alike<'a>, usize>,
}

impl<'a> AccessDelays<'a> {
    /// Adds the access delays to `network`. Gives the entity of each direction, and the routes of all flows one behind the other. The flows
    /// keep the index at which theirs begin.
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

    /// The direction before the path of flow `f`. The one behind its `ack_path` has the next index.
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
