"""Numbers and verdicts beside criteria: the answers of an evaluation, as plain data and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe import _core, stats
from bentpipe.evaluation import criteria
from bentpipe.evaluation.chapter import Chapter, Setting
from bentpipe.evaluation.criteria import CRITERIA, TITLES, Criterion, Exhibit, Held
from bentpipe.measures import MeasureRow
from bentpipe.stats import Interval

if TYPE_CHECKING:
    from bentpipe.evaluation.assessment import Evaluation

SCHEMA = 1
"""Version of the object that `as_dict` returns."""


def answers(evaluation: Evaluation) -> list[dict[str, Any]]:
    """A dict for each criterion, in the order of `criteria.CRITERIA`.

    Keys document, section, level, asks; verdict (`criteria.Verdict`); reason (why it is not evaluated, or
    what the answer leaves out; ""); held, a list of results by line (line, verdict, setting, found, bound,
    settings, words); numbers, a list of dicts with experiment, setting, metric (in words), unit, beside (how
    the algorithm compares with the standard ones), and values: for each algorithm mean, low, high (None for
    a single run) and n in that unit, and all of it in words ("shown").
    """
    return [_answer(evaluation, criterion) for criterion in CRITERIA]


def as_dict(evaluation: Evaluation) -> dict[str, Any]:
    """The whole evaluation as plain data that JSON can hold."""
    return {
        "schema": SCHEMA,
        "version": _core.__version__,
        "algorithm": evaluation.subject.id,
        "label": evaluation.label,
        "extent": evaluation.extent,
        "stopped": evaluation.stopped,
        "documents": TITLES,
        "answers": evaluation.answers,
        "experiments": [_plain(chapter) for chapter in evaluation.chapters],
    }


def shown(found: Interval, metric: MeasureRow) -> str:
    """An interval in the metric's unit: "9.43 ± 0.02 ms", "9.43 ms (one run)"."""
    text, bracket, note = stats.shown(found.times(metric.factor)).partition(" (")
    return f"{text}{' ' if metric.unit else ''}{metric.unit}{bracket}{note}"


def scaled(found: Interval, metric: MeasureRow) -> dict[str, Any]:
    """Mean, ends of the interval (None for one run) and number of runs, in the metric's unit."""
    mean, low, high, n, _ = found.times(metric.factor)
    return {"mean": mean, "low": low, "high": high, "n": n} | ({"low": None, "high": None} if n == 1 else {})


def setting_in_words(chapter: Chapter, where: Setting) -> str:
    """A setting for display: "flows 8, buffer 0.5 BDP"; a value in words needs no name."""
    parts = []
    for key, value in where.items():
        if isinstance(value, str) and " " in value:
            parts.append(value)
            continue
        label, _, unit = chapter.axes.get(key, key).partition(", ")
        text = (
            value if isinstance(value, str) else f"{value:,g}" if isinstance(value, float) else f"{value:,}"
        )
        parts.append(f"{label} {text}{' ' + unit if unit else ''}")
    return ", ".join(parts)


def _answer(evaluation: Evaluation, criterion: Criterion) -> dict[str, Any]:
    numbers: list[dict[str, Any]] = []
    held: list[dict[str, Any]] = []
    reasons = [criterion.reason] if criterion.reason else []
    chapters = {chapter.name: chapter for chapter in evaluation.chapters}
    for exhibit in criterion.evidence:
        if exhibit.experiment in chapters:
            numbers += _numbers(chapters[exhibit.experiment], exhibit)
    for name in dict.fromkeys(exhibit.experiment for exhibit in criterion.evidence):
        if name not in chapters:
            reasons.append(f"The experiment {name} was not run.")
            continue
        failed = [error for label, _, error in chapters[name].failed if label == evaluation.label]
        if failed:
            reasons.append(f"{len(failed)} runs of {name} failed: {failed[0]}")
        if chapters[name].missing:
            reasons.append(f"It was stopped: {chapters[name].missing} runs of {name} are missing.")
    for line in criterion.lines:
        chapter = chapters.get(line.experiment)
        if chapter and (found := criteria.hold(line, chapter)):
            held.append(_held(chapter, found))
    known = held or any(evaluation.label in number["values"] for number in numbers)
    return {
        "document": criterion.document,
        "section": criterion.section,
        "level": criterion.level,
        "asks": criterion.asks,
        "verdict": criteria.worst([one["verdict"] for one in held]) if known else "not evaluated",
        "reason": " ".join(reasons),
        "held": held,
        "numbers": numbers,
    }


def _held(chapter: Chapter, held: Held) -> dict[str, Any]:
    metric = chapter.metrics[held.line.metric]
    where = setting_in_words(chapter, held.setting)
    unit = f" {metric.unit}" if metric.unit else ""
    bound = (
        f"{'at most' if held.line.most is not None else 'at least'} {held.bound * metric.factor:.3g}{unit}"
    )
    of = f"the worst of {held.settings} set-ups" if held.settings > 1 else "the set-up"
    return {
        "line": held.line.words,
        "verdict": held.verdict,
        "setting": where,
        "settings": held.settings,
        "metric": metric.words,
        "unit": metric.unit,
        "found": scaled(held.found, metric),
        "bound": held.bound * metric.factor,
        "words": f"{metric.words}: {shown(held.found, metric)}, line: {bound} ({of}: {where})",
    }


def _numbers(chapter: Chapter, exhibit: Exhibit) -> list[dict[str, Any]]:
    metrics = ((name, chapter.metrics[name]) for name in exhibit.metrics)
    return [
        {
            "experiment": chapter.name,
            "setting": setting_in_words(chapter, exhibit.where),
            "metric": metric.words,
            "unit": metric.unit,
            "beside": criteria.side(chapter, name, exhibit.where),
            "values": {
                label: {**scaled(of, metric), "shown": shown(of, metric)} for label, of in found.items()
            },
        }
        for name, metric in metrics
        if (found := chapter.intervals(name, exhibit.where))
    ]


def _plain(chapter: Chapter) -> dict[str, Any]:
    results = [
        {
            "setting": setting,
            "metric": name,
            "unit": metric.unit,
            "values": {label: scaled(of, metric) for label, of in found.items()},
        }
        for setting in chapter.matching({})
        for name, metric in chapter.metrics.items()
        if (found := chapter.intervals(name, setting))
    ]
    return {
        "name": chapter.name,
        "title": chapter.title,
        "setup": chapter.setup,
        "source": chapter.source,
        "deviation": chapter.deviation,
        "metrics": {name: metric.label for name, metric in chapter.metrics.items()},
        "results": results,
        "missing": chapter.missing,
        "failed": [
            {"algorithm": label, "setting": setting, "error": error}
            for label, setting, error in chapter.failed
        ],
    }
