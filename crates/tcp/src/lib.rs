//! TCP sender and receiver as state machines without input or output.
//!
//! Inputs are segments and the present instant; outputs are segments to send and the next deadline. Sequence numbers count
//! full segments from 0, so that a window of 50,000 packets costs what a window of 50 does.
#![allow(missing_docs)]
mod options;

pub use options::{LossRecovery, Options, SpuriousTimeout};
