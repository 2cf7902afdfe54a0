//! RFC 5681: slow start, congestion avoidance, fast retransmit and fast recovery without SACK.

use bentpipe_tcp::LossRecovery;

use crate::script::{Script, plain, reno};

fn ten() -> Script {
    Script::new(plain(LossRecovery::Reno), reno(10.0, 10.0), None)
}

/// RFC 5681 section 3.1 eq. 2: one segment more for every ACK of new data.
#[test]
fn slow_start_doubles_each_round() {
    let mut t = Script::new(plain(LossRecovery::Reno), reno(2.0, f64::INFINITY), None);
    t.sends("0-1").at(100).ack(1).sends("2-3").ack(2).sends("4-5").window(4.0, f64::INFINITY);
    t.at(200).ack(3).sends("6-7").ack(4).sends("8-9").ack(5).sends("10-11").ack(6).sends("12-13");
    t.window(8.0, f64::INFINITY);
}

/// RFC 5681 section 3.1 eq. 3: 1 / cwnd for every ACK above the threshold: 4, 4.25, 4.485, 4.708, 4.921.
#[test]
fn congestion_avoidance_adds_one_each_round() {
    let mut t = Script::new(plain(LossRecovery::Reno), reno(4.0, 4.0), None);
    t.sends("0-3").at(100).ack(1).sends("4").window(4.25, 4.0).ack(2).sends("5").window(4.485, 4.0);
    t.ack(3).sends("6").window(4.708, 4.0).ack(4).sends("7").window(4.921, 4.0);
    t.at(200).ack(5).sends("8-9").window(5.124, 4.0);
}

/// RFC 5681 section 3.2 step 2: exactly the third duplicate, neither the second nor (again) the fourth. Step
/// 2: the threshold is half the flight.
#[test]
fn third_duplicate_retransmits() {
    let mut t = ten();
    t.sends("0-9").at(100).ack(0).sends("").ack(0).sends("").window(10.0, 10.0);
    t.ack(0).sends("r0").window(5.0, 5.0).ack(0).sends("");
    assert_eq!(t.sender.counters().recoveries, 1);
}

/// RFC 5681 section 2: an ACK with nothing outstanding is no duplicate, and one for new data starts the count
/// again. Then (section 3.2 steps 3 and 4) cwnd = 2 + 3 exceeds the flight of 4 by one.
#[test]
fn only_consecutive_duplicates_count() {
    let mut t = Script::new(plain(LossRecovery::Reno), reno(4.0, 4.0), None);
    t.ack(0).ack(0).ack(0).sends("0-3");
    t.at(100).ack(0).ack(0).sends("").ack(1).sends("4").ack(1).ack(1).sends("").ack(1).sends("r1 5");
}

/// RFC 5681 section 3.2 steps 3 to 5: cwnd = 5 + 3 while 10 are outstanding; each further duplicate adds
/// one, so the sixth is the first that releases a new segment; RFC 5681 step 6: after the full ACK the
/// window is the threshold.
#[test]
fn inflation_and_deflation() {
    let mut t = ten();
    t.sends("0-9").at(100).ack(0).ack(0).ack(0).sends("r0");
    t.ack(0)
        .sends("")
        .ack(0)
        .sends("")
        .ack(0)
        .sends("10")
        .ack(0)
        .sends("11")
        .ack(0)
        .sends("12")
        .ack(0)
        .sends("13");
    t.at(200).ack(10).window(5.0, 5.0).sends("14");
}

/// RFC 5681 section 3.2 step 6: Reno's fast recovery ends with the first ACK of new data; the next hole needs
/// the timer, as one window may be reduced only once (section 4.3).
#[test]
fn reno_ends_recovery_at_a_partial_ack() {
    let mut t = ten();
    t.sends("0-9").at(100).ack(0).ack(0).ack(0).sends("r0").at(200).ack(4).window(5.0, 5.0).sends("");
    t.ack(4).ack(4).ack(4).sends("").window(5.0, 5.0);
    assert_eq!(t.sender.counters().recoveries, 1);
    // The first sample is that of segments 1-3? They arrived while segment 0 was repaired:
    // none; RTO 1 s from the ACK.
    t.due(1200).sends("r4").window(1.0, 2.5);
}

/// RFC 5681 section 3.2 step 1: the first two duplicates leave the window as it is, in slow start too.
#[test]
fn duplicates_do_not_open_the_window() {
    let mut t = Script::new(plain(LossRecovery::Reno), reno(10.0, f64::INFINITY), None);
    t.sends("0-9").at(100).ack(0).ack(0).window(10.0, f64::INFINITY).ack(0).sends("r0").window(5.0, 5.0);
}
