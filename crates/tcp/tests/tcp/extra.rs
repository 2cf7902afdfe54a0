//! Extra segments: TCP-Peach's dummy segments and TCP-Peach+'s NIL segments, as a controller orders them.

use bentpipe_cc::registry::{self, Value};
use bentpipe_cc::{Controller, Start};
use bentpipe_tcp::{LossRecovery, Options};

use crate::script::{Listener, MSS, Script, ms, plain};

fn probing(id: &str, rwnd: f64, initial_window: f64, initial_ssthresh: f64) -> Box<dyn Controller> {
    let rwnd = [("rwnd".to_owned(), Value::Number(rwnd))];
    registry::build(id, &rwnd, Start { mss: MSS, initial_window, initial_ssthresh }).expect("registered")
}

/// The start at 100 ms, when the RTT of 100 ms is known: rwnd = 5 leaves 4 dummy segments, one every 20 ms.
fn sudden_start() -> Script {
    let mut t = Script::new(plain(LossRecovery::Sack), probing("peach", 5.0, 1.0, f64::INFINITY), None);
    t.sends("0").at(100).ack(1).sends("1-2");
    for due in [120, 140, 160, 180] {
        t.due(due).sends("x2");
    }
    t
}

/// Dummy segments leave evenly over a round trip, copies of the last segment, beside the window.
/// The acknowledgement of one raises the window by a segment. They are neither in flight nor
/// among the segments sent.
#[test]
fn dummy_segments_are_spaced_and_each_acknowledgement_of_one_opens_the_window() {
    let mut t = sudden_start();
    t.flight(2).at(200).ack(2).sends("3").ack(3).sends("4").window(2.9, f64::INFINITY);
    t.at(220).extra_ack(3, &[]).window(3.9, f64::INFINITY).sends("5");
    t.at(240).extra_ack(3, &[]).sends("6").at(260).extra_ack(3, &[]).sends("7");
    t.at(280).extra_ack(3, &[]).sends("8").window(6.9, f64::INFINITY).flight(6);
    assert_eq!((t.sender.extra_segments(), t.sender.counters().sent), (4, 9));
    assert_eq!(t.sender.counters().retransmitted, 0);
}

/// Karn: of a segment with a copy under way it is not known which of the two arrived.
#[test]
fn a_segment_with_a_copy_gives_no_round_trip_sample() {
    let mut t = sudden_start();
    t.at(200).ack(2);
    assert_eq!(t.rtt, Some(ms(100)));
    t.ack(3);
    assert_eq!(t.rtt, None);
}

/// Acknowledgements of extra segments repeat the last number. They are no duplicate acknowledgements
/// (RFC 5681 section 2): three of them begin no recovery, with SACK or without.
#[test]
fn acknowledgements_of_extra_segments_are_no_duplicates() {
    for recovery in [LossRecovery::Reno, LossRecovery::NewReno, LossRecovery::Sack] {
        let mut t = Script::new(plain(recovery), probing("peach", 1.0, 10.0, 10.0), None);
        t.sends("0-9").at(100);
        (0..5).for_each(|_| {
            t.extra_ack(0, &[]);
        });
        t.sends("10-14").window(15.0, 10.0);
        assert_eq!(t.sender.counters().recoveries, 0);
    }
}

/// NIL segments carry outstanding data, the oldest first: two for each acknowledgement of a recovery. One
/// that fills the gap repairs the loss, though its acknowledgement is one of an extra segment.
#[test]
fn nil_segments_repair_a_loss() {
    let mut t = Script::new(plain(LossRecovery::Sack), probing("peach-plus", 1.0, 10.0, 10.0), None);
    t.sends("0-9").at(100).sack(0, &[(1, 2)]).sack(0, &[(1, 3)]).sends("");
    t.sack(0, &[(1, 4)]).sends("r0 x0 x4").window(5.0, 5.0);
    t.sack(0, &[(1, 5)]).sends("x5 x6").sack(0, &[(1, 6)]).sends("x7 x8");
    t.at(200).extra_ack(6, &[]).window(5.0, 5.0);
    assert_eq!(t.sender.una(), 6);
    assert_eq!(t.sender.counters().retransmitted, 1);
}

/// Fast-Forward Start: 4 supplement segments, one every 20 ms, of data 5 segments ahead of the next.
fn fast_forward_start(segments: Option<u64>) -> Script {
    let mut t = Script::new(plain(LossRecovery::Sack), probing("cherry", 5.0, 1.0, f64::INFINITY), segments);
    t.sends("0").at(100).ack(1).sends("1-2");
    t
}

