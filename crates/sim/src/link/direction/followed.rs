//! What a direction says to a recorder that follows each packet. It keeps none of it otherwise.

use bentpipe_cc::Time;

use super::{Direction, QueueStage};
use crate::link::departure_log::Entry;
use crate::link::packet::Packet;

impl Direction {
    /// From now on a queue that decides at departure logs what it does.
    pub(crate) fn log_departures(&mut self) {
        if let QueueStage::AtDeparture(queue) = &mut self.queue {
            queue.log = Some(Vec::new());
        }
    }

    /// What the queue has done since the last call, in order; nothing if it decides on arrival.
    pub(crate) fn take_log(&mut self) -> Vec<Entry> {
        match &mut self.queue {
            QueueStage::AtDeparture(queue) => queue.log.as_mut().map(std::mem::take).unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    /// The instant at which every packet that the transmitter has taken will have been sent.
    pub(crate) fn free_at(&self) -> Time {
        Time(self.stages.transmitter.free_at)
    }

    /// When the packet with this handle, which was just pushed, is lost or flushed; `None` if it is not.
    pub(crate) fn end_of(&self, handle: u32) -> Option<Time> {
        self.foreseen.end_of(handle)
    }

    /// The packets that are known to come out, and when.
    pub(crate) fn arrivals(&self) -> impl Iterator<Item = (Time, &Packet)> {
        self.under_way.arrivals().filter(|(_, packet)| !packet.is_wake())
    }
}
