//! Runs scenario files and prints what a delivered packet costs: `cargo run --release --example speed -- FILE...`
//!
//! Under `valgrind --tool=callgrind` the instructions of a run are exact and repeatable, whatever else the machine does.

use std::time::Instant;

use bentpipe_sim::{Scenario, no_supply, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path)?;
        let plan = Scenario::from_toml(&text, &path, &[])?.resolve()?;
        let begin = Instant::now();
        let packets = run(&plan, &mut no_supply, &mut |_| true)?.report.packets;
        let spent = begin.elapsed();
        println!("{path}: {packets} packets, {:.1} ns each", spent.as_nanos() as f64 / packets as f64);
    }
    Ok(())
}
