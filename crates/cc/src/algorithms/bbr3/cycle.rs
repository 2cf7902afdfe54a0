//! The states of BBRv3 and the cycle of ProbeBW: DOWN, CRUISE, REFILL, UP (draft, section on ProbeBW).

use super::{Bbr3, NONE, UpEnd};
use crate::algorithms::model::LARGEST;
use crate::algorithms::prelude::*;
use crate::report::RateSample;

/// A flow that competes with Reno probes after at most this many rounds: where Reno on a path of this BDP
/// would have lost.
const RENO_ROUNDS: u64 = 63;
/// inflight_hi grows by 1, 2, 4, ... segments per round, up to 2^30.
const MOST_UP_ROUNDS: u32 = 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    pub(super) fn is_probe_bw(self) -> bool {
        matches!(self, State::Down | State::Cruise | State::Refill | State::Up)
    }
}

/// Which part of a probe the ACKs of this round tell about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Acks {
    Quiet,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

impl Bbr3 {
    pub(super) fn start_down(&mut self, flow: &Flow) {
        (self.loss_in_round, self.bw_latest, self.inflight_latest) = (false, 0, 0);
        self.up_per_segment = NONE;
        let hash = flow.now.0.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let uniform = (hash >> 11) as f64 / (1_u64 << 53) as f64;
        self.rounds_waited = hash >> 63;
        self.wait = Span::from_secs(self.probe_wait + uniform);
        self.cycle_at = flow.now;
        self.acks = Acks::Stopping;
        self.start_round(flow);
        self.state = State::Down;
    }

    pub(super) fn start_refill(&mut self, flow: &Flow) {
        self.forget_lower_bounds();
        (self.up_rounds, self.up_acked, self.stopped_early) = (0, 0, false);
        self.acks = Acks::Refilling;
        self.start_round(flow);
        self.state = State::Refill;
    }

    fn start_up(&mut self, flow: &Flow, sample: &RateSample) {
        self.acks = Acks::Starting;
        self.start_round(flow);
        self.reset_full(sample.rate.0);
        (self.state, self.cycle_at) = (State::Up, flow.now);
        self.raise_slope();
    }

    fn raise_slope(&mut self) {
        let growth = self.segments(1 << self.up_rounds).max(1);
        self.up_rounds = (self.up_rounds + 1).min(MOST_UP_ROUNDS);
        // Bytes to be acknowledged for one segment of growth.
        let per_segment = self.cwnd as f64 / growth as f64 * f64::from(self.mss);
        self.up_per_segment = (per_segment as u64).clamp(u64::from(self.mss), LARGEST);
    }

    /// inflight_hi (BBRAdaptLongTermModel), and which ACKs tell about what.
    pub(super) fn adapt_long_term(&mut self, flow: &Flow, ack: &Ack, sample: &RateSample) {
        if self.round_start && self.acks == Acks::Starting {
            self.acks = Acks::Feedback;
        }
        if self.round_start && self.acks == Acks::Stopping {
            (self.samples, self.acks) = (false, Acks::Quiet);
            if self.state.is_probe_bw() && !self.short(sample) {
                self.cycle += 1;
            }
            if self.state.is_probe_bw() && self.stopped_early && !self.too_high {
                return self.start_refill(flow); // the stop was needless
            }
        }
        if self.lost_too_much(flow, sample) || self.inflight_hi == NONE {
            return;
        }
        self.inflight_hi = self.inflight_hi.max(self.flight_at(sample).min(LARGEST));
        if self.state == State::Up {
            self.raise_bound(flow, ack);
        }
    }

    /// BBRProbeInflightHiUpward.
    fn raise_bound(&mut self, flow: &Flow, ack: &Ack) {
        if !flow.cwnd_limited || self.cwnd < self.inflight_hi {
            return;
        }
        self.up_acked = self.up_acked.saturating_add(ack.acked);
        let grown = self.up_acked / self.up_per_segment;
        self.up_acked %= self.up_per_segment;
        self.inflight_hi = self.inflight_hi.saturating_add(self.segments(grown)).min(LARGEST);
        if self.round_start {
            self.raise_slope();
        }
    }

    pub(super) fn advance_cycle(&mut self, flow: &Flow, ack: &Ack, sample: &RateSample) {
        let before = flow.in_flight.saturating_add(ack.acked).saturating_add(ack.lost);
        match self.state {
            State::Down | State::Cruise if self.is_time_to_probe(flow) => self.start_refill(flow),
            State::Down => {
                let bdp = self.inflight(1.0, self.max_bw.get());
                if before <= self.with_headroom().min(bdp) {
                    self.state = State::Cruise;
                }
            }
            State::Refill if self.round_start => {
                self.samples = true;
                self.start_up(flow, sample);
            }
            State::Up => {
                let queued = match self.rules.up_end {
                    UpEnd::Plateau => false,
                    UpEnd::Queue(gain) => {
                        let lasted = self.min_rtt.is_some_and(|rtt| flow.now.since(self.cycle_at) > rtt);
                        lasted && before >= self.inflight(gain, self.max_bw.get())
                    }
                };
                if self.too_high && before >= self.inflight_hi {
                    (self.stopped_early, self.too_high) = (true, false);
                    self.start_down(flow);
                } else if queued {
                    self.too_high = false;
                    self.start_down(flow);
                } else if matches!(self.rules.up_end, UpEnd::Queue(_)) {
                    // Nothing else ends it.
                } else if flow.cwnd_limited && self.cwnd >= self.inflight_hi {
                    self.reset_full(sample.rate.0); // the bound, not the path, keeps the rate from growing
                } else if self.full_now {
                    self.too_high = false;
                    self.start_down(flow);
                }
            }
            _ => {}
        }
    }

    fn is_time_to_probe(&self, flow: &Flow) -> bool {
        let reno = (self.bdp(self.bw).min(self.cwnd) / u64::from(self.mss)).min(RENO_ROUNDS);
        flow.now.since(self.cycle_at) > self.wait || self.rounds_waited >= reno.max(1)
    }
}
