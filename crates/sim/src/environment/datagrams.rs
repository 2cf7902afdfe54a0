//! An agent that sends datagrams at its rate: nothing is retransmitted, and no window limits it.
//!
//! Aurora's own environment (PCC-RL) has such a sender. The receiver acknowledges each datagram that arrives.
//! An acknowledgement lists all datagrams that have arrived, as one of QUIC does (RFC 9000 section 13.2). So
//! a lost acknowledgement only delays the news. The path keeps packets in order. So a datagram is declared
//! lost when one that was sent after it is acknowledged.
//!
//! The path consists of the directions of every run. Each promises that the fate of a packet is known when it
//! goes in, and there is one flow. So a datagram and its acknowledgement cross the whole path at once, in the
//! order in which datagrams are sent, and no event queue is needed.

use std::collections::VecDeque;

use bentpipe_cc::{Pacing, Rate, Span, Time};

use crate::engine::RunError;
use crate::environment::agent::Instruction;
use crate::environment::failure::EnvironmentError;
use crate::environment::measures::{Samples, SenderState};
use crate::environment::transport::Transport;
use crate::link::packet::Packet;
use crate::link::{Direction, Ecn, Transit};
use crate::resolve::plan::{DirectionId, FlowPlan, Plan, Source, stream_of};

/// A sender of datagrams, its path, and the acknowledgements on their way.
#[derive(Debug, Default)]
pub(super) struct Datagrams {
    /// What datagrams cross, and what acknowledgements cross on their way back.
    there: Vec<Direction>,
    back: Vec<Direction>,
    datagram: Packet,
    acknowledgement: Packet,
    /// Bytes of payload of a datagram.
    payload: u64,
    /// The time between two datagrams.
    gap: Span,
    next_send: Time,
    /// Nothing is sent from here on.
    stop: Time,
    /// The end of the run.
    end: Time,
    /// Datagrams that are still to be sent, of a transfer of limited size.
    left: u64,
    /// Acknowledgements that will arrive, in order.
    coming: VecDeque<Acknowledgement>,
    /// The news of datagrams sent since the last one whose acknowledgement will arrive.
    news: News,
    /// Datagrams sent, acknowledged and declared lost so far.
    counters: [u64; 3],
    rtt_min: Option<Span>,
    samples: Samples,
}

/// The fates of some datagrams.
#[derive(Clone, Copy, Debug, Default)]
struct News {
    arrived: u64,
    marked: u64,
    lost: u64,
}

/// An acknowledgement that will arrive.
#[derive(Clone, Copy, Debug)]
struct Acknowledgement {
    at: Time,
    /// When the datagram that it answers was sent.
    sent: Time,
    news: News,
}

impl Datagrams {
    /// The sender of flow number `flow`, which is the only one, with its first decision.
    ///
    /// # Errors
    /// Other flows, an application, or a path that does not keep packets in order.
    pub(super) fn new(plan: &Plan, flow: usize, first: Instruction) -> Result<Self, EnvironmentError> {
        let of = &plan.flows[flow];
        let refused = |why: String| EnvironmentError::Flow { flow: of.name.clone(), why };
        let Source::Tcp { bytes, options, application, .. } = &*of.source else {
            return Err(refused("it has no controller".to_owned()));
        };
        if plan.flows.len() > 1 {
            let message = "transport \"datagrams\" is for a scenario of one flow, and this has";
            return Err(refused(format!("{message} {}; \"tcp\" is for several", plan.flows.len())));
        }
        if application.is_some() {
            return Err(refused(
                "transport \"datagrams\" is for bulk data; \"tcp\" plays applications".to_owned(),
            ));
        }
        let size = |bytes: u32| bytes.min(u32::from(u16::MAX)) as u16;
        let (mss, size) =
            (options.mss.max(1), [size(options.mss.max(1) + options.header), size(options.ack_size)]);
        let [there, back] = path(plan, of, size).map_err(refused)?;
        let mut datagrams = Self {
            there,
            back,
            datagram: Packet::new(size[0], 0).with_ecn(Ecn::of_data(options.ecn, options.ect1)),
            acknowledgement: Packet::new(size[1], 0),
            payload: u64::from(mss),
            next_send: of.drawn_start(plan.seed),
            stop: of.stop.min(Time(plan.duration.0)),
            end: Time(plan.duration.0),
            left: bytes.map_or(u64::MAX, |bytes| bytes.div_ceil(u64::from(mss))),
            ..Self::default()
        };
        datagrams.give(0, first);
        Ok(datagrams)
    }

    /// Is there a datagram to be sent by `until`?
    fn sends(&self, until: Time) -> bool {
        self.next_send <= until && self.next_send < self.stop && self.left > 0
    }

