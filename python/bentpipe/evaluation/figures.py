"""The figures of a chapter: interactive charts, and rows of points where one axis has names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bentpipe import registry
from bentpipe.evaluation.answers import setting_in_words
from bentpipe.evaluation.experiment import Course, Curves, Setting, Tradeoff
from bentpipe.measures import MeasureRow
from bentpipe.pages import Axis, Curve, Page
from bentpipe.stats import Interval

if TYPE_CHECKING:
    from bentpipe.evaluation.assessment import Evaluation
    from bentpipe.evaluation.chapter import Chapter

LONGEST = 34
"""Characters of the label of an upright axis: more do not fit its length."""


def draw(page: Page, evaluation: Evaluation, chapter: Chapter, chart: Curves | Tradeoff | Course) -> None:
    """Adds a chart of a chapter to the page; nothing if it has no numbers."""
    if isinstance(chart, Curves):
        _curves(page, evaluation, chapter, chart)
    elif isinstance(chart, Tradeoff):
        _tradeoff(page, evaluation, chapter, chart)
    else:
        _course(page, evaluation, chapter, chart)


def _panels(chapter: Chapter, panel: str | None, where: Setting) -> Iterator[tuple[str, dict[str, Any]]]:
    """The parts of a setting that each chart has, with words for its title."""
    matching = chapter.matching(where)
    if panel is None:
        if matching:
            yield "", dict(where)
        return
    for value in dict.fromkeys(setting[panel] for setting in matching if panel in setting):
        yield setting_in_words(chapter, {panel: value}), {**where, panel: value}


def _curves(page: Page, evaluation: Evaluation, chapter: Chapter, chart: Curves) -> None:
    for title, where in _panels(chapter, chart.panel, chart.where):
        at = list(dict.fromkeys(s[chart.x] for s in chapter.matching(where) if chart.x in s))
        found = {
            label: [chapter.interval(chart.metric, label, {**where, chart.x: value}) for value in at]
            for label in chapter.labels
        }
        there = [i for i in range(len(at)) if any(of[i] is not None for of in found.values())]
        if not there:
            continue
        at = [at[i] for i in there]
        found = {label: [of[i] for i in there] for label, of in found.items()}
        fixed = {key: value for key, value in where.items() if key != chart.panel}
        said = ", ".join(part for part in (title, setting_in_words(chapter, fixed)) if part)
        drawn = _rows if any(isinstance(value, str) for value in at) else _lines
        drawn(page, evaluation, chapter, chart, at, found, said)


def _lines(
    page: Page,
    evaluation: Evaluation,
    chapter: Chapter,
    chart: Curves,
    at: Sequence[float],
    found: Mapping[str, Sequence[Interval | None]],
    said: str,
) -> None:
    """A curve for each algorithm; a logarithmic axis becomes one with the values at equal distances."""
    metric = chapter.experiment.metrics[chart.metric]
    names = [_short(value) for value in at] if chart.log_x else []
    curves = []
    for label, of in found.items():
        there = [(i if names else float(at[i]), one) for i, one in enumerate(of) if one is not None]
        if there:
            ends = [[end * metric.factor for _, one in there for end in [one[k]]] for k in range(3)]
            x = [float(x) for x, _ in there]
            curves.append(_curve(evaluation, label, x, ends[0], low=ends[1], high=ends[2], kind="both"))
    axis = chapter.experiment.axes[chart.x]
    page.chart(
        curves,
        x=Axis(axis, names=names),
        y=_axis(metric, log=chart.log_y),
        alt=f"{metric.words} against {axis}{', ' + said if said else ''}",
        title=metric.title + (f" ({said})." if said else "."),
        caption=_runs(found),
    )


def _rows(
    page: Page,
    evaluation: Evaluation,
    chapter: Chapter,
    chart: Curves,
    at: Sequence[object],
    found: Mapping[str, Sequence[Interval | None]],
    said: str,
) -> None:
    """A row for each name, with the algorithms below each other: names stay readable on a phone."""
    import polars as pl
    from matplotlib.figure import Figure

    from bentpipe.plot.looks import look, styled, text

    metric = chapter.experiment.metrics[chart.metric]
    apart = 0.7 / len(found)
    rows: list[dict[str, object]] = []
    with styled():
        fig = Figure(figsize=(3.7, 0.6 + (0.13 + 0.13 * len(found)) * len(at)), layout="constrained")
        axes = fig.subplots()
        for nth, (label, of) in enumerate(found.items()):
            contender = next(one for one in evaluation.contenders if one.label == label)
            style = look(contender.style, label) | {"linestyle": ""}
            for place, (value, one) in enumerate(zip(at, of, strict=True)):
                if one is None:
                    continue
                centre, low, high = (end * metric.factor for end in one[:3])
                bars = None if one.n == 1 else [[max(centre - low, 0)], [max(high - centre, 0)]]
                y = place + (nth - (len(found) - 1) / 2) * apart
                axes.errorbar([centre], [y], xerr=bars, elinewidth=0.8, **style)
                style["label"] = "_"
                rows.append({"algorithm": label, "setting": value, "mean": centre, "low": low, "high": high})
        axes.set_yticks(range(len(at)), [text(str(value)) for value in at])
        axes.set_ylim(len(at) - 0.5, -0.5)
        if chart.log_y:
            axes.set_xscale("log")
        elif metric.least == 0:
            axes.set_xlim(left=0)
        axes.set_xlabel(metric.label)
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(found), borderaxespad=0)
        page.figure(
            fig,
            alt=f"{metric.words} by {chapter.experiment.axes[chart.x]}{', ' + said if said else ''}",
            title=metric.title + (f" ({said})." if said else "."),
            caption=_runs(found),
            data=pl.DataFrame(rows),
        )


def _tradeoff(page: Page, evaluation: Evaluation, chapter: Chapter, chart: Tradeoff) -> None:
    x_metric, y_metric = (chapter.experiment.metrics[name] for name in (chart.x, chart.y))
    curves = []
    for contender in evaluation.contenders:
        x, y, said = [], [], []
        for setting in chapter.matching(chart.where):
            across = chapter.interval(chart.x, contender.label, setting)
            up = chapter.interval(chart.y, contender.label, setting)
            if across is not None and up is not None:
                x.append(across.centre * x_metric.factor)
                y.append(up.centre * y_metric.factor)
                said.append(setting_in_words(chapter, {chart.along: setting[chart.along]}))
        if x:
            curves.append(_curve(evaluation, contender.label, x, y, kind="both", notes=said))
    if curves:
        page.chart(
            curves,
            x=_axis(x_metric),
            y=_axis(y_metric),
            alt=f"{y_metric.words} against {x_metric.words}",
            title=f"{y_metric.title} against {x_metric.words}.",
            caption=f"Along each curve: {chapter.experiment.axes[chart.along]}. Means of the runs.",
        )


def _course(page: Page, evaluation: Evaluation, chapter: Chapter, chart: Course) -> None:
    for title, where in _panels(chapter, chart.panel, chart.where):
        curves = []
        for setting, label, times, values in chapter.courses:
            if times and all(setting.get(key) == value for key, value in where.items()):
                curves.append(_curve(evaluation, label, times, values, kind="line"))
        if curves:
            page.chart(
                curves,
                x=Axis("time, s"),
                y=Axis(chart.label, least=0),
                alt=f"{chart.label} over time, {title}",
                title=f"{_capital(chart.label.partition(',')[0])} over time ({title}).",
                caption="The run of seed 1.",
            )


def _curve(evaluation: Evaluation, label: str, x: Sequence[float], y: Sequence[float], **more: Any) -> Curve:
    contender = next(one for one in evaluation.contenders if one.label == label)
    style = registry.style(contender.style)
    known = [one.style for one in evaluation.contenders]
    own = known.index(contender.style) == evaluation.contenders.index(contender)
    colour = registry.colours(known)[contender.style] if own else ""
    return Curve(label, x, y, colour=colour, marker=style["marker"], **more)


def _axis(metric: MeasureRow, *, log: bool = False) -> Axis:
    """From zero, up to the metric's upper end if it has one; long words appear in the title alone."""
    least = None if log or metric.least != 0 else 0.0
    label = metric.label if len(metric.label) <= LONGEST else metric.unit or metric.words
    return Axis(label, log=log, least=least)


def _runs(found: Mapping[str, Sequence[Interval | None]]) -> str:
    runs = max(one.n for of in found.values() for one in of if one is not None)
    return f"Means of {runs} runs with 95 % intervals." if runs > 1 else "One run each."


def _short(value: float) -> str:
    """A number for a narrow place: "300k"."""
    for factor, prefix in ((1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:g}{prefix}"
    return f"{value:g}"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
