//! RFC 8985: RACK. The round trip is 100 ms, so that the reordering window is 25 ms.

use bentpipe_cc::Congestion;
use bentpipe_tcp::{AckSegment, LossRecovery, Options, SpuriousTimeout};

use crate::script::{Fixed, Script, bytes_per_second, plain};

fn options() -> Options {
    Options { rack: true, ..plain(LossRecovery::Sack) }
}

/// Ten segments in flight, and a window of five after a loss.
fn ten(options: Options) -> (Script, Fixed) {
    let cc = Fixed::new(10).with(|c| c.after_loss = 5);
    let mut t = Script::new(options, cc.boxed(), None);
    t.sends("0-9").at(100);
    (t, cc)
}

/// RFC 8985 section 3.4: a whole tail is lost, the probe finds it, and then the retransmission of P1 is lost
/// as well; each loss is found in a round trip and no timeout is needed. Section 9.3 and RFC 5681
/// section 4.3: without proportional rate reduction the loss of a retransmission is a second congestion.
#[test]
fn the_example_of_fast_recovery() {
    let cc = Fixed::new(10);
    let mut t = Script::new(Options { tlp: true, dsack: true, ..options() }, cc.boxed(), Some(4));
    t.sends("0-3").at(100).ack(1).sends("").due(300).sends("r3");
    t.at(400).sack(1, &[(3, 4)]).sends("r1 r2");
    t.at(500).sack(1, &[(2, 4)]).sends("r1").at(600).ack(4).sends("").idle();
    assert_eq!(cc.told().congestion, [Congestion::Loss; 2]);
    assert_eq!((t.sender.counters().timeouts, t.sender.counters().probes), (0, 1));
}

/// RFC 8985 section 3.5 and 6.3: a timeout marks the first segment and those that are old enough; one sent
/// 40 ms before it is in flight still, and the retransmission goes out beside it.
#[test]
fn a_timeout_marks_only_what_is_old_enough() {
    for (rack, in_flight) in [(true, 1), (false, 0)] {
        // One segment of 1040 bytes each 160 ms.
        let cc = Fixed::new(20).with(|c| (c.pacing, c.after_timeout) = (bytes_per_second(6250), 1));
        let mut t = Script::new(Options { rack, ..options() }, cc.boxed(), None);
        t.sends("0").at(100).ack(1).sends("");
        for n in 1..=7 {
            t.due(160 * n).sends(&n.to_string());
        }
        t.due(1160).flight(in_flight).sends("r1").flight(in_flight + 1);
        assert_eq!(t.sender.counters().timeouts, 1);
    }
}

/// RFC 8985 section 6.2 step 4: three segments SACKed and no reordering seen: lost at once, as by DupThresh.
#[test]
fn three_sacked_segments_leave_no_window() {
    let (mut t, cc) = ten(options());
    t.sack(0, &[(1, 4)]).flight(6).sends("r0");
    assert_eq!(cc.told().congestion, [Congestion::Loss]);
}

/// RFC 6298 section 5.3: the timer runs from the retransmission at 100 ms. Linux: a SACK of what was sent
/// before that restarts it.
#[test]
fn by_linux_a_sack_of_older_data_restarts_the_timer() {
    for (sack_restarts_rto, due) in [(false, 1100), (true, 1150)] {
        let (mut t, _) = ten(Options { sack_restarts_rto, ..options() });
        t.sack(0, &[(1, 4)]).sends("r0");
        assert_eq!(t.sender.deadline().map(|at| at.0), Some(1_100_000_000));
        t.at(150).sack(0, &[(1, 9)]).sends("10-12");
        assert_eq!(t.sender.deadline().map(|at| at.0), Some(due * 1_000_000));
    }
}

/// RFC 8985 section 6.2 step 5: fewer than three: lost when RACK.rtt and the window are over, by the
/// reordering timer. DupThresh would wait for the timeout.
#[test]
fn the_reordering_timer_finds_what_dupthresh_cannot() {
    let (mut t, cc) = ten(options());
    t.sack(0, &[(1, 2)]).sends("").due(125).sends("r0");
    assert_eq!(cc.told().congestion, [Congestion::Loss]);
    let (mut t, _) = ten(plain(LossRecovery::Sack));
    t.sack(0, &[(1, 2)]).sends("").due(1000).sends("r0 r2 r3 r4 r5 r6 r7 r8 r9 10");
}

/// The losses that the timer found are reported with the next ACK.
#[test]
fn the_controller_hears_of_the_timers_losses() {
    let (mut t, cc) = ten(options());
    t.sack(0, &[(2, 3)]).sends("").due(125).sends("r0").at(140).sack(0, &[(2, 4)]);
    let lost: Vec<u64> = cc.told().acks.iter().map(|a| a.lost).collect();
    assert_eq!((lost, t.sender.flow().lost), (vec![0, 2000], 2000));
}

