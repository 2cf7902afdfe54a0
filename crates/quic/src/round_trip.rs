//! Round-trip estimation from quinn's calls.
//!
//! quinn passes its own estimator to [`on_ack`](quinn_proto::congestion::Controller::on_ack), but in its
//! state before the acknowledgement, and without its RTTVAR. The samples are therefore taken here: RFC 9002
//! section 5.1 says which packets give one, RFC 6298 gives the filter. The acknowledgement delay that the
//! peer reports is not available; it stays in the samples.

use bentpipe_cc::{Rtt, Span, Time};

/// The estimate of one connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RoundTrip {
    /// When the newest packet that has been acknowledged was sent.
    largest: Option<Time>,
    estimate: Option<Rtt>,
}

impl RoundTrip {
    /// A packet that was sent at `sent` is the newest of those acknowledged at `now`. Returns its sample,
    /// unless a newer packet has been acknowledged before (RFC 9002 section 5.1).
    pub(crate) fn on_acked(&mut self, now: Time, sent: Time) -> Option<Span> {
        if self.largest.is_some_and(|largest| sent < largest) || sent >= now {
            return None;
        }
        self.largest = Some(sent);
        let sample = now.since(sent);
        self.estimate = Some(match self.estimate {
            None => Rtt { latest: sample, min: sample, smoothed: sample, var: Span(sample.0 / 2) },
            Some(Rtt { min, smoothed, var, .. }) => {
                // RFC 6298 section 2.3: RTTVAR first, with the old SRTT. Weights of a quarter and an eighth.
                let off = smoothed.0.abs_diff(sample.0);
                let var = Span(var.0 - var.0 / 4 + off / 4);
                let smoothed = Span(smoothed.0 - smoothed.0 / 8 + sample.0 / 8);
                Rtt { latest: sample, min: min.min(sample), smoothed, var }
            }
        });
        Some(sample)
    }

    /// The estimate; `None` before the first sample.
    pub(crate) fn estimate(&self) -> Option<Rtt> {
        self.estimate
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_cc::{Span, Time};

    use super::RoundTrip;

    /// RFC 6298 section 2 by hand: 800 ms gives SRTT 800, RTTVAR 400; then 1600 ms gives RTTVAR 3/4
    /// 400 + 1/4 800 = 500, SRTT 900.
    #[test]
    fn the_filter_is_that_of_rfc_6298() {
        let mut rtt = RoundTrip::default();
        assert_eq!(rtt.on_acked(Time(800), Time(0)), Some(Span(800)));
        assert_eq!(rtt.on_acked(Time(1700), Time(100)), Some(Span(1600)));
        let got = rtt.estimate().expect("sampled");
        assert_eq!((got.latest.0, got.min.0, got.smoothed.0, got.var.0), (1600, 800, 900, 500));
    }

    #[test]
    fn an_overtaken_packet_gives_no_sample() {
        let mut rtt = RoundTrip::default();
        rtt.on_acked(Time(800), Time(100));
        assert_eq!(rtt.on_acked(Time(900), Time(99)), None);
        assert_eq!(rtt.on_acked(Time(900), Time(100)), Some(Span(800)));
    }
}
