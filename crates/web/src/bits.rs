//! A run as text that is equal if and only if the run is equal in every bit.

use bentpipe_cc::Span;
use bentpipe_sim::plan::{Plan, RecordPlan};
use bentpipe_sim::record::{Column, Outcome};
use bentpipe_sim::{Scenario, no_supply, run};
use serde_json::{Value, json};

/// The samples of a run that records nothing by itself.
const SAMPLES: u64 = 100;
/// A run with more flows gets no samples, which would fill the memory of a page.
const MOST_SAMPLED: usize = 1000;

/// Runs a scenario, and gives its report and a checksum for each column of its traces; or its mistakes. One
/// line of JSON. A scenario that records nothing gets some samples, which change no result.
pub fn of(text: &str, name: &str) -> String {
    let plan = Scenario::from_toml(text, name, &[]).and_then(|scenario| scenario.resolve());
    let said = match plan {
        Err(error) => json!({ "mistakes": error.lines() }),
        Ok(mut plan) => {
            sample(&mut plan);
            match run(&plan, &mut no_supply, &mut |_| true) {
                Err(error) => json!({ "mistakes": [error.to_string()] }),
                Ok(outcome) => outcome_bits(&outcome),
            }
        }
    };
    said.to_string()
}

fn sample(plan: &mut Plan) {
    if plan.record.is_none() && plan.flows.len() <= MOST_SAMPLED {
        plan.record = Some(RecordPlan {
            interval: Some(Span((plan.duration.0 / SAMPLES).max(1))),
            flows: true,
            links: true,
            segments: false,
            transfers: true,
            probes: true,
        });
    }
}

fn outcome_bits(outcome: &Outcome) -> Value {
    json!({
        "report": outcome.report,
        "names": outcome.names,
        "flows": sums(outcome.flows.trace().into_columns()),
        "links": sums(outcome.links.trace().into_columns()),
        "probes": sums(outcome.probes.trace().into_columns()),
        "segments": sums(outcome.segments.clone().into_columns()),
        "transfers": sums(outcome.transfers.clone().into_columns()),
    })
}

/// The number of rows and the checksum of each column.
fn sums(columns: Vec<(&'static str, Column)>) -> Vec<Value> {
    let rows = columns.first().map_or(0, |(_, column)| column.len());
    let sums = columns.into_iter().map(|(_, column)| match column {
        Column::F64(values) => floats(&values).into(),
        Column::U64(values) => words(values.into_iter()).into(),
        Column::U32(values) => words(values.into_iter()).into(),
        Column::U8(values) => words(values.into_iter()).into(),
    });
    [rows.into()].into_iter().chain(sums).collect()
}

/// The checksum of a column of numbers. Every value that is not a number counts as one and the same, as
/// processors differ in its bits.
fn floats(column: &[f64]) -> String {
    words(column.iter().map(|x| if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }))
}

/// The FNV-1a hash of the bytes of a column, 64 bits, in hexadecimal.
fn words(column: impl Iterator<Item = impl Into<u64>>) -> String {
    let hash =
        column.flat_map(|word| word.into().to_le_bytes()).fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_is_the_published_one_and_changes_with_one_bit() {
        // FNV-1a of no bytes is its offset basis (draft-eastlake-fnv, section 5).
        assert_eq!(words(std::iter::empty::<u64>()), "cbf29ce484222325");
        assert_ne!(floats(&[1.0]), floats(&[1.0_f64.next_up()]));
        assert_ne!(floats(&[0.0]), floats(&[-0.0]));
        assert_eq!(floats(&[f64::NAN]), floats(&[-f64::NAN]));
    }
}
