//! The promises that every run keeps.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bentpipe_cc::{Ack, Backoff, Congestion, Controller, Decision, Event, Flow, Needs, Pacing, Start, Time};
use bentpipe_sim::plan::{CcPlan, Source};
use bentpipe_sim::{EVENTS_PER_LOOK, RunError, no_supply, run, run_by_reference};
use proptest::prelude::*;

use crate::outcome::{geo, outcome, plan, report};

#[test]
fn the_same_seed_gives_the_same_result_and_another_seed_another() {
    let text = geo(
        "60 s",
        "loss = { kind = \"packet-error\", rate = 1e-3 }",
        "cc = \"cubic\"\nstart_jitter = \"1 s\"",
    );
    let traced = |seed| outcome(&format!("seed = {seed}\nrecord = {{ interval = \"change\" }}\n{text}"));
    // Compared as text, because a trace holds NaN before the first RTT sample.
    let text_of = |seed| format!("{:?}", traced(seed));
    assert!(text_of(1) == text_of(1), "two runs of one seed differ");
    assert_ne!(traced(1).report.flows[0].delivered_bytes, traced(2).report.flows[0].delivered_bytes);
}

/// A link with its two directions exchanged, and flows that cross it in reverse.
#[test]
fn the_names_of_the_two_directions_do_not_matter() {
    let [up, down] = [("4 Mbit/s", "20 ms", 30), ("9 Mbit/s", "70 ms", 80)];
    let text = |forward: (&str, &str, u32), reverse: (&str, &str, u32), paths: [&str; 2]| {
        let direction = |(rate, delay, room): (&str, &str, u32)| {
            format!(
                "rate = \"{rate}\", delay = \"{delay}\", queue = {{ kind = \"drop-tail\", limit = \"{room} packets\" }}"
            )
        };
        let [there, back] = paths.map(|path| format!("[[flow]]\ncc = \"reno\"\npath = [\"{path}\"]\n"));
        format!(
            "duration = \"30 s\"\n[link]\nx = {{ {}, reverse = {{ {} }} }}\n{there}name = \"there\"\n{back}name = \"back\"\n",
            direction(forward),
            direction(reverse)
        )
    };
    let [one, other] =
        [text(up, down, ["x", "x/reverse"]), text(down, up, ["x/reverse", "x"])].map(|t| report(&t));
    assert_eq!(one.flows, other.flows);
    for (i, link) in one.links.iter().enumerate() {
        let mirrored = &other.links[1 - i];
        assert_eq!(
            (link.delivered_packets, link.dropped_queue),
            (mirrored.delivered_packets, mirrored.dropped_queue)
        );
        // Data of one flow and acknowledgements of the other share each direction.
        assert!(link.delivered_packets > one.flows[i].sent_packets, "{link:?}");
        assert!(link.utilisation > 0.5 && link.utilisation <= 1.0, "{link:?}");
    }
}

#[test]
fn another_flow_elsewhere_does_not_disturb_the_losses() {
    let alone = geo(
        "60 s",
        "loss = { kind = \"packet-error\", rate = 1e-3 }",
        "cc = \"reno\"\nstart_jitter = \"1 s\"",
    );
    let other = "[link.other]\nrate = \"5 Mbit/s\"\ndelay = \"20 ms\"\nloss = { kind = \"packet-error\", rate = 1e-2 }\n[[flow]]\nname = \"second\"\ncc = \"cubic\"\npath = [\"other\"]\nstart_jitter = \"1 s\"\n";
    let both = report(&format!("{alone}{other}"));
    assert_eq!(report(&alone).flows[0], both.flows[0]);
}

#[test]
fn a_run_stops_when_told_to() {
    let plan = plan(&geo("10000 s", "", "cc = \"reno\""));
    let mut looks = 0;
    let result = run(&plan, &mut no_supply, &mut |_| {
        looks += 1;
        looks < 3
    });
    assert!(result.is_err());
    assert_eq!(looks, 3);
}

/// A window of ten segments, whose user takes a while to think about each acknowledgement.
#[derive(Debug)]
struct Slow(Arc<AtomicU64>);

impl Controller for Slow {
    fn on_ack(&mut self, _: &Flow, _: &Ack) {
        self.0.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(2));
    }

    fn on(&mut self, _: &Flow, _: Event<'_>) {}

    fn needs(&self) -> Needs {
        Needs::default()
    }

    fn backoff(&self, _: &Flow, _: Congestion) -> Backoff {
        Backoff { cwnd: 15_000, ssthresh: 15_000, repeat: false }
    }

    fn decision(&self) -> Decision {
        Decision { cwnd: 15_000, ssthresh: u64::MAX, pacing: Pacing::Window, deadline: Time::MAX }
    }
}

