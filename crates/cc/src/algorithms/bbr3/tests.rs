//! BBRv3 on a path of 1 MB/s, 1000 segments a second.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::controller::Controller;
use crate::event::{Congestion, Event, Life};
use crate::registry::Value;
use crate::report::{Ack, Flow, Phase, RateSample, RttSample};
use crate::rig::pipe::{Pipe, assert_rate_goes_on_after_a_pause};
use crate::rig::{near, probe};
use crate::time::{Rate, Span};

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
    near(pipe.probe("max_bw_bytes_per_s"), 1e6, 0.02);
    near(pipe.probe("min_rtt_s"), 0.101, 1e-3);
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
    // A ProbeRTT comes every 5.3 s and starts the wait anew, so one or two probes fit between two of them.
    assert!(probes.len() >= 10, "{probes:?}");
    for pair in probes.windows(2) {
        // DOWN and CRUISE take 2 to 3 s, REFILL and UP a few rounds, and a ProbeRTT starts the wait anew.
        assert!((2.0..7.0).contains(&(pair[1] - pair[0])), "{probes:?}");
    }
    assert!(holds.len() >= 9, "{holds:?}");
    for pair in holds.windows(2) {
        assert!((5.0..6.0).contains(&(pair[1] - pair[0])), "{holds:?}");
    }
}

