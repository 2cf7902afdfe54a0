//! Flows whose segments carry a header for their controller.

use bentpipe_cc::registry;

use crate::resolve::path::PathPlan;
use crate::resolve::plan::LinkPlan;
use crate::resolve::work::{Work, name_of};
use crate::scenario::{Cc, Flow};

/// Bytes of the header on the wire.
pub(super) fn bytes(flow: &Flow) -> u32 {
    flow.cc.as_ref().and_then(|cc| registry::find(&cc.name)).map_or(0, |entry| entry.sender.header)
}

/// Warns if no queue on the path of the data computes for the controller.
pub(super) fn check(work: &mut Work<'_>, flow: &Flow, cc: &Cc, path: &PathPlan, links: &[LinkPlan]) {
    let Some(entry) = registry::find(&cc.name) else { return };
    let Some(kind) = entry.sender.queue else { return };
    if path.there.iter().any(|direction| direction.of(links).discipline.kind() == kind) {
        return;
    }
    let (name, label) = (name_of(flow), entry.label);
    work.warnings.push(format!(
        "flow {name}: no queue on its path computes for {label}, which then behaves as Reno; give a link \
            queue = {{ kind = \"{kind}\" }}"
    ));
}
