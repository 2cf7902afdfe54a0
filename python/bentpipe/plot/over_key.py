"""A measure over a key of a sweep: a line for each algorithm, with its 95 % interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from bentpipe import _core
from bentpipe.measures import measure
from bentpipe.plot import words
from bentpipe.plot.drawing import GREY, Drawing, legend, legend_columns, note
from bentpipe.plot.looks import size, styled, text
from bentpipe.plot.many import SERIES, Many, ManyGiven, column_of, many
from bentpipe.plot.measures import capacity, per_run, summary, told
from bentpipe.plot.panels import Panel, logarithmic, name_axes, panels
from bentpipe.registry import chooses, unknown

BANDS = 6
"""More lines than these have bars instead of bands."""


def against(
    given: ManyGiven,
    *,
    x: str | None = None,
    y: str = "goodput_bps",
    by: str | None = None,
    where: Mapping[str, Any] | None = None,
) -> Drawing:
    """A measure over a key of a sweep: the mean over the seeds with its 95 % interval.

    Args:
        given: a sweep.
        x: the key of the abscissa; by default the only one that varies.
        y: a column of the flows or of the links, or one of `bentpipe.plot.measures`.
        by: the key that distinguishes lines; by default the algorithm.
        where: values of keys: other runs are left out.

    Raises:
        ScenarioError: the sweep lacks a column, or the choice is ambiguous.
    """
    found = many(given, by=by, where=where)
    key = axis_key(found, x, "a number", lambda key: found.flows[key].dtype.is_numeric(), "link.{}.delay")
    return lines(found, key, y)


def axis_key(
    found: Many,
    wanted: str | None,
    what: str,
    fits: Callable[[str], bool],
    example: str,
    values: str = '["10 ms", "50 ms", "250 ms"]',
) -> str:
    """The key of an axis: the one that is wanted, or the only one that fits.

    Args:
        found: the runs.
        wanted: the user's choice.
        what: the keys that fit, in words.
        fits: whether a key fits.
        example: a key that would, with {} for the name of a link.
        values: values that a sweep could give it, as TOML.

    Raises:
        ScenarioError: none fits, or several do; the message names the remedy.
    """
    if wanted is not None:
        return known_key(found, wanted)
    fit = [key for key in found.keys if fits(key)]
    if len(fit) == 1:
        return fit[0]
    if fit:
        raise _core.ScenarioError(f"{' and '.join(fit)} vary; choose one with --x, for example --x {fit[0]}")
    raise _core.ScenarioError(lacks(what, f'"{example.format(found.link)}" = {values}') + others(found))


def lacks(what: str, line: str) -> str:
    """The message for a sweep that does not vary something."""
    return f"nothing here varies {what}; sweep a scenario with this line under [vary]: {line}"


def lines(
    found: Many,
    x: str,
    y: str,
    *,
    y_label: str | None = None,
    fair: list[float] | None = None,
    also: list[str] | None = None,
    said: str = "",
    least: Callable[[Any], Any] | None = None,
) -> Drawing:
    """Means of a measure over a key, in as many panels as other keys need.

    Args:
        found: the runs.
        x: the key.
        y: the measure.
        y_label: instead of the measure's own.
        fair: draw a line there.
        also: keys that the abscissa includes.
        said: more text for the foot.
        least: the smallest possible measure at values of the key, if it is known.
    """
    rows = per_run(found, y)
    fig, drawn = panels(found, rows, [x, *(also or [])])
    across = words.scaled(x, found.flows[x])
    parts = []
    most = _most(found, y)
    with styled():
        up = words.scaled(y, rows["y"])
        if y == "completion_s" and across.log:
            up = replace(up, log=True)
        for panel in drawn:
            ordered = panel.rows if across.names else panel.rows.sort(x)
            points = summary(ordered, [x, SERIES], y, most)
            _draw(panel, points, found, x, across, up)
            if least is not None:
                first, last = (float(str(end)) for end in (points[x].min(), points[x].max()))
                ends = np.geomspace(first, last, 50)
                low = least(ends) * up.factor
                shade: dict[str, Any] = {"color": "0.9", "linewidth": 0, "zorder": 0}
                panel.axes.fill_between(ends * across.factor, low, 0.7 * low.min(), **shade)
            for level in fair or []:
                panel.axes.axhline(level, **GREY)
            parts.append(panel.named(points))
            _scale(panel.axes, across, up, y)
        whole = pl.concat(parts)
        said = told(whole, drawn="band" if len(found.looks) <= BANDS else "bars") + said + failures(found)
        finish(
            fig, drawn, across.label, y_label or up.label, said + ("; dashed: the fair share" if fair else "")
        )
    means = pl.col("mean", "low", "high").name.prefix(f"{y}_")
    fig.data = whole.select(*drawn[0].point, x, SERIES, means, "n", "alike")
    return fig


def finish(fig: Drawing, drawn: list[Panel], x: str, y: str, said: str) -> None:
    """Names of the axes, one legend above the only panel or above all, and the words at the foot.

    Args:
        fig: the figure.
        drawn: its panels.
        x: the name of the abscissa.
        y: the name of the ordinate.
        said: the words at the foot.
    """
    name_axes(fig, drawn, x, y)
    seen = dict[str, Any]()
    for panel in drawn:
        seen.update(zip(*reversed(panel.axes.get_legend_handles_labels()), strict=True))
    if len(drawn) == 1:
        legend(fig, drawn[0].axes)
    elif seen:
        columns = legend_columns(fig, list(seen))
        fig.legend(list(seen.values()), list(seen), loc="outside upper center", ncols=columns)
    note(fig, said)


def failures(found: Many) -> str:
    """The number of missing runs, for the foot of a figure."""
    words = f"; runs that failed and are not shown: {found.failed:,}" if found.failed else ""
    return words + (f"; runs of the sweep that are not there yet: {found.missing:,}" if found.missing else "")


def _draw(
    panel: Panel, points: pl.DataFrame, found: Many, x: str, across: words.Scaled, up: words.Scaled
) -> None:
    for name, look in found.looks.items():
        part = points.filter(pl.col(SERIES) == name)
        if not part.height:
            continue
        at, mean = across.places(part[x]), part["mean"] * up.factor
        panel.axes.plot(at, mean, **look)
        sure = part.filter(pl.col("low").is_not_null())
        at, low, high = across.places(sure[x]), sure["low"] * up.factor, sure["high"] * up.factor
        if not sure.height:
            continue
        if len(found.looks) <= BANDS and sure.height > 1:
            panel.axes.fill_between(at, low, high, color=look["color"], alpha=0.18, linewidth=0)
        else:
            panel.axes.vlines(at, low, high, color=look["color"], linewidth=0.7 * size().type)


def _scale(axes: Axes, across: words.Scaled, up: words.Scaled, y: str) -> None:
    if across.log:
        logarithmic(axes.xaxis)
    if across.names:
        axes.set_xticks(range(len(across.names)), [text(words.named(str(name))) for name in across.names])
    if up.log and measure(y).better == "less":
        logarithmic(axes.yaxis)
        return
    most = axes.dataLim.y1
    room = 1.03 * most if math.isfinite(most) else 0.0  # for the marker of the highest point
    axes.set_ylim(0, max(axes.get_ylim()[1], room))
    if y in ("utilisation", "share", "jain"):
        axes.set_ylim(0, 1.03)


def _most(found: Many, y: str) -> float | None:
    """The largest possible value of a measure, by the links."""
    rates = capacity(found)
    if y != "goodput_bps" or not rates.height:
        return None
    return float(str(rates["rate_bps"].max()))


def known_key(found: Many, wanted: str) -> str:
    """The column of a key that varies.

    Raises:
        ScenarioError: it does not.
    """
    key = column_of(wanted, found.keys)
    if key not in found.keys:
        if chooses(wanted):
            axes = ", ".join(found.keys) or "none"
            raise _core.ScenarioError(f"{wanted} chooses an algorithm and is no axis here; there are: {axes}")
        raise _core.ScenarioError(unknown("key that varies", wanted, found.keys))
    return key


def others(found: Many) -> str:
    """The keys that do vary, for a message."""
    return f"; or choose a key with --x: {', '.join(found.keys)}" if found.keys else ""
