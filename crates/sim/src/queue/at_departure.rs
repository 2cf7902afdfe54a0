//! Queues that decide when the transmitter is free: packets may be dropped then, or others may go first.

use std::collections::VecDeque;
use std::fmt;

use bentpipe_cc::Time;

use crate::link::departure_log::Entry;
use crate::link::flushes::Flushes;
use crate::link::headers::Headers;
use crate::link::packet::Packet;
use crate::queue::ack_thinning::{AckFilter, Offer};
use crate::queue::packet_store::{Sifted, Sifting, Store};

/// How many hashes there are.
const HASHES: u64 = 1 << 53;

/// The class by which queues that sort by flow place a packet. Whoever offers a packet gives its class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Class {
    /// Band in queues with priorities, 0 first.
    pub band: u8,
    /// Hash of the flow, less than 2^53.
    pub hash: u64,
}

impl Class {
    /// The class of a packet whose flow has this hash; only the upper 53 bits of the hash count.
    pub fn of_hash(band: u8, hash: u64) -> Self {
        Self { band, hash: hash >> 11 }
    }

    /// The class of a packet whose hash is drawn: `uniform` is in (0, 1].
    pub(crate) fn drawn(band: u8, uniform: f64) -> Self {
        Self { band, hash: ((1.0 - uniform) * HASHES as f64) as u64 }
    }

    /// The number of this class's queue if hashes are divided evenly among `queues`.
    pub(crate) fn queue_of(self, queues: u32) -> u32 {
        let part = self.hash as f64 * (1.0 / HASHES as f64) * f64::from(queues);
        (part as u32).min(queues - 1)
    }
}

/// A rule that decides at departure, in front of one transmitter.
pub(crate) trait AtDeparture: fmt::Debug + Send {
    /// Takes a packet that comes at `now`, or drops it. If the transmitter is `idle`, it asks for the packet
    /// at once, so the packet needs no room.
    fn enqueue(&mut self, now: Time, packet: Packet, class: Class, idle: bool, store: &mut Store);

    /// The packet to send at `now`; `None` if nothing is left.
    fn dequeue(&mut self, now: Time, store: &mut Store) -> Option<Packet>;

    /// Gives a queue that computes the table in which it reads and rewrites the headers of packets. Called
    /// once, before the first packet. Without a table it finds no headers.
    fn share(&mut self, _headers: &Headers) {}

    /// Asks `verdict` what becomes of each packet that waits at `now`.
    fn sift(&mut self, now: Time, store: &mut Store, verdict: &mut Sifting<'_>);

    /// Bytes that wait, by the counters of the queues.
    fn bytes(&self) -> u64;
}

/// What waits in front of a direction's transmitter.
#[derive(Debug)]
pub(crate) struct Scheduled {
    rule: Box<dyn AtDeparture>,
    pub(crate) store: Store,
    /// What it has done since a recorder last asked; `None` if nobody asks.
    pub(crate) log: Option<Vec<Entry>>,
    flushes: Option<Flushes>,
    thinning: Option<Box<AckFilter>>,
    /// True if the transmitter has asked and got nothing.
    idle: bool,
    /// Each packet waits for an opportunity, so the transmitter is never idle.
    by_turns: bool,
    /// Packets that left the queue but may not be sent before an instant, in its order.
    held: VecDeque<(Time, Packet)>,
    /// Packets that came and were not taken back, and packets that left the queue towards the transmitter.
    came: u64,
    sent: u64,
    /// Most bytes that ever waited.
    most_bytes: u64,
    /// Sum of all waiting times until `seen`, packet-nanoseconds.
    waited: u128,
    seen: Time,
}

impl Scheduled {
    /// An empty queue for `rule`. `thinning`: how many plain acknowledgements of a flow may wait. `by_turns`:
    /// the transmitter sends only at opportunities. Waiting packets are dropped at `flushes`.
    pub(crate) fn new(
        rule: Box<dyn AtDeparture>,
        thinning: Option<u32>,
        by_turns: bool,
        flushes: Option<Flushes>,
    ) -> Self {
        Self {
            rule,
            store: Store::default(),
            log: None,
            flushes,
            thinning: thinning.map(|most| Box::new(AckFilter::new(most))),
            idle: !by_turns,
            by_turns,
            held: VecDeque::new(),
            came: 0,
            sent: 0,
            most_bytes: 0,
            waited: 0,
            seen: Time(0),
        }
    }

