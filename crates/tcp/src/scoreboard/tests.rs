//! The scoreboard against the text of RFC 6675.

use bentpipe_cc::Span;
use proptest::prelude::*;

use super::*;
use crate::bits::LOOKED_AT;
use crate::segment::Block;

/// RFC 6675 word for word, one entry for each segment ever sent.
#[derive(Clone, Debug, Default)]
struct NaiveScoreboard {
    una: usize,
    sacked: Vec<bool>,
    lost: Vec<bool>,
    resent: Vec<bool>,
    /// Segments sent by rule 4, which leaves HighRxt alone: each is taken for lost, counts once, and goes out
    /// once.
    rescued: Vec<bool>,
    sent_at: Vec<u64>,
}

impl NaiveScoreboard {
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

    /// Returns the numbers of newly delivered and newly lost segments.
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
        let (mut board, mut naive) = (Scoreboard::new(true, false), NaiveScoreboard::default());
        let (mut known, mut clock) = (Sack::default(), 0);
        for op in ops {
            clock += 1;
            match op {
                Op::New(count) => for _ in 0..count {
                    board.send_new(Time(clock), Some(Stamp::default()));
                    naive.send_new(clock);
                },
                Op::Lost => if let Some(seq) = board.next_lost() {
                    board.send_again(seq, Time(clock), Some(Stamp::default()));
                    naive.resent[seq as usize] = true;
                    naive.sent_at[seq as usize] = clock;
                },
                // The sender tries rules 3 and 4 only when rule 1 has found nothing.
                Op::Doubtful => if board.next_lost().is_none() && let Some(seq) = board.next_doubtful() {
                    board.send_again(seq, Time(clock), Some(Stamp::default()));
                    naive.resent[seq as usize] = true;
                    naive.sent_at[seq as usize] = clock;
                },
                Op::Rescue => if board.next_lost().is_none()
                    && board.next_doubtful().is_none()
                    && let Some(seq) = board.rescue()
                {
                    board.send_again(seq, Time(clock), Some(Stamp::default()));
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
                    let got = board.acknowledge(ack, &sack, &mut known);
                    let expected = naive.acknowledge(ack as usize, sack.blocks());
                    prop_assert_eq!((got.segments, got.lost), expected);
                    let delivered = before.open().filter(|&s| s < naive.una || naive.sacked[s]);
                    let newest = delivered.map(|s| Time(naive.sent_at[s])).max();
                    prop_assert_eq!(got.newest.map(|(at, _)| at), newest);
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

/// Words of bits that an ACK reads on average while a window of `window` segments is reported and repaired.
/// `lost` gives the losses; the receiver reports three blocks.
fn words_per_ack(window: u64, rack: bool, lost: impl Fn(u64) -> bool) -> f64 {
    let mut board = Scoreboard::new(false, rack);
    let mut receiver = crate::Receiver::new(&crate::Options::paper());
    let mut under_way = std::collections::VecDeque::new();
    for seq in 0..window {
        board.send_new(Time(seq), None);
        under_way.push_back((seq, lost(seq)));
    }
    let (mut known, mut acks, mut now) = (Sack::default(), 0, window);
    LOOKED_AT.with(|n| n.set(0));
    while let Some((seq, lost)) = under_way.pop_front() {
        if lost {
            continue;
        }
        now += 1;
        let data = crate::Data::new(seq, 1460, 0);
        let ack = receiver.on_data(Time(now), &data).unwrap();
        let (arrived, una) = (ack.ack, board.una());
        if arrived > una || !ack.sack.is_empty() {
            board.believe(Time(now), Time(now));
            board.acknowledge(arrived, &ack.sack, &mut known);
            if rack {
                let newest = board.take_heard().newest.unwrap_or_default();
                board.mark_sent_before(newest, Time(now), Span(0));
            }
        }
        acks += 1;
        for _ in 0..2 {
            // It sends two segments for each ACK, as the sender does, so that the queue never runs dry before
            // the end.
            let mut next = board.next_lost();
            if !rack {
                next = next.or_else(|| board.next_doubtful()).or_else(|| board.rescue());
            }
            if let Some(seq) = next {
                board.send_again(seq, Time(now), None);
                under_way.push_back((seq, false));
            }
        }
    }
    assert_eq!((board.una(), board.pipe()), (window, 0), "everything was repaired");
    LOOKED_AT.with(|n| n.get()) as f64 / f64::from(acks)
}

/// The work of an ACK does not grow with the window. The lost segments are every second one, short runs, all
/// but a few, or the first half. (In the last case one cumulative ACK covers the other half at the end.)
#[test]
fn the_work_of_an_ack_does_not_grow_with_the_window() {
    type Pattern = fn(u64, u64) -> bool;
    let patterns: [(&str, Pattern); 5] = [
        ("every second", |i, _| i % 2 == 0),
        ("first half", |i, w| i < w / 2),
        ("two of five", |i, _| i % 5 < 2),
        ("one in a hundred", |i, _| i % 100 == 50),
        ("nine of ten", |i, _| i % 10 < 9),
    ];
    for rack in [false, true] {
        for (name, lost) in patterns {
            let small = words_per_ack(1_000, rack, |i| lost(i, 1_000));
            let large = words_per_ack(100_000, rack, |i| lost(i, 100_000));
            assert!(
                large < 1.2 * small + 1.0,
                "{name}, rack {rack}: {small} words, and {large} at a hundred times the window"
            );
        }
    }
}
