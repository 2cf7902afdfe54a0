//! What the rate-based controllers share: filters over rounds, the bandwidth-delay product, the smallest
//! burst, and the measurement of ACK aggregation. Bytes, bytes per second.

use alloc::collections::VecDeque;

use crate::algorithms::prelude::*;
use crate::time::{real, whole};

/// The largest window in bytes: far above any use, and low enough for sums of windows not to wrap.
pub(crate) const LARGEST: u64 = 1 << 56;

/// What `rate` delivers in `time`, bytes; at most [`LARGEST`].
pub(crate) fn product(rate: u64, time: Span) -> u64 {
    whole(real(rate) * time.secs()).min(LARGEST)
}

/// `gain` times `bytes`, at most [`LARGEST`].
pub(crate) fn times(gain: f64, bytes: u64) -> u64 {
    whole(gain * real(bytes)).min(LARGEST)
}

/// The gain of the guard of most rate-based controllers.
pub(crate) const GUARD: f64 = 4.0;

/// The window of a sender that a rate controls, bytes: `gain` (mostly [`GUARD`]) times the `in_flight` bytes
/// that the rate sends in a round trip, and four segments. It is a guard, not a control: it binds only when
/// acknowledgements fail to come.
pub(crate) fn guard(gain: f64, in_flight: f64, mss: u32) -> u64 {
    (whole(gain * in_flight).min(LARGEST) + 4 * u64::from(mss)).min(LARGEST)
}

/// A pacing rate of at least one byte per second.
pub(crate) fn pace(gain: f64, rate: u64) -> Rate {
    Rate(whole(gain * real(rate)).clamp(1, LARGEST))
}

/// BBR paces 1 % below its model, so that queues drain even if the estimate is a little high (Linux; draft,
/// PacingMarginPercent).
const MARGIN: f64 = 0.99;
/// RTT assumed before the first sample (Linux; draft, InitPacingRate).
const UNKNOWN_RTT: Span = Span::from_millis(1);

/// BBR's pacing rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacer {
    startup_gain: f64,
    rate: Rate,
    /// An RTT sample has set the rate.
    by_rtt: bool,
}

impl Pacer {
    /// Paces the `initial` window over an assumed RTT until there is a sample.
    pub(crate) fn new(startup_gain: f64, initial: u64) -> Self {
        let rate = pace(startup_gain, (initial as f64 / UNKNOWN_RTT.secs()) as u64);
        Self { startup_gain, rate, by_rtt: false }
    }

    /// The rate.
    pub(crate) fn rate(&self) -> Rate {
        self.rate
    }

    /// `gain` times `bw`. Until the pipe is known to be `filled` the rate only rises.
    #[inline]
    pub(crate) fn follow(&mut self, flow: &Flow, cwnd: u64, gain: f64, bw: u64, filled: bool) {
        if !self.by_rtt
            && let Some(rtt) = flow.rtt.filter(|rtt| rtt.smoothed > Span::ZERO)
        {
            self.by_rtt = true;
            self.rate = pace(self.startup_gain, (cwnd as f64 / rtt.smoothed.secs()) as u64);
        }
        let rate = pace(MARGIN * gain, bw);
        if filled || rate > self.rate {
            self.rate = rate;
        }
    }

    /// Exactly `bw`, whatever the gain was.
    pub(crate) fn cruise(&mut self, bw: u64) {
        self.rate = pace(MARGIN, bw);
    }
}

/// The window that BBR comes back to after a repair or a visit to the smallest window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KeptWindow {
    cwnd: u64,
    /// In fast recovery, or after a timeout until all data sent before it is acknowledged.
    repairing: bool,
}

impl KeptWindow {
    /// Remembers `cwnd`; while the window is `small`, or is being repaired, the larger one counts.
    pub(crate) fn save(&mut self, cwnd: u64, small: bool) {
        self.cwnd = if self.repairing || small { self.cwnd.max(cwnd) } else { cwnd };
    }

    /// A repair begins.
    pub(crate) fn repair(&mut self) {
        self.repairing = true;
    }

    /// Is a repair under way?
    pub(crate) fn repairing(&self) -> bool {
        self.repairing
    }

    /// The repair, if there was one, is over: the window from here on.
    pub(crate) fn restore(&mut self, cwnd: u64) -> u64 {
        if core::mem::take(&mut self.repairing) { self.back(cwnd) } else { cwnd }
    }

