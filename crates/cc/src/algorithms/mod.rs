//! One file per algorithm. The head of each names its paper, the equations used, and every deviation with its reason.

mod aimd;
mod bic;
mod binomial;
mod cubic;
mod highspeed;
mod hswa;
mod htcp;
mod hybla;
mod kl;
mod reno;
mod scalable;
mod scps;
mod star;
mod tcp_j;
mod vegas;
mod vegas_a;
mod vegas_l;
mod veno;
mod westwood;
mod westwood_plus;

use crate::registry::Entry;

/// Every algorithm, in the order of tables and legends.
pub(crate) const ALL: &[Entry] = &[
    star::ENTRY,
    hswa::ENTRY,
    vegas_l::ENTRY,
    vegas_a::ENTRY,
    vegas::ENTRY,
    veno::ENTRY,
    westwood::ENTRY,
    westwood_plus::ENTRY,
    tcp_j::ENTRY,
    scps::ENTRY,
    cubic::ENTRY,
    reno::ENTRY,
    aimd::ENTRY,
    binomial::ENTRY,
    binomial::IIAD,
    binomial::SQRT,
    kl::ENTRY,
    kl::SIMD,
    kl::AIAD,
    scalable::ENTRY,
    highspeed::ENTRY,
    htcp::ENTRY,
    hybla::ENTRY,
    bic::ENTRY,
];
