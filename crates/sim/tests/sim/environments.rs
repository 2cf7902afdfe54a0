//! Runs that pause for the decisions of agents: the same bits however they are divided, and rates and
//! measures worked out by hand.

use std::sync::Arc;

use bentpipe_cc::Time;
use bentpipe_sim::environment::{
    ALL_MEASURES, Acts, Batch, Environment, EnvironmentError, Fresh, MEASURES, Settings, StepEnd, Stepped,
    TransportKind,
};
use bentpipe_sim::plan::Plan;
use bentpipe_sim::{Scenario, SteppedRun, no_supply, random_scenario, run};
use proptest::prelude::*;

/// Packets that are lost by a trace.
const LOSSES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sim/losses.txt");

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Whatever the loop, the links and the flows.
    #[test]
    fn a_run_in_steps_gives_the_bits_of_a_run(
        regime in 0_u8..4,
        bytes in prop::collection::vec(any::<u8>(), 0..600),
        steps in prop::collection::vec(1_u64..3_000_000_000, 1..40),
    ) {
        let text = random_scenario(&[&[regime], bytes.as_slice()].concat(), LOSSES);
        let Ok(plan) = Scenario::from_toml(&text, "random.toml", &[]).and_then(|s| s.resolve()) else {
            return Ok(());
        };
        let Ok(whole) = run(&plan, &mut no_supply, &mut |_| true) else { return Ok(()) };
        let mut stepped = SteppedRun::new(plan, &mut no_supply).expect("it has been built before");
        let mut at = 0;
        for step in steps {
            at += step;
            stepped.advance(Time(at)).expect("it has run before");
            prop_assert!(stepped.next() > Time(at));
        }
        let stepped = stepped.finish().expect("it has run before");
        prop_assert!(format!("{whole:?}") == format!("{stepped:?}"), "{}", text);
    }
}

/// Two flows of agents over 12 Mbit/s, on which a packet of 1500 bytes takes 1 ms, and 50 ms each way.
fn scenario(loss: f64, seed: u64) -> String {
    let flow = |name: &str| serde_json::json!({"name": name, "cc": "python:agent", "path": ["sat"]});
    serde_json::json!({
        "duration": "100 s",
        "seed": seed,
        "link": {"sat": {"rate": "12 Mbit/s", "delay": "50 ms", "queue": {"kind": "drop-tail", "limit": "1000 packets"},
                         "loss": {"kind": "packet-error", "rate": loss}}},
        "flow": [flow("a"), flow("b")],
    })
    .to_string()
}

fn settings() -> Settings {
    Settings {
        flows: vec!["a".into(), "b".into()],
        transport: TransportKind::Tcp,
        acts: Acts::Rate,
        step: StepEnd::Seconds(1.0),
        scale: 0.1,
        bounds: [0.01, 2.0],
        observe: vec!["latency_ratio".into(), "loss_share".into()],
        history: 3,
        reward: vec![("throughput_share".into(), 2.0), ("rtt_mean_s".into(), -1.0)],
        most_steps: Some(50),
    }
}

fn begun(settings: &Settings, text: &str, start: [f64; 2]) -> Environment {
    settings.check().expect("correct");
    let plan = Scenario::from_json(text).expect("correct").resolve().expect("correct");
    Environment::begin(&Arc::new(settings.clone()), plan, &start).expect("correct")
}

fn measure(environment: &Environment, agent: usize, name: &str) -> f64 {
    let number = ALL_MEASURES.iter().position(|measure| measure.name == name).expect("known");
    environment.measures(agent)[number]
}

