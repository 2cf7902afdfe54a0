//! Any valid scenario runs to its end, keeps every law of the audit (a breach is an error), and is
//! repeatable beside other runs. Its numbers are finite and in range, and equal those of the
//! reference loop, bit for bit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bentpipe_cc::{Hint, PathChange, Span, Time, registry};
use bentpipe_sim::pcap::{Capture, Place};
use bentpipe_sim::plan::{
    BitError, DirectionPlan, Leg, LossPlan, PacketError, Plan, RecordPlan, Step, TimeLine, TimedHint,
};
use bentpipe_sim::record::{FlowReport, Outcome, Report};
use bentpipe_sim::{
    RunError, RunPool, Scenario, no_supply, random_scenario, run, run_by_reference, run_captured,
    run_in_batches,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::Value;

/// Packets that are lost by a trace.
const LOSSES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sim/losses.txt");

/// A scenario of this regime.
pub(crate) fn scenario(regime: u8) -> impl Strategy<Value = String> {
    prop::collection::vec(any::<u8>(), 0..1_200)
        .prop_map(move |bytes| random_scenario(&[&[regime], bytes.as_slice()].concat(), LOSSES))
}

/// 400 scenarios of each regime, or as many as `PROPTEST_CASES` says.
pub(crate) fn cases() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    ProptestConfig { cases, ..ProptestConfig::default() }
}

/// The ranges of every report's numbers.
pub(crate) fn in_range(r: &Report) -> Result<(), TestCaseError> {
    // A shorter round-trip time counts as 64 ns.
    let longest = (r.simulated_s * 1.02).max(64e-9);
    for f in &r.flows {
        prop_assert!(f.goodput_bps.is_finite() && f.goodput_bps >= 0.0, "{f:?}");
        prop_assert!(f.cwnd_mean_segments.is_finite() && f.cwnd_mean_segments >= 0.0, "{f:?}");
        prop_assert!(f.retransmitted_packets <= f.sent_packets, "{f:?}");
        prop_assert!(f.dropped_packets <= f.sent_packets, "{f:?}");
        if let Some(rtt) = f.rtt {
            let times = [rtt.min_s, rtt.mean_s, rtt.p50_s, rtt.p95_s];
            prop_assert!(times.iter().all(|t| t.is_finite() && *t >= 0.0 && *t <= longest), "{f:?}");
            prop_assert!(rtt.min_s <= rtt.mean_s * (1.0 + 1e-9) && rtt.min_s <= rtt.p95_s * 1.02, "{f:?}");
        }
        let l = f.limited;
        let shares = [l.handshake, l.cwnd, l.rwnd, l.app, l.pacing, l.recovery, l.timeout];
        prop_assert!(shares.iter().all(|s| (0.0..=1.0 + 1e-9).contains(s)), "{f:?}");
        let sum: f64 = shares.iter().sum();
        prop_assert!(sum.abs() < 1e-6 || (sum - 1.0).abs() < 1e-6, "shares sum to {sum}: {f:?}");
    }
    // The rows of subflows are those of their connection again.
    let each = r.flows.iter().filter(|f| f.half != Some("subflow"));
    let arrived = |f: &FlowReport| f.sent_packets.checked_sub(f.dropped_packets + f.inside_packets);
    prop_assert_eq!(each.map(arrived).sum::<Option<u64>>(), Some(r.packets), "{:?}", r.flows);
    for l in &r.links {
        let fates = [l.delivered_packets, l.dropped_queue, l.dropped_error, l.thinned_acks, l.inside_packets];
        prop_assert_eq!(l.offered_packets, fates.iter().sum::<u64>(), "{:?}", l);
        prop_assert!((0.0..=1.0).contains(&l.utilisation), "{l:?}");
        prop_assert!(
            l.queue_mean_packets >= 0.0 && l.queue_mean_packets <= l.queue_max_packets as f64 + 1e-6,
            "{l:?}"
        );
        prop_assert!(
            l.marked <= l.delivered_packets + l.dropped_error + l.queue_max_packets + 1_000_000,
            "{l:?}"
        );
    }
    Ok(())
}

