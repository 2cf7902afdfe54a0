//! The Python module `bentpipe._core`: thin, no logic. Scenarios come in as JSON, results go
//! out as JSON and columns.

mod aside;
mod constellation;
mod controller;
mod drawn;
#[cfg(target_os = "linux")]
mod emulation;
mod environment;
mod failure;
mod kernel;
mod orbit;
mod pool;
mod reminder;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bentpipe_cc::probe;
use bentpipe_cc::registry::{self, Kind, Marks, Value};
use bentpipe_drill::{Manner, Verdict};
use bentpipe_sim::constellation::make_constellations_by;
use bentpipe_sim::pcap::{Capture, CaptureError, Place};
use bentpipe_sim::plan::Plan;
use bentpipe_sim::record::{Column, Outcome, RowsOfTables, SegmentEvent};
use bentpipe_sim::scenario::{self, SWEEP_KEYS};
use bentpipe_sim::{EVENTS_PER_LOOK, FileError, LOOKS_PER_COUNT, RunError, Scenario};
use numpy::PyArray1;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use serde_json::json;

use aside::aside;
use controller::PyController;
use failure::{ControllerError, Failure};
use reminder::Reminder;

pyo3::create_exception!(
    bentpipe._core,
    ScenarioError,
    PyValueError,
    "A scenario that is wrong; the message says what and where."
);

/// The registry of controllers as JSON.
#[pyfunction]
fn controllers() -> String {
    let entries: Vec<_> = registry::all().iter().map(entry).collect();
    json!(entries).to_string()
}

/// The registry of queues as JSON.
#[pyfunction]
fn queues() -> String {
    json!(bentpipe_sim::queue::all()).to_string()
}

fn entry(e: &'static registry::Entry) -> serde_json::Value {
    let refused = e.refuses_slow_start();
    let needs = e.needs();
    let params: Vec<_> = e.offered().enumerate().map(|(i, p)| param(p, i >= e.params.len())).collect();
    let probes: Vec<_> =
        e.probes().into_iter().map(|name| json!({ "unit": probe::unit(&name), "name": name })).collect();
    json!({
        "id": e.id, "label": e.label, "about": e.about, "source": e.source, "reference": e.reference,
        "grade": format!("{:?}", e.grade), "colour": e.colour, "marker": e.marker, "params": params, "probes": probes,
        "refuses_slow_start": refused, "uses_path_hints": needs.path_change,
        "uses_extra_segments": needs.extra_segments, "uses_receiver": needs.echo.is_some(), "uses_subflows": needs.subflows,
        "header": e.sender.header, "queue": e.sender.queue,
        "sender": {
            "aen": e.sender.aen, "bulk_repeat": e.sender.bulk_repeat, "fixed_rto": e.sender.fixed_rto,
            "dctcp": e.sender.marks == Marks::Dctcp, "l4s": e.sender.marks == Marks::L4s,
        },
    })
}

fn param(p: &registry::Param, shared: bool) -> serde_json::Value {
    let (kind, min, max, choices) = match p.kind {
        Kind::Number { min, max, .. } => ("number", Some(min), Some(max), None),
        Kind::Flag { .. } => ("flag", None, None, None),
        Kind::Choice(names) => ("choice", None, None, Some(names)),
    };
    let default = match p.default() {
        Value::Number(x) => json!(x),
        Value::Flag(b) => json!(b),
        Value::Text(t) => json!(t),
    };
    json!({
        "name": p.name, "kind": kind, "default": default, "min": min, "max": max, "choices": choices,
        "unit": p.unit, "about": p.about, "from_path": p.from_path.map(|f| format!("{f:?}")),
        "shared": shared,
    })
}

fn wrong(error: impl std::fmt::Display) -> PyErr {
    ScenarioError::new_err(error.to_string())
}

