//! Every mistake in a scenario gets one message that names file, line, key, and the right value.

use std::path::PathBuf;

use bentpipe_sim::plan::{LossPlan, LossTracePlan};
use bentpipe_sim::{Error, Scenario};

/// A scenario without mistakes; tests replace single lines of it.
const GOOD: &str = r#"title = "good"
duration = "120 s"
seed = 1

[record]
interval = "100 ms"

[link.sat]
rate = "10 Mbit/s"
delay = "250 ms"
queue = { kind = "drop-tail", limit = "432 packets" }
loss = { kind = "bit-error", rate = 1e-6 }

[link.sat.reverse]
loss = [{ kind = "outage", from = "10 s", to = "12 s" }]

[[flow]]
name = "star"
cc = "star"
path = ["sat"]
stop = "100 s"
traffic = { kind = "bulk" }
"#;

fn load(text: &str) -> Result<(), Error> {
    Scenario::from_toml(text, "my.toml", &[])?.resolve().map(|_| ())
}

/// The message for `GOOD` with `old` replaced by `new`.
fn message(old: &str, new: &str) -> String {
    assert_eq!(GOOD.matches(old).count(), 1, "{old:?} must occur once");
    load(&GOOD.replace(old, new)).expect_err("the scenario is wrong").to_string()
}

/// Asserts that the message starts with file, line (0 for none) and key, and has all the words.
#[track_caller]
fn expect(message: &str, line: usize, key: &str, words: &[&str]) {
    let place = if line == 0 { String::new() } else { format!(":{line}") };
    let start = format!("my.toml{place}: {key}: ");
    assert!(message.starts_with(&start), "{message:?} does not start with {start:?}");
    for word in words {
        assert!(message[start.len()..].contains(word), "{message:?} does not say {word:?}");
    }
    assert!(!message.contains('\n'), "{message:?}");
}

#[test]
fn the_good_scenario_is_good() {
    load(GOOD).unwrap();
}

#[test]
fn unknown_key() {
    expect(&message("delay = ", "dealy = "), 10, "link.sat.dealy", &["unknown key", "delay"]);
    expect(&message("seed", "sede"), 3, "sede", &["unknown key", "did you mean seed"]);
    expect(&message("stop =", "zzz ="), 21, "flow.0.zzz", &["unknown key", "path", "cc"]);
    expect(
        &message("stop = \"100 s\"", "kind = \"cbr\""),
        21,
        "flow.0.kind",
        &["traffic = { kind = \"cbr\""],
    );
    expect(
        &message("stop = \"100 s\"", "hystart = true"),
        21,
        "flow.0.hystart",
        &["slow_start = \"hystart++\""],
    );
    expect(&message("limit =", "limits ="), 11, "link.sat.queue.limits", &["unknown key", "limit"]);
    expect(
        &message("bit-error\", rate", "bit-error\", rat"),
        12,
        "link.sat.loss.rat",
        &["unknown key", "rate"],
    );
}

#[test]
fn a_long_list_is_cut() {
    let keys = message("stop =", "zzz =");
    assert!(keys.contains("the keys here are cc, path, traffic") && keys.len() < 250, "{keys}");
    let algorithms = message("cc = \"star\"", "cc = \"qqqqq\"");
    assert!(algorithms.contains("must be one of star, ") && algorithms.ends_with(" more"), "{algorithms}");
    assert!(algorithms.len() < 250, "{algorithms}");
}

#[test]
fn wrong_unit() {
    expect(&message("10 Mbit/s", "10 Mbit"), 9, "link.sat.rate", &["unit", "Mbit/s"]);
    expect(&message("10 Mbit/s", "10 mbit/s"), 9, "link.sat.rate", &["10 Mbit/s"]);
    for (bytes, bits) in [
        ("1.25 MB/s", "10 Mbit/s"),
        ("10 Mbyte/s", "80 Mbit/s"),
        ("10 MByte/s", "80 Mbit/s"),
        ("10 Mo/s", "80 Mbit/s"),
        ("10 kBps", "80 kbit/s"),
        ("5 MiB/s", "41.94304 Mbit/s"),
        ("1000 octets/s", "8000 bit/s"),
    ] {
        expect(&message("10 Mbit/s", bytes), 9, "link.sat.rate", &["bytes", &format!("{bits:?}")]);
    }
    expect(&message("10 Mbit/s", "1.25 MBps"), 9, "link.sat.rate", &["bytes", "\"10 Mbit/s\""]);
    expect(&message("250 ms", "250 km"), 10, "link.sat.delay", &["unit", "\"km\"", "250 ms"]);
    expect(&message("432 packets", "432 segments"), 11, "link.sat.queue.limit", &["unit", "packets", "bdp"]);
    expect(&message("432 packets", "1.5 packets"), 11, "link.sat.queue.limit", &["whole number", "packets"]);
}

