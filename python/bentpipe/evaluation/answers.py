"""Numbers and verdicts beside criteria: the answers of an evaluation, as plain data and in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bentpipe import _core, stats
from bentpipe.evaluation import criteria
from bentpipe.evaluation.criteria import CRITERIA, TITLES, Criterion, Exhibit, Held, Verdict
from bentpipe.measures import MeasureRow
from bentpipe.stats import Interval

if TYPE_CHECKING:
    from bentpipe.evaluation.assessment import Evaluation
    from bentpipe.evaluation.chapter import Chapter

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


def shown(found: Interval | None, metric: MeasureRow) -> str:
    """An interval in the metric's unit: "9.43 ± 0.02 ms", "9.43 ms (one run)"."""
    if found is None:
        return "–"
    text, _, note = stats.shown(found.times(metric.factor)).partition(" (")
    unit = f" {metric.unit}" if metric.unit else ""
    return f"{text}{unit} ({note}" if note else f"{text}{unit}"


def setting_in_words(chapter: Chapter, where: Mapping[str, Any]) -> str:
    """A setting for display: "flows 8, buffer 0.5 BDP"; a value in words needs no name."""
    parts = []
    for key, value in where.items():
        if isinstance(value, str) and " " in value:
            parts.append(value)
            continue
        label, _, unit = chapter.experiment.axes.get(key, key).partition(", ")
        text = (
            f"{value:,g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else value
        )
        parts.append(f"{label} {text}{' ' + unit if unit else ''}")
    return ", ".join(parts)


def _answer(evaluation: Evaluation, criterion: Criterion) -> dict[str, Any]:
    numbers: list[dict[str, Any]] = []
    reasons = [criterion.reason] if criterion.reason else []
    for exhibit in criterion.evidence:
        chapter = evaluation.chapter(exhibit.experiment)
        numbers += [] if chapter is None else _numbers(chapter, exhibit)
    own = [number for number in numbers if evaluation.label in number["values"]]
    needed = list(dict.fromkeys(exhibit.experiment for exhibit in criterion.evidence))
    held = []
    for name in needed:
        chapter = evaluation.chapter(name)
        if chapter is None:
            reasons.append(f"The experiment {name} was not run.")
            continue
        failed = [error for label, _, error in chapter.failed if label == evaluation.label]
        if failed:
            reasons.append(f"{len(failed)} runs of {name} failed: {failed[0]}")
        if chapter.missing:
            reasons.append(f"It was stopped: {chapter.missing} runs of {name} are missing.")
    for line in criterion.lines:
        chapter = evaluation.chapter(line.experiment)
        found = (
            None if chapter is None else criteria.hold(line, chapter, evaluation.label, evaluation.standards)
        )
        if chapter is not None and found is not None:
            held.append(_held(chapter, found))
    return {
        "document": criterion.document,
        "section": criterion.section,
        "level": criterion.level,
        "asks": criterion.asks,
        "verdict": _verdict(held) if own or held else "not evaluated",
        "reason": " ".join(reasons),
        "held": held,
        "numbers": numbers,
    }


def _verdict(held: list[dict[str, Any]]) -> Verdict:
    """The worst verdict of the lines; without a line it is a matter of judgement."""
    verdicts: list[Verdict] = [one["verdict"] for one in held] or ["a matter of judgement"]
    return min(verdicts, key=criteria.WORST_FIRST.index)


def _held(chapter: Chapter, held: Held) -> dict[str, Any]:
    metric = chapter.experiment.metrics[held.line.metric]
    where = setting_in_words(chapter, held.setting)
    number = shown(held.found, metric)
    unit = f" {metric.unit}" if metric.unit else ""
    bound = f"{held.bound * metric.factor:.3g}{unit}"
    of = f"the worst of {held.settings} set-ups" if held.settings > 1 else "the set-up"
    side_ = "at most" if held.line.most is not None else "at least"
    return {
        "line": held.line.words,
        "verdict": held.verdict,
        "setting": where,
        "settings": held.settings,
        "metric": metric.words,
        "unit": metric.unit,
        "found": scaled(held.found, metric),
        "bound": held.bound * metric.factor,
        "words": f"{metric.words}: {number}, line: {side_} {bound} ({of}: {where})",
    }


def _numbers(chapter: Chapter, exhibit: Exhibit) -> list[dict[str, Any]]:
    found = []
    for name in exhibit.metrics:
        metric = chapter.experiment.metrics[name]
        values = {}
        for label in chapter.labels:
            mean = chapter.interval(name, label, exhibit.where)
            if mean is not None:
                values[label] = {**scaled(mean, metric), "shown": shown(mean, metric)}
        if values:
            found.append(
                {
                    "experiment": exhibit.experiment,
                    "setting": setting_in_words(chapter, exhibit.where),
                    "metric": metric.words,
                    "unit": metric.unit,
                    "beside": criteria.side(metric, chapter, name, exhibit.where),
                    "values": values,
                }
            )
    return found


def scaled(found: Interval, metric: MeasureRow) -> dict[str, Any]:
    """Mean, ends of the interval (None for one run) and number of runs, in the metric's unit."""
    single, shown = found.n == 1, found.times(metric.factor)
    return {
        "mean": shown.centre,
        "low": None if single else shown.low,
        "high": None if single else shown.high,
        "n": found.n,
    }


def _plain(chapter: Chapter) -> dict[str, Any]:
    experiment = chapter.experiment
    results = []
    for setting in chapter.settings:
        for name, metric in experiment.metrics.items():
            values = {
                label: scaled(mean, metric)
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
        "missing": chapter.missing,
        "failed": [
            {"algorithm": label, "setting": setting, "error": error}
            for label, setting, error in chapter.failed
        ],
    }
