//! One direction of a link: a queue, a transmitter, losses, propagation.
//!
//! Its contract is small. [`Direction::push`] offers a packet, [`Direction::next`] says when a packet will come out, and
//! [`Direction::pop`] gives it, delivered or lost. [`Direction::promises`] says what else a short cut may rely on.
//!
//! With a first-in-first-out queue the departure of a packet is known when it arrives. A packet therefore costs at most one event, its
//! arrival at the far end, even if the queue decides on arrival. Waiting packets are counted apart from packets in flight (`backlog.rs`):
//! a packet that finds the transmitter free needs no such count. A queue that decides at departure (`departures.rs`) holds its packets
//! back until the transmitter is free.

use std::collections::VecDeque;

use bentpipe_cc::{Span, Time};

use crate::link::backlog::Backlog;
use crate::link::foreseen::{Doom, Foreseen};
use crate::link::link_layer::LinkLayer;
use crate::link::moving::Moving;
use crate::link::packet::{CE, LOST, Packet, WAKE};
use crate::link::random::Stream;
use crate::link::transmitter::Transmitter;
use crate::loss::LossModel;
use crate::queue::at_departure::{Class, Scheduled};
use crate::queue::kind::Rule;
use crate::queue::on_arrival::{Arrival, OnArrival, Verdict};
use crate::resolve::plan::{DirectionPlan, QueueLimit};

/// Longest wait at a queue without a list, ns: 146 years, so that no sum of times exceeds the end of the clock.
const FARTHEST: u64 = 1 << 62;

#[derive(Clone, Copy, Debug)]
pub(super) struct InFlight {
    /// Arrival at the far end.
    pub(super) at: Time,
    packet: Packet,
}

/// What one direction of a link has done. Losses that are known but still to come are counted already; [`Direction::dropped`] counts
/// those until an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Packets that came. A direction that decides at departure counts the packets that it has chosen.
    pub(crate) offered: u64,
    pub(crate) delivered: u64,
    pub(crate) dropped_queue: u64,
    pub(crate) dropped_error: u64,
    pub(crate) marked: u64,
    /// Most packets that waited; with [`Room::Ahead`], the longest wait in ns.
    pub(crate) most: u64,
    /// Packets handed on ahead of time that would arrive after the end of the run.
    pub(crate) beyond: u64,
    /// Sum of all waiting times, packet-nanoseconds.
    waited: u128,
}

/// The room in a queue.
#[derive(Clone, Copy, Debug)]
enum Room {
    Packets(u64),
    Bytes(u64),
    /// All packets take the same whole number of nanoseconds, so the number that waits follows from when the transmitter will be free.
    /// That may be this many nanoseconds ahead, and no list is needed.
    Ahead(u64),
}

/// Why a direction refuses a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The queue has no room.
    Full,
    /// The queue has room, but its rule drops the packet early.
    Early,
    /// The packet has room, but a handover will flush it out of the queue before it is sent.
    Flushed,
}

/// The answer to a pushed packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Push {
    /// The packet is inside.
    Taken,
    /// The packet is inside, and known to be in error. It comes out when it would have reached the far end.
    Lost,
    /// The packet is not inside.
    Dropped(Refusal),
}

/// The fate of a packet that was inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The packet has reached the far end.
    Delivered,
    /// The packet was in error on its way.
    Lost,
    /// The queue has dropped the packet since it was taken.
    Dropped,
}

/// What a direction promises about packets of one size. Every short cut rests on these promises alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promises {
    /// Packets come out in the order in which they went in, and the fate of each is known when it goes in.
    pub in_order: bool,
    /// No packet spends less time inside.
    pub least_delay: Span,
    /// Two packets come out at least this far apart.
    pub least_gap: Span,
    /// Packets that go in at least `least_gap` apart all arrive, and each spends exactly this time inside.
    pub constant: Option<Span>,
}

/// The fate of a packet that enters a direction that keeps packets in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transit {
    Refused(Refusal),
    /// The packet is taken but lost on the way. It would have reached the far end at this time, or is lost at a handover then.
    Lost(Time),
    /// The packet will reach the far end at this time.
    Arrives(Time),
}

/// What a direction does besides taking all packets that have room and sending them at one rate.
#[derive(Debug)]
pub(super) struct Behaviour {
    pub(super) admission: Admission,
    /// Its time line, if its rate, delay or losses change. The transmitter then has no rate of its own.
    pub(super) moving: Option<Box<Moving>>,
}

