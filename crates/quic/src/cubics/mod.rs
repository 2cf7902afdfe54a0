//! The CUBIC of two QUIC stacks, quinn and s2n-quic, fed with the test vectors of ours: the table of
//! docs/vectors.md, which says why they differ.

mod quinn;
#[expect(unreachable_pub, reason = "programs elsewhere include this file, too")]
#[path = "../../../../python/bentpipe/vectors/replay.rs"]
mod replay;
mod s2n;

use std::fmt::Write as _;

use bentpipe_sim::Scenario;
use bentpipe_sim::vectors::{EVENTS, vectors};

use quinn::{Estimators, QuinnCubic};
use replay::{Answered, Fields, replay};
use s2n::S2nCubic;

/// Sequences of a row, and lines of each.
const SEQUENCES: u32 = 60;
const CALLS: usize = 400;

/// What may happen in the sequences of a row.
const ROWS: [(&str, &[&str]); 6] = [
    ("nothing but acknowledgements", &[]),
    ("losses", &["loss"]),
    ("losses and marks", &["loss", "ecn"]),
    ("losses, short of data", &["loss", "limited", "idle_restart"]),
    ("losses and timeouts", &["loss", "timeout"]),
    ("losses, other segments", &["loss", "mss_changed"]),
];

/// A value of a line.
fn number(fields: &Fields, name: &str) -> u64 {
    fields.get(name).and_then(serde_json::Value::as_u64).unwrap_or(0)
}

/// Our vectors of CUBIC in which no other events happen than these.
fn ours(events: &[&str]) -> String {
    let text = "duration = \"1 ms\"\nseed = 9\n[link.a]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
                [[flow]]\ncc = \"cubic\"\npath = [\"a\"]\n";
    let plan = Scenario::from_toml(text, "vectors", &[]).and_then(|scenario| scenario.resolve());
    let without: Vec<String> =
        EVENTS.iter().filter(|event| !events.contains(event)).map(ToString::to_string).collect();
    vectors(&plan.expect("a scenario"), SEQUENCES, CALLS, &without).expect("CUBIC is registered")
}

/// How far the windows of an implementation are from ours, in the sequences that begin as it can.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    sequences: u32,
    /// Acknowledgements outside fast recovery, and those after which the windows are within a segment.
    acks: u32,
    within: u32,
    /// The largest difference of windows, theirs less ours, in segments.
    largest: f64,
    /// Answers to congestion, and those in which both keep the same share of the window before, within 1 %.
    cuts: u32,
    alike: u32,
}

fn compare(steps: &[Answered]) -> Found {
    let mut found = Found::default();
    let mut before = None;
    for step in steps {
        if step.sequence == "run" || step.answer.is_empty() {
            continue; // of the second kind are those that begin as it cannot
        }
        let [ours, theirs] = [&step.right, &step.answer].map(|answer| number(answer, "cwnd") as f64);
        let segments = (theirs - ours) / number(&step.flow, "mss").max(1) as f64;
        match (step.call.as_str(), before) {
            ("start", _) => found.sequences += 1,
            ("ack", _) if step.flow["phase"] != "recovery" => {
                found.acks += 1;
                found.within += u32::from(segments.abs() <= 1.0);
                if segments.abs() > found.largest.abs() {
                    found.largest = segments;
                }
            }
            ("congestion", Some((our_last, their_last))) => {
                found.cuts += 1;
                let (our_share, their_share): (f64, f64) = (ours / our_last, theirs / their_last);
                found.alike += u32::from((our_share - their_share).abs() < 0.01);
            }
            _ => {}
        }
        before = Some((ours, theirs));
    }
    found
}

fn percent(part: u32, of: u32) -> String {
    if of == 0 { "-".to_owned() } else { format!("{:.1} %", 100.0 * f64::from(part) / f64::from(of)) }
}

/// The rows of the table.
fn table() -> String {
    let estimators = Estimators::collected();
    let mut text = String::new();
    for (name, events) in ROWS {
        let lines = ours(events);
        let quinn = replay(&lines, |given, flow| QuinnCubic::new(given, flow, &estimators));
        let s2n = replay(&lines, S2nCubic::new);
        for (stack, steps) in [("quinn", quinn), ("s2n-quic", s2n)] {
            let of = compare(&steps.expect("lines of JSON"));
            let (within, alike) = (percent(of.within, of.acks), percent(of.alike, of.cuts));
            let _ = writeln!(
                text,
                "| {name} | {stack} | {} | {} | {within} | {:+.1} | {} | {alike} |",
                of.sequences, of.acks, of.largest, of.cuts
            );
        }
    }
    text
}

#[test]
fn the_page_has_the_differences() {
    let path = format!("{}/../../docs/vectors.md", env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    let table = table();
    for row in table.lines() {
        assert!(page.lines().any(|line| line == row), "docs/vectors.md lacks a row; the table is\n{table}");
    }
}
