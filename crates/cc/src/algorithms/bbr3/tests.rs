//! BBRv3 on a path of 1 MB/s, 1000 segments a second.

use alloc::vec::Vec;

use crate::algorithms::pipe::Pipe;
use crate::controller::{Congestion, Pacing};
use crate::rig::near;

#[test]
fn startup_finds_the_rate_and_drain_empties_the_queue() {
    let mut pipe = Pipe::new("bbr3", &[], 0.1, 0.0);
    let mut drained = None;
    pipe.run(3.0, |p| {
        if drained.is_none() && p.probe("pacing_gain") == 0.9 {
            drained = Some((p.flow.round, p.queue()));
        }
    });
    let (rounds, queue) = drained.expect("ProbeBW began");
    // From 10 to 100 segments, three rounds to see the plateau, at most three to drain.
    assert!((6..=11).contains(&rounds), "{rounds} rounds");
    assert!(queue < 10.0, "queue of {queue} segments");
    near(pipe.probe("max_bw"), 1e6, 0.02);
    near(pipe.probe("min_rtt"), 0.101, 1e-3);
}

#[test]
fn probes_come_every_two_to_three_seconds_and_probe_rtt_every_five() {
    let mut pipe = Pipe::new("bbr3", &[], 0.1, 0.0);
    let (mut probes, mut holds): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
    let (mut last, mut low) = (0.0, false);
    pipe.run(60.0, |p| {
        let gain = p.probe("pacing_gain");
        if gain == 1.25 && last != 1.25 {
            probes.push(p.secs());
        }
        last = gain;
        let now = p.secs() > 3.0 && p.w() < 70.0;
        if now && !low {
            holds.push(p.secs());
        }
        low = now;
    });
    assert!(probes.len() > 12, "{probes:?}");
    for pair in probes.windows(2) {
        // DOWN and CRUISE take 2 to 3 s, REFILL and UP a few rounds, and a ProbeRTT starts the wait anew.
        assert!((2.0..7.0).contains(&(pair[1] - pair[0])), "{probes:?}");
    }
    assert!(holds.len() >= 9, "{holds:?}");
    for pair in holds.windows(2) {
        assert!((5.0..6.0).contains(&(pair[1] - pair[0])), "{holds:?}");
    }
}

#[test]
fn random_loss_below_the_threshold_costs_little_and_above_it_a_lot() {
    let share = |loss: f64| {
        let mut pipe = Pipe::new("bbr3", &[], 0.1, loss);
        pipe.run(5.0, |_| {});
        pipe.run(65.0, |_| {})
    };
    let (none, half, ten) = (share(0.0), share(0.005), share(0.10));
    assert!(none > 0.95, "{none}");
    assert!(half > 0.85, "{half}");
    assert!(ten < 0.6, "{ten}");
}

#[test]
fn the_queue_is_small_between_probes() {
    let mut pipe = Pipe::new("bbr3", &[], 0.1, 0.0);
    pipe.run(5.0, |_| {});
    let (mut sum, mut n) = (0.0, 0.0);
    pipe.run(65.0, |p| (sum, n) = (sum + p.queue(), n + 1.0));
    let mean: f64 = sum / n;
    assert!(mean < 20.0, "mean queue of {mean} segments: a fifth of the BDP");
}

#[test]
fn fast_recovery_keeps_the_window_and_a_timeout_gives_it_back() {
    let mut pipe = Pipe::new("bbr3", &[], 0.1, 0.0);
    pipe.run(2.0, |_| {});
    let before = pipe.cc.decision();
    assert_eq!(pipe.cc.backoff(&pipe.flow, Congestion::Loss).cwnd, before.cwnd);
    pipe.cc.on_congestion(&pipe.flow, Congestion::Loss);
    assert_eq!(pipe.cc.decision(), before);
    pipe.cc.on_congestion(&pipe.flow, Congestion::Timeout);
    assert_eq!(pipe.w(), 1.0);
    pipe.run(2.2, |_| {});
    near(pipe.w(), before.cwnd as f64 / 1000.0, 0.15);
}

/// An idle path has no queue: after a pause the flow goes on at the estimated rate, whatever the gain was, and without ProbeRTT, though
/// the smallest RTT is older than its window (`CA_EVENT_TX_START` in tcp_bbr.c).
#[test]
fn after_a_pause_the_estimated_rate_goes_on() {
    let mut pipe = Pipe::new("bbr3", &[], 0.1, 0.0);
    pipe.run(8.0, |_| ());
    pipe.pause(30.0);
    let Pacing::Rate(rate) = pipe.cc.decision().pacing else { panic!("it paces") };
    near(rate.bytes_per_sec(), 0.99 * 1e6, 0.01);
    let end = pipe.secs() + 1.0;
    let mut least = f64::INFINITY;
    pipe.run(end, |p| least = least.min(p.w()));
    assert!(least > 50.0, "a window of {least} segments");
}
