//! What a direction has done, in the form that reports and bounds need.

use bentpipe_cc::Time;

use super::{Direction, Refusal, Room, Transit};
use crate::link::foreseen::Doom;
use crate::link::packet::Packet;
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

    /// Packets for which it keeps state. A packet that waits and is in flight counts twice.
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

    /// Counts a loss of `packet` that happens at `at`, and is known at `now`.
    #[cold]
    #[inline(never)]
    pub(in crate::link) fn foresee(&mut self, now: Time, at: Time, doom: Doom, packet: &Packet) {
        match doom {
            Doom::Error => self.counts.dropped_error += 1,
            Doom::Flush => self.counts.dropped_queue += 1,
        }
        let foreseen = self.foreseen.get_or_insert_default();
        foreseen.pass(now);
        foreseen.note(at, doom, packet);
    }

    /// The error noted last costs no packet: the link layer sends that packet again.
    pub(in crate::link) fn survive(&mut self) {
        self.counts.dropped_error -= 1;
        if let Some(foreseen) = &mut self.foreseen {
            foreseen.take_back();
        }
    }

    /// Packets that the queue has dropped, and packets lost to errors, until `now`, which is not before the last call.
    pub(crate) fn dropped(&mut self, now: Time) -> (u64, u64) {
        let (flushes, errors) = self.foreseen.as_mut().map_or((0, 0), |foreseen| {
            foreseen.pass(now);
            foreseen.counts()
        });
        (self.counts.dropped_queue - flushes, self.counts.dropped_error - errors)
    }

    /// The packets that will be lost or flushed after the instant of the last call of [`Direction::dropped`].
    pub(crate) fn doomed(&self) -> impl Iterator<Item = &Packet> {
        self.foreseen.iter().flat_map(|foreseen| foreseen.packets())
    }

    /// Counts a packet that does not come inside.
    #[inline(always)]
    pub(in crate::link) fn refuse(&mut self, why: Refusal) -> Transit {
        self.counts.dropped_queue += 1;
        Transit::Refused(why)
    }
}
