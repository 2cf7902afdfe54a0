//! A drop-tail queue that computes: it reads the headers of data packets when they arrive, and rewrites them
//! when they depart.
//!
//! Its timers expire lazily, before the next packet arrives or departs. Until then nothing changes, so the
//! delay cannot be observed.

use std::fmt;

use bentpipe_cc::{Header, Span, Time};

use crate::link::headers::Headers;
use crate::link::packet::Packet;
use crate::queue::at_departure::{AtDeparture, Class};
use crate::queue::context::QueueLimit;
use crate::queue::packet_store::{Fifo, Sifting, Store};

/// The computation of such a queue. Sizes are in bytes on the wire. Packets without a header are
/// acknowledgements and packets of flows that do not use it.
pub(super) trait Computation: fmt::Debug + Send {
    /// A packet arrives, whether there is room for it or not.
    fn arrives(&mut self, size: u16, header: Option<&Header>);

    /// A packet departs; `waiting` bytes have waited, its own included. Rewrites its header.
    fn departs(&mut self, size: u16, header: Option<&mut Header>, waiting: u64);

    /// When the next of its timers expires.
    fn due(&self) -> Time;

    /// That timer expires while `waiting` bytes wait.
    fn on_timer(&mut self, waiting: u64);

    /// The time after which its state is the same again while nothing waits and nothing comes. `None` while
    /// it is not.
    fn period(&self) -> Option<Span>;

    /// Moves all timers by `span` into the future.
    fn leave_out(&mut self, span: Span);
}

/// The queue in front of one transmitter.
#[derive(Debug)]
pub(super) struct ComputingQueue<C> {
    limit: QueueLimit,
    fifo: Fifo,
    /// Without a table no packet has a header.
    headers: Headers,
    computation: C,
}

impl<C: Computation> ComputingQueue<C> {
    /// An empty queue.
    pub(super) fn new(limit: QueueLimit, computation: C) -> Self {
        Self { limit, fifo: Fifo::default(), headers: Headers::default(), computation }
    }

    /// Lets the timers expire that are due by `now`.
    fn catch_up(&mut self, now: Time) {
        while self.computation.due() <= now {
            let idle = if self.fifo.packets == 0 { self.computation.period() } else { None };
            match idle {
                Some(period) if now.since(self.computation.due()) > period => {
                    let times = now.since(self.computation.due()).0 / period.0.max(1);
                    self.computation.leave_out(Span(times * period.0.max(1)));
                }
                _ => self.computation.on_timer(self.fifo.bytes),
            }
        }
    }
}

impl<C: Computation> AtDeparture for ComputingQueue<C> {
    fn enqueue(&mut self, now: Time, packet: Packet, _: Class, idle: bool, store: &mut Store) {
        self.catch_up(now);
        self.computation.arrives(packet.size, self.headers.of_data(&packet).as_ref());
        store.push_if_room(&mut self.fifo, self.limit, now, packet, idle);
    }

    fn dequeue(&mut self, now: Time, store: &mut Store) -> Option<Packet> {
        self.catch_up(now);
        let waiting = self.fifo.bytes;
        let (_, packet) = store.pop(&mut self.fifo)?;
        let mut header = self.headers.of_data(&packet);
        self.computation.departs(packet.size, header.as_mut(), waiting);
        if let Some(header) = header {
            self.headers.put(packet.handle, header);
        }
        Some(packet)
    }

    fn share(&mut self, headers: &Headers) {
        self.headers = headers.clone();
    }

    fn sift(&mut self, now: Time, store: &mut Store, verdict: &mut Sifting<'_>) {
        self.catch_up(now);
        store.sift(&mut self.fifo, verdict);
    }

    fn bytes(&self) -> u64 {
        self.fifo.bytes
    }
}