    fn send(&mut self) {
        let sent = self.next_send;
        self.next_send = sent + self.gap;
        self.left -= 1;
        self.counters[0] += 1;
        let (mut datagram, mut acknowledgement) = (self.datagram, self.acknowledgement);
        let Some(arrival) = cross(&mut self.there, sent, &mut datagram) else {
            self.news.lost += 1;
            return;
        };
        self.news.arrived += 1;
        self.news.marked += u64::from(datagram.is_marked());
        if let Some(at) = cross(&mut self.back, arrival, &mut acknowledgement) {
            self.coming.push_back(Acknowledgement { at, sent, news: std::mem::take(&mut self.news) });
        }
    }

    /// Takes the first acknowledgement that arrives, if it does by `until`.
    fn take(&mut self, until: Time) -> Option<Time> {
        let Acknowledgement { at, sent, news } = *self.coming.front().filter(|first| first.at <= until)?;
        self.coming.pop_front();
        let rtt = at.since(sent);
        self.counters[1] += news.arrived;
        self.counters[2] += news.lost;
        self.rtt_min = Some(self.rtt_min.map_or(rtt, |least| least.min(rtt)));
        self.samples.add(1, news.marked * self.payload, Some(rtt));
        Some(at)
    }
}

impl Transport for Datagrams {
    /// The next gap is that of the new rate.
    fn give(&mut self, _agent: usize, instruction: Instruction) {
        if let Pacing::Rate(Rate(rate)) = instruction.pacing {
            self.gap = Span((self.payload * 1_000_000_000 / rate.max(1)).max(1));
        }
    }

    fn advance(&mut self, until: Time) -> Result<(), RunError> {
        let until = until.min(self.end);
        while self.sends(until) {
            self.send();
        }
        while self.take(until).is_some() {}
        Ok(())
    }

    fn advance_to_report(&mut self, _any: bool) -> Result<Time, RunError> {
        loop {
            // An acknowledgement that arrives before the next datagram is sent is the first of all.
            let sends = self.sends(self.end);
            if let Some(at) = self.take(if sends { self.next_send } else { self.end }) {
                return Ok(at);
            }
            if !sends {
                return Ok(self.end);
            }
            self.send();
        }
    }

    fn end_interval(&mut self, _agent: usize) -> SenderState {
        let [sent, arrived, lost] = self.counters;
        SenderState {
            counters: self.counters.map(|datagrams| datagrams * self.payload),
            in_flight: (sent - arrived - lost) * self.payload,
            cwnd: 0,
            rtt_min: self.rtt_min.map(Span::secs),
            brought: self.samples.take(),
        }
    }

    fn is_complete(&mut self, _agent: usize) -> bool {
        !self.sends(Time::MAX) && self.coming.is_empty()
    }

    fn end(&self) -> Time {
        self.end
    }
}

/// When a packet that enters the first direction at `at` leaves the last one; `None`
/// if it is lost on the way.
#[inline]
fn cross(directions: &mut [Direction], mut at: Time, packet: &mut Packet) -> Option<Time> {
    for direction in directions {
        match direction.transit(at, packet) {
            Transit::Arrives(arrival) => at = arrival,
            Transit::Lost(_) | Transit::Refused(_) => return None,
        }
    }
    Some(at)
}

/// The directions that data and acknowledgements of these sizes cross, access delays and jitter included.
///
/// # Errors
/// One line for the user.
fn path(plan: &Plan, flow: &FlowPlan, size: [u16; 2]) -> Result<[Vec<Direction>; 2], String> {
    let mut used: Vec<DirectionId> = Vec::new();
    let mut begin = |ids: &[DirectionId], size: u16| {
        let mut directions = Vec::with_capacity(ids.len() + 2);
        for &id in ids {
            let name = plan.name_of(id);
            if used.contains(&id) {
                return Err(format!(
                    "transport \"datagrams\" needs a path without a direction that is crossed twice, such as \
                     {name}; \"tcp\" plays it"
                ));
            }
            used.push(id);
            let mut direction = Direction::new(id.of(&plan.links), plan.seed, &stream_of(&name));
            if !direction.promises(size).in_order {
                return Err(format!(
                    "transport \"datagrams\" needs queues that decide when a packet arrives, such as drop-tail, \
                     links without a link layer, and packets in order; {name} has something else; \"tcp\" plays it"
                ));
            }
            direction.expect_equal_packets(size);
            directions.push(direction);
        }
        Ok(directions)
    };
    let (mut there, mut back) = (begin(&flow.path, size[0])?, begin(&flow.ack_path, size[1])?);
    if flow.extra_delay > Span::ZERO {
        there.insert(0, Direction::access_delay(flow.extra_delay));
        back.push(Direction::access_delay(flow.extra_delay));
    }
    if flow.ack_jitter > Span::ZERO {
        back.insert(0, Direction::ack_jitter(flow.ack_jitter, plan.seed, &flow.name));
    }
    Ok([there, back])
}
