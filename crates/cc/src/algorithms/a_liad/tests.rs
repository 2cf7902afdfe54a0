//! Tests of A-LIAD's rules; those of the increase itself are with `Approach`.

use super::alpha_of;
use crate::event::{Congestion, Event};
use crate::registry::Value;
use crate::report::Phase;
use crate::rig::{Rig, near, probe, text};

/// beta and packet error rate behind eq. 11.
const BETA: f64 = 0.46;
const P: f64 = 1e-8;

/// N RTT of eq. 11, where Wmax follows from one loss in 1/p packets by eq. 9: Wmax (N + 1 - beta
/// alpha / (alpha - 1)) = 1/p.
fn epoch(alpha: f64, rtt: f64) -> f64 {
    let share = BETA * alpha / (alpha - 1.0);
    // N = log_alpha(beta Wmax) (eq. 8) rises with Wmax: a fixed point by iteration, which contracts as 1/N.
    let mut n = 1000.0;
    for _ in 0..200 {
        n = libm::log(BETA / (P * (n + 1.0 - share))) / libm::log(alpha);
    }
    n * rtt
}

/// Eq. 11 solved by bisection on ln alpha: the epoch is the shorter the larger alpha.
fn solve(rtt: f64) -> f64 {
    let (mut low, mut high) = (0.02_f64, 30.0_f64);
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if epoch(libm::exp(middle), rtt) > 1.5787 { low = middle } else { high = middle }
    }
    libm::exp((low + high) / 2.0)
}

/// Eq. 11 has this solution at the listed RTTs, and the fit is within 0.02 % of it from 25 to
/// 600 ms, 0.6 % from 5 ms to 1 s.
#[test]
fn alpha_solves_eq_11() {
    for (ms, alpha) in [
        (25.0, 1.23876),
        (50.0, 1.56792),
        (75.0, 2.00030),
        (100.0, 2.56481),
        (250.0, 12.0640),
        (550.0, 304.830),
        (600.0, 527.056),
    ] {
        let rtt = ms / 1000.0;
        near(solve(rtt), alpha, 5e-6);
        assert!((epoch(solve(rtt), rtt) - 1.5787).abs() < 1e-6);
    }
    for ms in (25..=600).step_by(5) {
        let rtt = f64::from(ms) / 1000.0;
        near(alpha_of(rtt), solve(rtt), 2e-4);
    }
    for rtt in [0.005, 0.01, 0.02, 0.7, 0.8, 1.0] {
        near(alpha_of(rtt), solve(rtt), 6e-3);
    }
    near(alpha_of(0.075), 2.0, 2e-4); // section 3.3: alpha_ref = 2 at RTT_ref = 75 ms
    assert_eq!((alpha_of(0.0), alpha_of(1e9)), (alpha_of(0.005), alpha_of(1.0)));
}

fn fixed(id: &str, mode: &str) -> Rig {
    let given = [("ack_mode", text(mode)), ("decrease", text("fixed")), ("beta", Value::Number(0.46))];
    Rig::new(id, &given, 700.0, 2.0)
}

/// Eq. 5, 6 and 11 together: after a loss at 700 segments A-LIAD at 75 ms halves the gap per round trip, at
/// 600 ms closes it at once, or with eq. 6 in seven rounds.
#[test]
fn the_way_back_to_700_segments() {
    let cases: [(f64, &str, &[f64]); 4] = [
        (0.075, "round", &[539.0, 619.5, 659.7, 679.9, 689.9]),
        (0.6, "round", &[699.4]),
        (0.075, "eq6", &[490.8, 568.0, 618.1, 649.7, 669.2]),
        (0.6, "eq6", &[554.1, 641.6, 677.8, 691.7, 696.9]),
    ];
    for (rtt, mode, windows) in cases {
        let mut rig = fixed("a-liad", mode);
        rig.ack(1e-6, rtt, rtt, false);
        rig.congestion(Congestion::Loss);
        near(rig.w(), 378.0, 1e-6);
        for expected in windows {
            rig.round(rtt);
            near(rig.w(), *expected, 2e-3);
        }
    }
}

