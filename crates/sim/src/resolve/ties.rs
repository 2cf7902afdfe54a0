//! How a flow of a plan is tied to others: the hosts at its ends, who writes what it carries, and who reads
//! what it brings.

use std::ops::Range;
use std::sync::Arc;

use crate::scenario::Scheduler;

/// The ties of a flow to others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ties {
    /// The flow together with which it starts: the first flow of its connection, which may be this flow.
    pub first: usize,
    /// The hosts at its ends, where other flows end, too.
    pub hosts: EndHosts,
    /// Who writes what it carries.
    pub writer: WrittenBy,
    /// Who reads what it brings.
    pub reader: ReadBy,
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
pub enum WrittenBy {
    /// A source of its own.
    Source,
    /// A relay (RFC 3135), which has the data from this flow.
    Relay {
        /// The flow.
        from: usize,
    },
    /// One end of a connection whose both ends write.
    Duplex(Duplex),
    /// A connection with several subflows; this flow is one of them.
    Subflow(Subflow),
}

/// Who reads the data that reaches the receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadBy {
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
    Duplex {
        /// The flow.
        other: usize,
    },
    /// The connection to which it belongs as a subflow.
    Connection,
}

/// One direction of a connection whose both ends write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duplex {
    /// The flow of the other direction.
    pub other: usize,
    /// Does its sender open the connection?
    pub opens: bool,
    /// A handshake opens the connection, so that the answering end may not send before it is done.
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

/// A connection of a client with a server, given by its flows. Each way is one flow without a relay, and two
/// flows with a relay.
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
    /// The flows on which the client writes on each of its connections: several for a browser.
    pub lanes: Arc<[usize]>,
    /// The number of this connection among them.
    pub lane: usize,
}

/// A connection whose data is spread over several subflows (Multipath TCP, RFC 8684).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionPlan {
    /// Unique name.
    pub name: String,
    /// Its number among connections with several subflows.
    pub number: usize,
    /// The flows that are its subflows.
    pub flows: Range<usize>,
    /// The rule for which of them sends the next segment.
    pub scheduler: Scheduler,
    /// Does a subflow send what another one has in flight, where the shared window holds it back?
    pub opportunistic: bool,
    /// Room of the shared receive buffer in segments; `None` for no bound.
    pub window: Option<u64>,
    /// Payload bytes to transfer; `None` for as many as the run allows.
    pub bytes: Option<u64>,
}
