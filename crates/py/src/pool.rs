//! Many runs on threads, handed out as they come.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bentpipe_sim::{Finished, RunPool};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::{RawResult, clock, plan, run_error};

/// How long a wait goes on without a look for signals.
const LOOK: Duration = Duration::from_millis(20);

type Result = PyResult<RawResult>;

/// Threads that run scenarios, which they also read and check; 0: one a core.
#[pyclass(frozen)]
pub(crate) struct Threads(Mutex<RunPool<Result>>);

#[pymethods]
impl Threads {
    #[new]
    #[pyo3(signature = (threads = 0))]
    fn new(threads: usize) -> PyResult<Self> {
        Ok(Self(Mutex::new(RunPool::new(threads)?)))
    }

    /// How many threads there are.
    #[getter]
    fn threads(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).threads()
    }

    /// Gives a scenario as JSON to the next free thread; `number` is what its result is called by.
    fn start(&self, number: u64, scenario_json: String) {
        let pool = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pool.start(
            number,
            Box::new(move |stop| {
                let (scenario, plan) = plan(&scenario_json)?;
                let began = clock();
                let mut watch = |_| !stop.load(Ordering::Relaxed);
                let outcome = bentpipe_sim::run(&plan, &mut bentpipe_sim::no_supply, &mut watch);
                let mut outcome = outcome.map_err(run_error)?;
                outcome.report.wall_s = began.elapsed().as_secs_f64();
                Ok(RawResult { outcome, scenario })
            }),
        );
    }

    /// Waits for a result, or as long as that, and gives all that there are: pairs of a number, and the
    /// result or the exception.
    fn finished(&self, py: Python<'_>, timeout_s: f64) -> PyResult<Vec<(u64, Py<PyAny>)>> {
        let until = clock() + Duration::try_from_secs_f64(timeout_s).unwrap_or(LOOK);
        let mut found = Vec::new();
        loop {
            let wait = until.saturating_duration_since(clock()).min(LOOK);
            let next = py.detach(|| {
                let pool = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                let first = pool.finished(wait);
                let rest = std::iter::from_fn(|| pool.finished(Duration::ZERO));
                first.into_iter().chain(rest).collect::<Vec<_>>()
            });
            for (number, result) in next {
                found.push((number, given(py, result)?));
            }
            py.check_signals()?;
            if !found.is_empty() || clock() >= until {
                return Ok(found);
            }
        }
    }

    /// Ends the runs in hand, forgets those that wait, and waits for the threads.
    fn stop(&self, py: Python<'_>) {
        py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).stop());
    }
}

fn given(py: Python<'_>, result: Finished<Result>) -> PyResult<Py<PyAny>> {
    match result {
        Ok(Ok(raw)) => Ok(Py::new(py, raw)?.into_any()),
        Ok(Err(error)) => Ok(error.into_value(py).into_any()),
        Err(panic) => {
            Ok(PyRuntimeError::new_err(format!("a run panicked: {panic}")).into_value(py).into_any())
        }
    }
}
