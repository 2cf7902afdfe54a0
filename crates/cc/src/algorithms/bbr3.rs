//! BBR, version 3: N. Cardwell, I. Swett, J. Beshay (eds.): BBR Congestion Control, draft-ietf-ccwg-bbr;
//! compared with the code in google/bbr, branch v3.
//!
//! Unit: bytes, bytes per second. Valid for RTT from 1 us to 10^3 s and reports of much less than a round
//! trip. Random loss must be below 2 %; above, every probe takes it for congestion.
//! Model: max_bw over two probing cycles, min_rtt over 10 s. Bounds from congestion: short-term bw_lo
//! and inflight_lo, forgotten before each probe, and long-term inflight_hi. Then bw = min(max_bw,
//! bw_lo) and BDP = bw min_rtt. pacing = gain 0.99 bw; cwnd -> gain BDP + ACK aggregation, at least 3
//! quanta, within the bounds.
//!
//! | state    | pacing | cwnd | ends when                                                                        |
//! |----------|--------|------|----------------------------------------------------------------------------------|
//! | Startup  | 2.77   | 2    | three rounds without growth by 1/4, or a round in recovery with 6 losses and over 2 % |
//! | Drain    | 0.5    | 2    | in flight <= BDP, or three rounds                                                |
//! | DOWN     | 0.9    | 2    | in flight <= min(0.85 inflight_hi, BDP): CRUISE; or the wait is over: REFILL      |
//! | CRUISE   | 1      | 2    | 2 to 3 s since DOWN began, or min(BDP, 63) rounds                                |
//! | REFILL   | 1      | 2    | one round                                                                        |
//! | UP       | 1.25   | 2.25 | three rounds without growth by 1/4, over 2 % lost, or (after a probe that lost too much) inflight_hi is reached |
//! | ProbeRTT | 1      | 0.5  | 200 ms and one round; entered when no smaller RTT was seen for 5 s               |
//!
//! `bounds.rs` holds the effect of losses on the model, `cycle.rs` the phases of ProbeBW, `rules.rs` what
//! differs in version 2 (`bbr2.rs`).
//! Decisions and deviations:
//!  * the waits drawn at random (2 + U(0, 1) s, and 0 or 1 rounds) are a multiplicative hash of the
//!    nanosecond at which DOWN begins. This sets flows apart that do not run in step.
//!  * a sender reports the amount lost, not the segments. "Lost since the segment was sent" and its
//!    flight are those of the newest segment that the same ACK delivers. An ACK that reports losses
//!    counts as one range of lost segments.
//!  * no packet conservation: fast recovery keeps the window, within the bounds. A timeout: one segment, and
//!    the window returns when recovery ends. The flight of a timeout counts as lost where the bounds are
//!    concerned, inflight_lo follows from the window before it, and the search for the plateau begins anew
//!    (google/bbr, `bbr_set_state`).
//!  * a loss that a tail loss probe repaired reaches the bounds as one lost segment
//!    (`bbr_run_loss_probe_recovery`).
//!  * state for an undo is saved when an episode begins (OnEnterFastRecovery, OnEnterRTO), not again in each
//!    of its rounds as NoteLoss has it. Undo gives back the bounds. It returns to Startup, or to REFILL for
//!    UP, if losses had ended that state.
//!  * samples of segments sent during ProbeRTT count as short of data (recognised by `prior_delivered`).
//!  * ECN is ignored, as in the draft. Gains of Drain and DOWN are the draft's (code: 0.35, 0.91).

mod bounds;
mod cycle;
mod rules;
#[cfg(test)]
mod tests;

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use crate::algorithms::model::{Aggregation, KeptWindow, LARGEST, Pacer, RoundMax, product, quantum, times};
use crate::algorithms::prelude::*;
use crate::report::RateSample;
use cycle::{Acks, State};
pub(crate) use rules::{UpEnd, VersionRules};

pub(crate) const ENTRY: Entry = Entry {
    id: "bbr3",
    label: "BBRv3",
    about: "BBR with bounds on the data in flight learned from losses, shorter queues, and probes every 2 to 3 s.",
    source: "N. Cardwell, I. Swett, J. Beshay (eds.): BBR Congestion Control, IETF, draft-ietf-ccwg-bbr; google/bbr v3",
    reference: "draft-ietf-ccwg-bbr",
    grade: Grade::A,
    params: Bbr3::PARAMS,
    sender: SenderOptions::NONE,
    colour: "#882255",
    marker: "o",
    build: |args, start| Box::new(Bbr3::new(args, start, &rules::RULES)),
};

const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// The smallest window in segments (draft, MinPipeCwnd).
const FLOOR: u64 = 4;
const AGGREGATION_ROUNDS: u64 = 10;
/// A bound that does not bind.
const NONE: u64 = u64::MAX;

