//! What the rate-based controllers share: filters over rounds, the bandwidth-delay product, the smallest burst, and the
//! measurement of ACK aggregation. Bytes, bytes per second.

use alloc::collections::VecDeque;

use crate::report::{Ack, Flow};
use crate::time::{Rate, Span, Time};

/// The largest window in bytes: far above any use, and low enough for sums of windows not to wrap.
pub(crate) const LARGEST: u64 = 1 << 56;

/// What `rate` delivers in `time`, bytes; at most [`LARGEST`].
pub(crate) fn product(rate: u64, time: Span) -> u64 {
    ((rate as f64 * time.secs()) as u64).min(LARGEST)
}

/// `gain` times `bytes`, at most [`LARGEST`].
pub(crate) fn times(gain: f64, bytes: u64) -> u64 {
    ((gain * bytes as f64) as u64).min(LARGEST)
}

/// A pacing rate of at least one byte per second.
pub(crate) fn pace(gain: f64, rate: u64) -> Rate {
    Rate(((gain * rate as f64) as u64).clamp(1, LARGEST))
}

/// Bytes that a sender hands to its device at once: 1 ms at the pacing rate, at least two segments (one below 1.2 Mbit/s) and
/// at most 64 KiB (Linux tcp_bbr.c, `bbr_tso_segs_goal`).
pub(crate) fn quantum(pacing: Rate, mss: u32) -> u64 {
    let least = if pacing.0 < 150_000 { 1 } else { 2 };
    (pacing.0 / 1000).min(65_536).max(least * u64::from(mss))
}

/// The greatest value of the last `window` rounds (or cycles), exact.
#[derive(Clone, Debug)]
pub(crate) struct RoundMax {
    window: u64,
    /// (round, value), values falling: each is the greatest of its round and of all later ones.
    kept: VecDeque<(u64, u64)>,
}

impl RoundMax {
    /// A filter over `window` rounds.
    pub(crate) fn new(window: f64) -> Self {
        Self { window: (window as u64).max(1), kept: VecDeque::new() }
    }

    /// Takes a value measured in `round`.
    pub(crate) fn add(&mut self, round: u64, value: u64) {
        while self.kept.back().is_some_and(|&(_, old)| old <= value) {
            self.kept.pop_back();
        }
        if self.kept.back().is_none_or(|&(last, _)| last != round) {
            self.kept.push_back((round, value));
        }
        while self.kept.front().is_some_and(|&(first, _)| first.saturating_add(self.window) <= round) {
            self.kept.pop_front();
        }
    }

    /// The maximum; 0 before the first value.
    pub(crate) fn get(&self) -> u64 {
        self.kept.front().map_or(0, |&(_, value)| value)
    }
}

/// How many bytes more than `bw x time` arrive acknowledged in a burst (Linux tcp_bbr.c, `bbr_update_ack_aggregation`): links
/// that bundle ACKs or grant air time in frames need that much more data in flight.
#[derive(Clone, Debug)]
pub(crate) struct Aggregation {
    began: Time,
    acked: u64,
    extra: RoundMax,
}

impl Aggregation {
    /// The greatest excess of the last `window` rounds.
    pub(crate) fn new(window: f64) -> Self {
        Self { began: Time(0), acked: 0, extra: RoundMax::new(window) }
    }

    /// A new epoch begins at `now`.
    pub(crate) fn restart(&mut self, now: Time) {
        (self.began, self.acked) = (now, 0);
    }

    /// Takes an ACK in `round`; `bw` is the bandwidth that was known before it, `cwnd` bounds the excess.
    pub(crate) fn add(&mut self, flow: &Flow, ack: &Ack, round: u64, bw: u64, cwnd: u64) {
        let mut expected = product(bw, flow.now.since(self.began));
        if self.acked <= expected || self.acked >= 1 << 30 {
            self.restart(flow.now);
            expected = 0;
        }
        self.acked = self.acked.saturating_add(ack.acked);
        self.extra.add(round, self.acked.saturating_sub(expected).min(cwnd));
    }

    /// The excess to allow for, at most 100 ms at `bw`.
    pub(crate) fn get(&self, bw: u64) -> u64 {
        self.extra.get().min(product(bw, Span::from_millis(100)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Aggregation, RoundMax, quantum};
    use crate::report::{Ack, Flow};
    use crate::time::{Rate, Time};

    #[test]
    fn a_maximum_lives_for_its_window_of_rounds() {
        let mut max = RoundMax::new(3.0);
        for (round, value, expected) in [(0, 5, 5), (0, 9, 9), (1, 4, 9), (2, 6, 9), (3, 1, 6), (5, 2, 2)] {
            max.add(round, value);
            assert_eq!(max.get(), expected, "in round {round}");
        }
    }

    #[test]
    fn bursts_count_as_aggregation_and_a_steady_stream_does_not() {
        let ack = Ack { acks: 1, acked: 1000, ..Ack::default() };
        let mut steady = Aggregation::new(10.0);
        let mut bursts = Aggregation::new(10.0);
        for i in 1..=100_u64 {
            // 1000 bytes every millisecond; or ten times that at once, every ten milliseconds.
            steady.add(&Flow { now: Time(i * 1_000_000), ..Flow::default() }, &ack, 0, 1_000_000, u64::MAX);
            let now = Time(i.div_ceil(10) * 10_000_000);
            bursts.add(&Flow { now, ..Flow::default() }, &ack, 0, 1_000_000, u64::MAX);
        }
        assert_eq!((steady.get(1_000_000), bursts.get(1_000_000)), (1000, 10_000));
        assert_eq!(bursts.get(50_000), 5000, "at most 100 ms");
    }

    #[test]
    fn a_quantum_is_a_millisecond_within_bounds() {
        for (rate, expected) in
            [(100_000, 1448), (1_250_000, 2896), (12_500_000, 12_500), (1_000_000_000, 65_536)]
        {
            assert_eq!(quantum(Rate(rate), 1448), expected);
        }
    }
}
