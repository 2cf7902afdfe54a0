//! The keys of links that move, and the plans that they come to.

use bentpipe_cc::{Span, Time};
use bentpipe_sim::plan::{BitError, Handover, Leg, LossPlan, PacketError, Plan, Step, TimeLine};
use bentpipe_sim::{Error, Scenario};

use crate::outcome::plan;

const FLOW: &str = "[[flow]]\ncc = \"reno\"\npath = [\"x\"]\n";

/// The plan of a link with these lines, and of one flow.
fn link(lines: &str) -> Plan {
    plan(&scenario(lines))
}

fn scenario(lines: &str) -> String {
    format!(
        "duration = \"60 s\"\n[link.x]\nqueue = {{ limit = \"9 packets\", kind = \"drop-tail\" }}\n{lines}\n{FLOW}"
    )
}

/// Directory of the files of these tests.
fn directory() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sim").to_owned()
}

fn steps(line: &TimeLine) -> Vec<(f64, u64)> {
    line.steps().iter().map(|Step { at, rate_bps, .. }| (at.secs(), *rate_bps)).collect()
}

fn legs(line: &TimeLine) -> Vec<(f64, u64, u64)> {
    let ms = |span: Span| span.0 / 1_000_000;
    line.legs().iter().map(|Leg { at, delay, towards }| (at.secs(), ms(*delay), ms(*towards))).collect()
}

fn handovers(line: &TimeLine) -> Vec<f64> {
    line.handovers().iter().map(|at: &Time| at.secs()).collect()
}

/// A table in a file of its own.
fn file(name: &str, text: &str) -> String {
    let path = std::env::temp_dir().join(format!("bentpipe-{}-{name}.csv", std::process::id()));
    std::fs::write(&path, text).expect("a file");
    path.display().to_string()
}

#[test]
fn lists_are_steps_and_both_directions_share_them() {
    let plan = link(
        "rate = [[\"0 s\", \"8 Mbit/s\"], [\"15 s\", \"4 Mbit/s\"], [\"99 s\", \"1 Mbit/s\"]]\n\
         delay = [[\"0 s\", \"20 ms\"], [\"15 s\", \"25 ms\"]]\n\
         up = [[\"0 s\", true], [\"14.5 s\", false], [\"15 s\", true], [\"30 s\", false]]\n\
         nominal = { rate = \"6 Mbit/s\", delay = \"30 ms\" }\nhandover = { in_flight = \"lost\" }",
    );
    // 8 Mbit/s for 14.5 s and 4 Mbit/s for 15 s; what is nominal counts for `1 bdp` alone.
    let mean = (8_000_000 * 145 + 4_000_000 * 150) / 295;
    for direction in [&plan.links[0].forward, &plan.links[0].reverse] {
        let line = direction.line.as_ref().expect("a time line");
        assert_eq!(steps(line), [(0.0, 8_000_000), (14.5, 0), (15.0, 4_000_000), (30.0, 0)]);
        assert_eq!(legs(line), [(0.0, 20, 20), (15.0, 25, 25)]);
        assert_eq!(handovers(line), [14.5, 30.0]);
        assert_eq!(line.handover, Handover { loses: true, flushes: false });
        assert_eq!((direction.rate_bps, direction.delay), (mean, Span::from_millis(20)));
    }
    assert_eq!(plan.warnings, [""; 0]);
}

#[test]
fn a_plain_link_has_no_time_line() {
    let plan = link("rate = \"8 Mbit/s\"\ndelay = \"20 ms\"\nreorder = true");
    assert!(plan.links[0].forward.line.is_none() && plan.links[0].reverse.line.is_none());
    assert!(plan.links[0].forward.handovers().is_empty());
}

