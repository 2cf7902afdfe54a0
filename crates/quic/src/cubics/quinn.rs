//! quinn's CUBIC (RFC 8312 with parts of RFC 9438) behind the calls of vectors.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bentpipe_cc::Span;
use bentpipe_sim::plan::{DirectionPlan, QueueLimit};
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, Cubic, CubicConfig};
use serde_json::{Value, json};

use super::number;
use super::replay::{Fields, Implementation};
use crate::simulation::{Transfer, run};

/// quinn's estimators of the round-trip time, by the smoothed time in nanoseconds. quinn makes them only inside a
/// connection, so they come from one whose queue grows.
#[derive(Clone)]
pub(super) struct Estimators(Arc<BTreeMap<u64, RttEstimator>>);

/// A controller whose window grows by a segment with each twenty packets, and that keeps the estimators.
#[derive(Clone)]
struct Collector {
    window: u64,
    kept: Arc<Mutex<BTreeMap<u64, RttEstimator>>>,
}

impl Controller for Collector {
    fn on_ack(&mut self, _now: Instant, _sent: Instant, bytes: u64, _limited: bool, rtt: &RttEstimator) {
        self.window += bytes / 20;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(rtt.get().as_nanos() as u64, *rtt);
    }

    fn on_congestion_event(&mut self, _now: Instant, _sent: Instant, _persistent: bool, _lost: u64) {}

    fn on_mtu_update(&mut self, _new_mtu: u16) {}

    fn window(&self) -> u64 {
        self.window
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.window
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl ControllerFactory for Collector {
    fn build(self: Arc<Self>, _now: Instant, _current_mtu: u16) -> Box<dyn Controller> {
        Box::new((*self).clone())
    }
}

impl Estimators {
    /// Those of connections whose queue grows: from a millisecond on, and to several seconds.
    pub(super) fn collected() -> Self {
        let kept = Arc::default();
        for (rate, milliseconds) in [(200_000_000, 400), (10_000_000, 60_000)] {
            let link = DirectionPlan::plain(rate, Span(500_000), QueueLimit::Packets(100_000));
            let transfer = Transfer {
                forward: (&link, "link/a/forward"),
                reverse: (&link, "link/a/reverse"),
                controller: Arc::new(Collector { window: 2400, kept: Arc::clone(&kept) }),
                bytes: None,
                duration: Span::from_millis(milliseconds),
                interval: Span::from_millis(1000),
                seed: 1,
            };
            run(&transfer).expect("the connection holds");
        }
        let kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        Self(Arc::new(kept.clone()))
    }

    /// The one with the nearest smoothed time.
    fn nearest(&self, srtt_ns: u64) -> &RttEstimator {
        let below = self.0.range(..=srtt_ns).next_back();
        let above = self.0.range(srtt_ns..).next();
        let nearest = below.into_iter().chain(above).min_by_key(|(at, _)| at.abs_diff(srtt_ns));
        nearest.expect("some were collected").1
    }
}

/// quinn's CUBIC.
pub(super) struct QuinnCubic {
    cc: Option<Cubic>,
    origin: Instant,
    estimators: Estimators,
    /// When the last episode began: a packet of that instant is one of before.
    episode: Instant,
    /// A timeout, and nothing acknowledged since. quinn's connection reports no second one then.
    silent: bool,
}

impl QuinnCubic {
    /// One for this start. It has no initial threshold.
    pub(super) fn new(given: &Value, flow: &Fields, estimators: &Estimators) -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "quinn counts from an instant; which one it is changes nothing"
        )]
        let origin = Instant::now();
        let mss = number(flow, "mss");
        let window = given["initial_window_segments"].as_f64().unwrap_or(0.0) * mss as f64;
        let mut config = CubicConfig::default();
        config.initial_window(window as u64);
        let cc = given["initial_ssthresh_segments"]
            .is_null()
            .then(|| Cubic::new(Arc::new(config), origin, mss as u16));
        Self { cc, origin, estimators: estimators.clone(), episode: origin, silent: false }
    }
}

impl Implementation for QuinnCubic {
    fn on(&mut self, call: &str, given: &Value, flow: &Fields) {
        let Some(cc) = &mut self.cc else { return };
        let now = self.origin + Duration::from_nanos(number(flow, "now_ns"));
        match call {
            "ack" => {
                self.silent = false;
                let stale = flow["phase"] == "recovery" || given["ce"].as_u64().unwrap_or(0) > 0;
                let sent = if stale { self.episode } else { now };
                let limited = flow["cwnd_limited"] == false;
                let rtt = self.estimators.nearest(number(flow, "srtt_ns"));
                // quinn reports each packet.
                let mut left = given["acked"].as_u64().unwrap_or(0);
                while left > 0 {
                    let packet = left.min(number(flow, "mss"));
                    cc.on_ack(now, sent, packet, limited, rtt);
                    left -= packet;
                }
            }
            "congestion" if !self.silent => {
                let persistent = given == "timeout";
                // It concerns a packet that was sent after the last episode, which may be of this very instant.
                let sent = now + Duration::from_nanos(1);
                cc.on_congestion_event(now, sent, persistent, u64::from(given != "ecn"));
                (self.episode, self.silent) = (now, persistent);
            }
            "mss_changed" => cc.on_mtu_update(number(flow, "mss") as u16),
            _ => {}
        }
    }

    fn answer(&self) -> Fields {
        let Some(cc) = &self.cc else { return Fields::new() };
        let threshold = cc.metrics().ssthresh.filter(|bytes| *bytes < u64::MAX);
        let Value::Object(fields) = json!({ "cwnd": cc.window(), "ssthresh": threshold }) else {
            return Fields::new();
        };
        fields
    }
}
