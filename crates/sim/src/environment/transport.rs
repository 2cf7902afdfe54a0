//! What carries the data of agents between two decisions.

use std::fmt;

use bentpipe_cc::Time;

use crate::engine::RunError;
use crate::environment::agent::Instruction;
use crate::environment::measures::SenderState;

/// The senders of all agents, with their path. Agents have numbers in the order of the settings.
pub(super) trait Transport: fmt::Debug + Send {
    /// Gives a decision to the sender of an agent.
    fn give(&mut self, agent: usize, instruction: Instruction);

    /// Goes on up to `until`, that instant included, but not beyond the end of the run.
    fn advance(&mut self, until: Time) -> Result<(), RunError>;

    /// Goes on until an interval of every agent has ended, or of `any`. Returns the
    /// instant, or the end of the run.
    fn advance_to_report(&mut self, any: bool) -> Result<Time, RunError>;

    /// The sender of an agent at the end of an interval, once for each.
    fn end_interval(&mut self, agent: usize) -> SenderState;

    /// Has the transfer of an agent ended?
    fn is_complete(&mut self, agent: usize) -> bool;

    /// The end of the run.
    fn end(&self) -> Time;
}
