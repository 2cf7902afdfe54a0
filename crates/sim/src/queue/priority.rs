//! Strict priority queueing: a band sends only while those before it are empty.
//!
//! The band of a packet is that of its flow. A packet of low priority of its own, an extra segment or
//! the acknowledgement of one (docs/tcp.md), goes to the last band, behind all others. TCP-Peach and
//! its kin need such queues.

use bentpipe_cc::Time;

use crate::keys::error::Error;
use crate::keys::table::keys;
use crate::keys::units::QueueSize;
use crate::link::packet::{LOW, Packet};
use crate::link::random::Stream;
use crate::queue::at_departure::{AtDeparture, Class};
use crate::queue::context::{Context, QueueLimit};
use crate::queue::kind::{QueueKeys, QueuePlan, Rule};
use crate::queue::packet_store::{Fifo, Sifting, Store};

keys! {
    /// Strict priorities: a band sends only while all before it are empty. A flow's `priority` is its band;
    /// each is first in, first out, and what finds no room in it is lost. Extra segments (the dummy segments
    /// of TCP-Peach) go to the last band.
    #[derive(Copy)]
    pub struct Priority {
        /// Room of each band, the packet in transmission not counted.
        pub limit: QueueSize = QueueSize::Bdp(1.0),
        /// Number of bands.
        #[schemars(range(min = 1, max = 64))]
        pub bands: u8 = 2,
    }
}

impl QueueKeys for Priority {
    type Plan = Self;
    const LABEL: &'static str = "Priorities";
    const SOURCE: &'static str = "Bridges and Bridged Networks, strict priority algorithm (8.6.8.1)";
    const REFERENCE: &'static str = "IEEE 802.1Q";

    fn resolve(&self, context: &mut Context<'_>) -> Result<(QueueLimit, Self), Error> {
        Ok((context.limit(self.limit), *self))
    }
}

impl QueuePlan for Priority {
    fn bands(&self) -> Option<u8> {
        Some(self.bands)
    }

    fn sorts_by_flow(&self) -> bool {
        true
    }

    fn most(&self, limit: QueueLimit) -> QueueLimit {
        match limit {
            QueueLimit::Packets(most) => QueueLimit::Packets(most.saturating_mul(u64::from(self.bands))),
            QueueLimit::Bytes(most) => QueueLimit::Bytes(most.saturating_mul(u64::from(self.bands))),
        }
    }

    fn start(&self, limit: QueueLimit, _: u64, _: Stream) -> Rule {
        let bands = vec![Fifo::default(); usize::from(self.bands)];
        Rule::AtDeparture(Box::new(PriorityState { limit, bands }))
    }
}

/// The bands of one direction.
#[derive(Debug)]
struct PriorityState {
    limit: QueueLimit,
    bands: Vec<Fifo>,
}

impl AtDeparture for PriorityState {
    fn enqueue(&mut self, now: Time, packet: Packet, class: Class, idle: bool, store: &mut Store) {
        let last = self.bands.len() - 1;
        let band = if packet.has(LOW) { last } else { usize::from(class.band).min(last) };
        store.push_if_room(&mut self.bands[band], self.limit, now, packet, idle);
    }

    fn dequeue(&mut self, _: Time, store: &mut Store) -> Option<Packet> {
        self.bands.iter_mut().find_map(|band| store.pop(band)).map(|(_, packet)| packet)
    }

    fn sift(&mut self, _: Time, store: &mut Store, verdict: &mut Sifting<'_>) {
        self.bands.iter_mut().for_each(|band| store.sift(band, verdict));
    }

    fn bytes(&self) -> u64 {
        self.bands.iter().map(|band| band.bytes).sum()
    }
}