#[test]
fn an_agent_gets_what_it_asks_of_an_idle_link() {
    let mut environment = begun(&settings(), &scenario(0.0, 1), [0.25, 0.5]);
    for _ in 0..5 {
        environment.step(&[0.0, 0.0]).expect("it goes on");
    }
    for (agent, share) in [(0, 0.25), (1, 0.5)] {
        // A second holds 250 or 500 packets, to one packet at each end.
        assert!((measure(&environment, agent, "throughput_share") - share).abs() < 3e-3);
        assert!((measure(&environment, agent, "send_ratio") - 1.0).abs() < 5e-3);
        // The RTT: 1 ms and 50 ms there, 50 ms back, and a packet of the other flow at times.
        let rtt = measure(&environment, agent, "rtt_mean_s");
        assert!((0.101..0.102).contains(&rtt), "{rtt}");
        assert!(
            (environment.reward(agent) - (2.0 * measure(&environment, agent, "throughput_share") - rtt))
                .abs()
                < 1e-12
        );
    }
}

#[test]
fn an_action_multiplies_or_divides_the_rate_within_its_bounds() {
    let mut environment = begun(&settings(), &scenario(0.0, 1), [0.25, 0.25]);
    environment.step(&[0.0, 0.0]).expect("it goes on");
    let first = measure(&environment, 0, "rate_bps");
    environment.step(&[1.0, -1.0]).expect("it goes on");
    assert!((measure(&environment, 0, "rate_bps") / first - 1.1).abs() < 1e-9);
    assert!((measure(&environment, 1, "rate_bps") / first - 1.0 / 1.1).abs() < 1e-9);
    for _ in 0..40 {
        environment.step(&[5.0, -500.0]).expect("it goes on");
    }
    // 2 and 0.01 of the payload that 12 Mbit/s carry.
    assert!((measure(&environment, 0, "rate_bps") / first - 2.0 / 0.25).abs() < 1e-9);
    assert!((measure(&environment, 1, "rate_bps") / first - 0.01 / 0.25).abs() < 1e-9);
    // The faster one has filled the buffer: 1000 packets of 1 ms. It then gets what the other one leaves.
    assert!(measure(&environment, 0, "rtt_mean_s") > 1.0);
    assert!(measure(&environment, 0, "loss_share") > 0.4);
    assert!(measure(&environment, 0, "send_ratio") > 1.8);
}

#[test]
fn an_observation_has_the_last_intervals_the_oldest_first() {
    let mut environment = begun(&settings(), &scenario(0.0, 1), [0.25, 0.25]);
    let neutral: Vec<f32> = environment.observation(0).take(4).collect();
    assert_eq!(neutral, [1.0, 0.0, 1.0, 0.0]);
    let mut seen = Vec::new();
    for _ in 0..3 {
        environment.step(&[20.0, 20.0]).expect("it goes on");
        seen.extend([
            measure(&environment, 1, "latency_ratio") as f32,
            measure(&environment, 1, "loss_share") as f32,
        ]);
    }
    assert_eq!(environment.observation(1).collect::<Vec<_>>(), seen);
    assert!(seen[4] > seen[0], "a queue grows: {seen:?}");
}

#[test]
fn an_episode_ends_with_its_steps_or_with_the_scenario() {
    let mut environment = begun(&settings(), &scenario(0.0, 1), [0.25, 0.25]);
    for step in 1..=50 {
        environment.step(&[0.0, 0.0]).expect("it goes on");
        assert_eq!(environment.is_cut_off(), step == 50);
    }
    let mut environment =
        begun(&Settings { most_steps: None, ..settings() }, &scenario(0.0, 1), [0.25, 0.25]);
    let mut steps = 0;
    while !environment.is_cut_off() {
        environment.step(&[0.0, 0.0]).expect("it goes on");
        steps += 1;
    }
    // The first begins with the first sample, after about 0.1 s; the last is cut short.
    assert_eq!((steps, environment.now()), (100, Time(100_000_000_000)));
}

