//! Tahoe: V. Jacobson, Congestion Avoidance and Control, SIGCOMM 1988, section 3 and
//! appendix D; as ns-2's Agent/TCP.

use bentpipe_cc::{Congestion, Phase};
use bentpipe_tcp::{LossRecovery, Options, SpuriousTimeout};

use crate::script::{Fixed, Script, plain, reno};

fn ten() -> Script {
    Script::new(plain(LossRecovery::Tahoe), reno(10.0, 10.0), None)
}

/// The third duplicate and no other: the first segment goes out again, the window is one segment, the
/// threshold half of what it was.
#[test]
fn the_third_duplicate_begins_slow_start_from_one_segment() {
    let mut t = ten();
    t.sends("0-9").at(100).ack(0).ack(0).sends("").window(10.0, 10.0).ack(0).sends("r0").window(1.0, 5.0);
    assert_eq!(t.sender.flow().phase, Phase::Loss);
    // Further duplicates neither inflate the window nor begin again.
    t.ack(0).ack(0).ack(0).ack(0).sends("").window(1.0, 5.0);
    let counters = t.sender.counters();
    assert_eq!((counters.recoveries, counters.timeouts, counters.retransmitted), (1, 0, 1));
    // Nothing else was lost. Slow start: 1 + 1 segments.
    t.at(200).ack(10).window(2.0, 5.0).sends("10-11");
    t.at(300).ack(11).sends("12-13").ack(12).sends("14-15").window(4.0, 5.0);
}

/// With 0 and 4 lost, slow start sends again from the hole on, what the receiver has included, as long as no
/// acknowledgement covers it: two segments after the first one, 4 and 5.
#[test]
fn slow_start_sends_again_what_lies_behind_the_next_hole() {
    let mut t = ten();
    t.sends("0-9").at(100).ack(0).ack(0).ack(0).sends("r0");
    t.at(200).ack(4).window(2.0, 5.0).sends("r4 r5");
    t.at(300).ack(10).window(3.0, 5.0).sends("10-12");
    // The copy of segment 5 was not needed: its acknowledgement is a duplicate.
    t.ack(10).sends("").window(3.0, 5.0);
    assert_eq!((t.sender.counters().recoveries, t.sender.counters().retransmitted), (1, 3));
}

/// Only duplicates of an acknowledgement beyond all that was outstanding begin the next slow start (ns-2:
/// `highest_ack_ > recover_`).
#[test]
fn one_window_of_losses_is_one_slow_start() {
    let mut t = ten();
    t.sends("0-9").at(100).ack(0).ack(0).ack(0).sends("r0");
    t.at(200).ack(4).ack(4).ack(4).ack(4).sends("r4 r5").window(2.0, 5.0);
    assert_eq!(t.sender.counters().recoveries, 1);
    t.at(300)
        .ack(10)
        .sends("10-12")
        .at(400)
        .ack(11)
        .sends("13-14")
        .ack(11)
        .ack(11)
        .ack(11)
        .sends("r11")
        .window(1.0, 2.0);
    assert_eq!(t.sender.counters().recoveries, 2);
}

/// The timer starts anew at the fast retransmit, and is not backed off: 1 s from 100 ms on.
#[test]
fn the_timer_starts_anew_and_is_not_doubled() {
    let mut t = ten();
    t.sends("0-9").at(100).ack(0).ack(0).ack(0).sends("r0").due(1100).sends("r0");
    assert_eq!(t.sender.counters().timeouts, 1);
    t.due(3100).sends("r0");
}

/// The controller hears of a timeout, which is Tahoe's answer to both. No undo follows,
/// whatever the sender looks for.
#[test]
fn the_controller_is_told_of_a_timeout() {
    let fixed = Fixed::new(10).with(|cc| cc.after_timeout = 1);
    let options = Options { spurious: SpuriousTimeout::FRto, ..plain(LossRecovery::Tahoe) };
    let mut t = Script::new(options, fixed.boxed(), None);
    t.sends("0-9").at(100).ack(0).ack(0).ack(0).sends("r0").at(150).ack(5).ack(10);
    assert_eq!(fixed.told().congestion, [Congestion::Timeout]);
    assert_eq!(fixed.told().undone, 0);
}
