//! Directions whose queue decides at departure.
//!
//! The departure of a packet is not known when it arrives: packets may be dropped, others may go first, and
//! lost ones may be sent again. Yet such a direction needs no event besides the arrivals at its far end. A
//! decision at an instant depends only on what came before that instant. The direction therefore decides when
//! somebody asks: before it takes another packet, and when nothing is left in flight. It makes all decisions
//! that were due in order of time. At one instant a handover comes before a choice, and both come before
//! arrivals. The result therefore does not depend on who asks when, and a direction in front of it may hand
//! packets on ahead of time.
//!
//! With ARQ or opportunities a packet may wait while nothing is in flight. Where packets may overtake, the
//! next packet may come out before all that are in flight. The direction then announces a wake: an instant at
//! which it decides and no packet comes out.

use bentpipe_cc::Time;

use crate::link::arq::{ArqSender, Frame};
use crate::link::contract::{Push, Refusal};
use crate::link::counts::Counts;
use crate::link::departure_log::Departure;
use crate::link::foreseen::{Doom, Foreseen};
use crate::link::packet::{LOST, Packet};
use crate::link::stages::{Crossing, Stages};
use crate::link::under_way::UnderWay;
use crate::queue::at_departure::{Class, Scheduled};
use crate::queue::packet_store::Sifting;

/// The parts of such a direction.
#[derive(Debug)]
pub(super) struct Departures<'a> {
    pub(super) queue: &'a mut Scheduled,
    pub(super) stages: &'a mut Stages,
    pub(super) under_way: &'a mut UnderWay,
    pub(super) counts: &'a mut Counts,
    pub(super) foreseen: &'a mut Foreseen,
}

