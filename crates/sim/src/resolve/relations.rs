//! How the flows of a plan belong together: on which host each end of a flow is, who writes what it carries, and who learns of what has
//! come. A relay, a dialogue, a browser, a connection whose both ends write and one with several subflows are made of flows that stand
//! behind each other. This file is the only one that knows: it gives each flow the numbers of the others.

use std::ops::Range;
use std::sync::Arc;

use crate::resolve::connection_part::{ConnectionPart, Half, Way};
use crate::resolve::plan::{ApplicationPlan, ConnectionPlan, FlowPlan, Source};

/// What a flow has to do with others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ties {
    /// The flow with which it starts: the first one of its connection, which may be itself.
    pub first: usize,
    /// The hosts at its ends, which are those of other flows, too.
    pub hosts: EndHosts,
    /// Who writes what it carries.
    pub writer: Writer,
    /// Who learns of what it brings.
    pub reader: Reader,
}

/// The hosts of a flow, by their numbers in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndHosts {
    /// The host that sends its data.
    pub sender: u32,
    /// The host that receives it.
    pub receiver: u32,
}

/// Who writes what a flow carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Writer {
    /// The source of its own.
    Source,
    /// A relay (RFC 3135), which has it from this flow.
    Relay {
        /// The flow.
        from: usize,
    },
    /// One end of a connection whose both ends write.
    Twin(Twin),
    /// A connection with several subflows, of which it is one.
    Subflow(Subflow),
}

/// Who learns of the data that reaches the receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reader {
    /// Nobody else at this host.
    Sink,
    /// A relay, which sends it on with this flow.
    Relay {
        /// The flow.
        onward: usize,
    },
    /// The server of a dialogue, to which it brings requests.
    Server(Arc<Dialogue>),
    /// The client of a dialogue, to which it brings responses.
    Client(Arc<Dialogue>),
    /// An end that writes, too: the data of flow `other` carries the acknowledgements.
    Twin {
        /// The flow.
        other: usize,
    },
    /// The connection of which it is a subflow.
    Connection,
}

/// One direction of a connection whose both ends write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Twin {
    /// The flow of the other direction.
    pub other: usize,
    /// Does its sender open the connection?
    pub opens: bool,
    /// A handshake opens it, so that the end that answers may not send before.
    pub handshake: bool,
}

/// One subflow of a connection (Multipath TCP, RFC 8684). The traffic of its flow has no size of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subflow {
    /// Its number, from 0.
    pub number: usize,
    /// The connection.
    pub connection: Arc<ConnectionPlan>,
}

/// A connection of a client with a server, by its flows. Without a relay each way is one flow, with a relay two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialogue {
    /// The flow on which the client writes.
    pub client: usize,
    /// The flow whose data reaches the server.
    pub to_server: usize,
    /// The flow on which the server writes.
    pub server: usize,
    /// The flow whose data reaches the client.
    pub to_client: usize,
    /// The flows on which the client writes on each of its connections: several, if it is a browser.
    pub lanes: Arc<[usize]>,
    /// The number of this connection among them.
    pub lane: usize,
}

/// Ties flows, and counts hosts and connections with several subflows.
#[derive(Debug, Default)]
pub(crate) struct Relations {
    hosts: u32,
    connections: usize,
}

/// The hosts of the flows of one source: where it stands, where its data goes, and between them a relay.
struct Ends {
    near: u32,
    far: u32,
    relay: u32,
}