/// All mistakes of a scenario as one exception; its `mistakes` are the lines of its text.
fn mistaken(error: bentpipe_sim::Error) -> PyErr {
    let raised = wrong(&error);
    Python::attach(|py| failure::with_lines(py, &raised, "mistakes", error.lines()));
    raised
}

fn to_json(scenario: &Scenario) -> PyResult<String> {
    serde_json::to_string(scenario).map_err(wrong)
}

/// The text of a scenario, read and parsed once: that of a file, or the one that is given.
#[pyclass(frozen)]
struct ScenarioText(Arc<scenario::ScenarioText>);

#[pymethods]
impl ScenarioText {
    /// Messages call it `name`.
    #[new]
    #[pyo3(signature = (name, path = None, text = None))]
    fn new(
        py: Python<'_>,
        name: String,
        path: Option<PathBuf>,
        text: Option<String>,
    ) -> PyResult<ScenarioText> {
        let read = aside(py, move || match path {
            Some(path) => scenario::ScenarioText::read(&path, &name),
            None => Ok(scenario::ScenarioText::new(text.unwrap_or_default(), &name)),
        })?;
        Ok(ScenarioText(Arc::new(read.map_err(mistaken)?)))
    }

    /// The text as it was written.
    #[getter]
    fn text(&self) -> &str {
        &self.0.text
    }

    /// The scenario with overrides, checked, as JSON. Of the file of a sweep, what it varies is left out.
    #[pyo3(signature = (overrides = Vec::new(), sweep = false))]
    fn load(&self, py: Python<'_>, overrides: Vec<(String, String)>, sweep: bool) -> PyResult<String> {
        let text = Arc::clone(&self.0);
        checked(py, move || text.scenario(if sweep { &SWEEP_KEYS } else { &[] }, &overrides))
    }
}

/// The scenario that `read` gives, once it has been resolved, as JSON.
fn checked(
    py: Python<'_>,
    read: impl FnOnce() -> Result<Scenario, bentpipe_sim::Error> + Send + 'static,
) -> PyResult<String> {
    let scenario = aside(py, || read().and_then(|scenario| scenario.resolve().map(|_| scenario)))?;
    to_json(&scenario.map_err(mistaken)?)
}

/// The units of time (in nanoseconds), rate (bits per second) and size (bytes) as JSON: of each unit the
/// factor and the spellings.
#[pyfunction]
fn units() -> PyResult<String> {
    serde_json::to_string(&bentpipe_sim::units::tables()).map_err(wrong)
}

/// Those of `names` that look like `wrong`, best first, at most three.
#[pyfunction]
fn nearest(wrong: &str, names: Vec<String>) -> Vec<String> {
    bentpipe_sim::error::nearest(wrong, names.iter().map(String::as_str))
        .into_iter()
        .map(str::to_owned)
        .collect()
}

/// The parts of a dotted key, as `set` reads it; `None` if it is none.
#[pyfunction]
fn key_parts(key: &str) -> Option<Vec<String>> {
    bentpipe_sim::scenario::key_parts(key)
}

/// Checks a scenario given as JSON; returns it with its defaults.
#[pyfunction]
fn check(py: Python<'_>, scenario_json: String) -> PyResult<String> {
    checked(py, move || Scenario::from_json(&scenario_json)?.with_defaults())
}

