//! The host of algorithms that set a rate and have no window: pacing, the guard on data in flight, collapse
//! at a timeout and undo are written here once. A paper's algorithm is a [`RatePolicy`].

use alloc::boxed::Box;
use core::fmt::Debug;

use crate::algorithms::model::{GUARD, LARGEST, guard, times};
use crate::algorithms::prelude::*;
use crate::header::Echo;
use crate::time::whole;

/// The part of a rate-based algorithm that a paper defines. Rates are bytes of payload per second.
pub(crate) trait RatePolicy: Debug + Send {
    /// The rate for segments of `mss` bytes; `None` before the first RTT sample, when the initial
    /// window goes out at once.
    fn rate(&self, mss: u32) -> Option<f64>;

    /// Every ACK. Returns what is in flight at the rate, bytes, for the guard to follow; `None` leaves it.
    fn on_ack(&mut self, flow: &Flow, ack: &Ack) -> Option<f64>;

    /// Something else happened. Returns what [`RatePolicy::on_ack`] does. At [`Event::Congestion`] only the
    /// first of several timeouts in a row is heard: the host is silent until something has been delivered.
    fn on(&mut self, flow: &Flow, event: Event<'_>) -> Option<f64>;

    /// See [`Decision::deadline`].
    fn deadline(&self) -> Time {
        Time::MAX
    }

    /// See [`Needs::echo`].
    fn echo(&self, _mss: u32) -> Option<Box<dyn Echo>> {
        None
    }

    /// Names internal quantities for traces.
    fn probe(&self, emit: &mut dyn FnMut(&str, f64));
}

/// A [`RatePolicy`] in its host: a complete [`Controller`]. After an idle time nothing
/// changes: the rate is held.
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

    /// The same as a [`Controller`] of its own.
    pub(crate) fn hosted(policy: P, start: Start) -> Box<dyn Controller>
    where
        P: 'static,
    {
        Box::new(Self::new(policy, start))
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

    fn on(&mut self, flow: &Flow, event: Event<'_>) {
        match event {
            Event::Congestion(_) if self.collapsed => return,
            Event::Congestion(why) => self.collapsed = why == Congestion::Timeout,
            Event::Undo(before) => {
                self.collapsed = false;
                self.cwnd = self.cwnd.max(before.cwnd.min(LARGEST));
            }
            Event::Life(Life::MssChanged) => {
                self.mss = flow.mss.max(1);
                self.cwnd = self.cwnd.max(u64::from(self.mss));
            }
            _ => {}
        }
        let in_flight = self.policy.on(flow, event);
        self.follow(in_flight);
    }

    fn decision(&self) -> Decision {
        let paced = |rate: f64| Pacing::Rate(Rate(whole(rate).clamp(1, LARGEST)));
        let pacing = self.policy.rate(self.mss).map_or(Pacing::Off, paced);
        Decision { deadline: self.policy.deadline(), ..Decision::of_model(self.cwnd, pacing) }
    }

    /// The guard stays: what congestion changes is the rate.
    fn backoff(&self, _flow: &Flow, _why: Congestion) -> Backoff {
        Backoff::of_model(self.cwnd)
    }

    fn needs(&self) -> Needs {
        let echo = self.policy.echo(self.mss);
        Needs { rate: true, recovery: RecoveryWindow::Controller, echo, ..Needs::default() }
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        self.policy.probe(emit);
    }
}
