//! The hints about their paths that the senders of a run get. Their instants follow from the plan, and each
//! is an event of its sender.

use std::sync::Arc;

use bentpipe_cc::{Hint, Time};

use crate::host::flow::{FlowState, Kind};
use crate::resolve::plan::{FlowPlan, TimedHint};

/// The hints that are still to come.
#[derive(Debug, Default)]
pub(super) struct Hints {
    /// The hints of each flow, with the index of the next one. Empty if no flow gets hints.
    flows: Vec<(Arc<[TimedHint]>, usize)>,
}

impl Hints {
    /// The hints of these flows. A flow gets the hints that the scenario wants; if the scenario is silent,
    /// those that its controller wants. It gets none before its start.
    pub(super) fn new(plans: &[FlowPlan], flows: &[FlowState]) -> Self {
        if plans.iter().all(|plan| plan.hints.is_empty()) {
            return Self::default();
        }
        let wanted = |(plan, flow): (&FlowPlan, &FlowState)| {
            let Kind::Tcp(tcp) = &flow.kind else { return (Arc::default(), 0) };
            let needs = tcp.sender.needs();
            let given = |hint: &&TimedHint| plan.gives(&hint.hint).unwrap_or_else(|| needs.hint(&hint.hint));
            let hints: Arc<[TimedHint]> = plan.hints.iter().filter(given).copied().collect();
            let first = hints.partition_point(|hint| hint.at < flow.start);
            (hints, first)
        };
        Self { flows: plans.iter().zip(flows).map(wanted).collect() }
    }

    /// The instant of the next hint of flow `f`.
    pub(super) fn next(&self, f: usize) -> Option<Time> {
        self.flows.get(f).and_then(|(hints, next)| hints.get(*next)).map(|hint| hint.at)
    }

    /// Takes the next hint of flow `f`.
    pub(super) fn take(&mut self, f: usize) -> Option<Hint> {
        let (hints, next) = self.flows.get_mut(f)?;
        let hint = hints.get(*next)?;
        *next += 1;
        Some(hint.hint)
    }
}