/// What an undo gives back.
#[derive(Clone, Copy, Debug)]
struct Saved {
    /// The probing state that the losses ended (draft, BBR.undo_state).
    left: Option<State>,
    bw_lo: u64,
    inflight_lo: u64,
    inflight_hi: u64,
}

algorithm! {
    #[derive(Debug)]
    pub(crate) struct Bbr3 {
        /// share of a flight whose loss ends a probe (LossThresh)
        loss_threshold: f64 = 0.02, 0.0..=1.0;
        /// bounds keep at least this share at a congestion (Beta)
        beta: f64 = 0.7, 0.0..=1.0;
        /// share of inflight_hi left to others while cruising (Headroom)
        headroom: f64 = 0.15, 0.0..=1.0;
        /// least time between probes; up to 1 s more by the clock
        probe_wait: f64 = 2.0, 0.0..=1e6, "s";
        /// ProbeRTT after this time without a smaller RTT
        probe_rtt_interval: Span = 5.0, 0.1..=1e6, "s";
        /// min_rtt is forgotten after this time
        min_rtt_window: Span = 10.0, 0.1..=1e6, "s";
        /// shortest time with half a BDP in flight
        probe_rtt_time: Span = 0.2, 0.0..=1e3, "s";
    }
    state(args, start: Start, rules: &'static VersionRules) {
        rules: &'static VersionRules = rules,
        mss: u32 = start.mss.max(1),
        initial: u64 = times(start.initial_window.max(1.0), u64::from(mss)),
        state: State = State::Startup,
        // Rounds.
        round: u64,
        round_mark: u64,
        round_start: bool,
        loss_mark: u64,
        loss_round_start: bool,
        // The path.
        cycle: u64,
        max_bw: RoundMax = RoundMax::new(2.0),
        bw: u64,
        min_rtt: Option<Span>,
        min_rtt_at: Time,
        probe_min: Option<Span>,
        probe_min_at: Time,
        aggregation: Aggregation = Aggregation::new(1.0),
        // Bounds.
        bw_latest: u64,
        inflight_latest: u64,
        bw_lo: u64 = NONE,
        inflight_lo: u64 = NONE,
        inflight_hi: u64 = NONE,
        loss_in_round: bool,
        losses_in_round: u32,
        /// (delivered, lost) whenever losses were found; the first entry held when the newest delivered
        /// segment was sent.
        history: VecDeque<(u64, u64)> = VecDeque::from([(0, 0)]),
        saved: Option<Saved>,
        /// Congestion was reported, and the ACK that follows has yet to say what was lost.
        signalled: bool,
        // Is the pipe full?
        full_bw: u64,
        full_rounds: u32,
        full_now: bool,
        filled: bool,
        drain_round: u64,
        // The cycle of ProbeBW.
        acks: Acks = Acks::Quiet,
        cycle_at: Time,
        wait: Span,
        rounds_waited: u64,
        /// Do losses tell about a probe?
        samples: bool,
        up_rounds: u32,
        up_acked: u64,
        up_per_segment: u64 = NONE,
        too_high: bool,
        stopped_early: bool,
        // ProbeRTT.
        probe_rtt_end: Option<Time>,
        probe_rtt_round: bool,
        small_until: u64,
        idle: bool,
        // What is decided.
        cwnd: u64 = initial,
        kept: KeptWindow,
        collapsed: bool,
        pacer: Pacer = Pacer::new(rules.startup_pacing, initial),
    }
}

impl Bbr3 {
    fn segments(&self, n: u64) -> u64 {
        n.saturating_mul(u64::from(self.mss))
    }

    fn bdp(&self, bw: u64) -> u64 {
        self.min_rtt.map_or(self.initial, |rtt| product(bw, rtt))
    }

    /// At least the bytes that offloading holds up on both ends (draft, BBRQuantizationBudget).
    fn budget(&self, bytes: u64) -> u64 {
        let least = (3 * quantum(self.pacer.rate(), self.mss)).max(self.segments(FLOOR));
        bytes.max(least) + if self.state == State::Up { self.segments(2) } else { 0 }
    }

    fn inflight(&self, gain: f64, bw: u64) -> u64 {
        self.budget(times(gain, self.bdp(bw)))
    }

    /// Is this sample no measure of the path, because the sender had too little in flight?
    fn short(&self, sample: &RateSample) -> bool {
        sample.app_limited || sample.prior_delivered < self.small_until
    }

    fn start_round(&mut self, flow: &Flow) {
        self.round_mark = flow.delivered;
    }

