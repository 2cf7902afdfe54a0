//! RFC 3042: limited transmit.

use bentpipe_tcp::{LossRecovery, Options};

use crate::script::{Fixed, Script, plain, reno};

fn ten(change: impl FnOnce(&mut Options)) -> Script {
    let mut options = Options { limited_transmit: true, ..plain(LossRecovery::NewReno) };
    change(&mut options);
    let mut t = Script::new(options, reno(10.0, 10.0), None);
    t.sends("0-9").at(100);
    t
}

/// RFC 3042 section 2: one new segment for each of the first two duplicates, the window
/// stays; the third retransmits.
#[test]
fn two_new_segments() {
    let mut t = ten(|_| ());
    t.ack(0).sends("10").ack(0).sends("11").window(10.0, 10.0).ack(0).sends("r0").window(5.0, 5.0);
}

/// RFC 3042 section 2: the receive window must allow it.
#[test]
fn receive_window_forbids() {
    let mut t = ten(|o| o.receive_window = Some(11));
    t.ack(0).sends("10").ack(0).sends("");
}

/// RFC 3042 section 2, last paragraph: with SACK the duplicate must report something new.
#[test]
fn sack_must_bring_news() {
    let mut t = ten(|o| o.recovery = LossRecovery::Sack);
    t.sack(0, &[(1, 2)]).sends("10").sack(0, &[(1, 2)]).sends("").sack(0, &[(1, 3)]).sends("11");
    t.sack(0, &[(1, 4)]).sends("r0");
}

/// RFC 3042 section 2: no more than two beyond the window, even when the third duplicate
/// starts no fast retransmit.
#[test]
fn two_and_no_more() {
    let options = Options { limited_transmit: true, ..plain(LossRecovery::NewReno) };
    let mut t = Script::new(options, Fixed::new(10).with(|c| c.after_timeout = 4).boxed(), None);
    t.sends("0-9").due(1000).sends("r0 r1 r2 r3").at(1100).ack(10).sends("10-13");
    t.ack(10).sends("14").ack(10).sends("15").ack(10).sends("").ack(10).sends("").ack(10).sends("");
}

/// Without the option duplicates release nothing (RFC 5681 section 3.2 step 1).
#[test]
fn off() {
    let mut t = ten(|o| o.limited_transmit = false);
    t.ack(0).sends("").ack(0).sends("").ack(0).sends("r0");
}
