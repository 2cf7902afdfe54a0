//! Congestion controllers as pure state machines.
//!
//! A controller receives reports of events ([`Controller::on_ack`], [`Controller::on`]) and makes a
//! decision ([`Decision`]). It has no clock, no randomness and no I/O. The same calls give the same
//! answers, bit for bit, in a simulation, in an emulation and beside the Linux kernel. The crate is
//! `no_std`, so the compiler enforces that.
//!
//! Window algorithms are written as a [`Policy`] hosted by [`Windowed`]; the list of all
//! algorithms is [`registry`].

#![no_std]

extern crate alloc;

pub mod algorithms;
mod controller;
mod delivery_rate;
mod event;
mod extra;
mod filter;
mod header;
mod path_change;
pub mod probe;
mod rate_change;
pub mod registry;
mod report;
mod resume;
#[cfg(test)]
mod rig;
mod round;
mod slow_start;
mod time;
mod window_validation;
mod windowed;

pub use controller::{Backoff, Controller, Decision, Needs, Pacing, RecoveryWindow, Rule};
pub use delivery_rate::{DeliveryRate, Stamp};
pub use event::{Congestion, Event, Hint, Life};
pub use extra::{ExtraOrder, ExtraPayload};
pub use filter::WindowedMin;
pub use header::{Arrived, Echo, Header, Load, Newest};
pub use path_change::PathChange;
pub use rate_change::RateChange;
pub use report::{Ack, Flow, Phase, RateSample, Rtt, RttSample, Subflow};
pub use resume::SavedPath;
pub use round::{Measured, Round};
pub use slow_start::{Compared, HystartConstants, SearchConstants, SearchExit, SlowStart};
pub use time::{Rate, Span, Time};
pub use windowed::{Cut, Policy, Start, Window, Windowed, exponential};
