//! A Rust controller and its native program, given the same inputs and compared after every step.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use bentpipe_cc::{Ack, Backoff, Congestion, Controller, Decision, Event, Flow, Needs, Start, registry};
use bentpipe_kernel_host::Native;

/// What a comparison has found so far.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) steps: u64,
    pub(crate) cuts: u64,
    /// Largest difference of the windows and of finite thresholds, in segments.
    pub(crate) cwnd: f64,
    pub(crate) ssthresh: f64,
    /// Largest window, segments.
    pub(crate) largest: f64,
    /// The first step at which they differed by a segment or more.
    pub(crate) apart: Option<String>,
}

/// Where a comparison writes what it finds; the simulator owns the controller.
pub(crate) type Report = Arc<Mutex<Found>>;

/// Steps both and hands out the Rust controller's decisions.
#[derive(Debug)]
pub(crate) struct Twin {
    rust: Box<dyn Controller>,
    native: Native,
    mss: f64,
    report: Report,
}

/// Segments apart; none if both are the "not yet" of a threshold, endlessly far if one is.
fn apart(a: u64, b: u64, mss: f64) -> f64 {
    match (a, b) {
        (u64::MAX, u64::MAX) => 0.0,
        (u64::MAX, _) | (_, u64::MAX) => f64::INFINITY,
        _ => (a as f64 - b as f64).abs() / mss,
    }
}

impl Twin {
    /// Algorithm `id` in both forms.
    pub(crate) fn new(id: &str, start: Start, report: Report) -> Self {
        let rust =
            registry::build(id, &registry::with(&[], registry::in_linux(id)), start).expect("registered");
        let native = Native::new(id, start).expect("it has a native program");
        Self { rust, native, mss: f64::from(start.mss), report }
    }

    fn both(&mut self, mut act: impl FnMut(&mut dyn Controller)) {
        act(&mut *self.rust);
        act(&mut self.native);
    }

    fn compare(&self, flow: &Flow, what: &str, cut: bool) {
        let (rust, native) = (self.rust.decision(), self.native.decision());
        let mut found = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        found.steps += 1;
        found.cuts += u64::from(cut);
        let mut cwnd = apart(rust.cwnd, native.cwnd, self.mss);
        let mut ssthresh = apart(rust.ssthresh, native.ssthresh, self.mss);
        if found.steps.is_multiple_of(8) || cut {
            for why in [Congestion::Ecn, Congestion::Loss, Congestion::Timeout] {
                let (rust, native) = (self.rust.backoff(flow, why), self.native.backoff(flow, why));
                cwnd = cwnd.max(apart(rust.cwnd, native.cwnd, self.mss));
                ssthresh = ssthresh.max(apart(rust.ssthresh, native.ssthresh, self.mss));
            }
        }
        if found.apart.is_none() && (cwnd >= 1.0 || ssthresh >= 1.0) {
            let mut text = format!("step {} at {:.6} s, {what}: ", found.steps, flow.now.secs());
            let _ = write!(text, "Rust {rust:?}, native {:?}", self.native);
            found.apart = Some(text);
        }
        found.cwnd = found.cwnd.max(cwnd);
        found.ssthresh = found.ssthresh.max(ssthresh);
        found.largest = found.largest.max(rust.cwnd as f64 / self.mss);
    }
}

impl Controller for Twin {
    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        self.both(|cc| cc.on_ack(flow, ack));
        self.compare(flow, "an ACK", false);
    }

    fn on(&mut self, flow: &Flow, event: Event<'_>) {
        match event {
            Event::Congestion(why) => {
                self.both(|cc| cc.on(flow, Event::Congestion(why)));
                self.compare(flow, "congestion", true);
            }
            Event::Undo(before) => {
                self.both(|cc| cc.on(flow, Event::Undo(before)));
                self.compare(flow, "an undo", false);
            }
            Event::Life(what) => {
                self.both(|cc| cc.on(flow, Event::Life(what)));
                self.compare(flow, "an event", false);
            }
            event => self.rust.on(flow, event), // nothing else reaches the kernel
        }
    }

    fn decision(&self) -> Decision {
        self.rust.decision()
    }

    fn backoff(&self, flow: &Flow, why: Congestion) -> Backoff {
        self.rust.backoff(flow, why)
    }

    fn needs(&self) -> Needs {
        self.rust.needs()
    }
}
