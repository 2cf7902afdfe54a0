//! Round-trip estimation and the retransmission timeout (RFC 6298).

use bentpipe_cc::{Rtt, Span};

use crate::options::Options;

/// The estimator of one sender.
#[derive(Clone, Debug)]
pub(crate) struct Estimator {
    /// SRTT and RTTVAR in nanoseconds, as the timer's coarse clock sees them.
    timer: Option<(u64, u64)>,
    /// The last sample of the timer's clock: most fall on the same tick as the one before, and need no division.
    coarse: u64,
    /// Another sample on that tick changes nothing: the filter has converged.
    rests: bool,
    /// The timeout with doublings, worked out when something changes.
    rto: Span,
    initial: Span,
    min_rto: Span,
    max_rto: Span,
    granularity: Span,
    /// No timeout is shorter before the next sample.
    floor: Span,
    /// Doublings (RFC 6298 section 5.5).
    backoff: u32,
}

impl Estimator {
    pub(crate) fn new(options: &Options) -> Self {
        let mut new = Self {
            timer: None,
            coarse: 0,
            rests: false,
            rto: Span::ZERO,
            initial: options.initial_rto,
            min_rto: options.min_rto,
            max_rto: options.max_rto,
            granularity: options.granularity,
            floor: Span::ZERO,
            backoff: 0,
        };
        new.changed();
        new
    }

    /// A sample for the timer; with delayed ACKs it is longer than that for the controllers.
    #[inline]
    pub(crate) fn sample(&mut self, rtt: Span) {
        let same_tick = self.coarse.wrapping_sub(rtt.0) < self.granularity.0.max(1);
        if !(same_tick && self.rests) {
            self.filter(rtt, same_tick);
        }
    }

    fn filter(&mut self, rtt: Span, same_tick: bool) {
        if !same_tick {
            let g = self.granularity.0.max(1);
            self.coarse = rtt.0.div_ceil(g).saturating_mul(g);
        }
        let coarse = self.coarse;
        let after = Some(match self.timer {
            None => (coarse, coarse / 2), // RFC 6298 section 2.2
            Some((srtt, var)) => smooth(srtt, var, coarse),
        });
        let rests = after == self.timer;
        self.timer = after;
        self.floor = Span::ZERO;
        self.backoff = 0; // only a new measurement ends the doubling (RFC 6298 section 5, Karn)
        self.changed();
        self.rests = rests;
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
        let rto = self.timer.map_or(self.initial.0, |(srtt, var)| {
            srtt.saturating_add(self.granularity.0.max(var.saturating_mul(4)))
        });
        Span(rto.max(self.min_rto.0).max(self.floor.0).min(self.max_rto.0))
    }

    /// The timeout with doublings.
    pub(crate) fn rto(&self) -> Span {
        self.rto
    }

    /// Data transmission begins after the timer expired while the SYN was unanswered. Until data gives a sample the timeout is at
    /// least 3 s (RFC 6298 section 5.7), more if a sample of the SYN needs it.
    pub(crate) fn begin_data(&mut self) {
        self.floor = Span::from_millis(3000);
        self.backoff = 0;
        self.changed();
    }

    /// RFC 6298 section 5.5.
    pub(crate) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(30);
        self.changed();
    }
}

/// A sample for the controllers: the filter of the timer, on exact samples.
#[inline]
pub(crate) fn follow(known: &mut Option<Rtt>, rtt: Span) {
    match known {
        None => *known = Some(Rtt { latest: rtt, min: rtt, smoothed: rtt, var: Span(rtt.0 / 2) }),
        Some(known) => {
            let (srtt, var) = smooth(known.smoothed.0, known.var.0, rtt.0);
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

    /// RFC 6298 section 5, with a clock of 10 ms: SRTT 500 ms and no variation give 510 ms. A timeout doubles that (5.5),
    /// and an unanswered SYN needs 3 s (5.7). A measurement ends either, also one equal to all before.
    #[test]
    fn a_measurement_ends_the_doubling_however_alike_it_is() {
        let mut rto = Estimator::new(&Options::paper());
        let measured = Span::from_millis(510);
        for _ in 0..500 {
            rto.sample(Span::from_millis(500));
        }
        assert_eq!(rto.rto(), measured);
        rto.back_off();
        assert_eq!(rto.rto(), Span::from_millis(1020));
        rto.sample(Span::from_millis(500));
        assert_eq!(rto.rto(), measured);
        rto.begin_data();
        assert_eq!(rto.rto(), Span::from_millis(3000));
        rto.sample(Span::from_millis(500));
        assert_eq!(rto.rto(), measured);
    }
}
