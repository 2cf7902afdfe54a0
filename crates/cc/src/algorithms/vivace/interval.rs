//! Vivace's monitor interval: what was sent in it, and what became of that.

use crate::algorithms::prelude::*;

/// Why an interval is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The starting phase looks at its utility.
    Starting,
    /// A probe above the rate.
    Faster,
    /// A probe below the rate.
    Slower,
    /// Results are on the way.
    Waiting,
}

/// A monitor interval. Bytes, seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct MonitorInterval {
    pub(super) role: Role,
    /// The rate that was set, bytes per second.
    pub(super) rate: f64,
    pub(super) began: Time,
    ended: Time,
    /// `Flow::delivered` at its begin; segments sent in it have no less as their `prior_delivered`.
    pub(super) from: u64,
    /// `Flow::delivered` at its end.
    pub(super) to: u64,
    acked: u64,
    pub(super) lost: u64,
    app_limited: bool,
    /// Acknowledgements of its segments.
    acks: u32,
    /// For the regression: RTTs are counted from the first.
    first: Option<f64>,
    n: f64,
    t: f64,
    r: f64,
    tt: f64,
    tr: f64,
}

/// Segments that an interval takes at least (branch NSDI-2018, `CUDT::start_monitor`).
const FEWEST: f64 = 10.0;
/// Less than this share of the rate was sent: something else than the rate limited the sender.
const HELD_BACK: f64 = 0.8;

impl MonitorInterval {
    pub(super) fn new(role: Role, rate: f64, flow: &Flow) -> Self {
        Self {
            role,
            rate,
            began: flow.now,
            ended: Time::MAX,
            from: flow.delivered,
            to: u64::MAX,
            acked: 0,
            lost: 0,
            app_limited: false,
            acks: 0,
            first: None,
            n: 0.0,
            t: 0.0,
            r: 0.0,
            tt: 0.0,
            tr: 0.0,
        }
    }

    /// How long it takes, seconds: a round trip of `rtt` seconds, or as long as its rate needs
    /// for [`FEWEST`] segments.
    pub(super) fn duration(&self, rtt: f64, mss: u32) -> f64 {
        rtt.max(FEWEST * f64::from(mss) / self.rate)
    }

    /// Nothing more is sent in it.
    pub(super) fn end(&mut self, flow: &Flow) {
        (self.ended, self.to) = (flow.now, flow.delivered);
    }

    /// An ACK for segments of this interval.
    pub(super) fn add(&mut self, flow: &Flow, ack: &Ack, app_limited: bool) {
        self.acked = self.acked.saturating_add(ack.acked);
        self.lost = self.lost.saturating_add(ack.lost);
        self.app_limited |= app_limited;
        self.acks = self.acks.saturating_add(1);
        let Some(rtt) = ack.rtt.map(|rtt| rtt.min) else { return };
        // The smallest RTT of an ACK is that of its last segment, which no delayed ACK held up.
        let sent = flow.now.secs() - rtt.secs() - self.began.secs();
        let first = *self.first.get_or_insert(rtt.secs());
        let rtt = rtt.secs() - first;
        self.n += 1.0;
        self.t += sent;
        self.r += rtt;
        self.tt += sent * sent;
        self.tr += sent * rtt;
    }

    pub(super) fn sent(&self) -> u64 {
        self.acked.saturating_add(self.lost)
    }

    /// L of eq. 1.
    pub(super) fn loss(&self) -> f64 {
        self.lost as f64 / (self.sent() as f64).max(1.0)
    }

    /// dRTT/dT of eq. 1: the slope of the regression line through the RTTs over the instants of sending.
    pub(super) fn slope(&self) -> f64 {
        let spread = self.n * self.tt - self.t * self.t;
        if spread <= 1e-9 * self.n * self.tt {
            return 0.0;
        }
        let slope = (self.n * self.tr - self.t * self.r) / spread;
        if slope.is_finite() { slope } else { 0.0 }
    }

    /// Did something else than the rate limit the sender? Two segments are left to the ends. The
    /// acknowledgements count, and not the RTTs: those of retransmissions have none, and an interval of
    /// retransmissions was sent like any other.
    pub(super) fn is_limited(&self, mss: u32) -> bool {
        let lasted: Span = self.ended.since(self.began);
        let wanted = HELD_BACK * self.rate * lasted.secs() - 2.0 * f64::from(mss);
        self.app_limited || (self.sent() as f64) < wanted || self.acks < 2
    }
}

#[cfg(test)]
mod tests {
    use super::{MonitorInterval, Role};
    use crate::report::{Ack, Flow, RttSample};
    use crate::rig::near;
    use crate::time::{Span, Time};

    /// RTTs of 100, 101, 102, ... ms for segments sent every 20 ms: the RTT rises by 1 ms in
    /// 20, and one of ten is lost.
    #[test]
    fn the_slope_is_that_of_the_line_through_the_rtts() {
        let mut flow = Flow { mss: 1000, now: Time(1_000_000_000), ..Flow::default() };
        let mut interval = MonitorInterval::new(Role::Faster, 50_000.0, &flow);
        for i in 0..9_u64 {
            let rtt = Span::from_millis(100 + i);
            flow.now = Time(1_000_000_000) + Span::from_millis(20 * i) + rtt;
            let lost = if i == 4 { 1000 } else { 0 };
            let ack = Ack { acks: 1, acked: 1000, lost, rtt: Some(RttSample::one(rtt)), ..Ack::default() };
            interval.add(&flow, &ack, false);
        }
        near(interval.slope(), 0.05, 1e-9);
        near(interval.loss(), 0.1, 1e-12);
    }
}
