"""The figures of a chapter: interactive charts, and rows of points where one axis has names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bentpipe import registry
from bentpipe.evaluation.answers import setting_in_words
from bentpipe.evaluation.chapter import Chapter, Chart, Setting
from bentpipe.measures import MeasureRow
from bentpipe.pages import Axis, Curve, Page
from bentpipe.stats import Interval

if TYPE_CHECKING:
    from bentpipe.evaluation.assessment import Evaluation

LONGEST = 34
"""Characters of the label of an upright axis: more do not fit its length."""
Points = Sequence[tuple[Any, Mapping[str, Interval]]]
"""Values of a part of the setting, each with the means of the algorithms."""


def draw(page: Page, evaluation: Evaluation, chapter: Chapter, chart: Chart) -> None:
    """Adds a chart of a chapter to the page; nothing if it has no numbers."""
    if chart.along:
        _tradeoff(page, evaluation, chapter, chart)
        return
    for title, where in _panels(chapter, chart):
        if chart.label:
            _course(page, evaluation, chapter, chart, title, where)
        else:
            _curves(page, evaluation, chapter, chart, title, where)


def _panels(chapter: Chapter, chart: Chart) -> Iterator[tuple[str, dict[str, Any]]]:
    """The parts of a setting that each panel of a chart has, with words for its title."""
    matching, panel = chapter.matching(chart.where), chart.panel
    if panel is None:
        if matching:
            yield "", dict(chart.where)
        return
    for value in dict.fromkeys(setting[panel] for setting in matching if panel in setting):
        yield setting_in_words(chapter, {panel: value}), {**chart.where, panel: value}


def _curves(
    page: Page, evaluation: Evaluation, chapter: Chapter, chart: Chart, title: str, where: Setting
) -> None:
    """A curve for each algorithm, or a row for each name; a logarithmic axis is one of names, too."""
    metric, axis = chapter.metrics[chart.metric], chapter.axes[chart.x]
    at = dict.fromkeys(s[chart.x] for s in chapter.matching(where) if chart.x in s)
    every = ((value, chapter.intervals(chart.metric, {**where, chart.x: value})) for value in at)
    points = [(value, found) for value, found in every if found]
    if not points:
        return
    fixed = {key: value for key, value in where.items() if key != chart.panel}
    said = ", ".join(part for part in (title, setting_in_words(chapter, fixed)) if part)
    runs = max(one.n for _, found in points for one in found.values())
    text = {
        "title": metric.title + (f" ({said})." if said else "."),
        "caption": f"Means of {runs} runs with 95 % intervals." if runs > 1 else "One run each.",
    }
    if any(isinstance(value, str) for value, _ in points):
        alt = f"{metric.words} by {axis}{', ' + said if said else ''}"
        _rows(page, evaluation, metric, points, log=chart.log_y, alt=alt, **text)
        return
    names = [_short(value) for value, _ in points] if chart.log_x else []
    curves = []
    for label in chapter.labels:
        own = [(nth if names else value, of[label]) for nth, (value, of) in enumerate(points) if label in of]
        if own:
            x = [float(place) for place, _ in own]
            y, low, high = ([one[end] * metric.factor for _, one in own] for end in range(3))
            curves.append(_curve(evaluation, label, x, y, low=low, high=high, kind="both"))
    page.chart(
        curves,
        x=Axis(axis, names=names),
        y=_axis(metric, log=chart.log_y),
        alt=f"{metric.words} against {axis}{', ' + said if said else ''}",
        **text,
    )


def _rows(
    page: Page, evaluation: Evaluation, metric: MeasureRow, points: Points, *, log: bool, **text: Any
) -> None:
    """A row for each name, with the algorithms below each other: names stay readable on a phone."""
    import polars as pl
    from matplotlib.figure import Figure

    from bentpipe.plot import looks

    number = len(evaluation.contenders)
    apart = 0.7 / number
    rows: list[dict[str, object]] = []
    with looks.styled():
        fig = Figure(figsize=(3.7, 0.6 + (0.13 + 0.13 * number) * len(points)), layout="constrained")
        axes = fig.subplots()
        for nth, contender in enumerate(evaluation.contenders):
            label = contender.label
            style = looks.look(contender.style, label) | {"linestyle": ""}
            for place, (value, found) in enumerate(points):
                if label not in found:
                    continue
                one = found[label].times(metric.factor)
                bars = None if one.n == 1 else [[max(arm, 0)] for arm in one.arms]
                y = place + (nth - (number - 1) / 2) * apart
                axes.errorbar([one.centre], [y], xerr=bars, elinewidth=0.8, **style)
                style["label"] = "_"
                ends = {"mean": one.centre, "low": one.low, "high": one.high}
                rows.append({"algorithm": label, "setting": value, **ends})
        axes.set_yticks(range(len(points)), [looks.text(str(value)) for value, _ in points])
        axes.set_ylim(len(points) - 0.5, -0.5)
        if log:
            axes.set_xscale("log")
        elif metric.least == 0:
            axes.set_xlim(left=0)
        axes.set_xlabel(metric.label)
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=number, borderaxespad=0)
        page.figure(fig, data=pl.DataFrame(rows), **text)


def _tradeoff(page: Page, evaluation: Evaluation, chapter: Chapter, chart: Chart) -> None:
    across, up = (chapter.metrics[name] for name in (chart.x, chart.y))
    curves = []
    for label in chapter.labels:
        points = []
        for setting in chapter.matching(chart.where):
            x, y = (chapter.interval(name, label, setting) for name in (chart.x, chart.y))
            if x is not None and y is not None:
                note = setting_in_words(chapter, {chart.along: setting[chart.along]})
                points.append((x.centre * across.factor, y.centre * up.factor, note))
        if points:
            xs, ys, notes = zip(*points, strict=True)
            curves.append(_curve(evaluation, label, xs, ys, kind="both", notes=notes))
    if curves:
        page.chart(
            curves,
            x=_axis(across),
            y=_axis(up),
            alt=f"{up.words} against {across.words}",
            title=f"{up.title} against {across.words}.",
            caption=f"Along each curve: {chapter.axes[chart.along]}. Means of the runs.",
        )


def _course(
    page: Page, evaluation: Evaluation, chapter: Chapter, chart: Chart, title: str, where: Setting
) -> None:
    curves = [
        _curve(evaluation, label, times, values, kind="line")
        for setting, label, times, values in chapter.courses
        if times and where.items() <= setting.items()
    ]
    if curves:
        what = chart.label.partition(",")[0]
        page.chart(
            curves,
            x=Axis("time, s"),
            y=Axis(chart.label, least=0),
            alt=f"{chart.label} over time, {title}",
            title=f"{what[0].upper()}{what[1:]} over time ({title}).",
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


def _short(value: float) -> str:
    """A number for a narrow place: "300k"."""
    for factor, prefix in ((1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:g}{prefix}"
    return f"{value:g}"
