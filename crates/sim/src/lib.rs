//! Packet simulation of satellite links: scenario, links, event loop, results.
//!
//! [`Scenario`] is the user's text, [`plan::Plan`] is its resolved form, [`run`] simulates it, and
//! [`record::Outcome`] is the result.

pub mod access;
mod capture;
pub mod constellation;
pub mod drawn;
mod engine;
pub mod environment;
mod host;
mod keys;
pub mod link;
pub mod loss;
pub mod orbit;
pub mod queue;
pub mod record;
mod resolve;
pub mod scenario;
pub mod vectors;
pub mod workload;

pub use capture::pcap;
pub use engine::many::{Finished, Job, RunPool};
pub use engine::played::{Happening, Moment, PlayedPart, PlayedRun};
pub use engine::stepped::SteppedRun;
pub use engine::{
    EVENTS_PER_LOOK, LOOKS_PER_COUNT, RunError, Supply, Watch, capture_in_memory, no_supply, run,
    run_captured, run_on_threads,
};
#[doc(hidden)]
pub use engine::{run_by_reference, run_in_batches, run_in_parts};
pub use keys::error::{self, Error};
pub use keys::file::{FileError, FileSource, head as read_head, read as read_file, read_files_by};
pub use keys::units;
pub use resolve::plan;
pub use resolve::time_line_file::{TableReader, read_tables_by};
#[doc(hidden)]
pub use scenario::random::random_scenario;
pub use scenario::{Scenario, schema};