    fn learn_rate(&mut self, flow: &Flow, ack: &Ack, sample: &RateSample) {
        if sample.prior_delivered >= self.round_mark {
            self.start_round(flow);
            self.round += 1;
            self.rounds_waited += 1;
            self.round_start = true;
        }
        if !self.short(sample) || sample.rate.0 >= self.max_bw.get() {
            self.max_bw.add(self.cycle, sample.rate.0);
        }
        // Before the pipe is full, ACK aggregation of one round counts; then of ten
        // (draft, UpdateACKAggregation).
        self.aggregation.remember(if self.filled { AGGREGATION_ROUNDS } else { 1 });
        self.aggregation.add(flow, ack, self.round, self.bw, self.cwnd);
    }

    fn reset_full(&mut self, full_bw: u64) {
        (self.full_bw, self.full_rounds, self.full_now) = (full_bw, 0, false);
    }

    fn check_full(&mut self, sample: &RateSample) {
        if self.full_now || !self.round_start || self.short(sample) {
            return;
        }
        let rate = if self.rules.full_by_max { self.max_bw.get() } else { sample.rate.0 };
        if rate as f64 >= FULL_GROWTH * self.full_bw as f64 {
            return self.reset_full(rate);
        }
        self.full_rounds += 1;
        self.full_now = self.full_rounds >= FULL_ROUNDS;
        self.filled |= self.full_now;
    }

    fn leave_startup(&mut self, flow: &Flow, ack: &Ack, sample: &RateSample) {
        if !self.filled {
            self.check_startup_losses(flow, ack, sample);
        }
        if self.state == State::Startup && self.filled {
            (self.state, self.drain_round) = (State::Drain, self.round);
        }
        let emptied = flow.in_flight <= self.inflight(1.0, self.max_bw.get());
        if self.state == State::Drain && (emptied || self.round - self.drain_round > self.rules.drain_rounds)
        {
            self.start_down(flow);
        }
    }

    /// min_rtt and ProbeRTT.
    fn learn_rtt(&mut self, flow: &Flow, ack: &Ack) {
        let due = self.probe_min.is_some() && flow.now.since(self.probe_min_at) > self.probe_rtt_interval;
        if let Some(rtt) = ack.rtt
            && (due || self.probe_min.is_none_or(|known| rtt.min < known))
        {
            (self.probe_min, self.probe_min_at) = (Some(rtt.min), flow.now);
        }
        let expired = flow.now.since(self.min_rtt_at) > self.min_rtt_window;
        if let Some(least) = self.probe_min
            && (expired || self.min_rtt.is_none_or(|known| least < known))
        {
            (self.min_rtt, self.min_rtt_at) = (Some(least), self.probe_min_at);
        }
        if due && !self.idle && self.state != State::ProbeRtt {
            // The state is set before the window is saved, so the window of the last save counts if
            // it is greater (draft, BBRCheckProbeRTT and BBRSaveCwnd; google/bbr,
            // `bbr_update_min_rtt` and `bbr_save_cwnd`).
            self.state = State::ProbeRtt;
            self.save_window(flow);
            self.probe_rtt_end = None;
            self.acks = Acks::Stopping;
            self.start_round(flow);
        }
        if self.state == State::ProbeRtt {
            self.hold_probe_rtt(flow);
        }
        self.idle &= ack.acked == 0;
    }

    fn hold_probe_rtt(&mut self, flow: &Flow) {
        self.small_until = flow.delivered.saturating_add(flow.in_flight);
        match self.probe_rtt_end {
            None if flow.in_flight <= self.probe_rtt_window() => {
                self.probe_rtt_end = Some(flow.now + self.probe_rtt_time);
                self.probe_rtt_round = false;
                self.start_round(flow);
            }
            None => {}
            Some(end) => {
                self.probe_rtt_round |= self.round_start;
                if self.probe_rtt_round && flow.now >= end {
                    self.leave_probe_rtt(flow);
                }
            }
        }
    }

    fn probe_rtt_window(&self) -> u64 {
        times(0.5, self.bdp(self.bw)).max(self.segments(FLOOR))
    }