#[test]
fn missing_unit() {
    expect(&message("\"250 ms\"", "250"), 10, "link.sat.delay", &["250 has no unit", "250 ms"]);
    expect(&message("\"250 ms\"", "\"250\""), 10, "link.sat.delay", &["no unit", "250 ms"]);
    expect(&message("\"10 Mbit/s\"", "1e7"), 9, "link.sat.rate", &["no unit", "10 Mbit/s"]);
    expect(&message("\"432 packets\"", "432"), 11, "link.sat.queue.limit", &["no unit", "432 packets"]);
}

#[test]
fn wrong_type() {
    expect(&message("seed = 1", "seed = \"one\""), 3, "seed", &["one", "whole number"]);
    expect(&message("seed = 1", "seed = 1.5"), 3, "seed", &["1.5", "whole number"]);
    expect(&message("seed = 1", "seed = -1"), 3, "seed", &["-1", "at least 0"]);
    expect(&message("seed = 1", "seed = 1979-05-27"), 3, "seed", &["date"]);
    expect(&message("[\"sat\"]", "\"sat\""), 20, "flow.0.path", &["list", "[\"sat\"]"]);
    expect(&message("[[flow]]", "[flow]"), 17, "flow", &["table", "list", "[[flow]]"]);
    expect(&message("stop = \"100 s\"", "profile = 1"), 21, "flow.0.profile", &["1 is not", "modern, paper"]);
    expect(&message("1e-6", "nan"), 12, "link.sat.loss.rate", &["finite"]);
}

#[test]
fn missing_key() {
    expect(&message("rate = \"10 Mbit/s\"\n", ""), 8, "link.sat.rate", &["missing", "10 Mbit/s"]);
    expect(&message("delay = \"250 ms\"\n", ""), 8, "link.sat.delay", &["missing", "250 ms", "satellite"]);
    expect(&message("cc = \"star\"\n", ""), 17, "flow.0.cc", &["missing", "reno"]);
    expect(
        &message("kind = \"bit-error\", ", ""),
        12,
        "link.sat.loss.kind",
        &["missing", "packet-error", "outage"],
    );
    expect(&message("duration = \"120 s\"\n", ""), 0, "duration", &["add e.g. duration = \"120 s\""]);
}

#[test]
fn unknown_kind() {
    expect(&message("\"bit-error\"", "\"bit-eror\""), 12, "link.sat.loss.kind", &["bit-eror", "bit-error"]);
    expect(&message("drop-tail", "codl"), 11, "link.sat.queue.kind", &["codl", "did you mean codel"]);
    let all = ["drop-tail", "red", "codel", "fq-codel", "pie", "priority"];
    expect(&message("drop-tail", "stochastic"), 11, "link.sat.queue.kind", &all);
    expect(&message("\"bulk\"", "\"ftp\""), 22, "flow.0.traffic.kind", &["ftp", "bulk", "cbr"]);
}

