//! One direction of a link: a queue, a transmitter, losses, propagation.
//!
//! With a first-in-first-out queue the departure of a packet is known when it arrives, so a packet costs at most one event: its
//! arrival at the far end. A queue that decides on arrival keeps that true. What waits is counted apart from what is under way
//! (`backlog.rs`): a packet that finds the transmitter free has nothing to do with it. Where all packets take the same whole number
//! of nanoseconds it follows from when the transmitter will be free. A queue that decides at departure (`departures.rs`) holds its
//! packets back until the transmitter is free, and is to the link an arrival that need not wait.

use std::collections::VecDeque;

use bentpipe_cc::{Span, Time};

use crate::engine::audit::Ledger;
use crate::link::backlog::Backlog;
use crate::link::loss::Loss;
use crate::link::packet::{CE, LOST, Packet};
use crate::link::random::Stream;
use crate::link::transmitter::Transmitter;
use crate::queue::Rule;
use crate::queue::at_departure::Scheduled;
use crate::queue::on_arrival::{Arrival, OnArrival, Verdict};
use crate::resolve::plan::{Channel, QueueLimit};

/// Entities that each flow has among the links: its delay there, the one back, and the random one of its acknowledgements.
pub(crate) const OF_FLOW: u32 = 3;

/// Nothing that is not listed has to wait for longer, 146 years, so that no time of it is beyond the end of the clock.
const FARTHEST: u64 = 1 << 62;

#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Arrival at the far end.
    at: Time,
    packet: Packet,
}

/// What one direction of a link has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Packets that came; what decides at departure counts those that were chosen.
    pub(crate) offered: u64,
    pub(crate) delivered: u64,
    pub(crate) dropped_queue: u64,
    pub(crate) dropped_error: u64,
    pub(crate) marked: u64,
    /// Most packets that waited; of [`Room::Ahead`], the most time that one did.
    pub(crate) most: u64,
    /// Handed on ahead of time to arrive after the end of the run.
    pub(crate) beyond: u64,
    /// Sum of all waiting times, packet-nanoseconds.
    waited: u128,
}

/// What a queue has room for.
#[derive(Clone, Copy, Debug)]
enum Room {
    Packets(u64),
    Bytes(u64),
    /// All packets take the same whole number of nanoseconds: how many wait follows from when the transmitter will be free, which may be
    /// so many nanoseconds ahead. Nothing is listed.
    Ahead(u64),
}

/// What becomes of a packet offered to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The queue was full, or dropped it early.
    Dropped,
    /// Taken, but lost on the way; it would have reached the far end then.
    Lost(Time),
    /// It will reach the far end then.
    Arrives(Time),
}

/// What a link does besides taking all packets for which there is room.
#[derive(Debug)]
enum Admission {
    /// A queue decides on arrival.
    OnArrival(Box<dyn OnArrival>),
    /// Packets wait elsewhere and come when the transmitter is free.
    Scheduled(Box<Scheduled>),
    /// A pure delay that holds each packet for a random time of its own.
    Jitter(Jitter),
}

/// A random delay, uniform from 0 to `most`, excluded.
#[derive(Debug)]
struct Jitter {
    most: Span,
    stream: Stream,
}

/// One direction of a link at work.
#[derive(Debug)]
pub(crate) struct Link {
    transmitter: Transmitter,
    delay: u64,
    /// Nothing but a transmitter, a drop-tail queue and a delay.
    simple: bool,
    /// Its number among the entities of the run. A delay that several flows have as their own is as many; this is that of flow 0.
    entity: u32,
    shared: bool,
    room: Room,
    backlog: Backlog,
    /// Packets whose arrival at the far end is awaited here, in order.
    under_way: VecDeque<Slot>,
    pub(crate) counts: Counts,
    /// `None` for drop-tail, so that a link is no larger, and takes no more looks, for what others do.
    admission: Option<Box<Admission>>,
    losses: Vec<Loss>,
}

