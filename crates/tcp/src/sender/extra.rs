//! Extra segments: sent beside the data with low priority when a controller orders them
//! ([`bentpipe_cc::ExtraOrder`]).
//!
//! They count in no window and in no counter of segments, and are never sent again. Data goes first: an extra
//! segment is sent when it is due and no data may go out. They pause while nothing is outstanding. A receiver
//! acknowledges each at once and marks the acknowledgement as such
//! ([`AckSegment::extra`](crate::AckSegment::extra)). Such an acknowledgement brings what it says about data.
//! It gives no RTT sample, because it has waited behind other traffic, and it is no duplicate
//! acknowledgement.
//!
//! A segment gives no RTT sample and shows no reordering while a copy of it is in flight: it is not known
//! which of the two arrived (Karn). For the same reason duplicates do not make a connection with extra
//! segments consider a recovery needless, nor its reordering wider.
//!
//! Data that was never sent ([`ExtraPayload::Unsent`]) is sent as usual in its turn, unless the receiver has
//! reported that it has the data. The turn is then skipped, and the segment counts as selectively
//! acknowledged. An extra segment may also arrive after its turn but before the copy that was sent then; that
//! segment counts as selectively acknowledged, too. Neither shows a loss of the segments before it, which are
//! sent later.

use std::collections::BTreeSet;

use bentpipe_cc::{Event, ExtraOrder, ExtraPayload, Span, Time};

use super::{Probe, Sender};
use crate::options::LossRecovery;
use crate::scoreboard::{Delivered, Heard};
use crate::segment::{AckSegment, Data};

/// The current order.
#[derive(Debug, Default)]
pub(super) struct Extras {
    left: u64,
    due: Time,
    gap: Span,
    payload: ExtraPayload,
    /// The next segment to be copied ([`ExtraPayload::Unacknowledged`]).
    cursor: u64,
    /// Copies of segments from the first number up to the second, excluded, may be in flight.
    copied: (u64, u64),
    sent: u64,
    ahead: Ahead,
}

/// Data of extra segments beyond what has been sent.
#[derive(Debug, Default)]
struct Ahead {
    /// Segments that were carried and not answered yet, even after their turn, and earlier segments that the
    /// receiver has.
    waiting: BTreeSet<u64>,
    known: BTreeSet<u64>,
    /// The next segment to be carried, after the last one that was.
    cursor: u64,
    /// How many segments the receiver had when their turn came.
    skipped: u64,
    /// Outstanding segments that count as selectively acknowledged because an extra segment has brought them.
    brought: BTreeSet<u64>,
}

impl Ahead {
    /// The next waiting segment from `from` up to `to`, excluded, whose answer has come.
    fn answer(&mut self, from: u64, to: u64) -> Option<u64> {
        let seq = *self.waiting.range(from..to.max(from)).next()?;
        self.waiting.remove(&seq);
        Some(seq)
    }

    /// The turn of segment `seq` has come. Returns true if the receiver has it.
    fn pass(&mut self, seq: u64) -> bool {
        let known = self.known.remove(&seq);
        self.skipped += u64::from(known);
        known
    }
}

impl Extras {
    fn take(&mut self, now: Time, order: &ExtraOrder) {
        (self.left, self.gap, self.payload) = (order.count, order.gap, order.payload);
        self.due = now + order.gap;
    }

    fn note(&mut self, seq: u64, una: u64) {
        let (from, to) = self.copied;
        self.copied = if to <= una { (seq, seq + 1) } else { (from.min(seq), to.max(seq + 1)) };
    }
}

impl Sender {
    /// Extra segments sent.
    pub fn extra_segments(&self) -> u64 {
        self.extras.as_ref().map_or(0, |extras| extras.sent)
    }

    /// The first segment that was not sent in any way.
    pub fn next(&self) -> u64 {
        self.extras.as_ref().map_or(0, |extras| extras.ahead.cursor).max(self.board.next())
    }

    /// Outstanding segments that an extra segment has brought, ahead of their turn or before the copy that
    /// was sent then.
    #[cold]
    pub(super) fn brought(&self) -> u64 {
        let brought = self.extras.as_ref().map(|extras| &extras.ahead.brought);
        brought.map_or(0, |brought| brought.range(self.board.una()..).count() as u64)
    }

    /// Segments whose turn was skipped.
    pub(super) fn skipped(&self) -> u64 {
        self.extras.as_ref().map_or(0, |extras| extras.ahead.skipped)
    }