#[test]
fn red_queues() {
    let red = |keys: &str| {
        message("\"drop-tail\", limit = \"432 packets\"", &format!("\"red\", limit = \"100 packets\"{keys}"))
    };
    let at = |key: &str| format!("link.sat.queue.{key}");
    expect(&red(", minimum = 0.1"), 11, &at("minimum"), &["unknown key", "min"]);
    expect(&red(", min = 1.5"), 11, &at("min"), &["1.5 is out of range", "from 0 to 1"]);
    expect(&red(", min = \"5\""), 11, &at("min"), &["has no unit", "\"432 packets\"", "bdp"]);
    expect(&red(", min = true"), 11, &at("min"), &["a number or a string"]);
    expect(&red(", min = 0.6"), 11, &at("max"), &["50 packets is not above min = 60 packets"]);
    expect(&red(", min = 0.3, max = \"30 packets\""), 11, &at("max"), &["30 packets is not above min"]);
    expect(
        &red(", max = \"101 packets\""),
        11,
        &at("max"),
        &["101 packets is more than limit = 100 packets"],
    );
    expect(&red(", weight = 0"), 11, &at("weight"), &["0 is out of range", "to 1"]);
    expect(&red(", max_p = 10"), 11, &at("max_p"), &["10 is out of range", "to 1"]);
    expect(&red(", mark_p = -0.1"), 11, &at("mark_p"), &["-0.1 is out of range", "from 0 to 1"]);
    expect(&red(", gentle = 1"), 11, &at("gentle"), &["true or false"]);
    expect(&red(", mean_packet = 1000"), 11, &at("mean_packet"), &["no unit"]);
    expect(&red(", mean_packet = \"70 kB\""), 11, &at("mean_packet"), &["from 1 to 65535 bytes"]);
    let none = message("\"drop-tail\", limit = \"432 packets\"", "\"red\", limit = \"0 packets\"");
    expect(&none, 11, &at("limit"), &["without room"]);
    // A queue of the return direction is blamed at its own place.
    let back = message(
        "[link.sat.reverse]\n",
        "[link.sat.reverse]\nqueue = { kind = \"red\", min = 0.5, max = 0.4 }\n",
    );
    expect(&back, 15, "link.sat.reverse.queue.max", &["not above min"]);
}

#[test]
fn queues_that_govern_the_delay() {
    let queue = |kind: &str, keys: &str| {
        message(
            "\"drop-tail\", limit = \"432 packets\"",
            &format!("\"{kind}\", limit = \"100 packets\"{keys}"),
        )
    };
    let at = |key: &str| format!("link.sat.queue.{key}");
    for kind in ["codel", "fq-codel"] {
        expect(&queue(kind, ", target = 5"), 11, &at("target"), &["5 has no unit"]);
        expect(&queue(kind, ", target = \"0 ms\""), 11, &at("target"), &["longer than zero"]);
        let short = queue(kind, ", interval = \"5 ms\"");
        expect(&short, 11, &at("interval"), &["5 ms is not longer than target = 5 ms"]);
        expect(&queue(kind, ", ecn = 1"), 11, &at("ecn"), &["true or false"]);
    }
    expect(&queue("codel", ", queues = 3"), 11, &at("queues"), &["unknown key"]);
    expect(&queue("fq-codel", ", queues = 0"), 11, &at("queues"), &["0 is out of range", "from 1 to 65536"]);
    expect(
        &queue("fq-codel", ", quantum = \"70 kB\""),
        11,
        &at("quantum"),
        &["70000 bytes", "from 1 to 65535 bytes"],
    );
    expect(&queue("pie", ", update = \"1 ns\""), 11, &at("update"), &["1 ns", "100 us or longer"]);
    expect(&queue("pie", ", target = \"0 s\""), 11, &at("target"), &["longer than zero"]);
    expect(&queue("pie", ", alpha = -1"), 11, &at("alpha"), &["-1 is out of range", "from 0 to 1000"]);
    expect(&queue("pie", ", mark_p = 2"), 11, &at("mark_p"), &["2 is out of range", "from 0 to 1"]);
    for kind in ["codel", "fq-codel", "pie"] {
        let none =
            message("\"drop-tail\", limit = \"432 packets\"", &format!("\"{kind}\", limit = \"0 packets\""));
        expect(&none, 11, &at("limit"), &["without room", "2.5 bdp"]);
    }
}

