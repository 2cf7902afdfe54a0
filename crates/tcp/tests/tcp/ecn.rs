//! RFC 3168: explicit congestion notification.

use bentpipe_cc::{Congestion, Phase, RecoveryWindow, Start, registry};
use bentpipe_tcp::{EcnEcho, LossRecovery, Options, RtoRule};

use crate::script::{Fixed, Listener, Script, ms, plain, reno};

fn options() -> Options {
    Options { ecn: true, ..plain(LossRecovery::Sack) }
}

fn ten() -> (Script, Fixed) {
    let cc = Fixed::new(10);
    let mut t = Script::new(options(), cc.boxed(), None);
    t.sends("0-9").at(100);
    (t, cc)
}

/// RFC 3168 section 6.1.3: after a mark every ACK echoes it, until CWR arrives.
#[test]
fn echo_until_cwr() {
    let mut l = Listener::new(&options());
    l.marked(0, false, false)
        .answers("1")
        .marked(1, true, false)
        .answers("2e")
        .marked(2, false, false)
        .answers("3e");
    l.marked(3, false, false)
        .answers("4e")
        .marked(4, false, true)
        .answers("5")
        .marked(5, false, false)
        .answers("6");
}

/// RFC 3168 section 6.1.3: a segment with CWR that is itself marked starts the echo again.
#[test]
fn marked_cwr_echoes_again() {
    let mut l = Listener::new(&options());
    l.marked(0, true, false)
        .answers("1e")
        .marked(1, true, true)
        .answers("2e")
        .marked(2, false, true)
        .answers("3");
}

/// RFC 3168 section 6.1.1: no echo unless both ends agreed, and no reaction.
#[test]
fn off() {
    Listener::new(&plain(LossRecovery::Sack)).marked(0, true, false).answers("1");
    let cc = Fixed::new(10);
    let mut t = Script::new(plain(LossRecovery::Sack), cc.boxed(), None);
    t.sends("0-9").ece(1).sends("10");
    assert!(cc.told().congestion.is_empty());
}

/// RFC 3168 section 6.1.2: one reaction per window of data, and CWR on the first new segment after it.
#[test]
fn one_reduction_per_window() {
    let (mut t, cc) = ten();
    t.ece(1).sends("10w").ece(2).sends("11").ece(5).sends("12-14").ece(10).sends("15-19");
    assert_eq!(cc.told().congestion, [Congestion::Ecn]);
    // Segment 10 carried CWR; an echo for data sent after it is a new mark.
    t.at(200).ece(11).sends("20w");
    assert_eq!(cc.told().congestion, [Congestion::Ecn; 2]);
}

/// RFC 3168 section 6.1.2: the window shrinks as for a loss, and nothing is sent again.
#[test]
fn echo_reduces_without_retransmission() {
    let cc = Fixed::new(10).with(|c| c.after_loss = 5);
    let mut t = Script::new(options(), cc.boxed(), None);
    t.sends("0-9")
        .at(100)
        .ece(1)
        .sends("")
        .window(5.0, 5.0)
        .ece(5)
        .sends("")
        .ece(6)
        .sends("10w")
        .ece(7)
        .sends("11");
    assert_eq!(t.sender.counters().retransmitted, 0);
}

/// RFC 3168 section 6.1.2: no reaction to an echo when the window was reduced for a loss in the same window
/// of data; the first new segment after that reduction carries CWR too, and a retransmission never does.
#[test]
fn a_loss_counts_as_the_reduction() {
    let (mut t, cc) = ten();
    t.sack(0, &[(1, 4)]).sends("r0 10w 11-12").at(200).ece(10).sends("13-19");
    assert_eq!(cc.told().congestion, [Congestion::Loss]);
    t.at(300).ece(11).sends("20w");
    assert_eq!(cc.told().congestion, [Congestion::Loss, Congestion::Ecn]);
}

/// RFC 3168 section 6.1.2: nor when it was a timeout.
#[test]
fn a_timeout_counts_as_the_reduction() {
    let cc = Fixed::new(3);
    let mut t = Script::new(options(), cc.boxed(), None);
    t.sends("0-2").due(1000).sends("r0 r1 r2").at(1100).ece(3).sends("3w 4-5").ece(3).sends("");
    assert_eq!(cc.told().congestion, [Congestion::Timeout]);
}

/// RFC 3168 section 6.1.2, Linux's `tcp_enter_recovery` and ns-2's `dupack_action`: a loss behind a mark of
/// the same window of data is repaired, but the window is not cut again. A loss in the next window cuts.
#[test]
fn a_mark_and_then_a_loss_in_one_window_cut_once() {
    let mut t = Script::new(options(), reno(20.0, 20.0), None);
    t.sends("0-19").at(100).ece(1).sends("").window(10.0, 10.0);
    t.at(110).sack(1, &[(2, 5)]).window(10.0, 10.0).sends("r1");
    assert_eq!(t.sender.counters().recoveries, 1);
    t.at(200).ack(20).window(10.0, 10.0).sends("20w 21-29");
    t.at(300).sack(20, &[(21, 24)]).window(5.0, 5.0).sends("r20");
    assert_eq!(t.sender.counters().recoveries, 2);
}