    /// Headers of packets are in this table.
    pub(crate) fn share(&mut self, headers: &Headers) {
        self.rule.share(headers);
    }

    /// Packets waiting, the one in transmission not counted.
    pub(crate) fn waiting(&self) -> u64 {
        self.came - self.sent - self.store.verdicts.dropped
    }

    /// Has the transmitter asked and got nothing?
    pub(crate) fn is_idle(&self) -> bool {
        self.idle
    }

    /// The packets that wait, found one by one, in no particular order.
    pub(crate) fn packets(&self) -> Vec<Packet> {
        self.store.packets()
    }

    /// Bytes that wait, by the counters of the queues.
    pub(crate) fn bytes(&self) -> u64 {
        self.rule.bytes()
    }

    /// Most bytes that ever waited.
    pub(crate) fn most_bytes(&self) -> u64 {
        self.most_bytes
    }

    /// Packets that came; those that the owner of the direction took back do not count.
    pub(crate) fn came(&self) -> u64 {
        self.came
    }

    /// Time-average of the packets waiting until `end`.
    pub(crate) fn queue_mean(&mut self, end: Time) -> f64 {
        self.watch(end);
        self.waited as f64 / end.0 as f64
    }

    /// Takes a packet that will not arrive and that has not been reported yet.
    pub(crate) fn take_unreported(&mut self) -> Option<Packet> {
        self.store.verdicts.unreported.pop()
    }

    /// A packet comes.
    pub(crate) fn enqueue(&mut self, now: Time, packet: Packet, class: Class) {
        self.watch(now);
        self.came += 1;
        if self.thinning.is_some() {
            self.enqueue_thinned(now, packet, class);
        } else {
            self.rule.enqueue(now, packet, class, self.idle, &mut self.store);
        }
        if !self.idle {
            self.most_bytes = self.most_bytes.max(self.rule.bytes());
        }
    }

    /// The transmitter is free and asks for a packet.
    pub(crate) fn dequeue(&mut self, now: Time) -> Option<Packet> {
        self.watch(now);
        let before = self.store.verdicts.unreported.len();
        let packet = self.rule.dequeue(now, &mut self.store);
        self.idle = packet.is_none() && !self.by_turns;
        self.sent += u64::from(packet.is_some());
        if let Some(thinning) = &mut self.thinning {
            let gone = self.store.verdicts.unreported[before..].iter().chain(&packet);
            gone.for_each(|packet| thinning.forget(packet));
        }
        packet
    }

    /// The packet for a transmitter that is free at `now` and on request: one that was held until then, or the queue's.
    pub(crate) fn ask(&mut self, now: Time) -> Option<Packet> {
        if self.first_held().is_some_and(|until| until <= now) {
            self.stay_busy();
            return self.held.pop_front().map(|(_, packet)| packet);
        }
        self.dequeue(now)
    }

    /// A packet for which the transmitter has asked goes elsewhere.
    pub(crate) fn hand_back(&mut self) {
        self.came -= 1;
        self.sent -= 1;
    }

    /// A packet for which the transmitter has asked may not be sent before `until`.
    pub(crate) fn hold(&mut self, until: Time, packet: Packet) {
        let place = self.held.partition_point(|(other, _)| *other <= until);
        self.held.insert(place, (until, packet));
    }

    /// Until when the first of the packets that are held waits.
    pub(crate) fn first_held(&self) -> Option<Time> {
        self.held.front().map(|(until, _)| *until)
    }

    /// The packets that are held.
    pub(crate) fn held(&self) -> impl Iterator<Item = &Packet> {
        self.held.iter().map(|(_, packet)| packet)
    }

