//! Paths over satellites in motion: a request comes in as JSON, columns go out.

use std::time::Duration;

use bentpipe_orbit::{
    Columns, FailedPart, Knots, Network, NetworkRequest, OrbitError, PathChanges, Request, TableChanges,
    Timetable,
};
use numpy::{PyArray1, PyArray2};
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
    let timetable = watched(py, progress, |go_on| bentpipe_orbit::path(&request, go_on))?;
    to_python(py, timetable)
}

/// Does work that reports its share, and stops it at Ctrl-C.
fn watched<T: Send>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&mut dyn FnMut(f64) -> bool) -> Result<T, OrbitError> + Send,
) -> PyResult<T> {
    let failure = Failure::default();
    let reminder = Reminder::every(Duration::from_millis(100));
    let result =
        py.detach(|| work(&mut |share| !reminder.is_due() || failure.report(progress.as_ref(), share)));
    if let Some(error) = failure.take() {
        return Err(error);
    }
    let done = result.map_err(|error| match error {
        OrbitError::Interrupted => PyKeyboardInterrupt::new_err(()),
        other => wrong(other),
    })?;
    if let Some(p) = progress {
        p.call1(py, (1.0,))?;
    }
    Ok(done)
}

/// The forwarding tables of a constellation, and the paths between its stations, over time.
#[pyfunction]
#[pyo3(signature = (request_json, progress = None))]
pub(crate) fn orbit_network<'py>(
    py: Python<'py>,
    request_json: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let request = NetworkRequest::from_json(request_json).map_err(wrong)?;
    let made = watched(py, progress, |go_on| bentpipe_orbit::network(&request, go_on))?;
    let Network { tables, paths, failed, knots, satellites, lasers, tles, epoch, shell, .. } = made;
    let (min_elevation_deg, warnings) = (made.min_elevation_deg, made.warnings);
    let out = PyDict::new(py);
    let TableChanges { t_ns, node, destination, next } = tables;
    let rows = PyDict::new(py);
    rows.set_item("t_ns", PyArray1::from_vec(py, t_ns))?;
    rows.set_item("node", PyArray1::from_vec(py, node))?;
    rows.set_item("destination", PyArray1::from_vec(py, destination))?;
    rows.set_item("next", PyArray1::from_vec(py, next))?;
    out.set_item("tables", rows)?;
    let PathChanges { t_ns, from, to, delay_ns, via, ends } = paths;
    let rows = PyDict::new(py);
    rows.set_item("t_ns", PyArray1::from_vec(py, t_ns))?;
    rows.set_item("from", PyArray1::from_vec(py, from))?;
    rows.set_item("to", PyArray1::from_vec(py, to))?;
    rows.set_item("delay_ns", PyArray1::from_vec(py, delay_ns))?;
    out.set_item("paths", rows)?;
    out.set_item("via", PyArray1::from_vec(py, via))?;
    out.set_item("ends", PyArray1::from_vec(py, ends))?;
    let part = |which: fn(FailedPart) -> Option<u32>| {
        failed.iter().map(|one| which(one.part).map_or(-1, i64::from)).collect::<Vec<i64>>()
    };
    let node = part(|part| if let FailedPart::Node(node) = part { Some(node) } else { None });
    let laser = part(|part| if let FailedPart::Laser(laser) = part { Some(laser) } else { None });
    let rows = PyDict::new(py);
    rows.set_item("node", PyArray1::from_vec(py, node))?;
    rows.set_item("laser", PyArray1::from_vec(py, laser))?;
    rows.set_item("from_ns", PyArray1::from_vec(py, failed.iter().map(|one| one.from_ns).collect()))?;
    rows.set_item("to_ns", PyArray1::from_vec(py, failed.iter().map(|one| one.to_ns).collect()))?;
    out.set_item("failed", rows)?;
    if let Some(Knots { first_ns, spacing_ns, xyz_km, .. }) = knots {
        let rows = PyDict::new(py);
        rows.set_item("first_ns", first_ns)?;
        rows.set_item("spacing_ns", spacing_ns)?;
        rows.set_item("xyz_km", PyArray2::from_owned_array(py, numpy::ndarray::arr2(&xyz_km)))?;
        out.set_item("knots", rows)?;
    }
    out.set_item("satellites", PyArray1::from_vec(py, satellites))?;
    out.set_item("lasers", lasers)?;
    out.set_item("tles", tles)?;
    out.set_item(
        "info",
        json!({
            "epoch": epoch, "shell": shell, "min_elevation_deg": min_elevation_deg, "warnings": warnings,
        })
        .to_string(),
    )?;
    Ok(out)
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
