//! The tap on single packets, if the user wants one: a capture, and the trace of segments.
//!
//! The engine calls it where a packet departs from a host, enters a direction, arrives at a host, or is lost.
//! Without a tap a run pays only a branch at each of these places. None of this is inlined into the event
//! loop (`cold`), so that it stays that cheap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bentpipe_cc::Time;

use crate::capture::numbers::Conversation;
use crate::capture::numbers::HeaderNumbers;
use crate::capture::pcap::{Capture, CaptureError, Place, Writer};
use crate::host::carried::CarriedStore;
use crate::keys::error::suggestion;
use crate::link::direction::{Direction, Fate, Push};
use crate::link::packet::{ACK, CONTROL, HEADER, Packet, RESENT};
use crate::record::journeys::Journeys;
use crate::record::trace::{SegmentEvent, SegmentTrace};
use crate::resolve::plan::{FlowPlan, Plan};

/// Where a capture sees packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spot {
    /// At one end of every flow; true for the receiving end.
    Host(bool),
    /// At the entries of the directions of the link with this index.
    Link(usize),
}

#[derive(Debug)]
struct Recording {
    writer: Writer,
    spot: Spot,
    numbers: HeaderNumbers,
    headers: Vec<u8>,
}

/// The tap of a run.
#[derive(Debug)]
pub(crate) struct Tap {
    conversations: Vec<Conversation>,
    capture: Option<Recording>,
    segments: Option<SegmentTrace>,
    /// The journeys of packets, in a run that is played.
    pub(crate) journeys: Option<Box<Journeys>>,
    /// The entity of the current event; [`TIMER`] for a timer.
    entity: u32,
    /// Losses that have no row yet; they may be known ahead of time.
    losses: BinaryHeap<Reverse<LostSegment>>,
    /// How many losses there have been.
    lost: u64,
}

/// A lost segment, in the order of events.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LostSegment {
    at: Time,
    entity: u32,
    number: u64,
    flow: u32,
    first: u64,
    end: u64,
}

/// Greater than all entities.
const TIMER: u32 = u32::MAX;

impl Tap {
    /// The tap that the plan and the caller need; `None` if they need none.
    ///
    /// # Errors
    /// A place that does not exist, packets that cannot be IPv4 packets, a file that cannot be written.
    pub(crate) fn new(plan: &Plan, capture: Option<&Capture>) -> Result<Option<Box<Self>>, CaptureError> {
        let segments = plan.record.is_some_and(|r| r.segments).then(SegmentTrace::default);
        if segments.is_none() && capture.is_none() {
            return Ok(None);
        }
        let recording = |capture: &Capture| {
            Recording::new(plan, &capture.at, |names| Writer::create(&capture.path, capture.whole, names))
        };
        let capture = capture.map(recording).transpose()?;
        Ok(Some(Box::new(Self { capture, segments, ..Self::silent(plan) })))
    }

    /// The tap that captures the headers of packets in memory, `most` bytes at the most.
    ///
    /// # Errors
    /// A place that does not exist, packets that cannot be IPv4 packets, too little room.
    pub(crate) fn in_memory(plan: &Plan, at: &Place, most: usize) -> Result<Box<Self>, CaptureError> {
        let capture = Recording::new(plan, at, |names| Writer::in_memory(most, names))?;
        Ok(Box::new(Self { capture: Some(capture), ..Self::silent(plan) }))
    }

    /// The bytes of a capture in memory.
    pub(crate) fn bytes(&mut self) -> Vec<u8> {
        self.capture.as_mut().map_or_else(Vec::new, |capture| capture.writer.bytes())
    }

    /// The tap that follows packets, and no more. Those that end before `from` are forgotten.
    pub(crate) fn following(plan: &Plan, from: Time) -> Box<Self> {
        Box::new(Self { journeys: Some(Box::new(Journeys::new(plan, from))), ..Self::silent(plan) })
    }

    /// A tap that records nothing.
    fn silent(plan: &Plan) -> Self {
        let conversation = |flow: &FlowPlan| {
            let one = Conversation::new(flow);
            match flow.duplex() {
                Some(duplex) => one.with_back(*duplex, &plan.flows[duplex.other]),
                None => one,
            }
        };
        Self {
            conversations: plan.flows.iter().map(conversation).collect(),
            capture: None,
            segments: None,
            journeys: None,
            entity: TIMER,
            losses: BinaryHeap::new(),
            lost: 0,
        }
    }

