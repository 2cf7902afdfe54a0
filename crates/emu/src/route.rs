//! What packets cross on their way from one end to the other.

use std::net::Ipv4Addr;
use std::sync::Arc;

use bentpipe_cc::Span;
use bentpipe_sim::link::Direction;
use bentpipe_sim::plan::{DirectionId, DirectionPlan, FlowPlan, Plan, Way, stream_of};

use crate::ip;

/// Which packets cross a delay of a flow. Each flow has its own address at the far end; see [`route_of`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packets {
    /// All packets.
    All,
    /// Those from or to this address.
    Of(Ipv4Addr),
    /// Those neither from nor to any of these addresses.
    NotOf(Arc<[Ipv4Addr]>),
}

impl Packets {
    /// Is this whole packet of IPv4 or IPv6 one of them?
    #[inline]
    pub(crate) fn include(&self, packet: &[u8]) -> bool {
        match self {
            Self::All => true,
            Self::Of(address) => ip::has_address(packet, *address),
            Self::NotOf(addresses) => !addresses.iter().any(|address| ip::has_address(packet, *address)),
        }
    }
}

/// One thing that packets cross.
#[derive(Clone, Debug)]
pub enum Hop {
    /// A delay, without rate, queue or losses: the access delay of a flow.
    Access {
        /// The delay.
        delay: Span,
        /// The name of the flow.
        flow: String,
        /// Which packets cross it.
        of: Packets,
    },
    /// A random delay of acknowledgements, the `ack_jitter` of a flow.
    Jitter {
        /// The longest delay.
        most: Span,
        /// The name of the flow.
        flow: String,
        /// Which packets cross it.
        of: Packets,
        /// The seed of the run.
        seed: u64,
    },
    /// A direction of a link of the scenario.
    Direction {
        /// Which of the plan's directions.
        id: DirectionId,
        /// As in a run's report: "sat/forward".
        name: String,
        /// What it is.
        plan: Arc<DirectionPlan>,
        /// The seed of the run, from which its streams are drawn as in a simulation.
        seed: u64,
    },
}

impl Hop {
    /// The name of its link; `None` for a delay of a flow.
    pub fn link(&self) -> Option<&str> {
        match self {
            Self::Access { .. } | Self::Jitter { .. } => None,
            Self::Direction { name, .. } => name.rsplit_once('/').map(|(link, _)| link),
        }
    }

    /// Which packets cross it. The others pass it by in no time.
    pub(crate) fn packets(&self) -> Packets {
        match self {
            Self::Access { of, .. } | Self::Jitter { of, .. } => of.clone(),
            Self::Direction { .. } => Packets::All,
        }
    }

    /// The simulator's direction at its beginning.
    pub(crate) fn begin(&self) -> Direction {
        match self {
            Self::Access { delay, .. } => Direction::access_delay(*delay),
            Self::Jitter { most, flow, seed, .. } => Direction::ack_jitter(*most, *seed, flow),
            Self::Direction { name, plan, seed, .. } => Direction::new(plan, *seed, &stream_of(name)),
        }
    }
}

/// Both ways between two ends.
#[derive(Clone, Debug)]
pub struct Route {
    /// What is crossed from the near end to the far end.
    pub forward: Vec<Hop>,
    /// What is crossed on the way back.
    pub reverse: Vec<Hop>,
    /// Further addresses of the far end, each with the index of its flow in the scenario.
    pub further: Vec<(usize, Ipv4Addr)>,
}

impl Route {
    /// Does a rate, a delay or a loss rate change over time by a time line?
    pub fn changes(&self) -> bool {
        let moves = |hop: &Hop| matches!(hop, Hop::Direction { plan, .. } if plan.line.is_some());
        self.forward.iter().chain(&self.reverse).any(moves)
    }

    /// The names of the links that are crossed, each once, in the order in which they are met on the way
    /// there, then on the way back.
    pub fn links(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for hop in self.forward.iter().chain(&self.reverse) {
            if let Some(name) = hop.link().filter(|name| !names.contains(name)) {
                names.push(name);
            }
        }
        names
    }
}

