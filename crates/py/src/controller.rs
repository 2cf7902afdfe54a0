//! A controller written in Python, as a [`Controller`].

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use bentpipe_cc::{
    Ack, Backoff, Congestion, Controller, Decision, Flow, Life, Pacing, Phase, Rate, Start, Time,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

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

/// Forwards every call to a Python object and reads its `cwnd`, `ssthresh` and `pacing_rate` after each.
pub(crate) struct PyController {
    object: Py<PyAny>,
    mss: f64,
    decision: Decision,
    failure: Failure,
}

impl fmt::Debug for PyController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PyController").field("decision", &self.decision).finish_non_exhaustive()
    }
}

impl PyController {
    pub(crate) fn build(
        py: Python<'_>,
        factory: &Py<PyAny>,
        start: Start,
        failure: Failure,
    ) -> PyResult<Box<dyn Controller>> {
        let object = factory.call1(py, (start.mss, start.initial_window))?;
        if start.initial_ssthresh.is_finite() {
            object.setattr(py, "ssthresh", start.initial_ssthresh)?;
        }
        let decision = Decision {
            cwnd: u64::from(start.mss),
            ssthresh: u64::MAX,
            pacing: Pacing::Window,
            deadline: Time::MAX,
        };
        let mut built = Self { object, mss: f64::from(start.mss), decision, failure };
        built.read(py)?;
        Ok(Box::new(built))
    }

    fn bytes(&self, segments: f64) -> u64 {
        (segments * self.mss) as u64
    }

    fn read(&mut self, py: Python<'_>) -> PyResult<()> {
        let object = self.object.bind(py);
        let cwnd: f64 = object.getattr("cwnd")?.extract()?;
        let ssthresh: f64 = object.getattr("ssthresh")?.extract()?;
        let pacing = match object.getattr_opt("pacing_rate")? {
            Some(rate) => rate.extract::<Option<f64>>()?,
            None => None,
        };
        self.decision = Decision {
            cwnd: self.bytes(cwnd.max(1.0)),
            ssthresh: self.bytes(ssthresh),
            pacing: pacing.map_or(Pacing::Window, |r| Pacing::Rate(Rate(r as u64))),
            deadline: Time::MAX,
        };
        Ok(())
    }

    /// Calls into Python and reads the new decision; an exception is kept and ends the run.
    fn call(&mut self, call: impl FnOnce(Python<'_>, &Bound<'_, PyAny>) -> PyResult<()>) {
        if self.failure.is_set() {
            return;
        }
        Python::attach(|py| {
            let done = call(py, self.object.bind(py)).and_then(|()| self.read(py));
            done.unwrap_or_else(|error| self.failure.set(error));
        });
    }

    /// Calls a method that a subclass may leave out.
    fn call_optional(&mut self, name: &str, flow: &Flow, more: Option<&str>) {
        self.call(|py, object| {
            if let Some(method) = object.getattr_opt(name)? {
                match more {
                    Some(word) => method.call1((flow_dict(py, flow)?, word))?,
                    None => method.call1((flow_dict(py, flow)?,))?,
                };
            }
            Ok(())
        });
    }
}

fn word(why: Congestion) -> &'static str {
    match why {
        Congestion::Ecn => "ecn",
        Congestion::Loss => "loss",
        Congestion::Timeout => "timeout",
    }
}

fn flow_dict<'py>(py: Python<'py>, flow: &Flow) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    d.set_item("now_s", flow.now.secs())?;
    d.set_item("mss", flow.mss)?;
    d.set_item("in_flight", flow.in_flight)?;
    d.set_item("delivered", flow.delivered)?;
    d.set_item("lost", flow.lost)?;
    d.set_item("rtt_s", flow.rtt.map(|r| r.latest.secs()))?;
    d.set_item("rtt_min_s", flow.rtt.map(|r| r.min.secs()))?;
    d.set_item("srtt_s", flow.rtt.map(|r| r.smoothed.secs()))?;
    d.set_item("rttvar_s", flow.rtt.map(|r| r.var.secs()))?;
    d.set_item("round", flow.round)?;
    let phase = match flow.phase {
        Phase::Open => "open",
        Phase::Recovery => "recovery",
        Phase::Loss => "loss",
    };
    d.set_item("phase", phase)?;
    d.set_item("cwnd_limited", flow.cwnd_limited)?;
    d.set_item("rwnd", (flow.rwnd < u64::MAX).then_some(flow.rwnd))?;
    Ok(d)
}

fn ack_dict<'py>(py: Python<'py>, ack: &Ack) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    d.set_item("acks", ack.acks)?;
    d.set_item("acked", ack.acked)?;
    d.set_item("uncounted", ack.uncounted)?;
    d.set_item("lost", ack.lost)?;
    d.set_item("ce", ack.ce)?;
    d.set_item("round_end", ack.round_end)?;
    d.set_item("rtt_s", ack.rtt.map(|r| r.mean_secs()))?;
    d.set_item("rtt_min_s", ack.rtt.map(|r| r.min.secs()))?;
    d.set_item("rtt_max_s", ack.rtt.map(|r| r.max.secs()))?;
    d.set_item("rate", ack.rate.map(|r| r.rate.0))?;
    d.set_item("app_limited", ack.rate.is_some_and(|r| r.app_limited))?;
    Ok(d)
}

impl Controller for PyController {
    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        self.call(|py, object| {
            object.call_method1("on_ack", (flow_dict(py, flow)?, ack_dict(py, ack)?)).map(drop)
        });
    }

    fn on_congestion(&mut self, flow: &Flow, why: Congestion) {
        self.call(|py, object| {
            object.call_method1("on_congestion", (flow_dict(py, flow)?, word(why))).map(drop)
        });
    }

    fn on_undo(&mut self, flow: &Flow, before: &Decision) {
        let restored = self.decision.cwnd.max(before.cwnd) as f64 / self.mss;
        let threshold = self.decision.ssthresh.max(before.ssthresh);
        let threshold = if threshold == u64::MAX { f64::INFINITY } else { threshold as f64 / self.mss };
        self.call(|_, object| {
            object.setattr("cwnd", restored)?;
            object.setattr("ssthresh", threshold)
        });
        self.call_optional("on_undo", flow, None);
    }

    fn on_life(&mut self, flow: &Flow, what: Life) {
        let what = match what {
            Life::IdleRestart => "idle_restart",
            Life::Recovered => "recovered",
            Life::MssChanged => "mss_changed",
        };
        self.call_optional("on_life", flow, Some(what));
    }

    fn decision(&self) -> Decision {
        self.decision
    }

    fn backoff(&self, flow: &Flow, why: Congestion) -> Backoff {
        let asked = Python::attach(|py| -> PyResult<Option<(f64, f64)>> {
            match self.object.bind(py).getattr_opt("backoff")? {
                Some(method) => method.call1((flow_dict(py, flow)?, word(why)))?.extract().map(Some),
                None => Ok(None),
            }
        });
        match asked {
            Ok(Some((cwnd, ssthresh))) => {
                Backoff { cwnd: self.bytes(cwnd), ssthresh: self.bytes(ssthresh), repeat: false }
            }
            // Without a word from the controller a datapath that cannot ask halves, as Reno does.
            Ok(None) => {
                Backoff { cwnd: self.decision.cwnd / 2, ssthresh: self.decision.cwnd / 2, repeat: false }
            }
            Err(error) => {
                self.failure.set(error);
                Backoff { cwnd: self.decision.cwnd, ssthresh: self.decision.ssthresh, repeat: false }
            }
        }
    }

    fn wants_rate(&self) -> bool {
        true
    }
}
