//! Delivery-rate samples: draft-ietf-ccwg-bbr, section "Delivery Rate Sampling" (before:
//! draft-cheng-iccrg-delivery-rate-estimation). Every host of controllers takes its samples here. The draft's
//! names are given where they differ.
//!
//! Decision: a connection begins as one whose application has just written into an empty pipe. So the first
//! flight is marked, too (Linux, `tcp_init_sock` and `tcp_rate_check_app_limited`).

use crate::report::{Flow, RateSample};
use crate::time::{Rate, Span, Time};

/// The state when a segment was sent (P.delivered, P.delivered_time, P.first_send_time, P.is_app_limited,
/// P.tx_in_flight).
#[derive(Clone, Copy, Debug, Default)]
pub struct Stamp {
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    /// Twice the bytes in flight, plus one if the application limited the sender. This makes a stamp fill
    /// half a cache line.
    flight: u64,
}

impl Stamp {
    /// Bytes in flight before the segment was sent.
    pub fn in_flight(&self) -> u64 {
        self.flight >> 1
    }

    fn is_app_limited(&self) -> bool {
        self.flight & 1 == 1
    }

    /// Do the two differ in nothing but the bytes in flight?
    pub fn is_like(&self, other: &Self) -> bool {
        (self.delivered, self.delivered_at, self.first_sent, self.is_app_limited())
            == (other.delivered, other.delivered_at, other.first_sent, other.is_app_limited())
    }
}

/// The state of one connection.
#[derive(Debug)]
pub struct DeliveryRate {
    /// C.delivered_time.
    delivered_at: Time,
    /// C.first_send_time.
    first_sent: Time,
    /// C.app_limited: the bubble is gone when more bytes than this are delivered; 0 if there is none.
    app_limited: u64,
    /// The last delivery rate, and the bytes and the interval from which it was computed: many samples of a
    /// steady flow are equal.
    sampled: ((u64, Span), Rate),
}

impl Default for DeliveryRate {
    fn default() -> Self {
        let mut new = Self {
            delivered_at: Time::default(),
            first_sent: Time::default(),
            app_limited: 0,
            sampled: Default::default(),
        };
        new.on_app_limit(0, 0);
        new
    }
}

impl DeliveryRate {
    /// A new flight begins at `now`: samples must not span the pause.
    #[inline]
    pub fn begin(&mut self, now: Time) {
        (self.first_sent, self.delivered_at) = (now, now);
    }

    /// The application has nothing more to send, and the window has room (MarkConnectionAppLimited).
    #[inline]
    pub fn on_app_limit(&mut self, delivered: u64, in_flight: u64) {
        self.app_limited = (delivered + in_flight).max(1);
    }

    /// The state to be stored with a segment that is sent now (OnPacketSent). `in_flight` is from before.
    #[inline]
    pub fn stamp(&self, delivered: u64, in_flight: u64) -> Stamp {
        let flight = in_flight << 1 | u64::from(self.app_limited != 0);
        Stamp { delivered, delivered_at: self.delivered_at, first_sent: self.first_sent, flight }
    }

    /// An acknowledgement delivered something; `flow` is up to date. `newest` is the time at which the newest
    /// delivered segment was sent, and the segment's stamp. Returns a sample (GenerateRateSample).
    #[inline]
    pub fn on_delivered(&mut self, flow: &Flow, newest: Option<(Time, Stamp)>) -> Option<RateSample> {
        if flow.delivered > self.app_limited {
            self.app_limited = 0;
        }
        self.delivered_at = flow.now;
        let (sent, stamp) = newest?;
        self.first_sent = sent;
        let interval = sent.since(stamp.first_sent).max(flow.now.since(stamp.delivered_at));
        if interval.0 == 0 || flow.rtt.is_some_and(|r| interval < r.min) {
            return None;
        }
        let bytes = flow.delivered.saturating_sub(stamp.delivered);
        if self.sampled.0 != (bytes, interval) {
            self.sampled = ((bytes, interval), Rate((bytes as f64 / interval.secs()) as u64));
        }
        Some(RateSample {
            rate: self.sampled.1,
            app_limited: stamp.is_app_limited(),
            prior_delivered: stamp.delivered,
            prior_in_flight: stamp.in_flight(),
        })
    }
}