/// The bytes of a regular file of at most `limit` bytes, read as the simulator reads the files that a
/// scenario names; with `head`, the first of them, of a file of any size.
#[pyfunction]
#[pyo3(signature = (path, limit, head = false))]
fn read_file(py: Python<'_>, path: PathBuf, limit: u64, head: bool) -> PyResult<Bound<'_, PyBytes>> {
    let read = if head { bentpipe_sim::read_head } else { bentpipe_sim::read_file };
    let bytes = py.detach(|| read(&path, limit)).map_err(|error| match error {
        FileError::Io(error) => match error.raw_os_error() {
            // With number and name, so that Python has its subclass of OSError.
            Some(number) => {
                let words = error.to_string();
                let words = words.split(" (os error").next().unwrap_or_default().to_owned();
                PyOSError::new_err((number, words, path.into_os_string()))
            }
            None => error.into(),
        },
        FileError::Refused(why) => wrong(format!("{}: {why}", path.display())),
    })?;
    Ok(PyBytes::new(py, &bytes))
}

/// The JSON Schema of scenarios.
#[pyfunction]
fn schema() -> String {
    bentpipe_sim::schema()
}

/// The random scenario that bytes encode, as TOML; `losses` is the file that its traces
/// of losses name. For tests.
#[pyfunction]
fn random_scenario(data: &[u8], losses: &str) -> String {
    bentpipe_sim::random_scenario(data, losses)
}

/// What one run yielded.
#[pyclass(frozen)]
struct RawResult {
    outcome: Outcome,
    scenario: Scenario,
}

/// The kinds of the columns of all tables of a run, as JSON: a row of each, of zeros and empty texts.
#[pyfunction]
fn tables() -> PyResult<String> {
    serde_json::to_string(&RowsOfTables::default()).map_err(wrong)
}

/// A dict of the columns of a trace.
fn table<'py>(py: Python<'py>, columns: Vec<(&'static str, Column)>) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    for (name, column) in columns {
        match column {
            Column::F64(values) => out.set_item(name, PyArray1::from_vec(py, values)),
            Column::U64(values) => out.set_item(name, PyArray1::from_vec(py, values)),
            Column::U32(values) => out.set_item(name, PyArray1::from_vec(py, values)),
            Column::U8(values) => out.set_item(name, PyArray1::from_vec(py, values)),
        }?;
    }
    Ok(out)
}

#[pymethods]
impl RawResult {
    /// The summary as one JSON object.
    #[getter]
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&self.outcome.report).map_err(|e| PyRuntimeError::new_err(e.to_string()))
    }

    /// The scenario that was run, every default filled in, as JSON.
    #[getter]
    fn scenario(&self) -> PyResult<String> {
        to_json(&self.scenario.with_defaults().map_err(wrong)?)
    }

    /// Samples of the flows, a column a name.
    fn trace<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        table(py, self.outcome.flows.trace().into_columns())
    }

    /// Samples of the ports of the constellation.
    fn port_trace<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        table(py, self.outcome.ports.clone().into_columns())
    }

    /// Samples of the links, a column a name.
    fn link_trace<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        table(py, self.outcome.links.trace().into_columns())
    }

    /// Samples of the probes of controllers, a column a name.
    fn probes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        table(py, self.outcome.probes.trace().into_columns())
    }

    /// Segments, a column a name.
    fn segments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        table(py, self.outcome.segments.clone().into_columns())
    }

    /// Transfers of applications, a column a name.
    fn transfers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        table(py, self.outcome.transfers.clone().into_columns())
    }

    /// Names behind the numbers of the column `event`.
    #[getter]
    fn event_names(&self) -> [&'static str; 5] {
        SegmentEvent::NAMES
    }

    /// Names behind the indices of the column `flow` of traces: each connection of a
    /// source of short flows has one.
    #[getter]
    fn flow_names(&self) -> Vec<String> {
        self.outcome.names.clone()
    }

    /// Names behind the numbers of the column `probe`.
    #[getter]
    fn probe_names(&self) -> Vec<String> {
        self.outcome.probes.names().to_vec()
    }

    /// Names behind the indices of the column `link`.
    #[getter]
    fn link_names(&self) -> Vec<String> {
        self.outcome.report.links.iter().map(|l| format!("{}/{}", l.name, l.direction)).collect()
    }
}

fn plan(scenario_json: &str) -> PyResult<(Scenario, Plan)> {
    let scenario = Scenario::from_json(scenario_json).map_err(mistaken)?;
    let plan = scenario.resolve().map_err(mistaken)?;
    Ok((scenario, plan))
}

