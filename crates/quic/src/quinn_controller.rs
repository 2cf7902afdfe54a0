//! quinn's `Controller` over a controller of `bentpipe-cc`.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bentpipe_cc::{Flow, Pacing, Start, Time};
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};

use crate::algorithm::Algorithm;
use crate::datapath::Datapath;

/// A controller of the registry behind quinn's interface. [`Algorithm`] builds it.
///
/// # What quinn cannot say or do
/// - An acknowledgement is reported when quinn next asks for the window, since only then it is known whether
///   it brought congestion.
/// - There is no timer: a controller's deadline is reported with the next packet that is sent or
///   acknowledged.
/// - There is no undo: quinn does not say that a loss was spurious.
/// - There is no pacing rate: see [`Controller::window`] of this type.
///
/// `bentpipe_quic::carried` says for each algorithm which of these matter.
#[derive(Debug)]
pub struct QuinnController {
    algorithm: Arc<Algorithm>,
    origin: Instant,
    start: Start,
    /// quinn asks for the window by shared reference, and then the last acknowledgement is reported. It
    /// never asks twice at once.
    datapath: Mutex<Datapath>,
}

impl QuinnController {
    pub(crate) fn new(algorithm: Arc<Algorithm>, origin: Instant, mtu: u16, start: Start) -> Self {
        let datapath = Mutex::new(Datapath::new(algorithm.controller(start), mtu));
        Self { algorithm, origin, start, datapath }
    }

    /// The algorithm.
    pub fn algorithm(&self) -> &Algorithm {
        &self.algorithm
    }

    /// The state of the connection as the algorithm sees it.
    pub fn flow(&self) -> Flow {
        *self.locked().flow()
    }

    /// Names internal quantities of the algorithm, for traces.
    pub fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        self.locked().controller().probe(emit);
    }

    fn time(&self, at: Instant) -> Time {
        let since = at.saturating_duration_since(self.origin);
        Time(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }

    fn own(&mut self) -> &mut Datapath {
        self.datapath.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    fn locked(&self) -> MutexGuard<'_, Datapath> {
        self.datapath.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Controller for QuinnController {
    fn on_sent(&mut self, now: Instant, bytes: u64, _last_packet_number: u64) {
        let now = self.time(now);
        self.own().on_sent(now, bytes);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, _rtt: &RttEstimator) {
        let (now, sent) = (self.time(now), self.time(sent));
        self.own().on_ack(now, sent, bytes, app_limited);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, _largest: Option<u64>) {
        let now = self.time(now);
        self.own().on_end_acks(now, in_flight, app_limited);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        let (now, sent) = (self.time(now), self.time(sent));
        self.own().on_congestion(now, sent, is_persistent_congestion, lost_bytes);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.own().on_mtu(new_mtu);
    }

    /// The algorithm's window, and at least two datagrams. Of an algorithm that paces by a rate of its own,
    /// not more than rate times SRTT.
    ///
    /// quinn sends while what is in flight and one datagram more are *less* than this, so it is a byte more
    /// than the window that is meant.
    fn window(&self) -> u64 {
        self.locked().window().saturating_add(1)
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut datapath = self.locked();
        let decision = datapath.controller().decision();
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = datapath.window();
        metrics.ssthresh = (decision.ssthresh != u64::MAX).then_some(decision.ssthresh);
        metrics.pacing_rate = match decision.pacing {
            Pacing::Rate(rate) => Some(rate.0.saturating_mul(8)),
            Pacing::Off | Pacing::Window => None,
        };
        metrics
    }

    /// quinn copies the state of a connection whose peer has changed its address. The copy begins anew with
    /// the present window and threshold, since an algorithm's estimates cannot be copied.
    fn clone_box(&self) -> Box<dyn Controller> {
        let mut datapath = self.locked();
        let flow = *datapath.flow();
        let decision = datapath.controller().decision();
        drop(datapath);
        let segments = |bytes: u64| bytes as f64 / f64::from(flow.mss);
        let initial_ssthresh = match decision.ssthresh {
            u64::MAX => f64::INFINITY,
            bytes => segments(bytes),
        };
        let start = Start { mss: flow.mss, initial_window: segments(decision.cwnd), initial_ssthresh };
        let origin = self.origin + Duration::from_nanos(flow.now.0);
        let mtu = u16::try_from(flow.mss).unwrap_or(u16::MAX);
        Box::new(Self::new(self.algorithm.clone(), origin, mtu, start))
    }

    fn initial_window(&self) -> u64 {
        (self.start.initial_window * f64::from(self.start.mss)) as u64
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl ControllerFactory for Algorithm {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let start = self.start(current_mtu);
        Box::new(QuinnController::new(self, now, current_mtu, start))
    }
}
