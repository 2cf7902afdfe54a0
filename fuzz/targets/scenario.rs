//! Any text as a scenario: it is refused with a message of bounded length, or it resolves to a plan, and then
//! so does the same scenario with its defaults written out.

#![no_main]

use bentpipe_sim::Scenario;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // Only traces of losses name other files; what those hold is no matter here.
    if text.contains("file") {
        return;
    }
    let said = |message: String| assert!(!message.is_empty() && message.len() < 4_000 + text.len());
    let scenario = match Scenario::from_toml(text, "fuzz.toml", &[]) {
        Ok(scenario) => scenario,
        Err(e) => return said(e.to_string()),
    };
    match scenario.resolve() {
        Err(e) => said(e.to_string()),
        Ok(plan) => {
            let full = scenario.with_defaults().expect("what resolves has defaults");
            let again = full.resolve().expect("what resolves does so with its defaults written out");
            assert_eq!(plan.flows.len(), again.flows.len());
            assert_eq!(plan.links, again.links);
        }
    }
});
