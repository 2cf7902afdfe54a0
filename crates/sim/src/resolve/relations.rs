//! How the flows of a plan belong together: on which host each end of a flow is, who writes what the flow
//! carries, and who reads what it brings. A relay, a dialogue, a browser, a connection whose both ends write
//! and a connection with several subflows each consist of consecutive flows. Only this file knows that order:
//! it gives each flow the numbers of the others.

use std::ops::Range;
use std::sync::Arc;

use crate::resolve::connection_part::{ConnectionPart, Half, Way};
use crate::resolve::plan::{
    ApplicationPlan, ConnectionPlan, Dialogue, Duplex, EndHosts, FlowPlan, ReadBy, Source, Subflow, Ties,
    WrittenBy,
};

/// Ties flows, and counts hosts and connections with several subflows.
#[derive(Debug, Default)]
pub(crate) struct Relations {
    hosts: u32,
    connections: usize,
}

/// The hosts of the flows of one source: its own host, the destination of its data, and a relay between them.
struct SourceHosts {
    near: u32,
    far: u32,
    relay: u32,
}

impl Relations {
    /// Ties the flows from number `from` on. They are all flows of one source: connections with equally many
    /// parts.
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
                    Some(Half::Second) => WrittenBy::Relay { from: f - 1 },
                    Some(Half::First) | None => WrittenBy::Source,
                };
                let reader = match (flow.part.half, flow.part.way, &dialogue) {
                    (Some(Half::First), ..) => ReadBy::Relay { onward: f + 1 },
                    (_, Some(Way::Requests), Some(dialogue)) => ReadBy::Server(dialogue.clone()),
                    (_, Some(Way::Responses), Some(dialogue)) => ReadBy::Client(dialogue.clone()),
                    _ => ReadBy::Sink,
                };
                flow.ties = Some(Box::new(Ties { first, hosts: ends.of(flow.part), writer, reader }));
            }
        }
    }

    /// Ties the two flows from number `from` on: the directions of a connection whose both ends write.
    pub(crate) fn tie_duplex(&mut self, flows: &mut [FlowPlan], from: usize, handshake: bool) {
        let SourceHosts { near, far, .. } = self.ends(&flows[from..]);
        for (f, other, opens) in [(from, from + 1, true), (from + 1, from, false)] {
            let [sender, receiver] = if opens { [near, far] } else { [far, near] };
            let writer = WrittenBy::Duplex(Duplex { other, opens, handshake });
            let (hosts, reader) = (EndHosts { sender, receiver }, ReadBy::Duplex { other });
            flows[f].ties = Some(Box::new(Ties { first: from, hosts, writer, reader }));
        }
    }

    /// Ties the flows from number `from` on: the subflows of `connection`.
    pub(crate) fn tie_subflows(&mut self, flows: &mut [FlowPlan], from: usize, connection: &ConnectionPlan) {
        let SourceHosts { near, far, .. } = self.ends(&flows[from..]);
        let range = Range { start: from, end: flows.len() };
        let connection =
            Arc::new(ConnectionPlan { number: self.connections, flows: range, ..connection.clone() });
        self.connections += 1;
        for (number, flow) in flows[from..].iter_mut().enumerate() {
            let writer = WrittenBy::Subflow(Subflow { number, connection: connection.clone() });
            let (hosts, reader) = (EndHosts { sender: near, receiver: far }, ReadBy::Connection);
            flow.ties = Some(Box::new(Ties { first: from, hosts, writer, reader }));
        }
    }

    /// New hosts for these flows.
    fn ends(&mut self, flows: &[FlowPlan]) -> SourceHosts {
        let relay = flows.iter().any(|flow| flow.part.half.is_some());
        let [near, far, between] = [self.hosts, self.hosts + 1, self.hosts + 2];
        self.hosts += if relay { 3 } else { 2 };
        // An on-off application learns at once what a relay has passed on, as if it ran on the relay.
        let learns = |flow: &FlowPlan| {
            matches!(&*flow.source, Source::Tcp { application: Some(of), .. }
                if matches!(**of, ApplicationPlan::OnOff { .. }))
        };
        let near = if relay && flows.iter().any(learns) { between } else { near };
        SourceHosts { near, far, relay: between }
    }
}

impl SourceHosts {
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
