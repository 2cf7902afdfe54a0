//! What the host of a sender may learn of its path: the instants at which a link that the flow crosses, there or back, changes hands.

use std::collections::BTreeMap;
use std::sync::Arc;

use bentpipe_cc::{Hint, PathChange, Span, Time};

use crate::resolve::path::PathPlan;
use crate::resolve::plan::{DirectionId, DirectionPlan, LinkPlan, TimedHint};
use crate::resolve::work::{Work, name_of};
use crate::scenario::Flow;
use crate::scenario::error::{Error, Key};

/// The hints about the path of a flow.
pub(crate) fn hints(
    work: &mut Work<'_>,
    flow: &Flow,
    key: &Key,
    path: &PathPlan,
    links: &[LinkPlan],
) -> Result<Arc<[TimedHint]>, Error> {
    if flow.hint_delay.is_some() && flow.hint_lead.is_some() {
        let message =
            "a host learns of a handover ahead or late, not both; leave hint_delay or hint_lead out";
        return Err(work.error(&key.with("hint_lead"), message));
    }
    let hints = hints_on(flow, path.there.iter().chain(&path.back), links);
    if hints.is_empty() && flow.path_hints == Some(true) {
        let name = name_of(flow);
        work.warnings
            .push(format!("flow {name}: path_hints has no effect, since no link on its path changes hands"));
    }
    Ok(hints)
}

/// The hints about these directions: the path of a flow, or of one half of it.
pub(crate) fn hints_on<'a>(
    flow: &Flow,
    directions: impl Iterator<Item = &'a DirectionId>,
    links: &[LinkPlan],
) -> Arc<[TimedHint]> {
    // The instants of handovers, and when all directions that change then carry packets again.
    let mut changes: BTreeMap<Time, Time> = BTreeMap::new();
    for direction in directions {
        let direction = direction.of(links);
        for &at in direction.handovers() {
            let passes = changes.entry(at).or_insert(at);
            *passes = carries_again(direction, at).max(*passes);
        }
    }
    let hint = |(at, passes): (Time, Time)| {
        let told = match flow.hint_lead {
            Some(lead) => Time(at.0.saturating_sub(lead.0.0)),
            None => at + flow.hint_delay.map_or(Span::ZERO, |delay| delay.0),
        };
        let change = PathChange { ahead: at.since(told), dark: passes.since(at.max(told)) };
        TimedHint { at: told, hint: Hint::PathChange(change) }
    };
    changes.into_iter().map(hint).collect()
}

/// When a direction that changes hands at `at` carries packets again.
fn carries_again(direction: &DirectionPlan, at: Time) -> Time {
    let steps = direction.line.as_ref().map_or(&[][..], |line| line.steps());
    let now = steps.partition_point(|step| step.at <= at).saturating_sub(1);
    match steps[now.min(steps.len())..].iter().find(|step| step.rate_bps > 0) {
        Some(step) => step.at.max(at),
        None => Time::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    /// The hints of a flow with these keys over links `a` and `b`, in milliseconds: told at, ahead, dark; and the warnings.
    fn told(keys: &str, forward: &str, reverse: &str) -> Result<(Vec<[u64; 3]>, Vec<String>), String> {
        let text = format!(
            "duration = \"60 s\"\n[link.a]\nrate = \"1 Mbit/s\"\ndelay = \"10 ms\"\n{forward}\n[link.a.reverse]\n{reverse}\n\
             [link.b]\nrate = \"1 Mbit/s\"\ndelay = \"10 ms\"\n[[flow]]\ncc = \"reno\"\npath = [\"b\", \"a\"]\n{keys}\n"
        );
        let scenario = Scenario::from_toml(&text, "x.toml", &[]).map_err(|e| e.to_string())?;
        let plan = scenario.resolve().map_err(|e| e.to_string())?;
        let ms = |told: &TimedHint| {
            let Hint::PathChange(change) = told.hint;
            [told.at.0, change.ahead.0, change.dark.0].map(|ns| ns / 1_000_000)
        };
        Ok((plan.flows[0].hints.iter().map(ms).collect(), plan.warnings))
    }

    const EVERY: &str = "handover = { every = \"25 s\", outage = \"400 ms\" }";

    #[test]
    fn a_host_learns_of_each_handover_how_long_the_path_is_dark() {
        // The way back follows the way there; one handover of a link is one hint.
        let found = told("", EVERY, "").unwrap().0;
        assert_eq!(found, [[25_000, 0, 400], [50_000, 0, 400]]);
        let late = told("hint_delay = \"300 ms\"", EVERY, "").unwrap().0;
        assert_eq!(late, [[25_300, 0, 100], [50_300, 0, 100]]);
        let later = told("hint_delay = \"2 s\"", EVERY, "").unwrap().0;
        assert_eq!(later, [[27_000, 0, 0], [52_000, 0, 0]]);
        let ahead = told("hint_lead = \"30 s\"", EVERY, "").unwrap().0;
        assert_eq!(ahead, [[0, 25_000, 400], [20_000, 30_000, 400]]);
    }

    #[test]
    fn handovers_of_the_way_back_count_too() {
        let found = told("", "", "handover = { at = [\"7 s\"] }").unwrap().0;
        assert_eq!(found, [[7_000, 0, 0]]);
        let reverse = "handover = { at = [\"25 s\", \"40 s\"], outage = \"1 s\" }";
        let both = told("", EVERY, reverse).unwrap().0;
        assert_eq!(both, [[25_000, 0, 1_000], [40_000, 0, 1_000], [50_000, 0, 400]]);
    }

    #[test]
    fn what_cannot_be_told_is_said() {
        let both = told("hint_delay = \"1 s\"\nhint_lead = \"1 s\"", EVERY, "").unwrap_err();
        assert!(
            both.starts_with("x.toml") && both.contains("hint_lead") && both.contains("not both"),
            "{both}"
        );
        let (hints, warnings) = told("path_hints = true", "", "").unwrap();
        let about = warnings.iter().filter(|said| said.contains("no link on its path changes hands"));
        assert_eq!((hints.len(), about.count()), (0, 1), "{warnings:?}");
    }
}
