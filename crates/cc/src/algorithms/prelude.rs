//! The words of an algorithm's file: what it reports to the registry, what it learns, and how it answers.

pub(crate) use crate::algorithms::algorithm::algorithm;
pub(crate) use crate::controller::{Controller, Needs};
pub(crate) use crate::decision::{Backoff, Decision, Pacing, RecoveryWindow};
pub(crate) use crate::entry::{Entry, Grade, SenderOptions};
pub(crate) use crate::event::{Congestion, Event, Life};
pub(crate) use crate::hint::Hint;
pub(crate) use crate::params::{Args, Param, PathFact};
pub(crate) use crate::report::{Ack, Flow, Phase};
pub(crate) use crate::time::{Rate, Span, Time};
pub(crate) use crate::window::{Cut, Start, Window, additive, exponential};
pub(crate) use crate::windowed::{Policy, Windowed};
