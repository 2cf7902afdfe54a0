//! Where loss recovery begins and ends: duplicate and partial acknowledgements, ECN
//! echoes, timeouts, AEN's probe.

use bentpipe_cc::{Ack, Congestion, Event, Life, Phase, Time};

use super::{Probe, Sender};
use crate::options::{LossRecovery, NewRenoExit, RtoRule, SpuriousTimeout};
use crate::prr::Prr;
use crate::scoreboard::{DUP_THRESH, Delivered};
use crate::segment::{AckSegment, Block};
use crate::spurious::{Before, Repairs, Verdict};

impl Sender {
    /// Moves the phase for an ACK that advances by `advanced` segments; `echoed`: it echoes a mark. Returns
    /// true if the ACK ends a fast recovery. The phase then stays until the controller has seen the ACK;
    /// otherwise the window would grow by what recovery has held back.
    pub(super) fn react(
        &mut self,
        seg: &AckSegment,
        advanced: u64,
        echoed: bool,
        got: &Delivered,
        ack: &mut Ack,
    ) -> bool {
        if self.flow.phase == Phase::Loss {
            match self.suspicion.on_ack(advanced > 0, self.recovery.is_full(seg.ack), seg.tsecr) {
                Verdict::Spurious(before) => self.undo_timeout(&before),
                Verdict::Resume => self.recovery.forced = true,
                Verdict::Open | Verdict::Genuine => {}
            }
        }
        if advanced > 0 {
            self.duplicates.count = 0;
        }
        let full = self.recovery.is_full(seg.ack);
        match self.flow.phase {
            Phase::Recovery if full => {
                if self.board.lost() == 0 {
                    return true;
                }
                // Segments sent during this recovery are known to be lost: the next recovery begins at once.
                self.leave_recovery();
                self.enter_recovery(got.segments);
                false
            }
            Phase::Recovery | Phase::Loss if !full && self.is_second_congestion() => {
                self.enter_recovery(got.segments);
                false
            }
            Phase::Recovery => advanced > 0 && self.on_partial_ack(ack),
            Phase::Loss if !full => false,
            Phase::Loss | Phase::Open => {
                if self.flow.phase == Phase::Loss {
                    self.recovery.end_loss(&mut self.flow);
                    self.duplicates.left = 0;
                }
                if self.options.recovery != LossRecovery::Sack
                    && self.duplicates.count == DUP_THRESH as u32
                    && advanced == 0
                    && self.recovery.may_enter(seg.ack)
                {
                    let marked = self.board.mark(seg.ack);
                    self.declare_lost(marked, ack);
                }
                if self.board.lost() > 0 && got.segments + u64::from(self.duplicates.count) > 0 {
                    if self.options.recovery == LossRecovery::Tahoe {
                        self.start_over(ack);
                    } else {
                        self.enter_recovery(got.segments);
                    }
                } else if echoed {
                    self.cut_for_mark(seg.ack);
                }
                false
            }
        }
    }

    /// `segments` were found lost.
    pub(super) fn declare_lost(&mut self, segments: u64, ack: &mut Ack) {
        let bytes = segments * u64::from(self.flow.mss);
        ack.lost += bytes;
        self.flow.lost += bytes;
    }

    /// Proportional rate reduction, if it governs the window: an ACK delivered `delivered` segments; `safe`
    /// as for [`Prr::on_ack`].
    #[inline]
    pub(super) fn reduce(&mut self, delivered: u64, safe: bool) {
        let pipe = self.in_flight();
        if let Some(prr) = &mut self.recovery.prr {
            prr.on_ack(delivered, pipe, safe);
        }
    }

    /// New data was acknowledged during fast recovery, but not all of it. Returns true if that ends the
    /// recovery (Reno).
    fn on_partial_ack(&mut self, ack: &mut Ack) -> bool {
        match self.options.recovery {
            LossRecovery::Reno | LossRecovery::Tahoe => true,
            LossRecovery::NewReno => {
                // RFC 6582 section 3.2 step 3: the next segment in order is the next hole.
                let marked = self.board.mark(self.board.una());
                self.declare_lost(marked, ack);
                self.recovery.forced = marked > 0;
                false
            }
            LossRecovery::Sack => false,
        }
    }

    /// The loss of a retransmission is a second indication of congestion (RFC 5681 section 4.3). Proportional
    /// rate reduction takes it into account by itself (RFC 8985 section 9.3), and so does a controller that
    /// sets the window during recovery.
    pub(super) fn is_second_congestion(&self) -> bool {
        let lost_again = self.rack.as_ref().and_then(|rack| rack.lost_again);
        let since = lost_again.is_some_and(|sent| self.recovery.is_reduced_before(sent));
        let left_alone = || self.options.prr || self.is_self_driven();
        since && (self.flow.phase == Phase::Loss || !left_alone())
    }

