//! One direction of a link: a queue, a transmitter, losses, propagation.
//!
//! With a first-in-first-out queue the departure of a packet is known when it arrives, so a packet costs one event: its
//! arrival at the far end. RED and PIE decide on arrival and keep that true. The queue's length is found by a second cursor
//! into the same ring. What decides at departure (`scheduled.rs`) holds its packets back until the transmitter is free, and is
//! to the link an arrival that need not wait.

use bentpipe_cc::{Span, Time};

use crate::audit::Ledger;
use crate::loss::Loss;
use crate::packet::{CE, ECT, LOST, Packet};
use crate::pie::{Offered, Pie};
use crate::plan::{self, Channel, FlowPlan, QueueLimit};
use crate::random::Stream;
use crate::red::{Arrival, Red, Verdict};
use crate::scheduled::Scheduled;

/// What would be sent later than this, 292 years, is taken to be sent then: no run lasts as long, and all sums of times fit.
const LATEST: u64 = u64::MAX >> 1;

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// Arrival at the far end.
    at: u64,
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
    pub(crate) queue_max: u64,
    /// Handed on ahead of time to arrive after the end of the run.
    pub(crate) beyond: u64,
    /// Sum of all waiting times, packet-nanoseconds.
    waited: u128,
    /// Time spent transmitting, including what has been promised beyond the present.
    busy: u64,
}

/// What became of a packet offered to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pushed {
    /// The queue was full, or dropped it early.
    Full,
    /// Taken; `lost`: it will be lost on the way; `first`: no other packet is on the link, so its next event is new.
    Taken { lost: bool, first: bool },
}

/// What became of a packet offered to a link that hands on by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passed {
    /// The queue was full, or dropped it early.
    Full,
    /// Taken, but it will be lost on the way.
    Lost,
    /// Taken; it will reach the far end then.
    At(Time),
}

/// What a link does besides taking all packets for which there is room.
#[derive(Debug)]
enum Discipline {
    Red(Red),
    Pie(Pie),
    /// Packets wait elsewhere and come when the transmitter is free.
    Scheduled(Box<Scheduled>),
    /// A pure delay that holds each packet for a random time of its own.
    Jitter(Jitter),
}

/// A packet that arrives, as its queue's discipline sees it.
enum Found {
    Red(Arrival),
    Pie(Offered),
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
    ring: Vec<Slot>,
    /// Packets under way are `head` .. `tail`, those waiting or in transmission `queued` .. `tail`.
    head: u64,
    queued: u64,
    tail: u64,
    queued_bytes: u64,
    /// Bits per second; 0 for a pure delay.
    rate: u64,
    delay: u64,
    limit: QueueLimit,
    /// `None` for drop-tail, so that a link is no larger, and takes no more looks, for what others do.
    discipline: Option<Box<Discipline>>,
    free_at: u64,
    /// Remainder of the last transmission time, in 1/rate nanoseconds, so that rounding does not add up.
    carry: u64,
    /// The last division: what was divided, quotient and remainder.
    last_work: u64,
    last_time: (u64, u64),
    losses: Vec<Loss>,
    pub(crate) counts: Counts,
}

impl Link {
    /// A link as `plan` says in a run of `flows`; its losses and its queue draw from streams named after `name`.
    pub(crate) fn new(plan: &Channel, seed: u64, name: &str, flows: &[FlowPlan]) -> Self {
        let stream = |i: usize| Stream::new(seed, &format!("{name}/loss/{i}"));
        let losses = plan.loss.iter().enumerate().map(|(i, l)| Loss::new(l, stream(i))).collect();
        let (mut limit, mut discipline) = (plan.queue, None);
        if let Some(scheduled) = Scheduled::new(plan, seed, name, flows) {
            // What it hands over has waited already.
            limit = QueueLimit::Packets(u64::MAX);
            discipline = Some(Discipline::Scheduled(scheduled));
        }
        if let plan::Discipline::Red(red) = plan.discipline {
            let stream = Stream::new(seed, &format!("{name}/red"));
            discipline = Some(Discipline::Red(Red::new(red, plan.rate_bps, stream)));
        }
        if let plan::Discipline::Pie(pie) = plan.discipline {
            let stream = Stream::new(seed, &format!("{name}/pie"));
            discipline = Some(Discipline::Pie(Pie::new(pie, stream)));
        }
        let discipline = discipline.map(Box::new);
        Self { losses, limit, discipline, ..Self::pure_delay(plan.delay, plan.rate_bps) }
    }

