//! What a run keeps at once has a bound. Memory goes into packets on links and into segments that senders keep until they are
//! acknowledged, and an algorithm may want any window.

use bentpipe_tcp::MAX_OUTSTANDING;

use super::{Engine, RunError};
use crate::host::flow::Kind;
use crate::resolve::plan::Plan;

/// Most that a run may keep.
const MOST: u64 = 1 << 26;
/// Links and flows that each look pays for: counting them is nothing beside the events between two looks.
const PER_LOOK: u64 = 1 << 10;

/// When what is kept is counted.
#[derive(Debug)]
pub(super) struct Kept {
    /// Most that may be.
    pub(super) most: u64,
    /// Looks since it was counted last.
    looks: u64,
}

impl Default for Kept {
    fn default() -> Self {
        Self { most: MOST, looks: 0 }
    }
}

impl Engine {
    /// Now and then: must the run end because of what is kept? It is counted if enough has happened since the last time to pay for that.
    #[cold]
    #[inline(never)]
    pub(super) fn keeps_too_much(&mut self) -> bool {
        self.kept.looks += 1;
        if self.kept.looks * PER_LOOK < (self.links.len() + self.flows.len()) as u64 {
            return false;
        }
        self.kept.looks = 0;
        self.count_kept().is_too_much()
    }

    /// Is what is kept too much, of the whole run or of one connection?
    #[inline(never)]
    pub(super) fn check_kept(&mut self, plan: &Plan) -> Result<(), RunError> {
        let count = self.count_kept();
        if !count.is_too_much() {
            return Ok(());
        }
        let Count { kept, most, flow, link } = count;
        let who = if flow.0 > link.0 {
            format!("{} of them of flow {}", flow.0, plan.flows[flow.1].name)
        } else {
            let direction = if link.1 % 2 == 0 { "forward" } else { "reverse" };
            let name = plan.links.get(link.1 / 2).map(|l| format!("link {}/{direction}", l.name));
            format!("{} of them on {}", link.0, name.as_deref().unwrap_or("a delay of a flow's own"))
        };
        Err(RunError::Kept { kept, most, who })
    }

    fn count_kept(&mut self) -> Count {
        let mut count = Count { kept: 0, most: self.kept.most, flow: (0, 0), link: (0, 0) };
        for (i, flow) in self.flows.iter().enumerate() {
            let room = match &flow.kind {
                Kind::Tcp(tcp) => tcp.sender.room(),
                Kind::Cbr(_) => 0,
            };
            count.kept += room;
            count.flow = count.flow.max((room, i));
        }
        for (i, link) in self.links.iter_mut().enumerate() {
            let packets = link.kept();
            count.kept += packets;
            count.link = count.link.max((packets, i));
        }
        count
    }
}

/// What is kept: packets for which links keep something, and segments for which senders have taken memory.
struct Count {
    kept: u64,
    most: u64,
    /// The most of one flow, and which it is.
    flow: (u64, usize),
    /// The most of one link, and which it is.
    link: (u64, usize),
}

impl Count {
    fn is_too_much(&self) -> bool {
        self.kept > self.most || self.flow.0 > MAX_OUTSTANDING
    }
}
