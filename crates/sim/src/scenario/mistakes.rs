//! All mistakes of a scenario in one answer.
//!
//! A mistake hides others: a text that violates the schema is no scenario whose names could be looked up.
//! Each mistake is therefore mended in a copy as well as possible, and the copy is checked again. A mistake
//! that may follow from an earlier one, or from how the earlier one was mended, is not reported.

use std::path::Path;

use serde_json::{Value, json};

use crate::keys::error::{Error, Key, MOST_SHOWN, Origin};
use crate::resolve;
use crate::resolve::plan::Plan;
use crate::scenario::mender::Mender;
use crate::scenario::schema::{self, Mistake};
use crate::scenario::{Scenario, build};

/// The most times that a copy is checked.
const MOST_LOOKS: usize = 64;

/// Links and flows that are checked in all, which takes some seconds. For a scenario with very many, only the
/// first mistakes of its plan are reported.
const MOST_TABLES: usize = 100_000;

/// Everything that is wrong with a scenario.
struct Mistakes<'a> {
    origin: &'a Origin,
    found: Vec<Error>,
    /// Keys for which enough was reported.
    settled: Vec<Key>,
}

impl Scenario {
    /// The plan: names resolved, defaults filled in, everything checked.
    ///
    /// # Errors
    /// Values that do not fit together, all of them, each with the line of the key at fault.
    pub fn resolve(&self) -> Result<Plan, Error> {
        resolve::make(self).map_err(|first| of_scenario(self, first))
    }
}

/// All mistakes of a tree: those of its text, which are `known`, those against the schema, and those that its
/// plan shows. `None` if it has none of the first two kinds. `directory`: where the files are that it names.
pub(crate) fn of_tree(
    tree: &Value,
    origin: &mut Origin,
    known: Vec<Error>,
    directory: Option<&Path>,
) -> Option<Error> {
    let mut wrong = schema::check(tree);
    if known.is_empty() && wrong.is_empty() {
        return None;
    }
    let mut tree = tree.clone();
    let single = single_flow(&mut tree, origin);
    if single.is_some() {
        wrong = schema::check(&tree);
    }
    let origin = &*origin;
    let mut mistakes = Mistakes { origin, found: Vec::new(), settled: Vec::new() };
    let mut mender = Mender::new(tree);
    for error in known {
        mender.mend(&error.at);
        mistakes.tell(error);
    }
    mistakes.found.extend(single.map(|mistake| origin.error(&mistake.key, mistake.message)));
    let mut settled = Vec::new();
    let shown_up = wrong.len() >= MOST_SHOWN;
    for Mistake { key, message, meant } in wrong {
        let error = origin.error(&key, message);
        if !mistakes.follows(&error) {
            mistakes.found.push(error);
        }
        // After this many mistakes, no more are looked for.
        if !shown_up {
            mender.mend(&key);
            settled.push(key);
            settled.extend(meant);
        }
    }
    mistakes.settled.extend(settled);
    mistakes.of_plan(mender, directory);
    Error::all(mistakes.found)
}

/// All mistakes of a scenario that cannot be resolved because of `first`.
fn of_scenario(scenario: &Scenario, first: Error) -> Error {
    let Ok(tree) = serde_json::to_value(scenario) else { return first };
    let mut mistakes = Mistakes { origin: &scenario.origin, found: Vec::new(), settled: Vec::new() };
    let mut mender = Mender::new(tree);
    let goes_on = mender.mend(&first.at);
    mistakes.tell(first.clone());
    if goes_on {
        mistakes.of_plan(mender, None);
    }
    Error::all(mistakes.found).unwrap_or(first)
}

/// `[flow]` instead of `[[flow]]`: it is reported, and then taken for the only flow.
fn single_flow(tree: &mut Value, origin: &mut Origin) -> Option<Mistake> {
    let table = tree.get_mut("flow").filter(|flow| flow.is_object())?;
    let only = table.take();
    *table = json!([only]);
    let wrong = schema::check(&json!({ "flow": {} })).into_iter().find(|m| m.key == Key::of(["flow"]));
    let lines = std::mem::take(&mut origin.lines);
    let moved = lines.into_iter().map(|(key, line)| match key.parts() {
        [flow, rest @ ..] if flow == "flow" && !rest.is_empty() => {
            (rest.iter().fold(Key::of(["flow", "0"]), |key, part| key.with(part)), line)
        }
        _ => (key, line),
    });
    origin.lines = moved.collect();
    wrong
}

impl Mistakes<'_> {
    /// Checks the mended copy until nothing more is wrong with it.
    fn of_plan(&mut self, mut mender: Mender, directory: Option<&Path>) {
        let tables = ["link", "flow"].map(|name| match mender.tree().get(name) {
            Some(Value::Array(items)) => items.len(),
            Some(Value::Object(map)) => map.len(),
            _ => 0,
        });
        let looks = (MOST_TABLES / tables.iter().sum::<usize>().max(1)).clamp(2, MOST_LOOKS);
        for _ in 0..looks {
            if self.found.len() >= MOST_SHOWN {
                break;
            }
            let scenario = build::build(mender.tree().clone(), self.origin, directory);
            let resolved = scenario.and_then(|scenario| resolve::make(&scenario).map(drop));
            let Err(error) = resolved else { break };
            let at = error.at.clone();
            self.tell(error);
            if !mender.mend(&at) {
                break;
            }
        }
    }

    fn tell(&mut self, error: Error) {
        let at = error.at.clone();
        if !self.follows(&error) {
            self.found.push(error);
        }
        if at != Key::default() {
            self.settled.push(at);
        }
    }

    /// Does this follow from a mistake that was already reported?
    fn follows(&self, error: &Error) -> bool {
        let at = &error.at;
        let around = |key: &Key| at.parts().len() > 1 && key.is_in(at);
        self.settled.iter().any(|key| at.is_in(key) || around(key) || speaks_of(error, key))
    }
}

/// Does the message mention a key next to its own, or next to a table around it?
fn speaks_of(error: &Error, key: &Key) -> bool {
    let parts = key.parts();
    // For an item, this is the list.
    let end = parts.iter().rposition(|part| part.parse::<usize>().is_err()).unwrap_or(0);
    let (Some(name), true) = (parts.get(end), error.at.parts().starts_with(&parts[..end.min(parts.len())]))
    else {
        return false;
    };
    error.message.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == name)
}
