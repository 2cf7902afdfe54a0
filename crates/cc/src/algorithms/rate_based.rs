//! The host of algorithms that set a rate and have no window: pacing, the guard on data in flight, collapse at a timeout and undo are
//! written here once. A paper's algorithm is a [`RatePolicy`].

use alloc::boxed::Box;
use core::fmt::Debug;

use crate::algorithms::model::{GUARD, LARGEST, guard, times};
use crate::controller::{Backoff, Congestion, Controller, Decision, Life, Pacing, Recovery};
use crate::header::{Echo, Header};
use crate::report::{Ack, Flow};
use crate::time::{Rate, Time, whole};
use crate::windowed::Start;

/// The part of a rate-based algorithm that a paper defines. Rates are bytes of payload per second.
pub(crate) trait RatePolicy: Debug + Send {
    /// The rate for segments of `mss` bytes; `None` before the first RTT sample, when the initial window goes out at once.
    fn rate(&self, mss: u32) -> Option<f64>;

    /// Every ACK. Returns what is in flight at the rate, bytes, for the guard to follow; `None` leaves it.
    fn on_ack(&mut self, flow: &Flow, ack: &Ack) -> Option<f64>;

    /// Congestion began. After a timeout the host is silent until something has been delivered.
    fn on_congestion(&mut self, flow: &Flow, why: Congestion);

    /// The last episode was spurious.
    fn on_undo(&mut self, flow: &Flow);

    /// See [`Decision::deadline`].
    fn deadline(&self) -> Time {
        Time::MAX
    }

    /// See [`Controller::on_deadline`]. Returns what [`RatePolicy::on_ack`] does.
    fn on_deadline(&mut self, _flow: &Flow) -> Option<f64> {
        None
    }

    /// See [`Controller::echo`].
    fn echo(&self, _mss: u32) -> Option<Box<dyn Echo>> {
        None
    }

    /// See [`Controller::header`].
    fn header(&mut self, _flow: &Flow) -> Option<Header> {
        None
    }

    /// See [`Controller::on_header`].
    fn on_header(&mut self, _flow: &Flow, _header: &Header) {}

    /// Names internal quantities for traces.
    fn probe(&self, emit: &mut dyn FnMut(&str, f64));
}

/// A [`RatePolicy`] in its host: a complete [`Controller`]. After an idle time nothing changes: the rate is held.
#[derive(Debug)]
pub(crate) struct RateBased<P> {
    policy: P,
    mss: u32,
    /// The guard, bytes.
    cwnd: u64,
    /// A timeout was reported and nothing has been delivered since.
    collapsed: bool,
}

impl<P: RatePolicy> RateBased<P> {
    /// Hosts `policy` on a connection that begins as `start` says.
    pub(crate) fn new(policy: P, start: Start) -> Self {
        let mss = start.mss.max(1);
        let cwnd = times(start.initial_window.max(1.0), u64::from(mss));
        Self { policy, mss, cwnd, collapsed: false }
    }

    fn follow(&mut self, in_flight: Option<f64>) {
        self.cwnd = in_flight.map_or(self.cwnd, |bytes| guard(GUARD, bytes, self.mss));
    }
}

impl<P: RatePolicy> Controller for RateBased<P> {
    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        self.collapsed &= ack.acked == 0;
        let in_flight = self.policy.on_ack(flow, ack);
        self.follow(in_flight);
    }

    fn on_congestion(&mut self, flow: &Flow, why: Congestion) {
        if !self.collapsed {
            self.policy.on_congestion(flow, why);
            self.collapsed = why == Congestion::Timeout;
        }
    }

    fn on_undo(&mut self, flow: &Flow, before: &Decision) {
        self.policy.on_undo(flow);
        self.collapsed = false;
        self.cwnd = self.cwnd.max(before.cwnd.min(LARGEST));
    }

    fn on_life(&mut self, flow: &Flow, what: Life) {
        if what == Life::MssChanged {
            self.mss = flow.mss.max(1);
            self.cwnd = self.cwnd.max(u64::from(self.mss));
        }
    }

    fn on_deadline(&mut self, flow: &Flow) {
        let in_flight = self.policy.on_deadline(flow);
        self.follow(in_flight);
    }

    fn echo(&self) -> Option<Box<dyn Echo>> {
        self.policy.echo(self.mss)
    }

    fn header(&mut self, flow: &Flow) -> Option<Header> {
        self.policy.header(flow)
    }

    fn on_header(&mut self, flow: &Flow, header: &Header) {
        self.policy.on_header(flow, header);
    }

    fn decision(&self) -> Decision {
        let paced = |rate: f64| Pacing::Rate(Rate(whole(rate).clamp(1, LARGEST)));
        let pacing = self.policy.rate(self.mss).map_or(Pacing::Off, paced);
        Decision { cwnd: self.cwnd, ssthresh: u64::MAX, pacing, deadline: self.policy.deadline() }
    }

    /// The guard stays: what congestion changes is the rate.
    fn backoff(&self, _flow: &Flow, _why: Congestion) -> Backoff {
        Backoff { cwnd: self.cwnd, ssthresh: u64::MAX, repeat: false }
    }

    fn recovery(&self) -> Recovery {
        Recovery::Controller
    }

    fn wants_rate(&self) -> bool {
        true
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        self.policy.probe(emit);
    }
}
