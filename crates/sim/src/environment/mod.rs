//! Environments for agents that learn: runs in which the controllers of some flows are outside.
//!
//! An [`Environment`] is one run that pauses at the end of each step (`episode.rs`). It shows what its agents
//! observe and earn, and takes their actions. A [`Batch`] advances many of them on several threads. The
//! result of an environment depends on its scenario, its seed and its actions alone.
//!
//! An agent's data is carried by TCP in the run of every other command (`tcp.rs`), or by datagrams over the
//! same links (`datagrams.rs`). `agent.rs` is the controller inside a TCP sender, `driver.rs` its counterpart
//! outside, and `measures.rs` has all that can be observed.

mod agent;
mod batch;
mod datagrams;
mod driver;
mod episode;
mod failure;
mod measures;
mod settings;
mod tcp;
mod transport;

pub use batch::{Batch, Fresh, Stepped};
pub use episode::Environment;
pub use failure::EnvironmentError;
pub use measures::{ALL as ALL_MEASURES, MEASURES, Measure};
pub use settings::{Acts, Settings, StepEnd, TransportKind};
pub use tcp::KEY;
