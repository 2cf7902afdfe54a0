//! RFC 8985 section 7: the tail loss probe. The round trip is 100 ms.

use bentpipe_cc::{Congestion, Life};
use bentpipe_tcp::{LossRecovery, Options};

use crate::script::{Fixed, Script, plain};

fn options() -> Options {
    Options { rack: true, tlp: true, dsack: true, ..plain(LossRecovery::Sack) }
}

/// RFC 8985 section 7.2: 2 SRTT after the last ACK, and 200 ms more for the delayed ACK of a single segment;
/// 7.3: without new data the last segment; nothing follows, so nothing is known to be lost (7.4.2).
#[test]
fn the_last_segment_is_probed() {
    let cc = Fixed::new(10);
    let mut t = Script::new(options(), cc.boxed(), Some(10));
    t.sends("0-9").at(100).ack(9).sends("").due(500).flight(1).sends("r9").flight(1).at(600).ack(10).idle();
    assert!(cc.told().congestion.is_empty());
    assert_eq!(t.sender.counters().retransmitted, 1);
}

/// RFC 8985 section 7.3: new data goes first, whatever the congestion window says; RACK (7.4.1)
/// then finds what is lost.
#[test]
fn new_data_is_the_better_probe() {
    let cc = Fixed::new(4);
    let mut t = Script::new(options(), cc.boxed(), None);
    t.sends("0-3").at(100).ack(2).sends("4-5").due(300).sends("6").flight(5);
    t.at(400).sack(2, &[(6, 7)]).flight(0).sends("r2 r3 r4 r5");
    assert_eq!((cc.told().congestion, t.sender.counters().timeouts), (vec![Congestion::Loss], 0));
}

/// RFC 8985 section 7.2: the timer restarts with each new segment and each ACK that advances, and never
/// runs beyond the retransmission timer: SRTT 600 ms, RTTVAR 300 ms, sent at 0, acknowledged at 600:
/// probe at 1800; RTO at 2400.
#[test]
fn the_timer_is_two_smoothed_round_trips() {
    let cc = Fixed::new(4);
    let mut t = Script::new(Options { initial_rto: crate::script::ms(3000), ..options() }, cc.boxed(), None);
    t.sends("0-3").at(600).ack(2).sends("4-5").due(1800).sends("6");
    // RFC 8985 section 7.3: then the retransmission timer, anew.
    t.due(3600).sends("r2 r3 r4 r5");
    assert_eq!(t.sender.counters().timeouts, 1);
}

/// RFC 8985 section 7.3: one probe at a time, and none before an RTT is known: the retransmission
/// timer decides, at its time.
#[test]
fn no_probe_without_a_round_trip_and_no_second_one() {
    let cc = Fixed::new(4);
    let mut t = Script::new(options(), cc.boxed(), Some(4));
    t.sends("0-3").due(1000).sends("r0 r1 r2 r3");
    assert_eq!((t.sender.counters().probes, t.sender.counters().timeouts), (0, 1));
    let mut t = Script::new(options(), cc.boxed(), Some(4));
    t.sends("0-3").at(100).ack(2).sends("").due(300).sends("r3").due(1300).sends("r2 r3");
    assert_eq!((t.sender.counters().probes, t.sender.counters().timeouts), (1, 1));
}

/// RFC 8985 section 7.2: nothing outstanding, nothing to probe: no timer is left when the transfer is over.
#[test]
fn the_timer_goes_with_the_last_ack() {
    let mut t = Script::new(options(), Fixed::new(10).boxed(), Some(10));
    t.sends("0-9").at(100).ack(5).sends("").at(110).ack(10).idle();
}

/// RFC 8985 section 7.2: no probe while segments are SACKed or in recovery.
#[test]
fn sacked_segments_leave_it_to_rack() {
    let cc = Fixed::new(10);
    let mut t = Script::new(options(), cc.boxed(), Some(10));
    t.sends("0-9").at(100).sack(4, &[(5, 6)]).sends("").due(125).sends("r4").due(1125);
    assert_eq!(t.sender.counters().probes, 0);
}

/// Segments 1 to 4 fill the receive window, 4 is probed at 300 ms and the ACK of it comes at 400 ms.
fn probed() -> (Script, Fixed) {
    let cc = Fixed::new(10).with(|c| c.after_loss = 5);
    let mut t = Script::new(Options { receive_window: Some(4), ..options() }, cc.boxed(), None);
    t.sends("0-3").at(100).ack(1).sends("4").due(300).sends("r4").at(400).ack(5).sends("5-8");
    assert!(cc.told().congestion.is_empty(), "which copy was acknowledged is not known");
    (t, cc)
}

/// RFC 8985 section 7.4.2: an ACK beyond the probe and no sign that both copies arrived: a loss was repaired,
/// to which congestion control reacts once, as to an episode that is over.
#[test]
fn a_loss_that_the_probe_repaired_is_congestion() {
    let (mut t, cc) = probed();
    t.at(500).ack(6).window(5.0, 5.0).at(510).ack(7);
    assert_eq!((cc.told().congestion, cc.told().life), (vec![Congestion::Loss], vec![Life::Recovered]));
}

/// RFC 8985 section 7.4.2: a D-SACK of the probe, or a duplicate ACK without SACK
/// blocks: both copies arrived.
#[test]
fn a_probe_that_was_not_needed_is_no_congestion() {
    let (mut t, cc) = probed();
    t.at(410).sack(5, &[(4, 5)]).at(500).ack(6);
    assert!(cc.told().congestion.is_empty());
    let (mut t, cc) = probed();
    t.at(410).ack(5).at(500).ack(6);
    assert!(cc.told().congestion.is_empty());
    // The D-SACK comes with an ACK that is beyond the probe already.
    let (mut t, cc) = probed();
    t.at(500).sack(6, &[(4, 5)]).at(510).ack(7);
    assert!(cc.told().congestion.is_empty());
}

/// A D-SACK of the probe does not widen the reordering window: 5 sent at 400 ms is lost
/// 125 ms later, not 150 ms.
#[test]
fn a_needless_probe_is_no_reordering() {
    let (mut t, _) = probed();
    t.at(410).sack(5, &[(4, 5)]).at(500).sack(5, &[(6, 7)]).sends("").due(525).sends("r5");
}

/// A tail loss probe works without RACK: the probe's SACK and RFC 6675 do what they can.
#[test]
fn without_rack() {
    let cc = Fixed::new(10);
    let mut t = Script::new(Options { rack: false, ..options() }, cc.boxed(), Some(10));
    t.sends("0-9").at(100).ack(9).sends("").due(500).sends("r9").at(600).ack(10).idle();
    // RFC 8985 section 7.2: nor while a segment is SACKed.
    let mut t = Script::new(Options { rack: false, ..options() }, cc.boxed(), Some(10));
    t.sends("0-9").at(100).sack(4, &[(5, 6)]).sends("").due(1100);
    assert_eq!((t.sender.counters().probes, t.sender.counters().timeouts), (0, 1));
}
