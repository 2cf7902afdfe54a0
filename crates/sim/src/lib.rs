//! Packet simulation of satellite links: scenario, links, event loop, results.
//!
//! [`Scenario`] is what a user writes, [`plan::Plan`] what it resolves to, [`run`] simulates it, [`report::Outcome`] is the answer.

mod ahead;
mod audit;
mod backlog;
mod codel;
mod control;
mod defaults;
mod engine;
pub mod error;
mod flow;
mod flows;
mod fq_codel;
mod frame;
pub mod geometry;
mod histogram;
mod link;
mod loss;
mod many;
mod packet;
pub mod pcap;
mod pie;
pub mod plan;
mod priority;
mod queue;
mod random;
mod random_scenario;
mod recorder;
mod red;
pub mod report;
mod resolve;
mod rows;
mod samples;
pub mod scenario;
mod scheduled;
mod shape;
pub mod stations;
mod tap;
mod text;
mod transmitter;
pub mod units;
mod waiting;

#[doc(hidden)]
pub use engine::run_plainly;
pub use engine::{EVENTS_PER_LOOK, RunError, Supply, Watch, no_supply, run, run_captured};
pub use error::Error;
pub use many::run_many;
#[doc(hidden)]
pub use random_scenario::random_scenario;
pub use scenario::{Scenario, schema};
