//! Strict priority queueing: a band sends only while those before it are empty.

use bentpipe_cc::Time;

use crate::link::packet::Packet;
use crate::queue::packet_store::{Fifo, Store, Verdicts};
use crate::resolve::plan::{FlowPlan, QueueLimit};

/// The bands of one link, each drop-tail.
#[derive(Debug)]
pub(crate) struct Priority {
    limit: QueueLimit,
    bands: Vec<Fifo>,
    band_of: Vec<u8>,
}

impl Priority {
    pub(crate) fn new(bands: u8, limit: QueueLimit, flows: &[FlowPlan]) -> Self {
        Self {
            limit,
            bands: vec![Fifo::default(); usize::from(bands)],
            band_of: flows.iter().map(|flow| flow.priority).collect(),
        }
    }

    /// Takes a packet; `idle`: it goes straight to the transmitter and needs no room. Returns the bytes in its band.
    pub(crate) fn enqueue(
        &mut self,
        now: Time,
        packet: Packet,
        idle: bool,
        store: &mut Store,
        verdicts: &mut Verdicts,
    ) -> u64 {
        let band = &mut self.bands[usize::from(self.band_of[packet.flow as usize])];
        if idle || band.has_room(self.limit, packet.size) {
            store.push(band, now, packet);
        } else {
            verdicts.drop(packet);
        }
        band.bytes
    }

    /// Bytes in all bands.
    pub(crate) fn bytes(&self) -> u64 {
        self.bands.iter().map(|band| band.bytes).sum()
    }

    /// The packet to send.
    pub(crate) fn dequeue(&mut self, store: &mut Store) -> Option<Packet> {
        self.bands.iter_mut().find_map(|band| store.pop(band)).map(|(_, packet)| packet)
    }
}
