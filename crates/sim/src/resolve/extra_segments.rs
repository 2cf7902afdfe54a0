//! Flows whose controller orders extra segments of low priority.

use bentpipe_cc::registry;
use bentpipe_tcp::Options;

use crate::resolve::path::PathPlan;
use crate::resolve::plan::LinkPlan;
use crate::resolve::work::{Work, name_of};
use crate::scenario::{Cc, Flow};

/// Warns if no queue on the path of the data has a band for them.
pub(super) fn check(work: &mut Work<'_>, flow: &Flow, cc: &Cc, path: &PathPlan, links: &[LinkPlan]) {
    let Some(entry) = registry::find(&cc.name).filter(|entry| entry.needs().extra_segments) else { return };
    let bands = path.there.iter().filter_map(|direction| direction.of(links).discipline.plan().bands());
    if bands.max() > Some(1) {
        return;
    }
    let (name, label) = (name_of(flow), entry.label);
    work.warnings.push(format!(
        "flow {name}: no queue on its path has priorities, so the segments by which {label} probes are served like data; give a link \
            queue = {{ kind = \"priority\" }}"
    ));
}

/// The window at which such a controller aims, in segments: the receive window or, where it never binds, the bandwidth-delay product of
/// the path, in whole packets and at least one.
pub(super) fn window(options: &Options, path: &PathPlan, links: &[LinkPlan]) -> Option<f64> {
    if let Some(segments) = options.receive_window {
        return Some(segments as f64);
    }
    let slowest = path.there.iter().map(|direction| direction.of(links).rate_bps).min()?;
    let packets = slowest as f64 * path.base_rtt.secs() / 8.0 / f64::from(path.wire.max(1));
    Some(packets.floor().max(1.0))
}