/// The run of this scenario, samples included, if both loops agree. They are compared as text,
/// because a trace holds NaN before the first RTT sample. `None` if both loops refuse it because
/// it takes too much memory.
fn by_both_loops(plan: &Plan, text: &str) -> Result<Option<Outcome>, TestCaseError> {
    let (fast, reference) = match [run, run_by_reference].map(|run| run(plan, &mut no_supply, &mut |_| true))
    {
        [Ok(fast), Ok(reference)] => (fast, reference),
        [Err(RunError::Kept { .. }), Err(RunError::Kept { .. })] => return Ok(None),
        got => return Err(TestCaseError::fail(format!("{got:?}\n{text}"))),
    };
    prop_assert_eq!(format!("{:?}", fast.report), format!("{:?}", reference.report), "{}", text);
    let flows = [&fast, &reference].map(|outcome| lines(&format!("{:?}", outcome.flows.trace())));
    let links = [&fast, &reference].map(|outcome| lines(&format!("{:?}", outcome.links.trace())));
    prop_assert!(flows[0] == flows[1], "flows differ:\n{text}\n{}\n{}", flows[0], flows[1]);
    prop_assert!(links[0] == links[1], "links differ:\n{text}\n{}\n{}", links[0], links[1]);
    prop_assert!(format!("{fast:?}") == format!("{reference:?}"), "{text}");
    let sizes = batch_sizes(text);
    let batched = run_in_batches(plan, sizes, &mut no_supply, &mut |_| true);
    let batched = batched.map_err(|e| TestCaseError::fail(e.to_string()))?;
    prop_assert!(format!("{batched:?}") == format!("{fast:?}"), "batches of {sizes:?}:\n{text}");
    Ok(Some(fast))
}