impl Departures<'_> {
    /// Offers a packet at `now`.
    pub(super) fn push(&mut self, now: Time, packet: Packet, class: Class) -> Push {
        self.under_way.cancel_wake();
        self.decide_until(now);
        let push = self.enqueue(now, packet, class);
        if self.queue.is_idle() {
            self.choose(now);
        }
        self.after_decisions();
        push
    }

    /// A packet enters the queue.
    #[inline(always)]
    fn enqueue(&mut self, now: Time, packet: Packet, class: Class) -> Push {
        let (before, known) = (self.queue.store.verdicts.dropped, self.unreported());
        self.queue.enqueue(now, packet, class);
        let verdicts = &mut self.queue.store.verdicts;
        let refused =
            verdicts.dropped > before && verdicts.unreported.pop_if(|last| *last == packet).is_some();
        self.log_drops(now, known, Refusal::Early);
        if refused { Push::Dropped(Refusal::Full) } else { Push::Taken }
    }

    /// [`Departures::push`] for a direction on request.
    pub(super) fn accept(&mut self, now: Time, packet: Packet, class: Class) -> Push {
        let push = self.enqueue(now, packet, class);
        self.count();
        push
    }

    /// The packet that is next at a direction on request, whose transmitter is free.
    pub(super) fn ask(&mut self, now: Time) -> Option<Packet> {
        let known = self.unreported();
        let packet = self.queue.ask(now);
        self.log_drops(now, known, Refusal::Early);
        self.count();
        packet
    }

    /// The transmitter of a direction on request takes a packet.
    pub(super) fn send(&mut self, now: Time, packet: Packet) {
        let crossing = self.stages.cross(now.0, &packet);
        self.finish(now, crossing, Frame::once(packet));
    }

    /// Asks `verdict` what becomes of each packet that waits at a direction on request.
    pub(super) fn sift(&mut self, now: Time, verdict: &mut Sifting<'_>) {
        let known = self.unreported();
        self.queue.sift(now, verdict);
        self.log_drops(now, known, Refusal::Flushed);
        self.count();
    }

    /// Makes the decisions that were due by `now`.
    pub(super) fn catch_up(&mut self, now: Time) {
        self.under_way.cancel_wake();
        self.decide_until(now);
        self.after_decisions();
    }

    /// The same for somebody of whom the loop does not learn. The next wake stays even if it is out of date,
    /// because the loop has an event for it, which would otherwise take the packet behind it too early.
    pub(super) fn look(&mut self, now: Time) {
        self.decide_until(now);
        self.announce();
    }

    fn decide_until(&mut self, now: Time) {
        if self.stages.transmitter.peek_opportunities().is_some() {
            while self.use_opportunity(now).is_some() {}
        } else {
            while self.decide_next(now).is_some() {}
        }
    }

    /// All decisions that were due have been made.
    fn after_decisions(&mut self) {
        self.under_way.cancel_wake();
        self.announce();
    }

    /// Adds a wake for the next choice if it needs one, and updates the counts.
    fn announce(&mut self) {
        let wakes = self.under_way.is_empty() || !self.stages.flight.is_in_order();
        if let Some(at) = wakes.then(|| self.next_choice()).flatten() {
            self.under_way.wake(at);
        }
        self.count();
    }

    /// Updates the counts.
    #[inline(always)]
    fn count(&mut self) {
        let verdicts = &self.queue.store.verdicts;
        (self.counts.dropped_queue, self.counts.marked) = (verdicts.dropped, verdicts.marked);
        self.counts.most = self.counts.most.max(self.queue.waiting());
    }

    /// When the next choice is due if no packet comes before it; `None` if there is nothing to choose.
    fn next_choice(&self) -> Option<Time> {
        let Stages { transmitter, channel, .. } = &*self.stages;
        let repeat = channel.arq().and_then(ArqSender::due);
        match transmitter.peek_opportunities() {
            Some(slots) if self.queue.waiting() > 0 || slots.partial.is_some() => {
                Some(Time(slots.access.due()))
            }
            Some(slots) => repeat.map(|due| Time(due.max(slots.access.due()))),
            None if !self.queue.is_idle() => Some(Time(transmitter.free_at)),
            None => repeat.map(|due| Time(due.max(transmitter.free_at))),
        }
    }

    /// Without opportunities: makes the next choice that was due by `now`, or processes the handover before
    /// it. Returns `None` if there is none.
    fn decide_next(&mut self, now: Time) -> Option<()> {
        let choice = self.next_choice().unwrap_or(Time::MAX);
        let flush = self.queue.next_flush();
        if flush.min(choice) > now || flush.min(choice) == Time::MAX {
            return None;
        }
        if flush <= choice {
            let known = self.unreported();
            self.queue.flush(flush);
            self.log_drops(flush, known, Refusal::Flushed);
        } else {
            self.choose(choice);
        }
        Some(())
    }

    /// The transmitter is free at `at` and takes the next packet: a repeat, or a packet that waits.
    fn choose(&mut self, at: Time) {
        let Some(frame) = self.take_frame(at, at.0) else { return };
        let crossing = self.stages.cross(at.0, &frame.packet);
        self.finish(at, crossing, frame);
    }

    /// The next packet to be sent at `at`; repeats must be due by `due`.
    fn take_frame(&mut self, at: Time, due: u64) -> Option<Frame> {
        if let Some(frame) = self.stages.channel.arq_mut().and_then(|arq| arq.repeat(due)) {
            self.queue.stay_busy();
            return Some(frame);
        }
        let known = self.unreported();
        let packet = self.queue.dequeue(at);
        self.log_drops(at, known, Refusal::Early);
        match self.stages.channel.arq_mut() {
            Some(arq) => packet.map(|packet| arq.first(packet)),
            None => packet.map(Frame::once),
        }
    }

    /// How many packets the queue has dropped whose flows do not know it.
    fn unreported(&self) -> usize {
        self.queue.store.verdicts.unreported.len()
    }

    /// Logs the drops at `at`, those behind the first `known` ones.
    fn log_drops(&mut self, at: Time, known: usize, why: Refusal) {
        let Scheduled { log: Some(log), store, .. } = &mut *self.queue else { return };
        let dropped = store.verdicts.unreported.get(known..).unwrap_or_default();
        log.extend(dropped.iter().map(|packet| (packet.handle, Departure::Dropped { at, why })));
    }

    /// Uses the next opportunity that is due by `now`. Returns `None` if there is none, or nothing to send.
    fn use_opportunity(&mut self, now: Time) -> Option<()> {
        let (packets, bytes) = (self.queue.waiting(), self.queue.bytes());
        let arq = self.stages.channel.arq();
        let slots = self.stages.transmitter.opportunities()?;
        if packets == 0 && slots.partial.is_none() {
            // A repeat that becomes due at the instant of an opportunity has missed it.
            let begin = arq.and_then(ArqSender::due).filter(|due| *due <= now.0);
            slots.access.pass(begin.unwrap_or(now.0));
            begin?;
        }
        let at = slots.access.due();
        if at > now.0 {
            return None;
        }
        let waiting = bytes + slots.rest() + arq.map_or(0, |arq| arq.bytes_due(at.saturating_sub(1)));
        let mut room = slots.access.take(waiting);
        let sent = at.saturating_add(slots.access.length());
        while room > 0 {
            let partial = self.stages.transmitter.opportunities()?.partial.take();
            let next =
                || self.take_frame(Time(at), at.saturating_sub(1)).map(|f| (f, u64::from(f.packet.size)));
            let Some((frame, left)) = partial.or_else(next) else { break };
            if let Some(frame) = self.stages.transmitter.opportunities()?.send(frame, left, &mut room) {
                let crossing = self.stages.cross(sent, &frame.packet);
                self.finish(Time(at), crossing, frame);
            }
        }
        Some(())
    }

    /// A packet crosses the stages behind the queue, as is known at `now`.
    fn finish(&mut self, now: Time, crossing: Crossing, mut frame: Frame) {
        let mut arq = self.stages.channel.arq_mut();
        let again =
            crossing.lost.is_some() && arq.as_mut().is_some_and(|arq| arq.retry(crossing.sent, &frame));
        if let Some(log) = &mut self.queue.log {
            let lost = crossing.lost.filter(|_| !again);
            log.push((frame.packet.handle, Departure::Sent { begin: now, sent: Time(crossing.sent), lost }));
        }
        if again {
            return;
        }
        if let Some(lost_at) = crossing.lost {
            self.counts.dropped_error += 1;
            self.foreseen.note(now, lost_at, Doom::Error, &frame.packet);
            frame.packet.flags |= LOST;
            self.queue.store.verdicts.unreported.push(frame.packet);
        }
        let Some(arq) = arq.filter(|arq| arq.is_in_order()) else {
            return self.under_way.keep_in_place(crossing.at, &frame.packet);
        };
        let at = arq.resequence(&frame, crossing.at);
        while let Some(packet) = arq.release() {
            self.under_way.keep_in_place(at, &packet);
        }
    }
}

#[cfg(test)]
mod tests;
