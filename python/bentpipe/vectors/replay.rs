//! Replays test vectors of a congestion controller against another implementation of it. Needs serde_json.
//!
//! `flow`, `given` and answers have the names and units of schema.json.

use serde_json::{Map, Value};

/// Named values of a line.
pub type Fields = Map<String, Value>;

/// Another implementation of the algorithm.
pub trait Implementation {
    /// The call `call`, with what is `given` (null if nothing is), on the flow in this state.
    fn on(&mut self, call: &str, given: &Value, flow: &Fields);
    /// Its decision: some of cwnd, ssthresh, pacing and deadline_ns.
    fn answer(&self) -> Fields;
}

/// A call, what is right after it, and what the other implementation answers.
#[derive(Clone, Debug)]
pub struct Answered {
    /// The sequence to which the line belongs.
    pub sequence: String,
    /// The call.
    pub call: String,
    /// The flow at the call.
    pub flow: Fields,
    /// The right decision after it.
    pub right: Fields,
    /// The implementation's.
    pub answer: Fields,
}

/// Replays `lines`. `make` makes an implementation from what `start` gives, and the flow.
///
/// # Errors
/// A line is no JSON.
pub fn replay<T: Implementation>(
    lines: &str,
    make: impl Fn(&Value, &Fields) -> T,
) -> Result<Vec<Answered>, serde_json::Error> {
    let (mut steps, mut theirs, mut sequence) = (Vec::new(), None, String::new());
    let (mut flow, mut right) = (Fields::new(), Fields::new());
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line)?;
        let (call, given) = (line["call"].as_str().unwrap_or_default(), &line["given"]);
        if call == "start" {
            (flow, right) = (Fields::new(), Fields::new());
        }
        for (all, changed) in [(&mut flow, &line["flow"]), (&mut right, &line["answer"])] {
            all.extend(changed.as_object().cloned().unwrap_or_default());
        }
        if call == "start" {
            sequence = given["sequence"].as_str().unwrap_or_default().to_owned();
            theirs = Some(make(given, &flow));
        } else if let Some(theirs) = &mut theirs {
            theirs.on(call, given, &flow);
        }
        let answer = theirs.as_ref().map(Implementation::answer).unwrap_or_default();
        let (sequence, call) = (sequence.clone(), call.to_owned());
        steps.push(Answered { sequence, call, flow: flow.clone(), right: right.clone(), answer });
    }
    Ok(steps)
}
