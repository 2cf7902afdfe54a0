//! Environments for agents that learn: runs in which the controllers of some flows are outside.
//!
//! An [`Environment`] is one run that pauses at the end of each step (`episode.rs`). It shows what its agents
//! observe and earn, and takes their actions. A [`Batch`] advances many of them on several threads. The result
//! of an environment depends on its scenario, its seed and its actions alone.
//!
//! The run is that of every other command: the same loops, stopped between two events
//! (`engine/stepped.rs`). `agent.rs` is the controller inside the run, `driver.rs` its counterpart outside, and
//! `measures.rs` has all that can be observed.

mod agent;
mod batch;
mod driver;
mod episode;
mod failure;
mod measures;
mod settings;

pub use batch::{Batch, Fresh, Stepped};
pub use episode::{Environment, KEY};
pub use failure::EnvironmentError;
pub use measures::{ALL as ALL_MEASURES, MEASURES, Measure};
pub use settings::{Acts, Settings, StepEnd};
