//! One file per algorithm. The head of each names its paper, the equations used, and every deviation with its
//! reason. `rate_based.rs` and `coupled.rs` host those that set a rate and those of Multipath TCP.

mod a_liad;
mod abe;
mod aimd;
mod algorithm;
mod avg_rtt;
mod balia;
mod bbr;
mod bbr2;
mod bbr3;
mod bic;
mod binomial;
mod cdg;
mod cherry;
mod compound;
mod copa;
mod coupled;
mod cubic;
mod cubic_of_linux;
mod dctcp;
mod enhanced;
mod estimator;
mod fast;
mod highspeed;
mod hoe;
mod hswa;
mod htcp;
mod hybla;
mod illinois;
mod increments;
mod interval_rate;
mod jersey;
mod kl;
mod lda;
mod ledbat;
mod ledbat_plus_plus;
mod leocc;
mod lia;
mod liad;
mod log_westwood_plus;
mod logarithmic;
mod loss_discrimination;
mod loss_report;
mod lp;
mod mahdavi_floyd;
mod model;
mod new_jersey;
mod nv;
mod olia;
mod peach;
mod peach_plus;
mod prague;
mod prelude;
mod rap;
pub(crate) mod rate_based;
mod rcp;
mod reno;
mod satcp;
mod scalable;
mod scps;
mod scps_tp;
mod star;
mod tcp_equation;
mod tcp_j;
mod tear;
mod tfrc;
mod tfrcp;
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

use crate::entry::Entry;

/// Every algorithm, in the order of tables and legends. A `const` would be compiled again, with all that it
/// names, in each crate that asks for it.
pub(crate) static ALL: &[Entry] = &[
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
    scps_tp::ENTRY,
    scps_tp::RATE,
    enhanced::ENTRY,
    a_liad::ENTRY,
    liad::ENTRY,
    westwood_br::ENTRY,
    log_westwood_plus::ENTRY,
    jersey::ENTRY,
    new_jersey::ENTRY,
    peach::ENTRY,
    peach_plus::ENTRY,
    cherry::ENTRY,
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
    bbr2::ENTRY,
    bbr3::ENTRY,
    leocc::ENTRY,
    copa::ENTRY,
    tfrc::ENTRY,
    lia::ENTRY,
    olia::ENTRY,
    balia::ENTRY,
    tear::ENTRY,
    rap::ENTRY,
    lda::ENTRY,
    tfrcp::ENTRY,
    mahdavi_floyd::ENTRY,
    dctcp::ENTRY,
    prague::ENTRY,
    vivace::ENTRY,
    ledbat::ENTRY,
    ledbat_plus_plus::ENTRY,
    compound::ENTRY,
    lp::ENTRY,
    cdg::ENTRY,
    nv::ENTRY,
    xcp::ENTRY,
    vcp::ENTRY,
    rcp::ENTRY,
];