#[test]
fn priorities_and_random_delays_of_acknowledgements() {
    let many = message("\"drop-tail\", limit = \"432 packets\"", "\"priority\", bands = 65");
    expect(&many, 11, "link.sat.queue.bands", &["65 is out of range", "from 1 to 64"]);
    let band = |priority: u32| {
        let text = GOOD.replace("\"drop-tail\", limit = \"432 packets\"", "\"priority\", bands = 3");
        text.replacen("[[flow]]", &format!("[[flow]]\npriority = {priority}"), 1)
    };
    load(&band(2)).unwrap();
    let message_of = |text: &str| load(text).unwrap_err().to_string();
    let words = ["3 is out of range", "the queue of link sat has 3 bands; it must be at most 2"];
    expect(&message_of(&band(3)), 18, "flow.0.priority", &words);
    let vain = Scenario::from_toml(&GOOD.replacen("[[flow]]", "[[flow]]\npriority = 1", 1), "my.toml", &[]);
    let warnings = vain.unwrap().resolve().unwrap().warnings;
    assert_eq!(warnings, ["flow star: priority has no effect, since no queue on its path has priorities"]);
    let late = message_of(&GOOD.replacen("[[flow]]", "[[flow]]\nack_jitter = \"2 d\"", 1));
    expect(&late, 18, "flow.0.ack_jitter", &["172800 s is too long", "at most 1 d"]);
    let cbr = message_of(
        "duration = \"9 s\"\n[link.sat]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n[[flow]]\npath = [\"sat\"]\n\
         ack_jitter = \"1 ms\"\ntraffic = { kind = \"cbr\", rate = \"1 Mbit/s\" }\n",
    );
    expect(&cbr, 7, "flow.0.ack_jitter", &["nobody acknowledges"]);
}

#[test]
fn missing_link_table() {
    let message =
        load("duration = \"1 s\"\n[[flow]]\ncc = \"reno\"\npath = [\"sat\"]\n").unwrap_err().to_string();
    assert!(message.starts_with("my.toml: link: there is no link; "), "{message}");
    assert!(message.contains("[link.sat]"), "{message}");
    let message = load("duration = \"1 s\"\nflow = []\n[link]\n").unwrap_err().to_string();
    assert!(message.starts_with("my.toml:3: link: there is no link"), "{message}");
}

#[test]
fn no_flows() {
    let text = GOOD.split("[[flow]]").next().unwrap();
    let message = load(text).unwrap_err().to_string();
    assert!(message.starts_with("my.toml: flow: is missing; ") && message.contains("[[flow]]"), "{message}");
    let message = load(&format!("flow = []\n{text}")).unwrap_err().to_string();
    expect(&message, 1, "flow", &["no flow", "[[flow]]"]);
}

#[test]
fn path_to_no_link() {
    expect(&message("[\"sat\"]", "[\"sta\"]"), 20, "flow.0.path.0", &["no link", "sta", "did you mean sat"]);
    expect(&message("[\"sat\"]", "[\"moon\"]"), 20, "flow.0.path.0", &["no link", "moon", "one of sat"]);
    expect(&message("[\"sat\"]", "[\"sat\", \"sat\"]"), 20, "flow.0.path.1", &["twice"]);
    expect(&message("[\"sat\"]", "[\"sat\", \"sat/reverse\"]"), 20, "flow.0.path.1", &["twice"]);
    expect(
        &message("[\"sat\"]", "[\"sat/back\"]"),
        20,
        "flow.0.path.0",
        &["no link", "sat/back", "\"sat/reverse\""],
    );
}

#[test]
fn empty_path() {
    expect(&message("[\"sat\"]", "[]"), 20, "flow.0.path", &["at least one link", "[\"sat\"]"]);
}

#[test]
fn negative_rate() {
    expect(&message("10 Mbit/s", "-10 Mbit/s"), 9, "link.sat.rate", &["negative", "10 Mbit/s"]);
    expect(&message("10 Mbit/s", "0 Mbit/s"), 9, "link.sat.rate", &["greater than zero"]);
    expect(&message("10 Mbit/s", "1e300 Mbit/s"), 9, "link.sat.rate", &["too large"]);
    expect(&message("250 ms", "400 d"), 10, "link.sat.delay", &["too long", "1 d"]);
}

#[test]
fn packet_error_rate_above_one() {
    let wrong = message("\"bit-error\", rate = 1e-6", "\"packet-error\", rate = 1.5");
    expect(&wrong, 12, "link.sat.loss.rate", &["1.5", "from 0 to 1"]);
    expect(&message("1e-6", "-0.1"), 12, "link.sat.loss.rate", &["-0.1", "from 0 to 1"]);
    let second = "[{ kind = \"bit-error\", rate = 0.0 },\n { kind = \"packet-error\", rate = 2 }]";
    let wrong = message("{ kind = \"bit-error\", rate = 1e-6 }", second);
    expect(&wrong, 13, "link.sat.loss.1.rate", &["2 is out of range"]);
}

#[test]
fn duplicate_flow_name() {
    let text = format!("{GOOD}\n[[flow]]\nname = \"star\"\ncc = \"reno\"\npath = [\"sat\"]\n");
    expect(&load(&text).unwrap_err().to_string(), 25, "flow.1.name", &["\"star\"", "names must differ"]);
}

