//! The state of each outstanding segment at the sender, at a constant amortised cost per acknowledgement.
//!
//! RFC 6675 section 4: `IsLost(s)` holds when three segments above `s` have been selectively acknowledged.
//! (With full segments, three discontiguous runs or more than two segments of bytes mean the same.) Every
//! segment below the third-highest SACKed one is therefore lost unless it is SACKed itself, and one pointer
//! that only moves up marks them. `pipe` follows from four counters. With RACK the send times decide instead
//! (`scoreboard/order.rs`).

mod order;

use bentpipe_cc::{Stamp, Time};

use order::Order;
pub(crate) use order::{Heard, Marked, Sent};

use crate::bits::Bits;
use crate::segment::Sack;

/// DupThresh of RFC 6675 section 2.
pub(crate) const DUP_THRESH: usize = 3;

/// The first segment allocates room for this many segments.
const SMALLEST: usize = 4;

/// The scoreboard of one sender: segments `una` .. `next`. The fields that every
/// acknowledgement needs come first.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Scoreboard {
    una: u64,
    next: u64,
    sent_at: Vec<Time>,
    sacked_count: u64,
    lost_count: u64,
    again_count: u64,
    twice_count: u64,
    /// The segments in the order of sending, with RACK.
    order: Option<Box<Order>>,
    /// Empty unless the controller wants rate samples.
    stamps: Vec<Stamp>,
    stamped: bool,
    sacked: Bits,
    lost: Bits,
    /// Retransmission in flight.
    again: Bits,
    /// Ever retransmitted: no RTT sample (Karn).
    twice: Bits,
    /// The segment after the highest one marked lost.
    lost_end: u64,
    /// The segment after the highest one that rule 3 has resent.
    doubt_end: u64,
    /// Highest SACKed segments plus one, highest first; 0 if none.
    top: [u64; DUP_THRESH],
    /// Everything below is SACKed or marked lost.
    marked: u64,
    /// No lost segment without a retransmission in flight lies below.
    resend: u64,
    /// All segments from the first number up to the second are SACKed; the second is excluded.
    crown: (u64, u64),
}

/// What an acknowledgement did to the scoreboard.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Delivered {
    /// Segments newly delivered.
    pub(crate) segments: u64,
    /// Segments newly marked lost.
    pub(crate) lost: u64,
    /// The send times of the first and the last newly delivered segment that was sent only once.
    pub(crate) sent_once: Option<(Time, Time)>,
    /// The newest newly delivered segment: its send time and its number.
    pub(crate) newest: Option<(Time, u64)>,
    /// The segment after the highest newly delivered one.
    pub(crate) high: u64,
}

impl Scoreboard {
    /// Bytes that every acknowledgement needs.
    #[cfg(test)]
    pub(crate) const NEEDED: usize = core::mem::offset_of!(Self, stamps);

    pub(crate) fn new(stamps: bool, rack: bool) -> Self {
        Self { stamped: stamps, order: rack.then(Box::default), ..Self::default() }
    }

    pub(crate) fn una(&self) -> u64 {
        self.una
    }

