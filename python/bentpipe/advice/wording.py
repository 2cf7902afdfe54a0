"""The advice in sentences, and the assumptions that it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe import stats
from bentpipe.advice import linux, ranking
from bentpipe.advice.question import FILE, Question
from bentpipe.units import digits

if TYPE_CHECKING:
    from bentpipe.advice.schedule import Schedule
    from bentpipe.advice.verdict import Advice

GOAL_WORDS = {
    "throughput": "goodput",
    "delay": "queueing delay (95th percentile)",
    "fair": "for the worse-off of two flows",
    "completion": f"for a file of {FILE}",
}
_FEW_TRIPS = 40
"""Round trips below which slow start, which takes ten to fifteen of them, is a large part of a run."""
_FEW_SEEDS = 3
"""With fewer, an interval says next to nothing."""
_NAMED = 3
"""Ties and reckless algorithms that are named in the sentences; the table has all."""


def amount(goal: str, values: list[float], *, of_what: bool = True) -> str:
    """The quantity of a goal in words: "46.61 ± 0.02 Mbit/s goodput", or without the last word."""
    name, _ = ranking.QUANTITIES[goal]
    scale, unit = (
        (1e6, "Mbit/s") if name.endswith("_bps") else (1e-3, "ms") if goal == "delay" else (1.0, "s")
    )
    head, bracket, rest = stats.shown(stats.interval([v / scale for v in values], least=0.0)).partition(" (")
    what = f" {GOAL_WORDS[goal]}" if of_what else ""
    return f"{head} {unit}{what}{bracket}{rest}"


def sentences(advice: Advice) -> list[str]:
    """What to do, what is as good, what to keep away from, and how sure it is."""
    chosen, known = advice.recommended, advice.recommended_in_linux
    if chosen is None:
        return ["Nothing can be recommended: each algorithm takes what it has from others or from the link."]
    said = []
    if known is None:
        said.append(f"{_label(advice, chosen)} is best, but Linux does not have it: {_got(advice, chosen)}.")
    else:
        said.append(_use(advice, known))
    if known is not None and known != chosen:
        said.append(
            f"{_label(advice, chosen)} is better, but Linux does not have it: {_got(advice, chosen)}."
        )
    leader = chosen if known is None else known
    ties = [one for one in advice.group_of(leader) if one not in (leader, chosen)]
    if ties:
        said.append(f"Tied with it: {_some([_label(advice, one) for one in ties], 'and')}.")
    return [*said, *_reckless(advice, chosen), *_doubt(advice)]


def _use(advice: Advice, one: str) -> str:
    """The sentence that says what to do on Linux."""
    if one == "cubic":
        fit = "fit to share a link " if advice.question.shared else ""
        rest = (
            f"and nothing {fit}is clearly better" if one == advice.recommended else "the best that Linux has"
        )
        return f"Keep CUBIC, the default of Linux: {_got(advice, one)}, {rest}."
    module = linux.module(one)
    how = "built into Linux" if module == "built in" else f"Linux module {module}"
    usual = _got(advice, "cubic", of_what=False)
    rest = ""
    if "cubic" in advice.flagged:
        rest = ", and is reckless"
    elif "cubic" in advice.group_of(one):
        rest = ", which these runs cannot tell apart"
    return f"Use {_label(advice, one)} ({how}): {_got(advice, one)}; CUBIC has {usual}{rest}."


def _reckless(advice: Advice, chosen: str) -> list[str]:
    """What is as good as the best, and must not be used."""
    goal = advice.question.goal
    faster = [
        one
        for one in ranking.order({n: advice.trials[n] for n in advice.flagged}, goal)
        if ranking.as_good(advice.trials[one], advice.trials[chosen], goal)
    ]
    if not faster:
        return []
    names = [_label(advice, one) for one in faster]
    why = advice.flagged[faster[0]][0].text
    if len(faster) == 1:
        return [f"Do not use {names[0]}, good as it looks: {why}."]
    return [f"Do not use {_some(names, 'or')}, good as they look. {names[0]}: {why}."]


def _doubt(advice: Advice) -> list[str]:
    """What makes the answer provisional."""
    why = []
    plan = advice.schedule
    trips = round(plan.screen.run_s / advice.rtt_s)
    last = plan.final or plan.screen
    if advice.screened < advice.asked:
        why.append(f"the time was enough for {advice.screened} of {advice.asked} algorithms")
    if trips < _FEW_TRIPS:
        why.append(f"{advice.screened} algorithms were screened by runs of {trips} round trips")
    if last.seeds < _FEW_SEEDS:
        why.append(f"the last stage had {_seeds(last.seeds)}")
    if advice.interrupted:
        why.append("it was interrupted")
    return [f"This is provisional: {', and '.join(why)}. --thorough tells more."] if why else []


def _got(advice: Advice, one: str, *, of_what: bool = True) -> str:
    goal = advice.question.goal
    values = advice.trials[one].of(ranking.QUANTITIES[goal][0])
    return amount(goal, values, of_what=of_what) if values else "no file was finished"


def _label(advice: Advice, one: str) -> str:
    return advice.trials[one].candidate.label


def _some(names: list[str], word: str) -> str:
    """A few of the names: "A, B and C", "A, B, C and 5 more"."""
    if len(names) > _NAMED + 1:
        return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"
    return f"{', '.join(names[:-1])} {word} {names[-1]}" if len(names) > 1 else names[0]


def _seeds(count: int) -> str:
    return "one seed" if count == 1 else f"{count} seeds"


def assumptions(question: Question, made: Schedule, rtt_s: float) -> list[str]:
    """What the answer rests on."""
    base, model = question.link_of(0)
    said = [*question.notes]
    known = [f"{name} {value}" for name, value in question.spans.items() if value.known]
    ranges = [f"{name} {value}" for name, value in question.spans.items() if not value.known]
    said += [f"Taken: {', '.join(known)}."] if known else []
    if ranges:
        said.append(
            f"Taken as a range: {'; '.join(ranges)}. Each seed has another point, the same for all "
            "algorithms, so intervals of means are wide where comparisons seed by seed are not."
        )
    for name, link in base.links.items():
        said += _unsaid(name, link)
    said.append(
        f"The least round-trip time seen is {digits(1e3 * rtt_s)} ms; queueing delay counts from that of "
        "each seed."
    )
    flows = f"{question.flows} flows" if question.flows > 1 else "one flow"
    if question.whole:
        said.append("The scenario is played as it stands; its first flow takes each algorithm.")
    else:
        said.append(f"Goodput is that of {flows} with data to send all the time.")
    stage = made.final or made.screen
    trips = round(stage.run_s / rtt_s)
    said.append(
        f"A run lasts {stage.run_s:g} s of simulated time, {trips:,} round trips, start-up included"
        + (", which weighs much in so few." if trips < _FEW_TRIPS else ".")
    )
    for cc, count in question.competing:
        said.append(f"Beside them are {count} flows of {cc} all the time.")
    said.append(
        "Other flows use the link as well, so harm to a CUBIC flow counts."
        if question.shared
        else "No flows of others use the link, so harm to CUBIC and Reno is told and does not count."
    )
    if model.profile not in (None, "modern"):
        said.append(f"Senders have the profile {model.profile!r}.")
    said.append(
        "Algorithms are simulated by the rules of their papers and RFCs; "
        "a kernel's version of one can differ."
    )
    return said


def _unsaid(name: str, link: Any) -> list[str]:
    said = []
    if link.queue is None:
        said.append(f"Nobody gave the buffer of {name}: one bandwidth-delay product, drop-tail.")
    if not link.loss and link.timeline is None:
        said.append(f"Link {name} loses nothing by itself: no error rate was given.")
    return said