#[test]
fn zero_duration() {
    expect(&message("\"120 s\"", "\"0 s\""), 2, "duration", &["longer than zero", "120 s"]);
}

#[test]
fn unknown_algorithm() {
    expect(&message("cc = \"star\"", "cc = \"sstar\""), 19, "flow.0.cc", &["\"sstar\"", "did you mean star"]);
    expect(&message("cc = \"star\"", "cc = { name = \"rno\" }"), 19, "flow.0.cc.name", &["\"rno\"", "reno"]);
    expect(&message("cc = \"star\"", "cc = \"python:\""), 19, "flow.0.cc", &["\"python:Mine\""]);
    let wrong = message("cc = \"star\"", "cc = \"javascript:\"");
    expect(&wrong, 19, "flow.0.cc", &["\"javascript:Mine\""]);
}

#[test]
fn parameter_out_of_range() {
    let wrong = message("cc = \"star\"", "cc = { name = \"hswa\", a = -1.0 }");
    expect(&wrong, 19, "flow.0.cc.a", &["-1", "from 0 to 1000"]);
    let wrong = message("cc = \"star\"", "cc = { name = \"hswa\", bre = 1e-6 }");
    expect(&wrong, 19, "flow.0.cc.bre", &["no parameter", "ber"]);
    let wrong = message("cc = \"star\"", "cc = { name = \"hswa\", ber = true }");
    expect(&wrong, 19, "flow.0.cc.ber", &["true", "a number"]);
}

#[test]
fn hystart_where_it_has_no_place() {
    let with = |cc: &str| message("cc = \"star\"", &format!("cc = {{ {cc} }}"));
    let chosen = "slow_start = \"hystart++\"";
    let wrong = with(&format!("name = \"bbr\", {chosen}"));
    expect(&wrong, 19, "flow.0.cc.slow_start", &["bbr cannot start with", "not a window algorithm"]);
    let wrong = with(&format!("name = \"vegas\", {chosen}"));
    expect(&wrong, 19, "flow.0.cc.slow_start", &["vegas cannot start with", "gamma"]);
    let wrong = with("name = \"cubic\", hystart_css_rounds = 3");
    expect(&wrong, 19, "flow.0.cc.hystart_css_rounds", &["goes with slow_start = \"hystart++\" only"]);
    let wrong = with("name = \"cubic\", slow_start = \"hystart+\"");
    expect(&wrong, 19, "flow.0.cc.slow_start", &["\"hystart+\"", "did you mean hystart"]);
    let wrong = with("name = \"cubic\", slow_strat = \"hystart++\"");
    expect(&wrong, 19, "flow.0.cc.slow_strat", &["did you mean slow_start?"]);
}

#[test]
fn count_zero() {
    expect(&message("name = \"star\"", "count = 0"), 18, "flow.0.count", &["0 is out of range", "from 1"]);
}

#[test]
fn stop_before_start() {
    let wrong = message("stop = \"100 s\"", "stop = \"10 s\"\nstart = \"20 s\"");
    expect(&wrong, 21, "flow.0.stop", &["10 s", "start = 20 s"]);
}

#[test]
fn constant_bit_rate_without_rate() {
    let cbr = |rest: &str| {
        message(
            "cc = \"star\"\npath = [\"sat\"]\nstop = \"100 s\"\ntraffic = { kind = \"bulk\" }",
            &format!("path = [\"sat\"]\ntraffic = {{ kind = \"cbr\"{rest} }}"),
        )
    };
    expect(&cbr(""), 20, "flow.0.traffic.rate", &["missing", "1 Mbit/s"]);
    expect(&cbr(", rate = \"1 Mbit/s\", on = \"3 s\""), 20, "flow.0.traffic.off", &["missing", "together"]);
    expect(&cbr(", rate = \"0 bit/s\""), 20, "flow.0.traffic.rate", &["greater than zero"]);
    expect(&cbr(", rate = \"1 Mbit/s\", packet = \"70 kB\""), 20, "flow.0.traffic.packet", &["65535"]);
    let wrong = message("{ kind = \"bulk\" }", "{ kind = \"cbr\", rate = \"1 Mbit/s\" }");
    expect(&wrong, 19, "flow.0.cc", &["cbr", "leave cc out"]);
}

