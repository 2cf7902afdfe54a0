//! Delivery-rate samples of draft-cheng-iccrg-delivery-rate-estimation, from quinn's calls.
//!
//! The draft keeps a stamp with every packet. quinn names no packet in
//! [`on_ack`](quinn_proto::congestion::Controller::on_ack), but it gives the packet's send time, so the
//! stamps are kept by send time. Packets between two acknowledgements share one.

use std::collections::VecDeque;

use bentpipe_cc::{Rate, RateSample, Span, Time};

/// The state of a connection when a packet was sent (section 3.2 of the draft).
#[derive(Clone, Copy, Debug)]
struct SendState {
    sent: Time,
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    app_limited: bool,
    in_flight: u64,
}

/// The estimator of one connection.
#[derive(Debug, Default)]
pub(crate) struct DeliveryRate {
    /// Records in order of `sent`. Their number is bounded: a record is made when something other than the
    /// clock has changed, and dropped when no packet that old can be acknowledged any more.
    records: VecDeque<SendState>,
    delivered_at: Time,
    first_sent: Time,
    /// The application limits the deliveries up to here; 0 if it does not.
    app_limited_until: u64,
}

impl DeliveryRate {
    /// Packets go out at `now`; `in_flight` and `delivered` are from before.
    pub(crate) fn on_sent(&mut self, now: Time, delivered: u64, in_flight: u64, mss: u32) {
        if in_flight == 0 {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        let app_limited = self.app_limited_until > 0;
        let state = SendState {
            sent: now,
            delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            app_limited,
            in_flight,
        };
        // An increase of the data in flight by about a quarter is ignored. Otherwise an end that only
        // receives would keep a record for each of its ACKs.
        let known = self.records.back().is_some_and(|last| {
            let more = last.in_flight + last.in_flight / 4 + 2 * u64::from(mss);
            (last.delivered, last.delivered_at, last.first_sent, last.app_limited)
                == (state.delivered, state.delivered_at, state.first_sent, state.app_limited)
                && (last.in_flight..=more).contains(&state.in_flight)
        });
        if !known {
            self.records.push_back(state);
        }
    }

    /// A batch was acknowledged at `now`, with `delivered` up to date; the last of its packets was sent at
    /// `newest`. `rtt_min` is the smallest RTT known: a shorter interval carries no information (section
    /// 3.3). No packet sent longer than `memory` before `newest` is acknowledged later. `idle`: the
    /// application had no more to send; `in_flight` remains.
    pub(crate) fn on_acked(
        &mut self,
        now: Time,
        newest: Time,
        delivered: u64,
        limits: Limits,
    ) -> Option<RateSample> {
        let at = self.records.partition_point(|record| record.sent <= newest);
        let state = at.checked_sub(1).map(|i| self.records[i]);
        if delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        if limits.app_limited {
            self.app_limited_until = (delivered + limits.in_flight).max(1);
        }
        let horizon = newest.0.saturating_sub(limits.memory.0);
        while self.records.get(1).is_some_and(|second| second.sent.0 <= horizon) {
            self.records.pop_front();
        }
        self.delivered_at = now;
        self.first_sent = newest;
        let state = state?;
        let interval = newest.since(state.first_sent).max(now.since(state.delivered_at));
        if interval == Span::ZERO || interval < limits.rtt_min {
            return None;
        }
        let bytes = delivered.saturating_sub(state.delivered);
        Some(RateSample {
            rate: Rate((bytes as f64 / interval.secs()) as u64),
            app_limited: state.app_limited,
            prior_delivered: state.delivered,
            prior_in_flight: state.in_flight,
        })
    }
}

/// What bounds a sample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The smallest RTT known: a shorter interval carries no information (section 3.3 of the draft).
    pub(crate) rtt_min: Span,
    /// No packet sent longer than this before the newest acknowledged packet is acknowledged later.
    pub(crate) memory: Span,
    /// The application had no more to send.
    pub(crate) app_limited: bool,
    /// Bytes that remain in flight.
    pub(crate) in_flight: u64,
}

#[cfg(test)]
mod tests {
    use bentpipe_cc::{Span, Time};

    use super::{DeliveryRate, Limits};

    const MS: u64 = 1_000_000;
    const NONE: Limits =
        Limits { rtt_min: Span::ZERO, memory: Span(u64::MAX), app_limited: false, in_flight: 0 };

    /// Ten packets of 1000 bytes, one each 10 ms, cross a path of 100 ms: 100 kB/s, from the second on.
    #[test]
    fn a_paced_flight_is_sampled_at_its_rate() {
        let mut rate = DeliveryRate::default();
        for i in 0..10 {
            rate.on_sent(Time(i * 10 * MS), 0, i * 1000, 1000);
        }
        for i in 0..10 {
            let sample = rate.on_acked(Time((100 + i * 10) * MS), Time(i * 10 * MS), (i + 1) * 1000, NONE);
            let got = sample.expect("all were recorded");
            // (i + 1) packets since the flight began, in 100 ms and 10 ms for each.
            assert_eq!(got.rate.0, (i + 1) * 1_000_000 / (100 + i * 10), "{i}");
            assert_eq!(got.prior_delivered, 0);
        }
        // The next flight is clocked by these: a packet for each that was delivered.
        for i in 0..10 {
            rate.on_sent(Time((200 + i * 10) * MS), 10_000 + i * 1000, 9000, 1000);
            rate.on_acked(Time((200 + i * 10) * MS), Time((100 + i * 10) * MS), 11_000 + i * 1000, NONE);
        }
        let got = rate.on_acked(Time(300 * MS), Time(200 * MS), 21_000, NONE).expect("recorded");
        assert!((99_000..=110_000).contains(&got.rate.0), "{}", got.rate.0);
    }

    #[test]
    fn what_is_sent_after_a_pause_of_the_application_is_marked_until_it_is_delivered() {
        let mut rate = DeliveryRate::default();
        rate.on_sent(Time(0), 0, 0, 1000);
        let idle = Limits { app_limited: true, ..NONE };
        assert!(!rate.on_acked(Time(100 * MS), Time(0), 1000, idle).expect("recorded").app_limited);
        rate.on_sent(Time(200 * MS), 1000, 0, 1000);
        assert!(rate.on_acked(Time(300 * MS), Time(200 * MS), 2000, NONE).expect("recorded").app_limited);
        rate.on_sent(Time(300 * MS), 2000, 1000, 1000);
        assert!(!rate.on_acked(Time(400 * MS), Time(300 * MS), 3000, NONE).expect("recorded").app_limited);
    }

    /// An end that only receives sends acknowledgements, which nobody acknowledges.
    #[test]
    fn records_stay_few() {
        let mut rate = DeliveryRate::default();
        for i in 0..100_000 {
            rate.on_sent(Time(i * MS), 0, i * 40, 1200);
        }
        assert!(rate.records.len() < 100, "{}", rate.records.len());
        let limits = Limits { memory: Span(200 * MS), ..NONE };
        for i in 100_000..200_000 {
            rate.on_sent(Time(i * MS), i, 1000, 1200);
            rate.on_acked(Time(i * MS), Time((i - 100) * MS), i + 1, limits);
        }
        assert!((100..400).contains(&rate.records.len()), "{}", rate.records.len());
    }
}
