//! The kernel's datapath and its agent, for Python. Without the feature `kernel` the same names exist
//! and say what is missing.

use bentpipe_cc::registry;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

pyo3::create_exception!(
    bentpipe._core,
    KernelError,
    PyRuntimeError,
    "The kernel's datapath could not be used; the message is one line."
);

/// What this machine and this build can do for `bentpipe kernel`, as JSON.
#[pyfunction]
pub(crate) fn kernel_support() -> String {
    bentpipe_kernel::support::json().to_string()
}

/// What the kernel's TCP cannot carry of an algorithm, a sentence each.
#[pyfunction]
pub(crate) fn kernel_gaps(name: &str) -> PyResult<Vec<String>> {
    let unknown = registry::Error::UnknownAlgorithm { id: name.to_owned() };
    registry::find(name).map(bentpipe_kernel::gaps).ok_or_else(|| KernelError::new_err(unknown.to_string()))
}

#[cfg(feature = "kernel")]
pub(crate) use built::*;
#[cfg(not(feature = "kernel"))]
pub(crate) use missing::*;

#[cfg(feature = "kernel")]
mod built {
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
    use std::sync::{Arc, Mutex, PoisonError};
    use std::thread::JoinHandle;
    use std::time::Duration;

    use bentpipe_cc::registry::{self, Value};
    use bentpipe_cc::{Controller, Start};
    use bentpipe_kernel::agent::{Agent, Maker, Manner, Step};
    use bentpipe_kernel::chosen_group::ChosenGroup;
    use bentpipe_kernel::datapath::{self, Datapath, Native, Settings};
    use bentpipe_kernel::slots::Slots;
    use bentpipe_kernel::{clock, status};
    use pyo3::prelude::*;
    use pyo3::types::PyDict;

    use super::KernelError;
    use crate::controller::PyController;
    use crate::failure::{Failure, number};

    fn kernel_error(error: impl std::fmt::Display) -> PyErr {
        KernelError::new_err(error.to_string())
    }

    /// A controller of the registry with its parameters.
    struct Registered {
        id: String,
        given: Vec<(String, Value)>,
    }

    impl Maker for Registered {
        fn make(&mut self, _: &str, start: Start) -> Result<Box<dyn Controller>, String> {
            registry::build(&self.id, &self.given, start).map_err(|e| e.to_string())
        }
    }

    /// A controller written in Python.
    struct Written {
        factory: Py<PyAny>,
        failure: Failure,
    }

    impl Maker for Written {
        fn make(&mut self, flow: &str, start: Start) -> Result<Box<dyn Controller>, String> {
            let built = Python::attach(|py| {
                PyController::build(py, &self.factory, flow, start, self.failure.clone())
            });
            built.map(|(controller, _)| controller).map_err(|e| self.failure.set_and_say(e))
        }

        fn health(&self) -> Result<(), String> {
            if self.failure.is_set() { Err("a controller written in Python failed".into()) } else { Ok(()) }
        }
    }

    /// The maker for `spec`, and what to call it.
    fn maker(spec: &Bound<'_, PyAny>, failure: &Failure) -> PyResult<(Box<dyn Maker + Send>, String)> {
        let mut given = Vec::new();
        let id: String = if let Ok(name) = spec.extract() {
            name
        } else if let Ok(table) = spec.cast::<PyDict>() {
            let mut id = None;
            for (key, value) in table {
                let key: String = key.extract()?;
                if key == "name" {
                    id = Some(value.extract()?);
                } else if let Ok(flag) = value.extract::<bool>() {
                    given.push((key, Value::Flag(flag)));
                } else if let Some(x) = number(&value) {
                    given.push((key, Value::Number(x)));
                } else {
                    given.push((key, Value::Text(value.extract()?)));
                }
            }
            id.ok_or_else(|| kernel_error("a controller's table needs a name"))?
        } else {
            let factory = spec.clone().unbind();
            let name = spec.getattr("__name__").map_or_else(|_| "controller".into(), |n| n.to_string());
            return Ok((Box::new(Written { factory, failure: failure.clone() }), name));
        };
        let start = Start { mss: 1448, initial_window: 10.0, initial_ssthresh: f64::INFINITY };
        registry::build(&id, &given, start).map_err(kernel_error)?;
        let given = registry::with(&given, registry::in_linux(&id));
        Ok((Box::new(Registered { id: id.clone(), given }), id))
    }

    /// What serves the datapath.
    enum Work {
        /// A thread; it says its end.
        Agent { stop: Arc<AtomicBool>, thread: JoinHandle<()>, slots: Arc<Slots> },
        /// The kernel alone.
        Native { _native: Native },
    }

    /// A controller in the kernel's TCP: the datapath, and a thread that serves it.
    #[pyclass(frozen)]
    pub(crate) struct KernelAgent {
        name: String,
        work: Mutex<Option<Work>>,
        failure: Failure,
        /// Where the thread says how it ended.
        end: Option<Mutex<Receiver<Result<(), String>>>>,
        /// That, once it is known.
        ended: Mutex<Option<Result<(), String>>>,
    }

