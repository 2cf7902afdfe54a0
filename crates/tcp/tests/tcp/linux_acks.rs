//! Which acknowledgements Linux delays: `AckRule::Linux`, by the constants of its net/ipv4/tcp_input.c.

use bentpipe_cc::{Span, Time};
use bentpipe_tcp::{Data, Options, Reading, Receiver, Sender};

use crate::script::Fixed;

/// A receiver half a round trip of 100 ms away, and what it acknowledges at once.
struct Far {
    receiver: Receiver,
    now: Time,
    next: u64,
    /// How long segments are under way.
    way: Span,
}

fn segment(seq: u64, tsval: u32, push: bool) -> Data {
    Data { push, ..Data::new(seq, 1448, tsval) }
}

impl Far {
    fn new() -> Self {
        let receiver = Receiver::new(&Options::linux());
        Self { receiver, now: Time(1_000_000_000), next: 0, way: Span(50_000_000) }
    }

    /// Segment `seq` arrives; is it acknowledged at once?
    fn take(&mut self, seq: u64) -> bool {
        self.take_of(seq, false)
    }

    /// The same of a segment that ends a write, if `push`.
    fn take_of(&mut self, seq: u64, push: bool) -> bool {
        let tsval = ((self.now.0 - self.way.0) / 1000) as u32;
        self.receiver.on_data(self.now, &segment(seq, tsval, push)).is_some()
    }

    /// `count` segments in order, 1.2 ms apart: how many are acknowledged at once?
    fn train(&mut self, count: u64) -> u64 {
        let mut at_once = 0;
        for _ in 0..count {
            at_once += u64::from(self.take(self.next));
            self.next += 1;
            self.now = self.now + Span(1_200_000);
        }
        at_once
    }

    /// The next round trip begins.
    fn round(&mut self, count: u64) -> u64 {
        let begun = self.now;
        let at_once = self.train(count);
        self.now = begun + Span(101_200_000);
        at_once
    }
}

/// `TCP_MAX_QUICKACKS` is 16, and the window grows from 65,160 bytes to 81,920 by 2896 a segment, which
/// is six segments more. A captured transfer of Linux 6.18 has 22, too. From then on every other
/// segment is acknowledged.
#[test]
fn the_first_22_segments_are_acknowledged_at_once() {
    let mut far = Far::new();
    assert_eq!((far.round(10), far.round(12)), (10, 12));
    assert_eq!((far.train(1), far.train(1), far.train(8)), (0, 1, 4));
}

/// `tcp_measure_rcv_mss` notes PSH, and `tcp_cleanup_rbuf` then acknowledges as soon as the application has
/// read all.
#[test]
fn the_last_segment_of_a_write_is_acknowledged_at_once() {
    let mut far = Far::new();
    far.round(22);
    for (seq, push, at_once) in [(22, false, false), (23, true, true), (24, true, true), (25, false, false)] {
        assert_eq!(far.take_of(seq, push), at_once, "{seq}");
    }
    let mut plain = Receiver::new(&Options::modern());
    assert_eq!(plain.on_data(Time(0), &segment(0, 0, true)), None, "RFC 5681 does not ask for it");
}

/// `tcp_push` marks the last segment of each write, also where more is written before it leaves; RFC 5681's
/// receivers need not know.
#[test]
fn a_sender_knows_the_last_segments_of_writes() {
    for (options, known) in [(Options::linux(), true), (Options::modern(), false)] {
        let mut sender = Sender::new(options, Fixed::new(10).boxed(), Some(0));
        for segments in [3, 2] {
            sender.write(segments * 1448).expect("all segments are full");
            sender.push();
        }
        let pushed: Vec<u64> = (0..6).filter(|seq| sender.is_pushed(*seq)).collect();
        assert_eq!(pushed, if known { vec![2, 4] } else { vec![] });
    }
}

/// `tcp_rcvbuf_grow`, found out with the first segment of a round. The application has read 20 segments in
/// the second one, after 11 in the first: the window is to be
/// 57,920 + 2 * 57,920 * 13,032 / 15,928 = 152,698 bytes, which takes 25 segments from 81,920 on. They are
/// acknowledged at once. The first and the 14 others of the third round make 7 ACKs. After 40 segments it is
/// to be 347,520 bytes: 68 of 80 segments, and 5 ACKs. It rests when the rounds do.
#[test]
fn no_acknowledgement_is_delayed_while_the_window_grows() {
    let mut far = Far::new();
    for (count, acknowledged) in [(10, 10), (20, 16), (40, 32), (80, 73)] {
        assert_eq!(far.round(count), acknowledged, "{count}");
    }
    for _ in 0..6 {
        far.round(80);
    }
    assert_eq!(far.round(80), 40);
}