#[expect(
    clippy::disallowed_methods,
    reason = "wall_s is the real time that a run took; nothing simulated reads it"
)]
fn clock() -> Instant {
    Instant::now()
}

/// Runs one scenario. A capture is a path, a place, and whether whole packets are kept. A run without one may use
/// several threads.
#[pyfunction]
#[pyo3(signature = (scenario_json, controllers = None, progress = None, capture = None, threads = 1))]
fn run(
    py: Python<'_>,
    scenario_json: &str,
    controllers: Option<BTreeMap<String, Py<PyAny>>>,
    progress: Option<Py<PyAny>>,
    capture: Option<(PathBuf, String, bool)>,
    threads: usize,
) -> PyResult<RawResult> {
    let (scenario, plan) = plan(scenario_json)?;
    let capture = capture.map(|(path, at, whole)| Capture { path, at: Place::named(&at), whole });
    let failure = Failure::default();
    let controllers = controllers.unwrap_or_default();
    let began = clock();
    let reminder = Reminder::every(Duration::from_millis(50));
    let mut looks = 0_u64;
    let mut made: Vec<Py<PyAny>> = Vec::new();
    let result = py.detach(|| {
        let mut supply = |key: &str, flow: &str, start: bentpipe_cc::Start| {
            let factory =
                controllers.get(key).ok_or_else(|| format!("no controller was supplied under {key:?}"))?;
            let built = Python::attach(|py| PyController::build(py, factory, flow, start, failure.clone()));
            let (controller, object) = built.map_err(|e| failure.set_and_say(e))?;
            made.push(object);
            Ok(controller)
        };
        let mut watch = |share| {
            if failure.is_set() {
                return false; // whatever the clock says: what a failed run has captured is not kept
            }
            looks += 1;
            let progress = progress.as_ref().filter(|_| looks.is_multiple_of(LOOKS_PER_COUNT));
            if progress.is_none() && !reminder.is_due() {
                return true;
            }
            failure.report(progress, share)
        };
        match &capture {
            None => bentpipe_sim::run_on_threads(&plan, threads, &mut supply, &mut watch),
            some => bentpipe_sim::run_captured(&plan, some.as_ref(), &mut supply, &mut watch),
        }
    });
    if let Some(error) = failure.take() {
        return Err(error);
    }
    let mut outcome = result.map_err(run_error)?;
    outcome.report.wall_s = began.elapsed().as_secs_f64();
    if !made.is_empty() {
        let look = py.import("bentpipe.controller")?.getattr("misspelt")?;
        outcome.report.warnings.extend(look.call1((made,))?.extract::<Vec<String>>()?);
    }
    Ok(RawResult { outcome, scenario })
}

/// Test vectors of the controller of the scenario's first flow that has one of the registry's.
#[pyfunction]
fn vectors(
    py: Python<'_>,
    scenario_json: &str,
    sequences: u32,
    calls: usize,
    without: Vec<String>,
) -> PyResult<String> {
    let (_, plan) = plan(scenario_json)?;
    py.detach(|| bentpipe_sim::vectors::vectors(&plan, sequences, calls, &without)).map_err(run_error)
}

/// Plays a packetdrill script: what came of it in a word, the line that is to blame (0: none), and what it says.
#[pyfunction]
fn drill(py: Python<'_>, text: &str, strict: bool) -> (&'static str, usize, String) {
    let manner = if strict { Manner::Strict } else { Manner::Lenient };
    let Verdict { word, line, message } = py.detach(|| bentpipe_drill::verdict(text, manner));
    (word, line, message)
}

