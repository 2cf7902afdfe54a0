//! A controller written in Python, as a [`Controller`].

use std::fmt;

use bentpipe_cc::{
    Ack, Backoff, Congestion, Controller, Decision, Event, Flow, Hint, Life, Needs, Pacing, Phase, Rate,
    Start, Time,
};
use pyo3::call::PyCallArgs;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};

use crate::failure::{Call, Failure, number};

/// The largest window in segments, as for the registered controllers.
const LARGEST: f64 = (1_u64 << 40) as f64;

/// Forwards every call to a Python object and reads its `cwnd`, `ssthresh` and `pacing_rate` after each.
pub(crate) struct PyController {
    object: Py<PyAny>,
    /// Name of the flow, for messages.
    flow: String,
    mss: f64,
    decision: Decision,
    /// Which of the methods that take hints the class defines.
    hinted: [bool; Hint::METHODS.len()],
    /// The latest instant of an event, and whether the class defines `probes`.
    now: Time,
    probed: bool,
    failure: Failure,
}

impl fmt::Debug for PyController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PyController").field("decision", &self.decision).finish_non_exhaustive()
    }
}

impl PyController {
    /// The controller of a flow, and the object behind it.
    pub(crate) fn build(
        py: Python<'_>,
        factory: &Py<PyAny>,
        flow: &str,
        start: Start,
        failure: Failure,
    ) -> PyResult<(Box<dyn Controller>, Py<PyAny>)> {
        let class = factory.bind(py).clone();
        let call = Call { class, method: "__init__", flow, now: Time(0) };
        let made = factory.call1(py, (start.mss, start.initial_window)).and_then(|object| {
            if start.initial_ssthresh.is_finite() {
                object.setattr(py, "ssthresh", start.initial_ssthresh)?;
            }
            Ok(object)
        });
        let object = made.map_err(|error| call.raised(error))?;
        let mss = f64::from(start.mss);
        let decision = read(object.bind(py), mss, &call)?;
        let mut hinted = [false; Hint::METHODS.len()];
        for (has, method) in hinted.iter_mut().zip(Hint::METHODS) {
            *has = object.bind(py).hasattr(method)?;
        }
        let probed = object.bind(py).hasattr("probes")?;
        let kept = object.clone_ref(py);
        Ok((
            Box::new(Self {
                object,
                flow: flow.to_owned(),
                mss,
                decision,
                hinted,
                now: Time(0),
                probed,
                failure,
            }),
            kept,
        ))
    }

    fn call_of<'py>(&'py self, py: Python<'py>, method: &'static str, flow: &Flow) -> Call<'py> {
        let class = self.object.bind(py).get_type().into_any();
        Call { class, method, flow: &self.flow, now: flow.now }
    }

    /// Lets `act` call `method`, and reads the new decision; an exception is kept and ends the run.
    fn call<F>(&mut self, method: &'static str, flow: &Flow, act: F)
    where
        F: for<'py> FnOnce(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
    {
        if self.failure.is_set() {
            return;
        }
        self.now = flow.now;
        let done = Python::attach(|py| {
            let (object, call) = (self.object.bind(py), self.call_of(py, method, flow));
            act(object).map_err(|error| call.raised(error)).and_then(|answer| call.ran(&answer))?;
            read(object, self.mss, &call)
        });
        match done {
            Ok(decision) => self.decision = decision,
            Err(error) => self.failure.set(error),
        }
    }

    fn undo(&mut self, flow: &Flow, before: &Decision) {
        let cwnd = self.decision.cwnd.max(before.cwnd);
        let ssthresh = self.decision.ssthresh.max(before.ssthresh);
        self.given(flow, "on_undo", (cwnd, ssthresh), |object| {
            call_optional(object, "on_undo", (flow_dict(object.py(), flow)?,))
        });
    }

    /// Sets window and threshold to these bytes, and then calls `method` by `call`.
    fn given(
        &mut self,
        flow: &Flow,
        method: &'static str,
        (cwnd, ssthresh): (u64, u64),
        call: impl for<'py> FnOnce(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
    ) {
        let window = cwnd as f64 / self.mss;
        let threshold = if ssthresh == u64::MAX { f64::INFINITY } else { ssthresh as f64 / self.mss };
        self.call(method, flow, |object| {
            object.setattr("cwnd", window)?;
            object.setattr("ssthresh", threshold)?;
            call(object)
        });
    }

    /// What `probes` gives: a dictionary of numbers by name.
    fn probes(&self, py: Python<'_>) -> PyResult<Vec<(String, f64)>> {
        let class = self.object.bind(py).get_type().into_any();
        let call = Call { class, method: "probes", flow: &self.flow, now: self.now };
        let answer = self.object.bind(py).call_method0("probes").map_err(|error| call.raised(error))?;
        call.ran(&answer)?;
        let wrong = || call.wrong("probes()", &answer, "a dictionary of numbers by name");
        let given = answer.cast::<PyDict>().map_err(|_| wrong())?;
        let one = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            Some((name.extract().ok()?, if value.is_none() { f64::NAN } else { number(&value)? }))
        };
        given.iter().map(|pair| one(pair).ok_or_else(wrong)).collect()
    }

    /// The window and the threshold that `backoff` announces, if the class has it.
    fn announced(&self, py: Python<'_>, flow: &Flow, why: Congestion) -> PyResult<Option<(u64, u64)>> {
        let call = self.call_of(py, "backoff", flow);
        let ask = || match self.object.bind(py).getattr_opt("backoff")? {
            Some(method) => method.call1((flow_dict(py, flow)?, word(why))).map(Some),
            None => Ok(None),
        };
        let Some(answer) = ask().map_err(|error| call.raised(error))? else {
            return Ok(None);
        };
        call.ran(&answer)?;
        let (cwnd, ssthresh): (Bound<'_, PyAny>, Bound<'_, PyAny>) =
            answer.extract().map_err(|_| call.wrong("backoff()", &answer, "a pair (cwnd, ssthresh)"))?;
        Ok(Some((
            window("backoff()[0]", &cwnd, self.mss, &call)?,
            threshold("backoff()[1]", &ssthresh, self.mss, &call)?,
        )))
    }
}