#[test]
fn link_columns_without_interval() {
    expect(&message("interval = \"100 ms\"", "links = true"), 6, "record.links", &["interval = \"100 ms\""]);
    let wrong = message("interval = \"100 ms\"", "interval = \"change\"\nlinks = true");
    expect(&wrong, 7, "record.links", &["interval"]);
    expect(&message("\"100 ms\"", "\"0 s\""), 6, "record.interval", &["longer than zero"]);
    expect(&message("\"100 ms\"", "\"1 ns\""), 6, "record.interval", &["rows"]);
}

#[test]
fn outage_without_length() {
    let outage = |new: &str| message("from = \"10 s\", to = \"12 s\"", new);
    let at = "link.sat.reverse.loss.0";
    expect(&outage("every = \"60 s\""), 15, &format!("{at}.length"), &["missing", "2 s"]);
    expect(&outage("from = \"10 s\""), 15, &format!("{at}.to"), &["missing"]);
    expect(&outage("from = \"10 s\", to = \"9 s\""), 15, &format!("{at}.to"), &["later than 10 s"]);
    expect(
        &outage("every = \"6 s\", length = \"6 s\""),
        15,
        &format!("{at}.length"),
        &["shorter than every = 6 s"],
    );
    expect(&outage("from = \"6 s\", length = \"6 s\""), 15, &format!("{at}.from"), &["either from and to"]);
    let table = message("[{ kind = \"outage\", from = \"10 s\", to = \"12 s\" }]", "{ kind = \"outage\" }");
    expect(&table, 15, "link.sat.reverse.loss.from", &["missing", "every and length"]);
}

#[test]
fn unknown_station() {
    let link = |new: &str| message("delay = \"250 ms\"", new);
    let wrong = link("from = \"bejing\"\nsatellite = { geo = \"100E\" }");
    expect(&wrong, 10, "link.sat.from", &["no station", "bejing", "did you mean beijing"]);
    expect(&link("from = \"beijing\""), 8, "link.sat.satellite", &["missing", "geo"]);
    expect(&link("satellite = { geo = \"100E\" }"), 8, "link.sat.from", &["missing", "station"]);
    let geo = link("satellite = { geo = \"100X\" }\nfrom = \"Beijing\"");
    expect(&geo, 10, "link.sat.satellite.geo", &["100X", "100E"]);
    let both = link("delay = \"1 s\"\nfrom = \"beijing\"\nsatellite = { geo = 100 }");
    expect(&both, 10, "link.sat.delay", &["leave out one"]);
}

#[test]
fn satellite_below_the_horizon() {
    let wrong = message(
        "delay = \"250 ms\"",
        "from = \"beijing\"\nto = \"new-york\"\nsatellite = { geo = \"100E\" }",
    );
    expect(&wrong, 11, "link.sat.to", &["new-york", "100E", "below the horizon", "min_elevation"]);
    let high = "from = \"beijing\"\nsatellite = { geo = \"100E\", min_elevation = 60.0 }";
    expect(&message("delay = \"250 ms\"", high), 10, "link.sat.from", &["41.", "min_elevation is 60"]);
}

