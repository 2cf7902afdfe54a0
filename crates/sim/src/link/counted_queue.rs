//! A first-in-first-out queue that drops a packet only if there is no room. The departure of each packet is
//! known on arrival, so the queue keeps no packets and only counts those that wait.

use bentpipe_cc::Time;

use crate::link::backlog::Backlog;
use crate::link::contract::Refusal;
use crate::link::counts::Counts;
use crate::queue::QueueLimit;

/// The queue in front of one transmitter.
#[derive(Debug)]
pub(super) struct CountedQueue {
    pub(super) room: QueueLimit,
    pub(super) backlog: Backlog,
}

impl CountedQueue {
    /// An empty queue that counts packets, and with `bytes`, or if its limit is in bytes, also bytes.
    pub(super) fn new(room: QueueLimit, bytes: bool) -> Self {
        Self { room, backlog: Backlog::new(bytes || matches!(room, QueueLimit::Bytes(_))) }
    }

    /// Takes a packet that comes at `now`, if there is room. The transmitter is free at `free_at`. Returns
    /// when its transmission begins, or why the packet is refused.
    #[inline(always)]
    pub(super) fn admit(
        &mut self,
        now: Time,
        size: u16,
        free_at: u64,
        counts: &mut Counts,
    ) -> Result<u64, Refusal> {
        if free_at <= now.0 {
            return Ok(now.0); // the packet goes straight to the transmitter
        }
        self.backlog.drain(now.0);
        if !self.has_room(now, size, free_at) {
            return Err(Refusal::Full);
        }
        self.wait(now, free_at, size, counts);
        Ok(free_at)
    }

    /// Is there room for a packet that comes at `now`, up to which the queue has been drained? A packet that
    /// finds the transmitter free needs none.
    #[inline(always)]
    pub(super) fn has_room(&self, now: Time, size: u16, free_at: u64) -> bool {
        free_at <= now.0 || self.room.has_room(self.backlog.packets(), self.backlog.bytes(), size)
    }

    /// A packet that comes at `now` waits until `end`.
    #[inline(always)]
    pub(super) fn wait(&mut self, now: Time, end: u64, size: u16, counts: &mut Counts) {
        self.backlog.join(end, size);
        counts.waited += u128::from(end - now.0);
        counts.most = counts.most.max(self.backlog.packets());
    }
}