fn run_error(error: RunError) -> PyErr {
    match error {
        RunError::Interrupted => PyKeyboardInterrupt::new_err(()),
        RunError::Capture(CaptureError::Write { path, source }) => {
            // With the kind, so that Python has its subclass of OSError; the words are those of the error.
            let kind = source.kind();
            std::io::Error::new(kind, CaptureError::Write { path, source }).into()
        }
        bug @ RunError::Law { .. } => PyRuntimeError::new_err(bug.to_string()),
        other => wrong(other),
    }
}

/// A Parquet file as CSV text, by `bentpipe.timeline.format`; `Err` is one line.
fn parquet(path: &Path) -> Result<String, String> {
    Python::attach(|py| {
        let read = py.import("bentpipe.timeline.format")?.getattr("as_csv")?.call1((path,))?;
        read.extract::<String>()
    })
    .map_err(failure::in_one_line)
}

/// Bentpipe's engine.
#[pymodule]
fn _core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    bentpipe_sim::read_tables_by(Box::new(parquet));
    make_constellations_by(Box::new(constellation::constellation));
    for (kind, name) in
        [(m.py().get_type::<ScenarioError>(), "mistakes"), (m.py().get_type::<ControllerError>(), "lines")]
    {
        kind.setattr(name, PyTuple::empty(m.py()))?;
        m.add(kind.name()?, kind)?;
    }
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add("VECTOR_EVENTS", bentpipe_sim::vectors::EVENTS)?;
    m.add("EVENTS_PER_PROGRESS", EVENTS_PER_LOOK * LOOKS_PER_COUNT)?;
    m.add_class::<ScenarioText>()?;
    m.add_class::<RawResult>()?;
    m.add_class::<pool::Threads>()?;
    m.add_class::<environment::Environments>()?;
    #[cfg(target_os = "linux")]
    m.add_class::<emulation::EmulatedNetwork>()?;
    m.add_class::<kernel::KernelAgent>()?;
    m.add_class::<kernel::KernelGroup>()?;
    m.add("KernelError", m.py().get_type::<kernel::KernelError>())?;
    m.add_function(wrap_pyfunction!(controllers, m)?)?;
    m.add_function(wrap_pyfunction!(queues, m)?)?;
    m.add_function(wrap_pyfunction!(units, m)?)?;
    m.add_function(wrap_pyfunction!(nearest, m)?)?;
    m.add_function(wrap_pyfunction!(check, m)?)?;
    m.add_function(wrap_pyfunction!(key_parts, m)?)?;
    m.add_function(wrap_pyfunction!(read_file, m)?)?;
    m.add_function(wrap_pyfunction!(schema, m)?)?;
    m.add_function(wrap_pyfunction!(random_scenario, m)?)?;
    m.add_function(wrap_pyfunction!(tables, m)?)?;
    m.add_function(wrap_pyfunction!(drawn::drawn_profiles, m)?)?;
    m.add_function(wrap_pyfunction!(drawn::drawn_line, m)?)?;
    m.add_function(wrap_pyfunction!(run, m)?)?;
    m.add_function(wrap_pyfunction!(vectors, m)?)?;
    m.add_function(wrap_pyfunction!(drill, m)?)?;
    m.add_function(wrap_pyfunction!(environment::measures, m)?)?;
    m.add_function(wrap_pyfunction!(orbit::orbit_shells, m)?)?;
    m.add_function(wrap_pyfunction!(orbit::orbit_path, m)?)?;
    m.add_function(wrap_pyfunction!(orbit::orbit_network, m)?)?;
    m.add_function(wrap_pyfunction!(orbit::orbit_snapshot, m)?)?;
    m.add_function(wrap_pyfunction!(kernel::kernel_support, m)?)?;
    m.add_function(wrap_pyfunction!(kernel::kernel_gaps, m)?)?;
    m.add_function(wrap_pyfunction!(kernel::kernel_sweep_groups, m)?)?;
    m.add_function(wrap_pyfunction!(kernel::kernel_status, m)?)?;
    m.add_function(wrap_pyfunction!(kernel::kernel_detach, m)?)?;
    Ok(())
}