/// google/bbr, `bbr_update_min_rtt`, and the draft, BBRCheckProbeRTT: the state is set before
/// BBRSaveCwnd, which then keeps the greater window. The path was 101 ms when a loss saved the window, is
/// 51 ms for a while, and 101 ms again when ProbeRTT begins. The window is 2 BDP, 202 segments at 101 ms;
/// ProbeRTT has half a BDP.
#[test]
fn after_probe_rtt_the_greater_of_its_window_and_that_of_the_last_loss_comes_back() {
    for id in ["bbr2", "bbr3"] {
        let mut pipe = Pipe::new(id, &[("probe_rtt_interval", Value::Number(12.0))], 0.1, 0.0);
        pipe.run(2.0, |_| {});
        pipe.cc.on(&pipe.flow, Event::Congestion(Congestion::Loss));
        pipe.cc.on(&pipe.flow, Event::Life(Life::Recovered));
        pipe.reroute(0.05);
        pipe.run(4.0, |_| {});
        assert!(pipe.w() < 150.0, "{id}: {}", pipe.w());
        pipe.reroute(0.1);
        let (mut held, mut after) = (false, None);
        pipe.run(25.0, |p| {
            if held && p.w() > 60.0 {
                after.get_or_insert(p.w());
            }
            held |= p.secs() > 5.0 && p.w() < 60.0;
        });
        near(after.expect("ProbeRTT ended"), 202.0, 0.02);
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
    pipe.cc.on(&pipe.flow, Event::Congestion(Congestion::Loss));
    assert_eq!(pipe.cc.decision(), before);
    pipe.cc.on(&pipe.flow, Event::Congestion(Congestion::Timeout));
    assert_eq!(pipe.w(), 1.0);
    pipe.run(2.2, |_| {});
    near(pipe.w(), before.cwnd as f64 / 1000.0, 0.15);
}

/// The controller alone, ACK by ACK: a path of 1 MB/s and 0.1 s, on which the caller says what each ACK
/// brings.
struct Acks {
    cc: Box<dyn Controller>,
    flow: Flow,
}

impl Acks {
    /// Runs [`Pipe`] until `ready` holds and takes the controller out.
    fn after(ready: impl Fn(&Pipe) -> bool) -> Self {
        let mut pipe = Pipe::new("bbr3", &[], 0.1, 0.0);
        let mut at = 0.0;
        while !ready(&pipe) {
            at += 0.001;
            assert!(at < 60.0);
            pipe.run(at, |_| {});
        }
        Self { flow: pipe.flow, cc: pipe.cc }
    }

    fn probe(&self, wanted: &str) -> f64 {
        probe(&*self.cc, wanted)
    }

    /// 1 ms later one segment is acknowledged that was sent `ago` delivered segments ago, with `flight`
    /// segments in flight; `lost` segments are found to be lost.
    fn ack(&mut self, ago: u64, flight: u64, lost: u64) {
        self.flow.now = self.flow.now + Span::from_millis(1);
        let prior_delivered = self.flow.delivered.saturating_sub(ago * 1000);
        self.flow.delivered += 1000;
        self.flow.lost += lost * 1000;
        let rate = RateSample {
            rate: Rate(1_000_000),
            app_limited: false,
            prior_delivered,
            prior_in_flight: flight * 1000 - 1000,
        };
        let rtt = Some(RttSample::one(Span::from_millis(101)));
        let ack = Ack { acks: 1, acked: 1000, lost: lost * 1000, rtt, rate: Some(rate), ..Ack::default() };
        self.cc.on_ack(&self.flow, &ack);
    }
}

fn cruises(pipe: &Pipe) -> bool {
    pipe.secs() > 1.0 && pipe.probe("pacing_gain") == 1.0
}

fn goes_up(pipe: &Pipe) -> bool {
    pipe.probe("pacing_gain") == 1.25
}

/// Draft, Initialization: is_bw_probe_sample = false. A first ACK with losses of more than 2 % does not bound
/// Startup, which needs six ranges in a round of recovery (StartupFullLossCnt).
#[test]
fn losses_in_startup_set_no_long_term_bound() {
    let mut acks = Acks::after(|pipe| pipe.flow.delivered > 20_000);
    assert!(acks.probe("pacing_gain") > 2.0);
    acks.cc.on(&acks.flow, Event::Congestion(Congestion::Loss));
    acks.ack(10, 20, 5);
    assert_eq!(acks.probe("inflight_hi_bytes"), f64::INFINITY);
    assert!(acks.probe("pacing_gain") > 2.0);
}

/// Draft, Updating the Model Upon Packet Loss, NoteLoss: the first loss begins a round of its own, and the
/// bounds follow at the end of it, not at the ACK that reports the loss.
#[test]
fn the_short_term_bounds_follow_one_round_after_the_first_loss() {
    let mut acks = Acks::after(cruises);
    acks.cc.on(&acks.flow, Event::Congestion(Congestion::Loss));
    acks.flow.phase = Phase::Recovery;
    acks.ack(0, 100, 1); // this ACK would end a round
    assert_eq!(acks.probe("bw_lo_bytes_per_s"), f64::INFINITY);
    let mark = acks.flow.delivered;
    while acks.flow.delivered - 100_000 < mark {
        acks.ack(100, 100, 0);
        assert_eq!(acks.probe("bw_lo_bytes_per_s"), f64::INFINITY);
    }
    acks.ack(100, 100, 0);
    near(acks.probe("bw_lo_bytes_per_s"), 1e6, 0.02);
}

/// google/bbr tcp_bbr.c, `bbr_set_state(TCP_CA_Loss)`: outside probes inflight_lo begins at max(cwnd,
/// prior_cwnd), not at the one segment that is left.
#[test]
fn after_a_timeout_the_short_term_bound_begins_at_the_window_before_it() {
    for (ready, bounded) in [(cruises as fn(&Pipe) -> bool, true), (goes_up, false)] {
        let mut acks = Acks::after(ready);
        let before = acks.cc.decision().cwnd;
        acks.cc.on(&acks.flow, Event::Congestion(Congestion::Timeout));
        let expected = if bounded { before as f64 } else { f64::INFINITY };
        assert_eq!((acks.cc.decision().cwnd, acks.probe("inflight_lo_bytes")), (1000, expected));
    }
}

/// Draft, NoteLoss and HandleLostPacket, which concern every segment that a timeout marks: a probe that ends
/// in a timeout has gone too high, and UP is over. An undo tries it again.
#[test]
fn a_timeout_during_a_probe_bounds_the_flight() {
    let mut acks = Acks::after(goes_up);
    let before = acks.cc.decision();
    acks.flow.in_flight = 110_000;
    acks.cc.on(&acks.flow, Event::Congestion(Congestion::Timeout));
    assert_eq!((acks.probe("inflight_hi_bytes"), acks.probe("pacing_gain")), (110_000.0, 0.9));
    acks.cc.on(&acks.flow, Event::Undo(&before));
    assert_eq!((acks.probe("inflight_hi_bytes"), acks.probe("pacing_gain")), (f64::INFINITY, 1.0));
    assert_eq!(acks.cc.decision().cwnd, before.cwnd);
}

/// google/bbr tcp_bbr.c, `bbr_set_state(TCP_CA_Loss)`: the search for the plateau begins anew, so that
/// Startup goes on for three rounds after a timeout.
#[test]
fn a_timeout_begins_the_search_for_the_plateau_anew() {
    let rounds_left = |timeout: bool| {
        let mut acks = Acks::after(|pipe| pipe.secs() > 1.15);
        assert!(acks.probe("pacing_gain") > 2.0);
        if timeout {
            acks.cc.on(&acks.flow, Event::Congestion(Congestion::Timeout));
        }
        let mut rounds = 0;
        while acks.probe("pacing_gain") > 2.0 {
            acks.ack(0, 100, 0);
            rounds += 1;
        }
        rounds
    };
    // The first round sets the rate to be exceeded, three more do not exceed it.
    assert_eq!(rounds_left(true), 4);
    assert!(rounds_left(false) < 4);
}

/// Draft, Handling a Spurious Loss Recovery: undo_state is set by losses that end Startup or UP. A plateau
/// that ends Startup during a recovery is no such loss, and an undo does not go back.
#[test]
fn an_undo_returns_to_startup_only_if_losses_ended_it() {
    for by_loss in [false, true] {
        let mut acks = Acks::after(|pipe| pipe.secs() > 0.55);
        let before = acks.cc.decision();
        acks.cc.on(&acks.flow, Event::Congestion(Congestion::Loss));
        acks.flow.phase = Phase::Recovery;
        while acks.probe("pacing_gain") > 2.0 {
            if by_loss {
                for _ in 0..6 {
                    acks.ack(50, 100, 1);
                }
                acks.ack(3, 100, 0); // ends the round of the first loss; three segments were lost since it was sent
            } else {
                acks.ack(0, 100, 0);
            }
        }
        acks.cc.on(&acks.flow, Event::Undo(&before));
        acks.ack(50, 100, 0);
        assert_eq!(acks.probe("pacing_gain") > 2.0, by_loss, "by loss: {by_loss}");
    }
}

/// Draft, Handling a Spurious Loss Recovery: UP that losses ended is tried again, by way of REFILL.
#[test]
fn an_undo_returns_to_refill_if_losses_ended_up() {
    let mut acks = Acks::after(goes_up);
    let before = acks.cc.decision();
    acks.cc.on(&acks.flow, Event::Congestion(Congestion::Loss));
    acks.ack(100, 100, 5);
    assert_eq!(acks.probe("pacing_gain"), 0.9);
    assert!(acks.probe("inflight_hi_bytes") < 1e9);
    acks.cc.on(&acks.flow, Event::Undo(&before));
    acks.ack(50, 100, 0);
    assert_eq!((acks.probe("pacing_gain"), acks.probe("inflight_hi_bytes")), (1.0, f64::INFINITY));
}

/// google/bbr tcp_bbr.c, `bbr_run_loss_probe_recovery`: the repair of a tail loss is a congestion report
/// without a lost segment. It counts as one lost segment of inflight_latest.
#[test]
fn a_loss_that_a_tail_loss_probe_repaired_reaches_the_bounds() {
    let mut acks = Acks::after(cruises);
    acks.cc.on(&acks.flow, Event::Congestion(Congestion::Loss));
    acks.ack(100, 100, 0);
    acks.cc.on(&acks.flow, Event::Life(Life::Recovered));
    for _ in 0..101 {
        acks.ack(100, 100, 0);
    }
    near(acks.probe("bw_lo_bytes_per_s"), 1e6, 0.02);
}

/// An idle path has no queue: after a pause the flow goes on at the estimated rate, whatever the gain was,
/// and without ProbeRTT, though the smallest RTT is older than its window (`CA_EVENT_TX_START` in tcp_bbr.c).
#[test]
fn after_a_pause_the_estimated_rate_goes_on() {
    assert_rate_goes_on_after_a_pause("bbr3");
}
