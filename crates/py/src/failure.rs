//! What a controller in Python did wrong, as an exception that says who, where and when.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use bentpipe_cc::{Hint, Time};
use bentpipe_sim::error::nearest;
use pyo3::exceptions::{PyException, PyKeyError, PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyTuple};

pyo3::create_exception!(
    bentpipe._core,
    ControllerError,
    PyRuntimeError,
    "A controller written in Python failed; the message says which, where and when."
);

/// The first exception that a controller or callback of a run raised; the run stops and the caller gets it.
#[derive(Clone, Default)]
pub(crate) struct Failure(Arc<Mutex<Option<PyErr>>>);

impl Failure {
    pub(crate) fn set(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// Keeps the exception and returns its text.
    pub(crate) fn set_and_say(&self, error: PyErr) -> String {
        let text = error.to_string();
        self.set(error);
        text
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Calls `progress`, if there is one, with the `share` of the work that is done, and looks for signals.
    /// False if either raised: the work must end.
    pub(crate) fn report(&self, progress: Option<&Py<PyAny>>, share: f64) -> bool {
        Python::attach(|py| {
            let called = progress.map_or(Ok(()), |progress| progress.call1(py, (share,)).map(drop));
            py.check_signals().and(called).map_err(|error| self.set(error)).is_ok()
        })
    }

    pub(crate) fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// What an exception says.
pub(crate) fn in_one_line(error: PyErr) -> String {
    Python::attach(|py| error.value(py).to_string())
}

/// A call of a method of a controller's class.
pub(crate) struct Call<'a> {
    pub(crate) class: Bound<'a, PyAny>,
    pub(crate) method: &'static str,
    pub(crate) flow: &'a str,
    pub(crate) now: Time,
}

impl Call<'_> {
    /// The method raised `error`. An interrupt and an exit of the program stay what they are.
    pub(crate) fn raised(&self, error: PyErr) -> PyErr {
        let py = self.class.py();
        if !error.is_instance_of::<PyException>(py) || error.is_instance_of::<ControllerError>(py) {
            return error;
        }
        let place = self.place(Some(&error)).ok();
        let within = place.as_ref().map(|place| format!(" ({}, line {})", place.file, place.line));
        // A method that did not even begin has other parameters than it is called with.
        let begun =
            place.as_ref().is_none_or(|place| place.begun) || !error.is_instance_of::<PyTypeError>(py);
        let called = if begun { None } else { parameters(self.method) };
        let more = match called {
            Some(call) => format!("it is called as {}({call})", self.method),
            None => near_keys(py, &error).ok().flatten().unwrap_or_default(),
        };
        // An exception may say several lines.
        let said = error.to_string().lines().map(str::trim).collect::<Vec<_>>().join(" ");
        let what = format!("{} raised {said}", self.method);
        let raised = self.error(&what, &within.unwrap_or_default(), &more, place.as_ref());
        raised.set_cause(py, Some(error));
        raised
    }

    /// `attribute` has a value that it must not have; `right` says which it may have.
    pub(crate) fn wrong(&self, attribute: &str, value: &Bound<'_, PyAny>, right: &str) -> PyErr {
        let what = format!("{attribute} is {} after {}", shown(value), self.method);
        self.error(&what, "", &format!("it must be {right}"), self.place(None).ok().as_ref())
    }

    /// Refuses the answer of a method whose body has not run because it holds a `yield` or is an `async def`.
    pub(crate) fn ran(&self, answer: &Bound<'_, PyAny>) -> PyResult<()> {
        if answer.is_none() {
            return Ok(());
        }
        let kind = answer.get_type().name()?.to_string();
        if !matches!(kind.as_str(), "generator" | "coroutine" | "async_generator") {
            return Ok(());
        }
        answer.call_method0("close").ok(); // or Python warns of it
        let what = format!("{} gave a {kind}, so its body did not run,", self.method);
        Err(self.error(&what, "", "write it without yield and async", self.place(None).ok().as_ref()))
    }

    /// The exception: its text is one line, and its `lines` are the same in a few short ones,
    /// with the line of the source.
    fn error(&self, what: &str, within: &str, more: &str, place: Option<&Place>) -> PyErr {
        let class =
            self.class.getattr("__name__").map_or_else(|_| shown(&self.class), |name| name.to_string());
        let (now, flow) = (self.now.secs(), self.flow);
        let mut lines = vec![format!("{class}.{what}")];
        lines.extend(place.map(|Place { file, line, text, .. }| format!("{file}, line {line}: {text}")));
        lines.push(format!("at {now} s of simulated time, in flow {flow}"));
        lines.extend((!more.is_empty()).then(|| more.to_owned()));
        let more = if more.is_empty() { String::new() } else { format!("; {more}") };
        let error =
            ControllerError::new_err(format!("{class}.{what}{within} at {now} s in flow {flow}{more}"));
        with_lines(self.class.py(), &error, "lines", lines);
        error
    }

    /// The place of the deepest frame in the method's own file, or where the method is defined.
    fn place(&self, error: Option<&PyErr>) -> PyResult<Place> {
        let py = self.class.py();
        let method = py.import("inspect")?.call_method1("unwrap", (self.class.getattr(self.method)?,))?;
        let code = method.getattr("__code__")?;
        let file: String = code.getattr("co_filename")?.extract()?;
        let mut line: u64 = code.getattr("co_firstlineno")?.extract()?;
        let mut begun = false;
        for at in error.map_or_else(|| Ok(Vec::new()), |error| steps(py, error))? {
            if at.getattr("tb_frame")?.getattr("f_code")?.getattr("co_filename")?.extract::<String>()? == file
            {
                line = at.getattr("tb_lineno")?.extract()?;
                begun = true;
            }
        }
        let text: String = py.import("linecache")?.call_method1("getline", (&file, line))?.extract()?;
        Ok(Place { text: text.trim().to_owned(), file, line, begun })
    }
}

/// The traceback of an exception, its outermost step first.
fn steps<'py>(py: Python<'py>, error: &PyErr) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let mut found = Vec::new();
    let mut next = error.traceback(py).map(Bound::into_any);
    while let Some(at) = next {
        next = Some(at.getattr("tb_next")?).filter(|tb| !tb.is_none());
        found.push(at);
    }
    Ok(found)
}

