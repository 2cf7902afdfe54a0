//! Where the keys of an access to the channel are in a scenario.

use std::collections::BTreeMap;
use std::sync::Arc;

use bentpipe_cc::Span;

use crate::keys::error::{Error, Key, Origin};
use crate::keys::units::Duration;

/// The place of an access in a scenario, where its mistakes are reported, and the files that have been read.
#[derive(Debug)]
pub(crate) struct AccessContext<'a> {
    /// The key with its value.
    pub(crate) key: &'a Key,
    /// Where each key of the scenario was written.
    pub(crate) origin: &'a Origin,
    /// The instants in files of opportunities, ms, by the names of the files.
    pub(crate) instants: &'a mut BTreeMap<String, Arc<[u64]>>,
}

impl AccessContext<'_> {
    /// A mistake in the key called `name`.
    pub(super) fn error(&self, name: &str, message: impl Into<String>) -> Error {
        self.origin.error(&self.key.with(name), message)
    }

    /// Refuses a delay that is too long; the key called `name` gives it.
    pub(super) fn check_delay(&self, delay: Span, name: &str) -> Result<(), Error> {
        Duration(delay).of_delay().map(drop).map_err(|message| self.error(name, message))
    }
}