/// Sizes of batches, drawn by the text of a scenario: every route has batches, which are short or long.
fn batch_sizes(text: &str) -> (f64, usize) {
    let drawn = text.bytes().fold(7_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    (0.0, [1, 2, 3, 7, 64, 1_000][drawn % 6])
}

/// A scenario with its defaults written out is the same scenario: it resolves to the same plan and is
/// written out the same way.
fn written_out_it_means_the_same(text: &str) -> Result<(), TestCaseError> {
    let written = Scenario::from_toml(text, "random.toml", &[]).expect("it has been read before");
    let plan = written.resolve().expect("it has been resolved before");
    let full = written.with_defaults().map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
    let json = serde_json::to_string(&full).expect("JSON");
    let read = Scenario::from_json(&json).map_err(|e| TestCaseError::fail(format!("{e}\n{json}\n{text}")))?;
    prop_assert_eq!(&read, &full, "{}\n{}", json, text);
    let again = read.resolve().map_err(|e| TestCaseError::fail(format!("{e}\n{json}\n{text}")))?;
    let [plan, again] = [plan, again].map(|plan| format!("{plan:#?}"));
    let differ = plan.lines().zip(again.lines()).find(|(a, b)| a != b);
    prop_assert!(plan == again, "{:?}\n{json}\n{text}", differ);
    prop_assert_eq!(&read.with_defaults().expect("it is correct"), &full, "{}", text);
    Ok(())
}

/// A column on each line.
fn lines(trace: &str) -> String {
    trace.replace("], ", "],\n")
}

/// The plan of a scenario; `None` if values do not fit together, with messages that name the file.
pub(crate) fn valid_plan(text: &str) -> Result<Option<Plan>, TestCaseError> {
    match Scenario::from_toml(text, "random.toml", &[]).and_then(|s| s.resolve()) {
        Ok(plan) => Ok(Some(plan)),
        Err(e) => {
            let said = e.to_string();
            let of_file = |line: &str| line.starts_with("random.toml") || line.starts_with("and ");
            prop_assert!(said.lines().all(of_file), "{said}\n{text}");
            Ok(None)
        }
    }
}

/// Do both loops agree, are the numbers in range, and do they stay the same if links are recorded,
/// which rules partitions out?
fn check(text: &str) -> Result<Option<(Plan, Outcome)>, TestCaseError> {
    let Some(plan) = valid_plan(text)? else { return Ok(None) };
    let Some(outcome) = by_both_loops(&plan, text)? else { return Ok(None) };
    in_range(&outcome.report)?;
    let record = RecordPlan {
        interval: Some(plan.duration),
        flows: false,
        links: true,
        segments: false,
        probes: true,
        transfers: false,
    };
    let recorded = run(&Plan { record: Some(record), ..plan.clone() }, &mut no_supply, &mut |_| true);
    let recorded = recorded.map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
    prop_assert_eq!(format!("{:?}", recorded.report), format!("{:?}", outcome.report), "{}", text);
    Ok(Some((plan, outcome)))
}

proptest! {
    #![proptest_config(cases())]
    #[test]
    fn defaults_written_out_make_the_same_plan(
        text in prop_oneof![scenario(0), scenario(1), scenario(2), scenario(3)],
    ) {
        if valid_plan(&text)?.is_some() {
            written_out_it_means_the_same(&text)?;
        }
    }
}

proptest! {
    #![proptest_config(cases())]
    #[test]
    fn any_valid_scenario_runs_lawfully_and_repeatably(text in scenario(0)) {
        let Some((plan, alone)) = check(&text)? else { return Ok(()) };
        // A capture looks at each packet and changes nothing. Packets that are none of IPv4 are refused.
        let path = std::env::temp_dir().join(format!("bentpipe-random-{}.pcapng", std::process::id()));
        let capture = Capture { path, at: Place::Sender, whole: false };
        if let Ok(captured) = run_captured(&plan, Some(&capture), &mut no_supply, &mut |_| true) {
            prop_assert!(format!("{captured:?}") == format!("{alone:?}"), "captured:\n{text}");
            drop(std::fs::remove_file(&capture.path));
        }
        let alone = format!("{alone:?}");
        let (pool, plan) = (RunPool::new(3).expect("a thread"), Arc::new(plan));
        for number in 0..3 {
            let plan = plan.clone();
            pool.start(number, Box::new(move |_| run(&plan, &mut no_supply, &mut |_| true)));
        }
        for _ in 0..3 {
            let (_, other) = pool.finished(Duration::MAX).expect("a result");
            let other = other.map_err(TestCaseError::fail)?.map_err(|e| TestCaseError::fail(e.to_string()))?;
            prop_assert!(format!("{other:?}") == alone, "two runs differ:\n{text}");
        }
    }

    /// The same for the most short cuts: chains of drop-tail links that flows share,
    /// receivers that answer at once.
    #[test]
    fn short_cuts_change_no_bit(text in scenario(1)) {
        check(&text)?;
    }

    /// The same for many events at one instant, so that their order decides what a sample shows.
    #[test]
    fn short_cuts_keep_the_order_within_an_instant(text in scenario(2)) {
        check(&text)?;
    }

    /// Hints about the path are events of their own; many fall on one instant with others, and some
    /// controllers answer them at once.
    #[test]
    fn short_cuts_keep_the_instants_of_hints(
        text in prop_oneof![scenario(0), scenario(1), scenario(2)],
        hints in prop::collection::vec((0_u64..2_000, 0_u64..300, 0_u64..300), 0..20),
        without_a_word in any::<bool>(),
    ) {
        let Some(mut plan) = valid_plan(&text)? else { return Ok(()) };
        let ms = Span::from_millis;
        let hint = |(at, ahead, dark)| (Time(0) + ms(at), PathChange { ahead: ms(ahead), dark: ms(dark) });
        let hints: BTreeMap<Time, PathChange> = hints.into_iter().map(hint).collect();
        let timed = |(at, change)| TimedHint { at, hint: Hint::PathChange(change) };
        let hints: Arc<[TimedHint]> = hints.into_iter().map(timed).collect();
        for flow in &mut plan.flows {
            (flow.hints, flow.path_hints) = (hints.clone(), (!without_a_word).then_some(true));
        }
        by_both_loops(&plan, &text)?;
    }

    /// The same for events that give rise to others at the same instant, or at the next.
    #[test]
    fn short_cuts_keep_the_order_of_what_takes_no_time(text in scenario(3)) {
        check(&text)?;
    }
}

/// A time line of the values that a direction has anyway, cut into `rows` rows. It has no handovers, since
/// senders would get hints of them.
fn constant(of: &DirectionPlan, rows: u64, duration: Span) -> TimeLine {
    let rates = match of.loss[..] {
        [LossPlan::PacketError(PacketError { rate }) | LossPlan::BitError(BitError { rate })] => Some(rate),
        _ => None,
    };
    let rows = rows.min(duration.0);
    let at = |i: u64| Time(i * (duration.0 / rows));
    let step = |i| Step { at: at(i), rate_bps: of.rate_bps, loss_rate: rates.unwrap_or(0.0) };
    let leg = |i| Leg { at: at(i), delay: of.delay, towards: of.delay };
    let line = TimeLine::new((0..rows).map(step).collect(), (0..rows).map(leg).collect(), Vec::new().into());
    let mut line = line.expect("instants in order");
    line.sets_loss = rates.is_some();
    line
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases().cases / 4, ..ProptestConfig::default() })]
    /// By the fast path, which takes other short cuts then, and in every field of the result.
    #[test]
    fn a_time_line_of_constant_values_changes_no_bit(
        text in prop_oneof![scenario(0), scenario(1), scenario(2), scenario(3)],
        rows in prop_oneof![Just(1_u64), 2..20_u64, Just(1_000)],
    ) {
        let Some(plan) = valid_plan(&text)? else { return Ok(()) };
        let mut moving = plan.clone();
        for link in &mut moving.links {
            for direction in [&mut link.forward, &mut link.reverse] {
                // What waits for opportunities has none.
                if direction.line.is_none() && direction.link_layer.access.is_none() {
                    direction.line = Some(constant(direction, rows, plan.duration));
                }
            }
        }
        let run = |plan: &Plan| run(plan, &mut no_supply, &mut |_| true);
        if let (Ok(still), Ok(moving)) = (run(&plan), run(&moving)) {
            prop_assert_eq!(format!("{:?}", still.report), format!("{:?}", moving.report), "{}", text);
            // As columns: samples also hold the plans, which differ.
            let rows = |of: &Outcome| format!("{:?} {:?} {:?}", of.flows.trace(), of.links.trace(), of.segments);
            prop_assert!(rows(&still) == rows(&moving), "{text}");
        }
    }
}

