//! One file per algorithm. The head of each names its paper, the equations used, and every deviation with its reason.

mod a_liad;
mod aimd;
mod bbr;
mod bbr3;
mod bic;
mod binomial;
mod copa;
mod cubic;
mod cubic_of_linux;
mod dctcp;
mod fast;
mod highspeed;
mod hoe;
mod hswa;
mod htcp;
mod hybla;
mod illinois;
mod jersey;
mod kl;
mod leocc;
mod liad;
mod log_westwood_plus;
mod logarithmic;
mod model;
mod peach;
mod peach_plus;
#[cfg(test)]
mod pipe;
mod rcp;
mod reno;
mod satcp;
mod scalable;
mod scps;
mod star;
mod tcp_j;
mod tfrc;
mod vcp;
mod vegas;
mod vegas_a;
mod vegas_l;
mod veno;
mod vivace;
mod westwood;
mod westwood_br;
mod westwood_plus;
mod xcp;
mod yeah;

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
    a_liad::ENTRY,
    liad::ENTRY,
    westwood_br::ENTRY,
    log_westwood_plus::ENTRY,
    jersey::ENTRY,
    peach::ENTRY,
    peach_plus::ENTRY,
    fast::ENTRY,
    cubic::ENTRY,
    satcp::ENTRY,
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
    illinois::ENTRY,
    yeah::ENTRY,
    bbr::ENTRY,
    bbr3::ENTRY,
    leocc::ENTRY,
    copa::ENTRY,
    tfrc::ENTRY,
    dctcp::ENTRY,
    vivace::ENTRY,
    xcp::ENTRY,
    vcp::ENTRY,
    rcp::ENTRY,
];