#[test]
fn a_step_may_end_with_each_acknowledgement() {
    let alone = Settings {
        flows: vec!["a".into()],
        step: StepEnd::Ack,
        acts: Acts::Window,
        most_steps: None,
        ..settings()
    };
    let text = scenario(0.01, 3).replacen("python:agent", "reno", 2).replacen("reno", "python:agent", 1);
    let plan = Scenario::from_json(&text).expect("correct").resolve().expect("correct");
    let mut environment = Environment::begin(&Arc::new(alone), plan, &[1.0]).expect("correct");
    for _ in 0..300 {
        environment.step(&[0.0]).expect("it goes on");
        assert_eq!(measure(&environment, 0, "acks"), 1.0);
        assert_eq!(measure(&environment, 0, "cwnd_segments"), 10.0);
        assert!(measure(&environment, 0, "in_flight_segments") <= 10.0);
    }
}

/// An agent alone that sends datagrams over `link`, and that flow with other keys.
fn datagrams(link: &serde_json::Value, keys: &serde_json::Value) -> (Arc<Settings>, Plan) {
    let settings = Settings {
        flows: vec!["a".into()],
        transport: TransportKind::Datagrams,
        most_steps: None,
        ..settings()
    };
    settings.check().expect("correct");
    let mut flow = serde_json::json!({"name": "a", "cc": "python:agent", "path": ["sat"]});
    flow.as_object_mut().expect("a table").extend(keys.as_object().expect("a table").clone());
    let scenario = serde_json::json!({"duration": "20 s", "seed": 5, "link": {"sat": link}, "flow": [flow]});
    let plan = Scenario::from_json(&scenario.to_string()).expect("correct").resolve().expect("correct");
    (Arc::new(settings), plan)
}

/// Datagrams sent, acknowledged and declared lost until the end of the run, by the measures of its steps.
fn played(settings: &Arc<Settings>, plan: Plan, start: f64) -> [f64; 3] {
    let mut environment = Environment::begin(settings, plan, &[start]).expect("correct");
    let mut counts = [0.0; 3];
    loop {
        let [sent, pps, share, time] =
            ["send_ratio", "throughput_pps", "loss_share", "interval_s"].map(|n| measure(&environment, 0, n));
        let acked = pps * time;
        counts[0] += sent * acked;
        counts[1] += acked;
        counts[2] += acked * share / (1.0 - share);
        if environment.is_cut_off() {
            return counts.map(f64::round);
        }
        environment.step(&[0.0]).expect("it goes on");
    }
}

/// The links, their losses and their draws are those of every run: a source of the same packets at the same
/// instants gets as many of them through.
#[test]
fn datagrams_meet_the_fates_of_a_source_with_a_constant_rate() {
    for (queue, loss) in [
        (serde_json::json!({"kind": "drop-tail", "limit": "20 packets"}), 0.0),
        (serde_json::json!({"kind": "drop-tail", "limit": "20 packets"}), 0.03),
        (serde_json::json!({"kind": "drop-tail", "limit": "30 kB"}), 0.03),
        (
            serde_json::json!({"kind": "red", "limit": "50 packets", "min": "5 packets", "max": "20 packets"}),
            0.01,
        ),
    ] {
        let link = serde_json::json!({
            "rate": "12 Mbit/s", "delay": "50 ms", "queue": queue,
            "loss": {"kind": "packet-error", "rate": loss},
        });
        // 1500 bytes each 0.8 ms: 1.25 of what the link carries.
        let (settings, plan) = datagrams(&link, &serde_json::json!({"stop": "19 s"}));
        let [sent, acked, lost] = played(&settings, plan, 1.25);
        let cbr = serde_json::json!({
            "duration": "20 s", "seed": 5, "link": {"sat": link},
            "flow": [{"name": "a", "traffic": {"kind": "cbr", "rate": "15 Mbit/s", "packet": "1500 B"}, "path": ["sat"], "stop": "19 s"}],
        });
        let plan = Scenario::from_json(&cbr.to_string()).expect("correct").resolve().expect("correct");
        let outcome = run(&plan, &mut no_supply, &mut |_| true).expect("it ends");
        let link = &outcome.report.links[0];
        assert_eq!(
            (sent, acked),
            (link.offered_packets as f64, link.delivered_packets as f64),
            "{queue} {loss}"
        );
        // Those behind the last that arrives are never declared lost.
        assert!(sent - acked - lost < 5.0 && lost <= sent - acked, "{sent} {acked} {lost}");
        assert!(acked < 0.82 * sent, "the queue is full");
    }
}

