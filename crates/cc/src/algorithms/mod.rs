//! One file per algorithm. The head of each names its paper, the equations used, and every deviation with its reason.

mod hswa;
mod reno;
mod star;

use crate::registry::Entry;

/// Every algorithm, in the order of tables and legends.
pub(crate) const ALL: &[Entry] = &[star::ENTRY, hswa::ENTRY, reno::ENTRY];