#[test]
fn odd_options() {
    let option = |new: &str| message("stop = \"100 s\"", new);
    expect(&option("max_rto = \"10 ms\""), 21, "flow.0.max_rto", &["min_rto = 1 s"]);
    expect(&option("granularity = \"0 s\""), 21, "flow.0.granularity", &["longer than zero"]);
    expect(&option("spurious = \"eifel\"\ntimestamps = false"), 21, "flow.0.spurious", &["timestamps"]);
    expect(&option("ect1 = true"), 21, "flow.0.ect1", &["ECT(1)", "add ecn = true"]);
    for name in ["rack", "tlp", "dsack"] {
        let wrong = option(&format!("recovery = \"newreno\"\n{name} = true"));
        expect(&wrong, 22, &format!("flow.0.{name}"), &["selective", "recovery = \"sack\""]);
    }
    let restarts = option("rack = false\nsack_restarts_rto = true");
    expect(&restarts, 22, "flow.0.sack_restarts_rto", &["needs RACK", "rack = true"]);
    expect(&option("newreno_exit = \"ssthresh\""), 21, "flow.0.newreno_exit", &["recovery = \"newreno\""]);
    let unknown = option("recovery = \"newreno\"\nnewreno_exit = \"cwnd\"");
    expect(&unknown, 22, "flow.0.newreno_exit", &["cwnd", "flight-size", "ssthresh"]);
    let tahoe = option("recovery = \"tahoe\"\nnewreno_exit = \"ssthresh\"");
    expect(&tahoe, 22, "flow.0.newreno_exit", &["no fast recovery", "leave this out"]);
    let snack = option("recovery = \"sack\"\nsnack = true");
    expect(&snack, 22, "flow.0.snack", &["recovery = \"newreno\"", "leave this out"]);
    expect(&option("snack_vector = 4"), 21, "flow.0.snack_vector", &["snack = true"]);
    expect(&option("snack = true\nrack = true"), 22, "flow.0.rack", &["selective"]);
    expect(&option("receive_window = \"10 bytes\""), 21, "flow.0.receive_window", &["one segment of 1448"]);
    expect(&option("mss = \"64 KiB\""), 21, "flow.0.mss", &["65535"]);
    expect(&option("initial_window = 0"), 21, "flow.0.initial_window", &["from 1"]);
    expect(&option("profile = \"papr\""), 21, "flow.0.profile", &["papr", "paper"]);
    let timeout = "delayed_ack = false\ndelayed_ack_timeout = \"40 ms\"";
    expect(&option(timeout), 22, "flow.0.delayed_ack_timeout", &["delayed_ack = true"]);
}

#[test]
fn relays_that_cannot_be() {
    let text = |path: &str, flow: &str| {
        let link = |name: &str| format!("[link.{name}]\nrate = \"10 Mbit/s\"\ndelay = \"10 ms\"\n");
        let links: String = ["a", "b", "c"].map(link).concat();
        let text = format!("duration = \"1 s\"\n{links}[[flow]]\npath = [{path}]\n{flow}\n");
        load(&text).unwrap_err().to_string()
    };
    let relay = |path: &str, relay: &str| text(path, &format!("cc = \"reno\"\nrelay = {{ {relay} }}"));
    let (two, three) = ("\"a\", \"b\"", "\"a\", \"b\", \"c\"");
    let at = "flow.0.relay.at";
    expect(&relay(two, "at = \"b\", buffer = \"1 MB\""), 14, at, &["link b the path ends", "it is: a"]);
    expect(&relay(two, "at = \"c\", buffer = \"1 MB\""), 14, at, &["\"c\" is not on the path", "it is: a"]);
    expect(&relay(three, "at = \"gateway\", buffer = \"1 MB\""), 14, at, &["not on the path", "it is: a, b"]);
    expect(&relay("\"a\"", "at = \"a\", buffer = \"1 MB\""), 14, at, &["one link has no place"]);
    let buffer = "flow.0.relay.buffer";
    expect(&relay(two, "at = \"a\", buffer = \"1 kB\""), 14, buffer, &["one segment of 1448", "4 MB"]);
    expect(&relay(two, "at = \"a\""), 14, buffer, &["missing"]);
    expect(
        &relay(two, "at = \"a\", cc = \"rneo\", buffer = \"1 MB\""),
        14,
        "flow.0.relay.cc",
        &["rneo", "reno"],
    );
    let back = "cc = \"reno\"\nack_path = [\"c\"]\nrelay = { at = \"a\", buffer = \"1 MB\" }";
    expect(&text(two, back), 15, "flow.0.relay", &["acknowledgements on the way of the data"]);
    let cbr = "traffic = { kind = \"cbr\", rate = \"1 Mbit/s\" }\nrelay = { at = \"a\", buffer = \"1 MB\" }";
    expect(&text(two, cbr), 14, "flow.0.relay", &["no connection that a relay could end"]);
    let slow = text(two, "cc = \"reno\"\nread_rate = \"1 Mbit/s\"");
    expect(&slow, 14, "flow.0.read_rate", &["size of the buffer", "receive_window"]);
    // The halves are called x/first and x/second, which no flow can be.
    expect(&text(two, "cc = \"reno\"\nname = \"x/first\""), 14, "flow.0.name", &["x/first", "\"/\""]);
}

