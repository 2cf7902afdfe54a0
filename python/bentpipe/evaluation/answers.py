"""Numbers beside criteria: the answers of an evaluation, as plain data and in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bentpipe import _core
from bentpipe.evaluation.criteria import CRITERIA, DRAFT, RFC, Criterion, Exhibit
from bentpipe.evaluation.experiment import Metric
from bentpipe.stats import Interval

if TYPE_CHECKING:
    from bentpipe.evaluation.assessment import Chapter, Evaluation

SCHEMA = 1
"""Version of the object that `as_dict` returns."""
TITLES = {
    RFC: "Specifying New Congestion Control Algorithms (BCP 133), 2025",
    DRAFT: "Common TCP Evaluation Suite, draft-irtf-iccrg-tcpeval-01, 2014",
}
"""The documents."""


def answers(evaluation: Evaluation) -> list[dict[str, Any]]:
    """A dict for each criterion, in the order of `criteria.CRITERIA`.

    Keys document, section, level, asks; evaluated; reason ("" if there is none); numbers, a list of dicts
    with experiment, setting, metric (in words), unit, and values: for each algorithm mean, low, high (None
    for a single run) and n, in that unit.
    """
    return [_answer(evaluation, criterion) for criterion in CRITERIA]


def as_dict(evaluation: Evaluation) -> dict[str, Any]:
    """The whole evaluation as plain data that JSON can hold."""
    return {
        "schema": SCHEMA,
        "version": _core.version(),
        "algorithm": evaluation.subject.id,
        "label": evaluation.label,
        "mode": "full" if evaluation.full else "quick",
        "documents": TITLES,
        "answers": evaluation.answers,
        "experiments": [_plain(chapter) for chapter in evaluation.chapters],
    }


def shown(found: Interval | None, metric: Metric) -> str:
    """An interval in the metric's unit with three digits: "9.43 ± 0.02 ms", "9.43 ms (one run)"."""
    if found is None:
        return "–"
    unit = f" {metric.unit}" if metric.unit else ""
    centre = found.centre * metric.scale
    if found.n == 1:
        return f"{digits(centre)}{unit} (one run)"
    if found.alike:
        return f"{digits(centre)}{unit} (all runs alike)"
    half = max(found.high - found.centre, found.centre - found.low) * metric.scale
    clipped = abs((found.high - found.centre) - (found.centre - found.low)) > 1e-9 * abs(found.high - found.low)
    if clipped:
        return f"{digits(centre)} [{digits(found.low * metric.scale)}, {digits(found.high * metric.scale)}]{unit}"
    return f"{digits(centre)} ± {digits(half, 2)}{unit}"


def digits(value: float, significant: int = 3) -> str:
    """A number with so many significant digits, and all digits before the point."""
    if abs(value) >= 10 ** (significant - 1):
        return f"{value:,.0f}"
    return f"{value:#.{significant}g}".rstrip(".") if abs(value) >= 1e-3 else f"{value:.{significant}g}"


def setting_in_words(chapter: Chapter, where: Mapping[str, Any]) -> str:
    """A setting for people: "flows 8, buffer 0.5 BDP"."""
    parts = []
    for key, value in where.items():
        label, _, unit = chapter.experiment.axes.get(key, key).partition(", ")
        text = f"{value:,g}" if isinstance(value, int | float) else str(value)
        parts.append(f"{label} {text}{' ' + unit if unit else ''}")
    return ", ".join(parts)


def _answer(evaluation: Evaluation, criterion: Criterion) -> dict[str, Any]:
    numbers = []
    reason = criterion.reason
    for exhibit in criterion.evidence:
        chapter = evaluation.chapter(exhibit.experiment)
        if chapter is None:
            reason = reason or f"The experiment {exhibit.experiment} was not run."
            continue
        mine = [error for label, _, error in chapter.failed if label == evaluation.label]
        numbers += _numbers(chapter, exhibit)
        if mine:
            reason = f"failed: {mine[0]}"
    own = [number for number in numbers if evaluation.label in number["values"]]
    return {
        "document": criterion.document,
        "section": criterion.section,
        "level": criterion.level,
        "asks": criterion.asks,
        "evaluated": bool(own),
        "reason": reason,
        "numbers": numbers,
    }


def _numbers(chapter: Chapter, exhibit: Exhibit) -> list[dict[str, Any]]:
    found = []
    for name in exhibit.metrics:
        metric = chapter.experiment.metrics[name]
        values = {}
        for label in chapter.labels:
            mean = chapter.interval(name, label, exhibit.where)
            if mean is not None:
                values[label] = {**_scaled(mean, metric), "shown": shown(mean, metric)}
        if values:
            found.append(
                {
                    "experiment": exhibit.experiment,
                    "setting": setting_in_words(chapter, exhibit.where),
                    "metric": metric.words,
                    "unit": metric.unit,
                    "values": values,
                }
            )
    return found


def _scaled(found: Interval, metric: Metric) -> dict[str, Any]:
    single = found.n == 1
    return {
        "mean": found.centre * metric.scale,
        "low": None if single else found.low * metric.scale,
        "high": None if single else found.high * metric.scale,
        "n": found.n,
    }


def _plain(chapter: Chapter) -> dict[str, Any]:
    experiment = chapter.experiment
    results = []
    for setting in chapter.settings:
        for name, metric in experiment.metrics.items():
            values = {
                label: _scaled(mean, metric)
                for label in chapter.labels
                if (mean := chapter.interval(name, label, setting)) is not None
            }
            if values:
                results.append({"setting": setting, "metric": name, "unit": metric.unit, "values": values})
    return {
        "name": experiment.name,
        "title": experiment.title,
        "setup": experiment.setup,
        "source": experiment.source,
        "deviation": experiment.deviation,
        "metrics": {name: metric.label for name, metric in experiment.metrics.items()},
        "results": results,
        "failed": [
            {"algorithm": label, "setting": setting, "error": error} for label, setting, error in chapter.failed
        ],
    }
