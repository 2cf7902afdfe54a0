"""The look of the studies' figures: one column of a two-column paper wide, saved the same everywhere.

Inside `bentpipe.plot.sized("screen")` they have that size.
"""

from __future__ import annotations

import re
import textwrap
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Annotation

from bentpipe import registry
from bentpipe.plot import looks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl
    from matplotlib.axes import Axes

    from bentpipe.stats import Interval


def styled() -> AbstractContextManager[None]:
    """The settings of studies; the type and the lines of axes and legends follow the size of now."""
    return looks.fixed(looks.STUDY, "axes.", "grid.", "legend.", "xtick.", "ytick.")


def figure(height: float, rows: int = 1, columns: int = 1, **options: Any) -> tuple[Figure, Sequence[Axes]]:
    """A figure as wide as the size of now, and its axes as a flat list.

    ``height`` is in inches for a figure one column wide; at another size it is as much higher as other
    figures of that size.
    """
    size = looks.size()
    with styled():
        fig = Figure(figsize=(size.width, height * size.height / looks.HEIGHT), layout="constrained")
        FigureCanvasAgg(fig)
        axes = fig.subplots(rows, columns, squeeze=False, **options)
    return fig, list(axes.flat)


def enlarge(fig: Figure) -> None:
    """Lines, marks and words inside the axes of a finished figure, for the size of now.

    Their sizes are given for a column of a paper. The type of axes and legends is that of `styled`.
    """
    scale = looks.size().type
    inside = [artist for axes in fig.axes for artist in (*axes.lines, *axes.patches, *axes.collections)]
    handles = [handle for legend in fig.findobj(Legend) for handle in legend.findobj(Artist)]
    for artist in (*inside, *handles):
        if isinstance(artist, Line2D):
            artist.set(
                linewidth=scale * artist.get_linewidth(),
                markersize=scale * artist.get_markersize(),
                markeredgewidth=scale * artist.get_markeredgewidth(),
            )
        elif isinstance(artist, Patch):
            artist.set_linewidth(scale * artist.get_linewidth())
        elif isinstance(artist, LineCollection):
            artist.set_linewidth([scale * float(width) for width in np.atleast_1d(artist.get_linewidth())])
    for words in (words for axes in fig.axes for words in axes.texts):
        words.set_fontsize(scale * float(words.get_fontsize()))
        if isinstance(words, Annotation) and words.anncoords == "offset points":
            words.xyann = tuple(scale * np.asarray(words.xyann))
        if isinstance(words, Annotation) and words.arrow_patch is not None:
            words.arrow_patch.set_linewidth(scale * words.arrow_patch.get_linewidth())


def panel_title(axes: Axes, text: str) -> None:
    """The title of a panel, flush left above it."""
    axes.set_title(text, loc="left", pad=4)


def legend(fig: Figure, *handles: Artist, **options: Any) -> None:
    """The legend above a figure, in one row unless there is an option ``ncols``."""
    fig.legend(handles=handles, loc="outside upper center", **({"ncols": len(handles)} | options))


def save(fig: Figure, stem: Path) -> list[Path]:
    """Write ``stem`` as PDF, SVG and PNG (300 dpi), without dates so that equal runs give equal files."""
    # All three have the layout that is found here; each would take as long to find it as to be written.
    with styled():
        fig.draw_without_rendering()
        fig.set_layout_engine(None)
    return [save_as(fig, stem.with_suffix(kind)) for kind in (".pdf", ".svg", ".png")]


def save_as(fig: Figure, path: Path) -> Path:
    """Write one file of the kind that its name ends with: .pdf, .svg or .png."""
    with styled():
        content = looks.encoded(fig, path.suffix.removeprefix("."), 300)
    path.write_bytes(_short(content.decode()).encode() if path.suffix == ".svg" else content)
    return path


def _short(svg: str) -> str:
    """An SVG file whose paths are drawn to a hundredth of a point."""
    return re.sub(
        r' (?:d|x|y)="[^"]+"', lambda d: re.sub(r"\d+\.\d{3,}", lambda n: f"{float(n[0]):.2f}", d[0]), svg
    )


def look(cc: str, size: float = 3.5, label: str | None = None) -> dict[str, Any]:
    """Colour, marker and label of an algorithm, as keyword arguments of a line."""
    style = registry.style(cc)
    return {
        "color": style["colour"],
        "marker": style["marker"],
        "markersize": size,
        "label": style["label"] if label is None else label,
    }


def row(keys: Mapping[str, object], got: Interval, **more: object) -> dict[str, object]:
    """A row of a figure's data: keys, then mean, ends of the interval and number of seeds."""
    return {**keys, "mean": got.centre, "low": got.low, "high": got.high, "seeds": got.n, **more}


def curve(axes: Axes, x: Sequence[float], got: Sequence[Interval], **options: Any) -> None:
    """Means joined by a line, with their intervals."""
    ends = {"elinewidth": 0.8, "capsize": 2, "capthick": 0.8}
    axes.errorbar(x, [m.centre for m in got], yerr=_arms(got), **(ends | options))