/// A flight of slow start over 500 ms at 1.2 ms a segment: each acknowledgement lets out two, so every other
/// one waits 1.2 ms longer. How many of the first `watched` are acknowledged at once?
fn flight(far: &mut Far, count: u64, watched: u64) -> u64 {
    let (begun, mut at_once) = (far.now, 0);
    for i in 0..count {
        far.way = Span(250_000_000 + i * 600_000);
        let acknowledged = far.train(1);
        at_once += if i < watched { acknowledged } else { 0 };
    }
    far.now = begun + Span(501_200_000);
    at_once
}

/// `tcp_rcv_rtt_update`: the first segment of a flight, which finds no queue, brings the round trip down
/// to 500 ms at once, so the window grows from there on. Captured on Linux 6.18 (CUBIC, 10 Mbit/s,
/// 500 ms, no losses): of the first 196 segments of the flight of 640, 195 are acknowledged at once.
/// HyStart sees that train.
#[test]
fn a_shorter_round_trip_counts_at_once() {
    let mut far = Far::new();
    for count in [10, 20, 40, 80, 160, 320] {
        flight(&mut far, count, 0);
    }
    let at_once = flight(&mut far, 640, 196);
    assert!(at_once >= 194, "{at_once}");
}

/// Captured on Linux 6.18: a SYN tells 65,160 bytes, and after ten segments the window is 79,872, which are
/// 55 segments. It is 81,920 less the segment that is being read, so it grows no more.
#[test]
fn acknowledgements_tell_the_window_while_it_grows() {
    let mut far = Far::new();
    assert_eq!(far.receiver.grown_window(), None, "unless it may bind");
    far.receiver = Receiver::new(&Options { reading: Reading::Growing, ..Options::linux() });
    far.train(1);
    assert_eq!(far.receiver.grown_window(), Some((65_160 + 2896) / 1448));
    far.train(9);
    assert_eq!(far.receiver.grown_window(), Some(0), "not since the last one");
    far.receiver = Receiver::new(&Options { reading: Reading::Growing, ..Options::linux() });
    far.next = 0;
    far.train(6);
    assert_eq!(far.receiver.grown_window(), Some(55));
}

/// `__tcp_ack_snd_check`: three duplicate ACKs for a gap go out at once, later ones wait 1.14 ms. The one
/// that fills the gap does not.
#[test]
fn sacks_are_compressed() {
    let mut far = Far::new();
    far.round(10);
    far.round(20);
    let gap = far.next;
    far.next += 1;
    assert_eq!(far.train(1), 1, "the quick ones are over, this is the first duplicate");
    assert_eq!((far.take(far.next), far.take(far.next + 1)), (true, true));
    assert!(!far.take(far.next + 2));
    assert_eq!(far.receiver.deadline(), Some(far.now + Span(1_140_000)));
    assert!(!far.take(far.next + 3), "waits with it");
    far.now = far.now + Span(1_140_000);
    assert!(far.receiver.on_deadline(far.now).is_some_and(|ack| ack.ack == gap && !ack.sack.is_empty()));
    assert!(!far.take(far.next + 4));
    assert!(far.take(gap), "at once");
    assert_eq!(far.receiver.deadline(), None);
}

/// `tcp_send_dupack`: a segment that is already there is answered at once, and so are the 16 after it.
#[test]
fn a_duplicate_brings_quick_acknowledgements_back() {
    let mut far = Far::new();
    assert_eq!((far.round(10), far.round(10), far.round(10)), (10, 10, 6));
    assert!(far.take(3));
    assert_eq!((far.train(16), far.train(4)), (16, 2));
}

/// Without delayed acknowledgements the rule has no say.
#[test]
fn every_segment_is_acknowledged_where_none_is_delayed() {
    let mut far = Far::new();
    far.receiver = Receiver::new(&Options { delayed_ack: None, ..Options::linux() });
    assert_eq!(far.train(100), 100);
}
