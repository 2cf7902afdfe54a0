//! HyStart as Linux has it: S. Ha, I. Rhee: Taming the elephants: New TCP slow start, Computer Networks
//! 55(9), 2011. Rules and constants are those of `hystart_update`, `cubictcp_acked` and `hystart_ack_delay`
//! in net/ipv4/tcp_cubic.c (6.18, the start of a round as since 6.14).
//!
//! Slow start itself stays as it is. Its threshold becomes the window at the first of two signs, from a
//! window of 16 segments on:
//!
//! | sign      | found when                                                                                         |
//! |-----------|----------------------------------------------------------------------------------------------------|
//! | ACK train | ACKs at most 2 ms apart have come for more than (smallest RTT + allowance) / 2 since the round began |
//! | delay     | the smallest of 9 or more RTTs of the round is above the smallest RTT by more than an eighth of that, within 4 and 16 ms |
//!
//! The allowance is the time of four buffers of segmentation offload (64 KiB) at the rate of
//! `tcp_update_pacing_rate`, 1 ms at most. After a timeout everything begins anew, the smallest RTT included.
//!
//! Decisions and deviations:
//!  * an ACK is looked at before its window grows, and the ACK that begins a round belongs to it (HyStart++
//!    has both the other way).
//!  * the train's threshold is that of a sender without `fq` (`SK_PACING_NONE`): not
//!    doubled where a sender paces.
//!  * the kernel leaves out RTTs of the first second after a fast recovery. They matter only in slow start,
//!    so nothing is left out here.

use super::SlowStartRule;
use crate::event::Congestion;
use crate::report::{Ack, Flow};
use crate::time::{Span, Time};
use crate::window::{Cut, Window};

/// `hystart_low_window`, segments.
const LOW_WINDOW: f64 = 16.0;
/// `hystart_ack_delta_us`.
const ACK_DELTA: Span = Span::from_millis(2);
/// `HYSTART_MIN_SAMPLES`: a round is judged from the RTT after these on.
const MIN_SAMPLES: u32 = 8;
/// `HYSTART_DELAY_MIN` and `HYSTART_DELAY_MAX`.
const LEAST_RISE: Span = Span::from_millis(4);
const LARGEST_RISE: Span = Span::from_millis(16);
/// Four times `sk_gso_max_size`, bytes.
const OFFLOADED: f64 = 4.0 * 65_536.0;
/// Most that `hystart_ack_delay` allows.
const LARGEST_ALLOWANCE: Span = Span::from_millis(1);

/// See the head of this file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hystart {
    /// `delay_min`.
    smallest: Option<Span>,
    /// `curr_rtt`.
    current: Option<Span>,
    /// `sample_cnt`.
    samples: u32,
    round_start: Time,
    /// `last_ack`: the end of the train so far.
    train_end: Time,
    found: bool,
}

impl SlowStartRule for Hystart {
    /// Takes an ACK that has not done its growing.
    fn before_growth(&mut self, flow: &Flow, ack: &Ack, w: &mut Window) {
        if ack.round_end {
            (self.round_start, self.train_end) = (flow.now, flow.now);
            (self.current, self.samples) = (None, 0);
        }
        let Some(rtt) = ack.rtt else { return };
        let smallest = self.smallest.map_or(rtt.min, |known| known.min(rtt.min));
        self.smallest = Some(smallest);
        if self.found || w.cwnd >= w.ssthresh || w.cwnd < LOW_WINDOW {
            return;
        }
        self.found = self.sees_train(flow, w, smallest) | self.sees_delay(rtt.min, smallest);
        if self.found {
            w.ssthresh = w.cwnd;
        }
    }

    /// A timeout (`bictcp_reset`, `bictcp_hystart_reset`). After another congestion T says
    /// that slow start is over.
    fn on_congestion(&mut self, flow: &Flow, why: Congestion, _w: &Window, _own: &Cut) {
        if why == Congestion::Timeout {
            *self = Self { round_start: flow.now, train_end: flow.now, ..Self::default() };
        }
    }
}

impl Hystart {
    /// First sign.
    fn sees_train(&mut self, flow: &Flow, w: &Window, smallest: Span) -> bool {
        if flow.now.since(self.train_end) > ACK_DELTA {
            return false;
        }
        self.train_end = flow.now;
        flow.now.since(self.round_start).0 > (smallest + allowance(flow, w)).0 / 2
    }

    /// Second sign.
    fn sees_delay(&mut self, rtt: Span, smallest: Span) -> bool {
        let current = self.current.map_or(rtt, |known| known.min(rtt));
        self.current = Some(current);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        current > smallest + Span(smallest.0 / 8).clamp(LEAST_RISE, LARGEST_RISE)
    }
}

