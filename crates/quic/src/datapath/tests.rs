//! The calls of quinn, made by hand.

use bentpipe_cc::registry::{self, Value};
use bentpipe_cc::{
    Ack, Backoff, Congestion, Controller, Decision, Event, Flow, Needs, Pacing, Phase, Rate, Span, Start,
    Time,
};
use proptest::prelude::*;
use std::sync::{Arc, Mutex};

use super::Datapath;

const MTU: u16 = 1200;
const MS: u64 = 1_000_000;

/// A controller that writes down the reports it gets.
#[derive(Clone, Debug)]
struct Scribe {
    told: Arc<Mutex<Vec<String>>>,
    decision: Decision,
}

impl Scribe {
    fn write(&self, flow: &Flow, what: &str) {
        let line = format!("{} {what} {:?} {}", flow.now.0 / MS, flow.phase, flow.in_flight);
        self.told.lock().expect("no panic").push(line);
    }
}

impl Controller for Scribe {
    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        let rtt = ack.rtt.map_or(0, |rtt| rtt.latest.0 / MS);
        let end = if ack.round_end { " round" } else { "" };
        self.write(flow, &format!("ack {}-{} lost {} rtt {rtt}{end}", ack.acked, ack.uncounted, ack.lost));
    }
    fn on(&mut self, flow: &Flow, event: Event<'_>) {
        match event {
            Event::Congestion(why) => self.write(flow, &format!("{why:?}")),
            Event::Undo(_) => self.write(flow, "undo"),
            Event::Life(what) => self.write(flow, &format!("{what:?}")),
            Event::Deadline => {
                self.write(flow, "deadline");
                self.decision.deadline = Time::MAX;
            }
            other => self.write(flow, &format!("{other:?}")),
        }
    }
    fn decision(&self) -> Decision {
        self.decision
    }
    fn backoff(&self, _flow: &Flow, _why: Congestion) -> Backoff {
        Backoff { cwnd: 0, ssthresh: 0, repeat: false }
    }
    fn needs(&self) -> Needs {
        Needs::default()
    }
}

const PLAIN: Decision =
    Decision { cwnd: 12_000, ssthresh: u64::MAX, pacing: Pacing::Window, deadline: Time::MAX };

fn scribe(decision: Decision) -> (Datapath, Arc<Mutex<Vec<String>>>) {
    let told = Arc::new(Mutex::new(Vec::new()));
    (Datapath::new(Box::new(Scribe { told: told.clone(), decision }), MTU), told)
}

fn lines(told: &Mutex<Vec<String>>) -> Vec<String> {
    std::mem::take(&mut *told.lock().expect("no panic"))
}

fn ms(ms: u64) -> Time {
    Time(ms * MS)
}

/// Ten packets; the first of them is lost. quinn reports the loss after the acknowledgement, the controller
/// learns of it before. Later losses of the same window are no news, and the first packet sent after the loss
/// ends the recovery (RFC 9002 section 7.3.2).
#[test]
fn an_episode_is_told_once_and_in_order() {
    let (mut path, told) = scribe(PLAIN);
    for i in 0..10 {
        path.on_sent(ms(i), 1200);
    }
    path.on_ack(ms(101), ms(1), 1200, false);
    path.on_ack(ms(101), ms(2), 1200, false);
    path.on_end_acks(ms(101), 9600, false);
    assert_eq!(lines(&told), [""; 0], "quinn may still tell of a loss");
    path.window();
    assert_eq!(lines(&told), ["101 ack 2400-0 lost 0 rtt 99 round Open 9600"]);

    path.on_ack(ms(103), ms(3), 1200, false);
    path.on_end_acks(ms(103), 8400, false);
    path.on_congestion(ms(103), ms(0), false, 1200);
    path.on_sent(ms(103), 1200); // the retransmission
    let expected = ["103 Loss Open 7200", "103 ack 1200-0 lost 1200 rtt 100 Recovery 7200"];
    assert_eq!(lines(&told), expected);

    path.on_ack(ms(105), ms(5), 1200, false);
    path.on_end_acks(ms(105), 7200, false);
    path.on_congestion(ms(105), ms(4), false, 1200);
    path.window();
    assert_eq!(lines(&told), ["105 ack 1200-1200 lost 1200 rtt 100 Recovery 6000"]);

    path.on_sent(ms(105), 1200);
    path.on_ack(ms(203), ms(103), 1200, false);
    path.on_ack(ms(205), ms(105), 1200, false); // another acknowledgement, though the first was not ended
    path.on_end_acks(ms(205), 4800, false);
    path.window();
    // A packet sent at the very instant of the loss may have been sent before it, so it does not end the
    // recovery.
    let expected = [
        "203 ack 1200-1200 lost 0 rtt 100 round Recovery 7200",
        "205 ack 1200-0 lost 0 rtt 100 Recovery 4800",
        "205 Recovered Open 4800",
    ];
    assert_eq!(lines(&told), expected);
}

