//! Test vectors: what a controller is told, call by call, and what it answers, as lines of JSON
//! (docs/vectors.md).
//!
//! Calls come from a sender that draws what happens to it (`random_sender.rs`), and from a flow of a run. Both call
//! a controller that is recorded (`recorder.rs`).

mod line;
mod random_sender;
mod recorder;

use std::sync::{Arc, PoisonError};

use bentpipe_cc::registry::{self, Entry, Error, Value};
use bentpipe_cc::{Controller, Flow, RecoveryWindow, Start};
use serde_json::json;

use crate::engine::{self, RunError};
use crate::resolve::plan::{CcPlan, Plan, Source};
use random_sender::{Draws, RandomSender};
use recorder::{RecordedController, Tape};

pub use random_sender::EVENTS;

/// Vectors of the controller of a plan's first flow that has one of the registry's: `sequences` drawn ones, and
/// what the flow meets in the run. Each has at most `calls` lines; a drawn one has them all, and in every second
/// of these a report merges many acknowledgements. Those of [`EVENTS`] in `without` are in no drawn sequence. The same
/// plan gives the same text.
///
/// # Errors
/// As [`engine::run`]; and if no flow has a registered controller.
pub fn vectors(plan: &Plan, sequences: u32, calls: usize, without: &[String]) -> Result<String, RunError> {
    let registered = |source: &Source| match source {
        Source::Tcp { cc: CcPlan::Registered { id, args }, .. } => Some((*id, args.clone())),
        _ => None,
    };
    let found = plan.flows.iter().enumerate().find_map(|(i, flow)| Some((i, registered(&flow.source)?)));
    let Some((number, (id, given))) = found else {
        let (flow, why) = ("the scenario".to_owned(), "no flow has a controller of the registry".to_owned());
        return Err(RunError::Controller { flow, why });
    };
    let tape = Tape::default();
    let refused = |error: Error| RunError::Controller { flow: id.to_owned(), why: error.to_string() };
    for number in 1..=sequences {
        let mut draw = Draws::new(plan.seed, &format!("vectors/{number}"));
        let start = draw.start(without);
        set_left(&tape, calls);
        let cc = recorded(id, &given, start, &format!("random {number}"), &tape).map_err(refused)?;
        let mut sender = RandomSender::new(draw, number % 2 == 0, flow_at(start), cc, without);
        while left(&tape) > 0 {
            sender.step();
        }
    }
    let mut plan = plan.clone();
    if let Source::Tcp { cc, .. } = Arc::make_mut(&mut plan.flows[number].source) {
        *cc = CcPlan::Supplied { key: id.to_owned() };
    }
    set_left(&tape, calls);
    let mut supply = |_: &str, _: &str, start: Start| {
        let cc = recorded(id, &given, start, "run", &tape).map_err(|error| error.to_string())?;
        Ok(Box::new(cc) as Box<dyn Controller>)
    };
    match engine::run(&plan, &mut supply, &mut |_| left(&tape) > 0) {
        Ok(_) => {}
        Err(RunError::Interrupted) if left(&tape) == 0 => {}
        Err(error) => return Err(error),
    }
    Ok(text(&tape))
}

/// The algorithm, recorded from a first line on that says how it starts.
fn recorded(
    id: &str,
    given: &[(String, Value)],
    start: Start,
    sequence: &str,
    tape: &Tape,
) -> Result<RecordedController, Error> {
    let cc = registry::build(id, given, start)?;
    let entry = registry::find(id).ok_or_else(|| Error::UnknownAlgorithm { id: id.to_owned() })?;
    let recovery = match cc.needs().recovery {
        RecoveryWindow::Sender => "sender",
        RecoveryWindow::Controller => "controller",
    };
    let beginning = json!({
        "algorithm": entry.id, "parameters": parameters(entry, given), "sequence": sequence,
        "initial_window_segments": start.initial_window, "initial_ssthresh_segments": start.initial_ssthresh,
        "recovery": recovery,
    });
    Ok(RecordedController::new(cc, Arc::clone(tape), beginning, &flow_at(start)))
}

/// The algorithm's own parameters with their values, and those of others that are given.
fn parameters(entry: &Entry, given: &[(String, Value)]) -> serde_json::Value {
    let own = entry.params.iter().map(|param| (param.name.to_owned(), param.default()));
    let all = own.chain(given.iter().cloned()).map(|(name, value)| {
        let value = match value {
            Value::Number(x) => json!(x),
            Value::Flag(x) => json!(x),
            Value::Text(x) => json!(x),
        };
        (name, value)
    });
    serde_json::Value::Object(all.collect())
}

/// The state of a flow that starts so.
fn flow_at(start: Start) -> Flow {
    let mut flow = Flow::default();
    (flow.mss, flow.rwnd, flow.cwnd_limited) = (start.mss, u64::MAX, true);
    flow
}

fn set_left(tape: &Tape, lines: usize) {
    tape.lock().unwrap_or_else(PoisonError::into_inner).left = lines;
}

fn left(tape: &Tape) -> usize {
    tape.lock().unwrap_or_else(PoisonError::into_inner).left
}

fn text(tape: &Tape) -> String {
    std::mem::take(&mut tape.lock().unwrap_or_else(PoisonError::into_inner).text)
}