    /// Does it capture packets?
    pub(crate) fn captures(&self) -> bool {
        self.capture.is_some()
    }

    /// A timer expires.
    pub(crate) fn expires(&mut self) {
        self.entity = TIMER;
    }

    /// A packet departs from its host.
    #[cold]
    #[inline(never)]
    pub(crate) fn departs(&mut self, now: Time, packet: &mut Packet, store: &mut CarriedStore) {
        let conversation = &self.conversations[packet.flow as usize];
        if let Some(capture) = &mut self.capture {
            let carried = *store.on(packet);
            capture.numbers.depart(now, packet, conversation, &carried);
        }
        if self.journeys.is_some() {
            store.on(packet); // every packet that is followed has a handle
        }
        if let (Some(trace), Some((from, to))) = (&mut self.segments, conversation.data(packet)) {
            let event = if packet.has(RESENT) { SegmentEvent::Resent } else { SegmentEvent::Sent };
            note(trace, &mut self.losses, (now, self.entity));
            trace.note(now, packet.flow, event, from, to);
        }
        self.at_host(now, packet, store, packet.has(ACK));
    }

    /// A packet arrives at its host, brought by the direction or delay with this entity.
    #[cold]
    #[inline(never)]
    pub(crate) fn arrives(&mut self, now: Time, entity: u32, packet: &Packet, store: &mut CarriedStore) {
        self.entity = entity;
        let conversation = &mut self.conversations[packet.flow as usize];
        let advertised = store.of(packet.handle).window.into();
        if let (Some(trace), Some((ack, edge))) =
            (&mut self.segments, conversation.acknowledged(packet, advertised))
        {
            note(trace, &mut self.losses, (now, entity));
            trace.note(now, packet.flow, SegmentEvent::Ack, ack, edge);
            for block in store.blocks(packet.handle).blocks() {
                let (from, to) = conversation.covered(block);
                trace.note(now, packet.flow, SegmentEvent::Sack, from, to);
            }
        }
        conversation.arrive(packet);
        if let Some(capture) = &mut self.capture {
            capture.numbers.arrive(packet);
        }
        self.at_host(now, packet, store, !packet.has(ACK));
        if let Some(other) = self.other(packet.flow).filter(|_| !packet.has(ACK | CONTROL)) {
            return self.rides(now, other, packet, store);
        }
        if !packet.has(ACK | HEADER) || packet.has(CONTROL) {
            store.free(packet.handle); // the blocks of an acknowledgement and all headers are still to be read
        }
    }

    /// The flow of the other direction, if both ends write.
    fn other(&self, flow: u32) -> Option<usize> {
        Some(self.conversations[flow as usize].duplex()?.other)
    }

    /// An acknowledgement of flow `other` has arrived on a packet of data.
    fn rides(&mut self, now: Time, other: usize, packet: &Packet, store: &CarriedStore) {
        let (ack, edge) = self.conversations[other].rides(store.of(packet.handle).ride);
        let Some(trace) = &mut self.segments else { return };
        note(trace, &mut self.losses, (now, self.entity));
        trace.note(now, other as u32, SegmentEvent::Ack, ack, edge);
        for block in store.blocks(packet.handle).blocks() {
            let (from, to) = self.conversations[other].covered(block);
            trace.note(now, other as u32, SegmentEvent::Sack, from, to);
        }
    }

    fn at_host(&mut self, now: Time, packet: &Packet, store: &CarriedStore, receiving: bool) {
        let Some(capture) = &self.capture else { return };
        // Where both ends write, the second direction's receiver is the host of the first one's sender.
        let answering = self.conversations[packet.flow as usize].duplex().filter(|duplex| !duplex.opens);
        if capture.spot == Spot::Host(receiving != answering.is_some()) {
            self.write(now, packet, store, answering.map_or(packet.flow, |duplex| duplex.other as u32));
        }
    }

    /// A packet is offered to direction `link`.
    #[cold]
    #[inline(never)]
    pub(crate) fn enters(&mut self, now: Time, link: usize, packet: &Packet, store: &CarriedStore) {
        if self.capture.as_ref().is_some_and(|c| c.spot == Spot::Link(link / 2)) {
            self.write(now, packet, store, (link % 2) as u32);
        }
    }

    /// A packet was pushed into a direction, which is number `i` in the network and has this entity.
    #[cold]
    #[inline(never)]
    pub(crate) fn pushed(
        &mut self,
        now: Time,
        at: (usize, u32),
        (packet, push): (&Packet, Push),
        direction: &mut Direction,
    ) {
        if let Some(journeys) = &mut self.journeys {
            journeys.enters(now, at, packet, push, direction);
        }
    }

