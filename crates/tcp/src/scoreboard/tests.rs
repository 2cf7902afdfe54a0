//! The scoreboard against the text of RFC 6675.

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
                    board.send_new(Time(clock), Some(Stamp::default()));
                    naive.send_new(clock);
                },
                Op::Lost => if let Some(seq) = board.next_lost() {
                    board.send_again(seq, Time(clock), Some(Stamp::default()));
                    naive.resent[seq as usize] = true;
                    naive.sent_at[seq as usize] = clock;
                },
                // The sender asks for rules 3 and 4 only when rule 1 has found nothing.
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
                    let short = (ack > board.una() && sack.is_empty() && known.is_empty() && board.is_in_order())
                        .then(|| board.clone().acknowledge_in_order(ack));
                    let got = board.acknowledge(ack, &sack, &known);
                    prop_assert_eq!(short.unwrap_or(got), got);
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