#[test]
fn a_datagram_is_answered_after_a_round_trip_and_lost_answers_are_made_up_for() {
    let there = serde_json::json!({"rate": "12 Mbit/s", "delay": "50 ms"});
    let (settings, plan) = datagrams(&there, &serde_json::json!({"extra_delay": "7 ms", "start": "1 s"}));
    let mut environment = Environment::begin(&settings, plan, &[0.5]).expect("correct");
    // 1500 bytes there take 1 ms, 52 bytes back 34.667 us; 2 x (50 + 7) ms of delay.
    assert_eq!(environment.now(), Time(1_115_034_666));
    environment.step(&[0.0]).expect("it goes on");
    assert_eq!(measure(&environment, 0, "acks"), 500.0);
    assert_eq!(measure(&environment, 0, "throughput_pps").round(), 500.0);
    // One every 2 ms: those sent after 2 s.
    assert_eq!(measure(&environment, 0, "in_flight_segments"), 57.0);
    assert_eq!(measure(&environment, 0, "cwnd_segments"), 0.0);
    assert!((measure(&environment, 0, "rtt_mean_s") - 0.115_034_666).abs() < 2e-9);
    assert_eq!(measure(&environment, 0, "loss_share"), 0.0);

    let mut lossy = there;
    lossy["reverse"] = serde_json::json!({"loss": {"kind": "packet-error", "rate": 0.5}});
    let (settings, plan) =
        datagrams(&lossy, &serde_json::json!({"traffic": {"kind": "bulk", "size": "2896 kB"}}));
    let mut environment = Environment::begin(&settings, plan, &[0.5]).expect("correct");
    let (mut acks, mut acked) = (0.0, 0.0);
    while !environment.is_cut_off() {
        let complete = environment.is_complete(0);
        environment.step(&[0.0]).expect("it goes on");
        acks += measure(&environment, 0, "acks");
        acked += measure(&environment, 0, "throughput_pps") * measure(&environment, 0, "interval_s");
        assert_eq!(measure(&environment, 0, "loss_share"), 0.0);
        assert!(!complete || measure(&environment, 0, "sent_bps") == 0.0);
    }
    assert!(environment.is_complete(0));
    // 2000 datagrams in 4 s, half of whose acknowledgements are lost.
    assert!((1_990.0..=2_000.0).contains(&acked.round()), "{acked}");
    assert!((800.0..1_200.0).contains(&acks), "{acks}");
}

#[test]
fn datagrams_are_refused_where_order_or_one_flow_is_missing() {
    let plain = serde_json::json!({"rate": "12 Mbit/s", "delay": "50 ms"});
    let refused = |link: &serde_json::Value, keys: &serde_json::Value| {
        let (settings, plan) = datagrams(link, keys);
        Environment::begin(&settings, plan, &[1.0]).expect_err("it cannot be played").to_string()
    };
    let none = serde_json::json!({});
    let mut codel = plain.clone();
    codel["queue"] = serde_json::json!({"kind": "codel"});
    assert!(refused(&codel, &none).contains("sat/forward"), "{}", refused(&codel, &none));
    let several = refused(&plain, &serde_json::json!({"count": 2}));
    assert!(several.contains("flow"), "{several}");
    let pauses = serde_json::json!({"traffic": {"kind": "on-off", "on": "1 s", "off": "1 s"}});
    assert!(refused(&plain, &pauses).contains("bulk"), "{}", refused(&plain, &pauses));
    let twice = serde_json::json!({"ack_path": ["sat"]});
    assert!(refused(&plain, &twice).contains("twice"), "{}", refused(&plain, &twice));
}

