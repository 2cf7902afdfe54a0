//! What the host of a sender may learn of its path: the instants at which a link that the flow crosses, there
//! or back, changes hands.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bentpipe_cc::registry;
use bentpipe_cc::{Hint, LinkQuality, PathChange, Rate, RateChange, Span, Time};

use crate::constellation::NetworkPlan;
use crate::keys::error::{Error, Key};
use crate::resolve::path::{PathPlan, bit_error_rate};
use crate::resolve::plan::{DirectionId, DirectionPlan, LinkPlan, TimedHint};
use crate::resolve::work::{Work, name_of};
use crate::scenario::{Cc, Flow};

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
    let hints = hints_on(flow, &path.there, &path.back, path.wire, links);
    let none = |of: fn(&Hint) -> bool| !hints.iter().any(|timed| of(&timed.hint));
    for (wanted, none, why) in [
        (
            flow.path_hints,
            none(|hint| matches!(hint, Hint::PathChange(_))),
            "path_hints has no effect, since no link on its path changes hands",
        ),
        (
            flow.rate_hints,
            none(|hint| matches!(hint, Hint::RateChange(_))),
            "rate_hints has no effect, since the rate of its path does not change",
        ),
        (
            flow.quality_hints,
            none(|hint| matches!(hint, Hint::LinkQuality(_))),
            "quality_hints has no effect, since the errors of its path do not change",
        ),
    ] {
        if wanted == Some(true) && none {
            work.warnings.push(format!("flow {}: {why}", name_of(flow)));
        }
    }
    Ok(hints)
}

/// The hints about the path of a flow between two stations of a network. `changes`: when the path of each pair changes.
pub(crate) fn path_hints(
    flow: &Flow,
    network: &NetworkPlan,
    changes: &BTreeMap<[u32; 2], Vec<Time>>,
    [from, to]: [u32; 2],
) -> Arc<[TimedHint]> {
    let instants: BTreeSet<Time> =
        [[from, to], [to, from]].iter().filter_map(|pair| changes.get(pair)).flatten().copied().collect();
    let hint = |at: Time| path_change(flow, at, network.heard_again([from, to], at));
    instants.into_iter().map(hint).collect()
}

/// When the host of a sender learns of a change at `at`.
fn learned(flow: &Flow, at: Time) -> Time {
    match flow.hint_lead {
        Some(lead) => Time(at.0.saturating_sub(lead.0.0)),
        None => at + flow.hint_delay.map_or(Span::ZERO, |delay| delay.0),
    }
}

/// The hint of a path that changes hands at `at` and carries packets again at `passes`.
fn path_change(flow: &Flow, at: Time, passes: Time) -> TimedHint {
    let known = learned(flow, at);
    let change = PathChange { ahead: at.since(known), dark: passes.since(at.max(known)) };
    TimedHint { at: known, hint: Hint::PathChange(change) }
}

/// The hints about the data path of a flow, or of one half of it, whose packets have `wire` bytes, and about the
/// way back.
pub(crate) fn hints_on(
    flow: &Flow,
    there: &[DirectionId],
    back: &[DirectionId],
    wire: u32,
    links: &[LinkPlan],
) -> Arc<[TimedHint]> {
    // The instants of handovers, and the instants at which all directions that change carry packets again.
    let mut changes: BTreeMap<Time, Time> = BTreeMap::new();
    for direction in there.iter().chain(back) {
        let direction = direction.of(links);
        for (at, carries) in carries_again(direction) {
            let passes = changes.entry(at).or_insert(at);
            *passes = carries.max(*passes);
        }
    }
    let learned = |at: Time| learned(flow, at);
    let hint = |(at, passes): (Time, Time)| path_change(flow, at, passes);
    let rate_hint = |(at, from, to): (Time, u64, u64)| {
        let known = learned(at);
        let change = RateChange { ahead: at.since(known), from: Rate(from / 8), to: Rate(to / 8) };
        TimedHint { at: known, hint: Hint::RateChange(change) }
    };
    let rates = if flow.rate_hints == Some(true) { rate_changes(there, links) } else { Vec::new() };
    let quality_hint = |(at, bit_error_rate): (Time, f64)| {
        let known = learned(at);
        let quality = LinkQuality { ahead: at.since(known), bit_error_rate };
        TimedHint { at: known, hint: Hint::LinkQuality(quality) }
    };
    let mut all: Vec<_> = changes.into_iter().map(hint).chain(rates.into_iter().map(rate_hint)).collect();
    if flow.quality_hints.unwrap_or_else(|| may_use_quality(flow)) {
        all.extend(error_changes(there, wire, links).into_iter().map(quality_hint));
    }
    all.sort_by_key(|hint| hint.at);
    all.into()
}