#[test]
fn handovers_come_at_instants_and_again_and_again_and_each_begins_an_outage() {
    let plan = link(
        "rate = \"8 Mbit/s\"\ndelay = \"20 ms\"\n\
         handover = { every = \"20 s\", first = \"5 s\", at = [\"44.8 s\", \"7 s\"], outage = \"500 ms\", queue = \"flushed\" }",
    );
    let line = plan.links[0].forward.line.as_ref().expect("a time line");
    assert_eq!(handovers(line), [5.0, 7.0, 25.0, 44.8, 45.0]);
    let rate = |at: f64| line.at(Time((at * 1e9) as u64)).0;
    // The outages of the last two are one of 0.7 s.
    assert_eq!(
        [4.9, 5.0, 5.4, 5.5, 7.1, 7.5, 44.9, 45.2, 45.4, 45.5].map(|at| rate(at) > 0),
        [true, false, false, true, false, true, false, false, false, true]
    );
    assert_eq!(plan.links[0].forward.handovers(), line.handovers());
}

#[test]
fn a_file_gives_lines_of_delay_but_steps_at_handovers_and_in_the_dark() {
    let text = "t_s,delay_s,up,handover\n0,0.010,true,\n10,0.020,,\n20,0.030,,true\n30,0.050,false,\n40,0.070,true,\n50,0.080,,\n";
    let name = file("lines", text);
    let plan = link(&format!("rate = \"8 Mbit/s\"\ntimeline = {name:?}"));
    let line = plan.links[0].forward.line.as_ref().expect("a time line");
    assert_eq!(
        legs(line),
        [(0.0, 10, 20), (10.0, 20, 20), (20.0, 30, 50), (30.0, 50, 50), (40.0, 70, 80), (50.0, 80, 80)]
    );
    assert_eq!((handovers(line), steps(line).len()), (vec![20.0], 6));
    // As steps; from 12 s of the file on, and again after its last row, whose values are not used.
    let options = "repeat = true, delay = \"steps\", offset = \"12 s\"";
    let plan = link(&format!("rate = \"8 Mbit/s\"\ntimeline = {{ file = {name:?}, {options} }}"));
    let line = plan.links[0].forward.line.as_ref().expect("a time line");
    let (line, mut expected) =
        (legs(line), vec![(0.0, 20, 20), (8.0, 30, 30), (18.0, 50, 50), (28.0, 70, 70)]);
    expected.extend([(38.0, 10, 10), (48.0, 20, 20), (58.0, 30, 30)]);
    assert_eq!(line[..7], expected);
    // Lines that begin amid a row go on from there.
    let plan = link(&format!("rate = \"8 Mbit/s\"\ntimeline = {{ file = {name:?}, offset = \"25 s\" }}"));
    let line = plan.links[0].forward.line.as_ref().expect("a time line");
    assert_eq!((legs(line)[0], legs(line)[1]), ((0.0, 40, 50), (5.0, 50, 50)));
    assert_eq!(handovers(line), [0.0; 0], "that of 20 s is over");
}

#[test]
fn a_file_sets_the_rate_of_the_loss_model_of_its_own_direction() {
    let name = file("loss", "t_s,loss_rate,rate_bps,delay_s\n0,0.5,1e6,0.1\n10,0,2e6,0.2\n");
    let with =
        |loss: &str| link(&format!("timeline = {name:?}\nnominal = {{ rate = \"1 Mbit/s\" }}\n{loss}"));
    let plan = with("");
    assert_eq!(plan.links[0].forward.loss, [LossPlan::PacketError(PacketError { rate: 0.5 })]);
    assert_eq!(plan.links[0].reverse.loss, []);
    assert_eq!(plan.links[0].reverse.line.as_ref().map(|line| steps(line)[1]), Some((10.0, 2_000_000)));
    let plan = with("loss = { kind = \"bit-error\", rate = 0.0 }\nreverse = { rate = \"3 Mbit/s\" }");
    assert_eq!(plan.links[0].forward.loss, [LossPlan::BitError(BitError { rate: 0.5 })]);
    let back = &plan.links[0].reverse;
    assert_eq!(back.rate_bps, 3_000_000, "what is nominal does not replace a rate");
    let line = back.line.as_ref().expect("delays");
    assert!(line.steps().iter().all(|step| step.rate_bps == 3_000_000) && !line.sets_loss);
}

