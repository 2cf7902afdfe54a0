//! Constellations for the simulator, worked out by `bentpipe.orbit.simulated`.

use bentpipe_sim::constellation::{Changes, Constellation, Failed, Knots};
use numpy::{PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::failure::in_one_line;

/// The constellation of a request (`bentpipe_sim::constellation::make_constellations_by`); `Err` is one line.
pub(crate) fn constellation(request: &str) -> Result<Constellation, String> {
    Python::attach(|py| {
        let made = py.import("bentpipe.orbit.simulated")?.getattr("constellation")?.call1((request,))?;
        read(made.cast()?)
    })
    .map_err(in_one_line)
}

fn read(made: &Bound<'_, PyDict>) -> PyResult<Constellation> {
    let item = |key: &str| made.as_any().get_item(key);
    let stations: Vec<String> = item("stations")?.extract()?;
    let failed = |(a, b, from_ns, to_ns)| Failed { ends: (a, b), from_ns, to_ns };
    let satellites = item("satellites")?.extract()?;
    let xyz_km: PyReadonlyArray2<'_, f64> = item("xyz_km")?.extract()?;
    let xyz_km = xyz_km.as_array().outer_iter().map(|row| [row[0], row[1], row[2]]).collect();
    let column = |key: &str| -> PyResult<Vec<u32>> {
        Ok(item(key)?.extract::<PyReadonlyArray1<'_, u32>>()?.to_vec()?)
    };
    Ok(Constellation {
        satellites,
        inhabitants: item("inhabitants")?.extract()?,
        lasers: item("lasers")?.extract()?,
        knots: Knots {
            first_ns: item("first_ns")?.extract()?,
            spacing_ns: item("spacing_ns")?.extract()?,
            nodes: satellites as usize + stations.len(),
            xyz_km,
        },
        changes: Changes {
            at_ns: item("at_ns")?.extract::<PyReadonlyArray1<'_, u64>>()?.to_vec()?,
            node: column("node")?,
            destination: column("destination")?,
            next: item("next")?.extract::<PyReadonlyArray1<'_, i64>>()?.to_vec()?,
        },
        failed: item("failed")?.extract::<Vec<(u32, u32, u64, u64)>>()?.into_iter().map(failed).collect(),
        warnings: item("warnings")?.extract()?,
        stations,
    })
}
