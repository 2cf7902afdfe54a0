//! No text makes the front end panic, and every scenario that it reads it can write.

use bentpipe_cc::Span;
use bentpipe_sim::Scenario;
use bentpipe_sim::units::{BitRate, Duration, Interval, QueueRoom, QueueSize, Size, WindowSize};
use proptest::prelude::*;

/// Every key of the format, so that mutations reach every check.
const FULL: &str = r#"title = "all"
duration = "2 min"
seed = 7
[record]
interval = "100 ms"
links = true
[station.here]
lat = 1.5
lon = -2.0
[link.sat]
rate = "10 Mbit/s"
from = "here"
to = "nairobi"
satellite = { geo = "10E", min_elevation = 5.0 }
queue = { kind = "drop-tail", limit = "1.5 bdp" }
loss = [{ kind = "bit-error", rate = 1e-6 }, { kind = "packet-error", rate = 0.01 }]
[link.sat.reverse]
rate = "1 Mbit/s"
delay = "120 ms"
queue = { kind = "drop-tail", limit = "64 kB" }
loss = { kind = "outage", every = "60 s", length = "2 s", first = "1 s" }
[link.lan]
rate = "1 Gbit/s"
delay = "30 us"
queue = { kind = "red", limit = "2.5 bdp", min = 0.15, max = "1 bdp", weight = 0.002, max_p = 0.1, gentle = true, wait = true, by_size = false, ecn = true, hard_drop = false, mark_p = 0.5, mean_packet = "1000 bytes" }
loss = { kind = "gilbert-elliott", p = 0.001, r = 0.1, good_loss = 0.0, bad_loss = 0.5 }
[link.codel]
rate = "20 Mbit/s"
delay = "1 ms"
queue = { kind = "codel", limit = "1 MB", target = "30 ms", interval = "600 ms", ecn = true }
[link.codel.reverse]
queue = { kind = "pie", limit = "2 bdp", target = "20 ms", update = "10 ms", alpha = 0.25, beta = 2.5, burst = "0 s", ecn = true, mark_p = 0.2 }
[link.fq]
rate = "20 Mbit/s"
delay = "1 ms"
queue = { kind = "fq-codel", limit = "3 bdp", target = "30 ms", interval = "600 ms", queues = 64, quantum = "300 bytes", ecn = true }
[link.fq.reverse]
queue = { kind = "priority", limit = "20 packets", bands = 3 }
[[flow]]
name = "a"
cc = { name = "hswa", a = 5.0 }
path = ["lan", "codel", "fq", "sat"]
start = "1 s"
stop = "100 s"
start_jitter = "1 s"
count = 3
traffic = { kind = "bulk", size = "10 MB" }
profile = "paper"
extra_delay = "10 ms"
ack_jitter = "5 ms"
priority = 1
mss = "1000 bytes"
header = "40 bytes"
ack_size = "40 bytes"
initial_window = 4
initial_ssthresh = 64
receive_window = "432 segments"
recovery = "newreno"
rack = false
tlp = false
dsack = false
newreno_exit = "ssthresh"
prr = false
limited_transmit = false
delayed_ack = true
delayed_ack_timeout = "100 ms"
timestamps = true
ecn = true
ect1 = true
rto = "linux"
min_rto = "200 ms"
max_rto = "30 s"
granularity = "100 ms"
spurious = "eifel"
pacing = true
aen = true
bulk_repeat = false
fixed_rto = false
[[flow]]
path = ["sat"]
traffic = { kind = "cbr", rate = "1 Mbit/s", packet = "500 bytes", on = "3 s", off = "4 s" }
"#;

/// Reads and resolves. Any answer will do, but there must be one.
fn attempt(text: &str) {
    match Scenario::from_toml(text, "x.toml", &[]).and_then(|s| s.resolve()) {
        Ok(plan) => assert!(!plan.flows.is_empty() && !plan.links.is_empty()),
        Err(e) => {
            let message = e.to_string();
            assert!(message.starts_with("x.toml"), "{message}");
            assert!(
                e.line.is_none_or(|line| (1..=1 + text.matches('\n').count()).contains(&line)),
                "{message}"
            );
        }
    }
}

#[test]
fn the_full_scenario_resolves_and_reads_back() {
    let scenario = Scenario::from_toml(FULL, "x.toml", &[]).unwrap();
    let plan = scenario.resolve().unwrap();
    let json = serde_json::to_string(&scenario).unwrap();
    let again = Scenario::from_json(&json).unwrap();
    assert_eq!(again, scenario);
    assert_eq!(again.resolve().unwrap(), plan);
    let toml = toml::to_string(&scenario).unwrap();
    assert_eq!(Scenario::from_toml(&toml, "y.toml", &[]).unwrap(), scenario);
}

