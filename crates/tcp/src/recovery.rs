//! The state of loss recovery: which acknowledgement ends it, and what may be sent until then (RFC 5681
//! section 3.2, RFC 6582, RFC 6675 section 5).
//!
//! [`Recovery`] alone changes [`Flow::phase`]. It goes to [`Phase::Recovery`] by `enter`, to [`Phase::Loss`]
//! by `collapse`, and back to [`Phase::Open`] by `leave`, `end_loss` or `reopen`. It knows neither the
//! controller nor the timers: `sender/recovery.rs` decides when a phase begins or ends, and tells both.

use bentpipe_cc::{Flow, Phase, Time};

use crate::prr::Prr;
use crate::scoreboard::Scoreboard;
use crate::segment::Block;
use crate::spurious::Repairs;

/// The current recovery, or the last one.
#[derive(Debug, Default)]
pub(crate) struct Recovery {
    /// RFC 6582's recover, RFC 6675's RecoveryPoint: recovery ends when this is acknowledged.
    recover: u64,
    /// RFC 6675's RescueRxt: a rescue is allowed only when more than this is acknowledged.
    rescue_at: u64,
    /// When the window was last reduced for a loss.
    reduced_at: Time,
    /// Proportional rate reduction, if it governs the window of this recovery, or of the last.
    pub(crate) prr: Option<Prr>,
    /// The segments that this or the last fast recovery has sent again, while that recovery may still prove
    /// spurious.
    pub(crate) repairs: Option<Box<Repairs>>,
    /// A window below the controller's, in segments, that grows with deliveries. It avoids a burst at the end
    /// of recovery without SACK (RFC 6582 section 3.2 step 3). It also serves as the first window after
    /// several SYNs and as the restart window after a pause.
    pub(crate) clamp: Option<u64>,
    /// Only the first partial ACK restarts the timer (RFC 6582 section 4, Impatient).
    partial_seen: bool,
    /// The window does not stop the next retransmission. (RFC 5681 section 3.2 step 3, RFC 6582 section 3.2
    /// step 3, RFC 6675 section 5 step 4.3)
    pub(crate) forced: bool,
}

impl Recovery {
    /// Fast recovery begins, with proportional rate reduction if `prr` is given.
    pub(crate) fn enter(&mut self, flow: &mut Flow, board: &Scoreboard, prr: Option<Prr>) {
        flow.phase = Phase::Recovery;
        *self = Self {
            recover: board.next(),
            // RFC 6675 section 5 step 4.3: no rescue before the first retransmission and one more segment are
            // acknowledged.
            rescue_at: board.una() + 1,
            reduced_at: flow.now,
            prr,
            forced: true,
            ..Self::default()
        };
    }

    /// A timeout: everything outstanding may be lost. `forced`: some of it is still in flight, and the window
    /// does not stop the first retransmission.
    pub(crate) fn collapse(&mut self, flow: &mut Flow, board: &Scoreboard, forced: bool) {
        flow.phase = Phase::Loss;
        self.recover = board.next();
        self.clamp = None;
        self.forced = forced;
        self.on_reduction(flow.now);
    }

    /// The window is reduced at `now` for a loss that needs no recovery.
    pub(crate) fn on_reduction(&mut self, now: Time) {
        self.repairs = None;
        self.reduced_at = now;
    }

    /// Fast recovery ends.
    pub(crate) fn leave(&mut self, flow: &mut Flow) {
        flow.phase = Phase::Open;
        self.forced = false;
    }

    /// What was outstanding at a timeout is acknowledged.
    pub(crate) fn end_loss(&mut self, flow: &mut Flow) {
        flow.phase = Phase::Open;
    }

    /// The recovery was needless: nothing is lost, and the next recovery may begin with the first segment
    /// outstanding (RFC 5682 section 2.1 step 3b, RFC 4015).
    pub(crate) fn reopen(&mut self, flow: &mut Flow, board: &mut Scoreboard) {
        board.unmark_all();
        flow.phase = Phase::Open;
        self.recover = board.una().saturating_sub(1);
    }

    /// Does an acknowledgement of all before `ack` end the recovery, as a full acknowledgement (RFC 6582
    /// section 3.2 step 3)?
    #[inline]
    pub(crate) fn is_full(&self, ack: u64) -> bool {
        ack >= self.recover
    }

    /// May three duplicates of the acknowledgement `ack` begin a fast recovery? Needless retransmissions may
    /// have caused them, unless more is acknowledged than `recover` (RFC 6582 section 3.2 step 1).
    pub(crate) fn may_enter(&self, ack: u64) -> bool {
        ack > self.recover || self.recover == 0
    }

    /// Was the window last reduced before the segment that was sent at `sent`, or at that instant?
    pub(crate) fn is_reduced_before(&self, sent: Time) -> bool {
        sent >= self.reduced_at
    }

    /// The window in segments during `phase`, if the controller decides on `segments`.
    #[inline]
    pub(crate) fn window(&self, phase: Phase, segments: u64) -> u64 {
        match &self.prr {
            Some(prr) if phase == Phase::Recovery => prr.cwnd,
            _ => segments.min(self.clamp.unwrap_or(u64::MAX)),
        }
    }

    /// A segment was sent again. `lost`: had it been declared lost? `None` for a probe.
    pub(crate) fn on_retransmit(&mut self, lost: Option<bool>) {
        self.forced = false;
        if let (Some(repairs), Some(lost)) = (&mut self.repairs, lost) {
            repairs.on_retransmit(lost);
        }
    }

    /// RFC 6675 section 4, NextSeg rule 4: the segment to send for a rescue, once per recovery.
    pub(crate) fn rescue(&mut self, board: &mut Scoreboard) -> Option<u64> {
        let seq = if board.una() > self.rescue_at { board.rescue() } else { None }?;
        self.rescue_at = u64::MAX;
        Some(seq)
    }

    /// An ACK advanced and left the sender in `phase`. Returns true unless it is a second partial ACK of this
    /// recovery.
    pub(crate) fn on_advance(&mut self, phase: Phase) -> bool {
        !core::mem::replace(&mut self.partial_seen, phase == Phase::Recovery)
    }

    /// Has a partial ACK arrived in this recovery?
    #[inline]
    pub(crate) fn has_seen_partial(&self) -> bool {
        self.partial_seen
    }

    /// A D-SACK reports `block`. Returns the repairs if this was the last of them that the receiver had
    /// twice: the fast recovery was needless.
    pub(crate) fn on_duplicate(&mut self, block: Block) -> Option<Repairs> {
        let needless = self.repairs.as_mut()?.on_duplicate(block);
        self.repairs.take_if(|_| needless).map(|repairs| *repairs)
    }
}
