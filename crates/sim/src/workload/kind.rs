//! What the file of each kind of traffic defines.

use crate::keys::error::Error;
use crate::workload::application::ApplicationPlan;
use crate::workload::arrivals::ShortFlowsPlan;
use crate::workload::client::ClientPlan;
use crate::workload::context::TrafficContext;
use crate::workload::datagrams::CbrPlan;
use crate::workload::laws::TransferSize;

/// What carries traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carriage {
    /// A TCP connection that has all its data from the start, or several.
    Connection,
    /// A TCP connection with an application that pauses.
    Application,
    /// TCP connections on which a client asks and a server answers.
    Dialogue,
    /// Datagrams without TCP: they have no controller, and nobody acknowledges them.
    Datagrams,
}

impl Carriage {
    /// Its name in the schema.
    pub(super) fn name(self) -> &'static str {
        match self {
            Carriage::Connection => "connection",
            Carriage::Application => "application",
            Carriage::Dialogue => "dialogue",
            Carriage::Datagrams => "datagrams",
        }
    }
}

/// The keys of one kind of traffic.
pub(super) trait TrafficKeys {
    /// What carries the traffic.
    const CARRIAGE: Carriage;

    /// Resolves the keys into a plan.
    fn resolve(&self, context: &TrafficContext<'_>) -> Result<TrafficPlan, Error>;

    /// Writes out defaults.
    fn write_out(&mut self) {}

    /// The sizes that may come from a file.
    fn sizes_mut(&mut self) -> Vec<&mut TransferSize> {
        Vec::new()
    }
}

/// The plan into which the keys of traffic resolve.
#[derive(Debug)]
pub(crate) enum TrafficPlan {
    /// One connection, with this many payload bytes or without end.
    Bulk(Option<u64>),
    /// Connections that open one after the other.
    ShortFlows(ShortFlowsPlan),
    /// One connection with this application.
    Application(ApplicationPlan),
    /// Clients whose requests have `request` payload bytes, each client on a connection of its own, and their
    /// server.
    Dialogue { request: u64, clients: Vec<ClientPlan>, server: ApplicationPlan },
    /// Datagrams.
    Datagrams(CbrPlan),
}