/// Which packets a direction takes, and when.
#[derive(Debug)]
pub(super) enum Admission {
    /// All that have room: drop-tail.
    All,
    /// A queue decides on arrival.
    OnArrival(Box<dyn OnArrival>),
    /// A queue decides at departure, and hands packets over when the transmitter is free.
    Scheduled(Box<Scheduled>),
    /// A pure delay that holds each packet for a random time of its own.
    Jitter(Jitter),
}

/// A random delay, uniform from 0 up to but excluding `most`.
#[derive(Debug)]
pub(super) struct Jitter {
    most: Span,
    stream: Stream,
}

/// One direction of a link in use.
#[derive(Debug)]
pub struct Direction {
    pub(super) transmitter: Transmitter,
    delay: u64,
    /// Is it only a transmitter, a drop-tail queue and a delay?
    simple: bool,
    /// Do several flows share it? Packets that come out at one instant then come out in the order of their flows.
    shared: bool,
    /// True in tests that keep it from promising to know the fate of packets.
    #[cfg(test)]
    is_opaque: bool,
    room: Room,
    pub(super) backlog: Backlog,
    /// Packets that will come out at the far end, in order. Packets handed on ahead of time are not among them.
    pub(super) under_way: VecDeque<InFlight>,
    pub(crate) counts: Counts,
    /// `None` for drop-tail at one rate, so that such a link is no larger and no slower for the rules of other links.
    pub(super) behaviour: Option<Box<Behaviour>>,
    pub(super) losses: Vec<LossModel>,
    /// Losses to come, once there has been one.
    pub(super) foreseen: Option<Box<Foreseen>>,
}

impl Direction {
    /// The direction that `plan` describes. Its losses and its queue draw from streams named after `name`.
    pub fn new(plan: &DirectionPlan, seed: u64, name: &str) -> Self {
        let stream = |i: usize| Stream::new(seed, &format!("{name}/loss/{i}"));
        let losses: Vec<_> =
            plan.loss.iter().enumerate().map(|(i, l)| LossModel::new(l, stream(i))).collect();
        let mut room = match plan.queue {
            QueueLimit::Packets(limit) => Room::Packets(limit),
            QueueLimit::Bytes(limit) => Room::Bytes(limit),
        };
        let mut bytes = matches!(room, Room::Bytes(_));
        let stream = Stream::new(seed, &format!("{name}/{}", plan.discipline.kind()));
        let mut rule = plan.discipline.plan().start(plan.queue, plan.rate_bps, stream);
        if !plan.link_layer.is_plain() {
            rule = rule.at_departure(plan.queue, plan.rate_bps);
        }
        let mut admission = match rule {
            Rule::DropTail => None,
            Rule::OnArrival(rule) => {
                bytes |= rule.counts_bytes();
                Some(Admission::OnArrival(rule))
            }
            Rule::AtDeparture(rule) => {
                // A packet that is handed over has waited already.
                (room, bytes) = (Room::Packets(u64::MAX), false);
                Some(Admission::Scheduled(Box::new(Scheduled::new(rule, &plan.link_layer))))
            }
        };
        let moving = plan.line.clone().map(|line| Box::new(Moving::new(line)));
        // The code path of a transmitter without a rate checks for a time line, so that other directions need not.
        let rate = if moving.is_none() { plan.rate_bps } else { 0 };
        if moving.is_some() {
            admission.get_or_insert(Admission::All);
        }
        let behaviour = admission.map(|admission| Box::new(Behaviour { admission, moving }));
        Self {
            simple: rate > 0 && losses.is_empty() && behaviour.is_none(),
            room,
            backlog: Backlog::new(bytes),
            behaviour,
            losses,
            ..Self::pure_delay(plan.delay, rate)
        }
    }

    /// A direction with a delay, but without queue or losses.
    pub fn access_delay(delay: Span) -> Self {
        Self::pure_delay(delay, 0)
    }

    /// From now on several flows share it: packets of one instant come out in the order of their flows.
    pub(crate) fn share(&mut self) {
        self.shared = true;
    }

    /// Do several flows share it?
    #[inline]
    pub(crate) fn is_shared(&self) -> bool {
        self.shared
    }

    /// A direction that holds each packet for a random part of `most`, drawn from `stream`, and keeps packets in order.
    pub(crate) fn jitter(most: Span, stream: Stream) -> Self {
        let admission = Admission::Jitter(Jitter { most, stream });
        let behaviour = Some(Box::new(Behaviour { admission, moving: None }));
        Self { behaviour, ..Self::pure_delay(Span::ZERO, 0) }
    }