/// RFC 8985 section 6.2 step 5 and 8: a segment that comes within the window is not lost, and the timer goes.
#[test]
fn reordering_within_the_window_is_no_loss() {
    let (mut t, cc) = ten(options());
    t.sack(0, &[(1, 3)]).sends("").at(124).ack(3).sends("10-12");
    assert_eq!((cc.told().congestion.len(), t.sender.counters().retransmitted), (0, 0));
    // The retransmission timer, suspended meanwhile, starts with the ACK.
    t.due(1124).sends("r3 r4 r5 r6 r7 r8 r9 r10 r11 r12");
}

/// RFC 8985 section 6.2 steps 3 and 4: once reordering was seen, the window holds also for three SACKed
/// segments, and in recovery.
#[test]
fn after_reordering_three_sacked_segments_wait() {
    let (mut t, _) = ten(options());
    t.sack(0, &[(1, 3)]).sends("").at(110).ack(3).sends("10-12");
    // 4 to 7 overtake 3.
    t.sack(3, &[(4, 8)]).sends("").due(135).sends("r3");
}

/// RFC 8985 section 6.2 step 3: a retransmission that is delivered below the highest
/// segment is no reordering.
#[test]
fn repairs_are_no_reordering() {
    let (mut t, _) = ten(options());
    t.sack(0, &[(1, 10)]).sends("r0 10-13").at(200).ack(10).sends("14");
    t.at(201).sack(10, &[(11, 14)]).sends("r10 15-17");
}

/// RFC 8985 section 6.2 step 5: a retransmission is lost when something sent after it is delivered.
/// RFC 6675 waits for the timeout.
#[test]
fn a_lost_retransmission_needs_no_timeout() {
    let o = |rack| Options { rack, prr: true, ..plain(LossRecovery::Sack) };
    let (mut t, cc) = ten(o(true));
    t.sack(0, &[(1, 10)])
        .sends("r0 10-13")
        .flight(5)
        .at(200)
        .sack(0, &[(10, 11), (1, 10)])
        .flight(3)
        .sends("r0 14");
    t.at(300).ack(14).sends("15-18");
    assert_eq!((cc.told().congestion.len(), t.sender.counters().timeouts), (1, 0));
    let (mut t, _) = ten(o(false));
    t.sack(0, &[(1, 10)]).sends("r0 10-13").at(200).sack(0, &[(10, 11), (1, 10)]).sends("14").due(1100);
    assert_eq!(t.sender.counters().timeouts, 1);
}

/// RFC 8985 section 6.2 step 2: an ACK that comes sooner than the minimum RTT after a retransmission
/// answers the original, and one whose echoed timestamp is older than the retransmission does so, too: what
/// was sent in between is not lost.
#[test]
fn an_ack_of_the_original_says_nothing_of_the_copy() {
    let (mut t, _) = ten(options());
    t.sack(0, &[(1, 4)]).sends("r0").at(190).ack(4).sends("").flight(6);
    let (mut t, _) = ten(Options { timestamps: true, ..options() });
    t.sack(0, &[(1, 4)]).sends("r0").at(210).echo(4, 0).sends("").flight(6);
    // The copy's own timestamp: 4 to 9 were sent before it.
    let (mut t, _) = ten(Options { timestamps: true, ..options() });
    t.sack(0, &[(1, 4)]).sends("r0").at(210).echo(4, 100).sends("r4 r5 r6 r7 r8").flight(5);
}

/// RFC 7323 section 4.3: the echo does not tell of a retransmission that fills a gap behind another: the
/// minimum RTT does, and the copy of 0 is found lost although the echo is old.
#[test]
fn a_selective_ack_of_a_retransmission_is_judged_by_the_minimum_rtt() {
    let (mut t, _) = ten(Options { timestamps: true, prr: true, ..options() });
    let sack =
        |blocks: &[(u64, u64)]| AckSegment { sack: crate::script::sack_of(blocks), ..AckSegment::default() };
    t.segment(sack(&[(3, 10), (1, 2)])).sends("r0 r2 10-12");
    t.at(200).segment(sack(&[(1, 10)])).sends("r0 13");
}

/// RFC 8985 section 6.2 step 4: a D-SACK widens the window by a quarter of the minimum RTT.
#[test]
fn a_dsack_widens_the_window() {
    for (dsack, due) in [(false, 125), (true, 150)] {
        let (mut t, _) = ten(Options { dsack, ..options() });
        t.sack(1, &[(0, 1)]).sends("10").sack(1, &[(2, 3)]).sends("").due(due).sends("r1");
    }
}

