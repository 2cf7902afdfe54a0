//! What the file of a kind of traffic defines.

use crate::resolve::options;
use crate::resolve::work::Work;
use crate::scenario::error::{Error, Key};
use crate::scenario::units::Size;
use crate::workload::application::ApplicationPlan;
use crate::workload::cbr::CbrPlan;
use crate::workload::client::ClientPlan;
use crate::workload::laws::{Length, Lengths, Sizes, TransferSize, Wrong};
use crate::workload::short_flows::ShortFlowsPlan;

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
    /// What carries it.
    const CARRIAGE: Carriage;

    /// What the keys come to.
    fn resolve(&self, context: &Context<'_>) -> Result<TrafficPlan, Error>;

    /// Writes out defaults.
    fn write_out(&mut self) {}

    /// The sizes that may be those in a file.
    fn sizes_mut(&mut self) -> Vec<&mut TransferSize> {
        Vec::new()
    }
}

/// What the keys of traffic come to.
#[derive(Debug)]
pub(crate) enum TrafficPlan {
    /// One connection, with so many payload bytes or without end.
    Bulk(Option<u64>),
    /// Connections that open one after the other.
    ShortFlows(ShortFlowsPlan),
    /// One connection with this application.
    Application(ApplicationPlan),
    /// Clients whose requests have so many payload bytes, each on a connection of its own, and their server.
    Dialogue { request: u64, clients: Vec<ClientPlan>, server: ApplicationPlan },
    /// Datagrams.
    Datagrams(CbrPlan),
}

/// What the keys of traffic mean depends on the scenario.
pub(crate) struct Context<'a> {
    pub(super) work: &'a Work<'a>,
    /// The key of the table.
    pub(super) key: Key,
}

impl<'a> Context<'a> {
    /// That of the flow with this key.
    pub(crate) fn new(work: &'a Work<'a>, flow: &Key) -> Self {
        Self { work, key: flow.with("traffic") }
    }

    /// An error at key `name`.
    pub(super) fn error(&self, name: &str, message: impl Into<String>) -> Error {
        self.work.error(&self.key.with(name), message)
    }

    /// The sizes of key `name`.
    pub(super) fn sizes(&self, size: &TransferSize, name: &str) -> Result<Sizes, Error> {
        match size {
            TransferSize::Fixed(Size(0)) => {
                Err(self.error(name, "there is nothing to send; write e.g. \"10 kB\""))
            }
            TransferSize::Fixed(Size(bytes)) => Ok(Sizes::Fixed(*bytes)),
            TransferSize::Drawn(law) => law.resolve().map_err(|wrong| self.wrong(name, wrong)),
        }
    }

    /// The lengths of time of key `name`.
    pub(super) fn lengths(&self, length: &Length, name: &str) -> Result<Lengths, Error> {
        match length {
            Length::Fixed(duration) => Ok(Lengths::Fixed(duration.0)),
            Length::Drawn(law) => law.resolve().map_err(|wrong| self.wrong(name, wrong)),
        }
    }

    /// The value of key `name`, a size that a packet can have, in bytes.
    pub(super) fn packet_size(&self, size: Size, name: &str) -> Result<u32, Error> {
        options::bytes(self.work, size, 1, &self.key.with(name))
    }

    /// The value of key `request`, in bytes.
    pub(super) fn request(&self, given: Option<Size>, default: u64) -> Result<u64, Error> {
        match given.map_or(default, |size| size.0) {
            0 => Err(self.error("request", "a request is not empty; write e.g. \"100 bytes\"")),
            bytes => Ok(bytes),
        }
    }

    /// The error of a law that key `name` gives.
    pub(super) fn wrong(&self, name: &str, (key, message): Wrong) -> Error {
        self.work.error(&self.key.with(name).with(key), message)
    }
}
