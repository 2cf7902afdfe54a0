//! The hints about their paths that the senders of a run get: the instants follow from the plan, and each is an event of its sender.

use std::sync::Arc;

use bentpipe_cc::{PathChange, Time};

use crate::host::flow::{FlowState, Kind};
use crate::resolve::plan::{FlowPlan, Hint};

/// The hints that are still to come.
#[derive(Debug, Default)]
pub(super) struct Hints {
    /// Of each flow, with the number of its next one. Empty if no flow gets hints.
    flows: Vec<(Arc<[Hint]>, usize)>,
}

impl Hints {
    /// The hints of these flows. A flow gets them if the scenario or, without a word in it, its controller wants them, and none before its
    /// start.
    pub(super) fn new(plans: &[FlowPlan], flows: &[FlowState]) -> Self {
        let wanted = |(plan, flow): (&FlowPlan, &FlowState)| match &flow.kind {
            Kind::Tcp(tcp) if plan.path_hints.unwrap_or_else(|| tcp.sender.wants_path_hints()) => {
                let first = plan.hints.partition_point(|hint| hint.at < flow.start);
                (plan.hints.clone(), first)
            }
            _ => (Arc::default(), 0),
        };
        if plans.iter().all(|plan| plan.hints.is_empty()) {
            return Self::default();
        }
        Self { flows: plans.iter().zip(flows).map(wanted).collect() }
    }

    /// The instant of the next hint of flow `f`.
    pub(super) fn next(&self, f: usize) -> Option<Time> {
        self.flows.get(f).and_then(|(hints, next)| hints.get(*next)).map(|hint| hint.at)
    }

    /// The next hint of flow `f`, which is then over.
    pub(super) fn take(&mut self, f: usize) -> Option<PathChange> {
        let (hints, next) = self.flows.get_mut(f)?;
        let hint = hints.get(*next)?;
        *next += 1;
        Some(hint.change)
    }
}
