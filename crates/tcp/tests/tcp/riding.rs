//! Acknowledgements that ride on data of the other direction: RFC 9293 section 3.8.6.3, RFC 5681 section 2.

use bentpipe_tcp::{AckSegment, LossRecovery, Options};

use crate::script::{Fixed, Listener, Script, ms, plain};

/// A delayed acknowledgement rides with the data and leaves no more alone; the next second
/// segment is counted from then.
#[test]
fn a_delayed_acknowledgement_rides() {
    let options = Options { delayed_ack: Some(ms(200)), ..plain(LossRecovery::Sack) };
    let mut l = Listener::new(&options);
    l.data(0).answers("-");
    let ride = l.receiver.ride();
    assert_eq!((ride.ack, l.receiver.deadline()), (1, None));
    l.at(10).data(1).answers("-").at(20).data(2).answers("3");
    // One with nothing to tell repeats the last.
    assert_eq!(l.receiver.ride().ack, 3);
}

/// The blocks ride, too.
#[test]
fn a_gap_is_told_with_the_data() {
    let mut l = Listener::new(&plain(LossRecovery::Sack));
    l.data(0).answers("1").data(2).answers("1+2-3");
    let ride = l.receiver.ride();
    assert_eq!((ride.ack, ride.sack.blocks().len()), (1, 1));
}

/// RFC 5681 section 2: a duplicate ACK carries no data. So three that ride do not begin a
/// recovery, and three pure ones do.
#[test]
fn what_rides_is_no_duplicate() {
    let mut t = Script::new(plain(LossRecovery::NewReno), Fixed::new(10).boxed(), None);
    t.sends("0-9").at(100).ack(1).sends("10");
    for _ in 0..5 {
        t.sender.on_riding_ack(t.now, &AckSegment { ack: 1, ..AckSegment::default() });
    }
    // The window of 10 is inflated by the three: 11 to 13 (section 3.2 step 3).
    t.sends("").ack(1).sends("").ack(1).sends("").ack(1).sends("r1 11-13");
    // One that advances counts as any.
    t.sender.on_riding_ack(t.now, &AckSegment { ack: 3, ..AckSegment::default() });
    assert_eq!(t.sender.una(), 3);
}
