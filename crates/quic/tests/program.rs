//! The program `bentpipe-quic`, as a user calls it.

use std::process::{Command, Output};

fn bentpipe_quic(words: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bentpipe-quic"));
    command.args(words.split_whitespace()).output().expect("the program runs")
}

#[test]
fn a_wrong_request_is_one_line_and_status_2() {
    for (words, said) in [
        ("send 127.0.0.1:1 --cc rono --for 1", "no congestion controller is called \"rono\""),
        ("send 127.0.0.1:1 --cc star --set bw_samples=often --for 1", "bw_samples"),
        ("simulate no-such-file.toml --cc star --for 1", "no-such-file.toml"),
    ] {
        let done = bentpipe_quic(words);
        let told = String::from_utf8_lossy(&done.stderr);
        assert_eq!((done.status.code(), told.lines().count()), (Some(2), 1), "{words}: {told}");
        assert!(told.contains(said) && done.stdout.is_empty(), "{words}: {told}");
    }
}

/// A scenario as `bentpipe emulate` takes it: links alone.
fn scenario(name: &str, text: &str) -> String {
    let place = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&place, text).expect("the directory is there");
    place.display().to_string()
}

#[test]
fn a_scenario_without_flows_is_simulated_over_its_only_link() {
    let link = "[link.\"a sat\"]\nrate = \"8 Mbit/s\"\ndelay = \"50 ms\"\n";
    let bare = scenario("bare.toml", link);
    let flow = format!("duration = \"5 s\"\n{link}[[flow]]\ncc = \"cubic\"\npath = [\"a sat\"]\n");
    let whole = scenario("whole.toml", &flow);
    let said = |file: &str| {
        let done = bentpipe_quic(&format!("simulate {file} --cc reno --bytes 1_000_000"));
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).expect("text")
    };
    assert_eq!(said(&bare), said(&whole));
    let answer: serde_json::Value = serde_json::from_str(&said(&bare)).expect("JSON");
    assert_eq!(answer["complete"], true);
    assert!(answer["rtt_min_s"].as_f64().is_some_and(|rtt| rtt >= 0.1), "{answer}");

    let other = link.replace("a sat", "b");
    let two = scenario("two.toml", &format!("{link}{other}"));
    for (file, said) in [
        (two, "no flows and several links, a sat, b"),
        (scenario("none.toml", "seed = 3\n"), "flow: is missing"),
        (scenario("wrong.toml", &link.replace("rate", "rat")), "rat"),
    ] {
        let done = bentpipe_quic(&format!("simulate {file} --cc reno --for 1"));
        let told = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.code() == Some(2) && told.contains(said), "{file}: {told}");
    }
}
