"""Comparison of several algorithms: effect sizes, and groups that do not differ."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import TypeVar

from bentpipe.stats.sample import (
    TOLERANCE,
    centre_of,
    check_confidence,
    read,
    size_of,
    spread_of,
    standard_error,
)

T = TypeVar("T", bound=Hashable)


def effect_size(a: Iterable[float], b: Iterable[float]) -> float:
    """How often a run of a exceeds a run of b, ties counted half: from 0 to 1, and 0.5 if neither does.

    This is the measure A of A. Vargha and H. D. Delaney (A Critique and Improvement of the CL Common
    Language Effect Size Statistics of McGraw and Wong, Journal of Educational and Behavioral Statistics
    25, 2000). They call 0.56 a small, 0.64 a medium and 0.71 a large effect. It equals U / (n m) of the
    Mann-Whitney test. It supposes no distribution, and it stays finite where runs hardly scatter, as they
    often do in a simulation: Cohen's d divides by that scatter.

    When it is wrong: it says how often, not by how much. An algorithm that is 0.01 % faster in every run
    has A = 1. Read it beside `paired`, which has the unit of the values.

    Raises:
        ValueError: a sample has no values, or one is not finite.
    """
    first, second = read(a, "values of a"), read(b, "values of b")
    dust = TOLERANCE * size_of(first, second)
    wins = sum(1.0 if x > y + dust else 0.5 if x >= y - dust else 0.0 for x in first for y in second)
    return wins / (len(first) * len(second))


def groups(
    samples: Mapping[str, Sequence[float]],
    *,
    highest_first: bool = True,
    confidence: float = 0.95,
    paired: bool = True,
) -> list[list[str]]:
    """Algorithms in groups, the best first; the members of a group do not differ from its best one.

    Every two samples are compared by a t test: of their differences run by run on common random numbers, or
    by Welch's test if they are not paired (B. L. Welch, The Generalization of Student's Problem, Biometrika
    34, 1947). Holm's correction bounds the chance of one or more wrong distinctions, among all pairs, by 1 -
    confidence (S. Holm, A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of
    Statistics 6, 1979). The best of all leads the first group, with all that do not differ from it. The best
    of the rest leads the next. Wilcoxon's test would assume less, but with five runs it cannot separate any
    two: its least p-value is 1/16.

    How to read it: an order between groups is an order of their leaders. "In one group" does not mean
    equal: more seeds may separate them. With one run each, all are in one group. A sample that scatters
    much can be in the first group, while one with a better mean that scatters little is in the second.

    When it is wrong: a difference that is certain may be too small to matter to anyone. With few seeds and
    many algorithms, Holm's correction asks for large differences. Differences that are alike in all runs are
    taken for certain, even if other seeds would show that chance plays a part.

    Args:
        samples: for each name one value a seed; in the order of the same seeds if they are paired.
        highest_first: whether more is better.
        confidence: the least probability that no two equal algorithms are separated.
        paired: whether value i of all samples comes from one seed.

    Raises:
        ValueError: a sample has no values, or one is not finite; paired samples are not of one length.
    """
    check_confidence(confidence)
    values = {name: read(sample, f"values of {name}") for name, sample in samples.items()}
    if paired and len({len(sample) for sample in values.values()}) > 1:
        lengths = ", ".join(f"{name} {len(sample)}" for name, sample in values.items())
        raise ValueError(f"paired samples must have one length, but there are: {lengths}")
    test = paired_p if paired else _welch_p
    pairs = {frozenset((x, y)): test(values[x], values[y]) for x, y in combinations(values, 2)}
    apart = holm(pairs, 1 - confidence)
    left = sorted(values, key=lambda name: centre_of(values[name]), reverse=highest_first)
    found = []
    while left:
        found.append([name for name in left if name == left[0] or frozenset((name, left[0])) not in apart])
        left = [name for name in left if name not in found[-1]]
    return found


def random_in(samples: Mapping[str, Sequence[float]]) -> bool:
    """Whether chance plays a part: a sample has several values that differ.

    Where it does not, every difference between samples is a property of the scenario, however small. A test
    of significance then means nothing, and neither do `groups`.

    Raises:
        ValueError: a sample has no values, or one is not finite.
    """
    values = [read(sample, f"values of {name}") for name, sample in samples.items()]
    return any(len(sample) > 1 and spread_of(sample, size_of(sample)) > 0 for sample in values)


def holm(tests: Mapping[T, float], error: float) -> set[T]:
    """The tests that reject, of those given by their p-values: from the least on, until one is too large.

    The chance that one or more of them reject wrongly is at most ``error`` (S. Holm, 1979).
    """
    rejected: set[T] = set()
    for rank, (test, p) in enumerate(sorted(tests.items(), key=lambda item: item[1])):
        if p > error / (len(tests) - rank):
            break
        rejected.add(test)
    return rejected


def paired_p(a: list[float], b: list[float]) -> float:
    """The p-value of the paired t test; 1 for one run, 0 for differences that are all the same and not 0."""
    differences = [x - y for x, y in zip(a, b, strict=True)]
    size = size_of(a, b)
    if len(a) == 1 or max(abs(d) for d in differences) <= TOLERANCE * size:
        return 1.0
    if spread_of(differences, size) == 0:
        return 0.0
    return _two_sided(centre_of(differences) / standard_error(differences), len(a) - 1)


def _welch_p(a: list[float], b: list[float]) -> float:
    """The p-value of Welch's t test; 1 if one of the samples is a single run."""
    size = size_of(a, b)
    difference = centre_of(a) - centre_of(b)
    if min(len(a), len(b)) == 1 or abs(difference) <= TOLERANCE * size:
        return 1.0
    alike = [spread_of(sample, size) == 0 for sample in (a, b)]
    if all(alike):
        return 0.0
    x, y = (0.0 if same else standard_error(s) ** 2 for same, s in zip(alike, (a, b), strict=True))
    freedom = (x + y) ** 2 / (x**2 / (len(a) - 1) + y**2 / (len(b) - 1))
    return _two_sided(difference / math.sqrt(x + y), freedom)


def _two_sided(t: float, freedom: float) -> float:
    from scipy.special import stdtr  # a quarter of the time that scipy.stats takes to load

    return 2 * float(stdtr(freedom, -abs(t)))
