//! Any data segments at any times: the receiver delivers in order what it has got, and
//! acknowledges nothing else.

#![no_main]

use std::collections::BTreeSet;

use bentpipe_cc::Time;
use bentpipe_fuzz::Bytes;
use bentpipe_tcp::{Data, Receiver};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let options = bytes.options();
    let mut receiver = Receiver::new(&options);
    let (mut now, mut expected) = (Time(0), 0_u64);
    let mut got = BTreeSet::new();
    while bytes.any() {
        now = Time(now.0.saturating_add(u64::from(bytes.byte()) * 1_000_000));
        receiver.on_deadline(now);
        let flags = bytes.byte();
        let bit = |i: u32| flags >> i & 1 == 1;
        let segment = Data {
            retransmission: bit(0),
            cwr: bit(1),
            probe: flags >> 4 == 15,
            ce: bit(2),
            push: bit(3),
            ..Data::new(bytes.number(expected), options.mss, bytes.word())
        };
        // What lies beyond any window is not kept; a ring as large as the largest window takes long to clear.
        if segment.seq.wrapping_sub(expected) < 1 << 27 && segment.seq.wrapping_sub(expected) > 1 << 16 {
            continue;
        }
        let answer = receiver.on_data(now, &segment);
        if !segment.probe && (segment.seq < expected || segment.seq - expected < 1 << 27) {
            got.insert(segment.seq);
        }
        while got.contains(&expected) {
            expected += 1;
        }
        assert_eq!(receiver.delivered(), expected);
        let Some(ack) = answer else { continue };
        assert_eq!(ack.ack, expected);
        for block in ack.sack.blocks() {
            assert!(
                block.start < block.end && (block.start..block.end).all(|seq| got.contains(&seq)),
                "{block:?}"
            );
        }
    }
});
