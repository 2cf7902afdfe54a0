"""Maps over two keys of a sweep: a measure of each algorithm, or the best algorithm at each point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle

from bentpipe import _core
from bentpipe.measures import Scaled, column_named, measure
from bentpipe.plot import words
from bentpipe.plot.drawing import Drawing, blank, note
from bentpipe.plot.looks import size, styled, text
from bentpipe.plot.many import SERIES, Many, many, rest
from bentpipe.plot.measures import measured, per_run, runs, summary
from bentpipe.plot.over_key import failures, known_key
from bentpipe.plot.panels import grid_of
from bentpipe.stats import groups
from bentpipe.sweeps.stored import ManyGiven

_WRITTEN = 12
"""Cells of a map that is wider or higher have no numbers in them."""


def heatmap(
    given: ManyGiven,
    *,
    x: str | None = None,
    y: str | None = None,
    value: str = "goodput_bps",
    best: bool = False,
    by: str | None = None,
    where: Mapping[str, Any] | None = None,
) -> Drawing:
    """A measure over two keys, a map for each algorithm on one scale; or the best algorithm of each cell.

    Args:
        given: a sweep.
        x: the key of the abscissa; by default the first that varies.
        y: the key of the ordinate; by default the second.
        value: a column of the flows or of the links, or one of `bentpipe.plot.measures`.
        best: one map whose cells have the colour of the best algorithm. Algorithms that do not differ from
            the best share the cell (`bentpipe.stats.groups`, 95 %).
        by: the key that distinguishes maps; by default the algorithm.
        where: values of keys: other runs are left out.

    Raises:
        ScenarioError: fewer than two keys vary, or others do too.
    """
    found = many(given, by=by, where=where)
    across, up = _keys(found, x, y)
    value = column_named(value)
    rows = per_run(found, value)
    return (_best if best else _maps)(found, rows, across, up, value)


def _keys(found: Many, x: str | None, y: str | None) -> tuple[str, str]:
    x, y = (key if key is None else known_key(found, key) for key in (x, y))
    left = rest(found, [x, y])
    wanted = [key if key is not None else left.pop(0) if left else None for key in (x, y)]
    across, up = wanted
    if across is None or up is None or across == up:
        known = found.keys[0] if found.keys else ""
        line = f'"link.{found.link}.delay" = ["10 ms", "50 ms", "250 ms"]'
        if "delay" in known:
            line = f'"link.{found.link}.queue.limit" = ["0.25 bdp", "1 bdp", "4 bdp"]'
        raise _core.ScenarioError(
            f"a heat map needs two keys that vary, and here {'only ' + known if known else 'none'} does; "
            f"sweep a scenario with one more line under [vary], for example {line}"
        )
    if left:
        value = found.flows[left[0]].drop_nulls()[0]
        raise _core.ScenarioError(
            f"{' and '.join([across, up, *left])} vary, and a map has two axes: choose with --x and --y, "
            f'and a value of each other with --where "{left[0]}={value}"'
        )
    return across, up


def _maps(found: Many, rows: pl.DataFrame, across: str, up: str, value: str) -> Drawing:
    points = summary(rows, [SERIES, across, up], value, found)
    how = measured(found, value, points["mean"])
    names = [name for name in found.looks if (points[SERIES] == name).any()]
    fig, panels = grid_of(len(names))
    low, high = (float(str(end)) * how.factor for end in (points["mean"].min(), points["mean"].max()))
    norm = mpl.colors.LogNorm(low, high) if how.log else mpl.colors.Normalize(low, high)
    xs, ys = _values(found, across), _values(found, up)
    with styled():
        for axes, name in zip(panels, names, strict=True):
            grid = np.full((len(ys), len(xs)), np.nan)
            for row in points.filter(pl.col(SERIES) == name).iter_rows(named=True):
                grid[ys.index(row[up]), xs.index(row[across])] = row["mean"] * how.factor
            image = axes.imshow(grid, origin="lower", aspect="auto", cmap="viridis", norm=norm)
            _write(axes, grid, norm, len(panels))
            _cells(axes, found, across, up, xs, ys)
            axes.set_title(found.looks[name]["label"], loc="left")
        _outer(panels)
        fig.colorbar(image, ax=panels, label=how.label, fraction=0.08, pad=0.015)
        said = _runs(points["n"])[1] + (", all alike" if points["alike"].all() else "")
        note(fig, f"mean; {said}{failures(found)}")
    names_of = pl.col("mean", "low", "high").name.prefix(f"{value}_")
    fig.data = points.select(SERIES, across, up, names_of, "n", "alike")
    return fig


def _best(found: Many, rows: pl.DataFrame, across: str, up: str, value: str) -> Drawing:
    xs, ys = _values(found, across), _values(found, up)
    now = size()
    with styled():
        fig = blank(now.width, now.height * max(1.15, 0.16 * len(ys)))
        axes = fig.add_subplot()
        cells = []
        how = measured(found, value, rows["y"])
        for (x, y), part in rows.group_by(across, up, maintain_order=True):
            samples = _samples(part)
            paired = len({len(values) for values in samples.values()}) == 1
            leaders = groups(samples, highest_first=measure(value).better == "more", paired=paired)[0]
            one = float(np.mean(samples[leaders[0]]))
            at = xs.index(x), ys.index(y)
            _shared(axes, at, [found.looks[name]["color"] for name in leaders])
            cells.append(
                {across: x, up: y, "best": leaders[0], "as_good": " ".join(leaders[1:]), value: one,
                 "n": len(samples[leaders[0]])}
            )  # fmt: skip
            if max(len(xs), len(ys)) <= _WRITTEN:
                axes.text(
                    at[0], at[1], _digits(one * how.factor), ha="center", va="center",
                    fontsize=6.5 * now.type, color="black",
                    bbox={"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 1.2 * now.type},
                )  # fmt: skip
        axes.set(xlim=(-0.5, len(xs) - 0.5), ylim=(-0.5, len(ys) - 0.5))
        _cells(axes, found, across, up, xs, ys)
        shown = {name for cell in cells for name in (cell["best"], *str(cell["as_good"]).split())}
        patches: Any = [
            Patch(facecolor=look["color"], label=look["label"])
            for name, look in found.looks.items()
            if name in shown
        ]
        fig.legend(handles=patches, loc="outside upper center", ncols=min(4, len(patches)))
        most, said = _runs(pl.DataFrame(cells)["n"])
        same = "" if most == 1 else "; stripes: not told apart at 95 %"
        best = "best" if measure(value).better == "more" else "smallest"
        note(fig, f"{best} {how.label}; {said}{same}{failures(found)}")
    fig.data = pl.DataFrame(cells)
    return fig


def _samples(part: pl.DataFrame) -> dict[str, list[float]]:
    """The runs of each line in the order of their seeds."""
    return {
        str(name): rows.sort("seed")["y"].to_list()
        for (name,), rows in part.group_by(SERIES, maintain_order=True)
    }


def _shared(axes: Axes, at: tuple[int, int], colours: list[str]) -> None:
    """A cell in stripes of the colours."""
    wide = 1 / len(colours)
    for nth, colour in enumerate(colours):
        corner = (at[0] - 0.5 + nth * wide, at[1] - 0.5)
        axes.add_patch(Rectangle(corner, wide, 1, facecolor=colour, linewidth=0))
    axes.add_patch(
        Rectangle((at[0] - 0.5, at[1] - 0.5), 1, 1, facecolor="none", edgecolor="white", linewidth=0.8)
    )


def _outer(panels: list[Axes]) -> None:
    """Names of the axes at the outer maps only."""
    columns = {axes.get_subplotspec().colspan.start for axes in panels}  # type: ignore[union-attr]
    for nth, axes in enumerate(panels):
        if nth < len(panels) - len(columns):
            axes.set_xlabel("")
        if nth % len(columns):
            axes.set_ylabel("")


def _values(found: Many, key: str) -> list[Any]:
    return found.flows[key].drop_nulls().unique().sort().to_list()


def _cells(axes: Axes, found: Many, across: str, up: str, xs: list[Any], ys: list[Any]) -> None:
    axes.grid(visible=False)
    for key, values, axis in ((across, xs, axes.xaxis), (up, ys, axes.yaxis)):
        how = words.scaled(key, found.flows[key])
        numbers = [_named(value, how) for value in values]
        every = max(1, -(-len(values) // 8))
        axis.set_ticks(list(range(0, len(values), every)), numbers[::every])
        axis.set_label_text(how.label)
    axes.tick_params(length=0)


def _named(value: Any, how: Scaled) -> str:
    return words.shown(how, value) if isinstance(value, int | float) else text(str(value))


def _write(axes: Axes, grid: Any, norm: Any, many_panels: int) -> None:
    """Numbers in the cells, if there is room."""
    most = _WRITTEN if many_panels == 1 else 6
    if max(grid.shape) > most:
        return
    for (row, column), value in np.ndenumerate(grid):
        if np.isfinite(value):
            colour = "white" if norm(value) < 0.6 else "black"
            axes.text(
                column, row, _digits(value), ha="center", va="center", color=colour,
                fontsize=(6.5 if many_panels == 1 else 5.5) * size().type,
            )  # fmt: skip


def _digits(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 9.95 else f"{value:#.2g}"


def _runs(each: pl.Series) -> tuple[int, str]:
    most, n = runs(each)
    return (
        most,
        f"{n}: one run for each cell and algorithm" if most == 1 else f"{n} runs for each cell and algorithm",
    )