/// Section 3: with eq. 5 the way back takes about the same time at any RTT of 25 to 600 ms; with
/// eq. 6 it grows with the RTT to 4.2 s. (Without the least increase of a segment per round trip 25 ms
/// would take 0.68 and 0.78 s.)
#[test]
fn the_epoch_lasts_as_long_at_any_rtt() {
    let duration = |mode: &str, rtt: f64| {
        let mut rig = fixed("a-liad", mode);
        rig.ack(1e-6, rtt, rtt, false);
        rig.congestion(Congestion::Loss);
        let begin = rig.secs();
        while rig.w() < 699.0 {
            rig.round(rtt);
        }
        rig.secs() - begin
    };
    for rtt in [0.025, 0.075, 0.2, 0.6] {
        assert!((0.55..=0.7).contains(&duration("round", rtt)), "{rtt} s: {}", duration("round", rtt));
    }
    near(duration("eq6", 0.025), 0.65, 0.05);
    near(duration("eq6", 0.6), 4.2, 0.05);
}

/// A round on a path whose bottleneck spaces segments by `rtt / bdp`: its ACKs come as one train.
fn train(rig: &mut Rig, bdp: f64, rtt: f64) {
    let (acks, gap) = (rig.w() as u64, rtt / bdp);
    for i in 1..=acks {
        let wait = if i == 1 { rtt - gap * (acks - 1) as f64 } else { gap };
        rig.ack(1.0, wait.max(gap), rtt, i == acks);
    }
}

/// Eq. 1 and 2 on a path of 700 segments: doubling up to gamma = 350, then half of the gap to 700 per round
/// trip. Per-ACK growth leaves exp(-1/2) of that gap or, while the window grows much within a round, a little
/// more. W comes within a segment of T in 8.5 or 13 rounds. The estimate is the path's.
#[test]
fn hybrid_slow_start() {
    for (mode, left, rounds) in [("round", 0.499..0.51, 9), ("eq6", 0.6065..0.65, 13)] {
        let mut rig = Rig::new("a-liad", &[("ack_mode", text(mode))], 1.0, f64::INFINITY);
        for expected in [2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0] {
            train(&mut rig, 700.0, 0.6);
            near(rig.w(), expected, 1e-6);
        }
        near(rig.t(), 700.0, 1e-3); // Hoe's estimate
        train(&mut rig, 700.0, 0.6);
        let mut gap = 700.0 - rig.w();
        assert!((0.0..350.0).contains(&gap));
        let mut n = 0;
        while rig.w() < 699.0 {
            train(&mut rig, 700.0, 0.6);
            let now = 700.0 - rig.w();
            if now > 2.0 {
                assert!(left.contains(&(now / gap)), "{mode}: {} of the gap left", now / gap);
            }
            gap = now;
            n += 1;
        }
        // The rest of that round was max-probing, from where slow start ended: there was no overshoot.
        assert!((698.9..=700.1).contains(&rig.t()), "{mode}: slow start ended at {}", rig.t());
        assert!((rounds - 1..=rounds).contains(&n), "{mode}: {n} rounds");
    }
}

/// With the standard slow start nothing is estimated.
#[test]
fn slow_start_can_be_the_standard_one() {
    let mut rig = Rig::new("a-liad", &[("start", text("standard"))], 1.0, f64::INFINITY);
    for _ in 0..10 {
        train(&mut rig, 700.0, 0.6);
    }
    assert_eq!(rig.w(), 1024.0);
}

/// Eq. 3: towards 2 T by half of the gap per round trip while RTT < 1.93 RTTmin, then by one
/// segment; per ACK as printed.
#[test]
fn max_probing() {
    for (probe, growth) in [("linear", 1.0), ("eq3", 525.0)] {
        let mut rig = Rig::new("a-liad", &[("probe", text(probe))], 350.0, 350.0);
        for expected in [525.0, 612.5, 656.2] {
            rig.round(0.6 * 1.92);
            near(rig.w(), expected, 2e-3);
            if expected == 525.0 {
                let mut slow = Rig::new("a-liad", &[("probe", text(probe))], 525.0, 350.0);
                slow.ack(1e-6, 0.1, 0.6, false);
                slow.round(0.6 * 1.94);
                near(slow.w() - 525.0, growth, 0.01);
            }
        }
        for _ in 0..30 {
            rig.round(0.6 * 1.92);
        }
        assert!((695.0..730.0).contains(&rig.w()), "at least a segment per round trip, also beyond 2 T");
    }
}

