//! Eligibility of a plan: whether the fast path may run it at all, and which short cuts it may take.
//!
//! All answers follow from the plan, the recorded traces and the promises of the directions.

use std::collections::BTreeMap;

use bentpipe_cc::Span;

use crate::engine::network::Network;
use crate::host::flow::FlowState;
use crate::link::direction::{Direction, Promises};
use crate::resolve::plan::{CcPlan, DirectionId, FlowPlan, Plan, Source};

/// The short cuts that need more than promises of directions.
#[derive(Debug)]
pub(in crate::engine) struct Eligibility {
    /// May the receiver of each flow answer ahead of time?
    pub(super) prompt: Vec<bool>,
    /// May parts of the network be processed one after the other?
    pub(super) partitions: bool,
    /// May packets wait for others before they enter a direction?
    pub(super) batches: bool,
    /// May a packet pass a direction without an event?
    pub(super) unseen: bool,
}

/// The short cuts for which `plan` is eligible; `None` if it needs the reference loop, or crosses a constellation,
/// which has a fast path of its own (`engine/routed.rs`).
///
/// A plan needs the reference loop if a packet may cross a direction in no time. An event may then cause
/// another event of the same instant with a lower number, which comes too late for its order. The fast path
/// would swap packets that two directions bring to a third. With a trace of segments, a plan also needs it if
/// two packets may leave a direction at one instant: a loss known ahead of time waits for its row.
pub(in crate::engine) fn eligibility(plan: &Plan, network: &Network) -> Option<Eligibility> {
    if plan.network.is_some() {
        return None;
    }
    let routes = |f: usize| [&plan.flows[f].path, &plan.flows[f].ack_path].map(|path| ids(path));
    let sizes = sizes(&network.directions, &network.flows, routes);
    let all = |holds: fn(&Promises) -> bool| {
        (0..sizes.len()).all(|i| promises(i, &sizes, network).all(|p| holds(&p)))
    };
    let takes_time = all(|p| p.least_delay > Span::ZERO || p.least_gap > Span::ZERO);
    let parts_packets = all(|p| p.least_gap > Span::ZERO);
    let captured = network.tap.as_ref().is_some_and(|tap| tap.captures());
    if !takes_time || network.tap.is_some() && !parts_packets {
        return None;
    }
    // A sample taken when the window changes counts the data that came before the acknowledgement, even in
    // the same instant. The order of their directions decides, unless both come by one direction and in one
    // nanosecond.
    let tells = |flow: &FlowPlan| {
        let last = |path: &[DirectionId]| path.last().map_or(usize::MAX, |id| id.index());
        let [data, acks] = [last(&flow.path), last(&flow.ack_path)];
        let apart = flow.extra_delay > Span::ZERO || data != acks;
        apart || promises(data, &sizes, network).all(|p| p.least_gap > Span::ZERO)
    };
    let recorder = &network.recorder;
    let prompt = |(host, flow): (&FlowState, &FlowPlan)| {
        host.answers_at_once() && (!recorder.has_changes() || tells(flow))
    };
    // Controllers from outside may know of each other. Rows at a change, of links and of segments must be in
    // order of time.
    let from_outside =
        |flow: &FlowPlan| matches!(&*flow.source, Source::Tcp { cc: CcPlan::Supplied { .. }, .. });
    Some(Eligibility {
        prompt: network.flows.iter().zip(&plan.flows).map(prompt).collect(),
        partitions: !recorder.has_changes()
            && !recorder.has_links()
            && network.tap.is_none()
            && !plan.flows.iter().any(from_outside),
        // Rows about a loss must come in their turn.
        batches: network.tap.is_none(),
        unseen: !captured,
    })
}

fn ids(path: &[DirectionId]) -> Vec<usize> {
    path.iter().map(|id| id.index()).collect()
}

/// The promises of direction `i` about the packets that may be offered to it.
pub(super) fn promises<'a>(
    i: usize,
    sizes: &'a [Vec<u16>],
    network: &'a Network,
) -> impl Iterator<Item = Promises> + 'a {
    sizes[i].iter().map(move |&size| network.directions[i].promises(size))
}

/// The sizes of the packets that may be offered to each direction. `routes`: the directions that each flow's
/// data and acknowledgements cross.
pub(super) fn sizes(
    directions: &[Direction],
    flows: &[FlowState],
    routes: impl Fn(usize) -> [Vec<usize>; 2],
) -> Vec<Vec<u16>> {
    let mut sizes = vec![Vec::new(); directions.len()];
    for (f, flow) in flows.iter().enumerate() {
        for (route, its) in routes(f).into_iter().zip(flow.sizes()) {
            for i in route {
                for size in &its {
                    if !sizes[i].contains(size) {
                        sizes[i].push(*size);
                    }
                }
            }
        }
    }
    sizes
}

/// Data packets per second through the bottlenecks, that is, through the directions that are the slowest of
/// some flow.
pub(super) fn capacity(plan: &Plan, flows: &[FlowState]) -> f64 {
    let mut slowest = BTreeMap::new();
    for (flow, host) in plan.flows.iter().zip(flows) {
        if let Some((rate, i)) = slowest_direction(plan, flow) {
            slowest.insert(i, packets(rate, host));
        }
    }
    slowest.values().sum()
}

/// Data packets per second of one flow that has its path for itself.
pub(super) fn rate(plan: &Plan, flow: &FlowPlan, host: &FlowState) -> f64 {
    slowest_direction(plan, flow).map_or(0.0, |(rate, _)| packets(rate, host))
}

/// Rate and index of the slowest direction on the path of a flow.
fn slowest_direction(plan: &Plan, flow: &FlowPlan) -> Option<(u64, usize)> {
    flow.path.iter().map(|id| (id.of(&plan.links).rate_bps, id.index())).min()
}

fn packets(rate_bps: u64, host: &FlowState) -> f64 {
    let [size, _] = host.usual_sizes();
    rate_bps as f64 / 8.0 / f64::from(size.max(1))
}
