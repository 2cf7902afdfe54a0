"""Which algorithms serve a goal best, in groups that the runs cannot tell apart."""

from __future__ import annotations

import math
from collections.abc import Mapping

from bentpipe import stats
from bentpipe.advice.trials import Trials

SAME = 0.02
"""Means that differ by no more than this share of the better one are a tie, however certain the difference
is: links and kernels differ by more from what is simulated here."""
ENOUGH = 0.8
"""For the goal "delay": the share of the most goodput that an algorithm must have to be ranked first."""

QUANTITIES = {
    "throughput": ("goodput_bps", True),
    "delay": ("queue_p95_s", False),
    "fair": ("worse_bps", True),
    "completion": ("file_s", False),
}
"""By goal: what is compared, and whether more of it is better."""
_DUST_S = 1e-3
"""Queueing delays below this are the same to anybody."""


def order(trials: Mapping[str, Trials], goal: str) -> list[str]:
    """All algorithms by their means, the best first; those without the quantity come last."""
    name, highest = QUANTITIES[goal]

    def place(one: str) -> tuple[int, float]:
        mean = trials[one].mean(name)
        if math.isnan(mean):
            return 2, 0.0
        slow = goal == "delay" and one not in fast_enough(trials)
        return int(slow), -mean if highest else mean

    return sorted(trials, key=place)


def as_good(one: Trials, best: Trials, goal: str) -> bool:
    """Is its mean no more than `SAME` behind that of the best?"""
    name, highest = QUANTITIES[goal]
    ours, theirs = one.mean(name), best.mean(name)
    return ours >= theirs * (1 - SAME) if highest else ours <= theirs * (1 + SAME) + _least(name)


def fast_enough(trials: Mapping[str, Trials]) -> set[str]:
    """Those whose goodput is at least `ENOUGH` of the most."""
    means = {name: one.mean("goodput_bps") for name, one in trials.items()}
    most = max((mean for mean in means.values() if not math.isnan(mean)), default=0.0)
    return {name for name, mean in means.items() if mean >= ENOUGH * most}


def groups(trials: Mapping[str, Trials], goal: str) -> list[list[str]]:
    """Groups of algorithms, the best group first; those of a group are tied.

    The seeds give the intervals (`stats.groups`, run by run on common random numbers). Groups whose best
    means differ by no more than `SAME` are one. Algorithms that lack the quantity in some seed stand alone at
    the end, such as those that did not finish a file.
    """
    name, highest = QUANTITIES[goal]
    ranked = order(trials, goal)
    runs = max((len(trials[one].values[name]) for one in ranked), default=0)
    whole = [one for one in ranked if len(trials[one].of(name)) == runs]
    classes = [whole]
    if goal == "delay":
        fast = fast_enough(trials)
        classes = [[one for one in whole if one in fast], [one for one in whole if one not in fast]]
    found: list[list[str]] = []
    for some in classes:
        if not some:
            continue
        samples = {one: trials[one].of(name) for one in some}
        found += _joined(stats.groups(samples, highest_first=highest), trials, name)
    return found + [[one] for one in ranked if one not in whole]


def _joined(given: list[list[str]], trials: Mapping[str, Trials], name: str) -> list[list[str]]:
    """Groups whose best means are as good as the same become one."""
    found: list[list[str]] = []
    for group in given:
        best = trials[group[0]].mean(name)
        if found:
            first = trials[found[-1][0]].mean(name)
            if abs(best - first) <= max(SAME * max(abs(best), abs(first)), _least(name)):
                found[-1] += group
                continue
        found.append(list(group))
    return found


def _least(name: str) -> float:
    """What is the same to anybody, in the unit of the quantity."""
    return _DUST_S if name == "queue_p95_s" else 0.0
