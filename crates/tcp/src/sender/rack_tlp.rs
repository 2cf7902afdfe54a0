//! RACK and the tail loss probe in the sender (RFC 8985): the losses that an ACK or a timer shows, and the
//! timers.
//!
//! Reordering timer, probe timer and retransmission timer exclude each other (section 8). The probe timer
//! never expires after the retransmission timer (section 7.2). The reordering timer suspends the
//! retransmission timer, which restarts after it.

use bentpipe_cc::{Ack, Phase, Span, Time};

use super::{Path, Sender};
use crate::limits::Limit;
use crate::rack::Situation;
use crate::scoreboard::{Heard, Marked, Sent};
use crate::segment::{AckSegment, Data};
use crate::tlp::{Answer, MAX_ACK_DELAY};

/// The losses and repairs that an ACK shows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    /// Segments newly found lost.
    pub(super) lost: u64,
    /// Bytes that the reordering timer found lost earlier.
    pub(super) earlier: u64,
    /// True if a tail loss probe has repaired a loss.
    pub(super) repaired: bool,
}

impl Sender {
    /// The timer that is armed, if any.
    #[inline(never)]
    pub(super) fn loss_timer(&self) -> Time {
        self.rack.as_ref().and_then(|rack| rack.deadline).or(self.tlp.deadline).unwrap_or(self.timer)
    }

    /// Before the scoreboard takes an ACK: finds the retransmissions that it may answer
    /// (RFC 8985 section 6.2 step 2).
    #[inline(never)]
    pub(super) fn believe(&mut self, seg: &AckSegment) {
        let Some(rack) = self.rack.as_ref().filter(|_| self.board.any_resent()) else { return };
        let now = self.flow.now;
        let latest = rack.believable(now);
        let mut of_echo = Time::MAX;
        if self.options.timestamps {
            let micros = now.0 / 1000;
            let age = u64::from((micros as u32).wrapping_sub(seg.tsecr));
            of_echo = Time(micros.saturating_sub(age) * 1000 + 999);
        }
        self.board.believe(latest.min(of_echo), latest);
    }

    /// RFC 8985 sections 6.2 and 7.4: the losses that this ACK shows; RFC 2883: the needless retransmissions.
    /// The ACK newly delivered `segments`, all below `high`.
    #[inline(never)]
    pub(super) fn detect(&mut self, seg: &AckSegment, rtt: Option<Span>, high: u64, segments: u64) -> Found {
        let duplicate =
            if self.options.dsack { seg.sack.duplicate(seg.ack, self.board.next()) } else { None };
        let of_probe = duplicate.is_some_and(|block| self.tlp.is_probe(block.end));
        let mut found =
            Found { lost: 0, earlier: core::mem::take(&mut self.lost_meanwhile), repaired: false };
        let mut heard = self.board.take_heard();
        if self.extra {
            self.doubt_order(&mut heard, high);
        }
        if let Some(rack) = &mut self.rack {
            rack.on_delivered(self.flow.now, rtt, &heard, high);
            let exiting = self.flow.phase != Phase::Open && self.recovery.is_full(seg.ack);
            rack.adapt(
                duplicate.is_some() && !(of_probe || self.extra),
                self.board.una(),
                self.board.next(),
                exiting,
            );
            found.lost = self.mark_by_time(self.flow.phase != Phase::Open && !exiting);
        }
        if self.options.tlp {
            if rtt.is_some() {
                self.tlp.on_rtt_sample();
            }
            let bare_duplicate = segments == 0 && seg.sack.is_empty();
            let dsack_end = duplicate.map(|block| block.end);
            found.repaired = self.tlp.on_ack(Answer { ack: seg.ack, dsack_end, bare_duplicate });
        }
        if let Some(block) = duplicate.filter(|_| !of_probe) {
            self.note_in_flight();
            self.undo_if_needless(block);
        }
        found
    }

    /// [`Sender::detect`] on the recovery fast path, for an acknowledgement that newly reports `one` alone.
    /// It gave the RTT sample `rtt`, unless the segment was sent more than once. A second congestion begins a
    /// new recovery.
    #[inline(never)]
    pub(super) fn detect_one(&mut self, one: Sent, rtt: Option<Span>, ack: &mut Ack) {
        if let Some(rack) = &mut self.rack {
            let answered = rtt.is_some() || one.at <= rack.believable(self.flow.now);
            let heard = Heard { newest: answered.then_some(one), lowest_once: rtt.map(|_| one.seq) };
            rack.on_delivered(self.flow.now, rtt, &heard, one.seq + 1);
            let lost = self.mark_by_time(true);
            self.declare_lost(lost, ack);
        }
        ack.lost += core::mem::take(&mut self.lost_meanwhile);
        if self.options.tlp && rtt.is_some() {
            self.tlp.on_rtt_sample();
        }
        if self.is_second_congestion() {
            self.note_in_flight();
            self.enter_recovery(1);
        }
    }

