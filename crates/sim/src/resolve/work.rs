//! A plan in the making: its scenario, and the warnings about it.

use std::collections::BTreeMap;
use std::sync::Arc;

use bentpipe_cc::Span;

use crate::resolve::plan::DirectionId;
use crate::resolve::time_lines::Course;
use crate::scenario::error::{Error, Key};
use crate::scenario::units::{BitRate, Duration};
use crate::scenario::{Flow, Scenario, Traffic, schema, text};

/// Longest propagation delay: a day.
pub(super) const MAX_DELAY: Span = Span(86_400 * 1_000_000_000);
/// Highest rate, bits per second.
pub(super) const MAX_RATE: u64 = 100_000_000_000_000;

/// A plan in the making.
pub(crate) struct Work<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) warnings: Vec<String>,
    /// The files of opportunities that have been read, by name.
    pub(super) opportunities: BTreeMap<String, Arc<[u64]>>,
}

/// The prefix of a Python controller's name in a scenario.
pub(crate) const SUPPLIED: &str = "python:";

/// The directions that a flow of the scenario crosses, and the numbers for its share of a bandwidth-delay product.
#[derive(Debug)]
pub(crate) struct PathPlan {
    pub(crate) there: Vec<DirectionId>,
    pub(crate) back: Vec<DirectionId>,
    /// Propagation there and back, access delays included.
    pub(crate) base_rtt: Span,
    /// Bytes on the wire of its largest packet.
    pub(crate) wire: u32,
    /// The paths of the two halves that a relay makes of it.
    pub(crate) halves: Option<Box<[PathPlan; 2]>>,
}

impl PathPlan {
    /// A path with an access delay of `extra`, one way, whose largest packet has `wire` bytes.
    pub(super) fn new(
        there: Vec<DirectionId>,
        back: Vec<DirectionId>,
        extra: Span,
        wire: u32,
        courses: &[Course],
    ) -> Self {
        let crossed = there.iter().chain(&back).map(|direction| courses[direction.index()].delay.0);
        let base_rtt = Span(crossed.fold(2 * extra.0, u64::saturating_add));
        Self { there, back, base_rtt, wire, halves: None }
    }

    /// Its halves, or itself.
    pub(super) fn parts(&self) -> &[PathPlan] {
        self.halves.as_ref().map_or(std::slice::from_ref(self), |halves| &halves[..])
    }

    pub(super) fn crosses(&self, link: usize) -> bool {
        self.there.iter().chain(&self.back).any(|direction| direction.link() == link)
    }
}

/// The name of a flow, as messages call it.
pub(super) fn name_of(flow: &Flow) -> &str {
    flow.name.as_deref().unwrap_or(default_name(flow))
}

/// The name of a flow that is given none.
pub(super) fn default_name(flow: &Flow) -> &str {
    match (&flow.cc, &flow.traffic) {
        (_, Some(Traffic::Cbr { .. })) => "cbr",
        (Some(cc), _) => cc.name.strip_prefix(SUPPLIED).unwrap_or(&cc.name),
        (None, _) => "flow",
    }
}

impl Work<'_> {
    pub(crate) fn error(&self, key: &Key, message: impl Into<String>) -> Error {
        self.scenario.origin.error(key, message)
    }

    /// Scenarios that were built in Rust pass the same checks as text.
    pub(super) fn check_shape(&self) -> Result<(), Error> {
        let tree = serde_json::to_value(self.scenario)
            .map_err(|e| self.error(&Key::default(), format!("the scenario cannot be written: {e}")))?;
        schema::check(&text::without_nulls(tree)).map_err(|(key, message)| self.error(&key, message))
    }

    pub(crate) fn check_delay(&self, delay: Span, key: &Key) -> Result<(), Error> {
        match delay > MAX_DELAY {
            true => Err(self.error(key, format!("{} is too long; it must be at most 1 d", Duration(delay)))),
            false => Ok(()),
        }
    }

    pub(crate) fn rate(&self, rate: BitRate, key: &Key) -> Result<u64, Error> {
        match rate.0 {
            0 => Err(self.error(key, "a rate must be greater than zero; write e.g. \"10 Mbit/s\"")),
            high if high > MAX_RATE => {
                Err(self.error(key, format!("{rate} is too high; it must be at most 100 Tbit/s")))
            }
            fine => Ok(fine),
        }
    }
}