/// The observations, rewards and measures of these seeds over 20 steps.
fn steps_of_batch(seeds: &[u64], threads: usize) -> Vec<(Vec<f32>, Vec<f64>)> {
    let (settings, count) = (settings(), seeds.len());
    let (mut seen, mut rewards) = (vec![0.0; count * 2 * settings.observations()], vec![0.0; 2 * count]);
    let (mut complete, mut cut_off) = (vec![false; 2 * count], vec![false; count]);
    let mut measures = vec![0.0; 2 * count * MEASURES];
    let mut batch = Batch::new(settings.clone(), count, threads);
    let mut all = vec![(Vec::new(), Vec::new()); count];
    for step in 0..20 {
        let fresh = |(number, &seed): (usize, &u64)| Fresh {
            number,
            scenario: scenario(0.02, seed),
            start: vec![0.3, 0.6],
        };
        let fresh = if step == 0 { seeds.iter().enumerate().map(fresh).collect() } else { Vec::new() };
        let actions: Vec<f64> =
            (0..2 * count).map(|i| if (i + step) % 2 == 0 { 0.7 } else { -0.6 }).collect();
        let into = Stepped {
            observations: &mut seen,
            rewards: &mut rewards,
            complete: &mut complete,
            cut_off: &mut cut_off,
            measures: &mut measures,
        };
        assert!(batch.fits(&actions, &into));
        batch.step(&actions, fresh, false, into).expect("it goes on");
        for (i, (observed, measured)) in all.iter_mut().enumerate() {
            observed
                .extend_from_slice(&seen[i * 2 * settings.observations()..][..2 * settings.observations()]);
            measured.extend_from_slice(&measures[i * 2 * MEASURES..][..2 * MEASURES]);
            measured.extend_from_slice(&rewards[2 * i..][..2]);
        }
    }
    all
}

#[test]
fn neither_threads_nor_the_size_of_a_batch_change_a_bit() {
    let seeds = [5, 6, 7, 8, 9];
    let together = steps_of_batch(&seeds, 1);
    assert_eq!(steps_of_batch(&seeds, 3), together);
    for (seed, expected) in seeds.iter().zip(&together) {
        assert_eq!(&steps_of_batch(&[*seed], 1)[0], expected);
    }
    assert_ne!(together[0], together[1]);
}

#[test]
fn wrong_settings_and_flows_are_refused_with_a_reason() {
    let wrong = |change: fn(&mut Settings)| {
        let mut settings = settings();
        change(&mut settings);
        settings.check().expect_err("wrong")
    };
    assert!(wrong(|s| s.observe = vec!["latency".into()]).contains("\"latency\""));
    assert!(wrong(|s| s.step = StepEnd::Ack).contains("one agent"));
    assert!(wrong(|s| s.bounds = [2.0, 1.0]).contains("in order"));
    assert!(wrong(|s| s.step = StepEnd::Rtts(0.0)).contains("above 0"));
    let windowed = |s: &mut Settings| (s.transport, s.acts) = (TransportKind::Datagrams, Acts::Both);
    assert!(wrong(windowed).contains("no window"));
    assert!(wrong(|s| s.transport = TransportKind::Datagrams).contains("for one agent"));
    let begin = |text: &str, flows: &[&str]| {
        let flows = flows.iter().map(|&flow| flow.to_owned()).collect();
        let plan = Scenario::from_json(text).expect("correct").resolve().expect("correct");
        let settings = Arc::new(Settings { flows, ..settings() });
        Environment::begin(&settings, plan, &[1.0, 1.0]).expect_err("wrong")
    };
    let text = scenario(0.0, 1);
    assert!(matches!(begin(&text, &["a", "c"]), EnvironmentError::Flow { flow, .. } if flow == "c"));
    assert!(begin(&text, &["a"]).to_string().contains("no agent controls flow \"b\""));
}
