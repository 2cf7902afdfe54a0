//! Round-trip estimation and the retransmission timeout (RFC 6298, or `tcp_rtt_estimator` of
//! Linux's net/ipv4/tcp_input.c).

use bentpipe_cc::{Rtt, Span};

use crate::options::{Options, RtoRule};

/// Timeouts in a row that do not double the timeout of a thin stream (Linux, `TCP_THIN_LINEAR_RETRIES`).
const THIN_LINEAR_RETRIES: u8 = 6;

/// The estimator of one sender. It is kept small, because the sender's state has no room for more.
#[derive(Clone, Debug, Default)]
pub(crate) struct Estimator {
    /// SRTT in nanoseconds, as the timer's coarse clock measures it; before the first sample, the initial
    /// timeout.
    srtt: u64,
    /// RTTVAR on the same clock. Linux's is four times that of RFC 6298.
    var: u64,
    /// Linux's deviations in the current round trip.
    deviation: Deviation,
    /// The last sample of the timer's clock: most samples fall on the same tick as the previous one, and need
    /// no division.
    coarse: u64,
    /// The timeout with doublings, recomputed when something changes.
    rto: Span,
    min_rto: Span,
    max_rto: Span,
    granularity: Span,
    /// Doublings (RFC 6298 section 5.5).
    backoff: u8,
    /// Timeouts since new data was acknowledged (Linux, `icsk_retransmits`).
    expiries: u8,
    /// True if the rule is [`RtoRule::Linux`].
    linux: bool,
    /// True once there has been a sample.
    measured: bool,
    /// True if another sample on that tick changes nothing, because the filter has converged.
    rests: bool,
    /// True if no timeout before the next sample is shorter than 3 s.
    after_repeated_syn: bool,
}

/// The state of Linux's estimator besides SRTT and RTTVAR. Deviations are in nanoseconds times four, as is
/// RTTVAR there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Deviation {
    /// `mdev_us`: smoothed over the samples.
    mean: u64,
    /// `mdev_max_us`: the largest mean deviation of this round trip, but not below the least timeout.
    largest: u64,
    /// `rtt_seq`: the round trip ends when more than this is acknowledged.
    round_end: u64,
}

impl Estimator {
    pub(crate) fn new(options: &Options) -> Self {
        let mut new = Self {
            srtt: options.initial_rto.0,
            min_rto: options.min_rto,
            max_rto: options.max_rto,
            granularity: options.granularity,
            linux: options.rto == RtoRule::Linux,
            ..Self::default()
        };
        new.changed();
        new
    }

    /// Takes a sample for the timer; with delayed ACKs it is longer than the sample for the controllers. All
    /// before `una` is acknowledged, and `next` is the next new segment.
    #[inline(always)]
    pub(crate) fn sample(&mut self, rtt: Span, una: u64, next: u64) {
        let same_tick = self.coarse.wrapping_sub(rtt.0) < self.granularity.0.max(1);
        if !(same_tick && self.rests) {
            self.filter(rtt, same_tick, una, next);
        }
    }

    fn filter(&mut self, rtt: Span, same_tick: bool, una: u64, next: u64) {
        if !same_tick {
            let g = self.granularity.0.max(1);
            self.coarse = rtt.0.div_ceil(g).saturating_mul(g);
        }
        let coarse = self.coarse;
        let before = (self.measured, self.srtt, self.var, self.deviation);
        if !core::mem::replace(&mut self.measured, true) {
            self.srtt = coarse;
            // RFC 6298 section 2.2
            self.var = if self.linux { self.deviation.start(coarse, self.min_rto, next) } else { coarse / 2 };
        } else if self.linux {
            self.var = self.deviation.follow((self.srtt, self.var), coarse, self.min_rto, (una, next));
            self.srtt = smooth(self.srtt, 0, coarse).0;
        } else {
            (self.srtt, self.var) = smooth(self.srtt, self.var, coarse);
        }
        self.after_repeated_syn = false;
        self.backoff = 0; // only a new measurement ends the doubling (RFC 6298 section 5, Karn)
        self.changed();
        // By Linux's rule the end of the round trip must not change anything, either.
        let floor = self.min_rto.0;
        let calm = !self.linux || (self.deviation.largest == floor && self.var.saturating_sub(floor) < 4);
        self.rests = calm && before == (true, self.srtt, self.var, self.deviation);
    }

    fn changed(&mut self) {
        self.rests = false;
        let base = self.base();
        self.rto = match self.backoff {
            0 => base,
            doublings => Span(base.0.saturating_mul(1 << doublings.min(30)).min(self.max_rto.0)),
        };
    }

