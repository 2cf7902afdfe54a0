//! A bound on the memory of a run. The memory holds packets on links, and segments that senders keep until
//! they are acknowledged. An algorithm may ask for any window, so a bound is needed.

use bentpipe_tcp::MAX_OUTSTANDING;

use crate::engine::error::RunError;
use crate::host::flow::{FlowState, Kind};
use crate::link::direction::Direction;
use crate::resolve::plan::Plan;

/// The most packets and segments that a run may keep. In an address space of 4 GiB there is room for fewer.
const MOST: u64 = if cfg!(target_pointer_width = "32") { 1 << 25 } else { 1 << 26 };
/// The number of directions and flows that each call of [`MemoryBound::is_exceeded`] pays for. Counting this
/// many costs nothing beside the events between two calls.
const PER_CALL: u64 = 1 << 10;

/// Says when to count packets and segments, and how many are too many.
#[derive(Debug)]
pub(super) struct MemoryBound {
    /// The most that a run may keep.
    pub(super) most: u64,
    /// Calls since the last count.
    calls: u64,
}

/// Packets for which directions keep state, and segments for which senders hold memory.
struct Count {
    kept: u64,
    /// The largest count of one flow, and its index.
    flow: (u64, usize),
    /// The largest count of one direction, and its index.
    direction: (u64, usize),
}

impl Default for MemoryBound {
    fn default() -> Self {
        Self { most: MOST, calls: 0 }
    }
}

impl MemoryBound {
    /// Does the run keep too much? `flying`: packets in the air of a constellation. It is called now and then, and counts only if enough has happened since
    /// the last count to pay for it.
    pub(super) fn is_exceeded(
        &mut self,
        flows: &[FlowState],
        directions: &mut [Direction],
        flying: u64,
    ) -> bool {
        self.calls += 1;
        if self.calls * PER_CALL < (directions.len() + flows.len()) as u64 {
            return false;
        }
        self.calls = 0;
        Count::new(flows, directions, flying).exceeds(self.most)
    }

    /// Does the whole run, or one connection, keep too much?
    pub(super) fn check(
        &self,
        plan: &Plan,
        flows: &[FlowState],
        directions: &mut [Direction],
        flying: u64,
    ) -> Result<(), RunError> {
        let count = Count::new(flows, directions, flying);
        if !count.exceeds(self.most) {
            return Ok(());
        }
        let Count { kept, flow, direction } = count;
        let who = if flow.0 > direction.0 {
            format!("{} of them of flow {}", flow.0, plan.flows[flow.1].name)
        } else {
            let links = plan.directions().map(|(id, _)| format!("link {}", plan.name_of(id)));
            let ports = plan.ports().map(|(network, port)| format!("port {}", network.name_of(port)));
            let name = links.chain(ports).nth(direction.1);
            format!("{} of them on {}", direction.0, name.as_deref().unwrap_or("a delay of a flow's own"))
        };
        Err(RunError::Kept { kept, most: self.most, who })
    }
}

impl Count {
    fn new(flows: &[FlowState], directions: &mut [Direction], flying: u64) -> Self {
        let mut count = Self { kept: flying, flow: (0, 0), direction: (0, 0) };
        for (i, flow) in flows.iter().enumerate() {
            let room = match &flow.kind {
                Kind::Tcp(tcp) => tcp.sender.room(),
                Kind::Cbr(_) => 0,
            };
            count.kept += room;
            count.flow = count.flow.max((room, i));
        }
        for (i, direction) in directions.iter_mut().enumerate() {
            let packets = direction.kept();
            count.kept += packets;
            count.direction = count.direction.max((packets, i));
        }
        count
    }

    fn exceeds(&self, most: u64) -> bool {
        self.kept > most || self.flow.0 > MAX_OUTSTANDING
    }
}