#[test]
fn a_loss_rate_of_a_file_is_packet_errors_beside_other_losses() {
    let name = file("beside", "t_s,loss_rate,rate_bps,delay_s\n0,0.5,1e6,0.1\n10,0,2e6,0.2\n");
    let with = |loss: &str| {
        link(&format!("timeline = {name:?}\nnominal = {{ rate = \"1 Mbit/s\" }}\nloss = {loss}"))
    };
    let errors = |rate| LossPlan::PacketError(PacketError { rate });
    let events = "{ kind = \"gilbert-elliott\", p = 0.01, r = 0.25 }";
    let plan = with(events);
    let of = &plan.links[0].forward;
    assert!(
        matches!(of.loss[..], [LossPlan::GilbertElliott(_), _]) && of.loss[1] == errors(0.5),
        "{:?}",
        of.loss
    );
    assert_eq!(of.line.as_ref().map(|line| line.sets_loss), Some(true));
    // Of two or more, each keeps its own rate.
    let bits = |rate| LossPlan::BitError(BitError { rate });
    let plan = with("[{ kind = \"bit-error\", rate = 1e-9 }, { kind = \"packet-error\", rate = 0.1 }]");
    assert_eq!(plan.links[0].forward.loss, [bits(1e-9), errors(0.1), errors(0.5)]);
    let plan = with(&format!("[{{ kind = \"bit-error\", rate = 1e-9 }}, {events}]"));
    assert_eq!(plan.links[0].forward.loss[0], bits(1e-9));
}

#[test]
fn a_bdp_is_nominal_or_warned_of() {
    let with = |lines: &str| {
        let text = "rate = [[\"0 s\", \"8 Mbit/s\"], [\"15 s\", \"4 Mbit/s\"]]\ndelay = \"30 ms\"\n";
        plan(&format!("duration = \"60 s\"\n[link.x]\n{text}{lines}\n{FLOW}"))
    };
    let guessed = with("");
    assert!(
        guessed.warnings[0].contains("1 bdp") && guessed.warnings[0].contains("nominal"),
        "{:?}",
        guessed.warnings
    );
    // 8 Mbit/s x 60 ms are 40 packets of 1500 bytes, half of the rate 20.
    let packets = |plan: &Plan| format!("{:?}", plan.links[0].forward.queue);
    assert_eq!(packets(&guessed), "Packets(40)");
    let said = with("nominal = { rate = \"4 Mbit/s\" }");
    assert_eq!((packets(&said), said.warnings.len()), ("Packets(20)".to_owned(), 0));
    // A plain value beside a file that sets it is nominal.
    let name = file("nominal", "t_s,rate_bps\n0,8e6\n9,1e6\n");
    let plain = format!("rate = \"2 Mbit/s\"\ndelay = \"30 ms\"\ntimeline = {name:?}\n");
    let plan = plan(&format!("duration = \"60 s\"\n[link.x]\n{plain}{FLOW}"));
    assert_eq!((packets(&plan), plan.warnings.len()), ("Packets(10)".to_owned(), 0));
}

#[test]
fn defaults_written_out_are_the_same_plan() {
    let name = directory() + "/time_line.csv";
    for lines in [
        format!("timeline = {{ file = {name:?}, repeat = true }}\nrate = \"3 Mbit/s\"\ndelay = \"9 ms\""),
        "rate = [[\"0 s\", \"8 Mbit/s\"], [\"15 s\", \"0 bit/s\"]]\ndelay = [[\"0 s\", \"3 ms\"], [\"9 s\", \"0 ms\"]]".to_owned(),
        "rate = \"8 Mbit/s\"\ndelay = \"9 ms\"\nhandover = { every = \"9 s\" }\nreverse = { reorder = true }".to_owned(),
    ] {
        let scenario = Scenario::from_toml(&scenario(&lines), "x.toml", &[]).expect("a scenario");
        let full = scenario.with_defaults().expect("correct");
        assert_eq!(full.resolve(), scenario.resolve(), "{lines}");
        let json = serde_json::to_string(&full).expect("JSON");
        assert_eq!(Scenario::from_json(&json).and_then(|s| s.resolve()), scenario.resolve(), "{json}");
    }
}

fn message(lines: &str) -> String {
    let resolved = Scenario::from_toml(&scenario(lines), "my.toml", &[]).and_then(|s| s.resolve());
    resolved.map(drop).map_err(|e: Error| e.to_string()).expect_err(lines)
}

