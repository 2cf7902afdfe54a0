//! The congestion headers of packets in flight.
//!
//! Packets keep a handle; the headers are in one table that the hosts share with the queues that compute.
//! Such a queue can therefore reach the header of a packet whenever it decides, and a direction knows nothing
//! of it. Flows without headers never touch the table.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bentpipe_cc::Header;

use crate::link::packet::{ACK, HEADER, Packet};

/// The headers by the handles of their packets. A clone refers to the same table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Headers {
    /// Only one thread works on a run, so nobody waits for the lock.
    table: Arc<Mutex<Vec<Option<Header>>>>,
}

impl Headers {
    /// The packet with this handle, which is not 0, carries `header`.
    pub(crate) fn put(&self, handle: u32, header: Header) {
        let mut table = self.lock();
        let slot = handle as usize - 1;
        if table.len() <= slot {
            table.resize(slot + 1, None);
        }
        table[slot] = Some(header);
    }

    /// The header of a packet, if it has one.
    pub(crate) fn of(&self, packet: &Packet) -> Option<Header> {
        if !packet.has(HEADER) {
            return None;
        }
        self.lock().get((packet.handle as usize).wrapping_sub(1)).copied().flatten()
    }

    /// The header of a data packet, as a queue on its way reads it. The header on an acknowledgement is for
    /// its sender alone.
    pub(crate) fn of_data(&self, packet: &Packet) -> Option<Header> {
        if packet.has(ACK) { None } else { self.of(packet) }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Option<Header>>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
