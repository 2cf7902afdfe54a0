//! Turns quinn's reports into those that a controller of `bentpipe-cc` gets.
//!
//! For one acknowledgement quinn calls `on_ack` for each packet, `on_end_acks` once, and then
//! `on_congestion_event` if packets were lost or marked. A controller of `bentpipe-cc` learns of congestion
//! first. An acknowledgement is therefore held back as a [`Batch`], and reported when quinn asks for the
//! window or reports something else. No time passes in between: the report carries the batch's own instant.

use bentpipe_cc::{Ack, Congestion, Controller, Event, Flow, Life, Pacing, Phase, RttSample, Span, Time};

use crate::delivery::Deliveries;
use crate::round_trip::RoundTrip;

/// The smallest window, in datagrams (RFC 9002 section 7.2).
const LEAST_DATAGRAMS: u64 = 2;

/// One acknowledgement, or a loss that a timer detects.
#[derive(Clone, Copy, Debug, Default)]
struct Batch {
    now: Time,
    /// True once all packets of the acknowledgement have been reported.
    ended: bool,
    acked: u64,
    /// The part of `acked` that was sent before the last congestion: it makes no window grow (RFC 9002
    /// section 7.3.2).
    stale: u64,
    /// When the newest acknowledged packet was sent.
    newest: Option<Time>,
    /// The worst congestion reported, with the send time of the newest packet concerned.
    congestion: Option<(Congestion, Time)>,
    app_limited: bool,
}

/// One connection's controller with its books.
#[derive(Debug)]
pub(crate) struct Datapath {
    cc: Box<dyn Controller>,
    flow: Flow,
    rtt: RoundTrip,
    rate: Deliveries,
    /// Does the controller read rate samples?
    rated: bool,
    batch: Option<Batch>,
    /// Bytes lost since the last report of an acknowledgement.
    lost: u64,
    /// When the last congestion was detected. Packets sent before belong to that episode (RFC 9002 section
    /// 7.3.2).
    congested_at: Option<Time>,
    /// A packet that is sent from here on ends the round when it is acknowledged.
    round_began: Time,
    /// Has anything been acknowledged? Before that there is no pause of the application.
    begun: bool,
}

impl Datapath {
    /// The books of a connection that begins now, time zero.
    pub(crate) fn new(cc: Box<dyn Controller>, mss: u16) -> Self {
        let mut flow = Flow::default();
        flow.mss = u32::from(mss.max(1));
        flow.rwnd = u64::MAX;
        flow.cwnd_limited = true;
        Self {
            rated: cc.needs().rate,
            cc,
            flow,
            rtt: RoundTrip::default(),
            rate: Deliveries::default(),
            batch: None,
            lost: 0,
            congested_at: None,
            round_began: Time(0),
            begun: false,
        }
    }

    /// The controller, after all pending reports.
    pub(crate) fn controller(&mut self) -> &dyn Controller {
        self.report();
        &*self.cc
    }

    /// The flow, after all pending reports.
    pub(crate) fn flow(&mut self) -> &Flow {
        self.report();
        &self.flow
    }

    /// `bytes` were sent.
    pub(crate) fn on_sent(&mut self, now: Time, bytes: u64) {
        self.report();
        self.advance(now);
        if self.flow.in_flight == 0 && self.begun {
            self.cc.on(&self.flow, Event::Life(Life::IdleRestart));
        }
        if self.rated {
            self.rate.on_sent(&self.flow);
        }
        self.flow.in_flight = self.flow.in_flight.saturating_add(bytes);
    }

    /// A packet that was sent at `sent` was acknowledged.
    pub(crate) fn on_ack(&mut self, now: Time, sent: Time, bytes: u64, app_limited: bool) {
        let stale = self.congested_at.is_some_and(|at| sent <= at);
        let batch = self.batch_at(now, false);
        batch.acked = batch.acked.saturating_add(bytes);
        batch.stale = batch.stale.saturating_add(if stale { bytes } else { 0 });
        batch.newest = batch.newest.max(Some(sent));
        batch.app_limited = app_limited;
    }

    /// All packets of the acknowledgement have been reported; `in_flight` bytes remain in flight.
    pub(crate) fn on_end_acks(&mut self, now: Time, in_flight: u64, app_limited: bool) {
        let batch = self.batch_at(now, false);
        (batch.ended, batch.app_limited) = (true, app_limited);
        self.flow.in_flight = in_flight;
    }

    /// Packets were lost, the newest of them sent at `sent`, or marked, and then `lost` is 0.
    pub(crate) fn on_congestion(&mut self, now: Time, sent: Time, persistent: bool, lost: u64) {
        let why = match (lost, persistent) {
            (0, _) => Congestion::Ecn,
            (_, true) => Congestion::Timeout,
            (_, false) => Congestion::Loss,
        };
        let worst = |before: Congestion| match (before, why) {
            (Congestion::Timeout, _) | (_, Congestion::Timeout) => Congestion::Timeout,
            (Congestion::Loss, _) | (_, Congestion::Loss) => Congestion::Loss,
            _ => Congestion::Ecn,
        };
        let batch = self.batch_at(now, true);
        batch.ended = true;
        batch.congestion = match batch.congestion {
            Some((before, newest)) => Some((worst(before), newest.max(sent))),
            None => Some((why, sent)),
        };
        self.flow.in_flight = self.flow.in_flight.saturating_sub(lost);
        self.flow.lost = self.flow.lost.saturating_add(lost);
        self.lost = self.lost.saturating_add(lost);
    }

