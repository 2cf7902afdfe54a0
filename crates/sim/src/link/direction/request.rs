//! A direction on request: its owner asks it for each packet that its transmitter takes, and may find on the way out
//! that a packet goes elsewhere, or must wait beside the queue.

use bentpipe_cc::Time;

use super::{Direction, QueueStage};
use crate::link::contract::Push;
use crate::link::departures::Departures;
use crate::link::packet::Packet;
use crate::queue::at_departure::{Class, Scheduled};
use crate::queue::packet_store::Sifting;

impl Direction {
    /// Is it on request?
    #[inline(always)]
    pub(crate) fn is_on_request(&self) -> bool {
        matches!(self.queue, QueueStage::OnRequest(_))
    }

    /// Its parts, if it is on request.
    fn parts(&mut self) -> Option<Departures<'_>> {
        let Self { queue: QueueStage::OnRequest(queue), stages, under_way, counts, foreseen } = self else {
            return None;
        };
        Some(Departures { queue, stages, under_way, counts, foreseen })
    }

    /// [`Direction::push`]. Its owner asks for packets afterwards.
    pub(crate) fn accept(&mut self, now: Time, packet: Packet, class: Class) -> Push {
        match self.parts() {
            Some(mut departures) => departures.accept(now, packet, class),
            None => self.push(now, packet, class),
        }
    }

    /// The packet that is next, if the transmitter is free at `now`: one that was held until then, or one of the queue.
    pub(crate) fn ask(&mut self, now: Time) -> Option<Packet> {
        if self.stages.transmitter.free_at > now.0 {
            return None;
        }
        self.parts()?.ask(now)
    }

    /// The transmitter takes a packet for which its owner has just asked.
    pub(crate) fn send(&mut self, now: Time, packet: Packet) {
        if let Some(mut departures) = self.parts() {
            departures.send(now, packet);
        }
    }

    /// That packet goes elsewhere.
    pub(crate) fn hand_back(&mut self) {
        self.scheduled().into_iter().for_each(Scheduled::hand_back);
    }

    /// That packet waits beside the queue until `until`, and goes before all of the queue then.
    pub(crate) fn hold(&mut self, until: Time, packet: Packet) {
        self.scheduled().into_iter().for_each(|queue| queue.hold(until, packet));
    }

    /// Nobody asks although the transmitter is free: packets need room.
    pub(crate) fn stay_busy(&mut self) {
        self.scheduled().into_iter().for_each(Scheduled::stay_busy);
    }

    /// Looks at all packets that wait at `now`, held ones first. `verdict` may change where one goes.
    pub(crate) fn sift(&mut self, now: Time, verdict: &mut Sifting<'_>) {
        if let Some(mut departures) = self.parts() {
            departures.sift(now, verdict);
        }
    }

    /// Does a packet wait?
    pub(crate) fn keeps(&mut self) -> bool {
        self.scheduled().is_some_and(|queue| queue.waiting() > 0 || queue.first_held().is_some())
    }

    /// Until when the first of the packets beside the queue waits.
    pub(crate) fn held_until(&mut self) -> Option<Time> {
        self.scheduled()?.first_held()
    }

    /// [`Direction::next`] says `at` if no packet comes out before: its owner wants to ask then.
    pub(crate) fn wake(&mut self, at: Time) {
        self.under_way.wake(at);
    }
}
