//! What the sender knows of each outstanding segment, at a constant amortised cost per acknowledgement.
//!
//! RFC 6675 section 4: `IsLost(s)` holds when three segments above `s` have been selectively acknowledged (three
//! discontiguous runs, or more than two full segments of bytes, come to the same when all segments are full). So every
//! segment below the third-highest SACKed one that is not SACKed itself is lost, and one pointer that only moves up marks
//! them. `pipe` follows from four counters. With RACK the times of sending decide instead (`scoreboard/order.rs`).

mod order;

use bentpipe_cc::Time;

use order::Order;
pub(crate) use order::{Heard, Marked, Sent};

use crate::bits::Bits;
use crate::segment::Sack;

/// DupThresh of RFC 6675 section 2.
pub(crate) const DUP_THRESH: usize = 3;

/// The state when a segment was sent, for delivery-rate samples (draft-cheng-iccrg-delivery-rate-estimation, section 2).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stamp {
    pub(crate) delivered: u64,
    pub(crate) delivered_at: Time,
    pub(crate) first_sent: Time,
    pub(crate) in_flight: u64,
    pub(crate) app_limited: bool,
}

/// The scoreboard of one sender: segments `una` .. `next`.
#[derive(Debug)]
pub(crate) struct Scoreboard {
    una: u64,
    next: u64,
    sent_at: Vec<Time>,
    /// Empty unless the controller wants rate samples.
    stamps: Vec<Stamp>,
    sacked: Bits,
    lost: Bits,
    /// Retransmission in flight.
    again: Bits,
    /// Ever retransmitted: no RTT sample (Karn).
    twice: Bits,
    sacked_count: u64,
    lost_count: u64,
    again_count: u64,
    twice_count: u64,
    /// Behind the highest segment marked lost.
    lost_end: u64,
    /// Behind the highest segment that rule 3 has resent.
    doubt_end: u64,
    /// Highest SACKed segments plus one, highest first; 0 if none.
    top: [u64; DUP_THRESH],
    /// Everything below is SACKed or marked lost.
    marked: u64,
    /// No lost segment without a retransmission in flight lies below.
    resend: u64,
    /// With RACK.
    order: Option<Box<Order>>,
}

/// What an acknowledgement did to the scoreboard.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delivered {
    /// Segments newly delivered.
    pub(crate) segments: u64,
    /// Segments newly marked lost.
    pub(crate) lost: u64,
    /// When the first and the last newly delivered segment that was sent only once were sent.
    pub(crate) sent_once: Option<(Time, Time)>,
    /// The newest newly delivered segment: when sent, and its stamp.
    pub(crate) newest: Option<(Time, Stamp)>,
    /// Behind the highest newly delivered segment.
    pub(crate) high: u64,
}