#[test]
fn each_mistake_names_its_key_and_what_would_be_right() {
    let name = directory() + "/time_line.csv";
    let timeline = format!("timeline = {name:?}\n");
    let plain = "rate = \"8 Mbit/s\"\ndelay = \"9 ms\"\n";
    for (lines, key, words) in [
        ("delay = \"9 ms\"".to_owned(), "rate", &["missing", "10 Mbit/s"][..]),
        ("rate = \"0 bit/s\"\ndelay = \"9 ms\"".to_owned(), "rate", &["greater than zero"]),
        ("delay = \"9 ms\"\nrate = []".to_owned(), "rate", &["0 s"]),
        ("delay = \"9 ms\"\nrate = [[\"1 s\", \"1 Mbit/s\"]]".to_owned(), "rate", &["0 s"]),
        ("delay = \"9 ms\"\nrate = [\"1 s\", \"1 Mbit/s\"]".to_owned(), "rate.0", &["list"]),
        ("delay = \"9 ms\"\nrate = [[\"0 s\"]]".to_owned(), "rate.0", &["1 items", "[\"250 ms\", \"10 Mbit/s\"]"]),
        ("delay = \"9 ms\"\nrate = [[\"0 s\", 5]]".to_owned(), "rate.0.1", &["no unit", "10 Mbit/s"]),
        ("delay = \"9 ms\"\nrate = [[0, \"1 Mbit/s\"]]".to_owned(), "rate.0.0", &["no unit", "250 ms"]),
        (
            "delay = \"9 ms\"\nrate = [[\"0 s\", \"1 Mbit/s\"], [\"2 s\", \"1 Mbit/s\"], [\"2 s\", \"2 Mbit/s\"]]".to_owned(),
            "rate.2",
            &["2 s", "later"],
        ),
        ("delay = \"9 ms\"\nrate = [[\"0 s\", \"0 bit/s\"], [\"1 s\", \"1 Mbit/s\"]]".to_owned(), "nominal", &["at 0 s is 0", "nominal"]),
        ("rate = \"1 Mbit/s\"\ndelay = [[\"0 s\", \"2 d\"]]".to_owned(), "delay", &["too long", "1 d"]),
        ("delay = \"9 ms\"\nrate = [[\"0 s\", \"200 Tbit/s\"]]".to_owned(), "rate", &["too high"]),
        (plain.to_owned() + "up = [[\"0 s\", 1]]", "up.0.1", &["true or false"]),
        (plain.to_owned() + "handover = { first = \"1 s\" }", "handover.every", &["15 s"]),
        (plain.to_owned() + "handover = { every = \"0 s\" }", "handover.every", &["longer than zero"]),
        (plain.to_owned() + "handover = { every = \"1 ns\" }", "handover.every", &["more than 4194304 changes"]),
        (plain.to_owned() + "handover = { queue = \"dropped\" }", "handover.queue", &["kept", "flushed"]),
        (plain.to_owned() + "timeline = \"missing.csv\"", "timeline", &["missing.csv", "no such file"]),
        (plain.to_owned() + "timeline = \"x.parquet\"", "timeline", &["x.parquet", "CSV"]),
        (format!("{timeline}rate = [[\"0 s\", \"1 Mbit/s\"]]"), "rate", &["time line", "leave one"]),
        (format!("{timeline}up = [[\"0 s\", true]]"), "up", &["column up"]),
        (format!("timeline = {{ file = {name:?}, offset = \"5 s\" }}"), "timeline.offset", &["5 s", "last row", "4100 ms"]),
    ] {
        let said = message(&lines);
        assert!(said.starts_with("my.toml:") && said.contains(&format!(" link.x.{key}: ")), "{said}");
        assert!(words.iter().all(|word| said.contains(word)) && !said.contains('\n'), "{words:?}: {said}");
    }
}

#[test]
fn rules_without_a_handover_are_warned_of() {
    let plan = link("rate = \"8 Mbit/s\"\ndelay = \"9 ms\"\nhandover = { queue = \"flushed\" }");
    assert!(plan.warnings[0].contains("never changes hands"), "{:?}", plan.warnings);
}
