//! What a queue that decides at departure has done with packets, for a recorder that follows each of them.

use bentpipe_cc::Time;

use crate::link::contract::Refusal;

/// What happened to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Departure {
    /// The transmitter took it at `begin` and had sent it at `sent`. ARQ may send it again.
    Sent {
        /// When it left the queue, or was sent again.
        begin: Time,
        /// The end of its transmission.
        sent: Time,
        /// When it is lost for good, if it is.
        lost: Option<Time>,
    },
    /// The queue dropped it.
    Dropped {
        /// When.
        at: Time,
        /// A handover flushed it, or the queue's rule chose it.
        why: Refusal,
    },
}

/// An entry: the handle of the packet, and what happened to it.
pub(crate) type Entry = (u32, Departure);
