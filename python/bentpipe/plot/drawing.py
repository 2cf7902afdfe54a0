"""Figures that show themselves in a notebook and hold their numbers, and the parts that all of them share."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import polars as pl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from bentpipe import _core
from bentpipe.io.files import FIGURES, Kind, check_kind, replace_frame
from bentpipe.plot import looks

GREY: dict[str, Any] = {"color": "0.4", "linewidth": 0.6, "linestyle": (0, (6, 3))}
"""The style of lines for the limits of the path."""
NUMBERS = {
    ".csv": Kind("the numbers of a figure", (b"figure,",)),
    ".parquet": Kind("a Parquet table", (b"PAR1",)),
}
"""The formats that the numbers of a figure are written in."""
_MARKS = 8
_NOTEBOOK_DPI = 110


class Drawing(Figure):
    """A matplotlib figure that a notebook shows by itself, with the numbers that it draws.

    Attributes:
        data: the numbers, a row for each point, with units in the names of the columns; empty if the figure
            has no such table.
    """

    data: pl.DataFrame = pl.DataFrame()

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """The picture for a notebook, at twice the pixels of its place."""
        with looks.styled():
            picture = looks.encoded(self, "png", 2 * _NOTEBOOK_DPI)
        width, height = (round(inches * _NOTEBOOK_DPI) for inches in self.get_size_inches())
        return picture, {"width": width, "height": height}


def blank(width: float | None = None, height: float | None = None) -> Drawing:
    """An empty figure without a panel; by default of the size of now."""
    size = looks.size()
    fig = Drawing(figsize=(width or size.width, height or size.height), layout="constrained")
    FigureCanvasAgg(fig)
    return fig


def figure(width: float | None = None, height: float | None = None) -> tuple[Drawing, Axes]:
    """An empty figure of one panel; sizes in inches, by default those of a column of a paper."""
    with looks.styled():
        fig = blank(width, height)
        return fig, fig.add_subplot()


def save(fig: Figure, path: str | Path, *, data: bool | str | Path = False) -> Path:
    """Writes a figure; the ending of the name selects the format (pdf, svg, png).

    The same figure gives the same bytes: no dates are written. The file appears complete or not at all.

    Args:
        fig: the figure.
        path: the file.
        data: write the numbers of the figure too: as CSV beside it (x.svg and x.csv), or as the CSV or
            Parquet file of this name. Their first column, `figure`, has the name of the figure.

    Raises:
        ScenarioError: the ending is none of these, the figure has no table of its numbers, or a file of
            another kind is where they would be written.
        OSError: a file cannot be written.
    """
    target = Path(path)
    if target.suffix not in FIGURES:
        raise _core.ScenarioError(f"{target}: the name of a figure must end in .svg, .pdf or .png")
    numbers = None if data is False else target.with_suffix(".csv") if data is True else Path(data)
    table = getattr(fig, "data", pl.DataFrame())
    if numbers is not None:
        if table.width == 0:
            raise _core.ScenarioError(f"{target}: this figure has no table of numbers; write it without data")
        check_numbers(numbers)
    with looks.styled():
        looks.write(fig, target)
    if numbers is not None:
        replace_frame(numbers, table.select(pl.lit(target.stem).alias("figure"), pl.all().exclude("figure")))
    return target


def check_numbers(path: Path) -> None:
    """Checks that numbers can be written there, and replace nothing but numbers.

    Raises:
        ScenarioError: the ending is not a format, or there is a file of another kind.
        OSError: it is a directory, or cannot be read.
    """
    if path.suffix not in NUMBERS:
        raise _core.ScenarioError(f"{path}: the numbers of a figure must end in .csv or .parquet")
    check_kind(path, NUMBERS[path.suffix])


def note(fig: Figure, words: str) -> None:
    """Small words at the foot of a figure: its number of runs, and the kind of its intervals."""
    small = 6 * looks.size().type
    fits = int(fig.get_figwidth() * 72 / (0.52 * small))
    lines = "\n".join(textwrap.wrap(looks.text(words), fits))
    fig.supxlabel(lines, fontsize=small, color=looks.grey(0.35), x=0.995, ha="right")


def level(axes: Axes, at: float, words: str, **options: Any) -> None:
    """A horizontal line for a limit of the path, labelled at its right end."""
    axes.axhline(at, **(GREY | options))
    axes.annotate(
        words, (1.01, at), xycoords=("axes fraction", "data"), ha="left", va="center",
        color=looks.grey(0.4),
        fontsize=6.5 * looks.size().type, annotation_clip=False,
    )  # fmt: skip


def sparse(axes: Axes) -> None:
    """Few markers on long lines, those of different lines beside each other."""
    lines: list[Any] = [line for line in axes.get_lines() if line.get_marker() not in ("", "None", None)]
    for place, line in enumerate(lines):
        every = max(1, len(line.get_xdata()) // _MARKS)
        line.set_markevery((place % 5 * every // 5, every))


def legend_columns(fig: Figure, labels: Sequence[str]) -> int:
    """The number of columns for these names above a figure."""
    one = looks.size().type * (0.06 * max(map(len, labels)) + 0.42)
    fits = max(1, int(fig.get_figwidth() / one))
    rows = -(-len(labels) // fits)
    return -(-len(labels) // rows)


def legend(fig: Figure, axes: Axes) -> None:
    """The names of the lines above the panel. A figure with many of them grows by the rows that they need."""
    handles, labels = axes.get_legend_handles_labels()
    if not labels:
        return
    columns = legend_columns(fig, labels)
    rows = -(-len(labels) // columns)
    if rows > 2:
        fig.set_figheight(fig.get_figheight() + (rows - 2) * 0.145 * looks.size().type)
    axes.legend(
        cast(Any, handles), labels, ncols=columns, loc="lower center", bbox_to_anchor=(0.5, 1.0),
        borderaxespad=0.2, columnspacing=1.2, handlelength=2.2,
    )  # fmt: skip
