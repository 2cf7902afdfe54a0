//! RFC 6675: loss recovery by selective acknowledgements.

use bentpipe_cc::{Congestion, Life};
use bentpipe_tcp::{LossRecovery, Options};

use crate::script::{Fixed, Script, plain};

fn options() -> Options {
    plain(LossRecovery::Sack)
}

/// Ten segments in flight of `segments`, and a window of five after a loss.
fn ten(segments: Option<u64>) -> (Script, Fixed) {
    let cc = Fixed::new(10).with(|c| c.after_loss = 5);
    let mut t = Script::new(options(), cc.boxed(), segments);
    t.sends("0-9").at(100);
    (t, cc)
}

/// RFC 6675 section 4, IsLost: three segments SACKed above it; section 5 step 4.3: the first retransmission
/// goes out though pipe (6) exceeds cwnd (5).
#[test]
fn lost_when_three_above_are_sacked() {
    let (mut t, _) = ten(None);
    t.sack(0, &[(1, 2)]).sends("").sack(0, &[(1, 3)]).sends("").flight(8);
    t.sack(0, &[(1, 4)]).flight(6).sends("r0").flight(7);
}

/// RFC 6675 section 4, IsLost: or three discontiguous runs.
#[test]
fn lost_when_three_runs_above_are_sacked() {
    let (mut t, _) = ten(None);
    t.sack(0, &[(2, 3)]).sack(0, &[(4, 5), (2, 3)]).sends("").sack(0, &[(6, 7), (4, 5), (2, 3)]).flight(5);
    t.sends("r0").flight(6).sack(0, &[(8, 9), (6, 7), (4, 5)]).flight(4).sends("r1").flight(5);
}

/// RFC 6675 section 5 step 2: one ACK is enough if its SACK blocks show the loss.
#[test]
fn one_acknowledgement_can_reveal_the_loss() {
    let (mut t, _) = ten(None);
    t.sack(0, &[(1, 4)]).sends("r0");
}

/// RFC 6675 section 2: an ACK that SACKs nothing new is no duplicate.
#[test]
fn acknowledgements_without_news_do_not_count() {
    let (mut t, cc) = ten(None);
    t.sack(0, &[(1, 2)])
        .sack(0, &[(1, 2)])
        .sack(0, &[(1, 2)])
        .sack(0, &[(1, 2)])
        .ack(0)
        .ack(0)
        .ack(0)
        .sends("");
    assert!(cc.told().congestion.is_empty());
}

/// RFC 6675 section 4, NextSeg rules 1 and 2: lost segments first, lowest first, then new data; section 5
/// step C: as long as cwnd - pipe allows one segment.
#[test]
fn lost_segments_go_before_new_data() {
    let (mut t, _) = ten(None);
    t.sack(0, &[(3, 4)]).sack(0, &[(3, 5)]).sack(0, &[(3, 6)]).flight(4).sends("r0").flight(5);
    t.sack(0, &[(3, 7)]).sends("r1").sack(0, &[(3, 8)]).sends("r2").sack(0, &[(3, 9)]).sends("10");
    t.sack(0, &[(3, 10)]).sends("11").at(200).sack(1, &[(3, 10)]).sends("12");
}

/// RFC 6675 section 4, NextSeg rules 3 and 4, section 5 step 4.3: without new data, segments below the
/// highest SACKed one that are not yet lost; then, once more than the first retransmission is acknowledged,
/// the highest outstanding one, once.
#[test]
fn doubtful_segments_and_the_rescue() {
    let (mut t, _) = ten(Some(10));
    t.sack(0, &[(1, 5)]).sends("r0").flight(6).sack(0, &[(6, 7), (1, 5)]).sends("").flight(5);
    t.sack(0, &[(6, 8), (1, 5)]).flight(4).sends("r5").flight(5); // rule 3: both copies may be in flight
    t.sack(0, &[(6, 9), (1, 5)]).flight(3).sends(""); // 5 is lost now; no rescue yet
    t.at(200).sack(5, &[(6, 9)]).sends("r9").at(210).sack(5, &[(6, 9)]).sends("");
    t.at(220).ack(10).sends("").idle();
    assert_eq!(t.sender.counters().retransmitted, 3);
}

/// RFC 6675 section 4, NextSeg rule 4: no rescue while only the first retransmission is acknowledged.
#[test]
fn no_rescue_before_more_than_the_first_retransmission_is_acknowledged() {
    let (mut t, _) = ten(Some(10));
    t.sack(0, &[(2, 9)]).sends("r0 r1").at(200).sack(1, &[(2, 9)]).sends("");
    t.sack(9, &[]).sends("r9");
}

/// RFC 6675 section 5 step C.4: what rule 3 resends adds to pipe, so that it does not come as a burst.
#[test]
fn doubtful_segments_fill_the_pipe_and_no_more() {
    let mut t = Script::new(options(), Fixed::new(20).boxed(), Some(20));
    t.sends("0-19").at(100).sack(0, &[(5, 6), (10, 11), (15, 16)]).flight(12);
    t.sends("r0 r1 r2 r3 r4 r6 r7 r8").flight(20);
}

