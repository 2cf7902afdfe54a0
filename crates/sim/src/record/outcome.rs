//! All results of a run.

use crate::record::report::Report;
use crate::record::samples::{FlowSamples, LinkSamples};
use crate::record::trace::SegmentTrace;

/// Everything that one run yields.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The summary.
    pub report: Report,
    /// Samples of the flows, if the plan asked for them.
    pub flows: FlowSamples,
    /// Samples of the links, if the plan asked for them.
    pub links: LinkSamples,
    /// Segments, if the plan asked for them.
    pub segments: SegmentTrace,
}
