//! How the nodes of a constellation are divided among threads.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::available_parallelism;

use bentpipe_cc::{Span, registry};
use bentpipe_tcp::AckRule;

use crate::constellation::{NetworkPlan, NextHops};
use crate::engine::calendar::arrivals_per_second;
use crate::resolve::plan::{CcPlan, FlowPlan, Plan, Source};

/// The most threads of one run. A plane has no more satellites, and lasers between planes are short.
const MOST_PARTS: usize = 64;
/// The least lookahead: a window that is shorter than this has too little work between two barriers.
const SHORTEST: Span = Span(200_000);
/// Positions between knots are interpolated, and the delay of a laser is looked at once in a while only: light may
/// take so much less than the least delay that was seen. A window that is too long all the same is noticed.
const MARGIN: f64 = 0.99;
/// How often the delay of a laser is looked at, ns.
const EVERY_NS: u64 = 10_000_000_000;
/// The most work of a part, relative to an equal share.
const UNEVEN: f64 = 1.1;
/// The work of one end of a flow per packet, in hops.
const HOST: f64 = 0.5;
/// The least number of hops that are expected in a window for each part: with fewer the barrier costs more than a
/// thread saves.
const LEAST_HOPS: f64 = 1_000.0;

/// The parts of a constellation.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Cut {
    pub(in crate::engine) parts: usize,
    /// The part of each node.
    pub(in crate::engine) owner: Arc<[u16]>,
    /// The least time from a node of one part to a node of another.
    pub(in crate::engine) lookahead: Span,
}

impl Cut {
    /// Divides the constellation of `plan` among at most `threads` threads, 0: one per core. `None` if one thread must
    /// run it, or is as fast.
    pub(in crate::engine) fn find(plan: &Plan, threads: usize) -> Option<Self> {
        let cores = available_parallelism().map_or(1, usize::from);
        let parts = if threads == 0 { cores } else { threads.min(cores) }.min(MOST_PARTS);
        let network = plan.network.as_ref().filter(|_| parts > 1 && is_separable(plan))?;
        let mut lookahead = Span((ground_ns(network) * MARGIN) as u64);
        let enough = |window: Span| arrivals_per_second(plan) * window.secs() >= LEAST_HOPS * parts as f64;
        if !enough(lookahead) {
            return None;
        }
        let work = work(plan, network);
        let delays = least_delays(network, plan.duration.0);
        while lookahead >= SHORTEST && enough(lookahead) {
            // Groups may be larger than they must: fewer packets then cross from part to part.
            let dealt = [8.0, 4.0, 2.0, 1.0].into_iter().find_map(|reach| {
                let near = |laser: &(&f64, &(u32, u32))| *laser.0 * MARGIN < reach * lookahead.0 as f64;
                let lasers = delays.iter().zip(&network.constellation.lasers).filter(near);
                Groups::new(work.len(), lasers.map(|(_, ends)| *ends)).deal(&work, parts)
            });
            if let Some(owner) = dealt {
                return Some(Self { parts, owner: owner.into(), lookahead });
            }
            lookahead = Span(lookahead.0 / 2);
        }
        None
    }

    /// Deals the nodes in turn, for tests.
    pub(in crate::engine) fn in_turn(plan: &Plan, parts: usize, lookahead: Span) -> Option<Self> {
        let nodes = plan.network.as_ref().filter(|_| is_separable(plan))?.constellation.nodes();
        Some(Self {
            parts,
            owner: (0..nodes).map(|node| (node as usize % parts) as u16).collect(),
            lookahead,
        })
    }
}

/// Does every state of the run belong to one node, and is every row known at one node?
fn is_separable(plan: &Plan) -> bool {
    let at_ticks = plan.record.is_none_or(|of| {
        !of.segments && !of.probes && (!of.flows || of.interval.is_some_and(|interval| interval.0 > 0))
    });
    at_ticks && plan.flows.iter().all(is_alone)
}

/// Do the two ends of a flow share nothing but packets, with each other and with those of other flows?
fn is_alone(flow: &FlowPlan) -> bool {
    flow.stations.is_some()
        && flow.ties.is_none()
        && match &*flow.source {
            // A packet without an echo that is a transfer of its own is noted where it was sent.
            Source::Cbr(of) => of.transfer.is_none() || of.is_echoed,
            Source::Tcp { cc: CcPlan::Supplied { .. }, .. } => false, // they may know of each other
            Source::Tcp { cc: CcPlan::Registered { id, .. }, options, application, .. } => {
                // Headers are in a table that the hosts share with the queues.
                let header = registry::find(id).is_none_or(|of| of.sender.header > 0);
                // Which segment ends a write is known at the sender alone (`Sender::is_pushed`).
                let pushes = application.is_some() && options.acks == AckRule::Linux;
                !header && !pushes
            }
        }
}