/// When the rate of the slowest of these directions changes, and the old and new rate in bits per second.
/// While one of them is dark nothing is reported; the rate after that is compared with the rate before it.
fn rate_changes(directions: &[DirectionId], links: &[LinkPlan]) -> Vec<(Time, u64, u64)> {
    let rate = |at: Time| directions.iter().map(|direction| direction.of(links).at(at).0).min();
    let lines = directions.iter().filter_map(|direction| direction.of(links).line.as_ref());
    let instants: BTreeSet<Time> = lines.flat_map(|line| line.steps().iter().map(|step| step.at)).collect();
    let mut before = 0;
    let mut changes = Vec::new();
    for at in instants {
        let now = rate(at).unwrap_or(0);
        if before > 0 && now > 0 && now != before {
            changes.push((at, before, now));
        }
        before = if now > 0 { now } else { before };
    }
    changes
}

/// May the controller use hints about errors? Of one that the registry does not know, the run will tell. A time
/// line may have very many steps, and a scenario very many flows.
fn may_use_quality(flow: &Flow) -> bool {
    let uses = |name: &str| registry::find(name).is_none_or(|entry| entry.needs().link_quality);
    flow.cc.as_ref().is_some_and(|cc| uses(&cc.name))
}

/// May the controller use hints about a path that changes? Of one that the registry does not know, the run will
/// tell.
pub(crate) fn may_use_paths(flow: &Flow) -> bool {
    let uses = |name: &str| registry::find(name).is_none_or(|entry| entry.needs().path_change);
    let anew = |cc: &Cc| cc.args.contains_key("path_change");
    flow.path_hints.unwrap_or_else(|| flow.cc.as_ref().is_some_and(|cc| uses(&cc.name) || anew(cc)))
}

/// When the bit error rate of these directions changes, and to which rate.
fn error_changes(directions: &[DirectionId], wire: u32, links: &[LinkPlan]) -> Vec<(Time, f64)> {
    let lines = directions.iter().filter_map(|direction| direction.of(links).line.as_ref());
    let steps = lines.filter(|line| line.sets_loss).flat_map(|line| line.steps());
    let instants: BTreeSet<Time> = steps.map(|step| step.at).collect();
    let mut before = bit_error_rate(directions, wire, links, Time(0));
    let mut changes = Vec::new();
    for at in instants {
        let now = bit_error_rate(directions, wire, links, at);
        if now != before {
            changes.push((at, now));
        }
        before = now;
    }
    changes
}