/// The numbers of their directions do not show which of the two was first.
#[test]
fn an_acknowledgement_and_data_may_arrive_by_one_link_in_one_nanosecond() {
    let link = |name: &str, room: u32| {
        format!(
            "[link.{name}]\nrate = \"1 Tbit/s\"\ndelay = \"1 ns\"\nqueue = {{ kind = \"drop-tail\", limit = \"{room} packets\" }}\n"
        )
    };
    let text = format!(
        "duration = \"1 ms\"\nrecord = {{ interval = \"change\" }}\n{}{}{}[[flow]]\npath = [\"a\", \"c\"]\nack_path = [\"b\", \"c\"]\n\
         cc = \"reno\"\nprofile = \"paper\"\nmss = \"6 bytes\"\nheader = \"17 bytes\"\nack_size = \"6 bytes\"\n\
         receive_window = \"7 segments\"\ninitial_window = 7\ntraffic = {{ kind = \"bulk\", size = \"253 bytes\" }}\n",
        link("a", 4),
        link("b", 0),
        link("c", 1)
    );
    check(&text).unwrap();
}

/// The keys and the texts of a tree.
fn words(tree: &Value, found: &mut BTreeSet<String>) {
    match tree {
        Value::String(text) => drop(found.insert(text.clone())),
        Value::Array(items) => items.iter().for_each(|item| words(item, found)),
        Value::Object(table) => table.iter().for_each(|(key, value)| {
            found.insert(key.clone());
            words(value, found);
        }),
        _ => {}
    }
}

/// The keys of a schema, and the texts that it lists.
fn known(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Array(items) => items.iter().for_each(|item| known(item, found)),
        Value::Object(table) => {
            found.extend(table.get("const").and_then(Value::as_str).map(str::to_owned));
            found.extend(
                table
                    .get("properties")
                    .and_then(Value::as_object)
                    .into_iter()
                    .flat_map(|keys| keys.keys().cloned()),
            );
            table.values().for_each(|value| known(value, found));
        }
        _ => {}
    }
}

/// Every key of a scenario, every kind of queue, loss and traffic, every word of an
/// option and every controller.
#[test]
fn every_kind_and_option_is_drawn() {
    let mut runner = TestRunner::deterministic();
    let (mut drawn, mut wanted) = (BTreeSet::new(), BTreeSet::new());
    for regime in [0, 1, 2, 3].repeat(200) {
        let text = scenario(regime).new_tree(&mut runner).expect("a scenario").current();
        words(&toml::from_str(&text).expect("TOML"), &mut drawn);
    }
    let mut schema: Value = serde_json::from_str(&bentpipe_sim::schema()).expect("a schema");
    // Constellations are drawn elsewhere (networks.rs).
    let tables = schema["$defs"].as_object_mut().expect("tables");
    let network =
        ["NetworkKeys", "NetworkHandoverKeys", "PortKeys", "ReachRule", "RouteKey", "Select", "Decide"];
    for name in network.iter().chain(&["LeftBehind", "PairRule", "Gravity", "PairFile"]) {
        tables.remove(*name);
    }
    let of_flow = schema["$defs"]["Flow"]["properties"].as_object_mut().expect("keys");
    for key in ["from", "to", "pairs"] {
        of_flow.remove(key);
    }
    schema["properties"].as_object_mut().expect("keys").remove("network");
    known(&schema, &mut wanted);
    wanted.extend(registry::all().iter().map(|entry| entry.id.to_owned()));
    wanted.remove("title");
    let missing: Vec<_> = wanted.difference(&drawn).collect();
    assert!(wanted.len() > 150 && missing.is_empty(), "{} words, never drawn: {missing:?}", wanted.len());
}

/// Most scenarios are valid, and where bytes run out the rest is the simplest choice.
#[test]
fn most_random_scenarios_are_valid() {
    let mut runner = TestRunner::deterministic();
    let valid = |regime| {
        let mut draw = || scenario(regime).new_tree(&mut runner).expect("a scenario").current();
        (0..200).filter(|_| valid_plan(&draw()).expect("a message of one line").is_some()).count()
    };
    let valid = [0, 1, 2, 3].map(valid);
    assert!(valid.iter().all(|n| *n >= 180), "{valid:?} of 200");
    let plainest = random_scenario(&[], LOSSES);
    assert!(
        valid_plan(&plainest).is_ok_and(|plan| plan.is_some()) && plainest.lines().count() < 40,
        "{plainest}"
    );
}
