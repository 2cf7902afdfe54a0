//! All mistakes of a scenario come in one answer, and none that only follows from another.

use bentpipe_sim::{Error, Scenario};

fn error(text: &str) -> Error {
    let read = Scenario::from_toml(text, "my.toml", &[]);
    read.and_then(|scenario| scenario.resolve().map(drop)).expect_err("the scenario is wrong")
}

/// Asserts that these are the mistakes: place and key, and words of the message.
#[track_caller]
fn expect(text: &str, mistakes: &[(&str, &str)]) {
    let lines = error(text).lines();
    assert_eq!(lines.len(), mistakes.len(), "{lines:#?}");
    for (line, (start, words)) in lines.iter().zip(mistakes) {
        assert!(
            line.starts_with(&format!("my.toml{start}: ")),
            "{line:?} is not about {start:?}: {lines:#?}"
        );
        assert!(line.contains(words), "{line:?} does not say {words:?}");
    }
}

const FIRST_TRY: &str = r#"titel = "my first scenario"
duration = 60

[link.sat]
rate = "10 mbps"
latency = "250 ms"
queue = { kind = "droptail", limit = "1 bdp" }
loss = { kind = "packet-error", rate = 2 }

[link.lan]
rate = "0 Mbit/s"
delay = "1,5 ms"

[[flow]]
cc = "renoo"
path = ["sat", "moon"]
mss = 1000

[[flow]]
algorithm = "cubic"
path = "lan"
stop = "10 s"
start = "20 s"
"#;

#[test]
fn a_first_try_is_told_all_at_once() {
    let expected = [
        (":1: titel", "did you mean title?"),
        (":2: duration", "60 has no unit; write text with a unit, e.g. \"120 s\""),
        (":5: link.sat.rate", "did you mean \"10 Mbps\"?"),
        (":6: link.sat.latency", "unknown key; did you mean delay?"),
        (":7: link.sat.queue.kind", "did you mean drop-tail?"),
        (":8: link.sat.loss.rate", "2 is out of range"),
        (":11: link.lan.rate", "greater than zero"),
        (":12: link.lan.delay", "write \"1.5 ms\""),
        (":15: flow.0.cc", "did you mean reno or veno?"),
        (":16: flow.0.path.1", "no link is called \"moon\""),
        (":17: flow.0.mss", "1000 has no unit"),
        (":20: flow.1.algorithm", "did you mean cc?"),
        (":21: flow.1.path", "it must be a list"),
        (":22: flow.1.stop", "10 s is not later than start = 20 s"),
    ];
    expect(FIRST_TRY, &expected);
}

#[test]
fn a_scenario_without_anything_lacks_two_keys() {
    expect("", &[(": duration", "is missing"), (": flow", "is missing")]);
}

#[test]
fn a_forgotten_quotation_mark_hides_nothing_behind_it() {
    let text = "duration = 10 s\n[link.sat]\nrate = 10 Mbit/s\ndelay = 250\n[[flow]]\ncc = renno\npath = [sat]\n\
                count = 0\n[link.far]\nrate = 1,5\ndelay = \"1 ms\"\n";
    let expected = [
        (":1", "text stands in quotes; write \"10 s\""),
        (":3", "write \"10 Mbit/s\""),
        (":4: link.sat.delay", "250 has no unit"),
        (":6", "write \"renno\""),
        (":7", "write \"sat\""),
        (":8: flow.0.count", "0 is out of range"),
        (":10", "a decimal point is a point, not a comma"),
    ];
    expect(text, &expected);
}

#[test]
fn an_open_bracket_is_one_mistake() {
    let text =
        "duration = \"1 s\"\n[[flow]]\npath = [\"sat\"\ncc = \"reno\"\n[link.sat]\nrate = \"1 Mbit/s\"\n";
    expect(text, &[(":4", "not valid TOML: missing comma between array elements")]);
    let heads = "duration = \"1 s\"\n[link.sat\nrate = \"1 Mbit/s\"\n[[flow]\ncc = \"reno\"\n";
    expect(heads, &[(":2", "unclosed table"), (":4", "unclosed array table")]);
}