    /// Does the controller set the window during recovery, too? It may change its mind.
    fn is_self_driven(&self) -> bool {
        self.cc.needs().recovery == bentpipe_cc::RecoveryWindow::Controller
    }

    /// Begins a fast recovery. The ACK that causes it delivered `delivered` segments.
    #[inline(never)]
    pub(super) fn enter_recovery(&mut self, delivered: u64) {
        self.tlp.reset();
        self.suspicion.forget();
        // A copy may have arrived before; a duplicate then says nothing about the loss.
        let before = (self.options.dsack && !self.extra).then(|| self.cc.decision());
        let order = self.cc.backoff(&self.flow, Congestion::Loss);
        let cut = self.cut_for_loss();
        let repairs = before.map(|before| Box::new(Repairs::new(cut.then_some(before), &self.board)));
        let proportional = self.options.prr && !self.is_self_driven();
        if order.repeat && self.options.bulk_repeat {
            self.board.mark_all();
        }
        self.counters.recoveries += 1;
        // RFC 9937 section 5: RecoverFS excludes segments SACKed before and includes those that this ACK
        // delivered.
        let flight = self.board.outstanding() - self.board.sacked() + delivered;
        // The window that the controller has chosen, which is ssthresh unless it keeps cwnd at a loss
        // (TCP-STAR's CWS).
        self.ask();
        let ssthresh = self.decision.cwnd / u64::from(self.flow.mss);
        let prr = proportional.then(|| Prr::start(ssthresh, flight));
        self.recovery.enter(&mut self.flow, &self.board, prr);
        self.recovery.repairs = repairs;
    }

    /// Tahoe's fast retransmit, at the third duplicate. It does what a timeout does (Jacobson 1988, appendix
    /// D), so a timeout is reported to the controller. Everything outstanding is sent again as slow start
    /// allows, unless an acknowledgement covers it first. The timer is not backed off: `dupack_action` of
    /// ns-2's Agent/TCP.
    #[cold]
    fn start_over(&mut self, ack: &mut Ack) {
        self.counters.recoveries += 1;
        self.suspicion.forget();
        let marked = self.collapse();
        self.declare_lost(marked, ack);
        self.start_timer();
    }

    pub(super) fn leave_recovery(&mut self) {
        self.duplicates.left = 0;
        self.recovery.leave(&mut self.flow);
        if self.options.recovery != LossRecovery::Sack
            && self.options.newreno_exit == NewRenoExit::FlightSize
            && !self.is_self_driven()
        {
            // RFC 6582 section 3.2 step 3, full acknowledgement, option 1: min(ssthresh,
            // max(FlightSize, SMSS) + SMSS).
            self.recovery.clamp = Some(self.board.outstanding().max(1) + 1);
        }
        self.cc.on(&self.flow, Event::Life(Life::Recovered));
    }

    /// Does only the first partial ACK restart the timer (RFC 6582 section 4)? NewReno repairs one hole per
    /// round trip, and a timeout may then be faster. With SNACK the sender repairs all holes.
    pub(super) fn is_impatient(&self) -> bool {
        self.options.recovery == LossRecovery::NewReno && self.options.snack.is_none()
    }

    /// Restarts the retransmission timer. It begins when a packet is sent (RFC 6298 section 5.1). If the
    /// oldest outstanding segment is to be sent again and the pacer holds it back, the timer begins at the
    /// instant at which the pacer releases it (Linux, `tcp_pacing_delay`).
    #[inline]
    pub(super) fn start_timer(&mut self) {
        let now = self.flow.now;
        let from = if self.pace_at > now && self.paces_oldest() { self.pace_at } else { now };
        self.timer = from + self.rto.rto();
    }

    /// Does the pacer hold back the oldest outstanding segment, which is lost? Nothing can answer it before
    /// it has gone out.
    pub(super) fn paces_oldest(&self) -> bool {
        self.waits_for_pace(self.flow.now) && self.board.waits(self.board.una())
    }

    /// Restarts the timer if an acknowledgement that only SACKs does so; `first`: when the first segment that
    /// it newly delivered was sent, if only once.
    #[inline]
    pub(super) fn restart_for_sack(&mut self, first: Time) {
        if self.options.sack_restarts_rto && first < self.board.sent(self.board.una()).at {
            self.start_timer();
        }
    }

    /// Restarts the timer where an acknowledgement does so. `sent_once` gives the send times of the first and
    /// the last newly delivered segment that was sent only once.
    pub(super) fn rearm(&mut self, advanced: u64, sent_once: Option<(Time, Time)>) {
        let mss = u64::from(self.flow.mss);
        self.recovery.clamp = self.recovery.clamp.filter(|segments| segments * mss < self.decision.cwnd);
        if advanced == 0 {
            if let Some((first, _)) = sent_once {
                self.restart_for_sack(first);
            }
            return;
        }
        self.rto.advance();
        let impatient = self.flow.phase == Phase::Recovery && self.is_impatient();
        let first = self.recovery.on_advance(self.flow.phase);
        if self.board.outstanding() == 0 {
            self.timer = Time::MAX; // RFC 6298 section 5.2
            self.tlp.deadline = None;
        } else if !impatient || first {
            self.start_timer(); // RFC 6298 section 5.3, RFC 6582 section 3.2
        }
    }

