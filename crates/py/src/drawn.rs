//! Time lines that are drawn: a table of a scenario comes in as JSON, columns go out.

use bentpipe_cc::Span;
use bentpipe_sim::drawn::{DrawnTimeline, PERIOD, PHASE, PROFILES};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;

use crate::wrong;

/// The constants of the models by the names of their profiles, each with its interval; and the time between
/// reconfigurations and the first one after a full minute, seconds. As JSON.
#[pyfunction]
pub(crate) fn drawn_profiles() -> String {
    let profiles: std::collections::BTreeMap<_, _> = PROFILES.iter().map(|(name, of)| (name, of)).collect();
    json!({ "profiles": profiles, "period_s": PERIOD.secs(), "phase_s": PHASE.secs() }).to_string()
}

/// The line of a table `timeline` that a scenario accepts: its columns, its outages (pairs of seconds), and
/// the nominal rate and delay.
#[pyfunction]
pub(crate) fn drawn_line<'py>(
    py: Python<'py>,
    table_json: &str,
    seed: u64,
    duration_ns: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let table: DrawnTimeline = serde_json::from_str(table_json).map_err(wrong)?;
    let line = table.line(seed, Span(duration_ns));
    let secs = |ns: &[u64]| PyArray1::from_iter(py, ns.iter().map(|ns| Span(*ns).secs()));
    let found = PyDict::new(py);
    found.set_item("t_s", secs(&line.at))?;
    found.set_item("rate_bps", PyArray1::from_iter(py, line.rate.iter().map(|rate| *rate as f64)))?;
    found.set_item("delay_s", secs(&line.delay))?;
    found.set_item("up", PyArray1::from_vec(py, line.up))?;
    found.set_item("handover", PyArray1::from_vec(py, line.handover))?;
    let outages = table.outages(seed, Span(duration_ns));
    let pairs: Vec<_> = outages.iter().map(|[begin, end]| (begin.secs(), end.secs())).collect();
    found.set_item("outages", pairs)?;
    let (rate, delay) = table.nominal();
    found.set_item("nominal", (rate.0, delay.secs()))?;
    Ok(found)
}
