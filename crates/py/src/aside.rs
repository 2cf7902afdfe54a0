//! Work that Ctrl-C ends although it never looks for signals.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// How long the caller waits between two looks for signals.
const PATIENCE: Duration = Duration::from_millis(50);

/// Does `work` on a thread of its own, and looks for signals meanwhile. A signal leaves the thread behind: it
/// touches nothing of Python, and ends with its work or with the process.
pub(crate) fn aside<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (done, mut result) = channel();
    let thread = Builder::new().name("check".to_owned()).spawn(move || drop(done.send(work())));
    thread.map_err(|error| PyRuntimeError::new_err(format!("no thread can be started: {error}")))?;
    loop {
        let waiting = &mut result; // a shared reference may not leave the interpreter's lock
        match py.detach(move || waiting.recv_timeout(PATIENCE)) {
            Ok(found) => return Ok(found),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("bug in bentpipe: a check panicked; please report it"));
            }
        }
    }
}
