//! SNACK of SCPS-TP (CCSDS 714.0-B-2): the receiver tells its holes, and the sender fills them at once.

use bentpipe_cc::Congestion;
use bentpipe_tcp::{Block, LossRecovery, Options, Snack};

use crate::script::{Fixed, Listener, Script, plain, reno};

fn options() -> Options {
    Options { snack: Some(16), ..plain(LossRecovery::NewReno) }
}

/// One hole, without a vector.
fn hole(start: u64, end: u64) -> Snack {
    Snack { hole: Block { start, end }, ..Snack::default() }
}

/// The hole, and bits for what lies behind it, first segment first.
fn with_vector(start: u64, end: u64, bits: &[u8]) -> Snack {
    let arrived = bits.iter().rev().fold(0, |word, bit| word << 1 | u128::from(*bit));
    Snack { arrived, bits: bits.len() as u8, ..hole(start, end) }
}

/// The first duplicate already begins a recovery; the window is Reno's half.
#[test]
fn a_hole_is_filled_without_three_duplicates() {
    let mut t = Script::new(options(), reno(10.0, 10.0), None);
    t.sends("0-9").at(100).snack(0, hole(0, 1)).sends("r0").window(5.0, 5.0);
    // The same hole again, before an answer can have come: nothing. Each duplicate is
    // a segment less in flight.
    t.snack(0, hole(0, 1)).sends("").flight(8).snack(0, hole(0, 1)).sends("").flight(7);
    let counters = t.sender.counters();
    assert_eq!((counters.recoveries, counters.retransmitted, counters.timeouts), (1, 1, 0));
    // RFC 6582 section 3.2 step 3, option 1: no burst at the end, FlightSize + 1 = 2 segments.
    t.at(200).ack(10).sends("10-11").window(5.0, 5.0);
}

/// Three holes in one option go out together, whatever the window says. NewReno alone
/// fills one per round trip.
#[test]
fn all_holes_of_an_option_are_filled_at_once() {
    let lost = Fixed::new(10).with(|cc| cc.after_loss = 2);
    let mut t = Script::new(options(), lost.boxed(), None);
    t.sends("0-9").at(100).ack(1).sends("10");
    // 1, 4 and 6 are missing; 2, 3, 5 and 7 are there.
    t.snack(1, with_vector(1, 2, &[1, 1, 0, 1, 0, 1])).sends("r1 r4 r6");
    assert_eq!(lost.told().congestion, [Congestion::Loss]);
    t.at(200).ack(11);
    assert_eq!(t.sender.counters().retransmitted, 3);
}

/// A hole that is signalled when a round trip has passed since it was filled has lost its filling, too. That
/// is no second congestion.
#[test]
fn a_lost_retransmission_is_sent_again_after_a_round_trip() {
    let fixed = Fixed::new(10).with(|cc| cc.after_loss = 5);
    let mut t = Script::new(options(), fixed.boxed(), None);
    t.sends("0-9").at(100).ack(1).sends("10");
    t.snack(1, hole(1, 2)).sends("r1");
    t.at(199).snack(1, hole(1, 2)).sends("");
    t.at(200).snack(1, hole(1, 2)).sends("r1");
    assert_eq!(fixed.told().congestion, [Congestion::Loss]);
    assert_eq!(t.sender.counters().retransmitted, 2);
}

/// An option that was overtaken by an acknowledgement of more, or that names what was
/// never sent, does nothing.
#[test]
fn holes_outside_what_is_outstanding_do_nothing() {
    let mut t = Script::new(options(), reno(10.0, 10.0), None);
    t.sends("0-9").at(100).ack(5).sends("10-14").snack(3, hole(3, 4)).sends("");
    t.snack(5, hole(90, 99)).sends("").flight(9);
    assert_eq!(t.sender.counters().recoveries, 0);
}

/// The first hole of what the receiver misses, then the next, then again: with no vector
/// one per acknowledgement.
#[test]
fn the_receiver_signals_its_holes_in_turn() {
    let signalled = |t: &Listener| t.receiver.snack().map(|snack| (snack.hole.start, snack.hole.end));
    let mut t = Listener::new(&Options { snack: Some(0), ..options() });
    t.data(0).answers("1");
    assert_eq!(signalled(&t), None);
    t.data(3).answers("1");
    assert_eq!(signalled(&t), Some((1, 3)));
    t.data(5).answers("1");
    assert_eq!(signalled(&t), Some((4, 5)));
    t.data(8).answers("1");
    assert_eq!(signalled(&t), Some((6, 8)));
    t.data(9).answers("1");
    assert_eq!(signalled(&t), Some((1, 3)));
    t.data(1).answers("2");
    assert_eq!(signalled(&t), Some((4, 5)));
    t.data(2).answers("4");
    assert_eq!(signalled(&t), Some((6, 8)));
    t.data(4).data(6).data(7).answers("10");
    assert_eq!(signalled(&t), None);
}

/// SACK and SNACK are not sent together.
#[test]
fn a_receiver_with_sack_signals_nothing() {
    let mut t = Listener::new(&Options { recovery: LossRecovery::Sack, ..options() });
    t.data(1).answers("0+1-2");
    assert_eq!(t.receiver.snack(), None);
}