/// `hystart_ack_delay`. In slow start the pacing rate is twice the larger of window and flight per SRTT.
fn allowance(flow: &Flow, w: &Window) -> Span {
    let srtt = flow.rtt.map_or(0.0, |rtt| rtt.smoothed.secs());
    let window = (w.cwnd * f64::from(flow.mss)).max(flow.in_flight as f64);
    Span::from_secs(OFFLOADED * srtt / (2.0 * window.max(1.0))).min(LARGEST_ALLOWANCE)
}

#[cfg(test)]
mod tests {
    use super::super::{HYSTART, SLOW_START};
    use crate::event::Congestion;
    use crate::rig::{Rig, near, text};

    /// Reno with a window of `w` and no threshold.
    fn rig(w: f64) -> Rig {
        Rig::new("reno", &[(SLOW_START, text(HYSTART))], w, f64::INFINITY)
    }

    fn in_slow_start(rig: &Rig) -> bool {
        rig.t() > 1e9
    }

    /// A round that begins at an RTT of `base`, then one at `rtt` with `acks` ACKs, 3 ms apart: too far for a
    /// train.
    fn rounds(base: f64, rtt: f64, acks: u32) -> Rig {
        let mut rig = rig(16.0);
        rig.ack(1.0, 0.003, base, true);
        for i in 0..acks {
            rig.ack(1.0, 0.003, rtt, i == 0);
        }
        rig
    }

    /// `HYSTART_DELAY_THRESH(delay_min >> 3)` is 4 ms at 20 ms, 12.5 ms at 100 ms and 16 ms at 500 ms. The
    /// ninth RTT of a round is the first to be judged. Its ACK meets a window of 16 + 1 + 8 segments.
    #[test]
    fn a_rise_by_more_than_an_eighth_ends_slow_start_with_the_ninth_ack() {
        for (base, rise) in [(0.020, 0.004), (0.100, 0.0125), (0.500, 0.016)] {
            assert!(in_slow_start(&rounds(base, base + rise + 1e-6, 8)), "{base}");
            let found = rounds(base, base + rise + 1e-6, 9);
            near(found.t(), 25.0, 1e-6);
            near(found.w(), 25.0 + 1.0 / 25.0, 1e-6); // that ACK counts in congestion avoidance already
            assert!(in_slow_start(&rounds(base, base + rise, 20)), "{base}");
        }
    }

    /// One RTT without a queue in the round is enough to go on.
    #[test]
    fn the_smallest_rtt_of_the_round_decides() {
        let mut rig = rounds(0.1, 0.1, 1);
        for _ in 0..30 {
            rig.ack(1.0, 0.003, 0.2, false);
        }
        assert!(in_slow_start(&rig));
        for i in 0..9 {
            rig.ack(1.0, 0.003, 0.2, i == 0);
        }
        assert!(!in_slow_start(&rig));
    }

    /// At 100 ms, and an allowance of 1 ms at most, a train of more than 50 ms counts: ACKs 2 ms apart
    /// reach that with the 26th after the one that began the round, at 16 + 26 segments. ACKs a little
    /// further apart are no train.
    #[test]
    fn a_train_of_half_the_round_trip_ends_slow_start() {
        for (gap, found) in [(0.002, true), (0.002_001, false)] {
            let mut rig = rig(16.0);
            rig.ack(1.0, 0.1, 0.1, true);
            for _ in 0..25 {
                rig.ack(1.0, gap, 0.1, false);
            }
            assert!(in_slow_start(&rig));
            rig.ack(1.0, gap, 0.1, false);
            assert_eq!(!in_slow_start(&rig), found);
            if found {
                near(rig.t(), 42.0, 1e-6);
            }
        }
    }

    #[test]
    fn nothing_is_judged_below_16_segments() {
        let mut rig = rig(2.0);
        rig.ack(1.0, 0.003, 0.1, true);
        for _ in 0..12 {
            rig.ack(1.0, 0.001, 0.3, false);
        }
        assert_eq!((rig.w(), in_slow_start(&rig)), (15.0, true));
    }

    /// `bictcp_reset`: what was the smallest RTT before a timeout is forgotten, and
    /// slow start is watched again.
    #[test]
    fn a_timeout_begins_anew() {
        let mut rig = rounds(0.1, 0.2, 9);
        let t = rig.t();
        rig.congestion(Congestion::Timeout);
        assert_eq!(rig.w(), 1.0);
        rig.ack(20.0, 0.3, 0.2, true);
        assert_eq!((rig.t() < t, rig.w() > rig.t()), (true, true));
        let mut again = self::rig(16.0);
        again.ack(1.0, 0.003, 0.1, true);
        again.congestion(Congestion::Timeout);
        let t = again.t();
        for i in 0..6 {
            again.ack(1.0, 0.003, 0.3, i == 0);
        }
        assert_eq!(again.t(), t, "0.1 s is forgotten");
    }
}