    /// At least the remembered window.
    pub(crate) fn back(&self, cwnd: u64) -> u64 {
        cwnd.max(self.cwnd)
    }
}

/// Bytes that a sender hands to its device at once: 1 ms at the pacing rate, at least two segments (one below
/// 1.2 Mbit/s) and at most 64 KiB (Linux tcp_bbr.c, `bbr_tso_segs_goal`).
pub(crate) fn quantum(pacing: Rate, mss: u32) -> u64 {
    let least = if pacing.0 < 150_000 { 1 } else { 2 };
    (pacing.0 / 1000).min(65_536).max(least * u64::from(mss))
}

/// The greatest value of the last `window` rounds (or cycles), exact.
#[derive(Clone, Debug)]
pub(crate) struct RoundMax {
    window: u64,
    /// (round, value), rounds rising and values falling: each value is the greatest of its
    /// round and of all later ones.
    best: VecDeque<(u64, u64)>,
    max: u64,
    /// The last of `best`, beside which most values are not kept.
    last: (u64, u64),
}

impl RoundMax {
    /// A filter over `window` rounds.
    pub(crate) fn new(window: f64) -> Self {
        Self { window: (window as u64).max(1), best: VecDeque::new(), max: 0, last: (u64::MAX, 0) }
    }

    /// Takes a value measured in `round`.
    #[inline]
    pub(crate) fn add(&mut self, round: u64, value: u64) {
        if self.last.0 != round || value > self.last.1 {
            self.keep(round, value);
        }
    }

    #[inline(never)]
    fn keep(&mut self, round: u64, value: u64) {
        while self.best.back().is_some_and(|&(_, old)| old <= value) {
            self.best.pop_back();
        }
        while self.best.front().is_some_and(|&(first, _)| first.saturating_add(self.window) <= round) {
            self.best.pop_front();
        }
        self.best.push_back((round, value));
        self.max = self.best[0].1;
        self.last = (round, value);
    }

    /// Forgets all values but this one, as if it were measured in `round`.
    pub(crate) fn restart(&mut self, round: u64, value: u64) {
        self.best.clear();
        self.best.push_back((round, value));
        (self.max, self.last) = (value, (round, value));
    }

    /// The maximum; 0 before the first value.
    pub(crate) fn get(&self) -> u64 {
        self.max
    }
}

/// How many bytes more than `bw x time` arrive acknowledged in a burst (Linux tcp_bbr.c,
/// `bbr_update_ack_aggregation`). Links that bundle ACKs or grant air time in frames need that
/// much more data in flight.
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

    /// From now on the greatest excess of the last `window` rounds counts. The epoch under way goes on.
    pub(crate) fn remember(&mut self, window: u64) {
        self.extra.window = window;
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

    /// Long runs of values that rise, fall and repeat, against the definition.
    #[test]
    fn a_maximum_is_that_of_all_values_of_the_window() {
        let mut state = 1_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for window in 1..6_u64 {
            let (mut max, mut all, mut round) = (RoundMax::new(window as f64), alloc::vec::Vec::new(), 0);
            for _ in 0..20_000 {
                round += draw(40) / 36;
                let value = draw(1000) / (1 + round % 7);
                max.add(round, value);
                all.push((round, value));
                let within = all.iter().rev().take_while(|(then, _)| then + window > round);
                assert_eq!(
                    Some(max.get()),
                    within.map(|&(_, value)| value).max(),
                    "round {round} of {window}"
                );
            }
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

    /// Draft, BBR.extra_acked (UpdateACKAggregation): only the filter's length depends on Startup. The
    /// interval goes on while ACKs come faster than the bandwidth, so two bursts of a round each add up.
    #[test]
    fn a_window_of_one_round_does_not_end_the_interval() {
        let ack = Ack { acks: 1, acked: 1000, ..Ack::default() };
        let mut aggregation = Aggregation::new(1.0);
        aggregation.restart(Time(1));
        for i in 1..=20_u64 {
            aggregation.remember(1);
            aggregation.add(&Flow { now: Time(2), ..Flow::default() }, &ack, i / 11, 1_000_000, u64::MAX);
        }
        assert_eq!(aggregation.get(1_000_000), 20_000);
        aggregation.add(&Flow { now: Time(100_000_000), ..Flow::default() }, &ack, 2, 1_000_000, u64::MAX);
        assert_eq!(aggregation.get(1_000_000), 1000, "but one round is remembered");
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