#[test]
fn marks_and_persistent_congestion_have_their_names() {
    let (mut path, told) = scribe(PLAIN);
    path.on_sent(ms(0), 12_000);
    path.on_ack(ms(100), ms(0), 1200, false);
    path.on_end_acks(ms(100), 10_800, false);
    path.on_congestion(ms(100), ms(0), false, 0);
    path.on_sent(ms(101), 1200);
    assert_eq!(lines(&told), ["100 Ecn Open 10800", "100 ack 1200-0 lost 0 rtt 100 round Open 10800"]);
    // All but the last packet are lost over a long time, within the episode of the mark.
    path.on_ack(ms(2000), ms(101), 1200, false);
    path.on_end_acks(ms(2000), 10_800, false);
    path.on_congestion(ms(2000), ms(0), true, 10_800);
    path.on_congestion(ms(2000), ms(0), true, 0); // where nothing is lost, something was marked: no more news here
    path.window();
    assert_eq!(lines(&told), ["2000 Timeout Open 0", "2000 ack 1200-0 lost 10800 rtt 1899 round Loss 0"]);
}

/// There is no timer under quinn: the deadline is reported with the next packet.
#[test]
fn a_deadline_is_told_late_and_a_pause_after_its_end() {
    let (mut path, told) = scribe(Decision { deadline: ms(150), ..PLAIN });
    path.on_sent(ms(0), 1200);
    path.on_ack(ms(100), ms(0), 1200, true);
    path.on_end_acks(ms(100), 0, true);
    path.window();
    assert!(!path.flow().cwnd_limited);
    lines(&told);
    path.on_sent(ms(500), 1200);
    path.on_sent(ms(501), 1200);
    assert_eq!(lines(&told), ["500 deadline Open 0", "500 IdleRestart Open 0"]);
}

/// 100 kB/s at an RTT of 60 ms are 6000 bytes, less than the window of 12 000. The window is never less than
/// two datagrams.
#[test]
fn a_rate_is_kept_as_a_window() {
    for (rate, window) in [(100_000, 6000), (1_000_000, 12_000), (1, 2400)] {
        let (mut path, _) = scribe(Decision { pacing: Pacing::Rate(Rate(rate)), ..PLAIN });
        assert_eq!(path.window(), 12_000, "no RTT is known yet");
        path.on_sent(ms(0), 1200);
        path.on_ack(ms(60), ms(0), 1200, false);
        path.on_end_acks(ms(60), 0, false);
        assert_eq!(path.window(), window);
    }
}

/// A call of quinn.
#[derive(Clone, Debug)]
enum Call {
    Sent { bytes: u64 },
    Acks { ago: Vec<u64>, bytes: u64, in_flight: u64, app_limited: bool },
    Congestion { ago: u64, persistent: bool, lost: u64 },
    Mtu(u16),
    Wait(u64),
    Window,
}

fn call() -> impl Strategy<Value = Call> {
    let ago = 0..5_000 * MS;
    prop_oneof![
        4 => (0..20_000_u64).prop_map(|bytes| Call::Sent { bytes }),
        4 => (prop::collection::vec(ago.clone(), 0..4), 0..20_000_u64, 0..1_000_000_u64, any::<bool>())
            .prop_map(|(ago, bytes, in_flight, app_limited)| Call::Acks { ago, bytes, in_flight, app_limited }),
        2 => (ago, any::<bool>(), prop_oneof![Just(0), 0..1_000_000_u64, Just(u64::MAX)])
            .prop_map(|(ago, persistent, lost)| Call::Congestion { ago, persistent, lost }),
        1 => (0..=u16::MAX).prop_map(Call::Mtu),
        4 => (0..3_000 * MS).prop_map(Call::Wait),
        2 => Just(Call::Window),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Whatever quinn calls, in any order, even with a clock that goes back.
    #[test]
    fn any_calls_leave_a_window_of_two_datagrams(
        which in 0..registry::all().len(),
        anew in any::<bool>(),
        calls in prop::collection::vec(call(), 0..200),
    ) {
        let start = Start { mss: u32::from(MTU), initial_window: 10.0, initial_ssthresh: f64::INFINITY };
        let given = [("path_change".to_owned(), Value::Text("reset".to_owned()))];
        let given = if anew { &given[..] } else { &[] };
        let cc = registry::build(registry::all()[which].id, given, start).expect("with its defaults");
        let mut path = Datapath::new(cc, MTU);
        let mut now = 0;
        for call in calls {
            match call {
                Call::Sent { bytes } => path.on_sent(Time(now), bytes),
                Call::Acks { ago, bytes, in_flight, app_limited } => {
                    for ago in ago {
                        path.on_ack(Time(now), Time(now.saturating_sub(ago)), bytes, app_limited);
                    }
                    path.on_end_acks(Time(now), in_flight, app_limited);
                }
                Call::Congestion { ago, persistent, lost } => {
                    path.on_congestion(Time(now), Time(now.saturating_sub(ago)), persistent, lost);
                }
                Call::Mtu(mtu) => path.on_mtu(mtu),
                Call::Wait(ns) => now += ns,
                Call::Window => {
                    let least = 2 * u64::from(path.flow().mss);
                    prop_assert!(path.window() >= least);
                }
            }
        }
        let flow = *path.flow();
        prop_assert!(path.window() >= 2 * u64::from(flow.mss));
        prop_assert!(flow.phase == Phase::Open || flow.lost > 0);
        prop_assert!(flow.rtt.is_none_or(|rtt| rtt.min <= rtt.latest && rtt.min > Span::ZERO));
    }
}