impl Link {
    /// Entity `entity`, a link as `plan` says; its losses and its queue draw from streams named after `name`.
    pub(crate) fn new(plan: &Channel, entity: u32, seed: u64, name: &str) -> Self {
        let stream = |i: usize| Stream::new(seed, &format!("{name}/loss/{i}"));
        let losses: Vec<_> = plan.loss.iter().enumerate().map(|(i, l)| Loss::new(l, stream(i))).collect();
        let mut room = match plan.queue {
            QueueLimit::Packets(limit) => Room::Packets(limit),
            QueueLimit::Bytes(limit) => Room::Bytes(limit),
        };
        let mut bytes = matches!(room, Room::Bytes(_));
        let stream = Stream::new(seed, &format!("{name}/{}", plan.discipline.kind()));
        let admission = match plan.discipline.plan().start(plan.queue, plan.rate_bps, stream) {
            Rule::DropTail => None,
            Rule::OnArrival(rule) => {
                bytes |= rule.counts_bytes();
                Some(Admission::OnArrival(rule))
            }
            Rule::AtDeparture(rule) => {
                // What it hands over has waited already.
                (room, bytes) = (Room::Packets(u64::MAX), false);
                Some(Admission::Scheduled(Box::new(Scheduled::new(rule))))
            }
        };
        Self {
            simple: plan.rate_bps > 0 && losses.is_empty() && admission.is_none(),
            room,
            backlog: Backlog::new(bytes),
            admission: admission.map(Box::new),
            losses,
            ..Self::pure_delay(plan.delay, plan.rate_bps, entity)
        }
    }

    /// A link that delays and neither queues nor loses.
    pub(crate) fn private(delay: Span, entity: u32) -> Self {
        Self::pure_delay(delay, 0, entity)
    }

    /// A link that holds each packet for a random part of `most`, drawn from `stream`, and keeps their order.
    pub(crate) fn jitter(most: Span, entity: u32, stream: Stream) -> Self {
        let admission = Some(Box::new(Admission::Jitter(Jitter { most, stream })));
        Self { admission, ..Self::pure_delay(Span::ZERO, 0, entity) }
    }

    fn pure_delay(delay: Span, rate: u64, entity: u32) -> Self {
        Self {
            transmitter: Transmitter::new(rate),
            delay: delay.0,
            simple: false,
            entity,
            shared: false,
            room: Room::Packets(u64::MAX),
            backlog: Backlog::new(false),
            under_way: VecDeque::new(),
            counts: Counts::default(),
            admission: None,
            losses: Vec::new(),
        }
    }

    /// From now on it is a delay of several flows, of which flow 0 has or would have it as entity `first`.
    pub(crate) fn share(&mut self, first: u32) {
        (self.entity, self.shared) = (first, true);
    }

    /// Is it a delay of several flows?
    #[inline]
    pub(crate) fn is_shared(&self) -> bool {
        self.shared
    }

    /// Which entity's event the next arrival is.
    pub(crate) fn entity(&self) -> u32 {
        self.entity_of(self.under_way.front().map_or(0, |slot| slot.packet.flow))
    }

    /// Which entity's event the arrival of a packet of this flow is.
    pub(crate) fn entity_of(&self, flow: u32) -> u32 {
        self.entity + if self.shared { OF_FLOW * flow } else { 0 }
    }

    /// The least time that a packet spends in it.
    pub(crate) fn delay(&self) -> Span {
        Span(self.delay)
    }

    /// From now on it takes no short cuts.
    pub(crate) fn be_plain(&mut self) {
        self.simple = false;
    }

    /// All packets that come are of these sizes: if that is one, and the clock can tell how long all of them take, nothing needs listing.
    pub(crate) fn expect_sizes(&mut self, sizes: &[u16]) {
        if let (true, &[size], Room::Packets(limit)) = (self.simple, sizes, self.room)
            && let Some(time) = self.transmitter.repeat(size)
            && let Some(room) = limit.checked_mul(time).filter(|&room| room < FARTHEST)
        {
            self.room = Room::Ahead(room);
        }
    }

