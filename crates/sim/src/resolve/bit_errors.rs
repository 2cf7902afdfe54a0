//! The bit error rate of a path.

use crate::loss::Per;
use crate::resolve::path::PathPlan;
use crate::resolve::plan::{LinkPlan, LossPlan};

/// The bit error rate of a path's data direction; `None` if it has neither bit errors nor packet errors.
///
/// A packet error rate counts as the bit error rate with the same effect: 1 - (1 - PER)^(1 / bits). Losses that depend on each other, as
/// bursts and outages, are no property of single bits and do not count.
pub(super) fn bit_error_rate(path: &PathPlan, links: &[LinkPlan]) -> Option<f64> {
    let bits = 8.0 * f64::from(path.wire);
    let mut log_intact = 0.0;
    let mut found = false;
    let losses = path.there.iter().flat_map(|direction| &direction.of(links).loss);
    for (per, rate) in losses.filter_map(LossPlan::independent) {
        log_intact += match per {
            Per::Bit => libm::log1p(-rate),
            Per::Packet => libm::log1p(-rate) / bits,
        };
        found = true;
    }
    found.then(|| (-libm::expm1(log_intact)).clamp(0.0, 1.0))
}
