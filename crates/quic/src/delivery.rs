//! Delivery-rate samples from quinn's calls, by the rules of [`bentpipe_cc::DeliveryRate`].
//!
//! These keep a stamp with every packet. quinn names no packet in
//! [`on_ack`](quinn_proto::congestion::Controller::on_ack), but it gives the packet's send time, so the
//! stamps are kept by send time. Packets between two acknowledgements share one.

use std::collections::VecDeque;

use bentpipe_cc::{DeliveryRate, Flow, RateSample, Span, Stamp, Time};

/// The estimator of one connection, with the stamps of its packets.
#[derive(Debug, Default)]
pub(crate) struct Deliveries {
    /// Stamps in the order of sending. Their number is bounded: one is made when something other than the
    /// clock has changed, and dropped when no packet that old can be acknowledged any more.
    stamps: VecDeque<(Time, Stamp)>,
    rate: DeliveryRate,
}

impl Deliveries {
    /// Packets go out now; `flow` is from before.
    pub(crate) fn on_sent(&mut self, flow: &Flow) {
        if flow.in_flight == 0 {
            self.rate.begin(flow.now);
        }
        let stamp = self.rate.stamp(flow.delivered, flow.in_flight);
        // An increase of the data in flight by about a quarter is ignored. Otherwise an end that only
        // receives would keep a stamp for each of its ACKs.
        let known = self.stamps.back().is_some_and(|(_, last)| {
            let more = last.in_flight() + last.in_flight() / 4 + 2 * u64::from(flow.mss);
            last.is_like(&stamp) && (last.in_flight()..=more).contains(&stamp.in_flight())
        });
        if !known {
            self.stamps.push_back((flow.now, stamp));
        }
    }

    /// A batch was acknowledged, with `flow` up to date; the last of its packets was sent at `newest`. No
    /// packet sent longer than `memory` before `newest` is acknowledged later. `app_limited`: the application
    /// had no more to send.
    pub(crate) fn on_acked(
        &mut self,
        flow: &Flow,
        newest: Time,
        memory: Span,
        app_limited: bool,
    ) -> Option<RateSample> {
        let at = self.stamps.partition_point(|(sent, _)| *sent <= newest);
        let stamp = at.checked_sub(1).map(|i| self.stamps[i].1);
        let horizon = newest.0.saturating_sub(memory.0);
        while self.stamps.get(1).is_some_and(|(sent, _)| sent.0 <= horizon) {
            self.stamps.pop_front();
        }
        let sample = self.rate.on_delivered(flow, stamp.map(|stamp| (newest, stamp)));
        if app_limited {
            self.rate.on_app_limit(flow.delivered, flow.in_flight);
        }
        sample
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_cc::{Flow, RateSample, Span, Time};

    use super::Deliveries;

    const MS: u64 = 1_000_000;
    const FOREVER: Span = Span(u64::MAX);

    /// A connection whose packets have 1000 bytes.
    #[derive(Default)]
    struct Connection {
        flow: Flow,
        rate: Deliveries,
    }

    impl Connection {
        fn sends(&mut self, at: u64, in_flight: u64) {
            (self.flow.now, self.flow.mss, self.flow.in_flight) = (Time(at * MS), 1000, in_flight);
            self.rate.on_sent(&self.flow);
        }

        fn acked(&mut self, at: u64, sent: u64, memory: Span, app_limited: bool) -> RateSample {
            (self.flow.now, self.flow.delivered) = (Time(at * MS), self.flow.delivered + 1000);
            self.rate.on_acked(&self.flow, Time(sent * MS), memory, app_limited).expect("recorded")
        }
    }

    /// Ten packets of 1000 bytes, one each 10 ms, cross a path of 100 ms: 100 kB/s, from the second on.
    #[test]
    fn a_paced_flight_is_sampled_at_its_rate() {
        let mut connection = Connection::default();
        for i in 0..10 {
            connection.sends(i * 10, i * 1000);
        }
        for i in 0..10 {
            let got = connection.acked(100 + i * 10, i * 10, FOREVER, false);
            // (i + 1) packets since the flight began, in 100 ms and 10 ms for each.
            assert_eq!(got.rate.0, (i + 1) * 1_000_000 / (100 + i * 10), "{i}");
            assert_eq!(got.prior_delivered, 0);
        }
        // The next flight is clocked by these: a packet for each that was delivered.
        for i in 0..10 {
            connection.sends(200 + i * 10, 9000);
            connection.acked(200 + i * 10, 100 + i * 10, FOREVER, false);
        }
        let got = connection.acked(300, 200, FOREVER, false);
        assert!((99_000..=110_000).contains(&got.rate.0), "{}", got.rate.0);
    }

    /// draft-ietf-ccwg-bbr, CheckIfApplicationLimited: whatever is sent before the bubble is gone, and so the
    /// whole first flight, too.
    #[test]
    fn what_is_sent_after_a_pause_of_the_application_is_marked_until_more_is_delivered() {
        let mut connection = Connection::default();
        connection.sends(0, 0);
        assert!(connection.acked(100, 0, FOREVER, true).app_limited, "the first flight");
        connection.sends(200, 0);
        assert!(connection.acked(300, 200, FOREVER, true).app_limited);
        connection.sends(350, 0);
        connection.sends(351, 1000);
        assert!(connection.acked(450, 350, FOREVER, false).app_limited);
        connection.sends(450, 1000);
        assert!(connection.acked(451, 351, FOREVER, false).app_limited);
        assert!(!connection.acked(550, 450, FOREVER, false).app_limited);
    }

    /// An end that only receives sends acknowledgements, which nobody acknowledges.
    #[test]
    fn stamps_stay_few() {
        let mut connection = Connection::default();
        for i in 0..100_000 {
            connection.sends(i, i * 40);
        }
        assert!(connection.rate.stamps.len() < 120, "{}", connection.rate.stamps.len());
        for i in 100_000..200_000 {
            connection.sends(i, 1000);
            connection.acked(i, i - 100, Span(200 * MS), false);
        }
        let held = connection.rate.stamps.len();
        assert!((100..400).contains(&held), "{held}");
    }
}
