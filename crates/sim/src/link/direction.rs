//! One direction of a link: a queue, a transmitter, a channel, a flight.
//!
//! Its contract is small. [`Direction::push`] offers a packet, [`Direction::next`] says when a packet will
//! come out, and [`Direction::pop`] gives it, delivered or lost. [`Direction::promises`] says what else a
//! short cut may rely on.
//!
//! Each stage has a file: the queue (`counted_queue.rs`, `arrival_queue.rs`, `departures.rs`), the
//! transmitter (`transmitter.rs`), the channel with its losses (`channel.rs`), the flight to the far end
//! (`flight.rs`). A stage knows nothing of the one before.
//!
//! With a queue that decides on arrival the departure of a packet is known when it arrives. A packet
//! therefore costs at most one event, its arrival at the far end. A queue that decides at departure holds its
//! packets back until the transmitter is free.

use bentpipe_cc::{Span, Time};

use crate::link::arq::ArqSender;
use crate::link::arrival_queue::ArrivalQueue;
use crate::link::backlog::Backlog;
use crate::link::channel::Channel;
pub(crate) use crate::link::contract::Transit;
pub use crate::link::contract::{Fate, Promises, Push, Refusal};
use crate::link::counted_queue::CountedQueue;
use crate::link::counts::Counts;
use crate::link::departures::Departures;
use crate::link::equal_packets::EqualPackets;
use crate::link::flight::Flight;
use crate::link::flushes::Flushes;
use crate::link::foreseen::{Doom, Foreseen};
use crate::link::packet::{LOST, Packet};
use crate::link::random::Stream;
use crate::link::slots::Slots;
use crate::link::stages::Stages;
use crate::link::transmitter::{FixedRate, SendingRate, Transmitter};
use crate::link::under_way::{InFlight, UnderWay, keep_if};
use crate::link::varying_rate::VaryingRate;
use crate::loss::LossModel;
use crate::queue::at_departure::{Class, Scheduled};
use crate::queue::kind::Rule;
use crate::queue::on_arrival::OnArrival;
use crate::resolve::plan::{DirectionPlan, QueueLimit};

/// The queue in front of the transmitter, by the instant at which it decides about a packet.
#[derive(Debug)]
enum QueueStage {
    /// A short cut for drop-tail, if all packets are of one size.
    Equal(EqualPackets),
    DropTail(CountedQueue),
    /// No packet ever waits.
    Absent,
    OnArrival(Box<ArrivalQueue>),
    AtDeparture(Box<Scheduled>),
    /// The same, but the owner of the direction asks for each packet (`direction/request.rs`).
    OnRequest(Box<Scheduled>),
}

impl QueueStage {
    fn on_arrival(room: QueueLimit, rule: Option<Box<dyn OnArrival>>, flushes: Option<Flushes>) -> Self {
        let waiting = CountedQueue::new(room, rule.as_ref().is_some_and(|rule| rule.counts_bytes()));
        Self::OnArrival(Box::new(ArrivalQueue { waiting, rule, flushes }))
    }

    /// The packets that wait, if the queue decides on arrival and keeps a list.
    fn backlog(&mut self) -> Option<&mut Backlog> {
        match self {
            Self::DropTail(queue) => Some(&mut queue.backlog),
            Self::OnArrival(queue) => Some(&mut queue.waiting.backlog),
            Self::Equal(_) | Self::Absent | Self::AtDeparture(_) | Self::OnRequest(_) => None,
        }
    }
}

/// One direction of a link in use.
#[derive(Debug)]
pub struct Direction {
    queue: QueueStage,
    stages: Stages,
    under_way: UnderWay,
    pub(crate) counts: Counts,
    foreseen: Foreseen,
}