/// RFC 8985 section 6.2 step 4: sixteen recoveries later the window is as it was. Each begins with the timer,
/// whose delay shows the window.
#[test]
fn the_wider_window_lasts_for_sixteen_recoveries() {
    let cc = Fixed::new(4);
    let mut t = Script::new(Options { dsack: true, ..options() }, cc.boxed(), None);
    t.sends("0-3").at(100).sack(1, &[(0, 1)]).sends("4");
    let (mut now, mut una, mut sent) = (100, 1, 0);
    for n in 0..18 {
        // The first outstanding segment is lost, the second arrives.
        t.at(now).sack(una, &[(una + 1, una + 2)]).sends("");
        let window = if n < 16 { 50 } else { 25 };
        t.due(sent + 100 + window).sends(&format!("r{una} {}", una + 4));
        now = sent + 200 + window;
        t.at(now).ack(una + 5).sends(&format!("{}-{}", una + 5, una + 8));
        (sent, una) = (now, una + 5);
        now += 100;
    }
    assert_eq!(t.sender.counters().recoveries, 18);
}

/// RFC 8985 section 6.2 step 5: neither the doubtful segments nor the rescue of RFC 6675's NextSeg: what is
/// not marked may be late, and the tail is found lost when the repairs are acknowledged.
#[test]
fn nothing_is_sent_again_on_suspicion() {
    let cc = Fixed::new(10);
    let mut t = Script::new(options(), cc.boxed(), Some(10));
    t.sends("0-9").at(100).sack(0, &[(1, 3)]).at(110).ack(3).sends("");
    t.sack(3, &[(5, 9)]).sends("").due(135).sends("r3 r4");
    t.at(235).ack(9).sends("r9").at(335).ack(10).idle();
    assert_eq!(t.sender.counters().retransmitted, 3);
}

/// RFC 8985 section 8: the retransmission timer starts anew when the reordering timer, for which it was
/// cancelled, is gone: 5 could be lost from 150 to 160 ms.
#[test]
fn the_retransmission_timer_starts_anew_after_the_reordering_timer() {
    let (mut t, _) = ten(options());
    t.sack(0, &[(1, 3)]).at(110).ack(3).sends("10-12").sack(3, &[(4, 5)]).due(135).sends("r3");
    t.at(150).sack(3, &[(6, 7), (4, 5)]).sends("").at(160).sack(3, &[(4, 7)]).sends("").due(1160);
    assert_eq!(t.sender.counters().timeouts, 1);
}

/// The same below the highest SACKed segment: 10 was sent 100 ms before 11 is
/// delivered and may still be late.
#[test]
fn what_may_be_late_is_not_doubtful() {
    let mut t = Script::new(options(), Fixed::new(10).boxed(), Some(13));
    t.sends("0-9").at(100).sack(0, &[(1, 3)]).at(110).ack(3).sends("10-12");
    t.sack(3, &[(4, 5)]).due(135).sends("r3").at(210).sack(3, &[(11, 12), (4, 5)]).flight(3);
    t.sends("r5 r6 r7 r8 r9").flight(8);
}

/// RFC 5681 section 4.3: the loss of a retransmission after a timeout begins a fast recovery; F-RTO, which
/// would send new data, has nothing to find out any more.
#[test]
fn a_retransmission_lost_after_a_timeout_begins_a_recovery() {
    let cc = Fixed::new(10).with(|c| c.after_timeout = 3);
    let mut t = Script::new(Options { spurious: SpuriousTimeout::FRto, ..options() }, cc.boxed(), None);
    t.sends("0-9").due(1000).sends("r0 r1 r2").at(1100).sack(1, &[(2, 3)]);
    t.sends("r1 r3 r4 r5 r6 r7 r8 r9 10-11");
    assert_eq!(cc.told().congestion, [Congestion::Timeout, Congestion::Loss]);
}

/// RFC 8985 section 8: while the reordering timer runs, the retransmission timer does not expire.
#[test]
fn the_reordering_timer_suspends_the_retransmission_timer() {
    let o = Options {
        dsack: true,
        min_rto: crate::script::ms(120),
        initial_rto: crate::script::ms(120),
        ..options()
    };
    let cc = Fixed::new(10);
    let mut t = Script::new(o, cc.boxed(), None);
    t.sends("0-9");
    // RTTs of 100 ms without variation take the timeout down to its minimum.
    let mut next = 10;
    for round in 1..40 {
        t.at(round * 100).ack(next).sends(&format!("{next}-{}", next + 9));
        next += 10;
    }
    // Four D-SACKs in four rounds: a window of 5/4 of the RTT, bounded by SRTT.
    for round in 40..44 {
        t.at(round * 100).sack(next, &[(0, 1)]).sends(&format!("{next}-{}", next + 9));
        next += 10;
    }
    t.at(4400).sack(next - 10, &[(next - 9, next - 8)]).sends("");
    t.due(4500).sends(&format!("r{} {next}", next - 10));
    assert_eq!(t.sender.counters().timeouts, 0);
}