    /// Datagrams of this size may be sent from now on.
    pub(crate) fn on_mtu(&mut self, mtu: u16) {
        // quinn calls this between the packets of an acknowledgement, which goes on.
        self.flow.mss = u32::from(mtu.max(1));
        self.cc.on(&self.flow, Event::Life(Life::MssChanged));
    }

    /// The window that quinn is to keep, in bytes.
    ///
    /// quinn paces by window / SRTT and knows no other rate. A rate that a controller asks for is kept by
    /// Little's law: the data in flight is at most rate times SRTT.
    pub(crate) fn window(&mut self) -> u64 {
        self.report();
        let decision = self.cc.decision();
        let mut window = decision.cwnd;
        if let (Pacing::Rate(rate), Some(rtt)) = (decision.pacing, self.flow.rtt) {
            window = window.min((rate.bytes_per_sec() * rtt.smoothed.secs()) as u64);
        }
        window.max(LEAST_DATAGRAMS * u64::from(self.flow.mss))
    }

    /// The batch of an acknowledgement at `now`; a new one if there is none that still grows. `ended`: a
    /// batch that has ended will do, too.
    fn batch_at(&mut self, now: Time, ended: bool) -> &mut Batch {
        if self.batch.is_some_and(|batch| batch.now != now || (batch.ended && !ended)) {
            self.report();
        }
        self.batch.get_or_insert(Batch { now, ..Batch::default() })
    }

    /// The clock moves on, never back. A deadline that has passed is reported now, since quinn has no timer
    /// for it.
    fn advance(&mut self, now: Time) {
        self.flow.now = self.flow.now.max(now);
        if self.cc.decision().deadline <= self.flow.now {
            self.cc.on(&self.flow, Event::Deadline);
        }
    }

    /// Reports the batch that is held back, if any, in the order of [`Controller`].
    fn report(&mut self) {
        let Some(batch) = self.batch.take() else { return };
        self.advance(batch.now);
        let mut ack = Ack::default();
        ack.acks = 1;
        ack.acked = batch.acked;
        ack.uncounted = batch.stale;
        self.count(&batch, &mut ack);
        // A packet that was sent after the congestion has arrived (RFC 9002 section 7.3.2).
        let recovered = self.flow.phase != Phase::Open
            && batch.newest.is_some_and(|newest| self.congested_at.is_none_or(|at| newest > at));
        let news = batch.congestion.filter(|(why, sent)| self.begins_episode(*why, *sent));
        if recovered && news.is_some() {
            self.recover();
        }
        if let Some((why, _)) = news {
            self.cc.on(&self.flow, Event::Congestion(why));
            self.congested_at = Some(self.flow.now);
            self.flow.phase = match why {
                Congestion::Ecn => Phase::Open,
                Congestion::Loss => Phase::Recovery,
                Congestion::Timeout => Phase::Loss,
            };
        }
        if matches!(news, Some((Congestion::Ecn, _))) {
            ack.ce = ack.acked; // quinn says that something was marked, not how much
        }
        if ack.acked > 0 {
            ack.lost = core::mem::take(&mut self.lost);
            self.cc.on_ack(&self.flow, &ack);
        }
        if recovered && news.is_none() {
            self.recover();
        }
    }

    /// Brings the flow up to date with an acknowledgement, and adds its samples to the report.
    fn count(&mut self, batch: &Batch, ack: &mut Ack) {
        let flow = &mut self.flow;
        let Some(newest) = batch.newest else { return };
        self.begun = true;
        flow.delivered = flow.delivered.saturating_add(batch.acked);
        flow.cwnd_limited = !batch.app_limited;
        ack.rtt = self.rtt.on_acked(flow.now, newest).map(RttSample::one);
        flow.rtt = self.rtt.estimate();
        if self.rated {
            let longest = flow.rtt.map_or(Span::ZERO, |r| r.smoothed.max(r.latest));
            // quinn declares packets lost that were sent 9/8 round trips before (RFC 9002 section 6.1.2).
            let memory = Span(longest.0.saturating_mul(2));
            ack.rate = self.rate.on_acked(flow, newest, memory, batch.app_limited);
        }
        if newest >= self.round_began {
            self.round_began = flow.now;
            flow.round += 1;
            ack.round_end = true;
        }
    }

    /// Is it the first report of its episode? Persistent congestion collapses the window even within an
    /// episode, once.
    fn begins_episode(&self, why: Congestion, sent: Time) -> bool {
        let later = self.congested_at.is_none_or(|at| sent > at);
        later || (why == Congestion::Timeout && self.flow.phase != Phase::Loss)
    }

    fn recover(&mut self) {
        self.flow.phase = Phase::Open;
        self.cc.on(&self.flow, Event::Life(Life::Recovered));
    }
}

#[cfg(test)]
mod tests;