impl Scoreboard {
    pub(crate) fn new(stamps: bool, rack: bool) -> Self {
        let bits = || Bits::new(64);
        Self {
            una: 0,
            next: 0,
            sent_at: vec![Time(0); 64],
            stamps: if stamps { vec![Stamp::default(); 64] } else { Vec::new() },
            sacked: bits(),
            lost: bits(),
            again: bits(),
            twice: bits(),
            sacked_count: 0,
            lost_count: 0,
            again_count: 0,
            twice_count: 0,
            lost_end: 0,
            doubt_end: 0,
            top: [0; DUP_THRESH],
            marked: 0,
            resend: 0,
            order: rack.then(Box::default),
        }
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

    fn slot(&self, seq: u64) -> usize {
        seq as usize & (self.sent_at.len() - 1)
    }

    /// Segment `next` goes out for the first time.
    pub(crate) fn send_new(&mut self, now: Time, stamp: Stamp) {
        if self.outstanding() == self.sent_at.len() as u64 {
            self.grow();
        }
        self.stamp(self.next, now, stamp);
        self.next += 1;
    }

    /// Segment `seq` goes out again. True if it was marked lost.
    pub(crate) fn send_again(&mut self, seq: u64, now: Time, stamp: Stamp) -> bool {
        let lost = self.lost.get(seq);
        if !lost {
            if seq < self.top[0] {
                // NextSeg rule 3: the original may only be late and counts as in flight beside its copy.
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

    fn stamp(&mut self, seq: u64, now: Time, stamp: Stamp) {
        let slot = self.slot(seq);
        self.sent_at[slot] = now;
        if let Some(s) = self.stamps.get_mut(slot) {
            *s = stamp;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let old = self.sent_at.len();
        for bits in [&mut self.sacked, &mut self.lost, &mut self.again, &mut self.twice] {
            bits.grow(self.una, self.next);
        }
        let move_ring = |i: usize| {
            // The position in the bigger ring of what slot `i` of the old one holds.
            let seq = self.una + ((i as u64).wrapping_sub(self.una) & (old as u64 - 1));
            seq as usize & (2 * old - 1)
        };
        let mut sent_at = vec![Time(0); 2 * old];
        (0..old).for_each(|i| sent_at[move_ring(i)] = self.sent_at[i]);
        if !self.stamps.is_empty() {
            let mut stamps = vec![Stamp::default(); 2 * old];
            (0..old).for_each(|i| stamps[move_ring(i)] = self.stamps[i]);
            self.stamps = stamps;
        }
        self.sent_at = sent_at;
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

    /// RFC 6675 section 4, NextSeg rule 3: a segment that is not SACKed, below the highest SACKed one, not yet resent.
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
    pub(crate) fn rescue(&self) -> Option<u64> {
        self.sacked.last_clear(self.una, self.next).filter(|&seq| !self.again.get(seq))
    }

    /// Takes the SACK blocks and the cumulative acknowledgement of one ACK.
    pub(crate) fn acknowledge(&mut self, ack: u64, sack: &Sack, known: &Sack) -> Delivered {
        let mut got = Delivered::default();
        // What the cumulative acknowledgement covers is delivered, not lost: it comes first.
        if ack > self.una {
            self.advance(ack, &mut got);
        }
        self.expect_selective();
        for block in sack.blocks() {
            let (start, end) = (block.start.max(self.una), block.end.min(self.next));
            // Most blocks repeat what the last ACK said, grown at one end.
            match known.blocks().iter().find(|k| k.start <= start && start < k.end) {
                Some(k) => self.sack(k.end, end, &mut got),
                None => self.sack(start, end, &mut got),
            }
        }
        if self.sacked_count > 0 && self.order.is_none() {
            self.mark_lost(&mut got);
        }
        got
    }

    fn sack(&mut self, from: u64, to: u64, got: &mut Delivered) {
        let mut at = from;
        while let Some(start) = self.sacked.next_clear(at, to) {
            let end = self.sacked.next_set(start, to).unwrap_or(to);
            self.note(start, end, got);
            let new = self.sacked.set_range(start, end);
            got.segments += new;
            self.sacked_count += new;
            self.settle(start, end);
            for seq in end.saturating_sub(DUP_THRESH as u64).max(start)..end {
                self.rank(seq + 1);
            }
            at = end;
        }
    }

    /// [`from`, `to`) is delivered: neither lost nor in flight again.
    fn settle(&mut self, from: u64, to: u64) {
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

    /// The rate sample is that of the segment sent last.
    fn note_newest(&self, seq: u64, got: &mut Delivered) {
        let sent = self.sent_at[self.slot(seq)];
        if got.newest.is_none_or(|(at, _)| sent >= at) {
            let stamp = self.stamps.get(self.slot(seq)).copied().unwrap_or_default();
            got.newest = Some((sent, stamp));
        }
    }

    fn mark_lost(&mut self, got: &mut Delivered) {
        let below = self.top[DUP_THRESH - 1];
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
        self.marked = self.marked.max(below);
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
        self.settle(self.una, ack);
        if self.twice_count > 0 {
            let again = self.twice.clear_range(self.una, ack);
            if again > 0 {
                // Karn: which copy led to this ACK is unknown, and the others may have arrived long before.
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

    /// Marks everything that is not SACKed lost and forgets retransmissions in flight (timeout, bulk repeat). Returns how
    /// many were not marked before.
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
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::segment::Block;

    /// RFC 6675 word for word, one entry for each segment ever sent.
    #[derive(Clone, Debug, Default)]
    struct Naive {
        una: usize,
        sacked: Vec<bool>,
        lost: Vec<bool>,
        resent: Vec<bool>,
        /// By rule 4, which leaves HighRxt alone: taken for lost, counts once, and goes out once.
        rescued: Vec<bool>,
        sent_at: Vec<u64>,
    }

    impl Naive {
        fn open(&self) -> impl DoubleEndedIterator<Item = usize> + Clone + '_ {
            (self.una..self.sacked.len()).filter(|&s| !self.sacked[s])
        }

        fn is_lost(&self, s: usize) -> bool {
            self.sacked[s + 1..].iter().filter(|&&x| x).count() >= DUP_THRESH
        }

        fn pipe(&self) -> u64 {
            let one = |s: usize| u64::from(!self.lost[s]) + u64::from(self.resent[s] || self.rescued[s]);
            self.open().map(one).sum()
        }

        fn next_lost(&self) -> Option<u64> {
            let mut lost = self.open().filter(|&s| self.lost[s] && !self.resent[s] && !self.rescued[s]);
            lost.next().map(|s| s as u64)
        }

        fn next_doubtful(&self) -> Option<u64> {
            let high = self.sacked.iter().rposition(|&x| x)?;
            let mut open =
                self.open().filter(|&s| s < high && !self.lost[s] && !self.resent[s] && !self.rescued[s]);
            open.next().map(|s| s as u64)
        }

        fn rescue(&self) -> Option<u64> {
            self.open().next_back().filter(|&s| !self.resent[s] && !self.rescued[s]).map(|s| s as u64)
        }

        fn send_new(&mut self, clock: u64) {
            self.sent_at.push(clock);
            for of in [&mut self.sacked, &mut self.lost, &mut self.resent, &mut self.rescued] {
                of.push(false);
            }
        }

        /// Returns what is newly delivered and newly lost.
        fn acknowledge(&mut self, ack: usize, blocks: &[Block]) -> (u64, u64) {
            let before = self.open().count();
            self.una = ack;
            for block in blocks {
                for s in block.start.max(ack as u64)..block.end.min(self.sacked.len() as u64) {
                    self.sacked[s as usize] = true;
                }
            }
            let delivered = before - self.open().count();
            let lost: Vec<usize> = self.open().filter(|&s| !self.lost[s] && self.is_lost(s)).collect();
            lost.iter().for_each(|&s| self.lost[s] = true);
            (delivered as u64, lost.len() as u64)
        }

        fn forget(&mut self, lost: bool) {
            let open: Vec<usize> = self.open().collect();
            for s in open {
                self.lost[s] = lost;
                self.resent[s] = false;
                self.rescued[s] = false;
            }
        }
    }

    #[derive(Clone, Debug)]
    enum Op {
        New(u8),
        Lost,
        Doubtful,
        Rescue,
        Ack { advance: u8, blocks: Vec<(u8, u8)> },
        Timeout,
        Undo,
    }

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![
            4 => (1_u8..40).prop_map(Op::New),
            4 => Just(Op::Lost),
            2 => Just(Op::Doubtful),
            1 => Just(Op::Rescue),
            8 => (prop_oneof![3 => Just(0_u8), 1 => 0_u8..60], prop::collection::vec((0_u8..200, 1_u8..12), 0..4))
                .prop_map(|(advance, blocks)| Op::Ack { advance, blocks }),
            1 => Just(Op::Timeout),
            1 => Just(Op::Undo),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        /// RFC 6675 section 4: marks, pipe and the three searches of NextSeg.
        #[test]
        fn agrees_with_the_text_of_rfc_6675(ops in prop::collection::vec(op(), 1..80)) {
            let (mut board, mut naive) = (Scoreboard::new(true, false), Naive::default());
            let (mut known, mut clock) = (Sack::default(), 0);
            for op in ops {
                clock += 1;
                match op {
                    Op::New(count) => for _ in 0..count {
                        board.send_new(Time(clock), Stamp::default());
                        naive.send_new(clock);
                    },
                    Op::Lost => if let Some(seq) = board.next_lost() {
                        board.send_again(seq, Time(clock), Stamp::default());
                        naive.resent[seq as usize] = true;
                        naive.sent_at[seq as usize] = clock;
                    },
                    // The sender asks for rules 3 and 4 only when rule 1 has found nothing.
                    Op::Doubtful => if board.next_lost().is_none() && let Some(seq) = board.next_doubtful() {
                        board.send_again(seq, Time(clock), Stamp::default());
                        naive.resent[seq as usize] = true;
                        naive.sent_at[seq as usize] = clock;
                    },
                    Op::Rescue => if board.next_lost().is_none()
                        && board.next_doubtful().is_none()
                        && let Some(seq) = board.rescue()
                    {
                        board.send_again(seq, Time(clock), Stamp::default());
                        naive.rescued[seq as usize] = true;
                        naive.sent_at[seq as usize] = clock;
                        naive.lost[seq as usize] = true;
                    },
                    Op::Ack { advance, blocks } => {
                        let ack = (board.una() + u64::from(advance)).min(board.next());
                        let mut sack = Sack::default();
                        for (offset, len) in blocks {
                            let start = ack + 1 + u64::from(offset);
                            if start < board.next() {
                                sack.push(Block { start, end: (start + u64::from(len)).min(board.next()) });
                            }
                        }
                        let before = naive.clone();
                        let got = board.acknowledge(ack, &sack, &known);
                        let expected = naive.acknowledge(ack as usize, sack.blocks());
                        prop_assert_eq!((got.segments, got.lost), expected);
                        let delivered = before.open().filter(|&s| s < naive.una || naive.sacked[s]);
                        let newest = delivered.map(|s| Time(naive.sent_at[s])).max();
                        prop_assert_eq!(got.newest.map(|(at, _)| at), newest);
                        known = sack;
                    }
                    Op::Timeout => {
                        board.mark_all();
                        naive.forget(true);
                    }
                    Op::Undo => {
                        board.unmark_all();
                        naive.forget(false);
                    }
                }
                prop_assert_eq!(board.pipe(), naive.pipe());
                prop_assert_eq!(board.next_lost(), naive.next_lost());
                prop_assert_eq!(board.next_doubtful(), naive.next_doubtful());
                prop_assert_eq!(board.rescue(), naive.rescue());
                prop_assert_eq!(board.lost() > 0, naive.open().any(|s| naive.lost[s]));
                prop_assert_eq!(board.sacked(), naive.sacked[naive.una..].iter().filter(|&&x| x).count() as u64);
            }
        }
    }
}
