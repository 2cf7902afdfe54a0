//! The words of an algorithm's file: what it reports to the registry, what it learns, and how it answers.

pub(crate) use crate::algorithms::algorithm::algorithm;
pub(crate) use crate::controller::{Backoff, Controller, Decision, Needs, Pacing, RecoveryWindow};
pub(crate) use crate::event::{Congestion, Event, Hint, Life};
pub(crate) use crate::registry::{Args, Entry, Grade, Param, PathFact, SenderOptions};
pub(crate) use crate::report::{Ack, Flow, Phase};
pub(crate) use crate::time::{Rate, Span, Time};
pub(crate) use crate::windowed::{Cut, Policy, Start, Window, Windowed, additive, exponential};