/// A window that comes back to Wmax grows by one segment per round trip, or towards 2 T again: by half of the
/// gap while RTT < 1.93 RTTmin, then by one segment. T is the ssthresh of the last loss.
#[test]
fn at_w_max_the_window_creeps_or_probes_again() {
    for (choice, grown) in [("linear", 701.0), ("probe", 770.0)] {
        let given = [
            ("at_w_max", text(choice)),
            ("decrease", text("fixed")),
            ("beta", Value::Number(0.4)),
            ("ack_mode", text("round")),
        ];
        let mut rig = Rig::new("a-liad", &given, 700.0, 2.0);
        rig.ack(1e-6, 0.6, 0.6, false);
        rig.congestion(Congestion::Loss);
        near(rig.t(), 420.0, 1e-6);
        while rig.w() < 700.0 {
            rig.ack(1.0, 0.001, 0.6, false);
        }
        rig.ack(1e-6, 0.001, 0.6, true);
        near(rig.w(), 700.0, 2e-3);
        rig.round(0.6);
        near(rig.w(), grown, 2e-3); // 2 T = 840: half of 140
        let before = rig.w();
        rig.round(0.6 * 1.94);
        near(rig.w() - before, 1.0, 0.01);
        // The next loss makes the window that it met Wmax.
        let lost = rig.w();
        rig.congestion(Congestion::Loss);
        near(rig.t(), 0.6 * lost, 1e-6);
    }
}

/// Eq. 7 with RTTmin = 0.5 s: RTTmax is the largest since the last congestion, outside
/// recovery, and beta at most 1/2.
#[test]
fn adaptive_decrease() {
    for (max, beta) in [(0.5, 0.0), (0.625, 0.2), (0.8, 0.375), (1.0, 0.5), (2.0, 0.5)] {
        let mut rig = Rig::new("a-liad", &[], 100.0, 2.0);
        rig.ack(1e-6, 0.5, 0.5, false);
        rig.ack(1e-6, 0.5, max, false);
        let before = rig.w();
        rig.congestion(Congestion::Loss);
        near(rig.w(), (1.0 - beta) * before, 1e-6);
        rig.flow.phase = Phase::Recovery;
        rig.ack(1e-6, 0.5, max, false);
        rig.flow.phase = Phase::Open;
        rig.ack(1e-6, 0.5, 0.5, false);
        let before = rig.w();
        rig.congestion(Congestion::Ecn);
        assert_eq!(rig.w(), before, "a new epoch has its own RTTmax");
    }
    for (bound, left) in [(1.0, 25.0), (0.6, 40.0), (0.5, 50.0)] {
        let mut rig = Rig::new("a-liad", &[("beta_max", Value::Number(bound))], 100.0, 2.0);
        rig.ack(1e-6, 0.5, 0.5, false);
        rig.ack(1e-6, 0.5, 2.0, false);
        rig.congestion(Congestion::Loss);
        near(rig.w(), left, 1e-4);
    }
    let mut rig = Rig::new("a-liad", &[("decrease", text("lifetime"))], 100.0, 2.0);
    rig.ack(1e-6, 0.5, 0.5, false);
    rig.ack(1e-6, 0.5, 0.625, false);
    for expected in [80.0, 64.0, 51.2] {
        rig.congestion(Congestion::Loss);
        near(rig.w(), expected, 1e-6);
    }
    let mut rig = Rig::new("a-liad", &[], 100.0, 2.0);
    rig.congestion(Congestion::Loss);
    assert_eq!(rig.w(), 50.0, "nothing measured yet");
}

/// A timeout: one segment, T = (1 - beta) W, exponential growth up to T, then towards the old Wmax. A
/// loss below Wmax sets it.
#[test]
fn a_timeout_keeps_w_max() {
    let target = |rig: &Rig| probe(&*rig.cc, "target_segments");
    let mut rig = fixed("a-liad", "round");
    rig.ack(1e-6, 0.6, 0.6, false);
    rig.congestion(Congestion::Loss);
    let before = rig.congestion(Congestion::Timeout);
    assert_eq!(rig.w(), 1.0);
    near(rig.t(), 378.0 * 0.54, 1e-6);
    near(target(&rig), 700.0, 1e-6);
    for expected in [2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0] {
        rig.round(0.6);
        assert_eq!(rig.w(), expected);
    }
    for _ in 0..3 {
        rig.round(0.6);
    }
    near(rig.w(), 700.0, 0.01);

    let w = rig.w();
    rig.congestion(Congestion::Loss);
    rig.congestion(Congestion::Loss);
    near(target(&rig), w * 0.54, 1e-6);
    rig.cc.on(&rig.flow, Event::Undo(&before));
    near(target(&rig), w, 1e-6);
}
