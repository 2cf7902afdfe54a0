"""Panels of a figure of many runs: one, or one for each value of a key that the axes do not show."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from bentpipe import _core
from bentpipe.plot.drawing import Drawing, blank
from bentpipe.plot.looks import WIDTH, size, styled
from bentpipe.plot.many import Many, rest
from bentpipe.plot.words import valued

MOST = 9
"""Most panels of a figure."""
_NARROWEST = 0.7 * WIDTH
"""Inches below which a panel of a figure of an exact width is too narrow."""


@dataclass(frozen=True)
class Panel:
    """One panel: its axes, the rows that it shows, and the values of keys that these have in common."""

    axes: Axes
    rows: pl.DataFrame
    point: dict[str, Any]

    def named(self, frame: pl.DataFrame) -> pl.DataFrame:
        """A frame of its numbers with those values as columns in front."""
        own = [pl.lit(value).alias(key) for key, value in self.point.items()]
        return frame.select(*own, pl.all().exclude(*self.point)) if own else frame


def panels(found: Many, rows: pl.DataFrame, used: Sequence[str | None]) -> tuple[Drawing, list[Panel]]:
    """A figure with the panels that the rows need.

    Args:
        found: the runs.
        rows: the result of `per_run`.
        used: the keys that the axes show.

    Raises:
        ScenarioError: keys vary that would need too many panels; the message says how to choose.
    """
    left = rest(found, used)
    points = rows.select(left).unique(maintain_order=True).sort(left).rows() if left else [()]
    if len(points) > MOST:
        first = found.flows[left[0]].drop_nulls()[0]
        raise _core.ScenarioError(
            f"{' and '.join(left)} vary too, and that would be {len(points)} panels, more than {MOST}: "
            f'choose with --where "{left[0]}={first}" (in Python: where={{"{left[0]}": {first!r}}})'
        )
    across = rows[left[-1]].n_unique() if len(left) > 1 else 0
    fig, grid = grid_of(len(points), across if 1 < across <= 4 and len(points) % across == 0 else None)
    columns = len({axes.get_position().x0 for axes in grid})
    fits = letters(fig, columns, 0.62)
    drawn = []
    for axes, point in zip(grid, points, strict=True):
        wanted = [pl.col(key).eq_missing(pl.lit(value)) for key, value in zip(left, point, strict=True)]
        part = rows.filter(*wanted) if wanted else rows
        each = (valued(key, value) for key, value in zip(left, point, strict=True))
        title = "\n".join(textwrap.fill(words, fits) for words in each)
        with styled():
            axes.set_title(title, loc="left")
        drawn.append(Panel(axes, part, dict(zip(left, point, strict=True))))
    return fig, drawn


def letters(fig: Drawing, columns: int, each: float) -> int:
    """The letters of 8 pt that fit across a column of panels; `each` is the width of one, in em."""
    return int(fig.get_figwidth() * 72 / columns / (each * 8 * size().type))


def grid_of(many: int, columns: int | None = None) -> tuple[Drawing, list[Axes]]:
    """A figure of `many` panels. Those of a row share the ordinate, those of a column the abscissa.

    In a figure of an exact width the panels are stacked where they would be too narrow side by side.
    """
    now = size()
    columns = columns or (2 if many in (2, 4) else min(3, many))
    height = now.height
    if now.exact:
        columns = max(1, min(columns, int(now.width / _NARROWEST)))
        height = max(now.height / columns, _NARROWEST * now.height / now.width)
    rows = -(-many // columns)
    wide = now.at_least(2 * WIDTH + 0.16) if columns > 1 else now.width
    with styled():
        fig = blank(wide, height * (1 if rows == 1 else 0.86 * rows))
        grid = fig.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        axes = list(grid.flat)
        for spare in axes[many:]:
            spare.remove()
        for above in axes[max(0, many - columns) : many]:
            above.tick_params(labelbottom=True)
    return fig, axes[:many]


def logarithmic(axis: Axis, at: Sequence[float] = ()) -> None:
    """Makes an axis logarithmic, of less than three decades with plain numbers.

    They are at the values `at` if all of these have room, and else at 1, with room at 2 and 5.
    """
    if axis is axis.axes.xaxis:
        axis.axes.set_xscale("log")
    else:
        axis.axes.set_yscale("log")
    low, high = sorted(axis.get_view_interval())
    if high / low < 800:
        decade = axis.axes.bbox.width / axis.axes.figure.dpi * 72 / math.log10(high / low)
        each = decade / 3
        letter = 8 * size().type
        names = [f"{value:.4g}" for value in sorted(at)]
        room = [decade * math.log10(one / other) for other, one in itertools.pairwise(sorted(at))]
        if room and min(room) > (0.6 * max(map(len, names)) + 0.8) * letter:
            axis.set_major_locator(FixedLocator(sorted(at)))
            axis.set_minor_locator(NullLocator())
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.4g}"))
            return
        digits = max(len(f"{10.0 ** math.floor(math.log10(end)):g}") for end in (low, high))
        fits = axis is not axis.axes.xaxis or each > (0.6 * digits + 0.8) * letter
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if fits else (1.0,)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())