    /// The timeout without doublings (RFC 6298 sections 2.2 to 2.5).
    pub(crate) fn base(&self) -> Span {
        let beyond = match (self.measured, self.linux) {
            (false, _) => 0,
            (true, false) => self.granularity.0.max(self.var.saturating_mul(4)),
            (true, true) => self.var,
        };
        let floor = if self.after_repeated_syn { Span::from_millis(3000) } else { Span::ZERO };
        let rto = Span(self.srtt.saturating_add(beyond));
        rto.max(self.min_rto).max(floor).min(self.max_rto)
    }

    /// The timeout with doublings.
    pub(crate) fn rto(&self) -> Span {
        self.rto
    }

    /// Data transmission begins after the timer had expired while the SYN was unanswered. Until data gives a
    /// sample, the timeout is at least 3 s (RFC 6298 section 5.7), or longer if a sample of the SYN requires
    /// it.
    pub(crate) fn begin_data(&mut self) {
        self.after_repeated_syn = true;
        self.backoff = 0;
        self.changed();
    }

    /// RFC 6298 section 5.5.
    pub(crate) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(30);
        self.changed();
    }

    /// The timer expired, and backs off. The timer of a thin stream begins to do so after six timeouts
    /// (Linux, `tcp_retransmit_timer`).
    pub(crate) fn expire(&mut self, thin: bool) {
        self.expiries = self.expiries.saturating_add(1);
        if thin && self.expiries <= THIN_LINEAR_RETRIES {
            self.backoff = 0;
            self.changed();
        } else {
            self.back_off();
        }
    }

    /// New data was acknowledged.
    #[inline]
    pub(crate) fn advance(&mut self) {
        self.expiries = 0;
    }
}

impl Deviation {
    /// The first sample. Returns an RTTVAR that makes the timeout three times the sample.
    fn start(&mut self, sample: u64, least: Span, next: u64) -> u64 {
        let mean = sample.saturating_mul(2);
        *self = Self { mean, largest: mean.max(least.0), round_end: next };
        self.largest
    }

    /// A later sample: computes the new RTTVAR from the old SRTT and RTTVAR.
    fn follow(
        &mut self,
        (srtt, mut var): (u64, u64),
        sample: u64,
        least: Span,
        (una, next): (u64, u64),
    ) -> u64 {
        let (error, quarter) = (srtt.abs_diff(sample), self.mean / 4);
        if error > quarter {
            // A falling round trip must not make the timeout grow much.
            let more = (error - quarter) / if sample < srtt { 8 } else { 1 };
            self.mean = self.mean.saturating_add(more);
        } else {
            self.mean -= quarter - error;
        }
        if self.mean > self.largest {
            self.largest = self.mean;
            var = var.max(self.largest);
        }
        if una > self.round_end {
            var -= var.saturating_sub(self.largest) / 4;
            *self = Self { largest: least.0, round_end: next, ..*self };
        }
        var
    }
}

/// Takes a sample for the controllers, with the same filter as the timer but on exact samples. SRTT takes
/// `smoothed`, which is `rtt` or longer.
#[inline(always)]
pub(crate) fn follow(known: &mut Option<Rtt>, rtt: Span, smoothed: Span) {
    match known {
        None => *known = Some(Rtt { latest: rtt, min: rtt, smoothed, var: Span(smoothed.0 / 2) }),
        Some(known) => {
            let (srtt, var) = smooth(known.smoothed.0, known.var.0, smoothed.0);
            known.latest = rtt;
            known.min = known.min.min(rtt);
            known.smoothed = Span(srtt);
            known.var = Span(var);
        }
    }
}

/// RFC 6298 section 2.3: RTTVAR <- 3/4 RTTVAR + 1/4 |SRTT - R|, SRTT <- 7/8 SRTT + 1/8 R.
fn smooth(srtt: u64, var: u64, sample: u64) -> (u64, u64) {
    (srtt - srtt / 8 + sample / 8, var - var / 4 + srtt.abs_diff(sample) / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6298 section 5, with a clock of 10 ms: an SRTT of 500 ms without variation gives 510 ms. A timeout
    /// doubles that (5.5), and an unanswered SYN needs 3 s (5.7). A measurement ends either, even if it
    /// equals all earlier ones.
    #[test]
    fn a_measurement_ends_the_doubling_however_alike_it_is() {
        let mut rto = Estimator::new(&Options::paper());
        let measured = Span::from_millis(510);
        for _ in 0..500 {
            rto.sample(Span::from_millis(500), 0, 1);
        }
        assert_eq!(rto.rto(), measured);
        rto.back_off();
        assert_eq!(rto.rto(), Span::from_millis(1020));
        rto.sample(Span::from_millis(500), 0, 1);
        assert_eq!(rto.rto(), measured);
        rto.begin_data();
        assert_eq!(rto.rto(), Span::from_millis(3000));
        rto.sample(Span::from_millis(500), 0, 1);
        assert_eq!(rto.rto(), measured);
    }
}