/// The route of the plan's first flow over link `link` of a network: its path, and for the way back the path
/// of its acknowledgements, access delays and jitter included. Of a flow with a relay the route is that of
/// both halves, one behind the other, as if there were no relay; of a dialogue, that of its responses. `None`
/// if the plan has no flows, or its first one crosses no link: it runs over a constellation.
///
/// Access delays and jitter of other flows belong to the route, too, if these flows have the paths of the
/// first, and neither has a relay. Each of them has its own address at the far end, 10.77.`link`.N with N two
/// above its index in the scenario: packets from or to it are those of this flow. All other packets are those
/// of the first flow.
pub fn route_of(plan: &Plan, link: usize) -> Option<Route> {
    let tables: Vec<&[FlowPlan]> = plan.flows.chunk_by(|a, b| a.table == b.table).collect();
    let (first, others) = tables.split_first()?;
    if first.iter().any(|flow| flow.stations.is_some()) {
        return None;
    }
    let first = parts(first);
    let others: Vec<_> = match first[..] {
        [only] => others.iter().filter_map(|flows| beside(only, flows, link)).collect(),
        _ => Vec::new(),
    };
    let hops = |ids: &[DirectionId]| ids.iter().map(|id| hop(plan, *id)).collect::<Vec<_>>();
    let (mut forward, mut reverse) = (Vec::new(), Vec::new());
    for part in &first {
        forward.extend(access(part, &others));
        forward.extend(hops(&part.path));
    }
    for part in first.iter().rev() {
        reverse.extend(jitter(part, &others, plan.seed));
        reverse.extend(hops(&part.ack_path));
        reverse.extend(access(part, &others));
    }
    let further = others.iter().map(|(address, flow)| (flow.table as usize, *address)).collect();
    Some(Route { forward, reverse, further })
}

/// The address of host `last` in the network of link `link`: 1 is its near end, 2 its far end.
pub(crate) fn address(link: usize, last: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, link as u8, last)
}

/// The address of the far end of link `link` for the flow with this index in the scenario; `None` if the
/// network of the link has no more addresses.
fn flow_address(link: usize, flow: usize) -> Option<Ipv4Addr> {
    u8::try_from(flow + 2).ok().filter(|last| *last < u8::MAX).map(|last| address(link, last))
}

/// Of the flows of a table, the parts of the first connection that data crosses one after the other.
fn parts(flows: &[FlowPlan]) -> Vec<&FlowPlan> {
    let count = if flows[0].duplex().is_some() { 1 } else { flows[0].part.count() };
    flows.iter().take(count).filter(|part| part.part.way != Some(Way::Requests)).collect()
}

/// A flow, and its own address at the far end.
type Addressed<'a> = (Ipv4Addr, &'a FlowPlan);

/// The first of the flows of a table, if it has the paths of `first`.
fn beside<'a>(first: &FlowPlan, flows: &'a [FlowPlan], link: usize) -> Option<Addressed<'a>> {
    let [flow] = parts(flows)[..] else { return None };
    let address = flow_address(link, flow.table as usize)?;
    (flow.path == first.path && flow.ack_path == first.ack_path).then_some((address, flow))
}

/// The access delay of the first flow, and those of the others; only one if all are equal.
fn access(first: &FlowPlan, others: &[Addressed<'_>]) -> Vec<Hop> {
    let hop =
        |of: Packets, flow: &FlowPlan| Hop::Access { delay: flow.extra_delay, flow: flow.name.clone(), of };
    let alike = others.iter().all(|(_, flow)| flow.extra_delay == first.extra_delay);
    let all = if alike { vec![(Packets::All, first)] } else { apart(first, others) };
    let late = all.into_iter().filter(|(_, flow)| flow.extra_delay > Span::ZERO);
    late.map(|(of, flow)| hop(of, flow)).collect()
}

/// The jitter of the first flow, and that of the others. No two flows share one, because each keeps its own
/// packets in order.
fn jitter(first: &FlowPlan, others: &[Addressed<'_>], seed: u64) -> Vec<Hop> {
    let held = apart(first, others).into_iter().filter(|(_, flow)| flow.ack_jitter > Span::ZERO);
    held.map(|(of, flow)| Hop::Jitter { most: flow.ack_jitter, flow: flow.name.clone(), of, seed }).collect()
}

/// Which packets are whose.
fn apart<'a>(first: &'a FlowPlan, others: &[Addressed<'a>]) -> Vec<(Packets, &'a FlowPlan)> {
    let rest = match others {
        [] => Packets::All,
        others => Packets::NotOf(others.iter().map(|(address, _)| *address).collect()),
    };
    let of = |(address, flow): &Addressed<'a>| (Packets::Of(*address), *flow);
    [(rest, first)].into_iter().chain(others.iter().map(of)).collect()
}

fn hop(plan: &Plan, id: DirectionId) -> Hop {
    Hop::Direction { id, name: plan.name_of(id), plan: Arc::new(id.of(&plan.links).clone()), seed: plan.seed }
}