/// DCTCP answers marks by their share, and a loss by half (RFC 8257 section 3; Linux, `dctcp_react_to_loss`).
/// Alpha is 1 at first: both halve.
#[test]
fn dctcp_and_prague_cut_for_a_loss_after_a_mark() {
    for id in ["dctcp", "prague"] {
        let start = Start { mss: 1000, initial_window: 20.0, initial_ssthresh: 20.0 };
        let cc = registry::build(id, &[], start).expect("a registered algorithm");
        let mut t = Script::new(options(), cc, None);
        t.sends("0-19").at(100).ece(1).window(10.0, 10.0);
        t.at(110).sack(1, &[(2, 5)]).window(5.0, 5.0);
    }
}

/// A controller that drives its own window hears of each: BBR answers losses alone.
#[test]
fn a_controller_that_drives_itself_hears_of_marks_and_losses() {
    let cc = Fixed::new(10).with(|c| c.recovery = RecoveryWindow::Controller);
    let mut t = Script::new(options(), cc.boxed(), None);
    t.sends("0-9").at(100).ece(1).sack(1, &[(2, 5)]);
    assert_eq!(cc.told().congestion, [Congestion::Ecn, Congestion::Loss]);
}

/// RFC 3168 section 6.1.2: the threshold is not lowered again within a round trip. So a timeout behind a mark
/// of the same window leaves one segment and the threshold, with RFC 6298's timer and with the kernel's.
/// Behind a later window it halves.
#[test]
fn a_timeout_behind_a_mark_of_its_window_leaves_the_threshold() {
    for rto in [RtoRule::Rfc6298, RtoRule::Linux] {
        let mut t = Script::new(Options { rto, ..options() }, reno(20.0, 20.0), None);
        t.sends("0-19").at(100).ece(1).window(10.0, 10.0).sends("");
        t.now = t.sender.deadline().expect("the timer runs");
        t.sender.on_deadline(t.now);
        t.window(1.0, 10.0);
        let mut t = Script::new(Options { rto, ..options() }, reno(20.0, 20.0), None);
        t.sends("0-19").at(100).ece(1).window(10.0, 10.0).at(200).ack(20).sends("20w 21-29");
        t.at(300).ack(22).sends("30-31");
        t.now = t.sender.deadline().expect("the timer runs");
        t.sender.on_deadline(t.now);
        t.window(1.0, 5.1);
    }
}

/// The recovery was needless, but the mark was not. D-SACKs for everything that was sent again end the
/// recovery, and the cut remains (Linux has `prior_ssthresh` 0 then).
#[test]
fn a_needless_recovery_behind_a_mark_does_not_take_the_cut_back() {
    let cc = Fixed::new(10).with(|c| c.after_loss = 8);
    let mut t = Script::new(Options { dsack: true, ..options() }, cc.boxed(), None);
    t.sends("0-9").at(100).ece(1).sends("").sack(1, &[(2, 5)]).sends("r1 10w 11");
    t.at(150).ack(5).at(200).sack(5, &[(1, 2)]);
    assert_eq!((t.sender.counters().spurious_recoveries, cc.told().undone), (1, 0));
    assert_eq!(t.sender.flow().phase, Phase::Open);
}

/// The controller learns how many bytes the echo covers.
#[test]
fn marked_bytes_are_reported() {
    let (mut t, cc) = ten();
    t.ack(2).ece(5);
    let ce: Vec<u64> = cc.told().acks.iter().map(|a| a.ce).collect();
    assert_eq!(ce, [0, 3000]);
}

fn exact() -> Options {
    Options { echo: EcnEcho::Dctcp, delayed_ack: Some(ms(200)), ..options() }
}

/// RFC 8257 section 3.2: an ACK echoes the state of what it covers, and leaves at once where the state
/// changes. The delayed ACK of the old state goes first.
#[test]
fn an_exact_echo_splits_where_marks_begin_and_end() {
    let mut l = Listener::new(&exact());
    l.marked(0, false, false).answers("-").marked(1, false, false).answers("2");
    l.marked(2, false, false).answers("-").marked(3, true, false).answers("3").due(0).answers("4e");
    l.marked(4, true, false).answers("-").marked(5, true, false).answers("6e");
    // Nothing waits: the change alone sends an ACK. CWR means nothing.
    l.marked(6, false, false).answers("7").marked(7, true, true).answers("8e");
}

/// Out of order, each ACK has the state of the segment that made it leave.
#[test]
fn an_exact_echo_of_segments_behind_a_gap() {
    let mut l = Listener::new(&exact());
    l.marked(0, false, false).answers("-").marked(2, true, false).answers("1").due(0).answers("1+2-3e");
    l.marked(3, true, false).answers("1+2-4e").marked(4, false, false).answers("1+2-5");
}
