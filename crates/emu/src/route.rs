//! What packets cross on their way from one end to the other.

use std::sync::Arc;

use bentpipe_cc::Span;
use bentpipe_sim::link::Direction;
use bentpipe_sim::plan::{DirectionId, DirectionPlan, FlowPlan, Plan, Way};

/// One thing that packets cross.
#[derive(Clone, Debug)]
pub enum Hop {
    /// A delay, without rate, queue or losses: the access delay of a flow.
    Access(Span),
    /// A random delay of acknowledgements, the `ack_jitter` of a flow.
    Jitter {
        /// The longest delay.
        most: Span,
        /// The name of the flow.
        flow: String,
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
            Self::Access(_) | Self::Jitter { .. } => None,
            Self::Direction { name, .. } => name.rsplit_once('/').map(|(link, _)| link),
        }
    }

    /// The simulator's direction at its beginning.
    pub(crate) fn begin(&self) -> Direction {
        match self {
            Self::Access(delay) => Direction::access_delay(*delay),
            Self::Jitter { most, flow, seed } => Direction::ack_jitter(*most, *seed, flow),
            Self::Direction { name, plan, seed, .. } => Direction::new(plan, *seed, &format!("link/{name}")),
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

/// The route of the plan's first flow: its path, and for the way back the path of its acknowledgements,
/// access delays and jitter included. Of a flow with a relay the route is that of both halves, one behind the
/// other, as if there were no relay; of a dialogue, that of its responses. `None` if the plan has no flows.
pub fn route_of(plan: &Plan) -> Option<Route> {
    let first = plan.flows.first()?;
    let parts = if first.twin().is_some() { 1 } else { first.part.count() };
    let parts = || plan.flows.iter().take(parts).filter(|part| part.part.way != Some(Way::Requests));
    let access = |flow: &FlowPlan| (flow.extra_delay > Span::ZERO).then_some(Hop::Access(flow.extra_delay));
    let jitter = |flow: &FlowPlan| {
        let (most, seed) = (flow.ack_jitter, plan.seed);
        (most > Span::ZERO).then(|| Hop::Jitter { most, flow: flow.name.to_string(), seed })
    };
    let hops = |ids: &[DirectionId]| ids.iter().map(|id| hop(plan, *id)).collect::<Vec<_>>();
    let (mut forward, mut reverse) = (Vec::new(), Vec::new());
    for part in parts() {
        forward.extend(access(part));
        forward.extend(hops(&part.path));
    }
    for part in parts().collect::<Vec<_>>().into_iter().rev() {
        reverse.extend(jitter(part));
        reverse.extend(hops(&part.ack_path));
        reverse.extend(access(part));
    }
    Some(Route { forward, reverse })
}

fn hop(plan: &Plan, id: DirectionId) -> Hop {
    Hop::Direction { id, name: plan.name_of(id), plan: Arc::new(id.of(&plan.links).clone()), seed: plan.seed }
}
