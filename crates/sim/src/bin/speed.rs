//! Runs scenario files and prints the cost of a delivered packet:
//! `cargo run --release --bin speed -- [--set KEY=VALUE]... FILE...`
//!
//! Under `valgrind --tool=callgrind` the instructions of a run are exact and repeatable, whatever else the
//! machine does. `scripts/instructions.py` compares them with those of the last change. It is no example,
//! since those are built with all that tests need.

use std::time::Instant;

use bentpipe_sim::plan::{Plan, Source};
use bentpipe_sim::record::Report;
use bentpipe_sim::{Scenario, no_supply, run};

#[expect(clippy::disallowed_methods, reason = "how long a run took is the question")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut overrides = Vec::new();
    let mut given = std::env::args().skip(1);
    while let Some(argument) = given.next() {
        if argument == "--set" {
            let pair = given.next().unwrap_or_default();
            let (key, value) = pair.split_once('=').ok_or("--set takes KEY=VALUE")?;
            overrides.push((key.to_owned(), value.to_owned()));
            continue;
        }
        let text = std::fs::read_to_string(&argument)?;
        let plan = Scenario::from_toml(&text, &argument, &overrides)?.resolve()?;
        let begin = Instant::now();
        let outcome = run(&plan, &mut no_supply, &mut |_| true)?;
        let spent = begin.elapsed();
        let packets = delivered(&plan, &outcome.report);
        println!("{argument}: {packets} packets, {:.1} ns each", spent.as_nanos() as f64 / packets as f64);
    }
    Ok(())
}

/// Data packets that reached the applications of TCP flows, in order.
fn delivered(plan: &Plan, report: &Report) -> u64 {
    let flows = plan.flows.iter().zip(&report.flows);
    let packets = flows.filter_map(|(flow, got)| match &*flow.source {
        Source::Tcp { options, .. } => Some(got.delivered_bytes / u64::from(options.mss)),
        Source::Cbr(_) => None,
    });
    packets.sum()
}