    /// Asks `verdict` what becomes of each packet that waits at `now`: held ones, then those of the queue.
    pub(crate) fn sift(&mut self, now: Time, verdict: &mut Sifting<'_>) {
        self.watch(now);
        let Self { held, came, sent, store, rule, .. } = self;
        let mut verdict = |packet: &mut Packet| {
            let becomes = verdict(packet);
            *came -= u64::from(becomes == Sifted::Returned);
            becomes
        };
        held.retain_mut(|(_, packet)| {
            let becomes = verdict(packet);
            if becomes == Sifted::Dropped {
                store.verdicts.drop(*packet);
            }
            *sent -= u64::from(becomes != Sifted::Stays);
            becomes == Sifted::Stays
        });
        rule.sift(now, store, &mut verdict);
    }

    /// The transmitter sends a packet that does not come from the queue.
    pub(crate) fn stay_busy(&mut self) {
        self.idle = false;
    }

    /// Acknowledgements that were dropped because newer ones say the same.
    pub(crate) fn thinned(&self) -> u64 {
        self.thinning.as_ref().map_or(0, |thinning| thinning.thinned())
    }

    /// [`Scheduled::enqueue`] where acknowledgements are thinned.
    fn enqueue_thinned(&mut self, now: Time, packet: Packet, class: Class) {
        let Some(thinning) = &mut self.thinning else { return };
        let offer = thinning.offer(&packet, &mut self.store);
        if offer == Offer::Replaces {
            return;
        }
        let before = self.store.verdicts.unreported.len();
        self.rule.enqueue(now, packet, class, self.idle, &mut self.store);
        let dropped = &self.store.verdicts.unreported[before..];
        dropped.iter().for_each(|packet| thinning.forget(packet));
        if offer == Offer::Plain && !dropped.contains(&packet) {
            thinning.waits(&packet, self.store.last());
        }
    }

    /// The next handover at which waiting packets are dropped; the end of time if there is none.
    pub(crate) fn next_flush(&self) -> Time {
        self.flushes.as_ref().map_or(Time::MAX, |flushes| flushes.next())
    }

    /// That handover, at `now`, drops all waiting packets. The transmitter notices when it asks.
    pub(crate) fn flush(&mut self, now: Time) {
        self.flushes.as_mut().into_iter().for_each(|flushes| flushes.pass());
        self.watch(now);
        let before = self.store.verdicts.unreported.len();
        self.rule.sift(now, &mut self.store, &mut |_| Sifted::Dropped);
        if let Some(thinning) = &mut self.thinning {
            self.store.verdicts.unreported[before..].iter().for_each(|packet| thinning.forget(packet));
        }
    }

    /// Counts waiting times up to `now`.
    fn watch(&mut self, now: Time) {
        self.waited += u128::from(self.waiting()) * u128::from(now.since(self.seen).0);
        self.seen = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_shared_out_by_its_upper_bits() {
        let queue = |hash| Class::of_hash(0, hash).queue_of(8);
        assert_eq!((queue(0), queue(u64::MAX), queue(1 << 61), queue((1 << 61) - 1)), (0, 7, 1, 0));
        assert!(Class::of_hash(3, u64::MAX).hash < HASHES && Class::of_hash(3, 0).band == 3);
    }

    #[test]
    fn hashes_are_shared_out_evenly() {
        let of = |hash, queues| Class { band: 0, hash }.queue_of(queues);
        assert_eq!([0, HASHES / 2 - 1, HASHES / 2, HASHES - 1].map(|hash| of(hash, 2)), [0, 0, 1, 1]);
        assert_eq!([1, 3, 1_000, 65_536].map(|queues| of(HASHES - 1, queues)), [0, 2, 999, 65_535]);
        assert_eq!(of(u64::MAX, 7), 6, "whatever an emulator may give");
        assert_eq!([1.0, 0.5].map(|uniform| Class::drawn(0, uniform).hash), [0, HASHES / 2]);
    }
}
