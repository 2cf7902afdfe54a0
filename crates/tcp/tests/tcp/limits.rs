//! What held the sender back, and for how long (the kernel's "chronographs", RFC 4898's SndLimTime).

use bentpipe_cc::{Hint, PathChange, Time};
use bentpipe_tcp::{Limit, LossRecovery, Options};

use crate::script::{Fixed, Script, bytes_per_second, ms, plain};

fn spent(t: &mut Script, until: u64) -> Vec<u64> {
    let limits = t.sender.limits(Time(0) + ms(until));
    let all = [Limit::Cwnd, Limit::Rwnd, Limit::App, Limit::Pacing, Limit::Recovery, Limit::Timeout];
    all.iter().map(|&limit| limits.spent(limit).0 / 1_000_000).collect()
}

/// The window for 300 ms, then recovery until its end, then the window again.
#[test]
fn window_and_recovery() {
    let mut t =
        Script::new(plain(LossRecovery::Sack), Fixed::new(10).with(|c| c.after_loss = 5).boxed(), None);
    t.sends("0-9").at(300).sack(0, &[(1, 10)]).sends("r0 10-13").at(500).ack(10).sends("14");
    assert_eq!(spent(&mut t, 600), [400, 0, 0, 0, 200, 0]);
    // 10 segments for 300 ms, 5 for 300 ms.
    let mss = f64::from(t.sender.options().mss);
    assert!((t.sender.limits(Time(0) + ms(600)).mean_window() / mss - 7.5).abs() < 1e-9);
}

/// Silence until the timer expired counts as the timeout's, what follows as recovery's.
#[test]
fn timeout() {
    let mut t = Script::new(plain(LossRecovery::Sack), Fixed::new(2).boxed(), None);
    t.sends("0-1").at(100).ack(1).sends("2").due(1100).sends("r1 r2").at(1300).ack(3).sends("3-4");
    assert_eq!(spent(&mut t, 1300), [100, 0, 0, 0, 200, 1000]);
}

/// The life of a finished transfer is over: a handover of its path adds no time.
#[test]
fn a_hint_after_the_end_adds_no_time() {
    let mut t = Script::new(plain(LossRecovery::Sack), Fixed::new(10).boxed(), Some(4));
    t.sends("0-3").at(100).ack(4).sends("");
    t.sender.on_hint(Time(0) + ms(400), Hint::PathChange(PathChange::default()));
    assert_eq!(spent(&mut t, 100), [0, 0, 100, 0, 0, 0]);
}

/// The application and pacing.
#[test]
fn application_and_pacing() {
    let mut t = Script::new(plain(LossRecovery::Sack), Fixed::new(10).boxed(), Some(4));
    t.sends("0-3").at(100).ack(4).sends("");
    assert_eq!(spent(&mut t, 150), [0, 0, 150, 0, 0, 0]);
    let cc = Fixed::new(2).with(|c| c.pacing = bytes_per_second(100_000));
    let mut t = Script::new(plain(LossRecovery::Sack), cc.boxed(), None);
    t.sends("0").due(10).sends("1").at(100).ack(1).sends("2");
    assert_eq!(spent(&mut t, 110), [100, 0, 0, 10, 0, 0]);
}

/// The receive window, and AEN's wait, which is silence too.
#[test]
fn receive_window_and_probe() {
    let options = Options { receive_window: Some(3), aen: true, ..plain(LossRecovery::Sack) };
    let mut t = Script::new(options, Fixed::new(10).boxed(), None);
    t.sends("0-2").at(200).ack(1).sends("3").due(1200).sends("p1").at(1500).ack(2).sends("4");
    assert_eq!(spent(&mut t, 1600), [0, 300, 0, 0, 0, 1300]);
}
