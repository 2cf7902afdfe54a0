//! Paths over satellites in motion: a request comes in as JSON, columns go out.

use std::time::Duration;

use bentpipe_orbit::{Columns, OrbitError, Request, Timetable};
use numpy::PyArray1;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;

use crate::failure::Failure;
use crate::reminder::Reminder;
use crate::wrong;

/// The shells that have a name, as JSON.
#[pyfunction]
pub(crate) fn orbit_shells() -> String {
    json!(bentpipe_orbit::shells::SHELLS).to_string()
}

/// The path between two ground points over time.
#[pyfunction]
#[pyo3(signature = (request_json, progress = None))]
pub(crate) fn orbit_path<'py>(
    py: Python<'py>,
    request_json: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let request = Request::from_json(request_json).map_err(wrong)?;
    let failure = Failure::default();
    let reminder = Reminder::every(Duration::from_millis(100));
    let result = py.detach(|| {
        bentpipe_orbit::path(&request, &mut |share| {
            !reminder.is_due() || failure.report(progress.as_ref(), share)
        })
    });
    if let Some(error) = failure.take() {
        return Err(error);
    }
    let timetable = result.map_err(|error| match error {
        OrbitError::Interrupted => PyKeyboardInterrupt::new_err(()),
        other => wrong(other),
    })?;
    if let Some(p) = progress {
        p.call1(py, (1.0,))?;
    }
    to_python(py, timetable)
}

fn to_python(py: Python<'_>, timetable: Timetable) -> PyResult<Bound<'_, PyDict>> {
    let out = PyDict::new(py);
    let info = json!({
        "epoch": timetable.epoch, "satellites": timetable.satellites, "mode": timetable.mode.name(),
        "min_elevation_deg": timetable.min_elevation_deg, "shell": timetable.shell, "warnings": timetable.warnings,
    });
    out.set_item("columns", columns(py, timetable.columns)?)?;
    out.set_item("routes", timetable.routes)?;
    out.set_item("info", info.to_string())?;
    Ok(out)
}

/// A dict with the named columns of a table, which must be all.
macro_rules! columns {
    ($py:expr, $rows:expr; $($column:ident),*) => {{
        let Columns { $($column),* } = $rows;
        let out = PyDict::new($py);
        $(out.set_item(stringify!($column), PyArray1::from_vec($py, $column))?;)*
        Ok(out)
    }};
}

fn columns(py: Python<'_>, rows: Columns) -> PyResult<Bound<'_, PyDict>> {
    columns!(py, rows;
        t_s, rtt_ms, first_sat, last_sat, gateway, hops, reachable, up, handover, access, first_elevation_deg,
        last_elevation_deg, a_in_reach, b_in_reach, route
    )
}

/// Where satellites and ground points are at one instant.
#[pyfunction]
pub(crate) fn orbit_snapshot<'py>(
    py: Python<'py>,
    request_json: &str,
    t_s: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let request = Request::from_json(request_json).map_err(wrong)?;
    let shot = bentpipe_orbit::snapshot(&request, t_s).map_err(wrong)?;
    let out = PyDict::new(py);
    out.set_item("sat", PyArray1::from_vec(py, shot.sat))?;
    out.set_item("lat", PyArray1::from_vec(py, shot.lat))?;
    out.set_item("lon", PyArray1::from_vec(py, shot.lon))?;
    out.set_item("alt_km", PyArray1::from_vec(py, shot.alt_km))?;
    out.set_item("points", shot.points)?;
    out.set_item("lasers", shot.lasers)?;
    Ok(out)
}
