//! A first-in-first-out queue in front of a link layer. There the departure of a packet is not known when it
//! comes, so the queue hands packets over one by one. Whether the queue takes a packet is still decided on
//! arrival.

use bentpipe_cc::Time;

use crate::link::packet::Packet;
use crate::queue::at_departure::{AtDeparture, Class};
use crate::queue::context::QueueLimit;
use crate::queue::on_arrival::{Arrival, OnArrival, Verdict};
use crate::queue::packet_store::{Fifo, Sifting, Store};

/// The queue of one direction.
#[derive(Debug)]
pub(crate) struct InOrder {
    /// `None` for drop-tail.
    rule: Option<Box<dyn OnArrival>>,
    limit: QueueLimit,
    rate_bps: u64,
    fifo: Fifo,
    /// When the transmitter will have sent the packet that it took last, if it sends without a pause.
    free_at: u64,
}

impl InOrder {
    /// A queue with the room of `limit` in front of a transmitter of `rate_bps`.
    pub(crate) fn new(rule: Option<Box<dyn OnArrival>>, limit: QueueLimit, rate_bps: u64) -> Self {
        Self { rule, limit, rate_bps, fifo: Fifo::default(), free_at: 0 }
    }

    /// How long the transmitter takes for `bytes` bytes, ns.
    fn time(&self, bytes: u64) -> u64 {
        (u128::from(bytes) * 8_000_000_000 / u128::from(self.rate_bps.max(1))).min(1 << 62) as u64
    }

    /// A packet that comes at `now`, as a rule sees it. What the link layer will do is not known. The time
    /// when the transmitter will be free is therefore that of sending all bytes from `now` on without a
    /// pause.
    fn arrival(&self, now: Time, packet: &Packet, idle: bool) -> Arrival {
        let begin = if self.fifo.packets == 0 { self.free_at } else { self.free_at.max(now.0 + 1) };
        Arrival {
            now,
            size: packet.size,
            ecn: packet.ecn(),
            waiting_packets: self.fifo.packets,
            waiting_bytes: self.fifo.bytes,
            free_at: Time(begin.saturating_add(self.time(self.fifo.bytes))),
            idle,
        }
    }
}

impl AtDeparture for InOrder {
    fn enqueue(&mut self, now: Time, mut packet: Packet, _: Class, idle: bool, store: &mut Store) {
        let arrival = self.arrival(now, &packet, idle);
        let Some(rule) = &mut self.rule else {
            return store.push_if_room(&mut self.fifo, self.limit, now, packet, idle);
        };
        match rule.judge(&arrival) {
            Verdict::Drop => return store.verdicts.drop(packet),
            Verdict::Mark => store.verdicts.mark(&mut packet),
            Verdict::Pass => {}
        }
        store.push_if_room(&mut self.fifo, self.limit, now, packet, idle);
    }

    fn dequeue(&mut self, now: Time, store: &mut Store) -> Option<Packet> {
        let (_, packet) = store.pop(&mut self.fifo)?;
        self.free_at = now.0.saturating_add(self.time(u64::from(packet.size)));
        Some(packet)
    }

    fn sift(&mut self, _: Time, store: &mut Store, verdict: &mut Sifting<'_>) {
        store.sift(&mut self.fifo, verdict);
    }

    fn bytes(&self) -> u64 {
        self.fifo.bytes
    }
}
