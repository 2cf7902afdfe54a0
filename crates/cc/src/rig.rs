//! A test bench: a registered algorithm on a path of one queue, driven round by round. That for algorithms that
//! set a rate is `pipe.rs`.

pub(crate) mod pipe;

use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;

use crate::controller::Controller;
use crate::decision::Decision;
use crate::event::{Congestion, Event};
use crate::extra::ExtraOrder;
use crate::header::Header;
use crate::registry::{self, Args, Value};
use crate::report::{Ack, Flow, Rtt, RttSample};
use crate::time::{Span, Time};
use crate::window::{Start, Window};

/// Bytes of a segment: many, so that a window read in bytes is exact to a millionth of a segment.
const MSS: u32 = 1_000_000;

/// Checked arguments of algorithm `id`.
pub(crate) fn args(id: &str, given: &[(&str, Value)]) -> Args {
    let given: Vec<_> = given.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    registry::check(registry::find(id).expect("registered"), &given).expect("within its range")
}

/// A choice as a parameter value.
pub(crate) fn text(choice: &str) -> Value {
    Value::Text(choice.to_string())
}

/// A named internal quantity of a controller; NaN if it has none of that name.
pub(crate) fn probe(cc: &dyn Controller, wanted: &str) -> f64 {
    let mut found = f64::NAN;
    cc.probe(&mut |name, value| {
        if name == wanted {
            found = value;
        }
    });
    found
}

/// A controller and its flow.
pub(crate) struct Rig {
    pub(crate) cc: Box<dyn Controller>,
    pub(crate) flow: Flow,
}

impl Rig {
    /// Starts algorithm `id` with a window of `w` and a threshold of `t` segments.
    pub(crate) fn new(id: &str, given: &[(&str, Value)], w: f64, t: f64) -> Self {
        let start = Start { mss: MSS, initial_window: w, initial_ssthresh: t };
        let given: Vec<_> = given.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
        let cc = registry::build(id, &given, start).expect("within its range");
        let flow = Flow { mss: MSS, rwnd: u64::MAX, cwnd_limited: true, ..Flow::default() };
        Self { cc, flow }
    }

    /// cwnd in segments.
    pub(crate) fn w(&self) -> f64 {
        self.window().cwnd
    }

    /// ssthresh in segments.
    pub(crate) fn t(&self) -> f64 {
        self.window().ssthresh
    }

    fn window(&self) -> Window {
        let Decision { cwnd, ssthresh, .. } = self.cc.decision();
        Window { cwnd: cwnd as f64 / f64::from(MSS), ssthresh: ssthresh as f64 / f64::from(MSS) }
    }

    /// One ACK of `n` segments, `after` seconds after the last one.
    pub(crate) fn ack(&mut self, n: f64, after: f64, rtt: f64, round_end: bool) {
        self.report(n, after, rtt, round_end, 0.0);
    }

    /// As [`Rig::ack`], for an ACK that does not advance: its SACK blocks report the segments, so
    /// none may make a window grow.
    pub(crate) fn sack(&mut self, n: f64, after: f64, rtt: f64, round_end: bool) {
        self.report(n, after, rtt, round_end, n);
    }

    /// An ACK of `n` segments after one RTT; `ce` of them were marked.
    pub(crate) fn marked(&mut self, n: f64, ce: f64, rtt: f64, round_end: bool) {
        self.report_marked(n, rtt, rtt, round_end, 0.0, ce);
    }

    fn report(&mut self, n: f64, after: f64, rtt: f64, round_end: bool, uncounted: f64) {
        self.report_marked(n, after, rtt, round_end, uncounted, 0.0);
    }

    fn report_marked(&mut self, n: f64, after: f64, rtt: f64, round_end: bool, uncounted: f64, ce: f64) {
        let sample = Span::from_secs(rtt);
        let bytes = |segments: f64| (segments * f64::from(MSS)) as u64;
        let (acked, uncounted, ce) = (bytes(n), bytes(uncounted), bytes(ce));
        self.flow.now = self.flow.now + Span::from_secs(after);
        self.flow.delivered += acked;
        self.flow.round += u64::from(round_end);
        let min = self.flow.rtt.map_or(sample, |known| known.min.min(sample));
        self.flow.rtt = Some(Rtt { latest: sample, min, smoothed: sample, var: Span::ZERO });
        let rtt = Some(RttSample::one(sample));
        let ack = Ack { acks: 1, acked, uncounted, ce, round_end, rtt, ..Ack::default() };
        self.cc.on_ack(&self.flow, &ack);
    }

    /// A round in which a whole window is acknowledged, one segment at a time, with this RTT.
    pub(crate) fn round(&mut self, rtt: f64) {
        let acks = self.w() as u64;
        for i in 1..=acks {
            self.ack(1.0, rtt / acks as f64, rtt, i == acks);
        }
    }

    /// A round on a path of `bdp` segments and a propagation delay of `base` seconds: the rest of the window
    /// is in the queue. Returns the RTT.
    pub(crate) fn path(&mut self, bdp: f64, base: f64) -> f64 {
        let rtt = base * (self.w() / bdp).max(1.0);
        self.round(rtt);
        rtt
    }

    /// Congestion now; returns the decision that stood before.
    pub(crate) fn congestion(&mut self, why: Congestion) -> Decision {
        let before = self.cc.decision();
        self.cc.on(&self.flow, Event::Congestion(why));
        before
    }

    /// The header of a data segment that leaves now.
    pub(crate) fn header(&mut self) -> Option<Header> {
        let mut header = None;
        self.cc.on(&self.flow, Event::Departure(&mut header));
        header
    }

    /// The extra segments to send from now on.
    pub(crate) fn extra_order(&mut self) -> Option<ExtraOrder> {
        let mut order = None;
        self.cc.on(&self.flow, Event::Room(&mut order));
        order
    }

    /// Seconds since the start.
    pub(crate) fn secs(&self) -> f64 {
        self.flow.now.since(Time::default()).secs()
    }
}

/// Asserts that `got` is within `tolerance` (relative) of `expected`.
#[track_caller]
pub(crate) fn near(got: f64, expected: f64, tolerance: f64) {
    let off = (got - expected).abs();
    assert!(off <= tolerance * expected.abs(), "{got} instead of {expected}");
}
