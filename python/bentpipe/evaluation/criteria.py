"""The criteria of the documents, as criteria.toml has them, and the lines at which one counts as met.

RFC 9743 sets no thresholds (section 5). A line is therefore ours unless its words name a source, and an
answer always names its line. Without a line, the numbers are a matter of judgement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from bentpipe.evaluation.chapter import Chapter, Setting
from bentpipe.io.toml_tables import beside
from bentpipe.stats import Interval

Verdict = Literal["meets", "does not meet", "a matter of judgement", "not evaluated"]

WORST_FIRST: tuple[Verdict, ...] = ("does not meet", "a matter of judgement", "meets")

Level = Literal["MUST", "SHOULD", "criterion", "experiment"]
"""A key word of RFC 2119 (REQUIRED counts as MUST); a criterion that has none; an experiment of tcpeval."""


@dataclass(frozen=True)
class Line:
    """A bound of a metric in all settings of an experiment that match, for the 95 % interval of its mean.

    An interval on the right side meets it, one on the wrong side does not, and one that holds the bound
    leaves the matter open.
    """

    experiment: str  #: its name.
    metric: str  #: one of its metrics.
    words: str  #: the line in words, with its source if it is not ours.
    most: float | None = None  #: the metric is at most this (SI unit).
    least: float | None = None  #: the metric is at least this.
    #: the bound is this multiple of the value of the worse standard algorithm, and no stricter than `most` or
    #: `least`.
    times: float | None = None
    where: Setting = field(default_factory=dict)  #: parts of the settings.


class Exhibit(NamedTuple):
    """Numbers that answer a criterion: the name of the experiment, metrics of it, and in which setting."""

    experiment: str
    metrics: Sequence[str]
    where: Setting = {}


@dataclass(frozen=True)
class Criterion:
    """One demand of a document."""

    document: str  #: "RFC 9743" or "tcpeval".
    section: str  #: its number there.
    level: Level  #: how strongly it is put.
    asks: str  #: the demand.
    evidence: Sequence[Exhibit] = ()  #: the numbers that answer it; empty if it is not evaluated.
    reason: str = ""  #: why it is not evaluated, or the limits of the evidence.
    lines: Sequence[Line] = ()  #: at which the answer is held; without one it is a matter of judgement.


_GIVEN = beside(__file__, "criteria.toml")

TITLES: dict[str, str] = _GIVEN["documents"]
"""The documents."""
LINES = {name: Line(**given) for name, given in _GIVEN["lines"].items()}
"""Every line, by its name."""
CRITERIA = tuple(
    Criterion(
        **given
        | {
            "evidence": [Exhibit(*of) for of in given.get("evidence", ())],
            "reason": given.get("reason", "").format(**_GIVEN["reasons"]),
            "lines": [LINES[name] for name in given.get("lines", ())],
        }
    )
    for given in _GIVEN["criteria"]
)
"""All criteria, in the order of the documents."""


class Held(NamedTuple):
    """The verdict of a line on an algorithm, its worst setting, and the number of settings."""

    line: Line
    verdict: Verdict
    setting: Setting
    found: Interval
    bound: float
    settings: int


def hold(line: Line, chapter: Chapter) -> Held | None:
    """Compares an algorithm's numbers with a line; None if there are no numbers."""
    judged = []
    for setting in chapter.matching(line.where):
        found = chapter.interval(line.metric, chapter.labels[0], setting)
        bound = _bound(line, chapter, setting)
        if found is None or bound is None:
            continue
        low, high = _ends(found)
        over = (low - bound, high - bound) if line.most is not None else (bound - high, bound - low)
        verdict: Verdict = "meets" if over[1] <= 0 else "does not meet" if over[0] > 0 else WORST_FIRST[1]
        beyond = sum(over) / abs(bound) if bound else sum(over)
        judged.append((WORST_FIRST.index(verdict), -beyond, Held(line, verdict, setting, found, bound, 0)))
    return min(judged, key=lambda one: one[:2])[2]._replace(settings=len(judged)) if judged else None


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """The worst verdict of several lines; without a line it is a matter of judgement."""
    return min(verdicts or WORST_FIRST[1:2], key=WORST_FIRST.index)


def side(chapter: Chapter, metric: str, where: Setting) -> str:
    """The comparison of the algorithm with the standard ones: "better than both", "like Reno"; or ""."""
    better, (subject, *standards) = chapter.metrics[metric].better, chapter.labels
    if not better or not standards:
        return ""
    words = []
    for standard in standards:
        found = chapter.difference(metric, subject, standard, where)
        if found is None:
            return ""
        low, high = _ends(found)
        like = low <= 0 <= high
        words.append("like" if like else "better than" if (low > 0) == (better == "more") else "worse than")
    if len(set(words)) == 1:
        return f"{words[0]} {'both' if len(words) > 1 else standards[0]}"
    return ", ".join(map(" ".join, zip(words, standards, strict=True)))


def _ends(found: Interval) -> tuple[float, float]:
    """The ends of an interval; that of one run is its value."""
    return (found.centre, found.centre) if found.n == 1 else (found.low, found.high)


def _bound(line: Line, chapter: Chapter, setting: Setting) -> float | None:
    given = line.most if line.most is not None else line.least
    if line.times is None:
        return given
    found = chapter.intervals(line.metric, setting)
    others = [found[label].centre for label in chapter.labels[1:] if label in found]
    if not others:
        return None
    if line.most is not None:
        return max(line.times * max(others), line.most)
    return min(line.times * min(others), given if given is not None else 0.0)
