//! Any random scenario, run to its end: it keeps the laws of the audit, yields finite numbers, and yields the
//! same with another run beside it that watches every link.

#![no_main]

use bentpipe_sim::plan::{Plan, RecordPlan};
use bentpipe_sim::record::Report;
use bentpipe_sim::{RunError, Scenario, no_supply, random_scenario, run};
use libfuzzer_sys::fuzz_target;

/// Packets that are lost by a trace.
const LOSSES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/sim/tests/sim/losses.txt");

/// What a run yields; `None` if it is longer than 65,536 events, after which it is asked whether it goes on,
/// or if it keeps more packets than a run may.
fn report(plan: &Plan, text: &str) -> Option<Report> {
    match run(plan, &mut no_supply, &mut |_| false) {
        Ok(outcome) => Some(outcome.report),
        Err(RunError::Interrupted | RunError::Kept { .. }) => None,
        Err(e) => panic!("{e}\n{text}"),
    }
}

fuzz_target!(|data: &[u8]| {
    let text = random_scenario(data, LOSSES);
    let mut plan = match Scenario::from_toml(&text, "fuzz.toml", &[]).and_then(|s| s.resolve()) {
        Ok(plan) => plan,
        // Values that do not go together.
        Err(e) => {
            let said = e.to_string();
            let of_file = |line: &str| line.starts_with("fuzz.toml:") || line.starts_with("and ");
            assert!(said.lines().all(of_file), "{said}\n{text}");
            return;
        }
    };
    let Some(alone) = report(&plan, &text) else { return };
    for flow in &alone.flows {
        assert!(flow.goodput_bps.is_finite() && flow.goodput_bps >= 0.0, "{flow:?}\n{text}");
        assert!(flow.cwnd_mean_segments.is_finite(), "{flow:?}\n{text}");
        assert!(flow.retransmitted_packets <= flow.sent_packets, "{flow:?}\n{text}");
    }
    for link in &alone.links {
        assert!((0.0..=1.0).contains(&link.utilisation), "{link:?}\n{text}");
        assert!(link.queue_mean_packets >= 0.0 && link.queue_mean_packets.is_finite(), "{link:?}\n{text}");
    }
    plan.record = Some(RecordPlan {
        interval: Some(plan.duration),
        flows: true,
        links: true,
        segments: false,
        transfers: true,
        probes: true,
    });
    // It may take a few events more, and so be left.
    let Some(watched) = report(&plan, &text) else { return };
    assert_eq!(format!("{alone:?}"), format!("{watched:?}"), "{text}");
});