    fn pure_delay(delay: Span, rate: u64) -> Self {
        Self {
            transmitter: Transmitter::new(rate),
            delay: delay.0,
            simple: false,
            shared: false,
            #[cfg(test)]
            is_opaque: false,
            room: Room::Packets(u64::MAX),
            backlog: Backlog::new(false),
            under_way: VecDeque::new(),
            counts: Counts::default(),
            behaviour: None,
            losses: Vec::new(),
            foreseen: None,
        }
    }

    /// Offers a packet at `now`, which is not before the last call. Queues that sort by flow use `class`.
    pub fn push(&mut self, now: Time, mut packet: Packet, class: Class) -> Push {
        if self.decides_at_departure() {
            return self.push_scheduled(now, packet, class);
        }
        match self.transit(now, &mut packet) {
            Transit::Refused(why) => Push::Dropped(why),
            Transit::Arrives(at) => {
                self.keep_in_place(at, &packet);
                Push::Taken
            }
            Transit::Lost(at) => {
                packet.flags |= LOST;
                self.keep_in_place(at, &packet);
                Push::Lost
            }
        }
    }

    /// When the next packet comes out; `None` if nothing is inside. It may also be an instant at which a packet is chosen and none comes
    /// out.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        self.under_way.front().map(|slot| slot.at)
    }

    /// The packet that comes out at `now`, the instant that [`Direction::next`] gave; `None` if none does.
    #[inline]
    pub fn pop(&mut self, now: Time) -> Option<(Packet, Fate)> {
        let packet = self.under_way.pop_front()?.packet;
        if self.under_way.is_empty() && self.decides_at_departure() {
            self.catch_up(now);
        }
        if packet.has(LOST) {
            return (!self.wakes(now, &packet)).then_some((packet, Fate::Lost));
        }
        self.counts.delivered += 1;
        Some((packet, Fate::Delivered))
    }

    /// Takes a packet that was inside and that a later call has found will not arrive; each is given once. A dropped packet comes out
    /// only here, a lost one also by [`Direction::pop`].
    pub fn take_doomed(&mut self) -> Option<(Packet, Fate)> {
        let packet = self.scheduled()?.take_untold()?;
        let fate = if packet.has(LOST) { Fate::Lost } else { Fate::Dropped };
        Some((packet, fate))
    }

    /// The promises about packets of `size` bytes.
    pub fn promises(&self, size: u16) -> Promises {
        let (time, rest) = self.transmitter.time(size);
        let pure = self.transmitter.rate == 0 && self.behaviour.is_none();
        let constant = pure || self.simple && rest == 0;
        let promises = Promises {
            in_order: !self.decides_at_departure(),
            least_delay: Span(self.delay),
            least_gap: Span(time),
            constant: constant.then(|| Span(time.saturating_add(self.delay))),
        };
        let promises = self.promises_moving(size, promises);
        let promises = self.promises_layered(promises);
        #[cfg(test)]
        let promises =
            if self.is_opaque { Promises { in_order: false, constant: None, ..promises } } else { promises };
        promises
    }

    /// From now on it does not promise to know the fate of packets.
    #[cfg(test)]
    pub(crate) fn become_opaque(&mut self) {
        self.is_opaque = true;
    }

    /// The packet that comes out next.
    pub(crate) fn first(&self) -> Option<&Packet> {
        self.under_way.front().map(|slot| &slot.packet)
    }

    /// From now on all packets are of `size` bytes. If each takes a whole number of nanoseconds, the queue needs no list.
    pub(crate) fn expect_equal_packets(&mut self, size: u16) {
        if let (true, Room::Packets(limit)) = (self.simple, self.room)
            && let Some(time) = self.transmitter.repeat(size)
            && let Some(room) = limit.checked_mul(time).filter(|&room| room < FARTHEST)
        {
            self.room = Room::Ahead(room);
        }
    }

    /// The packets that wait in a queue that decides at departure.
    pub(crate) fn scheduled(&mut self) -> Option<&mut Scheduled> {
        match self.behaviour.as_deref_mut() {
            Some(Behaviour { admission: Admission::Scheduled(scheduled), .. }) => Some(scheduled),
            _ => None,
        }
    }

    /// The link layer, if it does more than send packets one after the other.
    pub(super) fn peek_link_layer(&self) -> Option<&LinkLayer> {
        match self.behaviour.as_deref() {
            Some(Behaviour { admission: Admission::Scheduled(scheduled), .. }) => {
                scheduled.link_layer.as_deref()
            }
            _ => None,
        }
    }

    /// Does its queue decide at departure?
    pub(crate) fn decides_at_departure(&self) -> bool {
        let admission = self.behaviour.as_deref().map(|behaviour| &behaviour.admission);
        matches!(admission, Some(Admission::Scheduled(_)))
    }

    /// When the transmitter will have sent every packet that it has taken.
    pub(crate) fn free_at(&self) -> Time {
        Time(self.transmitter.free_at)
    }

    /// Packets waiting at `now`, which is not before the last call; the one in transmission is not counted.
    pub fn waiting(&mut self, now: Time) -> u64 {
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

    /// From now on waiting bytes are counted, even where queue and rule count packets. Nothing has come so far.
    pub fn count_bytes(&mut self) {
        self.backlog.count_bytes();
    }

    /// Bytes waiting at `now`, which is not before the last call; 0 if they are not counted (see [`Direction::count_bytes`]).
    pub fn waiting_bytes(&mut self, now: Time) -> u64 {
        self.waiting(now);
        match self.scheduled() {
            Some(scheduled) => scheduled.bytes(),
            None => self.backlog.bytes(),
        }
    }

    /// Does the queue have room at `now`? It has been drained up to then.
    #[inline(always)]
    pub(super) fn has_room(&self, now: Time, size: u16) -> bool {
        if self.transmitter.free_at <= now.0 {
            return true; // the packet goes straight to the transmitter
        }
        match self.room {
            Room::Packets(limit) => self.backlog.packets() < limit,
            Room::Bytes(limit) => self.backlog.bytes() + u64::from(size) <= limit,
            Room::Ahead(room) => self.transmitter.free_at - now.0 <= room,
        }
    }

    /// The arrival of `packet` at `now`, as queues see it. The queue has been drained up to then.
    fn arrival(&self, now: Time, packet: &Packet) -> Arrival {
        Arrival {
            now,
            size: packet.size,
            ecn: packet.ecn(),
            waiting_packets: self.backlog.packets(),
            waiting_bytes: self.backlog.bytes(),
            free_at: self.free_at(),
        }
    }

    /// Does the queue take the packet? Marks it if the queue's rule says so.
    pub(super) fn takes(&mut self, now: Time, packet: &mut Packet) -> bool {
        match self.behaviour.as_deref().map(|behaviour| &behaviour.admission) {
            None | Some(Admission::All) => self.has_room(now, packet.size),
            Some(Admission::OnArrival(_)) => self.judge(now, packet),
            Some(Admission::Scheduled(_) | Admission::Jitter(_)) => true,
        }
    }

    /// The same with a rule that decides on arrival.
    fn judge(&mut self, now: Time, packet: &mut Packet) -> bool {
        let arrival = self.arrival(now, packet);
        let admission = self.behaviour.as_deref_mut().map(|behaviour| &mut behaviour.admission);
        let Some(Admission::OnArrival(rule)) = admission else { return true };
        let verdict = rule.judge(&arrival);
        if verdict == Verdict::Mark {
            packet.flags |= CE;
            self.counts.marked += 1;
        }
        verdict != Verdict::Drop
    }

    /// The same for a transmitter without a rate: a pure delay, a random one, or a time line.
    #[inline(always)]
    fn transit_without_rate(&mut self, now: Time, packet: &mut Packet) -> Transit {
        let Some(behaviour) = self.behaviour.as_deref_mut() else {
            return Transit::Arrives(self.arrival_of(now.0));
        };
        let Admission::Jitter(jitter) = &mut behaviour.admission else {
            return self.transit_moving(now, packet);
        };
        // A draw is in (0, 1], so this is less than `most`.
        let part = (1.0 - jitter.stream.uniform()) * jitter.most.0 as f64;
        let free_at = &mut self.transmitter.free_at;
        *free_at = (*free_at).max(now.0.saturating_add(part as u64));
        let held = *free_at;
        Transit::Arrives(self.arrival_of(held))
    }

    /// As [`Direction::push`] for a direction that promises order: returns the packet's fate, and does not keep the packet. It is
    /// inlined, because each hop needs it.
    #[inline(always)]
    pub(crate) fn transit(&mut self, now: Time, packet: &mut Packet) -> Transit {
        self.counts.offered += 1;
        if let Room::Ahead(room) = self.room {
            debug_assert_eq!(packet.size, self.transmitter.size_alike(), "a size that nobody announced");
            let begin = self.transmitter.free_at.max(now.0);
            let ahead = begin - now.0;
            if ahead > room {
                return self.refuse(Refusal::Full);
            }
            self.counts.waited += u128::from(ahead);
            self.counts.most = self.counts.most.max(ahead);
            let sent = self.transmitter.send_alike(begin);
            return Transit::Arrives(self.arrival_of(sent));
        }
        if !self.simple {
            return self.transit_by_rules(now, packet);
        }
        let begin = self.transmitter.free_at.max(now.0);
        if begin > now.0 {
            self.backlog.drain(now.0);
            if !self.has_room(now, packet.size) {
                return self.refuse(Refusal::Full);
            }
            self.wait(now, begin, packet.size);
        }
        let sent = self.transmitter.send(begin, packet.size);
        Transit::Arrives(self.arrival_of(sent))
    }

    /// As above, for all kinds of directions.
    #[inline(never)]
    fn transit_by_rules(&mut self, now: Time, packet: &mut Packet) -> Transit {
        if self.transmitter.rate == 0 {
            return self.transit_without_rate(now, packet);
        }
        self.backlog.drain(now.0);
        let has_room = self.has_room(now, packet.size);
        if !self.takes(now, packet) {
            return self.refuse(if has_room { Refusal::Early } else { Refusal::Full });
        }
        let begin = self.transmitter.free_at.max(now.0);
        if begin > now.0 {
            self.wait(now, begin, packet.size);
        }
        let sent = self.transmitter.send(begin, packet.size);
        let arrival = self.arrival_of(sent);
        if !self.is_struck(Time(sent), packet.size) {
            return Transit::Arrives(arrival);
        }
        self.foresee(now, Time(sent), Doom::Error, packet);
        Transit::Lost(arrival)
    }

    /// Is a packet whose transmission ends at `sent` lost on the channel?
    pub(super) fn is_struck(&mut self, sent: Time, size: u16) -> bool {
        let mut lost = false;
        for loss in &mut self.losses {
            lost |= loss.strikes(sent, size);
        }
        lost
    }

    /// Forgets the instant that [`Direction::next`] gives, if no packet comes out then.
    pub(super) fn cancel_wake(&mut self) {
        if self.under_way.front().is_some_and(|slot| slot.packet.has(WAKE)) {
            self.under_way.pop_front();
        }
    }

    /// Does [`Direction::next`] give this instant sooner or later, although no packet comes out then?
    pub(super) fn wakes_at(&self, at: Time) -> bool {
        self.under_way.iter().any(|slot| slot.at == at && slot.packet.has(WAKE))
    }

    /// A packet that comes at `now` waits until `begin`.
    #[inline(always)]
    pub(super) fn wait(&mut self, now: Time, begin: u64, size: u16) {
        self.backlog.join(begin, size);
        self.counts.waited += u128::from(begin - now.0);
        self.counts.most = self.counts.most.max(self.backlog.packets());
    }

    /// When a packet that is sent at `sent` reaches the far end.
    #[inline(always)]
    pub(super) fn arrival_of(&self, sent: u64) -> Time {
        Time(sent.saturating_add(self.delay))
    }

    /// Keeps an admitted packet at hop `hop` until it reaches the far end at `at`. Returns whether it is the first of those in flight, so
    /// that the direction has a new next event.
    #[inline(always)]
    pub(crate) fn keep(&mut self, at: Time, hop: u32, packet: &Packet) -> bool {
        if self.under_way.len() == self.under_way.capacity() {
            self.grow();
        }
        let tied = self.shared && self.under_way.back().is_some_and(|last| last.at == at);
        self.under_way.push_back(InFlight { at, packet: Packet { hop, ..*packet } });
        self.under_way.len() == 1 || tied && self.settle_last()
    }

    /// Moves the last packet before packets of later flows that arrive at the same instant. Returns whether it is now the first of all.
    #[cold]
    #[inline(never)]
    fn settle_last(&mut self) -> bool {
        let mut place = self.under_way.len() - 1;
        let key = |slot: &InFlight| (slot.at, slot.packet.flow);
        while place > 0 && key(&self.under_way[place - 1]) > key(&self.under_way[place]) {
            self.under_way.swap(place - 1, place);
            place -= 1;
        }
        place == 0
    }

    /// Grows by a quarter instead of doubling: with many packets in flight they take most of a run's memory.
    #[cold]
    fn grow(&mut self) {
        self.under_way.reserve_exact((self.under_way.len() / 4).max(2));
    }

    /// Packets that have not reached the far end, lost ones included. Packets handed on ahead of time are counted elsewhere.
    pub(crate) fn on_the_way(&self) -> impl Iterator<Item = &Packet> {
        let held = self.peek_link_layer().into_iter().flat_map(LinkLayer::packets);
        self.under_way.iter().map(|slot| &slot.packet).chain(held)
    }
}

mod books;
#[cfg(test)]
mod tests;