    /// Most packets that have waited.
    pub(crate) fn queue_max(&self) -> u64 {
        match self.room {
            Room::Ahead(_) => self.counts.most.div_ceil(self.transmitter.time_alike()),
            Room::Packets(_) | Room::Bytes(_) => self.counts.most,
        }
    }

    /// How long the transmitter takes for a packet of `size` bytes, without what rounding leaves for the next, ns.
    pub(crate) fn sending_time(&self, size: u16) -> u64 {
        self.transmitter.time(size).0
    }

    /// How long a packet of `size` bytes takes that finds the transmitter free, if that is always the same and the packet arrives, ns.
    pub(crate) fn constant(&self, size: u16) -> Option<u64> {
        let pure = self.transmitter.rate == 0 && self.admission.is_none();
        let (time, rest) = self.transmitter.time(size);
        (pure || self.simple && rest == 0).then(|| time.saturating_add(self.delay))
    }

    /// `count` packets of `size` bytes have found the transmitter free.
    pub(crate) fn passed(&mut self, size: u16, count: u64, delivered: bool) {
        self.counts.offered += count;
        self.counts.delivered += if delivered { count } else { 0 };
        self.transmitter.busy += count * self.sending_time(size);
    }

    /// Some of these have passed, and the last will have been sent at `at`.
    pub(crate) fn is_free_again(&mut self, at: Time) {
        self.transmitter.free_at = self.transmitter.free_at.max(at.0);
    }

    /// When the last packet that it has taken reaches the far end, if nothing is lost on it.
    pub(crate) fn last_out(&self) -> Option<Time> {
        self.simple.then(|| self.arrival_of(self.transmitter.free_at))
    }

    /// Bits per second.
    pub(crate) fn rate_bps(&self) -> u64 {
        self.transmitter.rate
    }

    /// Does a packet of `size` bytes that is offered at an instant arrive after it?
    pub(crate) fn takes_time(&self, size: u16) -> bool {
        self.delay > 0 || self.parts_packets(size)
    }

    /// Does a packet of `size` bytes arrive at another instant than the one before it?
    pub(crate) fn parts_packets(&self, size: u16) -> bool {
        self.sending_time(size) > 0
    }

    /// What waits, if that is decided at departure.
    pub(crate) fn scheduled(&mut self) -> Option<&mut Scheduled> {
        match self.admission.as_deref_mut() {
            Some(Admission::Scheduled(scheduled)) => Some(scheduled),
            _ => None,
        }
    }

    /// Does it decide at departure?
    pub(crate) fn decides_at_departure(&self) -> bool {
        matches!(self.admission.as_deref(), Some(Admission::Scheduled(_)))
    }

    /// When the transmitter will have sent all that it has taken.
    pub(crate) fn free_at(&self) -> Time {
        Time(self.transmitter.free_at)
    }

    /// Packets waiting at `now`, the one in transmission not counted.
    pub(crate) fn waiting(&mut self, now: Time) -> u64 {
        if self.decides_at_departure() {
            self.catch_up(now);
        }
        if let Some(scheduled) = self.scheduled() {
            return scheduled.waiting();
        }
        if let Room::Ahead(_) = self.room {
            return self.transmitter.waiting(now.0);
        }
        self.backlog.drain(now.0);
        self.backlog.packets()
    }

    /// Has the queue room at `now`, when it has been drained?
    #[inline(always)]
    fn has_room(&self, now: Time, size: u16) -> bool {
        if self.transmitter.free_at <= now.0 {
            return true; // it goes straight to the transmitter
        }
        match self.room {
            Room::Packets(limit) => self.backlog.packets() < limit,
            Room::Bytes(limit) => self.backlog.bytes() + u64::from(size) <= limit,
            Room::Ahead(room) => self.transmitter.free_at - now.0 <= room,
        }
    }

    /// A packet that arrives at `now`; the queue has been drained.
    fn arrival(&self, now: Time, packet: &Packet) -> Arrival {
        Arrival {
            now,
            size: packet.size,
            ecn: packet.ecn(),
            waiting_packets: self.backlog.packets(),
            waiting_bytes: self.backlog.bytes(),
            free_at: self.free_at(),
            has_room: self.has_room(now, packet.size),
        }
    }