impl Direction {
    /// The direction that `plan` describes. Its losses and its queue draw from streams named after `name`.
    pub fn new(plan: &DirectionPlan, seed: u64, name: &str) -> Self {
        let stream = |source: &str| Stream::new(seed, &format!("{name}/{source}"));
        let DirectionPlan { rate_bps, line, link_layer, .. } = plan;
        let losses = (0..).zip(&plan.loss);
        let losses: Vec<_> =
            losses.map(|(i, loss): (u32, _)| LossModel::new(loss, stream(&format!("loss/{i}")))).collect();
        let arq = link_layer.arq.as_ref().map(ArqSender::new);
        let rates = line.clone().filter(|line| line.sets_loss);
        let stages = Stages {
            transmitter: Transmitter::new(match (line, &link_layer.access) {
                (_, Some(access)) => SendingRate::Slots(Box::new(Slots::new(access, *rate_bps))),
                (Some(line), None) => SendingRate::Varying(Box::new(VaryingRate::new(line.clone()))),
                (None, None) => SendingRate::Fixed(FixedRate::new(*rate_bps)),
            }),
            channel: Channel::new(losses, rates, arq),
            flight: line.clone().map_or(Flight::Constant(plan.delay.0), Flight::varying),
        };
        let (discipline, random) = (plan.discipline.plan(), stream(plan.discipline.kind()));
        let mut rule = match line {
            Some(line) => discipline.start_along(line, plan.queue, *rate_bps, random),
            None => discipline.start(plan.queue, *rate_bps, random),
        };
        if !link_layer.is_plain() || plan.on_request {
            rule = rule.at_departure(plan.queue, *rate_bps);
        }
        let flushes = line.as_ref().and_then(Flushes::new);
        let queue = match rule {
            Rule::DropTail if flushes.is_none() => QueueStage::DropTail(CountedQueue::new(plan.queue, false)),
            Rule::DropTail => QueueStage::on_arrival(plan.queue, None, flushes),
            Rule::OnArrival(rule) => QueueStage::on_arrival(plan.queue, Some(rule), flushes),
            Rule::AtDeparture(rule) => {
                let (thinning, by_turns) = (link_layer.ack_thinning, link_layer.access.is_some());
                let queue = Box::new(Scheduled::new(rule, thinning, by_turns, flushes));
                if plan.on_request { QueueStage::OnRequest(queue) } else { QueueStage::AtDeparture(queue) }
            }
        };
        Self::of(queue, stages)
    }

    /// A direction with a delay, but without queue or losses.
    pub fn access_delay(delay: Span) -> Self {
        Self::without_queue(Flight::Constant(delay.0))
    }

    /// The direction that holds the acknowledgements of the flow of this name for random times up to `most`,
    /// in a run with this seed.
    pub fn ack_jitter(most: Span, seed: u64, flow: &str) -> Self {
        Self::jitter(most, Stream::new(seed, &format!("flow/{flow}/ack-jitter")))
    }

    /// A direction that holds each packet for a random part of `most`, drawn from `stream`, and keeps packets
    /// in order.
    fn jitter(most: Span, stream: Stream) -> Self {
        Self::without_queue(Flight::jitter(most, stream))
    }

    fn without_queue(flight: Flight) -> Self {
        let stages = Stages {
            transmitter: Transmitter::new(SendingRate::Instant),
            channel: Channel::default(),
            flight,
        };
        Self::of(QueueStage::Absent, stages)
    }

    fn of(queue: QueueStage, stages: Stages) -> Self {
        let (counts, foreseen) = (Counts::default(), Foreseen::default());
        Self { queue, stages, under_way: UnderWay::default(), counts, foreseen }
    }

    /// From now on several flows share it: packets of one instant come out in the order of their flows.
    pub(crate) fn share(&mut self) {
        self.under_way.share();
    }

    /// Do several flows share it?
    #[inline]
    pub(crate) fn is_shared(&self) -> bool {
        self.under_way.is_shared()
    }

    /// Offers a packet at `now`, which is not before the last call. Queues that sort by flow use `class`.
    pub fn push(&mut self, now: Time, mut packet: Packet, class: Class) -> Push {
        if let Some(mut departures) = self.departures() {
            return departures.push(now, packet, class);
        }
        match self.transit(now, &mut packet) {
            Transit::Refused(why) => Push::Dropped(why),
            Transit::Arrives(at) => {
                self.under_way.keep_in_place(at, &packet);
                Push::Taken
            }
            Transit::Lost(at) => {
                packet.flags |= LOST;
                self.under_way.keep_in_place(at, &packet);
                Push::Lost
            }
        }
    }