#[test]
fn not_toml() {
    let message = load("duration = \"1 s\"\n[link.sat\n").unwrap_err().to_string();
    assert!(message.starts_with("my.toml:2: not valid TOML: "), "{message}");
    let message = load("a = 1\n\na = 2\n").unwrap_err().to_string();
    assert!(message.starts_with("my.toml:3: not valid TOML: ") && message.contains("duplicate"), "{message}");
}

#[test]
fn nul_bytes() {
    let message = load("duration = \"1 s\"\n\n\0\n").unwrap_err().to_string();
    assert!(message.starts_with("my.toml:3: there is a NUL byte"), "{message}");
}

/// An empty directory of this test's own.
fn directory(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn file_error(path: &PathBuf) -> String {
    let message = Scenario::load(path, &[]).unwrap_err().to_string();
    let start = format!("{}: ", path.display());
    assert!(message.starts_with(&start), "{message}");
    message[start.len()..].to_owned()
}

#[test]
fn missing_file() {
    assert!(file_error(&directory("missing").join("none.toml")).contains("no such file"));
}

#[test]
fn directory_instead_of_file() {
    assert!(file_error(&directory("folder")).contains("directory"));
}

#[test]
fn not_utf8() {
    let path = directory("utf8").join("latin1.toml");
    std::fs::write(&path, b"duration = \"1 s\"\ntitle = \"Z\xfcrich\"\n").unwrap();
    let message = file_error(&path);
    assert!(
        message.contains("UTF-8") && message.contains("line 2") && message.contains("byte 28"),
        "{message}"
    );
}

#[test]
fn absurdly_large_file() {
    let path = directory("large").join("large.toml");
    std::fs::File::create(&path).unwrap().set_len((16 << 20) + 1).unwrap();
    assert!(file_error(&path).contains("larger than 16 MiB"));
}

#[test]
fn trace_file_of_losses() {
    let here = directory("trace");
    let with = |file: &str| {
        let loss = format!("{{ kind = \"trace\", file = \"{file}\" }}");
        let path = here.join("scenario.toml");
        std::fs::write(&path, GOOD.replace("{ kind = \"bit-error\", rate = 1e-6 }", &loss)).unwrap();
        Scenario::load(&path, &[]).unwrap().resolve().map_err(|e| e.to_string())
    };
    let message = with("none.txt").unwrap_err();
    let start = format!("{}:12: link.sat.loss.file: ", here.join("scenario.toml").display());
    assert!(message.starts_with(&start) && message.contains("no such file"), "{message}");
    std::fs::write(here.join("bad.txt"), "1\n2\nthree\n").unwrap();
    let message = with("bad.txt").unwrap_err();
    assert!(message.contains("line 3") && !message.contains("three"), "{message}");
    std::fs::write(here.join("good.txt"), "# lost\n7\n\n3 # again\n7\n").unwrap();
    let plan = with("good.txt").unwrap();
    let lost = LossPlan::LossTrace(LossTracePlan { lost: [3, 7].into() });
    assert_eq!(plan.links[0].forward.loss, [lost]);
}

#[test]
fn overrides() {
    let with = |key: &str, value: &str| {
        let pair = [(key.to_owned(), value.to_owned())];
        Scenario::from_toml(GOOD, "my.toml", &pair).and_then(|s| s.resolve()).unwrap_err().to_string()
    };
    let message = with("link.sat.rate", "10");
    assert!(message.starts_with("my.toml (override): link.sat.rate: 10 has no unit"), "{message}");
    let message = with("flow.0.cc", "rneo");
    assert!(message.starts_with("my.toml (override): flow.0.cc: ") && message.contains("reno"), "{message}");
    let message = with("flow.3.cc", "reno");
    assert!(
        message.starts_with("my.toml (override): flow.3.cc: ") && message.contains("0 to 0"),
        "{message}"
    );
    let message = with("link.sta.rate", "10 Mbit/s");
    assert!(message.ends_with("link.sta.rate: no link is called \"sta\"; did you mean sat?"), "{message}");
}

#[test]
fn json_has_no_lines() {
    let message =
        Scenario::from_json("{ \"duration\": \"1 s\", \"link\": {}, \"flow\": [], \"x\": 1 }").unwrap_err();
    assert!(message.to_string().starts_with("x: unknown key; "), "{message}");
    let message = Scenario::from_json("{ \"duration\": ").unwrap_err().to_string();
    assert!(message.starts_with("the scenario is not valid JSON: "), "{message}");
}