    /// A packet comes out of a direction; `None` if the direction has only made a choice.
    #[cold]
    #[inline(never)]
    pub(crate) fn popped(&mut self, now: Time, out: Option<&(Packet, Fate)>, direction: &mut Direction) {
        if let Some(journeys) = &mut self.journeys {
            journeys.leaves(now, out, direction);
        }
    }

    /// A packet is lost at `at`, which may be ahead of time. `from`: the entity that has brought it; `None`
    /// if it starts there.
    #[cold]
    #[inline(never)]
    pub(crate) fn loses(&mut self, at: Time, from: Option<u32>, packet: &Packet) {
        let flow = packet.flow;
        let data = self.conversations[flow as usize].data(packet);
        let (Some(trace), Some((first, end))) = (&mut self.segments, data) else { return };
        let Some(entity) = from else {
            note(trace, &mut self.losses, (at, self.entity));
            return trace.note(at, flow, SegmentEvent::Lost, first, end);
        };
        self.losses.push(Reverse(LostSegment { at, entity, number: self.lost, flow, first, end }));
        self.lost += 1;
    }

    fn write(&mut self, now: Time, packet: &Packet, store: &CarriedStore, interface: u32) {
        let Some(capture) = &mut self.capture else { return };
        let carried = (store.of(packet.handle), &store.blocks(packet.handle));
        let conversation = &self.conversations[packet.flow as usize];
        let length = conversation.write(packet, carried, &capture.numbers, &mut capture.headers);
        capture.writer.packet(interface, now, &capture.headers, length);
    }

    /// Rows of the trace of segments so far.
    pub(crate) fn rows(&self) -> u64 {
        self.segments.as_ref().map_or(0, |trace| (trace.t_s.len() + self.losses.len()) as u64)
    }

    /// The first error of the capture so far.
    pub(crate) fn check(&mut self) -> Result<(), CaptureError> {
        self.capture.as_mut().map_or(Ok(()), |c| c.writer.failure())
    }

    /// The run is complete, and so is the capture.
    pub(crate) fn finish(&mut self) -> Result<SegmentTrace, CaptureError> {
        if let Some(capture) = &mut self.capture {
            capture.writer.finish()?;
        }
        let mut trace = self.segments.take().unwrap_or_default();
        note(&mut trace, &mut self.losses, (Time::MAX, TIMER));
        Ok(trace)
    }
}

/// Adds rows for the losses before the current event.
fn note(trace: &mut SegmentTrace, losses: &mut BinaryHeap<Reverse<LostSegment>>, now: (Time, u32)) {
    while losses.peek().is_some_and(|Reverse(loss)| (loss.at, loss.entity) < now)
        && let Some(Reverse(loss)) = losses.pop()
    {
        trace.note(loss.at, loss.flow, SegmentEvent::Lost, loss.first, loss.end);
    }
}

impl Recording {
    /// A recording at a place; `writer` begins the capture with the names of its interfaces.
    fn new(
        plan: &Plan,
        at: &Place,
        writer: impl FnOnce(std::vec::IntoIter<String>) -> Result<Writer, CaptureError>,
    ) -> Result<Self, CaptureError> {
        for flow in &plan.flows {
            if let Some(why) = Conversation::obstacle(flow) {
                return Err(CaptureError::Size { flow: flow.name.clone(), why });
            }
        }
        let at_flows = |end: &str| plan.flows.iter().map(|f| format!("{end}/{}", f.name)).collect();
        let (spot, interfaces): (Spot, Vec<String>) = match at {
            Place::Sender => (Spot::Host(false), at_flows("sender")),
            Place::Receiver => (Spot::Host(true), at_flows("receiver")),
            Place::Link(name) => {
                let Some(link) = plan.links.iter().position(|l| l.name == *name) else {
                    let known = plan.links.iter().map(|l| l.name.as_str());
                    return Err(CaptureError::Place {
                        given: name.clone(),
                        suggestion: suggestion(name, known),
                    });
                };
                (Spot::Link(link), ["forward", "reverse"].map(|d| format!("{name}/{d}")).into())
            }
        };
        let writer = writer(interfaces.into_iter())?;
        let numbers = HeaderNumbers::new(&plan.flows, plan.seed);
        Ok(Self { writer, spot, numbers, headers: Vec::with_capacity(80) })
    }
}