/// The handovers of a direction, and when it carries packets again after each.
fn carries_again(direction: &DirectionPlan) -> impl Iterator<Item = (Time, Time)> {
    let steps = direction.line.as_ref().map_or(&[][..], |line| line.steps());
    // The first step from the present one on in which something is sent. It only moves forward.
    let mut up = 0;
    direction.handovers().iter().map(move |&at| {
        while steps
            .get(up)
            .is_some_and(|step| step.rate_bps == 0 || steps.get(up + 1).is_some_and(|next| next.at <= at))
        {
            up += 1;
        }
        (at, steps.get(up).map_or(Time::MAX, |step| step.at.max(at)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    /// The hints of a flow with these keys over links `a` and `b`, and the warnings. A hint is three numbers
    /// in milliseconds: its instant, ahead, dark. Or it is its instant, and the rates before and after in
    /// bytes per second.
    fn hints_of(keys: &str, forward: &str, reverse: &str) -> Result<(Vec<[u64; 3]>, Vec<String>), String> {
        let rate = if forward.contains("rate = ") { "" } else { "rate = \"1 Mbit/s\"" };
        let text = format!(
            "duration = \"60 s\"\n[link.a]\n{rate}\ndelay = \"10 ms\"\n{forward}\n[link.a.reverse]\n{reverse}\n\
             [link.b]\nrate = \"1 Mbit/s\"\ndelay = \"10 ms\"\n[[flow]]\ncc = \"reno\"\npath = [\"b\", \"a\"]\n{keys}\n"
        );
        let scenario = Scenario::from_toml(&text, "x.toml", &[]).map_err(|e| e.to_string())?;
        let plan = scenario.resolve().map_err(|e| e.to_string())?;
        let ms = |timed: &TimedHint| match timed.hint {
            Hint::PathChange(change) => [timed.at.0, change.ahead.0, change.dark.0].map(|ns| ns / 1_000_000),
            Hint::RateChange(change) => [timed.at.0 / 1_000_000, change.from.0, change.to.0],
            Hint::LinkQuality(_) => unreachable!("only a file sets errors"),
        };
        Ok((plan.flows[0].hints.iter().map(ms).collect(), plan.warnings))
    }

    const EVERY: &str = "handover = { every = \"25 s\", outage = \"400 ms\" }";

    #[test]
    fn a_host_learns_of_each_handover_how_long_the_path_is_dark() {
        // The way back is the reverse of the way there; one handover of a link is one hint.
        let found = hints_of("", EVERY, "").unwrap().0;
        assert_eq!(found, [[25_000, 0, 400], [50_000, 0, 400]]);
        let late = hints_of("hint_delay = \"300 ms\"", EVERY, "").unwrap().0;
        assert_eq!(late, [[25_300, 0, 100], [50_300, 0, 100]]);
        let later = hints_of("hint_delay = \"2 s\"", EVERY, "").unwrap().0;
        assert_eq!(later, [[27_000, 0, 0], [52_000, 0, 0]]);
        let ahead = hints_of("hint_lead = \"30 s\"", EVERY, "").unwrap().0;
        assert_eq!(ahead, [[0, 25_000, 400], [20_000, 30_000, 400]]);
    }

    #[test]
    fn handovers_of_the_way_back_count_too() {
        let found = hints_of("", "", "handover = { at = [\"7 s\"] }").unwrap().0;
        assert_eq!(found, [[7_000, 0, 0]]);
        let reverse = "handover = { at = [\"25 s\", \"40 s\"], outage = \"1 s\" }";
        let both = hints_of("", EVERY, reverse).unwrap().0;
        assert_eq!(both, [[25_000, 0, 1_000], [40_000, 0, 1_000], [50_000, 0, 400]]);
    }

    /// Link b carries 1 Mbit/s, 125,000 bytes a second, all the time. While a is dark nothing is reported of
    /// its rate.
    #[test]
    fn a_host_learns_of_the_rate_of_the_slowest_link_if_the_scenario_says_so() {
        let line = "rate = [[\"0 s\", \"2 Mbit/s\"], [\"10 s\", \"800 kbit/s\"], [\"20 s\", \"400 kbit/s\"], \
                    [\"30 s\", \"3 Mbit/s\"], [\"40 s\", \"5 Mbit/s\"]]\n\
                    up = [[\"0 s\", true], [\"15 s\", false], [\"16 s\", true]]";
        let handover = [15_000, 0, 1_000];
        assert_eq!(hints_of("", line, "").unwrap().0, [handover]);
        let (found, warnings) = hints_of("rate_hints = true", line, "").unwrap();
        let [fall, further, rise] =
            [[10_000, 125_000, 100_000], [20_000, 100_000, 50_000], [30_000, 50_000, 125_000]];
        assert_eq!(found, [fall, handover, further, rise]);
        assert!(!warnings.iter().any(|said| said.contains("rate_hints")), "{warnings:?}");
        let ahead = hints_of("rate_hints = true\nhint_lead = \"2 s\"", line, "").unwrap().0;
        assert_eq!(ahead.iter().map(|hint| hint[0]).collect::<Vec<_>>(), [8_000, 13_000, 18_000, 28_000]);
        let (none, warnings) = hints_of("rate_hints = true", EVERY, "").unwrap();
        let said = warnings.iter().any(|said| said.contains("rate_hints has no effect"));
        assert!(none.len() == 2 && said, "{warnings:?}");
    }

    #[test]
    fn what_cannot_be_told_is_said() {
        let both = hints_of("hint_delay = \"1 s\"\nhint_lead = \"1 s\"", EVERY, "").unwrap_err();
        assert!(
            both.starts_with("x.toml") && both.contains("hint_lead") && both.contains("not both"),
            "{both}"
        );
        let (hints, warnings) = hints_of("path_hints = true", "", "").unwrap();
        let about = warnings.iter().filter(|said| said.contains("no link on its path changes hands"));
        assert_eq!((hints.len(), about.count()), (0, 1), "{warnings:?}");
        let (_, warnings) = hints_of("quality_hints = true", "", "").unwrap();
        assert!(
            warnings.iter().any(|said| said.contains("the errors of its path do not change")),
            "{warnings:?}"
        );
    }
}