/// RFC 6675 section 5: what was not lost is never sent again.
#[test]
fn only_holes_are_retransmitted() {
    let (mut t, _) = ten(Some(10));
    t.sack(0, &[(1, 2)]).sack(0, &[(1, 3)]).sack(0, &[(4, 5), (1, 3)]).sends("r0");
    t.sack(0, &[(4, 6), (1, 3)]).sack(0, &[(4, 7), (1, 3)]).sack(0, &[(4, 8), (1, 3)]).sends("r3");
    t.sack(0, &[(4, 9), (1, 3)]).sack(0, &[(4, 10), (1, 3)]).sends("");
    t.at(200).sack(3, &[(4, 10)]).sends("").at(250).ack(10).sends("").idle();
    assert_eq!((t.sender.counters().retransmitted, t.sender.counters().sent), (2, 12));
}

/// RFC 6675 section 5: recovery is entered once for a window, and ends with RecoveryPoint; the
/// next loss begins another.
#[test]
fn one_reduction_per_window() {
    let (mut t, cc) = ten(None);
    t.sack(0, &[(1, 4)]).sends("r0").sack(0, &[(1, 4), (5, 9)]).flight(2).sends("r4 10-11");
    t.at(200).sack(4, &[(5, 9)]).sends("12").at(210).ack(9).sends("13");
    assert_eq!(cc.told().congestion, [Congestion::Loss]);
    assert_eq!(cc.told().life, []);
    t.at(220).ack(10).sends("14");
    assert_eq!(cc.told().life, [Life::Recovered]);
    t.at(300).sack(10, &[(11, 14)]).sends("r10 15-17");
    assert_eq!(cc.told().congestion, [Congestion::Loss; 2]);
}

/// RFC 6675 section 5: losses among what was sent during recovery, known when it
/// ends, begin the next at once.
#[test]
fn losses_known_at_the_end_begin_the_next_recovery() {
    let (mut t, cc) = ten(None);
    t.sack(0, &[(1, 10)])
        .sends("r0 10-13")
        .at(200)
        .sack(0, &[(11, 14), (1, 10)])
        .flight(1)
        .sends("r10 14-16");
    t.sack(10, &[(11, 14)]).flight(4).sends("17");
    assert_eq!(cc.told().congestion, [Congestion::Loss; 2]);
    assert_eq!(cc.told().life, [Life::Recovered]);
}

/// The controller hears of a segment as lost only if it is: not of those that the same ACK covers.
#[test]
fn acknowledged_segments_are_not_declared_lost() {
    let (mut t, cc) = ten(None);
    t.sack(5, &[(6, 9)]).flight(1).sends("r5 10-12");
    let lost: u64 = cc.told().acks.iter().map(|a| a.lost).sum();
    assert_eq!((lost, t.sender.flow().lost), (1000, 1000));
    t.at(200).sack(10, &[]).sends("13-14");
    assert_eq!(t.sender.flow().delivered, 10_000);
}

/// RFC 6675 section 5.1: after a timeout the SACK information still says what need not be sent again.
#[test]
fn timeout_skips_what_is_sacked() {
    let cc = Fixed::new(10).with(|c| c.after_timeout = 4);
    let mut t = Script::new(options(), cc.boxed(), None);
    t.sends("0-9")
        .at(100)
        .sack(0, &[(1, 2)])
        .sack(0, &[(5, 6), (1, 2)])
        .sends("")
        .due(1000)
        .sends("r0 r2 r3 r4");
    t.at(1100).sack(2, &[(5, 6)]).sends("r6").sack(6, &[]).sends("r7 r8 r9");
}

/// RFC 6675 section 5.1: no recovery before what was outstanding at the timeout is
/// acknowledged; then, at once.
#[test]
fn no_recovery_before_the_point_of_the_timeout() {
    let cc = Fixed::new(4);
    let mut t = Script::new(options(), cc.boxed(), None);
    t.sends("0-3")
        .due(1000)
        .sends("r0 r1 r2 r3")
        .at(1100)
        .ack(3)
        .sends("4-6")
        .sack(3, &[(4, 7)])
        .sends("7-9");
    assert_eq!(cc.told().congestion, [Congestion::Timeout]);
    t.at(1200).sack(7, &[(8, 10)]).sends("10").sack(7, &[(8, 11)]).sends("r7 11-13");
    assert_eq!(cc.told().congestion, [Congestion::Timeout, Congestion::Loss]);
}

/// RFC 9293 section 3.10.7.4: an ACK that is overtaken changes nothing, nor do SACK blocks below `una`.
#[test]
fn old_acknowledgements_without_news_change_nothing() {
    let (mut t, cc) = ten(None);
    t.ack(5).sends("10-14").ack(3).sack(2, &[(3, 5)]).sack(2, &[(3, 4), (3, 5)]).sends("").flight(10);
    assert!(cc.told().congestion.is_empty());
}

/// RFC 6675 sections 2 and 4: the SACK blocks of an overtaken ACK count as those of any other.
#[test]
fn an_old_acknowledgement_brings_its_blocks() {
    let (mut t, cc) = ten(None);
    t.ack(5).sends("10-14").sack(2, &[(6, 8)]).flight(8).sack(3, &[(6, 9)]).flight(6).sends("r5");
    assert_eq!(cc.told().congestion, [Congestion::Loss]);
}

/// TCPW with Bulk Repeat (ICC 2003): at a loss everything outstanding and not SACKed goes out again, if
/// controller and options agree.
#[test]
fn bulk_repeat() {
    let cc = Fixed::new(10).with(|c| c.repeat = true);
    for (on, sent) in [(true, "r0 r4 r5 r6 r7 r8 r9 10-12"), (false, "r0 10-12")] {
        let mut t = Script::new(Options { bulk_repeat: on, ..options() }, cc.boxed(), None);
        t.sends("0-9").at(100).sack(0, &[(1, 4)]).sends(sent);
    }
}
