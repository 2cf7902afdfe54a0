//! What the page asks of a player, and the files that it saves.

use bentpipe_sim::pcap::{Capture, Place};
use bentpipe_sim::record::Report;
use bentpipe_sim::{Scenario, no_supply, run, run_captured};
use bentpipe_web::play::{Answer, PACKET_COLUMNS, Player, SENDER_COLUMNS};
use bentpipe_web::save;
use serde_json::json;

const TEXT: &str = "duration = \"20 s\"\nseed = 3\n[link.sat]\nrate = \"5 Mbit/s\"\ndelay = \"150 ms\"\n\
    loss = { kind = \"packet-error\", rate = 0.001 }\n[[flow]]\nname = \"a, b\"\ncc = \"cubic\"\npath = [\"sat\"]\n";

fn report() -> Report {
    let plan = Scenario::from_toml(TEXT, "a.toml", &[]).and_then(|one| one.resolve()).expect("a plan");
    run(&plan, &mut no_supply, &mut |_| true).expect("a run").report
}

fn asked(player: &mut Player, request: serde_json::Value) -> (Answer, Vec<f64>) {
    let request = serde_json::from_value(request).expect("a request");
    player.answer(&request, &mut no_supply, &mut |_| true)
}

fn start(from_s: Option<f64>) -> serde_json::Value {
    json!({ "given": { "text": TEXT, "name": "a.toml" }, "from_s": from_s, "flows": [0] })
}

/// The packets of the first direction that arrive, in all parts.
#[test]
fn parts_one_after_the_other_are_the_whole_run() {
    let (mut player, mut arrived, mut until) = (Player::default(), 0, 0.0);
    loop {
        let first = (until == 0.0).then(|| start(Some(0.0)));
        until += 1.5;
        let (answer, columns) =
            asked(&mut player, json!({ "start": first, "until_s": until, "most": 1_000_000 }));
        assert_eq!(answer.mistakes, Vec::<String>::new());
        assert!(answer.complete_s >= f64::min(until, 20.0), "{} {until}", answer.complete_s);
        let [rows, states] = answer.rows;
        assert_eq!(columns.len(), PACKET_COLUMNS.len() * rows + SENDER_COLUMNS.len() * states);
        let column = |name: &str| {
            let i = PACKET_COLUMNS.iter().position(|known| *known == name).expect("a column");
            &columns[i * rows..(i + 1) * rows]
        };
        let here = column("place").iter().zip(column("end"));
        arrived += here.filter(|(place, end)| **place == 0.0 && **end == 0.0).count() as u64;
        if answer.is_over {
            break;
        }
    }
    assert_eq!(arrived, report().links[0].delivered_packets);
}

#[test]
fn an_answer_has_about_as_many_rows_as_the_page_takes() {
    let mut player = Player::default();
    let (answer, _) = asked(&mut player, json!({ "start": start(Some(5.0)), "until_s": 20.0, "most": 500 }));
    let rows: usize = answer.rows.iter().sum();
    assert!((500..2500).contains(&rows) && !answer.is_over && answer.complete_s < 20.0, "{answer:?}");
}

#[test]
fn moments_need_no_rows() {
    let mut player = Player::default();
    let (answer, columns) = asked(&mut player, json!({ "start": start(None), "until_s": 1e9, "most": 500 }));
    assert!(answer.is_over && columns.is_empty(), "{answer:?}");
    let at = |what: &str| answer.moments.iter().find(|one| one.what == what).map(|one| one.t_s);
    let (full, recovery) = (at("full").expect("a drop"), at("recovery").expect("a recovery"));
    // The first loss is noticed a round trip later.
    assert!((0.3..1.0).contains(&(recovery - full)) && at("error").is_some(), "{answer:?}");
}

#[test]
fn what_cannot_be_played_says_why() {
    let mut player = Player::default();
    let (answer, _) = asked(&mut player, json!({ "until_s": 1.0, "most": 1 }));
    assert_eq!(answer.mistakes, ["no run has begun"]);
    let broken = json!({ "given": { "text": "duration = 3", "name": "a.toml" }, "from_s": 0, "flows": [] });
    let (answer, _) = asked(&mut player, json!({ "start": broken, "until_s": 1.0, "most": 1 }));
    assert!(answer.mistakes.iter().any(|line| line.starts_with("a.toml")), "{answer:?}");
}

fn saved(request: serde_json::Value) -> Result<Vec<u8>, Vec<String>> {
    let mut request = request;
    let text = request.get("text").cloned().unwrap_or_else(|| TEXT.into());
    request["given"] = json!({ "text": text, "name": "a.toml" });
    save::file(&serde_json::from_value(request).expect("a request"), &mut no_supply, &mut |_| true)
}

#[test]
fn packets_are_those_of_the_command_line() {
    let plan = Scenario::from_toml(TEXT, "a.toml", &[]).and_then(|one| one.resolve()).expect("a plan");
    let path = std::env::temp_dir().join(format!("bentpipe-web-{}.pcapng", std::process::id()));
    let capture = Capture { path, at: Place::Sender, whole: false };
    run_captured(&plan, Some(&capture), &mut no_supply, &mut |_| true).expect("a capture");
    let file = std::fs::read(&capture.path).expect("a file");
    std::fs::remove_file(&capture.path).expect("a file");
    assert!(saved(json!({ "what": "packets", "at": "sender" })).expect("packets") == file);
    let wrong = saved(json!({ "what": "packets", "at": "satt" })).expect_err("no such link");
    assert!(wrong[0].contains("satt"), "{wrong:?}");
}

#[test]
fn a_table_has_the_samples_that_the_scenario_asks_for() {
    let lines = |request: serde_json::Value| {
        let text = String::from_utf8(saved(request).expect("a table")).expect("UTF-8");
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let table = lines(json!({ "what": "trace", "samples": 10 }));
    assert_eq!(
        table[0],
        "t_s,flow,cwnd,ssthresh,in_flight,srtt_s,rtt_s,delivered_bytes,retransmitted_packets"
    );
    assert!(table[2].starts_with("2,\"a, b\",") && (11..=12).contains(&table.len()), "{table:?}");
    let recording = format!("record = {{ interval = \"5 s\" }}\n{TEXT}");
    let table = lines(json!({ "what": "link-trace", "samples": 10, "text": recording }));
    assert!(table[1].starts_with("0,sat/forward,") && table[2].starts_with("0,sat/reverse,"), "{table:?}");
    assert!((9..=11).contains(&table.len()), "{table:?}");
    let delivered: u64 =
        table[table.len() - 2].split(',').nth(3).expect("a column").parse().expect("a number");
    assert!(delivered <= report().links[0].delivered_packets && delivered > 1_000);
    let table = lines(json!({ "what": "probes", "samples": 10 }));
    assert!(table[0] == "t_s,flow,probe,value" && table.len() > 10, "{table:?}");
}
