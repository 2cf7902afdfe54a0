//! The results of a run, and how they are recorded.

pub(crate) mod histogram;
pub(crate) mod history;
pub(crate) mod journeys;
mod links;
mod ports;
pub(crate) mod probes;
pub(crate) mod recorder;
pub(crate) mod report;
mod rows;
pub(crate) mod samples;
pub(crate) mod trace;
pub(crate) mod warnings;

pub use journeys::{CrossingEnd, CrossingKind, SenderPhase};
pub use probes::ProbeSamples;
pub use report::{
    ApplicationReport, FlowReport, LimitShares, LinkReport, NetworkFlowReport, Playback, Report,
    RowsOfTables, RttReport, SCHEMA,
};
pub use samples::{FlowSamples, LinkSamples};
pub use trace::{
    Column, CrossingRow, CrossingTrace, FlowTrace, LinkRow, LinkTrace, PortTrace, ProbeTrace, SegmentEvent,
    SegmentTrace, SenderTrace, TransferTrace,
};

/// Everything that a run yields.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The summary.
    pub report: Report,
    /// The names of all connections, in the order of the plan. Traces refer to them by index.
    pub names: Vec<String>,
    /// Samples of the flows, if the plan asked for them.
    pub flows: FlowSamples,
    /// Samples of the links, if the plan asked for them.
    pub links: LinkSamples,
    /// Samples of the ports of the constellation, if the plan asked for links.
    pub ports: PortTrace,
    /// Samples of the probes of controllers, if the plan asked for them.
    pub probes: ProbeSamples,
    /// Segments, if the plan asked for them.
    pub segments: SegmentTrace,
    /// Transfers of applications, if the plan asked for them.
    pub transfers: TransferTrace,
}
