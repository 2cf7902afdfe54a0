//! What a direction has done, in the form that reports and bounds need.

use bentpipe_cc::{Span, Time};

use super::{Direction, QueueStage};
use crate::link::backlog::Backlog;
use crate::link::packet::Packet;

impl Direction {
    /// Packets that came; those that its owner took back do not count.
    pub(crate) fn offered(&self) -> u64 {
        match &self.queue {
            QueueStage::AtDeparture(scheduled) | QueueStage::OnRequest(scheduled) => scheduled.came(),
            _ => self.counts.offered,
        }
    }

    /// Packets waiting at `now`, which is not before the last call; the one in transmission is not counted.
    pub fn waiting(&mut self, now: Time) -> u64 {
        if let Some(mut departures) = self.departures() {
            departures.look(now);
        }
        match &mut self.queue {
            QueueStage::Equal(equal) => equal.waiting(&self.stages.transmitter, now.0),
            QueueStage::AtDeparture(scheduled) | QueueStage::OnRequest(scheduled) => scheduled.waiting(),
            queue => queue.backlog().map_or(0, |backlog| {
                backlog.drain(now.0);
                backlog.packets()
            }),
        }
    }

    /// From now on waiting bytes are counted, even where queue and rule count packets. Nothing has come so
    /// far.
    pub fn count_bytes(&mut self) {
        self.queue.backlog().into_iter().for_each(Backlog::count_bytes);
    }

    /// Bytes waiting at `now`, which is not before the last call; 0 if they are not counted (see
    /// [`Direction::count_bytes`]).
    pub fn waiting_bytes(&mut self, now: Time) -> u64 {
        self.waiting(now);
        match &mut self.queue {
            QueueStage::AtDeparture(scheduled) | QueueStage::OnRequest(scheduled) => scheduled.bytes(),
            queue => queue.backlog().map_or(0, |backlog| backlog.bytes()),
        }
    }

    /// Bytes waiting in a queue that decides on arrival: by its counter, and by summing over its packets.
    pub(in crate::link) fn listed_bytes(&mut self) -> (u64, u64) {
        self.queue.backlog().map_or((0, 0), |backlog| (backlog.bytes(), backlog.bytes_added_up()))
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
        let waiting = match &mut self.queue {
            QueueStage::AtDeparture(scheduled) | QueueStage::OnRequest(scheduled) => scheduled.waiting(),
            queue => queue.backlog().map_or(0, |backlog| backlog.packets()),
        };
        waiting + self.on_the_way().count() as u64
    }

    /// The bits that the transmitter has sent until `end` as a share of those that its rate allowed while it
    /// was up.
    pub(crate) fn utilisation(&self, end: Time) -> f64 {
        if end.0 == 0 { 0.0 } else { self.stages.transmitter.utilisation(end.0) }
    }

    /// For how long the transmitter has sent by `now`, which is not before the last call.
    pub(crate) fn busy(&self, now: Time) -> Span {
        let (busy, free_at) = (self.stages.transmitter.busy, self.stages.transmitter.free_at);
        Span(busy.saturating_sub(free_at.saturating_sub(now.0)))
    }

    /// How much of the time until `end` the link is up.
    pub(crate) fn up(&self, end: Time) -> Span {
        Span(self.stages.transmitter.up(end.0))
    }

    /// Time-average of the packets waiting until `end`.
    pub(crate) fn queue_mean(&mut self, end: Time) -> f64 {
        if end.0 == 0 {
            return 0.0;
        }
        // Packets that still wait have been charged for their wait beyond the end.
        let beyond = match &mut self.queue {
            QueueStage::Equal(equal) => equal.waits(&self.stages.transmitter, end.0),
            QueueStage::AtDeparture(scheduled) | QueueStage::OnRequest(scheduled) => {
                return scheduled.queue_mean(end);
            }
            queue => queue.backlog().map_or(0, |backlog| {
                backlog.drain(end.0);
                backlog.begins().map(|begin| u128::from(begin - end.0)).sum()
            }),
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