/// With a look in 65,536 events it would take two minutes.
#[test]
fn a_run_whose_events_are_slow_stops_soon() {
    let mut plan = plan(&geo("10000 s", "", "cc = \"reno\""));
    let Source::Tcp { cc, .. } = Arc::make_mut(&mut plan.flows[0].source) else { panic!("a connection") };
    *cc = CcPlan::Supplied { key: "slow".to_owned() };
    for run in [run, run_by_reference] {
        let acks = Arc::new(AtomicU64::new(0));
        let mut supply = |_: &str, _: &str, _: Start| Ok(Box::new(Slow(acks.clone())) as Box<dyn Controller>);
        let result = run(&plan, &mut supply, &mut |_| acks.load(Ordering::Relaxed) < 10);
        assert!(matches!(result, Err(RunError::Interrupted)), "{result:?}");
        assert!(acks.load(Ordering::Relaxed) <= 10 + EVENTS_PER_LOOK);
    }
}

#[test]
fn a_run_of_many_flows_stops_while_it_is_set_up() {
    let plan = plan(&geo("1 s", "", "cc = \"reno\"\ncount = 5000"));
    let mut looks = 0;
    let result = run(&plan, &mut no_supply, &mut |share| {
        looks += 1;
        share > 0.0 || looks < 3
    });
    assert!(matches!(result, Err(RunError::Interrupted)), "{result:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn every_run_conserves_packets_and_is_repeatable(
        seed in 0_u64..1000,
        rate_kbps in 100_u64..20_000,
        delay_ms in 0_u64..600,
        queue in 0_u64..200,
        per in 0.0_f64..0.2,
        ack_per in 0.0_f64..0.2,
        cc in 0_usize..64,
        recovery in prop::sample::select(vec!["sack", "newreno", "reno"]),
        profile in prop::sample::select(vec!["paper", "modern"]),
        size in 1_u64..2_000_000,
        count in 1_u32..4,
        spurious in prop::sample::select(vec!["none", "f-rto", "eifel"]),
    ) {
        let all = bentpipe_cc::registry::all();
        let cc = all[cc % all.len()].id;
        let text = format!(r#"
            seed = {seed}
            duration = "300 s"
            [link.sat]
            rate = "{rate_kbps} kbit/s"
            delay = "{delay_ms} ms"
            queue = {{ kind = "drop-tail", limit = "{queue} packets" }}
            loss = {{ kind = "packet-error", rate = {per} }}
            [link.sat.reverse]
            loss = {{ kind = "packet-error", rate = {ack_per} }}
            [[flow]]
            cc = "{cc}"
            path = ["sat"]
            profile = "{profile}"
            recovery = "{recovery}"
            spurious = "{spurious}"
            timestamps = true
            count = {count}
            start_jitter = "1 s"
            traffic = {{ kind = "bulk", size = "{size} bytes" }}
        "#);
        let r = report(&text);
        let link = &r.links[0];
        let sent: u64 = r.flows.iter().map(|f| f.sent_packets).sum();
        let probes_at_most: u64 = r.flows.iter().map(|f| f.timeouts + f.spurious_timeouts + 1).sum();
        let seen = link.delivered_packets + link.dropped_queue + link.dropped_error;
        // Timeouts of at least 1 s that double up to 60 s fit nine times in 300 s (1 to 32, three of 60 s).
        // So each end sends at most ten SYNs or FINs, and as many acknowledgements of the other's twenty.
        let control_at_most = if profile == "modern" { 40 * u64::from(count) } else { 0 };
        let most = sent + probes_at_most + control_at_most;
        prop_assert!(seen <= most, "{seen} seen of {sent} sent");
        prop_assert!(link.utilisation <= 1.0 + 1e-9);
        for f in &r.flows {
            prop_assert!(f.delivered_bytes <= size);
            prop_assert!(f.goodput_bps <= link.rate_bps as f64 * 1.001);
            let l = f.limited;
            let sum = l.handshake + l.cwnd + l.rwnd + l.app + l.pacing + l.recovery + l.timeout;
            prop_assert!((sum - 1.0).abs() < 1e-6, "shares sum to {sum}");
            if f.completion_s.is_some() {
                prop_assert_eq!(f.delivered_bytes, size);
            }
        }
        prop_assert_eq!(&r, &report(&text));
    }
}
