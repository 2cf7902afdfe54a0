//! A plan in the making: its scenario, and the warnings about it.

use std::collections::BTreeMap;
use std::sync::Arc;

use bentpipe_cc::Span;

use crate::keys::error::{Error, Key};
use crate::keys::units::{BitRate, Duration};
use crate::scenario::{Flow, Scenario, schema, text};
pub(crate) use crate::workload::arrivals::MAX_FLOWS;

/// A plan in the making.
pub(crate) struct Work<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) warnings: Vec<String>,
    /// The instants in files of opportunities that have been read, ms, by the names of the files.
    pub(super) instants: BTreeMap<String, Arc<[u64]>>,
}

/// The prefixes of the name of a controller that the caller of a run supplies: a class in Python, or one in
/// JavaScript in the page in which the simulator runs.
const SUPPLIED: [&str; 2] = ["python:", "javascript:"];

/// The key of a controller that the caller of a run supplies; none if `name` is that of another.
pub(crate) fn supplied(name: &str) -> Option<&str> {
    SUPPLIED.iter().find_map(|prefix| name.strip_prefix(prefix))
}

/// The name of a flow in messages.
pub(super) fn name_of(flow: &Flow) -> &str {
    flow.name.as_deref().unwrap_or(default_name(flow))
}

/// The default name of a flow that is given none.
pub(super) fn default_name(flow: &Flow) -> &str {
    match (&flow.cc, &flow.traffic) {
        (_, Some(traffic)) if traffic.is_datagrams() => traffic.kind(),
        (Some(cc), _) => supplied(&cc.name).unwrap_or(&cc.name),
        (None, _) => "flow",
    }
}

impl Work<'_> {
    pub(crate) fn error(&self, key: &Key, message: impl Into<String>) -> Error {
        self.scenario.origin.error(key, message)
    }

    /// Scenarios built in Rust pass the same checks as text.
    pub(super) fn check_shape(&self) -> Result<(), Error> {
        let tree = serde_json::to_value(self.scenario)
            .map_err(|e| self.error(&Key::default(), format!("the scenario cannot be written: {e}")))?;
        match schema::check(&text::without_nulls(tree)).into_iter().next() {
            None => Ok(()),
            Some(wrong) => Err(self.error(&wrong.key, wrong.message)),
        }
    }

    pub(crate) fn check_delay(&self, delay: Span, key: &Key) -> Result<(), Error> {
        Duration(delay).of_delay().map(drop).map_err(|message| self.error(key, message))
    }

    pub(crate) fn rate(&self, rate: BitRate, key: &Key) -> Result<u64, Error> {
        rate.of_link().map_err(|message| self.error(key, message))
    }
}