fn read(object: &Bound<'_, PyAny>, mss: f64, call: &Call<'_>) -> PyResult<Decision> {
    let py = object.py();
    let get = |name| object.getattr(name).map_err(|error| call.raised(error));
    let cwnd = window("cwnd", &get(intern!(py, "cwnd"))?, mss, call)?;
    let ssthresh = threshold("ssthresh", &get(intern!(py, "ssthresh"))?, mss, call)?;
    let rate = object.getattr_opt(intern!(py, "pacing_rate")).map_err(|error| call.raised(error))?;
    let pacing = match rate.filter(|rate| !rate.is_none()) {
        Some(rate) => match number(&rate) {
            Some(r) if r >= 0.0 && r.is_finite() => Pacing::Rate(Rate(r as u64)),
            _ => {
                let right = "None, or a finite number of bytes per second, 0 or more";
                return Err(call.wrong("pacing_rate", &rate, right));
            }
        },
        None => Pacing::Window,
    };
    Ok(Decision { cwnd, ssthresh, pacing, deadline: Time::MAX })
}

/// The bytes of a window in segments.
fn window(name: &str, value: &Bound<'_, PyAny>, mss: f64, call: &Call<'_>) -> PyResult<u64> {
    match number(value) {
        Some(segments) if (0.0..=LARGEST).contains(&segments) => Ok((segments.max(1.0) * mss) as u64),
        _ => Err(call.wrong(name, value, "a number of segments from 0 to 2**40")),
    }
}

/// The bytes of a slow-start threshold in segments.
fn threshold(name: &str, value: &Bound<'_, PyAny>, mss: f64, call: &Call<'_>) -> PyResult<u64> {
    match number(value) {
        Some(segments) if segments >= 0.0 => Ok((segments * mss) as u64),
        _ => {
            Err(call.wrong(name, value, "a number of segments, 0 or more; math.inf stands for no threshold"))
        }
    }
}

/// Calls a method that a subclass may leave out.
fn call_optional<'py>(
    object: &Bound<'py, PyAny>,
    name: &str,
    arguments: impl PyCallArgs<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    match object.getattr_opt(name)? {
        Some(method) => method.call1(arguments),
        None => Ok(object.py().None().into_bound(object.py())),
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
    d.set_item(intern!(py, "now_s"), flow.now.secs())?;
    d.set_item(intern!(py, "mss"), flow.mss)?;
    d.set_item(intern!(py, "in_flight"), flow.in_flight)?;
    d.set_item(intern!(py, "delivered"), flow.delivered)?;
    d.set_item(intern!(py, "lost"), flow.lost)?;
    d.set_item(intern!(py, "rtt_s"), flow.rtt.map(|r| r.latest.secs()))?;
    d.set_item(intern!(py, "rtt_min_s"), flow.rtt.map(|r| r.min.secs()))?;
    d.set_item(intern!(py, "srtt_s"), flow.rtt.map(|r| r.smoothed.secs()))?;
    d.set_item(intern!(py, "rttvar_s"), flow.rtt.map(|r| r.var.secs()))?;
    d.set_item(intern!(py, "round"), flow.round)?;
    let phase = match flow.phase {
        Phase::Open => "open",
        Phase::Recovery => "recovery",
        Phase::Loss => "loss",
    };
    d.set_item(intern!(py, "phase"), phase)?;
    d.set_item(intern!(py, "cwnd_limited"), flow.cwnd_limited)?;
    d.set_item(intern!(py, "reduced"), flow.reduced)?;
    d.set_item(intern!(py, "rwnd"), (flow.rwnd < u64::MAX).then_some(flow.rwnd))?;
    Ok(d)
}

