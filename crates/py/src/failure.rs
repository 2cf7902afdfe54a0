//! What a controller in Python did wrong, as an exception that says who, where and when.

use std::sync::{Arc, Mutex, PoisonError};

use bentpipe_cc::Time;
use pyo3::exceptions::{PyException, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyFloat;

pyo3::create_exception!(
    _core,
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

    pub(crate) fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
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
        let place = self
            .place(&error)
            .map_or_else(|_| String::new(), |(file, line)| format!(" ({file}, line {line})"));
        let told = self.error(&format!("{} raised {error}{place}", self.method), "");
        told.set_cause(py, Some(error));
        told
    }

    /// `attribute` has a value that it must not have; `right` says which it may have.
    pub(crate) fn wrong(&self, attribute: &str, value: &Bound<'_, PyAny>, right: &str) -> PyErr {
        self.error(
            &format!("{attribute} is {} after {}", shown(value), self.method),
            &format!("; it must be {right}"),
        )
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
        Err(self.error(&what, "; write it without yield and async"))
    }

    fn error(&self, what: &str, more: &str) -> PyErr {
        let class =
            self.class.getattr("__name__").map_or_else(|_| shown(&self.class), |name| name.to_string());
        let (now, flow) = (self.now.secs(), self.flow);
        ControllerError::new_err(format!("{class}.{what} at {now} s in flow {flow}{more}"))
    }

    /// File and line: where the deepest frame stands in the method's own file, or where the method is defined.
    fn place(&self, error: &PyErr) -> PyResult<(String, u64)> {
        let py = self.class.py();
        let method = py.import("inspect")?.call_method1("unwrap", (self.class.getattr(self.method)?,))?;
        let code = method.getattr("__code__")?;
        let file: String = code.getattr("co_filename")?.extract()?;
        let mut line = code.getattr("co_firstlineno")?.extract()?;
        let mut next = error.traceback(py).map(Bound::into_any);
        while let Some(at) = next {
            if at.getattr("tb_frame")?.getattr("f_code")?.getattr("co_filename")?.extract::<String>()? == file
            {
                line = at.getattr("tb_lineno")?.extract()?;
            }
            next = Some(at.getattr("tb_next")?).filter(|tb| !tb.is_none());
        }
        Ok((file, line))
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