    /// Does the queue take the packet? Marks it, if the rule wants that.
    fn takes(&mut self, now: Time, packet: &mut Packet) -> bool {
        if self.admission.is_none() {
            return self.has_room(now, packet.size);
        }
        self.judge(now, packet)
    }

    /// The same where a rule has its say.
    fn judge(&mut self, now: Time, packet: &mut Packet) -> bool {
        let arrival = self.arrival(now, packet);
        let Some(Admission::OnArrival(rule)) = self.admission.as_deref_mut() else { return true };
        let verdict = rule.judge(&arrival);
        if verdict == Verdict::Mark {
            packet.flags |= CE;
            self.counts.marked += 1;
        }
        verdict != Verdict::Drop
    }

    /// Until when a pure delay holds a packet that comes at `now`, besides its delay.
    fn held(&mut self, now: Time) -> u64 {
        if let Some(Admission::Jitter(jitter)) = self.admission.as_deref_mut() {
            // A draw is in (0, 1], so this is less than `most`.
            let part = (1.0 - jitter.stream.uniform()) * jitter.most.0 as f64;
            let free_at = &mut self.transmitter.free_at;
            *free_at = (*free_at).max(now.0.saturating_add(part as u64));
            return *free_at;
        }
        now.0
    }

    /// Takes a packet that comes at `now`, if it may, and says what becomes of it. Inlined, as it is a step of every hop.
    #[inline(always)]
    pub(crate) fn admit(&mut self, now: Time, packet: &mut Packet) -> Fate {
        self.counts.offered += 1;
        if let Room::Ahead(room) = self.room {
            let begin = self.transmitter.free_at.max(now.0);
            let ahead = begin - now.0;
            if ahead > room {
                self.counts.dropped_queue += 1;
                return Fate::Dropped;
            }
            self.counts.waited += u128::from(ahead);
            self.counts.most = self.counts.most.max(ahead);
            let sent = self.transmitter.send_alike(begin);
            return Fate::Arrives(self.arrival_of(sent));
        }
        if !self.simple {
            return self.admit_by_rules(now, packet);
        }
        let begin = self.transmitter.free_at.max(now.0);
        if begin > now.0 {
            self.backlog.drain(now.0);
            if !self.has_room(now, packet.size) {
                self.counts.dropped_queue += 1;
                return Fate::Dropped;
            }
            self.wait(now, begin, packet.size);
        }
        let sent = self.transmitter.send(begin, packet.size);
        Fate::Arrives(self.arrival_of(sent))
    }

    /// The same for all kinds of links.
    #[inline(never)]
    fn admit_by_rules(&mut self, now: Time, packet: &mut Packet) -> Fate {
        if self.transmitter.rate == 0 {
            let held = self.held(now);
            return Fate::Arrives(self.arrival_of(held));
        }
        self.backlog.drain(now.0);
        if !self.takes(now, packet) {
            self.counts.dropped_queue += 1;
            return Fate::Dropped;
        }
        let begin = self.transmitter.free_at.max(now.0);
        if begin > now.0 {
            self.wait(now, begin, packet.size);
        }
        let sent = self.transmitter.send(begin, packet.size);
        let mut lost = false;
        for loss in &mut self.losses {
            lost |= loss.strikes(Time(sent), packet.size);
        }
        self.counts.dropped_error += u64::from(lost);
        let arrival = self.arrival_of(sent);
        if lost { Fate::Lost(arrival) } else { Fate::Arrives(arrival) }
    }

    /// A packet that comes at `now` waits until `begin`.
    #[inline(always)]
    fn wait(&mut self, now: Time, begin: u64, size: u16) {
        self.backlog.join(begin, size);
        self.counts.waited += u128::from(begin - now.0);
        self.counts.most = self.counts.most.max(self.backlog.packets());
    }

    /// When what is sent at `sent` reaches the far end.
    #[inline(always)]
    fn arrival_of(&self, sent: u64) -> Time {
        Time(sent.saturating_add(self.delay))
    }

