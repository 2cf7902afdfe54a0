//! All results of a run.

use crate::record::probes::ProbeSamples;
use crate::record::report::Report;
use crate::record::samples::{FlowSamples, LinkSamples};
use crate::record::trace::{SegmentTrace, TransferTrace};

/// Everything that one run yields.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The summary.
    pub report: Report,
    /// The names of all connections, in the order of the plan. Traces know them by their index.
    pub names: Vec<String>,
    /// Samples of the flows, if the plan asked for them.
    pub flows: FlowSamples,
    /// Samples of the links, if the plan asked for them.
    pub links: LinkSamples,
    /// Samples of the probes of controllers, if the plan asked for them.
    pub probes: ProbeSamples,
    /// Segments, if the plan asked for them.
    pub segments: SegmentTrace,
    /// Transfers of applications, if the plan asked for them.
    pub transfers: TransferTrace,
}
