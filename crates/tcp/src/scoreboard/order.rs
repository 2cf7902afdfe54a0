//! Outstanding segments in the order in which they were sent, for RACK (RFC 8985 section 6).
//!
//! Two queues keep that order. Segments sent once are in order already, by number; a pointer that only moves
//! up skips the settled ones. Retransmissions form a queue of their own. An entry dies when its segment is
//! delivered or goes out again, and is dropped at the front. The amortised cost per ACK is therefore
//! constant, whatever the window.

use std::collections::VecDeque;

use bentpipe_cc::{Span, Time};

use super::{Scoreboard, Stamp};

/// When a segment was last sent; ordered as `RACK_sent_after` orders (section 6.2 step 2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Sent {
    pub(crate) at: Time,
    pub(crate) seq: u64,
}

/// The segments that the last ACK newly delivered, by the order of sending.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Heard {
    /// The segment that was sent last.
    pub(crate) newest: Option<Sent>,
    /// The lowest segment that was sent once.
    pub(crate) lowest_once: Option<u64>,
}

/// The losses that the send times show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marked {
    /// Segments newly marked lost.
    pub(crate) lost: u64,
    /// The send time of the newest retransmission among them.
    pub(crate) lost_again: Option<Time>,
    /// When the next segment will be lost, if no ACK comes before.
    pub(crate) due: Option<Time>,
}

#[derive(Debug, Default)]
pub(super) struct Order {
    /// Every segment below this one was sent more than once, or is delivered or lost.
    first: u64,
    /// Segments sent more than once.
    resent: VecDeque<Sent>,
    /// Lost retransmissions.
    lost_again: VecDeque<u64>,
    /// A retransmission sent later than this does not count as answered by the ACK; for the ACK's blocks the
    /// limit is `selective`.
    latest: Time,
    selective: Time,
    heard: Heard,
}

impl Scoreboard {
    /// Segment `seq` went out again.
    #[inline]
    pub(super) fn note_resent(&mut self, seq: u64, at: Time) {
        let Some(order) = &mut self.order else { return };
        let sent = Sent { at, seq };
        let mut place = order.resent.len();
        while place > 0 && order.resent[place - 1] > sent {
            place -= 1; // sent at the same instant
        }
        order.resent.insert(place, sent);
    }

    /// The cumulative part of an ACK has been taken; its blocks follow.
    #[inline]
    pub(super) fn expect_selective(&mut self) {
        if let Some(order) = &mut self.order {
            order.latest = order.selective;
        }
    }

    /// All lost retransmissions were marked anew, by number.
    pub(super) fn forget_lost_again(&mut self) {
        if let Some(order) = &mut self.order {
            order.lost_again.clear();
        }
    }

    /// Is no lost retransmission waiting to go out again?
    #[inline]
    pub(super) fn has_lost_none_again(&self) -> bool {
        self.order.as_ref().is_none_or(|order| order.lost_again.is_empty())
    }

    /// An ACK comes. Retransmissions sent after `cumulative` do not count as answered by its cumulative part,
    /// nor those sent after `selective` by its blocks.
    pub(crate) fn believe(&mut self, cumulative: Time, selective: Time) {
        if let Some(order) = &mut self.order {
            (order.latest, order.selective) = (cumulative, selective);
        }
    }

    /// Was any outstanding segment sent more than once?
    pub(crate) fn any_resent(&self) -> bool {
        self.twice_count > 0
    }

    /// The segments that the ACK delivered; a second call gives none.
    pub(crate) fn take_heard(&mut self) -> Heard {
        self.order.as_mut().map_or_else(Heard::default, |order| core::mem::take(&mut order.heard))
    }

    /// Was every outstanding segment sent after `newest`? True only where it costs no
    /// search: in-order delivery.
    pub(crate) fn is_plainly_after(&self, newest: Sent) -> bool {
        let first = || Sent { at: self.sent_at[self.slot(self.una)], seq: self.una };
        self.twice_count == 0 && self.lost_count == 0 && (self.una == self.next || first() >= newest)
    }