    /// When the next packet comes out; `None` if nothing is inside. It may also be an instant at which a
    /// packet is chosen and none comes out.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        self.under_way.next()
    }

    /// The packet that comes out at `now`, the instant that [`Direction::next`] gave; `None` if none does.
    #[inline(always)]
    pub fn pop(&mut self, now: Time) -> Option<(Packet, Fate)> {
        let packet = self.under_way.pop()?;
        if self.under_way.is_empty() && self.decides_at_departure() {
            self.catch_up(now);
        }
        if !packet.has(LOST) {
            self.counts.delivered += 1;
            return Some((packet, Fate::Delivered));
        }
        if packet.is_wake() {
            self.catch_up(now);
            return None;
        }
        Some((packet, Fate::Lost))
    }

    /// Takes a packet that was inside and that a later call has found will not arrive; each is given once. A
    /// dropped packet comes out only here, a lost one also by [`Direction::pop`].
    pub fn take_doomed(&mut self) -> Option<(Packet, Fate)> {
        let packet = self.scheduled()?.take_unreported()?;
        let fate = if packet.has(LOST) { Fate::Lost } else { Fate::Dropped };
        Some((packet, fate))
    }

    /// The packets that come out next, in order of time, and the instant of the first one after these, if there
    /// are more. The direction promises order.
    #[inline]
    pub(crate) fn front(&self) -> (&[InFlight], Option<Time>) {
        self.under_way.front()
    }

    /// [`Direction::pop`] for the first `count` of [`Direction::front`].
    #[inline]
    pub(crate) fn take(&mut self, count: usize) {
        self.under_way.take(count);
        self.counts.delivered += count as u64;
    }

    /// The promises about packets of `size` bytes, which follow from those of the stages.
    pub fn promises(&self, size: u16) -> Promises {
        let Stages { transmitter, channel, flight } = &self.stages;
        let plain = match &self.queue {
            QueueStage::Equal(_) | QueueStage::DropTail(_) | QueueStage::Absent => true,
            QueueStage::OnArrival(_) | QueueStage::AtDeparture(_) | QueueStage::OnRequest(_) => false,
        };
        let time = transmitter.exact_time(size).filter(|_| plain && channel.is_clear());
        let together = channel.arq().is_some_and(ArqSender::is_in_order) || flight.brings_together();
        let slot = transmitter.peek_opportunities().map_or(0, |slots| slots.access.length());
        Promises {
            in_order: !self.decides_at_departure() && flight.is_in_order(),
            least_delay: flight.least() + Span(slot),
            least_gap: if together { Span::ZERO } else { Span(transmitter.least_time(size)) },
            constant: time.zip(flight.constant()).map(|(time, delay)| Span(time.saturating_add(delay))),
        }
    }

    /// The packet that comes out next.
    pub(crate) fn first(&self) -> Option<&Packet> {
        self.under_way.first()
    }

    /// From now on all packets are of `size` bytes. If each takes the same time in every stage, the queue
    /// needs no list.
    pub(crate) fn expect_equal_packets(&mut self, size: u16) {
        let Promises { constant, least_gap: Span(time), .. } = self.promises(size);
        if let (QueueStage::DropTail(queue), Some(Span(constant))) = (&self.queue, constant)
            && let Some(equal) = EqualPackets::new(size, time, constant - time, queue.room)
        {
            self.queue = QueueStage::Equal(equal);
        }
    }

    /// The queue, if it decides at departure.
    pub(crate) fn scheduled(&mut self) -> Option<&mut Scheduled> {
        match &mut self.queue {
            QueueStage::AtDeparture(scheduled) | QueueStage::OnRequest(scheduled) => Some(scheduled),
            _ => None,
        }
    }

    /// Does its queue decide at departure?
    pub(crate) fn decides_at_departure(&self) -> bool {
        matches!(self.queue, QueueStage::AtDeparture(_) | QueueStage::OnRequest(_))
    }

    /// Its parts, if its queue decides at departure.
    fn departures(&mut self) -> Option<Departures<'_>> {
        let Self { queue: QueueStage::AtDeparture(queue), stages, under_way, counts, foreseen } = self else {
            return None;
        };
        Some(Departures { queue, stages, under_way, counts, foreseen })
    }

    /// Makes the decisions that were due by `now`, if its queue decides at departure.
    pub(crate) fn catch_up(&mut self, now: Time) {
        if let Some(mut departures) = self.departures() {
            departures.catch_up(now);
        }
    }

    /// As [`Direction::push`] for a direction that promises order: returns the packet's fate, and does not
    /// keep the packet. It is inlined, because each hop needs it.
    #[inline(always)]
    pub(crate) fn transit(&mut self, now: Time, packet: &mut Packet) -> Transit {
        self.counts.offered += 1;
        if let QueueStage::Equal(equal) = &self.queue {
            return equal.transit(now, packet, &mut self.stages.transmitter, &mut self.counts);
        }
        self.transit_by_stages(now, packet)
    }

    /// The same with packets of several sizes, or other stages. The commonest case needs no call and no
    /// stack.
    #[inline(never)]
    fn transit_by_stages(&mut self, now: Time, packet: &mut Packet) -> Transit {
        if let QueueStage::DropTail(_) = &self.queue {
            return match self.stages.pass(now.0, packet.size) {
                Some(at) => Transit::Arrives(at),
                None => self.transit_in_turn(now, packet),
            };
        }
        self.transit_by_rule(now, packet)
    }

    /// The same where no rule decides.
    #[inline(never)]
    fn transit_in_turn(&mut self, now: Time, packet: &Packet) -> Transit {
        let Self { queue, stages, counts, foreseen, .. } = self;
        let free_at = stages.transmitter.free_at;
        let admitted = match queue {
            QueueStage::DropTail(queue) => queue.admit(now, packet.size, free_at, counts),
            _ => Ok(free_at.max(now.0)),
        };
        send(now, admitted, packet, stages, counts, foreseen)
    }

    /// The same where a rule decides.
    #[inline(never)]
    fn transit_by_rule(&mut self, now: Time, packet: &mut Packet) -> Transit {
        let Self { queue: QueueStage::OnArrival(queue), stages, counts, foreseen, .. } = self else {
            return self.transit_in_turn(now, packet);
        };
        let admitted = queue.admit(now, packet, &stages.transmitter, counts, foreseen);
        send(now, admitted, packet, stages, counts, foreseen)
    }

    /// Keeps an admitted packet at hop `hop` until it reaches the far end at `at`. Returns whether it is the
    /// first of those in flight, so that the direction has a new next event.
    #[inline(always)]
    pub(crate) fn keep(&mut self, at: Time, hop: u32, packet: &Packet) -> bool {
        self.under_way.keep(at, hop, packet)
    }

    /// [`Direction::transit`] for a batch of packets in order of time. Those that get through stay in `batch`,
    /// each with the instant at which it arrives; the others, with the instant at which they came, are added
    /// to `lost`.
    pub(crate) fn transit_all(&mut self, batch: &mut Vec<InFlight>, lost: &mut Vec<InFlight>) {
        self.counts.offered += batch.len() as u64;
        let mut settle = |of: &mut InFlight, transit| match transit {
            Transit::Arrives(at) => {
                of.at = at;
                true
            }
            Transit::Lost(_) | Transit::Refused(_) => {
                lost.push(*of);
                false
            }
        };
        let Self { queue, stages, counts, foreseen, .. } = self;
        match queue {
            QueueStage::Equal(equal) => {
                equal.transit_all(batch, lost, &mut stages.transmitter, counts);
            }
            QueueStage::DropTail(queue) => keep_if(batch, |of| {
                let admitted = queue.admit(of.at, of.packet.size, stages.transmitter.free_at, counts);
                let transit = send(of.at, admitted, &of.packet, stages, counts, foreseen);
                settle(of, transit)
            }),
            _ => keep_if(batch, |of| {
                let transit = self.transit_by_stages(of.at, &mut of.packet);
                settle(of, transit)
            }),
        }
    }

    /// [`Direction::keep`] for a batch of packets in order of time, at least one. They are at hop `hop`, or
    /// each at its own.
    pub(crate) fn keep_all(&mut self, hop: Option<u32>, batch: &[InFlight]) -> bool {
        self.under_way.keep_all(hop, batch)
    }

    /// Packets that have not reached the far end, lost ones included. Packets handed on ahead of time are
    /// counted elsewhere.
    pub(crate) fn on_the_way(&self) -> impl Iterator<Item = &Packet> {
        self.under_way.packets().chain(self.held())
    }

    /// The packets that the transmitter has sent in part, those that ARQ holds, and those that wait beside the queue.
    fn held(&self) -> impl Iterator<Item = &Packet> {
        let partial = self.stages.transmitter.peek_opportunities().and_then(|slots| slots.partial.as_ref());
        let again = self.stages.channel.arq().into_iter().flat_map(ArqSender::packets);
        let beside = match &self.queue {
            QueueStage::OnRequest(queue) => Some(queue.held()),
            _ => None,
        };
        partial.map(|(frame, _)| &frame.packet).into_iter().chain(again).chain(beside.into_iter().flatten())
    }
}

/// Sends an admitted packet that came at `now`. `admitted`: when its transmission begins, or why the queue
/// refuses it.
#[inline(always)]
fn send(
    now: Time,
    admitted: Result<u64, Refusal>,
    packet: &Packet,
    stages: &mut Stages,
    counts: &mut Counts,
    foreseen: &mut Foreseen,
) -> Transit {
    let begin = match admitted {
        Ok(begin) => begin,
        Err(why) => return counts.refuse(why),
    };
    let crossing = stages.cross(begin, packet);
    let Some(lost_at) = crossing.lost else { return Transit::Arrives(crossing.at) };
    counts.dropped_error += 1;
    foreseen.note(now, lost_at, Doom::Error, packet);
    Transit::Lost(crossing.at)
}

mod books;
mod followed;
mod request;
#[cfg(test)]
mod tests;
