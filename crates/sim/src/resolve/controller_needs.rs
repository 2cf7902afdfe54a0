//! What a controller needs of the path of its data: room for its header, a queue that computes, priorities,
//! and the window at which it aims.

use bentpipe_cc::registry;
use bentpipe_tcp::Options;

use crate::resolve::path::PathPlan;
use crate::resolve::plan::LinkPlan;
use crate::resolve::work::{Work, name_of};
use crate::scenario::{Cc, Flow};

/// Bytes on the wire of the controller's header on each segment.
pub(super) fn header(flow: &Flow) -> u32 {
    header_of(flow.cc.as_ref())
}

fn header_of(cc: Option<&Cc>) -> u32 {
    cc.and_then(|cc| registry::find(&cc.name)).map_or(0, |entry| entry.sender.header)
}

/// The most bytes of such a header on any part of the connection. A relay and Multipath TCP hand data over in
/// segments, which therefore have one size on all parts.
pub(super) fn largest_header(flow: &Flow) -> u32 {
    let relay = flow.relay.iter().map(|relay| relay.cc.as_ref());
    let others = relay.chain(flow.subflow.iter().map(|subflow| subflow.cc.as_ref()));
    others.map(header_of).fold(header(flow), u32::max)
}

/// Warns if no queue on the path of the data provides what the controller needs.
pub(super) fn check(work: &mut Work<'_>, flow: &Flow, cc: &Cc, path: &PathPlan, links: &[LinkPlan]) {
    let Some(entry) = registry::find(&cc.name) else { return };
    let queues = || path.there.iter().map(|direction| &direction.of(links).discipline);
    let (name, label) = (name_of(flow), entry.label);
    if let Some(kind) = entry.sender.queue.filter(|&kind| queues().all(|queue| queue.kind() != kind)) {
        work.warnings.push(format!(
            "flow {name}: no queue on its path computes for {label}, which then behaves as Reno; give a link \
                queue = {{ kind = \"{kind}\" }}"
        ));
    }
    if entry.needs().extra_segments && queues().filter_map(|queue| queue.plan().bands()).max() <= Some(1) {
        work.warnings.push(format!(
            "flow {name}: no queue on its path has priorities, so the segments by which {label} probes are served like data; give a link \
                queue = {{ kind = \"priority\" }}"
        ));
    }
}

/// The window in segments at which a controller of extra segments aims. It is the receive window or, where
/// that never binds, the bandwidth-delay product of the path, in whole packets and at least one.
pub(super) fn window(options: &Options, path: &PathPlan, links: &[LinkPlan]) -> Option<f64> {
    if let Some(segments) = options.receive_window {
        return Some(segments as f64);
    }
    let slowest = path.there.iter().map(|direction| direction.of(links).rate_bps).min()?;
    let packets = slowest as f64 * path.base_rtt.secs() / 8.0 / f64::from(path.wire.max(1));
    Some(packets.floor().max(1.0))
}
