//! Pacing: by the controller's rate, or by cwnd / srtt.

use bentpipe_cc::{Pacing, Time};
use bentpipe_tcp::{LossRecovery, Options};

use crate::script::{Fixed, Script, bytes_per_second, plain, reno};

/// 100,000 B/s of payload: 1,000 bytes and their header of 40 take 10 ms.
fn paced(cwnd: u64) -> Script {
    let cc = Fixed::new(cwnd).with(|c| c.pacing = bytes_per_second(100_000));
    Script::new(plain(LossRecovery::Sack), cc.boxed(), None)
}

/// A rate counts payload, as windows and rate samples do. It spaces segments until the window is full.
#[test]
fn rate_of_the_controller() {
    paced(3).sends("0").due(10).sends("1").due(20).sends("2").due(1000);
}

/// Time without data earns no credit: no burst makes up for it.
#[test]
fn no_credit() {
    paced(4)
        .sends("0")
        .due(10)
        .sends("1")
        .due(20)
        .sends("2")
        .due(30)
        .sends("3")
        .at(500)
        .ack(4)
        .sends("4")
        .due(510)
        .sends("5");
}

/// Retransmissions are paced too.
#[test]
fn retransmissions_are_paced() {
    let mut t = paced(4);
    t.sends("0")
        .due(10)
        .sends("1")
        .due(20)
        .sends("2")
        .due(30)
        .sends("3")
        .at(100)
        .sack(0, &[(1, 4)])
        .sends("r0");
    t.due(110).sends("4").due(120).sends("5");
}

/// RFC 6298 section 5.1: the timer starts when a segment is sent. After the timeout the controller sends a
/// segment every 2.5 s, and the timeout, doubled, is 2 s. So segment 1 goes out 2.5 s after segment 0, and
/// has 2 s from then on; nothing is in flight in between.
#[test]
fn the_timer_runs_from_when_the_pacer_lets_a_retransmission_go() {
    for recovery in [LossRecovery::Sack, LossRecovery::NewReno] {
        let cc = Fixed::new(4).with(|c| c.paced_after = Some(bytes_per_second(400)));
        let mut t = Script::new(plain(recovery), cc.boxed(), None);
        t.sends("0-3").due(1000).sends("r0").at(1100).ack(1).sends("").due(3500).sends("r1");
        assert_eq!(t.sender.counters().timeouts, 1);
        t.due(5500).sends("r1");
        assert_eq!(t.sender.counters().timeouts, 2);
    }
}

/// The same where the segment is found lost while its timer runs: it expires at 1000 ms, and at 950 ms three
/// SACKs find segment 0 lost. The pacer, at a segment every 300 ms, lets it go at 1200 ms.
#[test]
fn the_timer_does_not_expire_while_the_pacer_holds_what_was_found_lost() {
    let cc = Fixed::new(5).with(|c| c.pacing = bytes_per_second(10_000 / 3));
    let mut t = Script::new(plain(LossRecovery::Sack), cc.boxed(), None);
    t.sends("0");
    for seq in 1..4 {
        let due = t.sender.deadline().expect("paced");
        t.now = due;
        t.sender.on_deadline(due);
        t.sends(&seq.to_string());
    }
    t.at(950).sack(0, &[(1, 4)]).sends("");
    t.due(1000).sends("");
    assert_eq!(t.sender.counters().timeouts, 0);
    let due = t.sender.deadline().expect("paced");
    assert!((1_200_000_000..1_201_000_000).contains(&due.0), "{due:?}");
    t.sender.on_deadline(due);
    t.now = due;
    t.sends("r0");
    assert_eq!(t.sender.counters().timeouts, 0);
}

/// The option paces at twice cwnd / srtt below half of ssthresh and else at 1.2 times
/// (Linux), once there is a sample.
#[test]
fn option() {
    for (ssthresh, interval) in [
        (10.0, 100e6 / (1.2 * 10.1)),
        (20.0, 100e6 / (1.2 * 11.0)),
        (24.0, 100e6 / (2.0 * 11.0)),
        (f64::INFINITY, 100e6 / (2.0 * 11.0)),
    ] {
        let options = Options { pacing: true, ..plain(LossRecovery::Sack) };
        let mut t = Script::new(options, reno(10.0, ssthresh), None);
        t.sends("0-9").at(100).ack(1).sends("10").ack(2).sends("");
        let wait = t.sender.deadline().expect("paced") - Time(100_000_000);
        assert!((wait.0 as f64 - interval).abs() < 1e3, "{} ns, not {interval}", wait.0);
    }
}

/// Linux, `tcp_update_pacing_rate`: while more is outstanding than the window, the rate follows from that.
/// Here 8 segments with a window of 2, and an SRTT of 100 7/8 + 200 / 8 ms.
#[test]
fn what_is_outstanding_counts_where_it_exceeds_the_window() {
    let cc = Fixed::new(8).with(|c| (c.pacing, c.after_loss) = (Pacing::Window, 2));
    let options = Options { pacing: true, ..plain(LossRecovery::Sack) };
    let mut t = Script::new(options, cc.boxed(), None);
    t.sends("0-7").at(100).ack(1).sends("8").at(200).sack(1, &[(2, 8)]).sends("r1");
    t.sack(1, &[(2, 9)]).sends("");
    let wait = t.sender.deadline().expect("paced") - Time(200_000_000);
    assert!((wait.0 as f64 - 112.5e6 / (1.2 * 8.0)).abs() < 1e6, "{} ns", wait.0);
}

/// Without the option, and for a controller that wants none, nothing is spaced.
#[test]
fn off() {
    let mut t = Script::new(plain(LossRecovery::Sack), reno(10.0, 10.0), None);
    t.sends("0-9").at(100).ack(1).sends("10").ack(2).sends("11");
    let options = Options { pacing: true, ..plain(LossRecovery::Sack) };
    Script::new(options, Fixed::new(10).boxed(), None).sends("0-9").at(100).ack(5).sends("10-14");
}