impl Relations {
    /// Ties the flows from number `from` on, which are all that one source has: they are connections of equally many parts.
    pub(crate) fn tie(&mut self, flows: &mut [FlowPlan], from: usize) {
        let flows = &mut flows[from..];
        let Some(parts) = flows.first().map(|flow| flow.part.count()) else { return };
        let ends = self.ends(flows);
        let lanes: Arc<[usize]> = (0..flows.len()).step_by(parts).map(|at| from + at).collect();
        for (lane, connection) in flows.chunks_mut(parts).enumerate() {
            let first = lanes[lane];
            let halves = connection[0].part.halves();
            let dialogue = connection[0].part.way.map(|_| {
                let (to_server, server) = (first + halves - 1, first + halves);
                let to_client = server + halves - 1;
                Arc::new(Dialogue { client: first, to_server, server, to_client, lanes: lanes.clone(), lane })
            });
            for (flow, f) in connection.iter_mut().zip(first..).filter(|(flow, _)| !flow.part.is_whole()) {
                let writer = match flow.part.half {
                    Some(Half::Second) => Writer::Relay { from: f - 1 },
                    Some(Half::First) | None => Writer::Source,
                };
                let reader = match (flow.part.half, flow.part.way, &dialogue) {
                    (Some(Half::First), ..) => Reader::Relay { onward: f + 1 },
                    (_, Some(Way::Requests), Some(dialogue)) => Reader::Server(dialogue.clone()),
                    (_, Some(Way::Responses), Some(dialogue)) => Reader::Client(dialogue.clone()),
                    _ => Reader::Sink,
                };
                flow.ties = Some(Box::new(Ties { first, hosts: ends.of(flow.part), writer, reader }));
            }
        }
    }

    /// Ties the two flows from number `from` on: the directions of a connection whose both ends write.
    pub(crate) fn tie_twins(&mut self, flows: &mut [FlowPlan], from: usize, handshake: bool) {
        let Ends { near, far, .. } = self.ends(&flows[from..]);
        for (f, other, opens) in [(from, from + 1, true), (from + 1, from, false)] {
            let [sender, receiver] = if opens { [near, far] } else { [far, near] };
            let writer = Writer::Twin(Twin { other, opens, handshake });
            let (hosts, reader) = (EndHosts { sender, receiver }, Reader::Twin { other });
            flows[f].ties = Some(Box::new(Ties { first: from, hosts, writer, reader }));
        }
    }

    /// Ties the flows from number `from` on: the subflows of `connection`.
    pub(crate) fn tie_subflows(&mut self, flows: &mut [FlowPlan], from: usize, connection: &ConnectionPlan) {
        let Ends { near, far, .. } = self.ends(&flows[from..]);
        let range = Range { start: from, end: flows.len() };
        let connection =
            Arc::new(ConnectionPlan { number: self.connections, flows: range, ..connection.clone() });
        self.connections += 1;
        for (number, flow) in flows[from..].iter_mut().enumerate() {
            let writer = Writer::Subflow(Subflow { number, connection: connection.clone() });
            let (hosts, reader) = (EndHosts { sender: near, receiver: far }, Reader::Connection);
            flow.ties = Some(Box::new(Ties { first: from, hosts, writer, reader }));
        }
    }

    /// New hosts for these flows.
    fn ends(&mut self, flows: &[FlowPlan]) -> Ends {
        let relay = flows.iter().any(|flow| flow.part.half.is_some());
        let [near, far, between] = [self.hosts, self.hosts + 1, self.hosts + 2];
        self.hosts += if relay { 3 } else { 2 };
        // An on-off application learns at once what a relay has passed on, as if it ran there.
        let learns = |flow: &FlowPlan| {
            matches!(&*flow.source, Source::Tcp { application: Some(of), .. }
                if matches!(**of, ApplicationPlan::OnOff { .. }))
        };
        let near = if relay && flows.iter().any(learns) { between } else { near };
        Ends { near, far, relay: between }
    }
}

impl Ends {
    /// The hosts of a part of a connection. Responses go the other way.
    fn of(&self, part: ConnectionPart) -> EndHosts {
        let (from, to) = match part.way {
            Some(Way::Requests) | None => (self.near, self.far),
            Some(Way::Responses) => (self.far, self.near),
        };
        match part.half {
            None => EndHosts { sender: from, receiver: to },
            Some(Half::First) => EndHosts { sender: from, receiver: self.relay },
            Some(Half::Second) => EndHosts { sender: self.relay, receiver: to },
        }
    }
}
