"""The advice in sentences, and the assumptions that it rests on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from bentpipe import stats
from bentpipe.advice import linux, ranking
from bentpipe.advice.question import FILE, Question
from bentpipe.units import digits

if TYPE_CHECKING:
    from bentpipe.advice.verdict import Advice

GOAL_WORDS = {
    "throughput": "goodput in all",
    "delay": "queueing delay (95th percentile)",
    "fair": "for the worse-off of two flows",
    "completion": f"for a file of {FILE}",
}
_NAMED = 3
"""Ties and reckless algorithms that are named in the sentences; the table has all."""


def amount(goal: str, values: list[float]) -> str:
    """The quantity of a goal in words: "46.61 ± 0.02 Mbit/s goodput in all"."""
    name, _ = ranking.QUANTITIES[goal]
    scale, unit = (
        (1e6, "Mbit/s") if name.endswith("_bps") else (1e-3, "ms") if goal == "delay" else (1.0, "s")
    )
    head, bracket, rest = stats.shown(stats.interval([v / scale for v in values], least=0.0)).partition(" (")
    return f"{head} {unit} {GOAL_WORDS[goal]}{bracket}{rest}"


def sentences(advice: Advice) -> list[str]:
    """What to do, what is as good, and what to keep away from."""
    goal = advice.question.goal
    name, highest = ranking.QUANTITIES[goal]
    chosen = advice.recommended
    if chosen is None:
        return ["Nothing can be recommended: each algorithm takes what it has from others or from the link."]

    def label(one: str) -> str:
        return advice.trials[one].candidate.label

    def got(one: str) -> str:
        values = advice.trials[one].of(name)
        return amount(goal, values) if values else "no file was finished"

    said = []
    in_linux = advice.recommended_in_linux
    if chosen == "cubic":
        said.append(
            f"Keep CUBIC, the default of Linux: {got(chosen)}, "
            "and nothing that is fit to share a link does better."
        )
    elif linux.module(chosen):
        how = linux.module(chosen)
        how = "built into Linux" if how == "built in" else f"Linux module {how}"
        said.append(f"Use {label(chosen)} ({how}): {got(chosen)}; CUBIC has {got('cubic')}.")
    else:
        said.append(f"{label(chosen)} is best, but Linux does not have it: {got(chosen)}.")
        if in_linux is not None:
            said.append(
                f"Of those that Linux has use {label(in_linux)}: {got(in_linux)}; CUBIC has {got('cubic')}."
            )
    ties = [one for one in advice.groups[0] if one != chosen]
    if ties:
        shown = ", ".join(map(label, ties[:_NAMED])) + (
            f" and {len(ties) - _NAMED} more" if len(ties) > _NAMED else ""
        )
        said.append(f"Tied with it: {shown}.")
    mean = advice.trials[chosen].mean(name)
    faster = [
        one
        for one in ranking.order({n: advice.trials[n] for n in advice.flagged}, goal)
        if not math.isnan(value := advice.trials[one].mean(name))
        and (value >= mean * (1 - ranking.SAME) if highest else value <= mean * (1 + ranking.SAME))
    ]
    if faster:
        worst = faster[:_NAMED]
        rest = f" (and {len(faster) - _NAMED} more)" if len(faster) > _NAMED else ""
        said.append(
            f"Do not use {' or '.join(map(label, worst))}{rest}, as fast as "
            f"{'they are' if len(faster) > 1 else 'it is'}: of {label(worst[0])}, "
            f"{advice.flagged[worst[0]][0].text}."
        )
    return said


def assumptions(question: Question, rtt_s: float) -> list[str]:
    """What the answer rests on."""
    base, model = question.link_of(0)
    said = [*question.notes]
    for one, value in question.spans.items():
        kind = f"{one} {value}"
        said.append(
            f"Given: {kind}." if value.known
            else f"Given as a range: {kind}. Each seed has another point of it, the same for all algorithms."
        )  # fmt: skip
    for name, link in base.links.items():
        said += _unsaid(name, link)
    said.append(
        f"The least round-trip time seen is {digits(1e3 * rtt_s)} ms; queueing delay counts from there."
    )
    flows = f"{question.flows} flows" if question.flows > 1 else "one flow"
    if question.whole:
        said.append("The scenario is played as it stands; its first flow takes each algorithm.")
    else:
        said.append(f"Goodput is that of {flows} with data to send all the time.")
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
