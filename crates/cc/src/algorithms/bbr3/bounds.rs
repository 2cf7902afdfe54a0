//! Effects of losses on BBRv3's model: the short-term bounds bw_lo and inflight_lo, the long-term bound
//! inflight_hi (draft, sections on congestion signals and on packet loss).

use super::cycle::State;
use super::{Bbr3, FLOOR, NONE};
use crate::algorithms::model::times;
use crate::report::{Ack, Flow, Phase, RateSample};

impl Bbr3 {
    /// The best of the loss round so far (BBRUpdateLatestDeliverySignals).
    pub(super) fn note_delivery(&mut self, flow: &Flow, sample: &RateSample) {
        self.bw_latest = self.bw_latest.max(sample.rate.0);
        self.inflight_latest =
            self.inflight_latest.max(flow.delivered.saturating_sub(sample.prior_delivered));
        if sample.prior_delivered >= self.loss_mark {
            self.loss_mark = flow.delivered;
            self.loss_round_start = true;
        }
    }

    /// Losses of an ACK. While a probe is judged, too many of them bound inflight_hi (BBRHandleLostPacket).
    pub(super) fn note_losses(&mut self, flow: &Flow, ack: &Ack, sample: &RateSample) {
        if self.history.back().is_none_or(|&(_, lost)| lost != flow.lost) {
            self.history.push_back((flow.delivered, flow.lost));
        }
        while self.history.get(1).is_some_and(|&(delivered, _)| delivered <= sample.prior_delivered) {
            self.history.pop_front();
        }
        if ack.lost == 0 {
            return;
        }
        self.note_loss(flow);
        self.losses_in_round = self.losses_in_round.saturating_add(1);
        if self.samples && self.lost_too_much(flow, sample) {
            let reached = self.reached_at_loss(flow, ack, sample);
            self.bound_from_probe(flow, (!self.short(sample)).then_some(reached));
        }
    }

    /// NoteLoss: the round of a first loss ends one round trip after it, so that its deliveries
    /// show the path's capacity.
    fn note_loss(&mut self, flow: &Flow) {
        if !self.loss_in_round {
            self.loss_mark = flow.delivered;
        }
        self.loss_in_round = true;
    }

    /// A tail loss probe has repaired the loss of one segment (google/bbr, `bbr_run_loss_probe_recovery`).
    pub(super) fn note_probe_repair(&mut self, flow: &Flow) {
        self.note_loss(flow);
        let flight = self.inflight_latest.saturating_add(u64::from(self.mss));
        if self.samples && f64::from(self.mss) > self.loss_threshold * flight as f64 {
            self.bound_from_probe(flow, (self.state != State::ProbeRtt).then_some(flight));
        }
    }

    /// A timeout: the flight is marked as lost, and inflight_lo begins at the window before it
    /// (google/bbr, `bbr_set_state`).
    pub(super) fn lose_flight(&mut self, flow: &Flow) {
        self.reset_full(0);
        if !self.is_probing() && self.inflight_lo == NONE {
            self.inflight_lo = self.kept.back(self.cwnd);
        }
        self.note_loss(flow);
        if self.samples {
            self.bound_from_probe(flow, (self.state != State::ProbeRtt).then_some(flow.in_flight));
        }
    }

    /// IsProbingBW.
    fn is_probing(&self) -> bool {
        matches!(self.state, State::Startup | State::Refill | State::Up)
    }

    /// Lost since the sampled segment was sent, bytes. `note_losses` has brought the
    /// history up to that segment.
    fn lost_since(&self, flow: &Flow) -> u64 {
        flow.lost.saturating_sub(self.history.front().map_or(0, |&(_, lost)| lost))
    }

    /// Bytes in flight just after the sampled segment was sent.
    pub(super) fn flight_at(&self, sample: &RateSample) -> u64 {
        sample.prior_in_flight.saturating_add(u64::from(self.mss))
    }

    pub(super) fn lost_too_much(&self, flow: &Flow, sample: &RateSample) -> bool {
        self.lost_since(flow) as f64 > self.loss_threshold * self.flight_at(sample) as f64
    }