fn ack_dict<'py>(py: Python<'py>, ack: &Ack) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    d.set_item(intern!(py, "acks"), ack.acks)?;
    d.set_item(intern!(py, "acked"), ack.acked)?;
    d.set_item(intern!(py, "uncounted"), ack.uncounted)?;
    d.set_item(intern!(py, "lost"), ack.lost)?;
    d.set_item(intern!(py, "ce"), ack.ce)?;
    d.set_item(intern!(py, "round_end"), ack.round_end)?;
    d.set_item(intern!(py, "rtt_s"), ack.rtt.map(|r| r.mean_secs()))?;
    d.set_item(intern!(py, "rtt_min_s"), ack.rtt.map(|r| r.min.secs()))?;
    d.set_item(intern!(py, "rtt_max_s"), ack.rtt.map(|r| r.max.secs()))?;
    d.set_item(intern!(py, "rate"), ack.rate.map(|r| r.rate.0))?;
    d.set_item(intern!(py, "app_limited"), ack.rate.is_some_and(|r| r.app_limited))?;
    Ok(d)
}

impl Controller for PyController {
    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        self.call("on_ack", flow, |object| {
            let py = object.py();
            object.call_method1(intern!(py, "on_ack"), (flow_dict(py, flow)?, ack_dict(py, ack)?))
        });
    }

    fn on(&mut self, flow: &Flow, event: Event<'_>) {
        match event {
            Event::Congestion(why) => self.call("on_congestion", flow, |object| {
                object.call_method1("on_congestion", (flow_dict(object.py(), flow)?, word(why)))
            }),
            Event::Undo(before) => self.undo(flow, before),
            Event::Validation { cwnd, ssthresh } => self.given(flow, "on_life", (cwnd, ssthresh), |object| {
                call_optional(object, "on_life", (flow_dict(object.py(), flow)?, "window_validated"))
            }),
            Event::Life(what) => {
                let what = match what {
                    Life::IdleRestart => "idle_restart",
                    Life::Recovered => "recovered",
                    Life::MssChanged => "mss_changed",
                };
                self.call("on_life", flow, |object| {
                    call_optional(object, "on_life", (flow_dict(object.py(), flow)?, what))
                });
            }
            Event::Hint(hint) => {
                let (kind, values) = hint.call();
                let method = Hint::METHODS[kind];
                self.call(method, flow, |object| {
                    let py = object.py();
                    call_optional(object, method, (flow_dict(py, flow)?, values.into_py_dict(py)?))
                });
            }
            // What a controller gets that says that it needs it.
            Event::Subflows { .. }
            | Event::Departure(_)
            | Event::Header(_)
            | Event::Room(_)
            | Event::ExtraAcked
            | Event::Deadline => {}
        }
    }

    fn decision(&self) -> Decision {
        self.decision
    }

    fn backoff(&self, flow: &Flow, why: Congestion) -> Backoff {
        let asked = if self.failure.is_set() {
            None
        } else {
            Python::attach(|py| self.announced(py, flow, why)).unwrap_or_else(|error| {
                self.failure.set(error);
                None
            })
        };
        // Without a word from the controller a datapath that cannot ask halves, as Reno does.
        let (cwnd, ssthresh) = asked.unwrap_or((self.decision.cwnd / 2, self.decision.cwnd / 2));
        Backoff { cwnd, ssthresh, repeat: false }
    }

    fn needs(&self) -> Needs {
        let [path_change, _, link_quality] = self.hinted;
        Needs { rate: true, path_change, link_quality, ..Needs::default() }
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        if !self.probed || self.failure.is_set() {
            return;
        }
        match Python::attach(|py| self.probes(py)) {
            Ok(given) => given.iter().for_each(|(name, value)| emit(name, *value)),
            Err(error) => self.failure.set(error),
        }
    }
}
