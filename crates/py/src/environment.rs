//! Environments for agents that learn, many behind one call.

use std::sync::{Mutex, PoisonError};

use bentpipe_sim::environment::{ALL_MEASURES, Batch, EnvironmentError, Fresh, Settings, Stepped};
use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde_json::json;

use crate::{ScenarioError, mistaken, run_error};

/// The measures of an interval as JSON: a list of name, bounds, neutral value and text.
#[pyfunction]
pub(crate) fn measures() -> String {
    let row = |m: bentpipe_sim::environment::Measure| json!({"name": m.name, "low": m.low, "high": m.high, "neutral": m.neutral, "about": m.about});
    json!(ALL_MEASURES.map(row)).to_string()
}

/// Environments that advance together.
#[pyclass(frozen)]
pub(crate) struct Environments(Mutex<Batch>);

/// Arrays that a call fills: observations, rewards, and so on, as [`Stepped`] has them.
#[derive(FromPyObject)]
pub(crate) struct Arrays<'py> {
    #[pyo3(item)]
    actions: PyReadonlyArray1<'py, f64>,
    #[pyo3(item)]
    observations: PyReadwriteArray1<'py, f32>,
    #[pyo3(item)]
    rewards: PyReadwriteArray1<'py, f64>,
    #[pyo3(item)]
    complete: PyReadwriteArray1<'py, bool>,
    #[pyo3(item)]
    cut_off: PyReadwriteArray1<'py, bool>,
    #[pyo3(item)]
    measures: PyReadwriteArray1<'py, f64>,
}

#[pymethods]
impl Environments {
    #[new]
    fn new(settings: &str, count: usize, threads: usize) -> PyResult<Self> {
        let settings: Settings =
            serde_json::from_str(settings).map_err(|e| ScenarioError::new_err(e.to_string()))?;
        settings.check().map_err(ScenarioError::new_err)?;
        Ok(Self(Mutex::new(Batch::new(settings, count, threads))))
    }

    /// Begins the episodes of `fresh` (number, scenario as JSON, first rate of each agent), and makes a step
    /// in each other environment unless `only_fresh`.
    fn step(
        &self,
        py: Python<'_>,
        arrays: Arrays<'_>,
        fresh: Vec<(usize, String, Vec<f64>)>,
        only_fresh: bool,
    ) -> PyResult<()> {
        let Arrays { actions, mut observations, mut rewards, mut complete, mut cut_off, mut measures } =
            arrays;
        let actions = actions.as_slice()?;
        let into = Stepped {
            observations: observations.as_slice_mut()?,
            rewards: rewards.as_slice_mut()?,
            complete: complete.as_slice_mut()?,
            cut_off: cut_off.as_slice_mut()?,
            measures: measures.as_slice_mut()?,
        };
        let fresh =
            fresh.into_iter().map(|(number, scenario, start)| Fresh { number, scenario, start }).collect();
        py.detach(|| {
            let mut batch = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if !batch.fits(actions, &into) {
                return Err(None);
            }
            batch.step(actions, fresh, only_fresh, into).map_err(Some)
        })
        .map_err(|error| match error {
            None => PyValueError::new_err("arrays of another length than that of the environments"),
            Some(EnvironmentError::Scenario(error)) => mistaken(error),
            Some(EnvironmentError::Run(error)) => run_error(error),
            Some(error @ EnvironmentError::Flow { .. }) => ScenarioError::new_err(error.to_string()),
            Some(error) => PyRuntimeError::new_err(error.to_string()),
        })
    }
}