    pub(super) fn situation(&self, recovering: bool) -> Situation {
        let srtt = self.flow.rtt.map_or(Span::ZERO, |rtt| rtt.smoothed);
        Situation { recovering, sacked: self.board.sacked(), srtt }
    }

    /// RFC 8985 section 6.2 step 5, and its timer. Returns how many segments are newly lost.
    fn mark_by_time(&mut self, recovering: bool) -> u64 {
        let now = self.situation(recovering);
        let Some(rack) = &mut self.rack else { return 0 };
        let marked = if self.board.is_plainly_after(rack.newest) || self.board.is_nothing_before(rack.newest)
        {
            Marked::default()
        } else {
            self.board.mark_sent_before(rack.newest, self.flow.now, rack.patience(&now))
        };
        rack.lost_again = marked.lost_again;
        let was_armed = core::mem::replace(&mut rack.deadline, marked.due).is_some();
        if was_armed && marked.due.is_none() && self.board.outstanding() > 0 {
            self.start_timer();
        }
        marked.lost
    }

    /// Handles the reordering timer or the probe timer, whichever suspends the retransmission timer. Returns
    /// true if one of them did.
    #[inline(never)]
    pub(super) fn on_early_timer(&mut self, now: Time) -> bool {
        if let Some(at) = self.rack.as_ref().and_then(|rack| rack.deadline) {
            if at <= now {
                self.path = Path::Slow;
                self.limits.pass(now, self.decision.cwnd);
                self.on_reordering_timer();
            }
            return true;
        }
        if let Some(at) = self.tlp.deadline {
            if at <= now {
                self.path = Path::Slow;
                self.limits.pass_as(now, self.decision.cwnd, Limit::Timeout);
                self.tlp.on_deadline();
                self.timer = now + self.rto.rto(); // RFC 8985 section 7.3
            }
            return true;
        }
        false
    }

    #[cold]
    fn on_reordering_timer(&mut self) {
        let lost = self.mark_by_time(self.flow.phase != Phase::Open);
        let bytes = lost * u64::from(self.flow.mss);
        self.flow.lost += bytes;
        self.lost_meanwhile += bytes;
        self.note_in_flight();
        if (self.flow.phase == Phase::Open && lost > 0) || self.is_second_congestion() {
            self.enter_recovery(0);
            self.reduce(0, false);
        }
    }

    /// RFC 8985 section 7.2, called when nothing more can be sent. Starts the probe timer if data was sent or
    /// acknowledged since the last call; stops it when losses are found otherwise.
    #[inline(never)]
    pub(super) fn schedule_probe(&mut self) {
        let anew = core::mem::take(&mut self.tlp.anew);
        let wanted = self.flow.phase == Phase::Open
            && self.board.sacked() == 0
            && self.board.outstanding() > 0
            && self.tlp.may_schedule();
        match self.flow.rtt {
            Some(rtt) if wanted && self.timer != Time::MAX => {
                if anew {
                    let known = self.options.delayed_ack.unwrap_or(MAX_ACK_DELAY);
                    let delay = if self.board.pipe() == 1 { known.max(MAX_ACK_DELAY) } else { Span::ZERO };
                    self.tlp.schedule(self.flow.now, rtt.smoothed, delay, self.timer);
                }
            }
            _ => self.tlp.deadline = None,
        }
    }

    /// RFC 8985 section 7.3: new data if there is any and the receiver takes it, else the last segment once
    /// more. The congestion window does not matter.
    #[cold]
    pub(super) fn loss_probe(&mut self, now: Time) -> Data {
        let next = self.board.next();
        let seq = if next < self.limit && self.peer_has_room() { next } else { next - 1 };
        let data = self.transmit(now, seq);
        self.tlp.on_sent(self.board.next(), data.retransmission);
        self.counters.probes += 1;
        data
    }

    /// RFC 8985 section 7.4.2: the probe has repaired a loss. That is congestion like any other, but needs no
    /// recovery.
    #[cold]
    pub(super) fn react_to_repair(&mut self) {
        self.recovery.on_reduction(self.flow.now);
        self.cut_for_loss();
    }
}