    fn leave_probe_rtt(&mut self, flow: &Flow) {
        self.probe_min_at = flow.now;
        self.cwnd = self.kept.back(self.cwnd);
        self.forget_lower_bounds();
        if self.filled {
            self.start_down(flow);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }

    fn set_window(&mut self, flow: &Flow, ack: &Ack) {
        if self.kept.repairing() && flow.phase == Phase::Open {
            self.cwnd = self.kept.restore(self.cwnd); // a timeout's repair is complete
        }
        if ack.acked > 0 {
            let extra = self.aggregation.get(self.bw);
            let most = self.budget(times(self.rules.cwnd_gain(self.state), self.bdp(self.bw)) + extra);
            if self.filled {
                self.cwnd = self.cwnd.saturating_add(ack.acked).min(most);
            } else if self.cwnd < most || flow.delivered < self.initial {
                self.cwnd = self.cwnd.saturating_add(ack.acked);
            }
            self.cwnd = self.cwnd.max(self.segments(FLOOR)).min(self.bound());
        }
        self.clamp_window();
    }

    fn clamp_window(&mut self) {
        let most = if self.state == State::ProbeRtt { self.probe_rtt_window() } else { LARGEST };
        self.cwnd = self.cwnd.min(most).max(self.segments(1));
    }

    fn answer(&self, why: Congestion) -> u64 {
        if why == Congestion::Timeout && !self.collapsed { self.segments(1) } else { self.cwnd }
    }

    /// BBRSaveCwnd (google/bbr, `bbr_save_cwnd`).
    fn save_window(&mut self, flow: &Flow) {
        self.kept.save(self.cwnd, self.state == State::ProbeRtt || flow.phase != Phase::Open);
    }

    fn on_congestion(&mut self, flow: &Flow, why: Congestion) {
        if self.collapsed || why == Congestion::Ecn {
            return;
        }
        let Self { bw_lo, inflight_lo, inflight_hi, .. } = *self;
        self.saved = Some(Saved { left: None, bw_lo, inflight_lo, inflight_hi });
        self.signalled = why == Congestion::Loss;
        self.save_window(flow);
        if why == Congestion::Timeout {
            self.lose_flight(flow);
            self.cwnd = self.answer(why);
            self.kept.repair();
            self.collapsed = true;
        }
    }

    fn on_life(&mut self, flow: &Flow, what: Life) {
        match what {
            Life::Recovered => self.cwnd = self.kept.restore(self.cwnd),
            Life::MssChanged => self.mss = flow.mss.max(1),
            Life::IdleRestart => {
                self.idle = true;
                self.aggregation.restart(flow.now);
                if self.state.is_probe_bw() {
                    self.pacer.cruise(self.bw);
                } else if self.state == State::ProbeRtt
                    && self.probe_rtt_end.is_some_and(|end| flow.now > end)
                {
                    self.leave_probe_rtt(flow);
                }
            }
        }
        self.clamp_window();
    }
}

impl Controller for Bbr3 {
    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        self.collapsed &= ack.acked == 0;
        (self.round_start, self.loss_round_start) = (false, false);
        let signalled = core::mem::take(&mut self.signalled);
        if signalled && ack.lost == 0 {
            self.note_probe_repair(flow);
        }
        if let Some(sample) = ack.rate {
            // The transport marks losses before it hands over the ACK (draft,
            // HandleLostPacket and UpdateOnACK).
            self.note_losses(flow, ack, &sample);
            self.note_delivery(flow, &sample);
            self.learn_rate(flow, ack, &sample);
            if self.loss_round_start {
                self.lower_bounds();
            }
            self.check_full(&sample);
            self.leave_startup(flow, ack, &sample);
            if self.filled {
                self.adapt_long_term(flow, ack, &sample);
                self.advance_cycle(flow, ack, &sample);
            }
        }
        self.learn_rtt(flow, ack);
        if let Some(sample) = ack.rate
            && self.loss_round_start
        {
            self.bw_latest = sample.rate.0;
            self.inflight_latest = flow.delivered.saturating_sub(sample.prior_delivered);
        }
        self.bw = self.max_bw.get().min(self.bw_lo);
        self.pacer.follow(flow, self.cwnd, self.rules.pacing_gain(self.state), self.bw, self.filled);
        self.set_window(flow, ack);
    }

    fn on(&mut self, flow: &Flow, event: Event<'_>) {
        match event {
            Event::Congestion(why) => self.on_congestion(flow, why),
            Event::Undo(before) => {
                self.cwnd = self.kept.restore(self.cwnd);
                self.collapsed = false;
                self.undo_bounds(flow);
                self.cwnd = self.cwnd.max(before.cwnd).clamp(self.segments(1), LARGEST);
            }
            Event::Life(what) => self.on_life(flow, what),
            _ => {}
        }
    }

    fn decision(&self) -> Decision {
        Decision::of_model(self.cwnd, Pacing::Rate(self.pacer.rate()))
    }

    fn backoff(&self, _flow: &Flow, why: Congestion) -> Backoff {
        Backoff::of_model(self.answer(why))
    }

    fn needs(&self) -> Needs {
        Needs { recovery: RecoveryWindow::Controller, rate: true, ..Needs::default() }
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        let bytes = |bound: u64| if bound == NONE { f64::INFINITY } else { bound as f64 };
        emit("max_bw_bytes_per_s", self.max_bw.get() as f64);
        emit("bw_lo_bytes_per_s", bytes(self.bw_lo));
        emit("min_rtt_s", self.min_rtt.map_or(f64::NAN, Span::secs));
        emit("inflight_hi_bytes", bytes(self.inflight_hi));
        emit("inflight_lo_bytes", bytes(self.inflight_lo));
        emit("pacing_gain", self.rules.pacing_gain(self.state));
    }
}
