//! Property: whatever arrives, nothing panics and the counts stay sound.

use bentpipe_cc::Time;
use bentpipe_tcp::{AckSegment, Block, Data, LossRecovery, Receiver, Sack, Sender};
use proptest::prelude::*;

use crate::script::{Fixed, ms, plain, reno};
use crate::transfer::any_options;

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0_u64..200, 1 => any::<u64>(), 1 => Just(u64::MAX)]
}

prop_compose! {
    fn any_ack()(
        ack in number(),
        blocks in prop::collection::vec((number(), number()), 0..4),
        tsecr in any::<u32>(),
        (ece, extra) in any::<(bool, bool)>(),
    ) -> AckSegment {
        let mut sack = Sack::default();
        blocks.into_iter().for_each(|(start, end)| sack.push(Block { start, end }));
        AckSegment { ack, sack, tsecr, ece, extra }
    }
}

prop_compose! {
    fn any_data()(
        seq in number(), len in any::<u32>(), tsval in any::<u32>(), flags in prop::array::uniform6(any::<bool>()),
    ) -> Data {
        let [retransmission, cwr, probe, extra, ce, push] = flags;
        Data { seq, len, tsval, retransmission, cwr, probe, extra, ce, push }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn sender_survives_any_acknowledgement(
        options in any_options(),
        fixed in any::<bool>(),
        steps in prop::collection::vec((any_ack(), 0_u64..3000, any::<bool>(), 0_usize..60), 1..80),
    ) {
        let cc = if fixed { Fixed::new(20).with(|c| c.repeat = true).boxed() } else { reno(4.0, f64::INFINITY) };
        let mut sender = Sender::new(options, cc, Some(150_000));
        let mut now = Time(0);
        sender.start(now);
        for (ack, wait, timer, polls) in steps {
            for _ in 0..polls {
                if sender.poll(now).is_none() {
                    break;
                }
            }
            let outstanding = sender.next() - sender.una();
            prop_assert!(sender.in_flight() <= 2 * outstanding);
            prop_assert!(sender.una() <= sender.next() && sender.next() <= 150);
            prop_assert!(sender.flow().delivered <= sender.next() * 1000);
            if timer {
                now = sender.deadline().map_or(now, |t| t.max(now));
                sender.on_deadline(now);
            } else {
                now = now + ms(wait);
                sender.on_ack(now, &ack);
            }
        }
    }

    /// Pieces that are all there before the first poll are one transfer.
    #[test]
    fn what_is_written_in_pieces_is_sent_as_a_whole(pieces in prop::collection::vec(0_u64..5000, 0..20)) {
        let sent = |bytes, pieces: &[u64]| {
            let mut sender = Sender::new(plain(LossRecovery::Sack), Fixed::new(1000).boxed(), Some(bytes));
            sender.start(Time(0));
            pieces.iter().for_each(|&bytes| assert_eq!(sender.write(bytes), Ok(())));
            core::iter::from_fn(|| sender.poll(Time(0))).collect::<Vec<Data>>()
        };
        prop_assert_eq!(sent(0, &pieces), sent(pieces.iter().sum(), &[]));
    }

    #[test]
    fn receiver_survives_any_data(
        options in any_options(),
        arrivals in prop::collection::vec((any_data(), 0_u64..300), 1..200),
    ) {
        let mut receiver = Receiver::new(&options);
        let (mut now, mut before) = (Time(0), 0);
        let mut got = std::collections::BTreeSet::new();
        for (data, wait) in arrivals {
            now = now + ms(wait);
            receiver.on_deadline(now);
            let answer = receiver.on_data(now, &data);
            if !data.probe && data.seq < 1 << 20 {
                got.insert(data.seq);
            }
            let expected = (0..).find(|seq| !got.contains(seq)).unwrap_or(0);
            prop_assert_eq!(receiver.delivered(), expected);
            prop_assert!(expected >= before);
            before = expected;
            if let Some(answer) = answer {
                prop_assert_eq!(answer.ack, expected);
                let repeated = answer.sack.duplicate(answer.ack, u64::MAX).filter(|_| options.dsack);
                for block in answer.sack.blocks().iter().skip(usize::from(repeated.is_some())) {
                    let whole = (block.start..block.end).all(|seq| got.contains(&seq));
                    let edges = !got.contains(&(block.start - 1)) && !got.contains(&block.end);
                    prop_assert!(block.start > expected && block.start < block.end && whole && edges, "{:?}", block);
                }
            }
        }
    }
}