    /// The same while segments are lost, by one look at each queue. The pointer of the first one moves past
    /// the segment just delivered, so that the next look finds its successor.
    #[inline]
    pub(crate) fn is_nothing_before(&mut self, newest: Sent) -> bool {
        let mask = self.sent_at.len().wrapping_sub(1);
        let Self { order: Some(order), sacked, lost, twice, sent_at, una, next, .. } = self else {
            return true;
        };
        let mut first = order.first.max(*una);
        first += u64::from(first < *next && sacked.get(first)); // most often the segment just delivered
        let waits = |seq| !(sacked.get(seq) || lost.get(seq) || twice.get(seq));
        let sent = |seq: u64| Sent { at: sent_at[seq as usize & mask], seq };
        order.first = first;
        (first >= *next || waits(first) && sent(first) >= newest)
            && order.resent.front().is_none_or(|sent| *sent >= newest)
    }

    /// Section 6.2 steps 2 and 3: the newly delivered [`start`, `end`).
    #[inline(never)]
    pub(super) fn note_in_order(&mut self, start: u64, end: u64) {
        let mask = self.sent_at.len().wrapping_sub(1);
        let Some(order) = &mut self.order else { return };
        let latest = order.latest;
        let got = &mut order.heard;
        let sent = |seq: u64| Some(Sent { at: self.sent_at[seq as usize & mask], seq });
        let (mut lowest, mut highest) = (Some(start), Some(end - 1));
        if self.twice_count > 0 {
            lowest = self.twice.next_clear(start, end);
            highest = self.twice.last_clear(start, end);
            let mut at = start;
            while let Some(seq) = self.twice.next_set(at, end) {
                got.newest = got.newest.max(sent(seq).filter(|sent| sent.at <= latest));
                at = seq + 1;
            }
        }
        if let Some(seq) = highest {
            got.newest = got.newest.max(sent(seq));
        }
        got.lowest_once = match (got.lowest_once, lowest) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }

    /// A tail loss probe sends segment `seq` again. The segment still counts once, and is not considered
    /// lost.
    pub(crate) fn send_probe(&mut self, seq: u64, now: Time, stamp: Option<Stamp>) {
        if !self.twice.get(seq) {
            self.twice.set(seq);
            self.twice_count += 1;
        }
        self.stamp(seq, now, stamp);
        self.note_resent(seq, now);
    }

    /// The lowest lost retransmission that waits to go out again.
    #[inline(never)]
    pub(super) fn next_lost_again(&mut self) -> Option<u64> {
        let order = self.order.as_mut()?;
        while let Some(&seq) = order.lost_again.front() {
            if seq >= self.una && self.lost.get(seq) && !self.again.get(seq) {
                return Some(seq);
            }
            order.lost_again.pop_front();
        }
        None
    }

    /// Section 6.2 step 5: marks segments that were sent before `newest` and at least `patience` ago.
    #[inline(never)]
    pub(crate) fn mark_sent_before(&mut self, newest: Sent, now: Time, patience: Span) -> Marked {
        let mut got = Marked::default();
        let mask = self.sent_at.len().wrapping_sub(1);
        let Self { order, sacked, lost, again, twice, sent_at, una, next, .. } = self;
        let Some(order) = order else { return got };
        let when = |seq: u64| sent_at[seq as usize & mask];
        let mut at = order.first.max(*una);
        while let Some(seq) = sacked.next_clear(at, *next) {
            at = seq;
            if !lost.get(seq) && !twice.get(seq) {
                let sent = Sent { at: when(seq), seq };
                if sent >= newest {
                    break;
                }
                if sent.at + patience > now {
                    got.due = Some(sent.at + patience);
                    break;
                }
                lost.set(seq);
                self.lost_count += 1;
                got.lost += 1;
                self.resend = self.resend.min(seq);
                self.lost_end = self.lost_end.max(seq + 1);
            }
            at += 1;
        }
        order.first = at;
        while let Some(&sent) = order.resent.front() {
            let seq = sent.seq;
            let waits = lost.get(seq) && !again.get(seq);
            if seq >= *una && !sacked.get(seq) && when(seq) == sent.at && !waits {
                if sent >= newest {
                    break;
                }
                if sent.at + patience > now {
                    got.due = Some(got.due.map_or(sent.at + patience, |d| d.min(sent.at + patience)));
                    break;
                }
                if again.get(seq) {
                    again.clear_range(seq, seq + 1);
                    self.again_count -= 1;
                }
                if !lost.get(seq) {
                    lost.set(seq);
                    self.lost_count += 1;
                    self.lost_end = self.lost_end.max(seq + 1);
                }
                order.lost_again.push_back(seq);
                got.lost += 1;
                got.lost_again = got.lost_again.max(Some(sent.at));
            }
            order.resent.pop_front();
        }
        got
    }