    /// RFC 6298 section 5.4 to 5.6, RFC 5681 section 3.1.
    pub(super) fn on_timeout(&mut self, back_off: bool) {
        let before = Before { decision: self.cc.decision(), lost: self.flow.lost };
        let fresh = match self.options.spurious {
            // After a fast retransmission the next ACKs do not show which copy arrived; a timestamp does.
            SpuriousTimeout::FRto => self.flow.phase == Phase::Open,
            _ => self.flow.phase != Phase::Loss,
        };
        self.counters.timeouts += 1;
        let marked = self.collapse();
        self.flow.lost += marked * u64::from(self.flow.mss);
        if back_off && !self.options.fixed_rto {
            self.rto.expire(self.options.thin_linear_timeouts && self.is_thin());
        }
        self.timer = self.flow.now + self.rto.rto();
        self.pace_at = self.flow.now;
        self.suspicion.on_timeout(fresh.then_some(before));
    }

    /// Are fewer than four segments outstanding after the first slow start (Linux, `tcp_stream_is_thin`)?
    /// Three duplicate acknowledgements cannot show a loss then.
    fn is_thin(&self) -> bool {
        self.board.outstanding() < 4 && self.decision.ssthresh != u64::MAX
    }

    /// Has the current fast recovery cut the threshold, so that a timeout in it leaves the threshold alone?
    /// That is the rule with the kernel's timer (`tcp_enter_loss`). With RFC 6298's the threshold is set
    /// anew, as by ns-2.
    fn is_cut_in_recovery(&self) -> bool {
        self.flow.phase == Phase::Recovery && self.options.rto == RtoRule::Linux
    }

    /// The window collapses, and everything outstanding is to be sent again. Returns how many segments are
    /// newly marked lost.
    fn collapse(&mut self) -> u64 {
        self.probe = Probe::No;
        self.note_in_flight();
        self.flow.reduced = self.is_cut_for_mark() || self.is_cut_in_recovery();
        self.cc.on(&self.flow, Event::Congestion(Congestion::Timeout));
        self.flow.reduced = false;
        self.ask();
        let marked = match &self.rack {
            // RFC 8985 section 6.3
            Some(rack) => {
                let patience = rack.patience(&self.situation(self.flow.phase != Phase::Open));
                self.board.mark_expired(self.flow.now, patience)
            }
            None => self.board.mark_all(),
        };
        self.tlp.reset();
        // With RACK, segments that are not old enough to be lost are still in flight.
        self.recovery.collapse(&mut self.flow, &self.board, self.rack.is_some());
        self.duplicates.count = 0;
        self.duplicates.left = 0;
        self.limited_until = self.board.next();
        self.window_reduced();
        marked
    }

    /// The last timeout was spurious.
    fn undo_timeout(&mut self, before: &Before) {
        self.counters.spurious_timeouts += 1;
        self.flow.lost = before.lost;
        self.recovery.reopen(&mut self.flow, &mut self.board);
        self.cc.on(&self.flow, Event::Undo(&before.decision));
        self.ask();
    }

    /// The last fast recovery was needless if the receiver has reported every segment that it sent again as a
    /// duplicate (the idea of RFC 3708).
    #[cold]
    pub(super) fn undo_if_needless(&mut self, duplicate: Block) {
        let Some(Repairs { before, lost: mut kept, .. }) = self.recovery.on_duplicate(duplicate) else {
            return;
        };
        self.counters.spurious_recoveries += 1;
        let recovering = self.flow.phase == Phase::Recovery;
        if recovering {
            kept += self.board.lost();
        }
        self.flow.lost = self.flow.lost.saturating_sub(kept * u64::from(self.flow.mss));
        if recovering {
            self.recovery.forced = false;
            self.recovery.reopen(&mut self.flow, &mut self.board);
        }
        // Where a mark had cut the window, that cut remains.
        if let Some(before) = before {
            self.cc.on(&self.flow, Event::Undo(&before));
            self.ask();
        }
    }

    /// The network answered while AEN waited. Returns true if the ACK covers new data: ACKs had been lost or
    /// late, not data.
    pub(super) fn on_probe_answer(&mut self, new_data: bool) -> bool {
        if new_data {
            self.probe = Probe::No;
            self.counters.spurious_timeouts += 1;
        } else {
            // The probe was answered in one round trip; only its own timeout would double the RTO.
            self.on_timeout(false);
        }
        new_data
    }
}