/// Supplement segments carry data of a later turn. What has arrived is not sent again when its turn comes,
/// what was lost is; data in flight is not taken for lost because later data has come.
#[test]
fn data_that_supplement_segments_have_delivered_is_skipped() {
    let mut t = fast_forward_start(None);
    for (due, sent) in [(120, "x8"), (140, "x9"), (160, "x10"), (180, "x11")] {
        t.due(due).sends(sent);
    }
    t.at(200).ack(2).sends("3").ack(3).sends("4");
    t.at(220).extra_ack(3, &[(8, 9)]).sends("5").at(240).extra_ack(3, &[(8, 10)]).sends("6");
    // Segment 10 is lost. The turns of 8 and 9 come, and then those of 10 and 12, since 11 has come.
    t.at(280).extra_ack(3, &[(11, 12), (8, 10)]).sends("7").flight(5);
    t.at(300).sack(4, &[(11, 12), (8, 10)]).sends("10 12").sack(5, &[(11, 12), (8, 10)]).sends("13");
    assert_eq!((t.sender.counters().recoveries, t.sender.counters().retransmitted), (0, 0));
    assert_eq!(t.sender.counters().sent, 11, "0 to 7, 10, 12 and 13");
    t.at(320).sack(10, &[(11, 12)]).at(340).ack(12).ack(13).ack(14);
    assert_eq!((t.sender.una(), t.sender.counters().recoveries), (t.sender.next(), 0));
}

/// A supplement segment may be the next in order at the receiver before its turn has come here.
#[test]
fn an_acknowledgement_of_supplement_segments_goes_beyond_what_was_sent() {
    let mut t = Script::new(plain(LossRecovery::Sack), probing("cherry", 2.0, 1.0, f64::INFINITY), None);
    t.sends("0").at(100).ack(1).sends("1-2").due(150).sends("x5").at(200).ack(3).sends("3-4");
    assert_eq!(t.sender.next(), 6);
    t.at(300).ack(6);
    assert_eq!((t.sender.una(), t.sender.next()), (6, 6));
    t.sends("6-7");
}

/// A supplement segment may wait so long behind other traffic that its turn comes before its answer. Three
/// such answers show no loss of the segments before, which were sent later.
#[test]
fn late_supplement_segments_show_no_loss() {
    for rack in [false, true] {
        let options = Options { rack, ..plain(LossRecovery::Sack) };
        let mut t = Script::new(options, probing("cherry", 5.0, 1.0, f64::INFINITY), None);
        t.sends("0").at(100).ack(1).sends("1-2");
        for due in [120, 140, 160, 180] {
            t.due(due);
            while t.sender.poll(bentpipe_cc::Time(0) + ms(due)).is_some() {}
        }
        t.at(200).extra_ack(1, &[]).extra_ack(1, &[]).extra_ack(1, &[]).extra_ack(1, &[]);
        t.ack(3).sends("3-8").at(300).ack(4).sends("9").ack(5).sends("10");
        t.extra_ack(5, &[(8, 11)]).sends("11-14");
        assert_eq!((t.sender.counters().recoveries, t.sender.lost(), t.sender.sacked()), (0, 0, 3), "{rack}");
        assert_eq!(t.sender.in_flight(), t.sender.next() - 5 - 3);
    }
}

/// Near the end of the data supplement segments repeat what is outstanding.
#[test]
fn at_the_end_supplement_segments_carry_outstanding_data() {
    let mut t = fast_forward_start(Some(10));
    t.due(120).sends("x8").due(140).sends("x1").due(160).sends("x2");
}

/// At the end nothing is copied any more, and no timer is left.
#[test]
fn a_finished_transfer_sends_no_extra_segments() {
    let mut t = Script::new(plain(LossRecovery::Sack), probing("peach", 5.0, 1.0, f64::INFINITY), Some(2));
    t.sends("0").at(100).ack(1).sends("1").due(120).sends("x1").at(130).ack(2).sends("").idle();
    t.extra_ack(2, &[]).sends("").idle();
    assert!(t.sender.is_done());
}

/// The receiver takes the data of an extra segment if it is new, answers at once, and reports no duplicate.
#[test]
fn the_receiver_answers_an_extra_segment_apart() {
    let mut t = Listener::new(&Options { dsack: true, ..plain(LossRecovery::Sack) });
    t.data(0).answers("1").data(2).answers("1+2-3").extra(1).answers("3x").extra(2).answers("3x");
    t.extra(5).answers("3+5-6x").data(3).answers("4+5-6");
}

/// The answer may be lost behind other traffic, so a delayed acknowledgement of data is sent all the same.
#[test]
fn an_extra_segment_leaves_a_delayed_acknowledgement_due() {
    let mut t = Listener::new(&Options { delayed_ack: Some(ms(200)), ..plain(LossRecovery::Sack) });
    t.data(0).answers("-").at(50).extra(0).answers("1x").due(200).answers("1");
}
