//! Vivace on a path of 1 MB/s (8 Mbit/s).

use super::Utility;
use crate::decision::Pacing;
use crate::event::{Congestion, Event};
use crate::registry::Value;
use crate::rig::pipe::Pipe;
use crate::rig::{near, text};

const PAPER: Utility = Utility { exponent: 0.9, latency: 900.0, loss: 11.35, lenient: false };

/// Eq. 1 by hand: 10^0.9 = 7.943282; 1 % loss costs 11.35 x 10 x 0.01 = 1.135, a slope of 0.01
/// costs 900 x 10 x 0.01 = 90.
#[test]
fn the_utility_is_that_of_equation_1() {
    near(PAPER.of(10.0, 0.0, 0.0), 7.943_282, 1e-6);
    near(PAPER.of(10.0, 0.0, 0.01), 6.808_282, 1e-6);
    near(PAPER.of(10.0, 0.01, 0.0), -82.056_718, 1e-6);
    near(PAPER.of(10.0, -0.01, 0.01), 96.808_282, 1e-6);
}

/// The paper's reason for c = 11.35: at 100 Mbit/s the utility still grows with the rate at just
/// under 5 % of random loss.
#[test]
fn at_100_mbit_per_second_5_percent_of_loss_are_the_limit() {
    let grows = |loss: f64| PAPER.of(101.0, 0.0, loss) > PAPER.of(99.0, 0.0, loss);
    assert!(grows(0.0499));
    assert!(!grows(0.0501));
}

/// One RTT of 0.101 s; the rate doubles with each result, and a result takes an interval and a round trip.
#[test]
fn the_starting_phase_doubles_once_in_two_round_trips() {
    let mut pipe = Pipe::new("vivace", &[], 0.1, 0.0);
    let (mut last, mut doubled) = (0.0, alloc::vec::Vec::new());
    pipe.run(1.0, |p| {
        let rate = p.probe("rate_bytes_per_s");
        if last > 0.0 && rate != last {
            near(rate / last, 2.0, 1e-9);
            doubled.push(p.secs());
        }
        last = rate;
    });
    assert!(doubled.len() >= 3, "{doubled:?}");
    for pair in doubled.windows(2) {
        let rounds = (pair[1] - pair[0]) / 0.101;
        assert!((1.9..2.6).contains(&rounds), "{rounds} round trips: {doubled:?}");
    }
}

/// theta0 = 1 Mbit/s is 1 % of the rate of the paper's experiments, 100 Mbit/s. It is an eighth of this
/// path's rate, and then the rate swings wide; a hundredth of it does what the paper shows.
#[test]
fn it_fills_the_link_and_with_a_step_to_match_the_queue_is_small() {
    let run = |theta0: f64| {
        let mut pipe = Pipe::new("vivace", &[("theta0", Value::Number(theta0))], 0.1, 0.0);
        pipe.run(10.0, |_| {});
        let (mut sum, mut n) = (0.0, 0.0);
        let share = pipe.run(100.0, |p| (sum, n) = (sum + p.queue(), n + 1.0));
        (share, sum / n)
    };
    let (share, queue) = run(0.08);
    assert!(share > 0.93, "{share}");
    assert!(queue < 5.0, "mean queue of {queue} segments, a twentieth of the BDP");
    let (share, queue) = run(1.0);
    assert!(share > 0.85, "{share}, mean queue of {queue}");
}

/// The paper's claim: random loss that its utility bears costs next to no throughput.
#[test]
fn one_percent_of_random_loss_leaves_it_near_capacity() {
    let share = |losses| {
        let mut pipe =
            Pipe::new("vivace", &[("theta0", Value::Number(0.08)), ("losses", text(losses))], 0.1, 0.01);
        pipe.run(20.0, |_| {});
        pipe.run(140.0, |_| {})
    };
    let (code, equation) = (share("code"), share("equation"));
    assert!(code > 0.85, "{code} and {equation}");
    assert!(equation < code, "{code} and {equation}");
}

#[test]
fn a_timeout_halves_the_rate_and_an_undo_restores_it() {
    let mut pipe = Pipe::new("vivace", &[], 0.1, 0.0);
    pipe.run(10.0, |_| {});
    let (before, rate) = (pipe.cc.decision(), pipe.probe("rate_bytes_per_s"));
    pipe.cc.on(&pipe.flow, Event::Congestion(Congestion::Loss));
    assert_eq!(pipe.cc.decision(), before);
    pipe.cc.on(&pipe.flow, Event::Congestion(Congestion::Timeout));
    near(pipe.probe("rate_bytes_per_s"), rate / 2.0, 1e-9);
    pipe.cc.on(&pipe.flow, Event::Undo(&before));
    near(pipe.probe("rate_bytes_per_s"), rate, 1e-9);
}

/// A pause spoils the intervals under way, not the rate. What is in flight before it may still decide a step,
/// at most the bound, and a probe is 5 % off.
#[test]
fn a_pause_keeps_the_rate() {
    let mut pipe = Pipe::new("vivace", &[], 0.1, 0.0);
    pipe.run(10.0, |_| {});
    let (rate, bound) = (pipe.probe("rate_bytes_per_s"), pipe.probe("boundary"));
    pipe.pause(30.0);
    let Pacing::Rate(now) = pipe.cc.decision().pacing else { panic!("it paces") };
    near(now.bytes_per_sec(), rate, 0.05 + bound);
    let end = pipe.secs() + 20.0;
    assert!(pipe.run(end, |_| {}) > 0.85);
}
