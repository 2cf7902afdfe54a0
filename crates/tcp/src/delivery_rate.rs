//! Delivery-rate samples (draft-cheng-iccrg-delivery-rate-estimation). The draft's names are given where they
//! differ.

use bentpipe_cc::{Flow, Rate, RateSample, Span, Time};

/// The state when a segment was sent (section 2: P.delivered, P.delivered_time, P.first_sent_time,
/// P.is_app_limited).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stamp {
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    /// Twice the bytes in flight, plus one if the application limited the sender. This makes a stamp fill
    /// half a cache line.
    flight: u64,
}

/// The state of one connection (section 2).
#[derive(Debug, Default)]
pub(crate) struct DeliveryRate {
    /// C.delivered_time.
    delivered_at: Time,
    /// C.first_sent_time.
    first_sent: Time,
    /// C.app_limited: segments that are sent before this many bytes are delivered give samples that do not
    /// show what the path can carry.
    app_limited_until: u64,
    /// The last delivery rate, and the bytes and the interval from which it was computed: many samples of a
    /// steady flow are equal.
    sampled: ((u64, Span), Rate),
}

impl DeliveryRate {
    /// A new flight begins at `now`: samples must not span the pause.
    #[inline]
    pub(crate) fn begin(&mut self, now: Time) {
        (self.first_sent, self.delivered_at) = (now, now);
    }

    /// The application has nothing to send.
    #[inline]
    pub(crate) fn on_app_limit(&mut self, delivered: u64, in_flight: u64) {
        self.app_limited_until = delivered + in_flight.max(1);
    }

    /// The state to be stored with a segment that is sent now.
    #[inline]
    pub(crate) fn stamp(&self, delivered: u64, in_flight: u64) -> Stamp {
        let app_limited = u64::from(delivered < self.app_limited_until);
        let flight = in_flight << 1 | app_limited;
        Stamp { delivered, delivered_at: self.delivered_at, first_sent: self.first_sent, flight }
    }

    /// An acknowledgement delivered something. Its arguments are the time at which the newest delivered
    /// segment was sent, and the segment's stamp. Returns a sample (section 3.3).
    #[inline]
    pub(crate) fn on_delivered(&mut self, flow: &Flow, newest: Option<(Time, Stamp)>) -> Option<RateSample> {
        self.delivered_at = flow.now;
        let (sent, stamp) = newest?;
        self.first_sent = sent;
        let interval = sent.since(stamp.first_sent).max(flow.now.since(stamp.delivered_at));
        if interval.0 == 0 || flow.rtt.is_some_and(|r| interval < r.min) {
            return None;
        }
        let bytes = flow.delivered - stamp.delivered;
        if self.sampled.0 != (bytes, interval) {
            self.sampled = ((bytes, interval), Rate((bytes as f64 / interval.secs()) as u64));
        }
        Some(RateSample {
            rate: self.sampled.1,
            app_limited: stamp.flight & 1 == 1,
            prior_delivered: stamp.delivered,
            prior_in_flight: stamp.flight >> 1,
        })
    }
}
