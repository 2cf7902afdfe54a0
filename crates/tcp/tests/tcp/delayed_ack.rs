//! RFC 5681 section 4.2: when the receiver acknowledges.

use bentpipe_tcp::{Data, LossRecovery, Options};

use crate::script::{Listener, ms, plain};

fn listener() -> Listener {
    Listener::new(&Options { delayed_ack: Some(ms(500)), ..plain(LossRecovery::Sack) })
}

/// RFC 5681 section 4.2: an ACK for at least every second full segment.
#[test]
fn every_second_segment() {
    listener().data(0).answers("-").data(1).answers("2").data(2).answers("-").data(3).answers("4");
}

/// RFC 5681 section 4.2: within 500 ms of the first segment that is not acknowledged.
#[test]
fn at_the_latest_after_the_delay() {
    let mut l = listener();
    l.at(100).data(0).answers("-").due(600).answers("1");
    l.at(700).data(1).answers("-").at(1000).data(2).answers("3").at(5000).data(3).due(5500).answers("4");
}

/// The delay is an option.
#[test]
fn shorter_delay() {
    let mut l = Listener::new(&Options { delayed_ack: Some(ms(40)), ..plain(LossRecovery::Sack) });
    l.at(7).data(0).answers("-").due(47).answers("1");
}

/// RFC 5681 section 4.2: out of order, at once; and at once when all or part of a gap is filled.
#[test]
fn gaps_are_reported_at_once() {
    let mut l = listener();
    l.data(0).data(1).answers("2").data(3).answers("2+3-4").data(5).answers("2+5-6+3-4");
    l.data(2).answers("4+5-6").data(4).answers("6").data(6).answers("-").data(7).answers("8");
}

/// RFC 5681 section 4.2: a gap also ends the wait for a delayed ACK.
#[test]
fn gap_ends_the_delay() {
    let mut l = listener();
    l.data(0).answers("-").data(2).answers("1+2-3");
    assert_eq!(l.receiver.deadline(), None);
}

/// RFC 5681 section 4.2: what was received before is acknowledged at once.
#[test]
fn duplicates_are_acknowledged_at_once() {
    listener().data(0).data(1).answers("2").data(0).answers("2").data(2).answers("-").data(2).answers("3");
}

/// Without delay every segment is acknowledged.
#[test]
fn no_delay() {
    Listener::new(&plain(LossRecovery::Sack)).data(0).answers("1").data(1).answers("2").data(2).answers("3");
}

/// TCP-STAR section 3.3: AEN's probe carries nothing and is answered at once with what is expected next.
#[test]
fn probe_is_answered_at_once() {
    let probe = Data { probe: true, ..Data::new(0, 1, 0) };
    let mut l = listener();
    l.arrives(probe).answers("0").data(0).answers("-").arrives(probe).answers("1");
    assert_eq!(l.receiver.delivered(), 1);
}