    /// Keeps an admitted packet at hop `hop` until it reaches the far end at `at`. Is it the first of those under way, so that the
    /// link's next event is new?
    #[inline(always)]
    pub(crate) fn keep(&mut self, at: Time, hop: u32, packet: &Packet) -> bool {
        if self.under_way.len() == self.under_way.capacity() {
            self.grow();
        }
        debug_assert!(self.under_way.back().is_none_or(|last| last.at <= at));
        let tied = self.shared && self.under_way.back().is_some_and(|last| last.at == at);
        self.under_way.push_back(Slot { at, packet: Packet { hop, ..*packet } });
        self.under_way.len() == 1 || tied && self.settle_last()
    }

    /// Puts the last packet before those of later flows that arrive at the same instant. Is it the first of all now?
    #[cold]
    #[inline(never)]
    fn settle_last(&mut self) -> bool {
        let mut place = self.under_way.len() - 1;
        let key = |slot: &Slot| (slot.at, slot.packet.flow);
        while place > 0 && key(&self.under_way[place - 1]) > key(&self.under_way[place]) {
            self.under_way.swap(place - 1, place);
            place -= 1;
        }
        place == 0
    }

    /// By a quarter, and not to twice the size: with many packets under way they are what a run needs memory for.
    #[cold]
    fn grow(&mut self) {
        self.under_way.reserve_exact((self.under_way.len() / 4).max(2));
    }

    /// When the next packet reaches the far end.
    #[inline]
    pub(crate) fn next(&self) -> Option<Time> {
        self.under_way.front().map(|slot| slot.at)
    }

    /// The packet that reaches the far end now; one that carries [`LOST`] does not, and is only removed.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Packet> {
        let packet = self.under_way.pop_front()?.packet;
        self.counts.delivered += u64::from(!packet.has(LOST));
        Some(packet)
    }

    /// The packets that have not reached the far end, lost ones included. Those handed on ahead of time are counted elsewhere.
    pub(crate) fn on_the_way(&self) -> impl Iterator<Item = &Packet> {
        self.under_way.iter().map(|slot| &slot.packet)
    }

    /// Packets for which it keeps something, those twice that wait and are under way.
    pub(crate) fn kept(&mut self) -> u64 {
        let waiting = self.scheduled().map_or(0, |scheduled| scheduled.waiting());
        waiting + self.backlog.packets() + self.under_way.len() as u64
    }

    /// What the audit balances.
    pub(crate) fn ledger(&mut self) -> Ledger {
        let counts = self.counts;
        let (waiting, came, scheduled) = match self.scheduled() {
            Some(scheduled) => {
                let packets = scheduled.packets();
                let sizes = packets.iter().map(|packet| u64::from(packet.size)).sum();
                (packets.len() as u64, scheduled.came(), (scheduled.bytes(), sizes))
            }
            None => (0, counts.offered, (0, 0)),
        };
        let there = self.on_the_way().filter(|packet| !packet.has(LOST)).count() as u64;
        Ledger {
            offered: came,
            dropped_queue: counts.dropped_queue,
            dropped_error: counts.dropped_error,
            delivered: counts.delivered,
            waiting,
            under_way: there + counts.beyond,
            waiting_bytes: (self.backlog.bytes() + scheduled.0, self.backlog.bytes_added_up() + scheduled.1),
            most_bytes: self.scheduled().map_or(0, |scheduled| scheduled.most_bytes()),
            queue_max: self.queue_max(),
        }
    }

    /// Share of the time until `end` in which the transmitter was busy.
    pub(crate) fn utilisation(&self, end: Time) -> f64 {
        if end.0 == 0 {
            return 0.0;
        }
        // What is promised beyond the end is one unbroken busy period.
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
        // Packets still waiting have been charged beyond the end.
        let beyond = if let Room::Ahead(_) = self.room {
            self.transmitter.to_wait(end.0)
        } else {
            self.backlog.drain(end.0);
            self.backlog.begins().map(|begin| u128::from(begin - end.0)).sum()
        };
        (self.counts.waited - beyond) as f64 / end.0 as f64
    }
}

#[cfg(test)]
mod tests;