    /// Learns from an acknowledgement which data of extra segments the receiver has, before the scoreboard
    /// takes the acknowledgement. Returns how many outstanding segments that delivers.
    #[cold]
    pub(super) fn learn(&mut self, now: Time, seg: &AckSegment) -> u64 {
        let (una, next, end) = (self.board.una(), self.board.next(), self.next());
        let Some(extras) = &mut self.extras else { return 0 };
        let ahead = &mut extras.ahead;
        while ahead.waiting.first().is_some_and(|&seq| seq < una) {
            ahead.waiting.pop_first();
        }
        while ahead.brought.first().is_some_and(|&seq| seq < una) {
            ahead.brought.pop_first();
        }
        if ahead.waiting.is_empty() && ahead.known.is_empty() || seg.ack > end {
            return 0;
        }
        // For these, too, it is not known whether the extra segment or the copy sent at their turn has
        // arrived.
        let covered = ahead.waiting.range(una..seg.ack.min(next).max(una));
        if let (Some(&first), Some(&last)) = (covered.clone().next(), covered.clone().next_back()) {
            extras.copied = (extras.copied.0.min(first), extras.copied.1.max(last + 1));
        }
        let mut delivered = 0;
        for block in seg.sack.blocks() {
            while let Some(seq) = ahead.answer(block.start.max(una), block.end) {
                if seq >= next {
                    ahead.known.insert(seq);
                } else if self.board.sack_quietly(seq) {
                    ahead.brought.insert(seq);
                    delivered += 1;
                }
            }
        }
        while let Some(seq) = ahead.answer(next, seg.ack) {
            ahead.known.insert(seq);
        }
        self.skip_known(now);
        delivered
    }

    /// Skips the turns of the next segments that the receiver already has.
    #[cold]
    pub(super) fn skip_known(&mut self, now: Time) {
        let Some(extras) = &mut self.extras else { return };
        while extras.ahead.pass(self.board.next()) {
            extras.ahead.brought.insert(self.board.next());
            self.board.skip(now);
            self.flow.delivered += u64::from(self.flow.mss);
        }
    }

    /// The acknowledgement of an extra segment arrived; [`Sender::poll`] then yields what may be sent.
    /// It brings no RTT sample.
    pub fn on_extra_ack(&mut self, now: Time, seg: &AckSegment) {
        if self.extras.is_none() || self.is_done() || seg.ack > self.next() {
            return;
        }
        let sack = self.options.recovery == LossRecovery::Sack && !seg.sack.is_empty();
        let news = seg.ack > self.board.una() || (sack && seg.ack == self.board.una());
        // AEN and F-RTO wait for the acknowledgements of data. Those will also report what this one reports
        // about data.
        if news && self.probe == Probe::No && !self.suspicion.is_open() {
            self.on_ack(now, &AckSegment { extra: true, ..*seg });
        } else {
            self.limits.pass(now, self.decision.cwnd);
            self.flow.now = now;
        }
        if !self.is_done() {
            self.cc.on(&self.flow, Event::ExtraAcked);
            self.ask();
        }
    }

    /// The window is used up. Returns the next extra segment if one is due; otherwise notes when one will be.
    #[cold]
    pub(super) fn poll_extra(&mut self, now: Time) -> Option<Data> {
        let edge = self.limit.min(self.peer_edge());
        let (una, next) = (self.board.una(), self.board.next());
        let extras = self.extras.as_mut()?;
        let mut order = None;
        self.cc.on(&self.flow, Event::Room(&mut order));
        if let Some(order) = order {
            extras.take(now, &order);
        }
        if extras.left == 0 || self.board.outstanding() == 0 {
            return None;
        }
        if extras.due > now {
            self.decision.wake_at(extras.due);
            return None;
        }
        if let ExtraPayload::Unsent { ahead } = extras.payload {
            let seq = extras.ahead.cursor.max(next.saturating_add(ahead));
            if seq.saturating_add(1) < edge {
                extras.ahead.cursor = seq + 1;
                extras.ahead.waiting.insert(seq);
                return Some(self.extra(seq));
            }
        }
        let seq = match extras.payload {
            ExtraPayload::Repeated => next - 1,
            ExtraPayload::Unacknowledged | ExtraPayload::Unsent { .. } => {
                let from = extras.cursor.max(una);
                let seq = self.board.next_missing(from).or_else(|| self.board.next_missing(una))?;
                extras.cursor = seq + 1;
                seq
            }
        };
        extras.note(seq, una);
        Some(self.extra(seq))
    }

    /// The extra segment with the data of segment `seq`, which goes out now.
    fn extra(&mut self, seq: u64) -> Data {
        if let Some(extras) = &mut self.extras {
            extras.left -= 1;
            extras.sent += 1;
            extras.due = extras.due + extras.gap;
        }
        Data { extra: true, retransmission: seq < self.board.next(), ..self.segment(seq) }
    }

    /// Does a newly delivered segment, between the previous `una` and `high`, have a copy?
    fn has_copies(&self, una: u64, high: u64) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.copied.0 < high && extras.copied.1 > una)
    }

    /// Removes from an acknowledgement what copies make doubtful. `una`: the first segment outstanding before
    /// it.
    #[cold]
    pub(super) fn doubt(&self, una: u64, got: &mut Delivered) {
        if self.has_copies(una, got.high) {
            got.sent_once = None;
        }
    }

    /// The same for the report to RACK.
    #[cold]
    pub(super) fn doubt_order(&self, heard: &mut Heard, high: u64) {
        if self.has_copies(heard.lowest_once.unwrap_or(high), high) {
            heard.lowest_once = None;
        }
    }
}
