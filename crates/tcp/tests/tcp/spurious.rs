//! Spurious timeouts: F-RTO (RFC 5682), Eifel detection (RFC 3522) and the response (RFC 4015).

use bentpipe_tcp::{LossRecovery, Options, SpuriousTimeout};

use crate::script::{Fixed, Script, plain, reno};

/// Ten segments sent, the timer has expired at 1 s and the first went out again.
fn timed_out(change: impl FnOnce(&mut Options), segments: Option<u64>) -> Script {
    let mut options = Options { spurious: SpuriousTimeout::FRto, ..plain(LossRecovery::NewReno) };
    change(&mut options);
    let mut t = Script::new(options, reno(10.0, 10.0), segments);
    t.sends("0-9").due(1000).sends("r0").window(1.0, 5.0).at(1100);
    t
}

/// RFC 5682 section 2.1 steps 2b and 3b: two new segments for the first ACK; the second advances too:
/// spurious. The window is restored (and grows by 1/10 for that ACK) and nothing else is sent again.
#[test]
fn f_rto_spurious() {
    let mut t = timed_out(|_| (), None);
    t.ack(1)
        .sends("10-11")
        .ack(2)
        .window(10.1, 10.0)
        .flight(10)
        .sends("")
        .ack(3)
        .sends("12")
        .ack(4)
        .sends("13");
    assert_eq!((t.sender.counters().spurious_timeouts, t.sender.counters().retransmitted), (1, 1));
}

/// RFC 5682 section 2.1 step 2b: at most two new segments, and no retransmission, however far the
/// first ACK opens the window.
#[test]
fn f_rto_sends_nothing_else_meanwhile() {
    timed_out(|_| (), None).ack(5).sends("10-11").ack(6).window(10.1, 10.0);
}

/// RFC 5682 section 2.1 step 3a: a duplicate instead of the second advance: genuine. The new segments fill
/// the window of 2, so the RFC sets it to 3 to let one retransmission out.
#[test]
fn f_rto_genuine_at_the_second_ack() {
    let mut t = timed_out(|_| (), None);
    t.ack(1).sends("10-11").ack(1).sends("r1").ack(1).sends("").window(2.0, 5.0);
    t.at(1200).ack(2).sends("r2").window(3.0, 5.0);
    assert_eq!(t.sender.counters().spurious_timeouts, 0);
}

/// RFC 5682 section 3: the same with SACK: the duplicate reports only new data.
#[test]
fn f_rto_genuine_with_sack() {
    let mut t = timed_out(|o| o.recovery = LossRecovery::Sack, None);
    t.ack(1).sends("10-11").sack(1, &[(10, 11)]).sends("r1").sack(1, &[(10, 12)]).sends("r2");
    assert_eq!(t.sender.counters().spurious_timeouts, 0);
}

/// RFC 5682 section 2.1 step 3b: the timer had declared ten segments lost, and none was.
#[test]
fn a_spurious_timeout_has_lost_nothing() {
    let mut t = timed_out(|_| (), None);
    assert_eq!(t.sender.flow().lost, 10_000);
    t.ack(1).sends("10-11");
    assert_eq!(t.sender.flow().lost, 10_000);
    t.ack(2);
    assert_eq!((t.sender.flow().lost, t.sender.flow().delivered), (0, 2000));
}

/// RFC 5682 section 2.1: the ACKs that follow the retransmission judge; one from before it, overtaken on its
/// way, is none of them, whatever it SACKs.
#[test]
fn f_rto_does_not_heed_an_old_ack() {
    let mut t = timed_out(|o| o.recovery = LossRecovery::Sack, None);
    t.ack(2).sends("10-11").sack(1, &[(3, 5)]).sends("").ack(3);
    assert_eq!(t.sender.counters().spurious_timeouts, 1);
}

/// RFC 5682 section 2.1 step 2a: a duplicate first: conventional recovery, and no second chance.
#[test]
fn f_rto_gives_up_at_a_duplicate() {
    timed_out(|_| (), None).ack(0).sends("").ack(1).sends("r1 r2").ack(2).sends("r3 r4").window(3.0, 5.0);
}

/// RFC 5682 section 2.1 step 2a: an ACK of everything decides nothing.
#[test]
fn f_rto_cannot_tell_when_all_is_acknowledged() {
    let mut t = timed_out(|_| (), None);
    t.ack(10);
    assert_eq!(t.sender.counters().spurious_timeouts, 0);
    assert!(t.sender.cwnd_segments() < 10.0);
}