#[test]
fn written_out_defaults_change_nothing() {
    let short = "duration = \"9 s\"\n[link.sat]\nrate = \"1 Mbit/s\"\ndelay = \"1 s\"\nloss = { \
        kind = \"bit-error\", rate = 1e-6 }\n\
                 [[flow]]\ncc = \"hswa\"\npath = [\"sat\"]\n\
                 [[flow]]\ncc = \"hswa\"\npath = [\"sat\"]\ncount = 2\n";
    for text in [FULL, short] {
        let scenario = Scenario::from_toml(text, "x.toml", &[]).unwrap();
        let full = scenario.with_defaults().unwrap();
        assert_eq!(full.resolve().unwrap(), scenario.resolve().unwrap());
        assert_eq!(Scenario::from_json(&serde_json::to_string(&full).unwrap()).unwrap(), full);
    }
    let json =
        serde_json::to_value(Scenario::from_toml(short, "x.toml", &[]).unwrap().with_defaults().unwrap())
            .unwrap();
    assert_eq!(json["flow"][0]["min_rto"], "1 s");
    assert_eq!(json["flow"][0]["mss"], "1448 bytes");
    assert_eq!(json["flow"][0]["initial_window"], 10.0);
    assert_eq!(json["link"]["sat"]["reverse"]["queue"]["limit"], "1 bdp");
    assert!(json["flow"][0]["cc"]["ber"].is_number());
}

#[test]
fn deep_nesting_is_an_error_and_no_overflow() {
    for (open, close) in [("[", "]"), ("{ a = ", " }")] {
        for depth in [100, 100_000] {
            attempt(&format!("title = {}1{}", open.repeat(depth), close.repeat(depth)));
            attempt(&format!("title = {}", open.repeat(depth)));
        }
    }
    attempt(&format!("{}a = 1", "a.".repeat(100_000)));
    attempt(&format!("[{}a]", "a.".repeat(100_000)));
    assert!(Scenario::from_json(&"[".repeat(100_000)).is_err());
    let deep = [(format!("{}x", "a.".repeat(100_000)), "1".to_owned())];
    assert!(Scenario::from_toml(FULL, "x.toml", &deep).is_err());
    let deep = [("title".to_owned(), "[".repeat(100_000))];
    assert!(Scenario::from_toml(FULL, "x.toml", &deep).is_ok());
}