/// A question with the keys that a `KeyError` may have meant: those of the dicts that its frames know by a
/// name. None if it is another error or no key is near.
fn near_keys(py: Python<'_>, error: &PyErr) -> PyResult<Option<String>> {
    if !error.is_instance_of::<PyKeyError>(py) {
        return Ok(None);
    }
    let wrong: String = error.value(py).getattr("args")?.get_item(0)?.extract()?;
    let mut keys = BTreeSet::new();
    for at in steps(py, error)? {
        for value in at.getattr("tb_frame")?.getattr("f_locals")?.call_method0("values")?.try_iter()? {
            if let Ok(dict) = value?.cast_into::<PyDict>() {
                keys.extend(dict.keys().iter().filter_map(|key| key.extract::<String>().ok()));
            }
        }
    }
    let near = nearest(&wrong, keys.iter().map(String::as_str));
    Ok((!near.is_empty()).then(|| format!("did you mean {}?", near.join(" or "))))
}

/// A line of a user's source.
struct Place {
    file: String,
    line: u64,
    /// The text there.
    text: String,
    /// Did the method begin before it raised?
    begun: bool,
}

/// What a method is called with, besides itself.
fn parameters(method: &str) -> Option<&'static str> {
    Some(match method {
        "__init__" => "mss, initial_window",
        "on_ack" => "flow, ack",
        "on_congestion" | "backoff" => "flow, why",
        "on_life" => "flow, what",
        "on_undo" => "flow",
        "probes" => "",
        hint if Hint::METHODS.contains(&hint) => "flow, change",
        _ => return None,
    })
}

/// Gives an exception its lines, as a list.
pub(crate) fn with_lines(py: Python<'_>, error: &PyErr, name: &str, lines: Vec<String>) {
    let each = lines.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    // Without them it still has its text.
    if let Ok(lines) = PyTuple::new(py, each.collect::<Vec<_>>()) {
        error.value(py).setattr(name, lines).ok();
    }
}

/// The number that `value` is; a truth value is none, nor is text.
pub(crate) fn number(value: &Bound<'_, PyAny>) -> Option<f64> {
    match value.cast::<PyFloat>() {
        Ok(float) => Some(float.value()),
        Err(_) if value.get_type().name().is_ok_and(|name| name == "bool") => None,
        Err(_) => value.extract().ok(),
    }
}

/// A value as Python writes it, in not too many characters.
fn shown(value: &Bound<'_, PyAny>) -> String {
    const MOST: usize = 60;
    match value.repr() {
        Ok(text) => {
            let text = text.to_string();
            let cut: String = text.chars().take(MOST).collect();
            if cut.len() < text.len() { format!("{cut}...") } else { text }
        }
        // A whole number may have too many digits.
        Err(_) => value.get_type().name().map_or_else(|_| "?".into(), |kind| format!("a very large {kind}")),
    }
}
