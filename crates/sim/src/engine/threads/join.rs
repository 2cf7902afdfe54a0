//! One state from the copies of all threads, when the run is over: each port is that of its owner, and each flow has
//! the sender of one copy and the receiver of another. Counts begin at 0 in every copy, so their sum is the count of
//! the run.

use super::cut::Cut;
use crate::engine::network::Network;
use crate::resolve::plan::Plan;

/// Joins the copies, one for each part in order.
pub(super) fn join(plan: &Plan, cut: &Cut, copies: Vec<Network>) -> Option<Network> {
    let satellites = plan.network.as_ref()?.constellation.satellites;
    let first = 2 * plan.links.len();
    let mut copies = copies.into_iter();
    let mut whole = copies.next()?;
    for (part, mut copy) in (1..).zip(copies) {
        let owns = |node: u32| cut.owner[node as usize] == part;
        for (i, (_, port)) in plan.ports().enumerate() {
            if owns(port.node) {
                std::mem::swap(&mut whole.directions[first + i], &mut copy.directions[first + i]);
            }
            whole.airs[i].join(std::mem::take(&mut copy.airs[i]));
        }
        let ends = |f: usize| {
            let owns_end = |station: u32| owns(satellites + station);
            plan.flows[f].stations.map_or([false; 2], |[from, to]| [owns_end(from), owns_end(to)])
        };
        for (f, flow) in copy.flows.into_iter().enumerate() {
            whole.flows[f].join(flow, ends(f));
        }
        whole.recorder.join(copy.recorder, ends);
        if let (Some(forwarding), Some(copy)) = (&mut whole.forwarding, copy.forwarding) {
            forwarding.join(&copy);
        }
        whole.packets += copy.packets;
    }
    Some(whole)
}
