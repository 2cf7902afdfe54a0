//! What a direction has done, in the form that reports and bounds need.

use bentpipe_cc::Time;

use super::{ArrivalQueue, Direction, QueueStage};
use crate::link::packet::Packet;

impl Direction {
    /// Packets waiting at `now`, which is not before the last call; the one in transmission is not counted.
    pub fn waiting(&mut self, now: Time) -> u64 {
        self.catch_up(now);
        match &mut self.queue {
            QueueStage::Absent => 0,
            QueueStage::Equal(equal) => equal.waiting(&self.stages.transmitter, now.0),
            QueueStage::OnArrival(queue) => {
                queue.backlog.drain(now.0);
                queue.backlog.packets()
            }
            QueueStage::AtDeparture(scheduled) => scheduled.waiting(),
        }
    }

    /// From now on waiting bytes are counted, even where queue and rule count packets. Nothing has come so
    /// far.
    pub fn count_bytes(&mut self) {
        if let QueueStage::OnArrival(queue) = &mut self.queue {
            queue.backlog.count_bytes();
        }
    }

    /// Bytes waiting at `now`, which is not before the last call; 0 if they are not counted (see
    /// [`Direction::count_bytes`]).
    pub fn waiting_bytes(&mut self, now: Time) -> u64 {
        self.waiting(now);
        match &self.queue {
            QueueStage::AtDeparture(scheduled) => scheduled.bytes(),
            _ => self.on_arrival().map_or(0, |queue| queue.backlog.bytes()),
        }
    }

    /// The queue, if it decides on arrival and keeps a list.
    pub(in crate::link) fn on_arrival(&self) -> Option<&ArrivalQueue> {
        if let QueueStage::OnArrival(queue) = &self.queue { Some(queue) } else { None }
    }

    /// Most packets that have waited.
    pub(crate) fn queue_max(&self) -> u64 {
        if let QueueStage::Equal(equal) = &self.queue {
            equal.most(self.counts.most)
        } else {
            self.counts.most
        }
    }

    /// `count` packets of `size` bytes have passed as [`super::Promises::constant`] says. `delivered`: they
    /// have also left the far end.
    pub(crate) fn book_constant(&mut self, size: u16, count: u64, delivered: bool) {
        self.counts.offered += count;
        self.counts.delivered += if delivered { count } else { 0 };
        self.stages.transmitter.busy += count * self.stages.transmitter.least_time(size);
    }

    /// Packets for which it keeps state. A packet that waits and is in flight counts twice.
    pub(crate) fn kept(&mut self) -> u64 {
        let waiting = match &self.queue {
            QueueStage::Absent | QueueStage::Equal(_) => 0,
            QueueStage::OnArrival(queue) => queue.backlog.packets(),
            QueueStage::AtDeparture(scheduled) => scheduled.waiting(),
        };
        waiting + self.on_the_way().count() as u64
    }

    /// Share of the time until `end` in which the transmitter was busy; with opportunities, the share used of
    /// their bytes.
    pub(crate) fn utilisation(&self, end: Time) -> f64 {
        if end.0 == 0 { 0.0 } else { self.stages.transmitter.utilisation(end.0) }
    }

    /// Time-average of the packets waiting until `end`.
    pub(crate) fn queue_mean(&mut self, end: Time) -> f64 {
        if end.0 == 0 {
            return 0.0;
        }
        // Packets that still wait have been charged for their wait beyond the end.
        let beyond = match &mut self.queue {
            QueueStage::Absent => 0,
            QueueStage::Equal(equal) => equal.waits(&self.stages.transmitter, end.0),
            QueueStage::OnArrival(queue) => {
                queue.backlog.drain(end.0);
                queue.backlog.begins().map(|begin| u128::from(begin - end.0)).sum()
            }
            QueueStage::AtDeparture(scheduled) => return scheduled.queue_mean(end),
        };
        (self.counts.waited - beyond) as f64 / end.0 as f64
    }

    /// Transmissions by ARQ besides the first of each packet.
    pub(crate) fn repeated(&self) -> u64 {
        self.stages.channel.arq().map_or(0, |arq| arq.repeats)
    }

    /// Acknowledgements dropped because a newer one says the same.
    pub(crate) fn thinned(&mut self) -> u64 {
        self.scheduled().map_or(0, |scheduled| scheduled.thinned())
    }

    /// Packets that the queue has dropped, and packets lost to errors, until `now`, which is not before the
    /// last call.
    pub(crate) fn dropped(&mut self, now: Time) -> (u64, u64) {
        self.foreseen.pass(now);
        let (flushes, errors) = self.foreseen.counts();
        (self.counts.dropped_queue - flushes, self.counts.dropped_error - errors)
    }

    /// The packets that will be lost or flushed after the instant of the last call of [`Direction::dropped`].
    pub(crate) fn doomed(&self) -> impl Iterator<Item = &Packet> {
        self.foreseen.packets()
    }
}
