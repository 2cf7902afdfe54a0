//! Pacing: by the controller's rate, or by cwnd / srtt.

use bentpipe_cc::Time;
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

/// The option paces at 1.2 cwnd / srtt in congestion avoidance and twice in slow start (Linux), once there is a sample.
#[test]
fn option() {
    for (ssthresh, interval) in [(10.0, 100e6 / (1.2 * 10.1)), (f64::INFINITY, 100e6 / (2.0 * 11.0))] {
        let options = Options { pacing: true, ..plain(LossRecovery::Sack) };
        let mut t = Script::new(options, reno(10.0, ssthresh), None);
        t.sends("0-9").at(100).ack(1).sends("10").ack(2).sends("");
        let wait = t.sender.deadline().expect("paced") - Time(100_000_000);
        assert!((wait.0 as f64 - interval).abs() < 1e3, "{} ns, not {interval}", wait.0);
    }
}

/// Without the option, and for a controller that wants none, nothing is spaced.
#[test]
fn off() {
    let mut t = Script::new(plain(LossRecovery::Sack), reno(10.0, 10.0), None);
    t.sends("0-9").at(100).ack(1).sends("10").ack(2).sends("11");
    let options = Options { pacing: true, ..plain(LossRecovery::Sack) };
    Script::new(options, Fixed::new(10).boxed(), None).sends("0-9").at(100).ack(5).sends("10-14");
}
