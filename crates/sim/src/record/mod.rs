//! What a run yields, and how it is recorded.

pub(crate) mod histogram;
pub(crate) mod history;
mod links;
pub(crate) mod recorder;
pub mod report;
mod rows;
mod samples;
