//! Queues that decide when a packet arrives. They keep packets in order, so that the departure of each is
//! known at once.

use std::fmt;

use bentpipe_cc::Time;

use crate::link::packet::Ecn;
use crate::queue::context::QueueLimit;

/// The verdict on an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It goes into the queue as it is.
    Pass,
    /// It goes into the queue with the mark "congestion experienced".
    Mark,
    /// It is dropped.
    Drop,
}

/// A packet that arrives, and the queue that it finds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// When it arrives.
    pub(crate) now: Time,
    /// Bytes on the wire.
    pub(crate) size: u16,
    /// What its IP header says of congestion.
    pub(crate) ecn: Ecn,
    /// Packets that wait, the one in transmission not counted.
    pub(crate) waiting_packets: u64,
    /// Their bytes, where the limit or the rule counts bytes.
    pub(crate) waiting_bytes: u64,
    /// When the transmitter will have sent, or has sent, all that it has taken; an estimate
    /// in front of a link layer.
    pub(crate) free_at: Time,
    /// Does the transmitter take it at once, so that it needs no room?
    pub(crate) idle: bool,
}

impl Arrival {
    /// Would drop-tail take it? A packet that finds the transmitter free needs no room.
    pub(crate) fn has_room(&self, limit: QueueLimit) -> bool {
        self.free_at <= self.now || limit.has_room(self.waiting_packets, self.waiting_bytes, self.size)
    }

    /// The amount that waits, in the unit of `limit`, and the limit.
    pub(crate) fn waiting(&self, limit: QueueLimit) -> (u64, u64) {
        match limit {
            QueueLimit::Packets(most) => (self.waiting_packets, most),
            QueueLimit::Bytes(most) => (self.waiting_bytes, most),
        }
    }
}

/// A rule that decides on arrival, in front of one transmitter.
pub(crate) trait OnArrival: fmt::Debug + Send {
    /// Decides about a packet.
    fn judge(&mut self, arrival: &Arrival) -> Verdict;

    /// The average rate, in bits per second, at which the transmitter could have sent since it became free.
    /// Where the rate changes, this is called before a packet that finds the transmitter free.
    fn set_rate(&mut self, _rate_bps: u64) {}

    /// Does it use the number of waiting bytes even if the limit is in packets?
    fn counts_bytes(&self) -> bool {
        false
    }
}