    /// The flight at which the losses passed the threshold (BBRInflightAtLoss).
    fn reached_at_loss(&self, flow: &Flow, ack: &Ack, sample: &RateSample) -> u64 {
        let before = self.flight_at(sample).saturating_sub(ack.lost) as f64;
        let lost = self.lost_since(flow).saturating_sub(ack.lost) as f64;
        let room = (self.loss_threshold * before - lost) / (1.0 - self.loss_threshold).max(1e-9);
        (before + room).max(0.0) as u64
    }

    /// BBRHandleInflightTooHigh. `reached`: the flight that was too much; `None` if the
    /// sender was short of data.
    fn bound_from_probe(&mut self, flow: &Flow, reached: Option<u64>) {
        self.samples = false;
        self.too_high = true;
        if let Some(reached) = reached {
            let kept = times(self.beta, self.bdp(self.bw).min(self.cwnd));
            self.inflight_hi = reached.max(kept);
        }
        if self.state == State::Up {
            self.left_by_loss(State::Up);
            self.start_down(flow);
        }
    }

    /// Losses end a probing state, to which an undo returns.
    fn left_by_loss(&mut self, state: State) {
        if let Some(saved) = &mut self.saved {
            saved.left = Some(state);
        }
    }

    /// A loss round is over: outside probes the short-term bounds follow the deliveries
    /// (BBRAdaptLowerBoundsFromCongestion).
    pub(super) fn lower_bounds(&mut self) {
        if self.loss_in_round && !self.is_probing() {
            let bw = if self.bw_lo == NONE { self.max_bw.get() } else { self.bw_lo };
            let inflight = if self.inflight_lo == NONE { self.cwnd } else { self.inflight_lo };
            self.bw_lo = self.bw_latest.max(times(self.beta, bw));
            self.inflight_lo = self.inflight_latest.max(times(self.beta, inflight));
        }
        self.loss_in_round = false;
    }

    pub(super) fn forget_lower_bounds(&mut self) {
        (self.bw_lo, self.inflight_lo) = (NONE, NONE);
    }

    /// BBRCheckStartupHighLoss.
    pub(super) fn check_startup_losses(&mut self, flow: &Flow, ack: &Ack, sample: &RateSample) {
        if !self.loss_round_start {
            return;
        }
        let recovering = flow.phase == Phase::Recovery && ack.acked > 0;
        if recovering && self.losses_in_round >= self.rules.full_losses && self.lost_too_much(flow, sample) {
            self.filled = true;
            self.left_by_loss(State::Startup);
            let latest = if self.rules.startup_keeps_latest { self.inflight_latest } else { 0 };
            self.inflight_hi = self.bdp(self.max_bw.get()).max(latest);
        }
        self.losses_in_round = 0;
    }

    /// The most that the bounds allow in flight now (BBRBoundCwndForModel).
    pub(super) fn bound(&self) -> u64 {
        let hi = match self.state {
            State::Startup | State::Drain => NONE,
            State::Down | State::Refill | State::Up => self.inflight_hi,
            State::Cruise | State::ProbeRtt => self.with_headroom(),
        };
        hi.min(self.inflight_lo).max(self.segments(FLOOR))
    }

    /// inflight_hi less the headroom left to others (BBRInflightWithHeadroom).
    pub(super) fn with_headroom(&self) -> u64 {
        if self.inflight_hi == NONE {
            return NONE;
        }
        let room = times(self.headroom, self.inflight_hi).max(u64::from(self.mss));
        self.inflight_hi.saturating_sub(room).max(self.segments(FLOOR))
    }

    /// BBRHandleSpuriousLossDetection.
    pub(super) fn undo_bounds(&mut self, flow: &Flow) {
        self.loss_in_round = false;
        self.reset_full(0);
        let Some(saved) = &mut self.saved else { return };
        self.bw_lo = self.bw_lo.max(saved.bw_lo);
        self.inflight_lo = self.inflight_lo.max(saved.inflight_lo);
        self.inflight_hi = self.inflight_hi.max(saved.inflight_hi);
        let elsewhere = self.state != State::ProbeRtt;
        match saved.left.take() {
            Some(State::Startup) => {
                self.filled = false; // ProbeRTT then leads to Startup, too
                if elsewhere {
                    self.state = State::Startup;
                }
            }
            Some(State::Up) if elsewhere && self.state != State::Up => self.start_refill(flow),
            _ => {}
        }
    }
}
