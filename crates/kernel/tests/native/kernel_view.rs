//! What the kernel would tell of a simulated flow.

use bentpipe_cc::{
    Ack, Backoff, Congestion, Controller, Decision, Event, Flow, Needs, Rtt, RttSample, Span, Time,
};

/// Tells a controller what the kernel would: times and RTTs in whole microseconds, the smoothed RTT in
/// eighths of one. An RTT gets a jitter of up to 15 us: on a path of constant RTT the throughputs of two
/// rounds are often equal but for the rounding of floats, and this would decide the steps of Vegas-L.
#[derive(Debug)]
pub(crate) struct KernelView<C> {
    inner: C,
    samples: u64,
    /// Smallest and latest RTT.
    rtt: Option<(Span, Span)>,
}

impl<C> KernelView<C> {
    pub(crate) fn new(inner: C) -> Self {
        Self { inner, samples: 0, rtt: None }
    }

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

impl<C: Controller> Controller for KernelView<C> {
    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        let mut told = *ack;
        told.rtt = self.sample(ack.rtt);
        let flow = self.flow(flow);
        self.inner.on_ack(&flow, &told);
    }

    fn on(&mut self, flow: &Flow, event: Event<'_>) {
        let flow = self.flow(flow);
        self.inner.on(&flow, event);
    }

    fn decision(&self) -> Decision {
        self.inner.decision()
    }

    fn backoff(&self, flow: &Flow, why: Congestion) -> Backoff {
        self.inner.backoff(&self.flow(flow), why)
    }

    fn needs(&self) -> Needs {
        self.inner.needs()
    }
}
