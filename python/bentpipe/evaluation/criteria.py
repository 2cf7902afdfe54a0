"""The criteria of the documents, as criteria.toml has them, and the lines at which one counts as met.

RFC 9743 sets no thresholds (section 5). A line is therefore ours unless its words name a source, and an
answer always names its line. Without a line, the numbers are a matter of judgement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from bentpipe.evaluation.experiment import Setting
from bentpipe.io.toml_tables import beside
from bentpipe.measures import MeasureRow
from bentpipe.stats import Interval

if TYPE_CHECKING:
    from bentpipe.evaluation.chapter import Chapter

Verdict = Literal["meets", "does not meet", "a matter of judgement", "not evaluated"]

WORST_FIRST: tuple[Verdict, ...] = ("does not meet", "a matter of judgement", "meets")

Level = Literal["MUST", "SHOULD", "criterion", "experiment"]
"""A key word of RFC 2119 (REQUIRED counts as MUST); a criterion that has none; an experiment of tcpeval."""


@dataclass(frozen=True)
class Line:
    """A bound of a metric in all settings of an experiment that match, for the 95 % interval of its mean.

    An interval on the right side meets it, one on the wrong side does not, and one that holds the bound
    leaves the matter open.

    Args:
        experiment: its name.
        metric: one of its metrics.
        words: the line in words, with its source if it is not ours.
        most: the metric is at most this (SI unit).
        least: the metric is at least this.
        times: the bound is this multiple of the value of the worse standard algorithm, and no stricter than
            `most` or `least`.
        where: parts of the settings.
    """

    experiment: str
    metric: str
    words: str
    most: float | None = None
    least: float | None = None
    times: float | None = None
    where: Setting = field(default_factory=dict)


@dataclass(frozen=True)
class Exhibit:
    """Numbers that answer a criterion.

    Args:
        experiment: the name of the experiment.
        metrics: which of its metrics.
        where: in which setting.
    """

    experiment: str
    metrics: tuple[str, ...]
    where: Setting = field(default_factory=dict)


@dataclass(frozen=True)
class Criterion:
    """One demand of a document.

    Args:
        document: "RFC 9743" or "tcpeval".
        section: its number there.
        level: how strongly it is put.
        asks: the demand.
        evidence: the numbers that answer it; empty if it is not evaluated.
        reason: why it is not evaluated, or the limits of the evidence.
        lines: at which the answer is held; without one it is a matter of judgement.
    """

    document: str
    section: str
    level: Level
    asks: str
    evidence: tuple[Exhibit, ...] = ()
    reason: str = ""
    lines: tuple[Line, ...] = ()


_GIVEN = beside(__file__, "criteria.toml")

TITLES: dict[str, str] = _GIVEN["documents"]
"""The documents."""
LINES = {name: Line(**given) for name, given in _GIVEN["lines"].items()}
"""Every line, by its name."""
CRITERIA = tuple(
    Criterion(
        **{key: given[key] for key in ("document", "section", "level", "asks")},
        evidence=tuple(Exhibit(name, tuple(of), *where) for name, of, *where in given.get("evidence", ())),
        reason=given.get("reason", "").format(**_GIVEN["reasons"]),
        lines=tuple(LINES[name] for name in given.get("lines", ())),
    )
    for given in _GIVEN["criteria"]
)
"""All criteria, in the order of the documents."""


@dataclass(frozen=True)
class Held:
    """The result of a line for an algorithm: the verdict, and the setting that is worst for it."""

    line: Line
    verdict: Verdict
    setting: Setting
    found: Interval
    bound: float
    settings: int


def hold(line: Line, chapter: Chapter, subject: str, standards: Sequence[str]) -> Held | None:
    """Compares an algorithm's numbers with a line; None if there are no numbers."""
    judged = []
    for setting in chapter.matching(line.where):
        found = chapter.interval(line.metric, subject, setting)
        bound = _bound(line, chapter, standards, setting)
        if found is None or bound is None:
            continue
        low, high = (found.centre,) * 2 if found.n == 1 else (found.low, found.high)
        over = (low - bound, high - bound) if line.most is not None else (bound - high, bound - low)
        verdict: Verdict = "meets" if over[1] <= 0 else "does not meet" if over[0] > 0 else WORST_FIRST[1]
        beyond = sum(over) / abs(bound) if bound else sum(over)
        judged.append((WORST_FIRST.index(verdict), -beyond, Held(line, verdict, setting, found, bound, 0)))
    if not judged:
        return None
    worst = min(judged, key=lambda one: one[:2])[2]
    return Held(line, worst.verdict, worst.setting, worst.found, worst.bound, len(judged))


def side(metric: MeasureRow, chapter: Chapter, name: str, where: Setting) -> str:
    """The comparison of the algorithm with the standard ones: "better than both", "like Reno"; or ""."""
    if not metric.better or len(chapter.labels) < 2:
        return ""
    subject, *standards = chapter.labels
    sign = 1 if metric.better == "more" else -1
    signs = []
    for standard in standards:
        found = chapter.difference(name, subject, standard, where)
        if found is None:
            return ""
        low, high = (found.centre,) * 2 if found.n == 1 else (found.low, found.high)
        signs.append(0 if low <= 0 <= high else sign if low > 0 else -sign)
    both = "both" if len(signs) > 1 else standards[0]
    said = {1: f"better than {both}", -1: f"worse than {both}", 0: f"like {both}"}
    if len(set(signs)) == 1:
        return said[signs[0]]
    parts = {1: "better than", 0: "like", -1: "worse than"}
    return ", ".join(f"{parts[s]} {label}" for s, label in zip(signs, standards, strict=True))


def _bound(line: Line, chapter: Chapter, standards: Sequence[str], setting: Setting) -> float | None:
    given = line.most if line.most is not None else line.least
    if line.times is None:
        return given
    others = [found.centre for one in standards if (found := chapter.interval(line.metric, one, setting))]
    if not others:
        return None
    if line.most is not None:
        return max(line.times * max(others), line.most)
    return min(line.times * min(others), given if given is not None else 0.0)
