"""The look of the studies' figures: one column of a two-column paper wide, saved the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

#: Width of a column of a two-column paper, in inches.
COLUMN = 3.5

STYLE: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["Liberation Sans", "Arial", "Helvetica", "DejaVu Sans"],
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 7.5,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.linewidth": 1.0,
    "legend.frameon": False,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "bentpipe",
}


def figure(height: float, rows: int = 1, columns: int = 1, **options: Any) -> tuple[Figure, Sequence[Axes]]:
    """A figure one column wide and ``height`` inches high, and its axes as a flat list."""
    with mpl.rc_context(STYLE):
        fig = Figure(figsize=(COLUMN, height), layout="constrained")
        FigureCanvasAgg(fig)
        axes = fig.subplots(rows, columns, squeeze=False, **options)
    return fig, list(axes.flat)


def panel_title(axes: Axes, text: str) -> None:
    """The title of a panel, flush left above it."""
    axes.set_title(text, loc="left", pad=4)


def save(fig: Figure, stem: Path) -> list[Path]:
    """Write ``stem`` as PDF, SVG and PNG (300 dpi), without dates so that equal runs give equal files."""
    written = []
    with mpl.rc_context(STYLE):
        for kind, metadata in (
            ("pdf", {"CreationDate": None}),
            ("svg", {"Date": None}),
            ("png", {}),
        ):
            path = stem.with_suffix(f".{kind}")
            fig.savefig(path, dpi=300, metadata=metadata)
            written.append(path)
    return written