def _arms(got: Sequence[Interval]) -> Any:
    """The bars of intervals: below the means, and above them."""
    return np.array([mean.arms for mean in got]).T


def family(
    axes: Axes,
    x: tuple[str, Sequence[float]],
    got: Mapping[str, Sequence[Interval]],
    looks: Mapping[str, dict[str, Any]],
    apart: float = 0,
    **options: Any,
) -> list[dict[str, object]]:
    """A `curve` for each algorithm, and its points as rows of the figure's data.

    Args:
        axes: the axes to draw on.
        x: the name of the abscissa, and its values.
        got: the means of each algorithm.
        looks: options of the line of each algorithm (`look`).
        apart: points of neighbouring algorithms at the same value are set apart by this.
        options: of all curves.
    """
    name, values = x
    rows = []
    for i, (cc, means) in enumerate(got.items()):
        shift = apart * (i - (len(got) - 1) / 2)
        curve(axes, [value + shift for value in values], means, **looks[cc], **options)
        rows += [row({"cc": cc, name: value}, mean) for value, mean in zip(values, means, strict=True)]
    return rows


def bars(
    axes: Axes, at: Sequence[float], got: Sequence[Interval], width: float, cap: float = 2, **options: Any
) -> None:
    """Bars of one look, each a mean with its interval."""
    line = {"elinewidth": 0.8, "capsize": cap, "capthick": 0.8, "ecolor": "black"}
    axes.bar(at, [m.centre for m in got], width, yerr=_arms(got), error_kw=line, **options)


def hatched(cc: str) -> dict[str, Any]:
    """The look of the bars of a flow that runs beside the one under test, as options of `bars`."""
    colour = registry.style(cc)["colour"]
    return {"facecolor": "white", "edgecolor": colour, "hatch": "/////", "linewidth": 0.7}


def printed(
    axes: Axes,
    at: float,
    width: float,
    value: float,
    thick: float = 1.6,
    dash: float = 1,
    ends: Literal["butt", "projecting"] = "butt",
) -> None:
    """A mark across a bar: the value that the paper prints."""
    x, y = [at - width / 2, at + width / 2], [value, value]
    axes.plot(x, y, color="white", linewidth=2.8, solid_capstyle=ends, zorder=4)
    axes.plot(x, y, color="black", linewidth=thick, linestyle=(0, (dash, 0.6)), zorder=5)


def names(axes: Axes, labels: Sequence[str], *, slanted: bool = False) -> None:
    """Names under bars at 0, 1, 2, ..."""
    turned: dict[str, Any] = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if slanted else {}
    axes.set_xticks(range(len(labels)), labels, **turned)
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="x", visible=False)


def bands(axes: Axes, data: pl.DataFrame, looks: Mapping[str, dict[str, Any]], every: int) -> None:
    """A line for each algorithm with its interval as a band, the first on top, markers staggered.

    Args:
        axes: the axes to draw on.
        data: as `over_seeds` gives it, by ``cc`` and ``t_s``.
        looks: options of the line of each algorithm (`look`).
        every: rows from one marker to the next.
    """
    for i, (cc, style) in enumerate(reversed(list(looks.items()))):
        one = data.filter(data["cc"] == cc)
        axes.fill_between(one["t_s"], one["low"], one["high"], color=style["color"], alpha=0.2, linewidth=0)
        first = i * every // len(looks)
        axes.plot(one["t_s"], one["mean"], linewidth=0.9, markevery=(first, every), **style)


#: Most characters of a line of a cell of a `table`, its size of text in points, and inches of a character
#: and of a line.
CELL, SMALL, ACROSS, DOWN = 44, 7.5, 0.064, 0.125


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Figure:
    """A table as a figure: rules above and below the head and at the end, long cells in several lines."""
    lines = [[textwrap.wrap(cell, CELL) or [""] for cell in cells] for cells in (head, *rows)]
    wide = [max(len(line) for cells in lines for line in cells[i]) + 2 for i in range(len(head))]
    high = [max(map(len, cells)) + 0.6 for cells in lines]
    width, height = sum(wide) * ACROSS, sum(high) * DOWN
    size = looks.size()
    scale = size.width / (width + 0.2) if size.exact else size.type
    with styled():
        fig = Figure(figsize=(scale * (width + 0.2), scale * (height + 0.2)))
        FigureCanvasAgg(fig)
        ax = fig.add_axes(
            (0.1 / (width + 0.2), 0.1 / (height + 0.2), width / (width + 0.2), height / (height + 0.2))
        )
        ax.set(xlim=(0, sum(wide)), ylim=(sum(high), 0))
        ax.axis("off")
        top = 0.0
        for number, (cells, tall) in enumerate(zip(lines, high, strict=True)):
            weight = "normal" if number else "bold"
            for i, cell in enumerate(cells):
                at, text = sum(wide[:i]) + 0.5, "\n".join(cell)
                ax.text(
                    at, top + 0.3, text, va="top", fontsize=scale * SMALL, weight=weight, parse_math=False
                )
            top += tall
            if number in (0, len(lines) - 1):
                ax.axhline(top, color="black", linewidth=0.8 * scale)
        ax.axhline(0, color="black", linewidth=0.8 * scale)
    return fig