/// Values that are wrong for nearly every key.
fn odd_value() -> impl Strategy<Value = String> {
    let fixed = [
        "0",
        "-1",
        "1e308",
        "-0.0",
        "1e-320",
        "inf",
        "nan",
        "true",
        "[]",
        "{}",
        "[[]]",
        "\"\"",
        "\"0 s\"",
        "\"-1 s\"",
        "\"1e999 s\"",
        "\"18446744073709551615 ns\"",
        "\"18446744073709551616 ns\"",
        "\"1e300 bdp\"",
        "\"584 d\"",
        "\"99999999 d\"",
        "\"18446744073709551615 bit/s\"",
        "\"1 packets\"",
        "\"18446744073709551615 packets\"",
        "18446744073709551615",
        "99999999999999999999",
        "\"\u{b5}s\"",
        "\"1 \u{b5}s\"",
        "\"\\u0000\"",
        "1979-05-27",
        "\"python:x\"",
        "\"sat\"",
        "[\"sat\", \"sat\"]",
        "\"180W\"",
        "\"\u{b0}\"",
        "'1e'",
        "'.'",
        "'_'",
        "'1_0 ms'",
    ];
    prop_oneof![
        3 => proptest::sample::select(fixed.to_vec()).prop_map(str::to_owned),
        1 => any::<f64>().prop_map(|x| format!("{x:e}")),
        1 => any::<i64>().prop_map(|x| x.to_string()),
        1 => any::<String>().prop_map(|s| format!("{s:?}")),
        1 => "[-+]?[0-9]{0,3}\\.?[0-9]{0,3}(e-?[0-9]{1,3})? ?[a-zA-Z/]{0,6}".prop_map(|s| format!("\"{s}\"")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text_is_read_or_refused(text in any::<String>()) {
        attempt(&text);
        let _ = Scenario::from_json(&text);
        let answers = [
            text.parse::<Duration>().err(),
            text.parse::<BitRate>().err(),
            text.parse::<Size>().err(),
            text.parse::<QueueSize>().err(),
            text.parse::<QueueRoom>().err(),
            text.parse::<WindowSize>().err(),
            text.parse::<Interval>().err(),
        ];
        prop_assert!(answers.iter().flatten().all(|message| !message.is_empty()));
    }

    #[test]
    fn a_changed_value_is_read_or_refused(line in 0..FULL.lines().count(), value in odd_value()) {
        let changed: Vec<String> = FULL.lines().enumerate().map(|(i, text)| match text.split_once('=') {
            Some((key, _)) if i == line => format!("{key}= {value}"),
            _ => text.to_owned(),
        }).collect();
        attempt(&changed.join("\n"));
    }

    #[test]
    fn a_changed_word_is_read_or_refused(at in any::<prop::sample::Index>(), value in odd_value()) {
        // Inside tables and lists: one of the words between the separators.
        let marks = FULL.char_indices().filter(|(_, c)| "=,{[".contains(*c));
        let marks: Vec<usize> = marks.map(|(i, _)| i + 1).collect();
        let start = marks[at.index(marks.len())];
        let end = start + FULL[start..].find([',', '}', ']', '\n']).unwrap_or(0);
        attempt(&format!("{} {value} {}", &FULL[..start], &FULL[end..]));
    }

    #[test]
    fn lost_and_repeated_lines_are_read_or_refused(
        lost in proptest::collection::vec(0..FULL.lines().count(), 0..4), twice in 0..FULL.lines().count(),
    ) {
        let lines: Vec<&str> = FULL.lines().collect();
        let mut text = String::new();
        for (i, line) in lines.iter().enumerate().filter(|(i, _)| !lost.contains(i)) {
            text += line;
            text += "\n";
            if i == twice {
                text += line;
                text += "\n";
            }
        }
        attempt(&text);
    }

    #[test]
    fn overrides_are_read_or_refused(
        key in "((link|flow|sat|cc|loss|a|0|1|\\*|[a-z\".*]{0,2})\\.){0,4}[a-z0-9*]{0,4}",
        value in prop_oneof![any::<String>(), odd_value()],
    ) {
        let _ = Scenario::from_toml(FULL, "x.toml", &[(key, value)]).and_then(|s| s.resolve());
    }

    #[test]
    fn numbers_survive_json(rate in 0.0..1.0_f64, exponent in -20..0_i32) {
        let rate = rate * 10.0_f64.powi(exponent);
        let set = [("link.lan.loss.p".to_owned(), format!("{rate:e}"))];
        let scenario = Scenario::from_toml(FULL, "x.toml", &set).unwrap();
        let again = Scenario::from_json(&serde_json::to_string(&scenario).unwrap()).unwrap();
        prop_assert_eq!(again, scenario);
    }

    #[test]
    fn quantities_read_what_they_write(n in any::<u64>(), x in 0.0..1e9_f64) {
        prop_assert_eq!(Duration(Span(n)).to_string().parse(), Ok(Duration(Span(n))));
        prop_assert_eq!(BitRate(n).to_string().parse(), Ok(BitRate(n)));
        prop_assert_eq!(Size(n).to_string().parse(), Ok(Size(n)));
        for size in [QueueSize::Packets(n), QueueSize::Bytes(n), QueueSize::Bdp(x)] {
            prop_assert_eq!(size.to_string().parse(), Ok(size));
        }
        for room in [QueueRoom::Size(QueueSize::Bdp(x)), QueueRoom::Time(Duration(Span(n)))] {
            prop_assert_eq!(room.to_string().parse(), Ok(room));
        }
        for size in [WindowSize::Segments(n), WindowSize::Bytes(n)] {
            prop_assert_eq!(size.to_string().parse(), Ok(size));
        }
        for interval in [Interval::Change, Interval::Every(Span(n))] {
            prop_assert_eq!(interval.to_string().parse(), Ok(interval));
        }
    }
}

#[test]
fn quantities_mean_what_the_units_say() {
    for (text, ns) in [
        ("250 ms", 250_000_000),
        ("0.1us", 100),
        ("30 \u{b5}s", 30_000),
        ("1.5 s", 1_500_000_000),
        ("2 min", 120_000_000_000),
        ("1e-3 s", 1_000_000),
        ("1 h", 3_600_000_000_000),
        ("1_000 ns", 1_000),
        ("18446744073709551615 ns", u64::MAX),
    ] {
        assert_eq!(text.parse(), Ok(Duration(Span(ns))), "{text}");
    }
    for (text, bps) in [
        ("10 Mbit/s", 10_000_000),
        ("10Mbps", 10_000_000),
        ("1.544 Mbit/s", 1_544_000),
        ("56 kbps", 56_000),
        ("9600 bit/s", 9_600),
        ("1 Gbit/s", 1_000_000_000),
        ("0.5 Tbit/s", 500_000_000_000),
    ] {
        assert_eq!(text.parse(), Ok(BitRate(bps)), "{text}");
    }
    for (text, bytes) in
        [("1448 bytes", 1_448), ("1 B", 1), ("64 kB", 64_000), ("64 KiB", 65_536), ("1.5 MB", 1_500_000)]
    {
        assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
    }
    assert_eq!("1.5 bdp".parse(), Ok(QueueSize::Bdp(1.5)));
    assert_eq!("432 packets".parse(), Ok(QueueSize::Packets(432)));
    assert_eq!("1 MB".parse(), Ok(WindowSize::Bytes(1_000_000)));
    for text in [
        "",
        "s",
        "5",
        "5 x",
        "-5 s",
        "5 s s",
        "nan s",
        "inf s",
        "0.1 ns",
        "5 MB/s",
        "1e400 s",
        "0x10 s",
        "\u{661} s",
    ] {
        assert!(text.parse::<Duration>().is_err(), "{text}");
    }
    assert!("10 MB/s".parse::<BitRate>().is_err());
    assert!("0.5 bytes".parse::<Size>().is_err());
}