/// The expected work of each node: a packet of each flow crosses it on the first path, there and back.
fn work(plan: &Plan, network: &NetworkPlan) -> Vec<f64> {
    let of = &network.constellation;
    let table = NextHops::first(of);
    let mut pairs: BTreeMap<[u32; 2], f64> = BTreeMap::new();
    for [from, to] in plan.flows.iter().filter_map(|flow| flow.stations) {
        *pairs.entry([from, to]).or_default() += 1.0;
        *pairs.entry([to, from]).or_default() += 1.0;
    }
    let mut work = vec![0.0; of.nodes() as usize];
    for (pair, flows) in pairs {
        table.path(pair).for_each(|node| work[node as usize] += flows);
        pair.iter().for_each(|station| work[(of.satellites + station) as usize] += HOST * flows);
    }
    work
}

/// The least delay of each laser, ns.
fn least_delays(network: &NetworkPlan, until_ns: u64) -> Vec<f64> {
    let of = &network.constellation;
    let instants = || (0..=until_ns).step_by(EVERY_NS as usize).chain([until_ns]);
    let least =
        |&(a, b): &(u32, u32)| instants().map(|at| of.knots.delay_ns(a, b, at)).fold(f64::INFINITY, f64::min);
    of.lasers.iter().map(least).collect()
}

/// A bound on the delay between a satellite and a station, ns: the lowest satellite above the highest station.
fn ground_ns(network: &NetworkPlan) -> f64 {
    let (of, satellites) = (&network.constellation.knots, network.constellation.satellites as usize);
    let height = |xyz: &[f64; 3]| libm::sqrt(xyz.iter().map(|km| km * km).sum());
    let (mut lowest, mut highest) = (f64::INFINITY, 0.0_f64);
    for knot in of.xyz_km.chunks(of.nodes) {
        let (sky, ground) = knot.split_at(satellites);
        lowest = sky.iter().map(height).fold(lowest, f64::min);
        highest = ground.iter().map(height).fold(highest, f64::max);
    }
    (lowest - highest).max(0.0) / crate::constellation::LIGHT_KM_PER_NS
}

/// Groups of nodes that must be in one part.
struct Groups {
    /// For each node another one of its group, or itself.
    of: Vec<u32>,
}

impl Groups {
    /// The groups that these lasers join.
    fn new(nodes: usize, lasers: impl Iterator<Item = (u32, u32)>) -> Self {
        let mut groups = Self { of: (0..nodes as u32).collect() };
        for (a, b) in lasers {
            let (a, b) = (groups.root(a), groups.root(b));
            groups.of[a as usize] = b;
        }
        groups
    }

    fn root(&mut self, mut node: u32) -> u32 {
        while self.of[node as usize] != node {
            let next = self.of[node as usize];
            self.of[node as usize] = self.of[next as usize];
            node = next;
        }
        node
    }

    /// Deals the groups to parts, the one with the most work first, each to the part with the least (Graham, 1969).
    /// Returns the part of each node; `None` if a part has far more than its due.
    fn deal(mut self, work: &[f64], parts: usize) -> Option<Vec<u16>> {
        let mut groups: BTreeMap<u32, (f64, Vec<u32>)> = BTreeMap::new();
        for (node, work) in (0..).zip(work) {
            let group = groups.entry(self.root(node)).or_default();
            group.0 += work;
            group.1.push(node);
        }
        let mut groups: Vec<(f64, Vec<u32>)> = groups.into_values().collect();
        groups.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut given = vec![0.0_f64; parts];
        let mut owner = vec![0; work.len()];
        for (work, nodes) in groups {
            let least = (0..parts).min_by(|a, b| given[*a].total_cmp(&given[*b])).unwrap_or(0);
            given[least] += work;
            nodes.into_iter().for_each(|node| owner[node as usize] = least as u16);
        }
        let due = given.iter().sum::<f64>() / parts as f64;
        given.iter().all(|of| *of <= UNEVEN * due).then_some(owner)
    }
}