/// RFC 5682 section 2.1 step 2b: without new data, conventional recovery.
#[test]
fn f_rto_without_new_data() {
    timed_out(|_| (), Some(10)).ack(1).sends("r1 r2").ack(2).sends("r3 r4");
}

/// RFC 5682 section 2.1 step 2b: one new segment is enough, if the data or the receive
/// window has no room for two.
#[test]
fn f_rto_with_one_new_segment() {
    let mut t = timed_out(|_| (), Some(11));
    t.ack(1).sends("10").ack(2).window(10.1, 10.0).sends("");
    let mut t = timed_out(|o| o.receive_window = Some(10), None);
    t.ack(1).sends("10").ack(2).window(10.1, 10.0).sends("11");
}

/// RFC 5682 section 2.1 step 1: not for the second of two timeouts in a row.
#[test]
fn f_rto_not_for_repeated_timeouts() {
    let options = Options { spurious: SpuriousTimeout::FRto, ..plain(LossRecovery::NewReno) };
    let mut t = Script::new(options, reno(10.0, 10.0), None);
    t.sends("0-9").due(1000).sends("r0").due(3000).sends("r0").at(3100).ack(1).sends("r1 r2");
}

/// F-RTO does not judge a timeout during fast recovery: segments that had been sent again
/// already would look spurious.
#[test]
fn f_rto_not_during_fast_recovery() {
    let options = Options { spurious: SpuriousTimeout::FRto, ..plain(LossRecovery::Sack) };
    let mut t = Script::new(options, reno(10.0, 10.0), None);
    t.sends("0-9").at(100).sack(0, &[(1, 4)]).sends("r0").due(1100).sends("r0");
    t.at(1200).sack(4, &[]).sends("r4 r5");
    assert!(t.sender.cwnd_segments() < 10.0);
}

/// RFC 3522 section 3.2: the first ACK echoes a timestamp from before the retransmission: spurious. RFC 4015
/// section 3: the window comes back and new data follows.
#[test]
fn eifel_spurious() {
    let mut t = timed_out(|o| (o.spurious, o.timestamps) = (SpuriousTimeout::Eifel, true), None);
    t.echo(1, 0).window(10.1, 10.0).sends("10").echo(2, 0).sends("11");
    assert_eq!((t.sender.counters().spurious_timeouts, t.sender.counters().retransmitted), (1, 1));
}

/// RFC 3522 section 3.2: it echoes the retransmission's own: genuine.
#[test]
fn eifel_genuine() {
    let mut t = timed_out(|o| (o.spurious, o.timestamps) = (SpuriousTimeout::Eifel, true), None);
    t.echo(1, 1000).window(2.0, 5.0).sends("r1 r2").echo(2, 0).sends("r3 r4");
    assert_eq!(t.sender.counters().spurious_timeouts, 0);
}

/// RFC 3522 section 3.2 step 4: it waits for an ACK that advances, whatever duplicates come before.
#[test]
fn eifel_waits_for_an_advancing_ack() {
    let mut t = timed_out(|o| (o.spurious, o.timestamps) = (SpuriousTimeout::Eifel, true), None);
    t.echo(0, 0).sends("").echo(1, 0).window(10.1, 10.0).sends("10");
    assert_eq!(t.sender.counters().spurious_timeouts, 1);
}

/// RFC 3522 section 3.2 needs timestamps.
#[test]
fn eifel_without_timestamps() {
    timed_out(|o| o.spurious = SpuriousTimeout::Eifel, None).ack(1).sends("r1 r2");
}

/// RFC 5682 section 2.1 step 3b: after a spurious timeout fast retransmit works again at once.
#[test]
fn fast_retransmit_after_undo() {
    let mut t = timed_out(|_| (), None);
    t.ack(1).sends("10-11").ack(2).sends("").ack(2).ack(2).sends("").ack(2).sends("r2").window(5.05, 5.05);
}

/// RFC 4015 section 3: the undo is reported to the controller once, and with SACK the marks of the timeout
/// are gone.
#[test]
fn undo_is_reported() {
    let options = Options { spurious: SpuriousTimeout::FRto, ..plain(LossRecovery::Sack) };
    let cc = Fixed::new(10).with(|c| c.after_timeout = 2);
    let mut t = Script::new(options, cc.boxed(), None);
    t.sends("0-9").due(1000).sends("r0 r1").at(1100).ack(1).sends("10").ack(2).flight(9).sends("11");
    assert_eq!(cc.told().undone, 1);
}
