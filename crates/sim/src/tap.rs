//! What is written down of single packets, if someone asked for it: a capture, and the trace of segments.
//!
//! The engine calls it where a packet departs from a host, enters a link, arrives at a host, or is lost. A run without it pays a
//! branch at each of these; to keep it at that, none of this is made part of the event loop's code (`cold`).

use bentpipe_cc::Time;

use crate::error::suggestion;
use crate::frame::Conversation;
use crate::packet::{ACK, CONTROL, Packet, RESENT, SackStore};
use crate::pcap::{Capture, Error, Place, Writer};
use crate::plan::Plan;
use crate::report::{SegmentEvent, SegmentTrace};

/// Where a capture sees packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spot {
    /// At one end of every flow; true for the receiving end.
    Host(bool),
    /// At the entries of the link with this index.
    Link(usize),
}

#[derive(Debug)]
struct Recording {
    writer: Writer,
    spot: Spot,
    headers: Vec<u8>,
}

/// All that is written down of single packets.
#[derive(Debug)]
pub(crate) struct Tap {
    conversations: Vec<Conversation>,
    capture: Option<Recording>,
    segments: Option<SegmentTrace>,
}

impl Tap {
    /// What the plan and the caller ask for; `None` if that is nothing.
    ///
    /// # Errors
    /// A place that does not exist, packets that are none of IPv4, a file that cannot be written.
    pub(crate) fn new(plan: &Plan, capture: Option<&Capture>) -> Result<Option<Box<Self>>, Error> {
        let segments = plan.record.is_some_and(|r| r.segments).then(SegmentTrace::default);
        if segments.is_none() && capture.is_none() {
            return Ok(None);
        }
        let flows = plan.flows.iter().enumerate();
        let conversations = flows.map(|(i, flow)| Conversation::new(i, flow, plan.seed)).collect();
        let capture = capture.map(|capture| Recording::new(plan, capture)).transpose()?;
        Ok(Some(Box::new(Self { conversations, capture, segments })))
    }

    /// A packet departs from its host.
    #[cold]
    #[inline(never)]
    pub(crate) fn departs(&mut self, now: Time, packet: &mut Packet, store: &mut SackStore) {
        let conversation = &mut self.conversations[packet.flow as usize];
        if self.capture.is_some() {
            packet.sack = store.mark(packet.sack, conversation.depart(now, packet));
        }
        if let (Some(trace), Some((from, to))) = (&mut self.segments, conversation.data(packet)) {
            let event = if packet.has(RESENT) { SegmentEvent::Resent } else { SegmentEvent::Sent };
            trace.push(now, packet.flow, event, from, to);
        }
        self.at_host(now, packet, store, packet.has(ACK));
    }

    /// A packet arrives at the host it was meant for.
    #[cold]
    #[inline(never)]
    pub(crate) fn arrives(&mut self, now: Time, packet: &Packet, store: &mut SackStore) {
        let conversation = &mut self.conversations[packet.flow as usize];
        if let (Some(trace), Some((ack, edge))) = (&mut self.segments, conversation.acknowledged(packet)) {
            trace.push(now, packet.flow, SegmentEvent::Ack, ack, edge);
            for block in store.blocks(packet.sack).blocks() {
                let (from, to) = conversation.covered(block);
                trace.push(now, packet.flow, SegmentEvent::Sack, from, to);
            }
        }
        conversation.arrive(packet, store.mark_of(packet.sack));
        self.at_host(now, packet, store, !packet.has(ACK));
        if !packet.has(ACK) || packet.has(CONTROL) {
            store.free(packet.sack); // those of an acknowledgement are still to be read
        }
    }

    fn at_host(&mut self, now: Time, packet: &Packet, store: &SackStore, receiving: bool) {
        if self.capture.as_ref().is_some_and(|c| c.spot == Spot::Host(receiving)) {
            self.write(now, packet, store, packet.flow);
        }
    }

    /// A packet is offered to the direction `link` of a link.
    #[cold]
    #[inline(never)]
    pub(crate) fn enters(&mut self, now: Time, link: usize, packet: &Packet, store: &SackStore) {
        if self.capture.as_ref().is_some_and(|c| c.spot == Spot::Link(link / 2)) {
            self.write(now, packet, store, (link % 2) as u32);
        }
    }

    /// A packet is lost.
    #[cold]
    #[inline(never)]
    pub(crate) fn loses(&mut self, now: Time, packet: &Packet) {
        let data = self.conversations[packet.flow as usize].data(packet);
        if let (Some(trace), Some((from, to))) = (&mut self.segments, data) {
            trace.push(now, packet.flow, SegmentEvent::Lost, from, to);
        }
    }

    fn write(&mut self, now: Time, packet: &Packet, store: &SackStore, interface: u32) {
        let Some(capture) = &mut self.capture else { return };
        let (sack, mark) = (store.blocks(packet.sack), store.mark_of(packet.sack));
        let conversation = &self.conversations[packet.flow as usize];
        let length = conversation.write(packet, &sack, mark, &mut capture.headers);
        capture.writer.packet(interface, now, &capture.headers, length);
    }

    /// Rows of the trace of segments so far.
    pub(crate) fn rows(&self) -> u64 {
        self.segments.as_ref().map_or(0, |trace| trace.t_s.len() as u64)
    }

    /// What has gone wrong with the capture so far.
    pub(crate) fn check(&mut self) -> Result<(), Error> {
        self.capture.as_mut().map_or(Ok(()), |c| c.writer.failure())
    }

    /// The run is complete, and so is the capture.
    pub(crate) fn finish(&mut self) -> Result<SegmentTrace, Error> {
        if let Some(capture) = &mut self.capture {
            capture.writer.finish()?;
        }
        Ok(self.segments.take().unwrap_or_default())
    }
}

impl Recording {
    fn new(plan: &Plan, capture: &Capture) -> Result<Self, Error> {
        for flow in &plan.flows {
            if let Some(why) = Conversation::obstacle(flow) {
                return Err(Error::Size { flow: flow.name.clone(), why });
            }
        }
        let at_flows = |end: &str| plan.flows.iter().map(|f| format!("{end}/{}", f.name)).collect();
        let (spot, interfaces): (Spot, Vec<String>) = match &capture.at {
            Place::Sender => (Spot::Host(false), at_flows("sender")),
            Place::Receiver => (Spot::Host(true), at_flows("receiver")),
            Place::Link(name) => {
                let Some(link) = plan.links.iter().position(|l| l.name == *name) else {
                    let known = plan.links.iter().map(|l| l.name.as_str());
                    return Err(Error::Place { given: name.clone(), suggestion: suggestion(name, known) });
                };
                (Spot::Link(link), ["forward", "reverse"].map(|d| format!("{name}/{d}")).into())
            }
        };
        let writer = Writer::create(&capture.path, capture.whole, interfaces.into_iter())?;
        Ok(Self { writer, spot, headers: Vec::with_capacity(80) })
    }
}
