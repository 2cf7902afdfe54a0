//! What a direction has done, as reports and bounds want it.

use bentpipe_cc::Time;

use super::{Direction, Room};
use crate::link::transmitter::Transmitter;

impl Direction {
    /// Most packets that have waited.
    pub(crate) fn queue_max(&self) -> u64 {
        match self.room {
            Room::Ahead(_) => self.counts.most.div_ceil(self.transmitter.time_alike()),
            Room::Packets(_) | Room::Bytes(_) => self.counts.most,
        }
    }

    /// `count` packets of `size` bytes have passed as [`super::Promises::constant`] says. `delivered`: they have also left the far end.
    pub(crate) fn book_constant(&mut self, size: u16, count: u64, delivered: bool) {
        self.counts.offered += count;
        self.counts.delivered += if delivered { count } else { 0 };
        self.transmitter.busy += count * self.transmitter.time(size).0;
    }

    /// Packets for which it keeps something. A packet that waits and is under way counts twice.
    pub(crate) fn kept(&mut self) -> u64 {
        let held = self.peek_link_layer().map_or(0, |layer| layer.packets().count() as u64);
        let waiting = held + self.scheduled().map_or(0, |scheduled| scheduled.waiting());
        waiting + self.backlog.packets() + self.under_way.len() as u64
    }

    /// Share of the time until `end` in which the transmitter was busy.
    pub(crate) fn utilisation(&self, end: Time) -> f64 {
        if end.0 == 0 {
            return 0.0;
        }
        if let Some(used) = self.peek_link_layer().and_then(|layer| layer.used(end, self.transmitter.rate)) {
            return used;
        }
        // The time beyond the end is one unbroken busy period.
        let Transmitter { free_at, busy, .. } = self.transmitter;
        let beyond = free_at.saturating_sub(end.0).min(busy);
        (busy - beyond) as f64 / end.0 as f64
    }

    /// Time-average of the packets waiting until `end`.
    pub(crate) fn queue_mean(&mut self, end: Time) -> f64 {
        if end.0 == 0 {
            return 0.0;
        }
        if let Some(scheduled) = self.scheduled() {
            return scheduled.queue_mean(end);
        }
        // Packets that still wait have been charged for their wait beyond the end.
        let beyond = if let Room::Ahead(_) = self.room {
            self.transmitter.to_wait(end.0)
        } else {
            self.backlog.drain(end.0);
            self.backlog.begins().map(|begin| u128::from(begin - end.0)).sum()
        };
        (self.counts.waited - beyond) as f64 / end.0 as f64
    }
}