#[test]
fn a_name_at_the_end_of_a_longer_one_is_near_it() {
    let text = "duration = \"1 s\"\n[link.sat]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n[[flow]]\ncc = \"newreno\"\npath = [\"sat\"]\n";
    expect(text, &[(":6: flow.0.cc", "did you mean reno?")]);
}

#[test]
fn one_table_for_a_list_is_taken_for_the_only_flow() {
    let text = "duration = \"1 s\"\n[link.sat]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n[flow]\ncc = \"renno\"\npath = [\"sta\"]\n";
    let expected = [
        (":5: flow", "[[flow]]"),
        (":6: flow.0.cc", "did you mean reno or veno?"),
        (":7: flow.0.path.0", "did you mean sat?"),
    ];
    expect(text, &expected);
}

#[test]
fn a_link_without_a_name_is_one_mistake() {
    let text = "duration = \"1 s\"\n[link]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n[[flow]]\ncc = \"reno\"\npath = [\"sat\"]\n";
    expect(text, &[(":2: link", "each link has a name; write [link.NAME] above delay, rate")]);
}

#[test]
fn what_cannot_be_looked_up_because_of_a_mistake_is_not_missing_too() {
    let with =
        |link: &str| format!("duration = \"1 s\"\n{link}\n[[flow]]\ncc = \"reno\"\npath = [\"sat\"]\n");
    // A file that is not there might have given the delay.
    let file = with("[link.sat]\nrate = \"1 Mbit/s\"\ntimeline = \"none.csv\"");
    expect(&file, &[(":4: link.sat.timeline", "no such file")]);
    let window = with("[link.sat]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"")
        + "receive_window = 4\nread_rate = \"1 Mbit/s\"\n";
    expect(&window, &[(":8: flow.0.receive_window", "4 has no unit")]);
    let path = "duration = \"1 s\"\n[link.a]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n[[flow]]\ncc = \"reno\"\npath = [\"b\", \"a\"]\n\
                relay = { at = \"b\", buffer = \"1 MB\" }\n";
    expect(path, &[(":7: flow.0.path.0", "no link is called \"b\"")]);
    let lists = with(
        "[link.sat]\ndelay = \"1 ms\"\nrate = [[\"0 s\", \"1 Mbit/s\"], [\"2 s\", \"1 Mbit\"], [\"1 s\", 5]]",
    );
    expect(&lists, &[(":4: link.sat.rate.1.1", "unit"), (":4: link.sat.rate.2.1", "5 has no unit")]);
}

#[test]
fn a_path_is_explained_by_the_links_of_the_file() {
    let head = "duration = \"1 s\"\n[link.geo]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n";
    let flow = |path: &str| format!("[[flow]]\ncc = \"reno\"\npath = {path}\n");
    // The first mistake is mended by a link of its own before the second is found.
    let text = head.to_owned() + &flow("[\"moon\"]") + &flow("[]");
    let expected = [
        (":7: flow.0.path.0", "no link is called \"moon\""),
        (":10: flow.1.path", "write e.g. path = [\"geo\"]"),
    ];
    expect(&text, &expected);
    let back = head.to_owned() + &flow("[\"geo/back\"]");
    expect(&back, &[(":7: flow.0.path.0", "\"geo/forward\" and \"geo/reverse\"")]);
}

#[test]
fn mistakes_of_overrides_stand_beside_those_of_the_file() {
    let text = "duration = \"1 s\"\n[link.sat]\nrate = \"1 Mbit\"\ndelay = \"1 ms\"\n[[flow]]\ncc = \"reno\"\npath = [\"sat\"]\n";
    let pairs = [("flow[0].cc", "cubic"), ("flow.0.mss", "9"), ("flow.4.cc", "reno")];
    let pairs = pairs.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let lines = Scenario::from_toml(text, "my.toml", &pairs).unwrap_err().lines();
    let starts = [
        "my.toml:3: link.sat.rate: unit",
        "my.toml (override): flow[0].cc: items of flow are counted behind a point; write flow.0.cc",
        "my.toml (override): flow.4.cc: ",
        "my.toml (override): flow.0.mss: 9 has no unit",
    ];
    assert_eq!(lines.len(), starts.len(), "{lines:#?}");
    for (line, start) in lines.iter().zip(starts) {
        assert!(line.starts_with(start), "{line:?}: {start:?}");
    }
}

#[test]
fn very_many_are_counted() {
    let flows = "[[flow]]\ncc = \"reno\"\npath = [\"sat\"]\ncount = 0\n".repeat(1_000);
    let text = format!("duration = \"1 s\"\n[link.sat]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n{flows}");
    let error = error(&text);
    assert_eq!(error.others.len(), 999);
    let lines = error.lines();
    assert_eq!((lines.len(), lines[20].as_str()), (21, "and 980 more"));
    assert_eq!(error.to_string().lines().count(), 21);
}

#[test]
fn names_ignore_case() {
    let text = r#"duration = "1 s"
[link.sat]
rate = "1 Mbit/s"
from = "Beijing"
to = "New Delhi"
satellite = { geo = "100E" }
queue = { kind = "FQ-CoDel" }
loss = [{ kind = "Packet-Error", rate = 0.0 }]
[[flow]]
cc = "CUBIC"
profile = "Paper"
path = ["sat"]
traffic = { kind = "BULK" }
[[flow]]
cc = { name = "Reno", slow_start = "HyStart++" }
recovery = "SACK"
path = ["sat"]
"#;
    let canonical = text.to_lowercase().replace("100e", "100E").replace("mbit", "Mbit");
    let plan = |text: &str| Scenario::from_toml(text, "my.toml", &[]).unwrap().resolve().unwrap();
    assert_eq!(plan(text), plan(&canonical));
    assert_eq!(plan(text).flows[0].name, "cubic");
    // Units and names of one's own do not.
    expect(&text.replace("Mbit", "mbit"), &[(":3: link.sat.rate", "did you mean \"1 Mbit/s\"?")]);
    expect(&text.replacen("[\"sat\"]", "[\"Sat\"]", 1), &[(":12: flow.0.path.0", "did you mean sat?")]);
}

#[test]
fn a_comma_is_told_with_what_it_may_mean() {
    let rate = |text: &str| {
        let text = format!(
            "duration = \"1 s\"\n[link.sat]\nrate = \"{text}\"\ndelay = \"1 ms\"\n[[flow]]\ncc = \"reno\"\npath = [\"sat\"]\n"
        );
        error(&text).to_string()
    };
    for (given, right) in [
        ("1,5 Mbit/s", "write \"1.5 Mbit/s\""),
        ("50.000,5 Mbit/s", "write \"50000.5 Mbit/s\""),
        ("50,000.5 Mbit/s", "write \"50000.5 Mbit/s\""),
        ("1,500 kbit/s", "write \"1.500 kbit/s\" or \"1500 kbit/s\""),
        ("1,500,000 bit/s", "write \"1500000 bit/s\""),
        ("0,25Mbit/s", "write \"0.25 Mbit/s\""),
    ] {
        assert!(rate(given).ends_with(right), "{}", rate(given));
    }
    assert!(rate(",5 Mbit/s").contains("is not a number with a unit"), "{}", rate(",5 Mbit/s"));
}

#[test]
fn keys_that_others_use_are_known_by_what_they_mean() {
    let link = |key: &str| {
        let text = format!(
            "duration = \"1 s\"\n[link.sat]\nrate = \"1 Mbit/s\"\n{key}\n[[flow]]\ncc = \"reno\"\npath = [\"sat\"]\n"
        );
        error(&text).to_string()
    };
    let leo = link("from = \"beijing\"\nsatellite = { leo = \"550 km\" }");
    assert!(leo.starts_with("my.toml:5: link.sat.satellite.leo: ") && leo.contains("timeline"), "{leo}");
    let rtt = link("rtt = \"600 ms\"");
    assert!(rtt.starts_with("my.toml:4: link.sat.rtt: ") && rtt.contains("one way"), "{rtt}");
    assert!(
        link("delay = \"1 ms\"\nqueue = \"codl\"").ends_with("must be a table, e.g. { kind = \"codel\" }")
    );
    assert!(link("bandwidth = 5\ndelay = \"1 ms\"").ends_with("unknown key; did you mean rate?"));
}