    /// A link that delays and neither queues nor loses.
    pub(crate) fn private(delay: Span) -> Self {
        Self::pure_delay(delay, 0)
    }

    /// A link that holds each packet for a random part of `most`, drawn from `stream`, and keeps their order.
    pub(crate) fn jitter(most: Span, stream: Stream) -> Self {
        let discipline = Some(Box::new(Discipline::Jitter(Jitter { most, stream })));
        Self { discipline, ..Self::pure_delay(Span::ZERO, 0) }
    }

    fn pure_delay(delay: Span, rate: u64) -> Self {
        Self {
            ring: vec![Slot::default(); 16],
            head: 0,
            queued: 0,
            tail: 0,
            queued_bytes: 0,
            rate,
            delay: delay.0,
            limit: QueueLimit::Packets(u64::MAX),
            discipline: None,
            free_at: 0,
            carry: 0,
            last_work: 0,
            last_time: (0, 0),
            losses: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// Bits per second.
    pub(crate) fn rate_bps(&self) -> u64 {
        self.rate
    }

    /// What waits, if that is decided at departure.
    pub(crate) fn scheduled(&mut self) -> Option<&mut Scheduled> {
        match self.discipline.as_deref_mut() {
            Some(Discipline::Scheduled(scheduled)) => Some(scheduled),
            _ => None,
        }
    }

    /// Does it decide at departure?
    pub(crate) fn decides_at_departure(&self) -> bool {
        matches!(self.discipline.as_deref(), Some(Discipline::Scheduled(_)))
    }

    /// When the transmitter will have sent all that it has taken.
    pub(crate) fn free_at(&self) -> Time {
        Time(self.free_at)
    }

    fn slot(&self, i: u64) -> &Slot {
        &self.ring[i as usize & (self.ring.len() - 1)]
    }

    /// Forgets queued packets that have left the transmitter by `now`.
    fn drain(&mut self, now: u64) {
        while self.queued < self.tail {
            let slot = self.slot(self.queued);
            if slot.at - self.delay > now {
                break;
            }
            self.queued_bytes -= u64::from(slot.packet.size);
            self.queued += 1;
        }
    }

    /// Packets waiting at `now`, the one in transmission not counted.
    pub(crate) fn waiting(&mut self, now: Time) -> u64 {
        if self.decides_at_departure() {
            self.catch_up(now);
        }
        if let Some(scheduled) = self.scheduled() {
            return scheduled.waiting();
        }
        self.drain(now.0);
        (self.tail - self.queued).saturating_sub(1)
    }

    fn has_room(&self, size: u16) -> bool {
        let inside = self.tail - self.queued;
        if inside == 0 {
            return true;
        }
        match self.limit {
            QueueLimit::Packets(limit) => inside <= limit,
            QueueLimit::Bytes(limit) => {
                let sending = u64::from(self.slot(self.queued).packet.size);
                self.queued_bytes - sending + u64::from(size) <= limit
            }
        }
    }

    /// Nanoseconds to transmit `size` bytes and the remainder to carry over; `None` for a pure delay.
    fn transmission_time(&mut self, size: u16) -> Option<(u64, u64)> {
        let work = u64::from(size) * 8 * 1_000_000_000 + self.carry;
        if work != self.last_work {
            // Most packets are as large as the one before, and 64-bit division is the dearest step of a hop.
            self.last_time = (work.checked_div(self.rate)?, work.checked_rem(self.rate)?);
            self.last_work = work;
        }
        (self.rate > 0).then_some(self.last_time)
    }

    /// A packet that arrives at `now`, as RED sees it; the queue has been drained.
    fn arrival(&self, now: Time, packet: &Packet) -> Arrival {
        let inside = self.tail - self.queued;
        let sending = if inside > 0 { u64::from(self.slot(self.queued).packet.size) } else { 0 };
        let (waiting, limit) = match self.limit {
            QueueLimit::Packets(limit) => (inside.saturating_sub(1), limit),
            QueueLimit::Bytes(limit) => (self.queued_bytes - sending, limit),
        };
        Arrival {
            size: packet.size,
            ect: packet.has(ECT),
            waiting,
            idle: (inside == 0).then(|| Span(now.0.saturating_sub(self.free_at))),
            full: inside > 0 && waiting >= limit,
        }
    }

    /// The same, as PIE sees it.
    fn offered(&self, packet: &Packet) -> Offered {
        let inside = self.tail - self.queued;
        let sending = if inside > 0 { u64::from(self.slot(self.queued).packet.size) } else { 0 };
        Offered {
            ect: packet.has(ECT),
            waiting_bytes: self.queued_bytes - sending,
            free_at: self.free_at(),
            full: !self.has_room(packet.size),
        }
    }

    /// Does the queue take the packet? Marks it, if the discipline wants that.
    fn takes(&mut self, now: Time, packet: &mut Packet) -> bool {
        if self.discipline.is_none() {
            return self.has_room(packet.size);
        }
        self.judge(now, packet)
    }

    /// The same where a discipline has its say; out of the way of drop-tail.
    #[inline(never)]
    fn judge(&mut self, now: Time, packet: &mut Packet) -> bool {
        let found = match self.discipline.as_deref() {
            Some(Discipline::Red(_)) => Found::Red(self.arrival(now, packet)),
            Some(Discipline::Pie(_)) => Found::Pie(self.offered(packet)),
            Some(Discipline::Scheduled(_) | Discipline::Jitter(_)) | None => return true,
        };
        let verdict = match (self.discipline.as_deref_mut(), found) {
            (Some(Discipline::Red(red)), Found::Red(arrival)) => red.judge(&arrival),
            (Some(Discipline::Pie(pie)), Found::Pie(offered)) => pie.judge(now, &offered),
            _ => Verdict::Pass,
        };
        if verdict == Verdict::Mark {
            packet.flags |= CE;
            self.counts.marked += 1;
        }
        verdict != Verdict::Drop
    }

    /// Until when a pure delay holds a packet that comes at `now`, besides its delay.
    fn held(&mut self, now: Time) -> u64 {
        if let Some(Discipline::Jitter(jitter)) = self.discipline.as_deref_mut() {
            // A draw is in (0, 1], so this is less than `most`.
            let part = (1.0 - jitter.stream.uniform()) * jitter.most.0 as f64;
            self.free_at = self.free_at.max(now.0.saturating_add(part as u64));
            return self.free_at;
        }
        now.0
    }

    /// Takes a packet into the queue at `now`, if it may: when it is fully sent, and is it lost?
    fn admit(&mut self, now: Time, packet: &mut Packet) -> Option<(u64, bool)> {
        let size = packet.size;
        self.counts.offered += 1;
        let Some((time, carry)) = self.transmission_time(size) else {
            return Some((self.held(now), false));
        };
        self.drain(now.0);
        if !self.takes(now, packet) {
            self.counts.dropped_queue += 1;
            return None;
        }
        let begin = self.free_at.max(now.0);
        self.carry = carry;
        self.free_at = (begin + time).min(LATEST);
        self.counts.busy += self.free_at - begin;
        self.counts.waited += u128::from(begin - now.0);
        let mut lost = false;
        for loss in &mut self.losses {
            lost |= loss.strikes(Time(self.free_at), size);
        }
        self.counts.dropped_error += u64::from(lost);
        Some((self.free_at, lost))
    }

    /// Puts an admitted packet into the ring.
    fn keep(&mut self, sent: u64, packet: Packet) {
        if self.tail - self.head == self.ring.len() as u64 {
            self.grow();
        }
        debug_assert!(
            self.tail == self.head || self.slot(self.tail - 1).at <= sent.saturating_add(self.delay)
        );
        let slot = self.tail as usize & (self.ring.len() - 1);
        self.ring[slot] = Slot { at: sent.saturating_add(self.delay), packet };
        self.tail += 1;
        if self.rate > 0 {
            self.queued_bytes += u64::from(packet.size);
            self.counts.queue_max = self.counts.queue_max.max(self.tail - self.queued - 1);
        } else {
            self.queued = self.tail;
        }
    }

    /// Offers a packet at `now`. Inlined, although links that decide at departure call it too: it is a step of every hop.
    #[inline(always)]
    pub(crate) fn push(&mut self, now: Time, mut packet: Packet) -> Pushed {
        let Some((sent, lost)) = self.admit(now, &mut packet) else { return Pushed::Full };
        packet.flags |= if lost { LOST } else { 0 };
        let first = self.tail == self.head;
        self.keep(sent, packet);
        Pushed::Taken { lost, first }
    }

    /// Offers a packet at `now` to a link whose packets all go on to one other link that no one else feeds. The caller
    /// offers it there at once, at the time of its arrival; here it only takes up room in the queue.
    pub(crate) fn pass(&mut self, now: Time, packet: &mut Packet) -> Passed {
        let Some((sent, lost)) = self.admit(now, packet) else { return Passed::Full };
        if self.rate > 0 {
            self.head = self.queued;
            self.keep(sent, *packet);
        }
        if lost { Passed::Lost } else { Passed::At(Time(sent.saturating_add(self.delay))) }
    }

    #[cold]
    fn grow(&mut self) {
        let old = self.ring.len();
        let mut bigger = vec![Slot::default(); old * 2];
        for i in self.head..self.tail {
            bigger[i as usize & (old * 2 - 1)] = *self.slot(i);
        }
        self.ring = bigger;
    }

    /// When the next packet reaches the far end.
    pub(crate) fn next(&self) -> Option<Time> {
        (self.head < self.tail).then(|| Time(self.slot(self.head).at))
    }

    /// The packet that reaches the far end now; one that carries [`LOST`] does not, and is only removed.
    pub(crate) fn pop(&mut self) -> Packet {
        if self.queued == self.head {
            self.queued_bytes -= u64::from(self.slot(self.head).packet.size);
            self.queued += 1;
        }
        let packet = self.slot(self.head).packet;
        self.head += 1;
        self.counts.delivered += u64::from(!packet.has(LOST));
        packet
    }

    /// The packets that have not reached the far end, lost ones included.
    pub(crate) fn on_the_way(&self) -> impl Iterator<Item = &Packet> {
        (self.head..self.tail).map(|i| &self.slot(i).packet)
    }

    /// What the audit balances; `hands_on`: the ring only holds what waits, and the engine counts what has gone on.
    pub(crate) fn ledger(&mut self, hands_on: bool) -> Ledger {
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
        let sizes = (self.queued..self.tail).map(|i| u64::from(self.slot(i).packet.size));
        let queued = if self.rate > 0 { sizes.sum() } else { 0 };
        Ledger {
            offered: came,
            dropped_queue: counts.dropped_queue,
            dropped_error: counts.dropped_error,
            delivered: counts.delivered,
            waiting,
            under_way: if hands_on { counts.beyond } else { there },
            queued_bytes: (self.queued_bytes + scheduled.0, queued + scheduled.1),
            most_bytes: self.scheduled().map_or(0, |scheduled| scheduled.most_bytes()),
            sending: if self.queued < self.tail { u64::from(self.slot(self.queued).packet.size) } else { 0 },
            queue_max: counts.queue_max,
        }
    }

    /// Share of the time until `end` in which the transmitter was busy.
    pub(crate) fn utilisation(&self, end: Time) -> f64 {
        if end.0 == 0 {
            return 0.0;
        }
        // What is promised beyond the end is one unbroken busy period.
        let beyond = self.free_at.saturating_sub(end.0).min(self.counts.busy);
        (self.counts.busy - beyond) as f64 / end.0 as f64
    }

    /// Time-average of the packets waiting until `end`.
    pub(crate) fn queue_mean(&mut self, end: Time) -> f64 {
        if end.0 == 0 {
            return 0.0;
        }
        if let Some(scheduled) = self.scheduled() {
            return scheduled.queue_mean(end);
        }
        self.drain(end.0);
        // Packets still waiting have been charged beyond the end: their transmission begins when the one before departs.
        let begins = (self.queued..self.tail.saturating_sub(1)).map(|i| self.slot(i).at - self.delay);
        let beyond: u128 = begins.map(|t| u128::from(t - end.0)).sum();
        (self.counts.waited - beyond) as f64 / end.0 as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(rate_bps: u64, delay_ms: u64, queue: QueueLimit) -> Link {
        let delay = Span::from_millis(delay_ms);
        let plan =
            Channel { rate_bps, delay, queue, discipline: plan::Discipline::DropTail, loss: Vec::new() };
        Link::new(&plan, 1, "test", &[])
    }

    fn packet(size: u16) -> Packet {
        Packet { size, ..Packet::default() }
    }

    #[test]
    fn a_packet_arrives_after_waiting_transmission_and_propagation() {
        // 1500 bytes at 12 Mbit/s take 1 ms.
        let mut l = link(12_000_000, 250, QueueLimit::Packets(10));
        assert_eq!(l.push(Time(0), packet(1500)), Pushed::Taken { lost: false, first: true });
        assert_eq!(l.push(Time(0), packet(1500)), Pushed::Taken { lost: false, first: false });
        assert_eq!(l.next(), Some(Time(251_000_000)));
        l.pop();
        assert_eq!(l.next(), Some(Time(252_000_000)));
    }

    #[test]
    fn a_full_queue_drops_and_the_packet_in_transmission_is_not_counted() {
        let mut l = link(12_000_000, 0, QueueLimit::Packets(2));
        let taken = (0..5).filter(|_| l.push(Time(0), packet(1500)) != Pushed::Full).count();
        assert_eq!((taken, l.counts.dropped_queue, l.counts.queue_max), (3, 2, 2));
        // After 1.5 ms one has left, so one more fits.
        assert_eq!(l.waiting(Time(1_500_000)), 1);
        assert_ne!(l.push(Time(1_500_000), packet(1500)), Pushed::Full);
        assert_eq!(l.push(Time(1_500_000), packet(1500)), Pushed::Full);
    }

    #[test]
    fn a_queue_in_bytes_counts_bytes() {
        let mut l = link(8_000, 0, QueueLimit::Bytes(1000));
        assert_ne!(l.push(Time(0), packet(1500)), Pushed::Full); // idle: goes straight to the transmitter
        assert_ne!(l.push(Time(0), packet(600)), Pushed::Full);
        assert_eq!(l.push(Time(0), packet(401)), Pushed::Full);
        assert_ne!(l.push(Time(0), packet(400)), Pushed::Full);
    }

    #[test]
    fn rounding_does_not_add_up() {
        // 1500 bytes at 622.08 Mbit/s take 19290.123... ns; a million of them 19.290123456 s.
        let mut l = link(622_080_000, 0, QueueLimit::Packets(u64::MAX));
        for _ in 0..1_000_000 {
            l.push(Time(0), packet(1500));
        }
        assert_eq!(l.free_at, 12_000 * 1_000_000 * 1_000_000_000 / 622_080_000);
    }

    #[test]
    fn what_would_be_sent_beyond_the_end_of_the_clock_waits() {
        // 62,500 bytes at 1 bit/s take 500,000 s. 2^64 ns have time for 36,893 of them, ten years of 3.15e8 s for 630.
        let mut l = link(1, 1_000, QueueLimit::Packets(50_000));
        for _ in 0..50_000 {
            assert_ne!(l.push(Time(0), packet(62_500)), Pushed::Full);
        }
        let end = Time(315_000_000_000_000_000);
        assert_eq!((l.waiting(end), l.utilisation(end)), (49_369, 1.0));
        // 49,999 at first, 49,370 when the 630th begins, each for as long.
        let mean = l.queue_mean(end);
        assert!((mean - (49_999.0 + 49_370.0) / 2.0).abs() < 1e-6, "{mean}");
        let mut last = Time(0);
        while let Some(next) = l.next() {
            assert!(next >= last);
            last = next;
            l.pop();
        }
    }

    #[test]
    fn utilisation_and_mean_queue_are_time_averages() {
        // Four packets of 1 ms each at time 0, observed until 3 ms: busy all the time; waiting 3, 2, 1 for 1 ms each.
        let mut l = link(12_000_000, 0, QueueLimit::Packets(10));
        for _ in 0..4 {
            assert_ne!(l.push(Time(0), packet(1500)), Pushed::Full);
        }
        assert_eq!(l.utilisation(Time(3_000_000)), 1.0);
        assert_eq!(l.utilisation(Time(8_000_000)), 0.5);
        assert!((l.queue_mean(Time(3_000_000)) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn random_delays_are_uniform_unless_that_would_change_the_order() {
        let most = Span::from_millis(10);
        // Far apart, each packet has its own delay: mean 5 ms, standard error 2.89 ms / 100.
        let mut l = Link::jitter(most, Stream::new(1, "jitter"));
        let mut sum = 0;
        for i in 0..10_000 {
            let now = Time(i * 20_000_000);
            l.push(now, packet(40));
            let held = l.next().unwrap() - now;
            assert!(held < most);
            sum += held.0;
            l.pop();
        }
        assert!((sum as f64 / 10_000.0 - 5e6).abs() < 4.0 * 28_900.0, "{sum}");
        // Close to each other they would overtake: they come out in order, not late, and some together.
        let (mut last, mut together) = (Time(0), 0);
        for i in 0..10_000 {
            let now = Time(1_000_000_000_000 + i * 1_000_000);
            l.push(now, packet(40));
            let out = l.next().unwrap();
            assert!(out >= last && out >= now && out < now.max(last) + most, "{out:?} after {last:?}");
            together += u32::from(out == last);
            last = out;
            l.pop();
        }
        assert!(together > 1_000, "{together}");
    }
}
