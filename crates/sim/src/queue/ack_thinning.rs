//! Thinning of acknowledgements that wait: ACK filtering (RFC 3449 section 5.2.1; H. Balakrishnan, V. Padmanabhan, R. Katz: The Effects of
//! Asymmetry on TCP Performance, MobiCom 1997).
//!
//! An acknowledgement acknowledges all that the older ones of its flow do. So where `most` of a flow wait already, the oldest of these is
//! dropped: each other one moves up by one place, and the newcomer takes the place of the newest. So none is overtaken, and a flow whose
//! acknowledgements come faster than the queue moves does not lose its place in it.
//!
//! Only plain acknowledgements are dropped, and only in favour of plain ones. One that tells more is kept, and those ahead of it are, too:
//! with SACK blocks (duplicates reported by DSACK included), with the echo of a mark, a duplicate (which fast retransmit counts), a probe,
//! or a segment that opens or closes a connection.

use std::collections::{BTreeMap, VecDeque};

use crate::link::packet::{ACK, CE, CONTROL, CWR, ECE, PROBE, Packet, SACK};
use crate::queue::packet_store::Store;

/// What becomes of a packet that comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    /// It has taken the place of another one, and the oldest of its flow was dropped.
    Replaces,
    /// It is a plain acknowledgement for the queue.
    Plain,
    /// It is something else for the queue.
    Other,
}

/// Acknowledgements that wait at one direction.
#[derive(Debug)]
pub(crate) struct AckThinning {
    most: usize,
    /// By flow.
    flows: BTreeMap<u32, Waiting>,
    thinned: u64,
}

/// Acknowledgements of one flow.
#[derive(Debug, Default)]
struct Waiting {
    /// What the last one acknowledged that came; `None` for nothing yet.
    last: Option<u32>,
    /// The places and contents of those that a newer one may replace, in order.
    plain: VecDeque<(u32, Packet)>,
}

impl AckThinning {
    /// So many plain acknowledgements of each flow may wait, at least 1.
    pub(crate) fn new(most: u32) -> Self {
        Self { most: most as usize, flows: BTreeMap::new(), thinned: 0 }
    }

    /// How many acknowledgements were dropped.
    pub(crate) fn thinned(&self) -> u64 {
        self.thinned
    }

    /// A packet comes.
    pub(crate) fn offer(&mut self, packet: &Packet, store: &mut Store) -> Offer {
        if !packet.has(ACK) || packet.has(CONTROL) {
            return self.other(packet);
        }
        let flow = self.flows.entry(packet.flow).or_default();
        let advances = flow.last.is_none_or(|last| (packet.seq.wrapping_sub(last) as i32) > 0);
        flow.last = Some(packet.seq);
        if !advances || packet.has(SACK | ECE | CWR | CE | PROBE) {
            return self.other(packet);
        }
        let alike = flow.plain.front().is_some_and(|(_, first)| first.size == packet.size);
        if flow.plain.len() < self.most || !alike {
            return Offer::Plain;
        }
        let mut newer = *packet;
        for (place, waits) in flow.plain.iter_mut().rev() {
            *waits = newer;
            newer = store.swap(*place, newer);
        }
        store.verdicts.drop(newer);
        self.thinned += 1;
        Offer::Replaces
    }

    /// A packet comes that is no plain acknowledgement. No later one overtakes it.
    fn other(&mut self, packet: &Packet) -> Offer {
        if packet.has(ACK)
            && let Some(flow) = self.flows.get_mut(&packet.flow)
        {
            flow.plain.clear();
        }
        Offer::Other
    }

    /// A plain acknowledgement that replaced no other waits at `place`.
    pub(crate) fn waits(&mut self, packet: &Packet, place: u32) {
        if let Some(flow) = self.flows.get_mut(&packet.flow) {
            flow.plain.push_back((place, *packet));
        }
    }

    /// A packet waits no longer.
    pub(crate) fn forget(&mut self, packet: &Packet) {
        if packet.has(ACK)
            && let Some(flow) = self.flows.get_mut(&packet.flow)
        {
            flow.plain.retain(|(_, waits)| waits.seq != packet.seq);
        }
    }
}
