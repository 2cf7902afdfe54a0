"""Ranking of algorithms for a goal: the best, those out of the race, and groups that are tied."""

from __future__ import annotations

import math
from collections.abc import Mapping

from bentpipe import stats
from bentpipe.advice.question import GOALS
from bentpipe.advice.trials import Trials

SAME = 0.02
"""Means that differ by no more than this share of the better one are a tie, however certain the difference
is: links and kernels differ by more from this simulation."""
ENOUGH = 0.8
"""For the goal "delay": the share of the most goodput that an algorithm must have to be ranked first."""
SURE = 0.998
"""Confidence that an algorithm leaving the race is worse (two-sided; one in a thousand by chance)."""
LIKELY = 0.95
"""Confidence of the intervals that separate two algorithms in the answer."""

_DUST_S = 1e-3
"""Queueing delays below this are equally good."""


def order(trials: Mapping[str, Trials], goal: str) -> list[str]:
    """All algorithms by their means, the best first; those without the quantity come last."""
    return sorted(trials, key=lambda one: _place(one, trials, goal))


def as_good(one: Trials, best: Trials, goal: str, within: float = SAME) -> bool:
    """Whether its mean is at most this share behind that of the best."""
    name, highest = GOALS[goal].quantity, GOALS[goal].more
    ours, theirs = one.mean(name), best.mean(name)
    return ours >= theirs * (1 - within) if highest else ours <= theirs * (1 + within) + _least(name)


def fast_enough(trials: Mapping[str, Trials]) -> set[str]:
    """Those whose goodput is at least `ENOUGH` of the most."""
    means = {name: one.mean("goodput_bps") for name, one in trials.items()}
    most = max((mean for mean in means.values() if not math.isnan(mean)), default=0.0)
    return {name for name, mean in means.items() if mean >= ENOUGH * most}


def lead(best: Trials, one: Trials, goal: str, confidence: float) -> tuple[float, float]:
    """By how much `best` is better than `one`, seed by seed: both ends of the interval, in its mean.

    Negative where `one` is better. Seeds that either lacks are left out; with fewer than two in common
    nothing is known: minus and plus infinity. An unfinished file counts as infinitely worse.
    """
    name, highest = GOALS[goal].quantity, GOALS[goal].more
    ahead, behind = best.values.get(name, []), one.values.get(name, [])
    pairs = [(a, b) for a, b in zip(ahead, behind, strict=False) if not math.isnan(a)]
    known = [(a, b) for a, b in pairs if not math.isnan(b)]
    if len(known) < 2:
        return (math.inf, math.inf) if len(pairs) > 1 and not known else (-math.inf, math.inf)
    found = stats.paired([a for a, _ in known], [b for _, b in known], confidence=confidence)
    scale = math.fsum(a for a, _ in known) / len(known)
    if not scale > 0:
        return (0.0, 0.0) if found.low == found.high == 0 else (-math.inf, math.inf)
    ends = (found.low / scale, found.high / scale)
    return ends if highest else (-ends[1], -ends[0])


def is_behind(best: Trials, one: Trials, goal: str) -> bool:
    """Whether its interval lies below that of the best by more than `SAME`. If so, it leaves the race."""
    name = GOALS[goal].quantity
    if goal == "delay" and lead(best, one, "throughput", SURE)[0] > 1 - ENOUGH:
        return True
    dust = _least(name) / max(best.mean(name), 1e-12) if name == "queue_p95_s" else 0.0
    return lead(best, one, goal, SURE)[0] > SAME + dust


def is_tied(best: Trials, one: Trials, goal: str) -> bool:
    """Whether the two differ by at most `SAME` with sufficient confidence."""
    low, high = lead(best, one, goal, LIKELY)
    return -SAME <= low and high <= SAME


def groups(trials: Mapping[str, Trials], goal: str) -> list[list[str]]:
    """Groups of algorithms, the best group first; the members of a group are tied.

    The seeds give the intervals (`stats.groups`, run by run on common random numbers). Groups whose best
    means differ by no more than `SAME` are one. Algorithms that lack the quantity in some seed, or that left
    the race before its end, are groups of their own, for example those that did not finish a file.
    """
    name, highest = GOALS[goal].quantity, GOALS[goal].more
    ranked = order(trials, goal)
    runs = max((len(trials[one].values.get(name, ())) for one in ranked), default=0)
    whole = [one for one in ranked if len(trials[one].of(name)) == runs]
    classes = [whole]
    if goal == "delay":
        fast = fast_enough(trials)
        classes = [[one for one in whole if one in fast], [one for one in whole if one not in fast]]
    found: list[list[str]] = [[one] for one in ranked if one not in whole]
    for some in classes:
        if not some:
            continue
        samples = {one: trials[one].of(name) for one in some}
        found += _joined(stats.groups(samples, highest_first=highest), trials, name)
    return sorted(found, key=lambda group: _place(group[0], trials, goal))


def _place(one: str, trials: Mapping[str, Trials], goal: str) -> tuple[int, float]:
    """The sort key of algorithms."""
    name, highest = GOALS[goal].quantity, GOALS[goal].more
    mean = trials[one].mean(name)
    if math.isnan(mean):
        return 2, 0.0
    slow = goal == "delay" and one not in fast_enough(trials)
    unfinished = len(trials[one].of(name)) < len(trials[one].values[name])
    return int(slow or unfinished), -mean if highest else mean


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
    """The difference that does not matter, in the unit of the quantity."""
    return _DUST_S if name == "queue_p95_s" else 0.0