    #[pymethods]
    impl KernelAgent {
        #[new]
        #[pyo3(signature = (spec, *, name = None, native = false, pin = None, flows = 8192, ring_bytes = 4 << 20, paced = false))]
        #[expect(clippy::too_many_arguments, reason = "keywords, in Python")]
        fn new(
            py: Python<'_>,
            spec: &Bound<'_, PyAny>,
            name: Option<String>,
            native: bool,
            pin: Option<PathBuf>,
            flows: u32,
            ring_bytes: u32,
            paced: bool,
        ) -> PyResult<Self> {
            let failure = Failure::default();
            if native {
                let program: String =
                    spec.extract().map_err(|_| kernel_error("a native program is named by a string"))?;
                let native = py.detach(|| Native::open(&program, pin.as_deref())).map_err(kernel_error)?;
                let name = native.name().to_owned();
                let work = Mutex::new(Some(Work::Native { _native: native }));
                return Ok(Self { name, work, failure, end: None, ended: Mutex::new(None) });
            }
            let (maker, cc) = maker(spec, &failure)?;
            let name = name.unwrap_or_else(|| datapath::usual_name(&cc));
            let settings = Settings { name: name.clone(), flows, ring_bytes, pin };
            let manner = Manner { cc, paced };
            let stop = Arc::new(AtomicBool::new(false));
            let (started, start) = channel();
            let (ending, end) = channel();
            let stopping = Arc::clone(&stop);
            let thread = std::thread::Builder::new().name(name.clone()).spawn(move || {
                let opened =
                    Datapath::open(&settings).and_then(|datapath| Agent::new(datapath, manner, maker));
                let mut agent = match opened {
                    Ok(agent) => agent,
                    Err(error) => {
                        started.send(Err(error)).ok();
                        return;
                    }
                };
                Agent::hurry();
                started.send(Ok(Arc::clone(agent.slots()))).ok();
                let mut result = Ok(());
                while !stopping.load(Ordering::Relaxed) {
                    match agent.step(clock::now_ns() + 100_000_000) {
                        Ok(Step::Done) => {}
                        Ok(Step::Detached) => break,
                        Err(error) => {
                            result = Err(error.to_string());
                            break;
                        }
                    }
                }
                drop(agent);
                ending.send(result).ok();
            });
            let thread = thread.map_err(kernel_error)?;
            let failed = |error: String| failure.take().unwrap_or_else(|| kernel_error(error));
            let slots = py
                .detach(move || start.recv())
                .map_err(|_| kernel_error("the agent's thread ended"))?
                .map_err(|error| failed(error.to_string()))?;
            let work = Work::Agent { stop, thread, slots };
            let end = Some(Mutex::new(end));
            Ok(Self { name, work: Mutex::new(Some(work)), failure, end, ended: Mutex::new(None) })
        }

        /// The kernel's name of the algorithm.
        #[getter]
        fn name(&self) -> &str {
            &self.name
        }

        /// What it is doing, as JSON.
        fn status(&self) -> String {
            match &*self.work.lock().unwrap_or_else(PoisonError::into_inner) {
                Some(Work::Agent { slots, .. }) => status::of(slots).to_string(),
                _ => {
                    let all = status::all();
                    let mine =
                        all.as_array().into_iter().flatten().find(|one| one["name"] == self.name.as_str());
                    mine.map_or_else(|| "null".into(), ToString::to_string)
                }
            }
        }

        /// Waits for the end of the agent, at most `timeout_s` seconds. True if it has
        /// ended; raises what ended it.
        fn step(&self, py: Python<'_>, timeout_s: f64) -> PyResult<bool> {
            let patience = Duration::try_from_secs_f64(timeout_s).map_err(kernel_error)?;
            py.detach(|| self.wait(patience));
            let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner).clone();
            match ended {
                None => Ok(false),
                Some(Ok(())) => Ok(true),
                Some(Err(error)) => Err(self.failure.take().unwrap_or_else(|| kernel_error(error))),
            }
        }

        /// Ends the agent, and unregisters the algorithm unless it is pinned.
        fn close(&self, py: Python<'_>) {
            py.detach(|| {
                let work = self.work.lock().unwrap_or_else(PoisonError::into_inner).take();
                if let Some(Work::Agent { stop, thread, .. }) = work {
                    stop.store(true, Ordering::Relaxed);
                    thread.join().ok();
                }
            });
        }

        fn __enter__(slf: Py<Self>) -> Py<Self> {
            slf
        }

