"""Trade-off between an algorithm's throughput and its delay."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.patches import Ellipse, Polygon

from bentpipe.measures import measure
from bentpipe.plot.drawing import Drawing
from bentpipe.plot.looks import grey, size, styled
from bentpipe.plot.many import SERIES, many
from bentpipe.plot.measures import measured, per_run, runs, steady_rate
from bentpipe.plot.over_key import failures, finish
from bentpipe.plot.panels import logarithmic, panels
from bentpipe.sweeps.stored import ManyGiven

LEAST = 3
"""Fewer runs than these have no ellipse."""
_VECTORS = 500
"""More runs than these of one line become a picture within the figure."""


def throughput_delay(
    given: ManyGiven,
    *,
    x: str = "queueing_p95_s",
    y: str = "goodput_bps",
    by: str | None = None,
    where: Mapping[str, Any] | None = None,
) -> Drawing:
    """Goodput against the 95th percentile of the queueing delay: up and to the right is better.

    The delay grows to the left. Each dot is a run, the marker the mean over the seeds, the ellipse one
    standard deviation of the runs. Where the axis is logarithmic, the ellipse is that of the logarithms,
    about their mean, so the marker need not be in its middle. K. Winstein and H. Balakrishnan draw such
    ellipses in TCP ex Machina: Computer-Generated Congestion Control, SIGCOMM 2013. The area above the rate
    of the slowest link is grey.

    Args:
        given: a sweep, or results.
        x: the delay: queueing_p95_s is the percentile of the RTT less the RTT without queues
            (`bentpipe.plot.measures`); any other measure.
        y: the measure of the ordinate.
        by: the key that distinguishes lines; by default the algorithm.
        where: values of keys: other runs are left out.

    Raises:
        ScenarioError: the sweep lacks a column.
    """
    found = many(given, by=by, where=where)
    rows = per_run(found, y).join(
        per_run(found, x).select("run", SERIES, x="y"), on=["run", SERIES], maintain_order="left"
    )
    across, up = measured(found, x, rows["x"]), measured(found, y, rows["y"])
    fig, drawn = panels(found, rows, [])
    with styled():
        for panel in drawn:
            axes = panel.axes
            for name, look in found.looks.items():
                part = panel.rows.filter(pl.col(SERIES) == name)
                if part.height:
                    _cloud(axes, part["x"] * across.factor, part["y"] * up.factor, look, log=across.log)
            if across.log:
                logarithmic(axes.xaxis)
        low, high = sorted(drawn[0].axes.get_xlim())
        drawn[0].axes.set_xlim(high, low if across.log else min(0.0, low))
        limit = steady_rate(found) if y == "goodput_bps" else None
        for panel in drawn:
            if limit is not None:
                rate = limit * up.factor
                panel.axes.axhspan(rate, 2 * rate, color="0.9", linewidth=0, zorder=0)
                panel.axes.set_ylim(0, 1.08 * rate)
            if measure(y).better == "more" and measure(x).better == "less":
                _better(panel.axes)
        finish(fig, drawn, across.label, up.label, _foot(rows, log=across.log) + failures(found))
    marked = pl.concat([panel.rows for panel in drawn])
    means = pl.col("x", "y").mean().over(SERIES, *found.keys).name.suffix("_mean")
    fig.data = marked.with_columns(means).select(
        SERIES, *found.keys, "run", "seed",
        *(pl.col(of + end).alias(name + end) for end in ("", "_mean") for of, name in (("x", x), ("y", y))),
    )  # fmt: skip
    return fig


def _cloud(axes: Axes, x: pl.Series, y: pl.Series, look: dict[str, Any], *, log: bool) -> None:
    """The runs of a line, their mean, and the ellipse of one standard deviation."""
    xs, ys = x.to_numpy(), y.to_numpy()
    place = np.log(xs) if log else xs
    scale = size().type
    if len(xs) > 1:
        axes.plot(
            xs, ys, linestyle="", marker=".", markersize=2.2 * scale, color=look["color"], alpha=0.45,
            rasterized=len(xs) > _VECTORS,
        )  # fmt: skip
    if len(xs) >= LEAST and (place.std() > 0 or ys.std() > 0):
        _ellipse(axes, np.column_stack([place, ys]), look, log=log)
    bold = {"linestyle": "", "markersize": 5.5 * scale, "markeredgewidth": 1.3 * scale}
    axes.plot([xs.mean()], [ys.mean()], **(look | bold))


def _ellipse(axes: Axes, points: Any, look: dict[str, Any], *, log: bool) -> None:
    spread = np.cov(points.T)
    sizes, ways = np.linalg.eigh(spread)
    long, short = np.sqrt(np.maximum(sizes[::-1], 0))
    way = ways[:, 1]
    if not log:
        ring: Any = Ellipse(
            tuple(points.mean(axis=0)), 2 * long, 2 * short, angle=math.degrees(math.atan2(way[1], way[0]))
        )
    else:
        turn = np.linspace(0, 2 * np.pi, 90)
        other = ways[:, 0]
        edge = (
            points.mean(axis=0) + np.outer(long * np.cos(turn), way) + np.outer(short * np.sin(turn), other)
        )
        ring = Polygon(np.column_stack([np.exp(edge[:, 0]), edge[:, 1]]), closed=True)
    ring.set(facecolor=look["color"], alpha=0.16, linewidth=0)
    axes.add_patch(ring)


def _better(axes: Axes) -> None:
    """An arrow towards less delay and more throughput."""
    axes.annotate(
        "better", xy=(0.99, 0.99), xytext=(0.86, 0.82), xycoords="axes fraction", ha="right", va="top",
        color=grey(0.4), fontsize=7 * size().type,
        arrowprops={"arrowstyle": "-|>", "color": grey(0.4), "linewidth": 0.8 * size().type},
    )  # fmt: skip


def _foot(rows: pl.DataFrame, *, log: bool) -> str:
    """The number of runs behind each marker."""
    heads = [name for name in rows.columns if name not in ("run", "seed", "x", "y")]
    spread = [(pl.col(name).max() - pl.col(name).min()).alias(name) for name in ("x", "y")]
    markers = rows.group_by(heads).agg(pl.len().alias("n"), *spread)
    most, n = runs(markers["n"])
    if most == 1:
        return "n = 1: one run for each marker, so no ellipses"
    alike = markers.filter(pl.col("n") > 1, pl.col("x") == 0, pl.col("y") == 0).height
    if alike == markers.height:
        return f"{n} runs for each marker, all alike: nothing random had an effect"
    of = " of the logarithms" if log else ""
    ring = f"ellipse: one standard deviation{of}" if most >= LEAST else f"fewer than {LEAST}, so no ellipses"
    same = f"; runs are alike at {alike} of {markers.height} markers" if alike else ""
    return f"{n} runs for each marker, the mean; {ring}{same}"
