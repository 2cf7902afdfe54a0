//! RFC 2883: duplicates reported, and what the sender makes of them. Segment 0 represents the byte 3000 of
//! the examples, one segment represents 500 bytes.

use bentpipe_cc::Congestion;
use bentpipe_tcp::{LossRecovery, Options};

use crate::script::{Fixed, Listener, Script, plain};

fn options() -> Options {
    Options { dsack: true, ..plain(LossRecovery::Sack) }
}

fn listener() -> Listener {
    Listener::new(&options())
}

/// RFC 2883 section 4.1.1: a duplicate below the cumulative ACK.
#[test]
fn a_duplicate_segment() {
    listener().data(0).answers("1").data(1).answers("2").data(0).answers("2+0-1").data(2).answers("3");
}

/// RFC 2883 section 4.1.2: the same with a gap: the block behind it follows.
#[test]
fn a_duplicate_and_an_out_of_order_segment() {
    listener().data(0).data(1).data(3).answers("2+3-4").data(0).answers("2+0-1+3-4").data(4).answers("2+3-5");
}

/// RFC 2883 section 4.1.3: a duplicate of an out-of-order segment: it, then the block that it is part of.
#[test]
fn a_duplicate_of_an_out_of_order_segment() {
    listener().data(0).data(1).data(3).data(4).answers("2+3-5").data(4).answers("2+4-5+3-5");
}

/// RFC 2883 section 4: it takes the first of three places, and is reported once.
#[test]
fn the_duplicate_comes_first_and_once() {
    let mut l = listener();
    l.data(2).data(4).data(6).answers("0+6-7+4-5+2-3").data(4).answers("0+4-5+4-5+6-7");
    l.data(8).answers("0+8-9+4-5+6-7");
}

/// RFC 2883 section 4: no delay for the ACK of a duplicate, and off means off.
#[test]
fn at_once_and_only_when_agreed() {
    let delayed = Options { delayed_ack: Some(crate::script::ms(200)), ..options() };
    Listener::new(&delayed).data(0).answers("-").data(0).answers("1+0-1");
    Listener::new(&plain(LossRecovery::Sack)).data(0).data(0).answers("1");
    Listener::new(&Options { recovery: LossRecovery::NewReno, ..options() }).data(0).data(0).answers("1");
}

/// RFC 2883 section 4: the sender tells a D-SACK from a SACK; a report of what was delivered
/// before delivers nothing.
#[test]
fn a_dsack_acknowledges_nothing() {
    let mut t = Script::new(options(), Fixed::new(10).boxed(), None);
    t.sends("0-9").at(100).sack(4, &[(5, 7)]).flight(4).sack(4, &[(1, 2), (5, 7)]).flight(4);
    t.sack(4, &[(5, 6), (5, 7)]).flight(4);
}

/// Recovery repairs 0 and 1, whose originals arrive late.
fn overtaken() -> (Script, Fixed) {
    let cc = Fixed::new(10).with(|c| c.after_loss = 6);
    let mut t = Script::new(Options { rack: true, ..options() }, cc.boxed(), None);
    t.sends("0-9").at(100).sack(0, &[(2, 6)]).flight(4).sends("r0 r1").at(130).ack(6).sends("10-11");
    assert_eq!(cc.told().congestion, [Congestion::Loss]);
    (t, cc)
}

/// RFC 3708 section 3: all that was sent again is reported as duplicate: nothing had been
/// lost, and the window returns.
#[test]
fn a_needless_recovery_is_undone() {
    let (mut t, cc) = overtaken();
    t.window(6.0, 6.0).at(200).sack(6, &[(0, 1)]).window(6.0, 6.0).sack(6, &[(1, 2)]);
    t.window(10.0, f64::INFINITY).sends("12-15");
    assert_eq!((cc.told().undone, t.sender.counters().spurious_recoveries), (1, 1));
    assert_eq!(t.sender.flow().lost, 0);
}

/// The same after recovery has ended.
#[test]
fn a_needless_recovery_is_undone_when_it_is_over() {
    let (mut t, cc) = overtaken();
    t.at(190).ack(10).sends("12-15").window(6.0, 6.0);
    t.at(200).sack(10, &[(0, 1)]).sack(10, &[(1, 2)]).window(10.0, f64::INFINITY).sends("16-19");
    assert_eq!(cc.told().undone, 1);
}

/// What was declared lost and not sent again comes back with the rest: here 1 of 0 and 1.
#[test]
fn an_undo_takes_back_what_was_declared_lost() {
    let cc = Fixed::new(10).with(|c| c.after_loss = 2);
    let mut t = Script::new(options(), cc.boxed(), None);
    t.sends("0-9").at(100).sack(0, &[(2, 6)]).sends("r0");
    assert_eq!(t.sender.flow().lost, 2000);
    t.at(130).sack(1, &[(0, 1), (2, 6)]);
    assert_eq!((cc.told().undone, t.sender.flow().lost), (1, 0));
}

/// RFC 3708 section 3: one duplicate of two: the other may have been lost. A duplicate from
/// before says nothing, either.
#[test]
fn a_recovery_that_repaired_something_stands() {
    let (mut t, cc) = overtaken();
    t.at(200).sack(6, &[(1, 2)]).at(230).ack(12).sends("12-17");
    t.at(330).sack(18, &[(15, 16)]).at(340).sack(18, &[(16, 17)]);
    assert_eq!(cc.told().undone, 0);
}

/// A timeout settles the matter: what it sends again is its own.
#[test]
fn a_timeout_ends_the_hope_for_undo() {
    let (mut t, cc) = overtaken();
    t.due(1130).at(1200).sack(6, &[(0, 1)]).sack(6, &[(1, 2)]);
    assert_eq!(cc.told().undone, 0);
}
