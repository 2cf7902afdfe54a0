//! RFC 6582: NewReno.

use bentpipe_cc::{Congestion, Time};
use bentpipe_tcp::{LossRecovery, NewRenoExit, Options};

use crate::script::{Fixed, Script, plain, reno};

fn ten() -> Script {
    let mut t = Script::new(plain(LossRecovery::NewReno), reno(10.0, 10.0), None);
    t.sends("0-9").at(100);
    t
}

/// RFC 6582 section 3.2 step 3: a partial ACK sends the next hole, and a new segment if the deflated window
/// permits: losses 0, 4 and 7; the dozen that are in flight shrink to the five of the new window.
#[test]
fn partial_ack_retransmits_the_next_hole() {
    let mut t = ten();
    t.ack(0)
        .ack(0)
        .sends("")
        .ack(0)
        .sends("r0")
        .ack(0)
        .ack(0)
        .sends("")
        .ack(0)
        .sends("10")
        .ack(0)
        .sends("11");
    t.at(200).ack(4).sends("r4 12").ack(4).sends("13").ack(4).sends("14");
    t.at(300).ack(7).sends("r7 15");
}

/// RFC 6582 section 3.2: several losses of one window (0, 2 and 6) reduce it once.
#[test]
fn one_reduction_for_several_losses() {
    let cc = Fixed::new(10).with(|c| c.after_loss = 5);
    let mut t = Script::new(plain(LossRecovery::NewReno), cc.boxed(), None);
    t.sends("0-9")
        .at(100)
        .ack(0)
        .ack(0)
        .ack(0)
        .sends("r0")
        .ack(0)
        .ack(0)
        .sends("")
        .ack(0)
        .sends("10")
        .ack(0)
        .sends("11");
    t.at(200).ack(2).sends("r2 12").ack(2).sends("13").ack(2).sends("14");
    t.at(300).ack(6).sends("r6 15").ack(6).sends("16").ack(6).sends("17").ack(6).sends("18");
    t.at(400).ack(15).sends("19");
    assert_eq!(cc.told().congestion, [Congestion::Loss]);
    assert_eq!(t.sender.counters().retransmitted, 3);
}

/// RFC 6582 section 3.2 step 3: the partial ACK's retransmission goes out even when the window is full.
#[test]
fn partial_ack_retransmits_at_once() {
    let mut t = ten();
    t.ack(0).ack(0).ack(0).sends("r0").flight(7).at(200).ack(1).sends("r1");
}

/// RFC 6582 section 3.2 step 3, Impatient variant of section 4: only the first
/// partial ACK restarts the timer.
#[test]
fn only_the_first_partial_ack_restarts_the_timer() {
    let mut t = ten();
    t.ack(0).ack(0).ack(0).sends("r0").at(300).ack(2).sends("r2");
    assert_eq!(t.sender.deadline(), Some(Time(1_300_000_000)));
    t.at(500).ack(4).sends("r4");
    assert_eq!(t.sender.deadline(), Some(Time(1_300_000_000)));
    t.at(700).ack(6).sends("r6 10").due(1300).sends("r6");
}

/// RFC 6582 section 3.2 steps 1 and 4: after a timeout, duplicates of what was sent before start no fast
/// retransmit: they may come from retransmissions that were not needed.
#[test]
fn no_fast_retransmit_for_old_data_after_a_timeout() {
    let cc = Fixed::new(10).with(|c| c.after_timeout = 1);
    let mut t = Script::new(plain(LossRecovery::NewReno), cc.boxed(), None);
    t.sends("0-9").due(1000).sends("r0").at(1100).ack(5).sends("r5").ack(5).ack(5).ack(5).ack(5).sends("");
    t.at(1200).ack(10).sends("10").ack(10).ack(10).ack(10).ack(10).sends("");
    assert_eq!(cc.told().congestion, [Congestion::Timeout]);
}

/// RFC 6582 section 3.2 step 1: the ban ends with data beyond `recover`.
#[test]
fn fast_retransmit_works_again_beyond_recover() {
    let cc = Fixed::new(10).with(|c| (c.after_timeout, c.after_loss) = (4, 1));
    let mut t = Script::new(plain(LossRecovery::NewReno), cc.boxed(), None);
    t.sends("0-9")
        .due(1000)
        .sends("r0 r1 r2 r3")
        .at(1100)
        .ack(10)
        .sends("10-13")
        .at(1200)
        .ack(11)
        .sends("14");
    t.ack(11).ack(11).sends("").ack(11).sends("r11");
    assert_eq!(cc.told().congestion, [Congestion::Timeout, Congestion::Loss]);
}

/// RFC 6582 section 3.2 step 3, full acknowledgement, option 1: the window is min(ssthresh,
/// max(FlightSize, SMSS) + SMSS), so that no burst follows: with nothing outstanding two segments, then
/// one more for each that is acknowledged.
#[test]
fn no_burst_after_recovery() {
    let mut t = Script::new(plain(LossRecovery::NewReno), reno(20.0, 20.0), None);
    t.sends("0-19")
        .at(100)
        .ack(0)
        .ack(0)
        .ack(0)
        .sends("r0")
        .at(200)
        .ack(20)
        .window(10.0, 10.0)
        .sends("20-21");
    t.at(300).ack(21).sends("22-23").ack(22).sends("24-25");
    t.at(400).ack(23).sends("26-27").ack(24).sends("28-29").ack(25).sends("30-31").ack(26).sends("32-33");
}

/// RFC 6582 section 3.2 step 3, full acknowledgement, option 2: the window is ssthresh,
/// and a burst of it follows.
#[test]
fn option_2_sends_the_whole_window() {
    let options = Options { newreno_exit: NewRenoExit::Ssthresh, ..plain(LossRecovery::NewReno) };
    let mut t = Script::new(options, reno(20.0, 20.0), None);
    t.sends("0-19")
        .at(100)
        .ack(0)
        .ack(0)
        .ack(0)
        .sends("r0")
        .at(200)
        .ack(20)
        .window(10.0, 10.0)
        .sends("20-29");
}

/// RFC 6582 section 3.2 step 1: right after recovery, duplicates of exactly `recover` start nothing.
#[test]
fn duplicates_of_recover_start_nothing() {
    let mut t = ten();
    t.ack(0).ack(0).ack(0).sends("r0").at(200).ack(10).sends("10-11").ack(10).ack(10).ack(10).sends("");
    assert_eq!(t.sender.counters().recoveries, 1);
}
