//! The results of a run, and how they are recorded.

pub(crate) mod histogram;
pub(crate) mod history;
mod links;
pub(crate) mod outcome;
pub(crate) mod probes;
pub(crate) mod recorder;
pub(crate) mod report;
mod rows;
pub(crate) mod samples;
pub(crate) mod silence;
pub(crate) mod trace;
pub(crate) mod unfinished;

pub use outcome::Outcome;
pub use probes::ProbeSamples;
pub use report::{
    ApplicationReport, FlowReport, LimitShares, LinkReport, Playback, Report, RttReport, SCHEMA,
};
pub use samples::{FlowSamples, LinkSamples};
pub use trace::{FlowTrace, LinkTrace, ProbeTrace, SegmentEvent, SegmentTrace, TransferTrace};