        #[pyo3(signature = (*_args))]
        fn __exit__(&self, py: Python<'_>, _args: &Bound<'_, pyo3::types::PyTuple>) {
            self.close(py);
        }
    }

    impl KernelAgent {
        fn wait(&self, patience: Duration) {
            let Some(end) = &self.end else {
                std::thread::sleep(patience); // the kernel alone has no end
                return;
            };
            let outcome = end.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(patience);
            let outcome = match outcome {
                Ok(outcome) => outcome,
                Err(RecvTimeoutError::Timeout) => return,
                Err(RecvTimeoutError::Disconnected) => Ok(()),
            };
            self.ended.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(outcome);
        }
    }

    impl Drop for KernelAgent {
        fn drop(&mut self) {
            if let Some(Work::Agent { stop, .. }) = &*self.work.lock().unwrap_or_else(PoisonError::into_inner)
            {
                stop.store(true, Ordering::Relaxed);
            }
        }
    }

    /// A control group, below the caller's, whose TCP connections use one algorithm of the kernel.
    #[pyclass(frozen)]
    pub(crate) struct KernelGroup(Mutex<Option<ChosenGroup>>);

    #[pymethods]
    impl KernelGroup {
        #[new]
        fn new(name: &str) -> PyResult<Self> {
            ChosenGroup::new(name).map(|group| Self(Mutex::new(Some(group)))).map_err(kernel_error)
        }

        /// The group's directory; None once it is closed.
        #[getter]
        fn path(&self) -> Option<PathBuf> {
            let group = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            group.as_ref().map(|group| group.path().to_owned())
        }

        /// Puts a process into the group; what it starts stays there too.
        fn take(&self, pid: u32) -> PyResult<()> {
            match &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
                Some(group) => group.take(pid).map_err(kernel_error),
                None => Err(kernel_error("the control group is closed")),
            }
        }

        /// Takes the program away and removes the group.
        fn close(&self, py: Python<'_>) {
            py.detach(|| drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take()));
        }

        fn __enter__(slf: Py<Self>) -> Py<Self> {
            slf
        }

        #[pyo3(signature = (*_args))]
        fn __exit__(&self, py: Python<'_>, _args: &Bound<'_, pyo3::types::PyTuple>) {
            self.close(py);
        }
    }

    /// Removes the control groups of runs that were killed. What was found, as a list in JSON: path, moved
    /// (processes that go on), removed.
    #[pyfunction]
    pub(crate) fn kernel_sweep_groups(py: Python<'_>) -> String {
        let found = py.detach(bentpipe_kernel::cgroup::sweep);
        let groups = found.iter().map(|group| {
            let path = group.path.to_string_lossy();
            serde_json::json!({ "path": path, "moved": group.moved, "removed": group.removed })
        });
        serde_json::Value::Array(groups.collect()).to_string()
    }

    /// Every datapath and native program on this machine, as a list in JSON.
    #[pyfunction]
    pub(crate) fn kernel_status(py: Python<'_>) -> String {
        py.detach(|| status::all().to_string())
    }

    /// Unregisters what is pinned as `name` in the directory `pin`, or what a killed process left registered;
    /// false if there is nothing.
    #[pyfunction]
    #[pyo3(signature = (name, pin = None))]
    pub(crate) fn kernel_detach(name: &str, pin: Option<PathBuf>) -> PyResult<bool> {
        let unpinned = match &pin {
            Some(pin) => datapath::detach(pin, name).map_err(kernel_error)?,
            None => false,
        };
        Ok(unpinned || datapath::sweep(name))
    }
}

#[cfg(not(feature = "kernel"))]
mod missing {
    use pyo3::prelude::*;
    use pyo3::types::{PyDict, PyTuple};

    use super::KernelError;

    fn without() -> PyErr {
        KernelError::new_err(bentpipe_kernel::support::check().err().unwrap_or_default())
    }

    /// In this build: an exception that says why there is none.
    #[pyclass(frozen)]
    pub(crate) struct KernelAgent;

    #[pymethods]
    impl KernelAgent {
        #[new]
        #[pyo3(signature = (*_args, **_keywords))]
        fn new(_args: &Bound<'_, PyTuple>, _keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
            Err(without())
        }
    }

    /// In this build: an exception that says why there is none.
    #[pyclass(frozen)]
    pub(crate) struct KernelGroup;

    #[pymethods]
    impl KernelGroup {
        #[new]
        fn new(_name: &str) -> PyResult<Self> {
            Err(without())
        }
    }

    /// In this build: an empty list.
    #[pyfunction]
    pub(crate) fn kernel_sweep_groups() -> &'static str {
        "[]"
    }

    /// In this build: an empty list.
    #[pyfunction]
    pub(crate) fn kernel_status() -> &'static str {
        "[]"
    }

    /// In this build: an exception that says why.
    #[pyfunction]
    #[pyo3(signature = (_name, _pin = None))]
    pub(crate) fn kernel_detach(_name: &str, _pin: Option<std::path::PathBuf>) -> PyResult<bool> {
        Err(without())
    }
}
