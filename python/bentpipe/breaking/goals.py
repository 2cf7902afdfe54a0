"""The goals of a search: what is bad, against what, and from where on it is a failure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from bentpipe import _core, measures
from bentpipe.breaking.conditions import CROSS, FIRST, SECOND
from bentpipe.breaking.observation import Row, capacity, cross, floor
from bentpipe.registry import unknown

YARDSTICK, FALLBACK = "reno", "cubic"
"""The usual yardstick (RFC 5681), and the yardstick of that algorithm itself."""
LITTLE = 0.01
"""This share of the link's mean rate is added to both rates of a ratio, so that a search does not prefer
links over which nobody gets anything."""


USABLE = 0.05
"""A link on which the yardstick gets less than this share of the rate proves nothing."""
STALLED = 3
"""A stall must be this many times as long as the yardstick's."""


@dataclass(frozen=True)
class RunAnswer:
    """The answer of a run, or of two.

    Attributes:
        value: the number of the goal.
        subject: the quantity of the algorithm behind it.
        yardstick: the same of the yardstick.
        score: how bad it is; a search makes this as great as it can.
    """

    value: float
    subject: float
    yardstick: float
    score: float


Measure = Callable[[Mapping[str, Any], Mapping[str, Row]], RunAnswer]
"""The answer from the scenario and from the rows of its runs: "subject", and "yardstick" if there is one."""


@dataclass(frozen=True)
class SearchGoal:
    """A goal.

    Attributes:
        name: its name.
        title: what is looked for, in a line.
        value: what its number is.
        limit: the number from which on it is a failure.
        worse: which numbers are the worse ones.
        measure: its number.
        second: the second flow: none, one of the same algorithm, or one of the yardstick.
        against: what the yardstick is: another algorithm on the same link, beside the second flow if there is
            one, or the same algorithm without the unresponsive traffic.
    """

    name: str
    title: str
    value: str
    limit: float
    worse: Literal["less", "more"]
    measure: Measure
    second: Literal["none", "same", "yardstick"] = "none"
    against: Literal["algorithm", "alone"] = "algorithm"

    @property
    def pulses(self) -> bool:
        """Whether there is always unresponsive traffic."""
        return self.against == "alone"

    def fails(self, value: float) -> bool:
        """Whether this number is a failure."""
        return value < self.limit if self.worse == "less" else value > self.limit

    def usable(self, scenario: Mapping[str, Any], rows: Mapping[str, Row]) -> bool:
        """Whether the link carries the yardstick, so that a number proves something."""
        whole = sum(flow["goodput_bps"] for flow in rows["yardstick"].values())
        return bool(whole >= USABLE * capacity(scenario))

    def scenarios(self, scenario: Mapping[str, Any], yardstick: Any) -> dict[str, dict[str, Any]]:
        """The scenarios of both runs of one link, from the scenario of the algorithm."""
        if self.against == "alone":
            flows = [flow for flow in scenario["flow"] if flow["name"] != CROSS]
        else:
            flows = [{**flow, "cc": yardstick} if "cc" in flow else flow for flow in scenario["flow"]]
        return {"subject": dict(scenario), "yardstick": {**scenario, "flow": flows}}


def _ratio(scenario: Mapping[str, Any], ours: float, theirs: float) -> RunAnswer:
    little = LITTLE * capacity(scenario)
    value = ours / theirs if theirs > 0 else math.inf
    return RunAnswer(value, ours, theirs, -math.log((ours + little) / (theirs + little)))


def _slow(scenario: Mapping[str, Any], rows: Mapping[str, Row]) -> RunAnswer:
    return _ratio(scenario, *(rows[role][FIRST]["goodput_bps"] for role in ("subject", "yardstick")))


def _attack(scenario: Mapping[str, Any], rows: Mapping[str, Row]) -> RunAnswer:
    ours, alone = (rows[role][FIRST]["goodput_bps"] for role in ("subject", "yardstick"))
    left = alone - cross(scenario)
    if left < alone / 2:  # no low-rate attack
        return RunAnswer(1.0, ours, left, -math.inf)
    return _ratio(scenario, ours, left)


def _harm(scenario: Mapping[str, Any], rows: Mapping[str, Row]) -> RunAnswer:
    return _ratio(scenario, *(rows[role][SECOND]["late_bps"] for role in ("subject", "yardstick")))


def _starve(scenario: Mapping[str, Any], rows: Mapping[str, Row]) -> RunAnswer:
    little, shares = LITTLE * capacity(scenario), []
    for role in ("subject", "yardstick"):
        both = [rows[role][name]["late_bps"] + little for name in (FIRST, SECOND)]
        shares.append(min(both) / sum(both))
    ours, theirs = shares
    return RunAnswer(ours / theirs, ours, theirs, math.log(theirs / ours))


def _stall(_: Mapping[str, Any], rows: Mapping[str, Row]) -> RunAnswer:
    ours, theirs = (rows[role][FIRST]["gap_s"] for role in ("subject", "yardstick"))
    value = ours - STALLED * theirs
    return RunAnswer(value, ours, theirs, value)


def _queue(scenario: Mapping[str, Any], rows: Mapping[str, Row]) -> RunAnswer:
    trip = next(iter(floor(scenario, FIRST).values()))
    ours, theirs = (rows[role][FIRST]["standing_s"] / trip for role in ("subject", "yardstick"))
    return RunAnswer(ours - theirs, ours, theirs, ours - theirs)


def _losses(_: Mapping[str, Any], rows: Mapping[str, Row]) -> RunAnswer:
    ours, theirs = (rows[role][FIRST]["lost"] for role in ("subject", "yardstick"))
    return RunAnswer(ours - theirs, ours, theirs, ours - theirs)


_GOODPUT = measures.MEASURES["goodput_bps"].words
GOALS: Mapping[str, SearchGoal] = {
    goal.name: goal
    for goal in (
        SearchGoal(
            "slow", "it is slow where the yardstick is not", f"{_GOODPUT}, in that of the yardstick",
            0.5, "less", _slow,
        ),
        SearchGoal(
            "stall", "nothing arrives for long",
            "longest time without a delivered byte, less three times the yardstick's, s",
            5.0, "more", _stall,
        ),
        SearchGoal(
            "starve", "one of two flows of it starves",
            "share of the slower flow in the second half, in that of two flows of the yardstick",
            0.2, "less", _starve, second="same",
        ),
        SearchGoal(
            "harm", "a flow of the yardstick beside it starves",
            f"{_GOODPUT} of the yardstick beside it, in that beside another yardstick, second half",
            0.2, "less", _harm, second="yardstick",
        ),
        SearchGoal(
            "queue", "the queue never drains",
            "standing queueing delay, less the yardstick's, round trips", 1.0, "more", _queue,
        ),
        SearchGoal(
            "losses", "it loses what it sends", "share of lost packets, less the yardstick's",
            measures.LOSSY, "more", _losses,
        ),
        SearchGoal(
            "attack", "pulses of little traffic stop it",
            f"{_GOODPUT}, in what the pulses leave of its {_GOODPUT} without them",
            0.5, "less", _attack, against="alone",
        ),
    )
}  # fmt: skip
"""Every goal by its name."""


def find_goal(name: str) -> SearchGoal:
    """The goal of that name.

    Raises:
        ScenarioError: there is none.
    """
    if name not in GOALS:
        raise _core.ScenarioError(unknown("goal", name, list(GOALS)))
    return GOALS[name]