    /// Section 6.3: at a timeout the first outstanding segment is lost, and so are all others that were sent
    /// at least `patience` ago. Returns how many were not marked before.
    #[cold]
    pub(crate) fn mark_expired(&mut self, now: Time, patience: Span) -> u64 {
        let before = self.lost_count;
        let mut at = self.una;
        while let Some(seq) = self.sacked.next_clear(at, self.next) {
            if seq == self.una || self.sent_at[self.slot(seq)] + patience <= now {
                if !self.lost.get(seq) {
                    self.lost.set(seq);
                    self.lost_count += 1;
                }
                self.again_count -= self.again.clear_range(seq, seq + 1);
            }
            at = seq + 1;
        }
        self.resend = self.una;
        self.lost_end = self.next;
        self.doubt_end = self.una;
        self.forget_lost_again();
        self.lost_count - before
    }

    /// All loss marks were taken back: the queues start from the send times.
    #[cold]
    pub(super) fn rebuild_order(&mut self) {
        let Some(mut order) = self.order.take() else { return };
        let mut resent = Vec::new();
        let mut at = self.una;
        while let Some(seq) = self.twice.next_set(at, self.next) {
            if !self.sacked.get(seq) {
                resent.push(Sent { at: self.sent_at[self.slot(seq)], seq });
            }
            at = seq + 1;
        }
        resent.sort_unstable();
        order.first = self.una;
        order.resent = resent.into();
        order.lost_again.clear();
        self.order = Some(order);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::segment::{Block, Sack};

    /// RFC 8985 section 6.2 word for word: one entry for each segment ever sent, all of them read each time.
    #[derive(Clone, Copy, Debug, Default)]
    struct Segment {
        sent: u64,
        acked: bool,
        lost: bool,
        retransmitted: bool,
    }

    #[derive(Clone, Debug, Default)]
    struct NaiveRack {
        segments: Vec<Segment>,
        newest: (u64, u64),
        una: usize,
    }

    impl NaiveRack {
        fn acknowledge(&mut self, ack: usize, blocks: &[Block], latest: u64) -> Option<u64> {
            self.una = ack;
            let mut lowest = None;
            for (seq, s) in self.segments.iter_mut().enumerate() {
                let sacked = blocks.iter().any(|b| (b.start..b.end).contains(&(seq as u64)));
                if s.acked || !(seq < ack || sacked) {
                    continue;
                }
                s.acked = true;
                if !s.retransmitted {
                    lowest = lowest.or(Some(seq as u64));
                }
                if !s.retransmitted || s.sent <= latest {
                    self.newest = self.newest.max((s.sent, seq as u64));
                }
            }
            lowest
        }

        /// The marks of step 5 and the earliest instant at which another will follow.
        fn detect(&mut self, now: u64, patience: u64) -> (Vec<u64>, Option<u64>) {
            let (mut marked, mut due) = (Vec::new(), None);
            for (seq, s) in self.segments.iter_mut().enumerate() {
                if s.acked || s.lost || (s.sent, seq as u64) >= self.newest {
                    continue;
                }
                if s.sent + patience <= now {
                    s.lost = true;
                    marked.push(seq as u64);
                } else {
                    due = Some(due.map_or(s.sent + patience, |d: u64| d.min(s.sent + patience)));
                }
            }
            (marked, due)
        }

        fn send(&mut self, seq: u64, now: u64) {
            let s = &mut self.segments[seq as usize];
            (s.sent, s.retransmitted, s.lost) = (now, true, false);
        }

        fn pipe(&self) -> u64 {
            self.segments.iter().filter(|s| !s.acked && !s.lost).count() as u64
        }
    }

    #[derive(Clone, Debug)]
    enum RackEvent {
        New(u8),
        Lost(u8),
        Probe,
        Ack { advance: u8, blocks: Vec<(u8, u8)>, patience: u8, distrust: u8 },
        Timer { patience: u8 },
        Timeout { patience: u8 },
        Undo,
    }

    fn op() -> impl Strategy<Value = RackEvent> {
        let blocks = prop::collection::vec((0_u8..120, 1_u8..8), 0..4);
        prop_oneof![
            4 => (1_u8..20).prop_map(RackEvent::New),
            4 => (1_u8..8).prop_map(RackEvent::Lost),
            1 => Just(RackEvent::Probe),
            8 => (prop_oneof![3 => Just(0_u8), 1 => 0_u8..40], blocks, 0_u8..30, 0_u8..30).prop_map(
                |(advance, blocks, patience, distrust)| RackEvent::Ack { advance, blocks, patience, distrust }
            ),
            2 => (0_u8..30).prop_map(|patience| RackEvent::Timer { patience }),
            1 => (0_u8..30).prop_map(|patience| RackEvent::Timeout { patience }),
            1 => Just(RackEvent::Undo),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        /// RFC 8985 sections 6.2 and 6.3, with random losses, reordering, timeouts and undo.
        #[test]
        fn agrees_with_the_text_of_rfc_8985(ops in prop::collection::vec((op(), 0_u8..6), 1..120)) {
            let (mut board, mut naive) = (Scoreboard::new(false, true), NaiveRack::default());
            let (mut known, mut clock) = (Sack::default(), 1_u64);
            for (op, pause) in ops {
                clock += u64::from(pause); // several things may happen at the same instant
                let newest = |n: &NaiveRack| Sent { at: Time(n.newest.0), seq: n.newest.1 };
                match op {
                    RackEvent::New(count) => for _ in 0..count {
                        board.send_new(Time(clock), None);
                        naive.segments.push(Segment { sent: clock, ..Segment::default() });
                    },
                    RackEvent::Lost(count) => for _ in 0..count {
                        let Some(seq) = board.next_lost() else {
                            prop_assert!(naive.segments.iter().all(|s| s.acked || !s.lost));
                            break;
                        };
                        prop_assert!(naive.segments[seq as usize].lost && !naive.segments[seq as usize].acked);
                        board.send_again(seq, Time(clock), None);
                        naive.send(seq, clock);
                    },
                    RackEvent::Probe => {
                        let last = naive.segments.len().wrapping_sub(1);
                        if naive.segments.last().is_some_and(|s| !s.acked && !s.lost) {
                            board.send_probe(last as u64, Time(clock), None);
                            naive.send(last as u64, clock);
                        }
                    }
                    RackEvent::Ack { advance, blocks, patience, distrust } => {
                        let ack = (board.una() + u64::from(advance)).min(board.next());
                        let mut sack = Sack::default();
                        for (offset, len) in blocks {
                            let start = ack + 1 + u64::from(offset);
                            if start < board.next() {
                                sack.push(Block { start, end: (start + u64::from(len)).min(board.next()) });
                            }
                        }
                        let latest = Time(clock.saturating_sub(u64::from(distrust)));
                        board.believe(latest, latest);
                        board.acknowledge(ack, &sack, &mut known);
                        let got = board.take_heard();
                        let before = newest(&naive);
                        let lowest = naive.acknowledge(ack as usize, sack.blocks(), latest.0);
                        prop_assert_eq!(got.lowest_once, lowest);
                        prop_assert_eq!(before.max(got.newest.unwrap_or_default()), newest(&naive));
                        let (marked, due) = naive.detect(clock, u64::from(patience));
                        let plain = board.is_plainly_after(newest(&naive));
                        let got = board.mark_sent_before(newest(&naive), Time(clock), Span(u64::from(patience)));
                        prop_assert_eq!((got.lost, got.due), (marked.len() as u64, due.map(Time)));
                        prop_assert!(!plain || got == Marked::default());
                        let again = marked.iter().map(|&s| naive.segments[s as usize]).filter(|s| s.retransmitted);
                        prop_assert_eq!(got.lost_again, again.map(|s| Time(s.sent)).max());
                    }
                    RackEvent::Timer { patience } => {
                        let (marked, due) = naive.detect(clock, u64::from(patience));
                        let got = board.mark_sent_before(newest(&naive), Time(clock), Span(u64::from(patience)));
                        prop_assert_eq!((got.lost, got.due), (marked.len() as u64, due.map(Time)));
                    }
                    RackEvent::Timeout { patience } => {
                        board.mark_expired(Time(clock), Span(u64::from(patience)));
                        let una = naive.una;
                        for (seq, s) in naive.segments.iter_mut().enumerate() {
                            s.lost |= !s.acked && (seq == una || s.sent + u64::from(patience) <= clock);
                        }
                    }
                    RackEvent::Undo => {
                        board.unmark_all();
                        naive.segments.iter_mut().for_each(|s| s.lost = false);
                    }
                }
                prop_assert_eq!(board.pipe(), naive.pipe());
                let lost = naive.segments.iter().any(|s| !s.acked && s.lost);
                prop_assert_eq!(board.next_lost().is_some(), lost);
            }
        }
    }
}
