//! From a scenario's text to its results.

use bentpipe_sim::plan::Plan;
use bentpipe_sim::record::{Outcome, Report};
use bentpipe_sim::{Scenario, no_supply, run};

/// The plan of a valid scenario.
#[track_caller]
pub(crate) fn plan(text: &str) -> Plan {
    Scenario::from_toml(text, "test.toml", &[]).and_then(|s| s.resolve()).unwrap_or_else(|e| panic!("{e}"))
}

/// The outcome of its run.
#[track_caller]
pub(crate) fn outcome(text: &str) -> Outcome {
    run(&plan(text), &mut no_supply, &mut |_| true).expect("a run that ends")
}

/// The report of its run.
#[track_caller]
pub(crate) fn report(text: &str) -> Report {
    outcome(text).report
}

#[track_caller]
pub(crate) fn close(found: f64, expected: f64, relative: f64) {
    assert!((found / expected - 1.0).abs() <= relative, "{found} is not within {relative} of {expected}");
}

/// One flow over one link of 10 Mbit/s and 250 ms each way.
pub(crate) fn geo(duration: &str, link: &str, flow: &str) -> String {
    format!(
        "duration = \"{duration}\"\n[link.sat]\nrate = \"10 Mbit/s\"\ndelay = \"250 ms\"\n{link}\n[[flow]]\npath = [\"sat\"]\nprofile = \"paper\"\n{flow}\n"
    )
}