    /// The next segment never sent.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    pub(crate) fn outstanding(&self) -> u64 {
        self.next - self.una
    }

    /// Segments that may be outstanding before the scoreboard has to grow; it never shrinks.
    pub(crate) fn room(&self) -> u64 {
        self.sent_at.len() as u64
    }

    /// RFC 6675's pipe in segments.
    pub(crate) fn pipe(&self) -> u64 {
        self.outstanding() + self.again_count - self.sacked_count - self.lost_count
    }

    /// Segments selectively acknowledged.
    pub(crate) fn sacked(&self) -> u64 {
        self.sacked_count
    }

    /// Segments marked lost and not yet acknowledged.
    pub(crate) fn lost(&self) -> u64 {
        self.lost_count
    }

    #[inline(always)]
    fn slot(&self, seq: u64) -> usize {
        seq as usize & self.sent_at.len().wrapping_sub(1)
    }

    /// Segment `next` goes out for the first time.
    #[inline(always)]
    pub(crate) fn send_new(&mut self, now: Time, stamp: Option<Stamp>) {
        if self.outstanding() == self.sent_at.len() as u64 {
            self.grow();
        }
        self.stamp(self.next, now, stamp);
        self.next += 1;
    }

    /// Segment `seq` goes out again. Returns true if it was marked lost.
    pub(crate) fn send_again(&mut self, seq: u64, now: Time, stamp: Option<Stamp>) -> bool {
        let lost = self.lost.get(seq);
        if !lost {
            if seq < self.top[0] {
                // NextSeg rule 3: the original may only be late, and counts as in flight beside its copy.
                self.doubt_end = self.doubt_end.max(seq + 1);
            } else {
                // Rule 4 leaves HighRxt alone, so that pipe counts one of the two.
                self.lost.set(seq);
                self.lost_count += 1;
            }
        }
        if !self.again.get(seq) {
            self.again.set(seq);
            self.again_count += 1;
        }
        if !self.twice.get(seq) {
            self.twice.set(seq);
            self.twice_count += 1;
        }
        self.stamp(seq, now, stamp);
        self.note_resent(seq, now);
        self.resend += u64::from(seq == self.resend);
        lost
    }

    #[inline(always)]
    fn stamp(&mut self, seq: u64, now: Time, stamp: Option<Stamp>) {
        let slot = self.slot(seq);
        self.sent_at[slot] = now;
        if let Some(stamp) = stamp {
            self.stamps[slot] = stamp;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let (una, old) = (self.una, self.sent_at.len());
        let new = (2 * old).max(SMALLEST);
        for bits in [&mut self.sacked, &mut self.lost, &mut self.again, &mut self.twice] {
            if (new as u64) > bits.capacity() {
                bits.grow(una, self.next);
            }
        }
        self.sent_at = moved(&self.sent_at, una, new);
        if self.stamped {
            self.stamps = moved(&self.stamps, una, new);
        }
    }

    /// The lowest lost segment that has no retransmission in flight.
    pub(crate) fn next_lost(&mut self) -> Option<u64> {
        if self.order.is_some()
            && let Some(seq) = self.next_lost_again()
        {
            return Some(seq);
        }
        self.resend = self.resend.max(self.una);
        while let Some(seq) = self.lost.next_set(self.resend, self.lost_end) {
            self.resend = seq;
            if !self.again.get(seq) {
                return Some(seq);
            }
            self.resend += 1;
        }
        self.resend = self.resend.max(self.lost_end);
        None
    }

    /// RFC 6675 section 4, NextSeg rule 3: a segment that is not SACKed, below the highest
    /// SACKed one, not yet resent.
    pub(crate) fn next_doubtful(&self) -> Option<u64> {
        let mut from = self.marked.max(self.una).max(self.doubt_end);
        while let Some(seq) = self.sacked.next_clear(from, self.top[0].min(self.next)) {
            if !self.again.get(seq) {
                return Some(seq);
            }
            from = seq + 1; // rule 4 has sent it
        }
        None
    }

    /// RFC 6675 section 4, NextSeg rule 4: the highest outstanding segment that is not SACKed.
    pub(crate) fn rescue(&mut self) -> Option<u64> {
        // It is called very often at the end of a transfer, so the SACKed run at the top is not searched
        // again.
        let (from, until) = self.crown;
        let known = if until == self.next { from } else { self.next };
        let highest = self.sacked.last_clear(self.una, known);
        self.crown = (highest.map_or(self.una, |seq| seq + 1), self.next);
        highest.filter(|&seq| !self.again.get(seq))
    }

    /// The stamp of a segment that is outstanding, or that the last ACK delivered.
    pub(crate) fn stamp_of(&self, seq: u64) -> Stamp {
        self.stamps[self.slot(seq)]
    }

    /// When segment `seq` was sent last.
    #[inline]
    pub(crate) fn sent(&self, seq: u64) -> Sent {
        Sent { at: self.sent_at[self.slot(seq)], seq }
    }

    /// Is every outstanding segment in flight as first sent: nothing SACKed, lost or sent again?
    #[inline]
    pub(crate) fn is_in_order(&self) -> bool {
        self.sacked_count | self.lost_count | self.again_count | self.twice_count == 0
    }

    /// Drops the segments below `ack` while [`Scoreboard::is_in_order`] holds. Returns the send times of the
    /// first and the last of them.
    #[inline(always)]
    pub(crate) fn shift(&mut self, ack: u64) -> (Time, Time) {
        let sent = (self.sent_at[self.slot(self.una)], self.sent_at[self.slot(ack - 1)]);
        self.una = ack;
        sent
    }

    /// Takes the SACK blocks and the cumulative acknowledgement of one ACK. `known` holds the blocks of the
    /// last ACK and becomes those of this one.
    #[inline]
    pub(crate) fn acknowledge(&mut self, ack: u64, sack: &Sack, known: &mut Sack) -> Delivered {
        let mut got = Delivered::default();
        // Segments that the cumulative acknowledgement covers are delivered, not lost, so it is processed
        // first.
        if ack > self.una {
            self.advance(ack, &mut got);
        }
        self.expect_selective();
        for (place, block) in sack.blocks().iter().enumerate() {
            if known.blocks().get(place) == Some(block) {
                continue;
            }
            let (start, end) = (block.start.max(self.una), block.end.min(self.next));
            // Most blocks repeat those of the last ACK, and one of them is longer at one end.
            match known.blocks().iter().find(|k| k.start <= start && start < k.end) {
                Some(k) if end <= k.end => {}
                Some(k) if end == k.end + 1 => self.sack_one(k.end, &mut got),
                Some(k) => self.sack(k.end, end, &mut got),
                None => self.sack(start, end, &mut got),
            }
        }
        if self.sacked_count > 0 && self.order.is_none() {
            self.mark_lost(&mut got);
        }
        known.update(sack);
        got
    }

    /// [`Scoreboard::sack`] for one segment, the most frequent case.
    #[inline]
    fn sack_one(&mut self, seq: u64, got: &mut Delivered) {
        if self.sacked.get(seq) {
            return;
        }
        self.note(seq, seq + 1, got);
        got.segments += 1;
        self.mark_sacked(seq);
    }

    /// Marks segment `seq`, which was not SACKed, as SACKed.
    #[inline]
    fn mark_sacked(&mut self, seq: u64) {
        self.sacked.set(seq);
        self.sacked_count += 1;
        if self.lost_count > 0 {
            self.lost_count -= u64::from(self.lost.take(seq));
        }
        if self.again_count > 0 {
            self.again_count -= u64::from(self.again.take(seq));
        }
        self.rank(seq + 1);
    }

    /// Is segment `seq` outstanding and not SACKed?
    #[inline]
    pub(crate) fn misses(&self, seq: u64) -> bool {
        self.una <= seq && seq < self.next && !self.sacked.get(seq)
    }

    /// Is segment `seq` marked lost, without a retransmission in flight?
    pub(crate) fn waits(&self, seq: u64) -> bool {
        self.lost.get(seq) && !self.again.get(seq)
    }

    /// Is no segment that is marked lost waiting to be sent again?
    #[inline]
    pub(crate) fn has_resent_all(&self) -> bool {
        self.lost_count == 0 || self.resend.max(self.una) >= self.lost_end && self.has_lost_none_again()
    }

    /// [`Scoreboard::acknowledge`] for an ACK that newly reports only `seq`. Returns its send time, whether
    /// it was sent only once, and how many segments are newly marked lost. With RACK that is none, and the
    /// caller notes the delivery.
    #[inline]
    pub(crate) fn acknowledge_one(&mut self, seq: u64) -> (Time, bool, u64) {
        let sent = self.sent_at[self.slot(seq)];
        let once = self.twice_count == 0 || !self.twice.get(seq);
        self.mark_sacked(seq);
        let mut got = Delivered::default();
        if self.order.is_none() {
            self.mark_lost(&mut got);
        }
        (sent, once, got.lost)
    }

    fn sack(&mut self, from: u64, to: u64, got: &mut Delivered) {
        let mut at = from;
        while let Some(start) = self.sacked.next_clear(at, to) {
            let end = self.sacked.next_set(start, to).unwrap_or(to);
            self.note(start, end, got);
            let new = self.sacked.set_range(start, end);
            got.segments += new;
            self.sacked_count += new;
            self.clear_lost(start, end);
            for seq in end.saturating_sub(DUP_THRESH as u64).max(start)..end {
                self.rank(seq + 1);
            }
            at = end;
        }
    }

    /// [`from`, `to`) is delivered: neither lost nor in flight again.
    fn clear_lost(&mut self, from: u64, to: u64) {
        if self.lost_count > 0 {
            self.lost_count -= self.lost.clear_range(from, to);
        }
        if self.again_count > 0 {
            self.again_count -= self.again.clear_range(from, to);
        }
    }

    /// Keeps the highest three SACKed segments.
    fn rank(&mut self, mut seq: u64) {
        for slot in &mut self.top {
            if seq > *slot {
                core::mem::swap(slot, &mut seq);
            }
        }
    }

    /// Times and stamps of the newly delivered [`start`, `end`).
    #[inline]
    fn note(&mut self, start: u64, end: u64, got: &mut Delivered) {
        if self.order.is_some() {
            self.note_in_order(start, end);
        }
        let last = end - 1;
        let newest = self.sent_at[self.slot(last)];
        self.note_newest(last, got);
        if self.twice_count > 0 {
            let mut at = start;
            while let Some(seq) = self.twice.next_set(at, last) {
                self.note_newest(seq, got);
                at = seq + 1;
            }
        }
        got.high = got.high.max(end);
        let once = |seq: u64| self.twice_count == 0 || !self.twice.get(seq);
        if once(last) {
            let first = if once(start) { self.sent_at[self.slot(start)] } else { newest };
            got.sent_once = Some(match got.sent_once {
                None => (first, newest),
                Some((a, b)) => (a.min(first), b.max(newest)),
            });
        }
    }

    /// Notes the segment for the rate sample, which is the one sent last.
    fn note_newest(&self, seq: u64, got: &mut Delivered) {
        let sent = self.sent_at[self.slot(seq)];
        if got.newest.is_none_or(|(at, _)| sent >= at) {
            got.newest = Some((sent, seq));
        }
    }

    fn mark_lost(&mut self, got: &mut Delivered) {
        let below = self.top[DUP_THRESH - 1];
        if below <= self.marked {
            return;
        }
        let mut at = self.marked.max(self.una);
        while let Some(start) = self.sacked.next_clear(at, below.saturating_sub(1)) {
            let end = self.sacked.next_set(start, below).unwrap_or(below);
            let new = self.lost.set_range(start, end);
            self.lost_count += new;
            got.lost += new;
            self.resend = self.resend.min(start);
            self.lost_end = self.lost_end.max(end);
            at = end;
        }
        self.marked = below;
    }

    fn advance(&mut self, ack: u64, got: &mut Delivered) {
        let (mut from, mut fresh) = (self.una, ack - self.una);
        if self.sacked_count > 0 {
            // Runs that were SACKed before are not new, and their send times are not samples.
            let mut at = self.una;
            while let Some(start) = self.sacked.next_clear(at, ack) {
                let end = self.sacked.next_set(start, ack).unwrap_or(ack);
                self.note(start, end, got);
                at = end;
            }
            let sacked = self.sacked.clear_range(self.una, ack);
            self.sacked_count -= sacked;
            fresh -= sacked;
            from = ack;
        }
        if from < ack {
            self.note(from, ack, got);
        }
        self.clear_lost(self.una, ack);
        if self.twice_count > 0 {
            let again = self.twice.clear_range(self.una, ack);
            if again > 0 {
                // Karn: it is unknown which copy led to this ACK, and the others may have arrived long
                // before.
                got.sent_once = None;
            }
            self.twice_count -= again;
        }
        got.segments += fresh;
        got.high = got.high.max(ack);
        self.una = ack;
    }

    /// Marks one segment lost (fast retransmit and partial acknowledgements without SACK).
    pub(crate) fn mark(&mut self, seq: u64) -> u64 {
        if seq >= self.next || self.lost.get(seq) {
            return 0;
        }
        self.lost.set(seq);
        self.lost_count += 1;
        self.resend = self.resend.min(seq);
        self.lost_end = self.lost_end.max(seq + 1);
        1
    }

    /// The receiver misses [`from`, `to`): marks it lost. A retransmission sent at or before `answered` would
    /// have arrived by now and is lost, too; such retransmissions are in order of sending. Returns how many
    /// losses are new.
    pub(crate) fn miss(&mut self, from: u64, to: u64, answered: Time) -> u64 {
        let (from, to) = (from.max(self.una), to.min(self.next));
        if from >= to {
            return 0;
        }
        let mut found = self.lost.set_range(from, to);
        self.lost_count += found;
        if found > 0 {
            self.resend = self.resend.min(from);
            self.lost_end = self.lost_end.max(to);
        }
        let mut at = from;
        while self.again_count > 0
            && let Some(seq) = self.again.next_set(at, to)
            && self.sent_at[self.slot(seq)] <= answered
        {
            self.again.take(seq);
            self.again_count -= 1;
            self.resend = self.resend.min(seq);
            found += 1;
            at = seq + 1;
        }
        found
    }

    /// Marks everything that is not SACKed as lost and forgets retransmissions in flight (timeout, bulk
    /// repeat). Returns how many segments were not marked before.
    pub(crate) fn mark_all(&mut self) -> u64 {
        let before = self.lost_count;
        let mut at = self.una;
        while let Some(start) = self.sacked.next_clear(at, self.next) {
            let end = self.sacked.next_set(start, self.next).unwrap_or(self.next);
            self.lost_count += self.lost.set_range(start, end);
            at = end;
        }
        if self.again_count > 0 {
            self.again.clear_range(self.una, self.next);
            self.again_count = 0;
        }
        self.marked = self.next;
        self.resend = self.una;
        self.lost_end = self.next;
        self.doubt_end = self.una;
        self.forget_lost_again();
        self.lost_count - before
    }

    /// Takes all loss marks back (a timeout proved spurious).
    pub(crate) fn unmark_all(&mut self) {
        self.lost.clear_range(self.una, self.next);
        self.again.clear_range(self.una, self.next);
        self.lost_count = 0;
        self.again_count = 0;
        self.marked = self.una;
        self.resend = self.una;
        self.lost_end = self.una;
        self.doubt_end = self.una;
        self.rebuild_order();
    }

    /// The receiver has segment `next`, which is therefore not sent: it counts as SACKed. This says nothing
    /// of the segments before it.
    #[cold]
    pub(crate) fn skip(&mut self, now: Time) {
        let seq = self.next;
        self.send_new(now, self.stamped.then(Stamp::default));
        self.sacked.set(seq);
        self.sacked_count += 1;
    }

    /// The receiver has the outstanding segment `seq`, but not from the transmission in its turn: it counts
    /// as SACKed. This says nothing of the segments before it. Returns true if that is news.
    #[cold]
    pub(crate) fn sack_quietly(&mut self, seq: u64) -> bool {
        let new = self.misses(seq);
        if new {
            self.sacked.set(seq);
            self.sacked_count += 1;
            self.clear_lost(seq, seq + 1);
        }
        new
    }

    /// The lowest outstanding segment from `seq` on that is not SACKed.
    pub(crate) fn next_missing(&self, seq: u64) -> Option<u64> {
        self.sacked.next_clear(seq.max(self.una), self.next)
    }
}

/// A ring with the entries of `ring` and with room for `len` entries; `una` is the first number of its
/// window.
fn moved<T: Copy + Default>(ring: &[T], una: u64, len: usize) -> Vec<T> {
    let mut bigger = vec![T::default(); len];
    for seq in una..una + ring.len() as u64 {
        bigger[seq as usize & (len - 1)] = ring[seq as usize & (ring.len() - 1)];
    }
    bigger
}

#[cfg(test)]
mod tests;
