//! One file per algorithm. The head of each names its paper, the equations used, and every deviation with its reason.

mod cubic;
mod hswa;
mod reno;
mod star;
mod vegas;
mod vegas_a;
mod vegas_l;
mod veno;

use crate::registry::Entry;

/// Every algorithm, in the order of tables and legends.
pub(crate) const ALL: &[Entry] = &[
    star::ENTRY,
    hswa::ENTRY,
    vegas_l::ENTRY,
    vegas_a::ENTRY,
    vegas::ENTRY,
    veno::ENTRY,
    cubic::ENTRY,
    reno::ENTRY,
];
