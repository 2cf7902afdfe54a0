//! Packet simulation of satellite links: scenario, links, event loop, results.
//!
//! [`Scenario`] is what a user writes, [`plan::Plan`] what it resolves to, [`run`] simulates it, [`report::Outcome`] is the answer.

mod capture;
mod engine;
mod host;
mod link;
pub mod orbit;
pub mod queue;
mod record;
mod resolve;
pub mod scenario;

pub use capture::pcap;
pub use engine::many::run_many;
#[doc(hidden)]
pub use engine::run_plainly;
pub use engine::{EVENTS_PER_LOOK, RunError, Supply, Watch, no_supply, run, run_captured};
pub use record::report;
pub use resolve::plan;
pub use scenario::error::{self, Error};
pub use scenario::{Scenario, schema, units};
