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
mod decision;
mod delivery_rate;
mod entry;
mod event;
mod extra;
mod filter;
mod header;
mod hint;
mod params;
mod path_change;
pub mod probe;
pub mod registry;
mod report;
mod resume;
#[cfg(test)]
mod rig;
mod round;
mod rule;
mod slow_start;
mod time;
mod window;
mod window_validation;
mod windowed;

pub use controller::{Controller, Needs};
pub use decision::{Backoff, Decision, Pacing, RecoveryWindow};
pub use delivery_rate::{DeliveryRate, Stamp};
pub use event::{Congestion, Event, Life};
pub use extra::{ExtraOrder, ExtraPayload};
pub use filter::WindowedMin;
pub use header::{Arrived, Echo, Header, Load, Newest};
pub use hint::{Hint, LinkQuality, PathChange, RateChange};
pub use report::{Ack, Flow, Phase, RateSample, Rtt, RttSample, Subflow};
pub use resume::SavedPath;
pub use round::{Measured, Round};
pub use rule::Rule;
pub use slow_start::{Compared, HystartConstants, SearchConstants, SearchExit, SlowStart};
pub use time::{Rate, Span, Time};
pub use window::{Cut, Start, Window, exponential};
pub use windowed::{Policy, Windowed};
