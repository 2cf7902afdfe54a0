//! A Rust controller and its native program, told the same and compared after every step.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use bentpipe_cc::{
    Ack, Backoff, Congestion, Controller, Decision, Flow, Life, Rtt, RttSample, Span, Start, Time, registry,
};
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
    kernel: Kernel,
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
        let rust = registry::build(id, &[], start).expect("registered");
        let native = Native::new(id, start).expect("it has a native program");
        Self { rust, native, mss: f64::from(start.mss), report, kernel: Kernel::default() }
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

/// What the kernel tells: whole microseconds, and the smoothed RTT in eighths of one. An RTT gets a jitter of up to 15 us: on a
/// path of constant RTT the throughputs of two rounds would often be equal but for the rounding of floats, and this would
/// decide the steps of Vegas-L.
#[derive(Debug, Default)]
struct Kernel {
    samples: u64,
    /// Smallest and latest RTT.
    rtt: Option<(Span, Span)>,
}

impl Kernel {
    /// Takes an RTT sample.
    fn sample(&mut self, rtt: Option<RttSample>) -> Option<RttSample> {
        let rtt = rtt?.latest;
        self.samples += 1;
        let jitter = self.samples.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60;
        let told = Span((rtt.0 / 1000 + 1 + jitter) * 1000);
        self.rtt = Some((self.rtt.map_or(told, |(min, _)| min.min(told)), told));
        Some(RttSample::one(told))
    }

    fn flow(&self, flow: &Flow) -> Flow {
        let mut told = *flow;
        told.now = Time(flow.now.0 / 1000 * 1000);
        told.rtt = flow.rtt.zip(self.rtt).map(|(rtt, (min, latest))| Rtt {
            latest,
            min,
            smoothed: Span(rtt.smoothed.0 / 125 * 125),
            var: rtt.var,
        });
        told
    }
}

impl Controller for Twin {
    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        let mut told = *ack;
        told.rtt = self.kernel.sample(ack.rtt);
        let flow = self.kernel.flow(flow);
        self.both(|cc| cc.on_ack(&flow, &told));
        self.compare(&flow, "an ACK", false);
    }

    fn on_congestion(&mut self, flow: &Flow, why: Congestion) {
        let flow = self.kernel.flow(flow);
        self.both(|cc| cc.on_congestion(&flow, why));
        self.compare(&flow, "congestion", true);
    }

    fn on_undo(&mut self, flow: &Flow, before: &Decision) {
        let flow = self.kernel.flow(flow);
        self.both(|cc| cc.on_undo(&flow, before));
        self.compare(&flow, "an undo", false);
    }

    fn on_life(&mut self, flow: &Flow, what: Life) {
        let flow = self.kernel.flow(flow);
        self.both(|cc| cc.on_life(&flow, what));
        self.compare(&flow, "an event", false);
    }

    fn decision(&self) -> Decision {
        self.rust.decision()
    }

    fn backoff(&self, flow: &Flow, why: Congestion) -> Backoff {
        self.rust.backoff(&self.kernel.flow(flow), why)
    }
}
