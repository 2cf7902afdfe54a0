//! Any acknowledgements at any times: the sender stays within its windows, and its books stay sound.

#![no_main]

use bentpipe_cc::registry;
use bentpipe_cc::{Start, Time};
use bentpipe_fuzz::Bytes;
use bentpipe_tcp::{AckSegment, Block, Sack, Sender};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let options = bytes.options();
    let entries = registry::all();
    let entry = entries[usize::from(bytes.byte()) % entries.len()];
    let start = Start {
        mss: options.mss,
        initial_window: options.initial_window,
        initial_ssthresh: if bytes.flag() { f64::INFINITY } else { 8.0 },
    };
    let Ok(cc) = registry::build(entry.id, &[], start) else { return };
    let segments = 1 + u64::from(bytes.byte()) * 4;
    let mut sender = Sender::new(options, cc, Some(segments * u64::from(options.mss)));
    let mut now = Time(1_000_000);
    sender.start(now);
    while bytes.any() {
        for _ in 0..bytes.byte() {
            let Some(sent) = sender.poll(now) else { break };
            assert!(sent.probe || sent.seq < segments && sent.len <= options.mss);
        }
        let (una, next) = (sender.una(), sender.next());
        let outstanding = next - una;
        assert!(una <= next && next <= segments);
        assert!(
            options.receive_window.is_none_or(|w| outstanding <= w + 1),
            "{outstanding}: beyond the window"
        );
        assert!(sender.in_flight() <= 2 * outstanding, "{} in flight of {outstanding}", sender.in_flight());
        assert!(sender.decision().cwnd >= u64::from(options.mss), "{}: {:?}", entry.id, sender.decision());
        // With rate control alone the window is the receiver's, which may have no bound.
        let bounded = entry.id != "scps-rate" || options.receive_window.is_some();
        assert!(!bounded || sender.cwnd_segments() < 1e12, "{}: {:?}", entry.id, sender.decision());
        // An acknowledgement may leave nothing in flight, if extra segments have carried the rest ahead of
        // its turn: then the sender is asked for the next segment, as it always is.
        let awake = outstanding == 0 || sender.deadline().is_some() || sender.poll(now).is_some();
        assert!(awake || sender.deadline().is_some(), "{}: nothing would ever wake it", entry.id);
        if bytes.flag() {
            now = sender.deadline().map_or(now, |t| t.max(now));
            sender.on_deadline(now);
        } else {
            now = Time(now.0.saturating_add(u64::from(bytes.byte()) * 5_000_000));
            let mut sack = Sack::default();
            for _ in 0..bytes.byte() % 4 {
                let start = bytes.number(una);
                let end = bytes.number(start);
                sack.push(Block { start, end });
            }
            let ack = AckSegment {
                ack: bytes.number(una),
                sack,
                tsecr: bytes.word(),
                ece: bytes.flag(),
                extra: false,
            };
            sender.on_ack(now, &ack);
        }
    }
});
