"""Pictures of a path through satellites: its round-trip time over time, and the way on a map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.path import Path as Shape
from matplotlib.patches import PathPatch

from bentpipe import plot, terminal
from bentpipe.orbit.outlines import LAND, LAKE, Around, Floats, borders, coasts, great_circle, middle

MOST_MARKS = 60
"""Handovers beyond which a line for each would hide the curve: then a strip below shows them."""

_SEA, _LAND, _EDGE, _BORDER = "#f3f6f9", "#dfe3d8", "#8d958c", "#b9bfb4"
_PATH, _PLACE, _DARK, _CHANGE = "#d62728", "0.1", "#f2c9c9", "#1f77b4"


@dataclass(frozen=True)
class Way:
    """A path at one instant: its corners from the first-named end to the other, as longitude, latitude in degrees."""

    t_s: float
    names: tuple[str, ...]
    corners: tuple[tuple[float, float], ...]


def rtt(frame: pl.DataFrame, title: str = "") -> Figure:
    """Round-trip time over time, with each handover and each time in which there is no path.

    Args:
        frame: what `bentpipe.orbit.path` returns.
        title: the head of the figure.
    """
    fig, axes = plot.figure(2 * plot.WIDTH, plot.HEIGHT)
    with plot.styled():
        time = frame["t_s"].to_numpy()
        reachable = frame["reachable"].to_numpy()
        changes = time[frame["handover"].to_numpy()]
        for label, (begin, end) in zip(
            ["no path", *[None] * len(time)], _dark(time, reachable), strict=False
        ):
            axes.axvspan(begin, end, color=_DARK, linewidth=0, label=label)
        if len(changes) <= MOST_MARKS:
            for label, at in zip(["handover", *[None] * len(changes)], changes, strict=False):
                axes.axvline(at, color=_CHANGE, linewidth=0.5, alpha=0.6, label=label)
        else:
            axes.plot(
                changes, np.zeros(len(changes)), "|", color=_CHANGE, markersize=4, markeredgewidth=0.4, alpha=0.5,
                transform=axes.get_xaxis_transform(), clip_on=False, label=f"{len(changes):,} handovers", rasterized=len(changes) > 5000,
            )  # fmt: skip
        values = np.where(reachable, frame["rtt_ms"].fill_null(np.nan).to_numpy(), np.nan)
        axes.plot(*_pieces(time, values, frame["handover"].to_numpy()), color="0.15", linewidth=0.9)
        axes.set_xlabel(*_clock(axes, float(time[-1])))
        axes.set_ylabel("round-trip time / ms")
        axes.margins(x=0)
        axes.set_title(plot._text(title) if hasattr(plot, "_text") else title, loc="left")
        if axes.get_legend_handles_labels()[0]:
            axes.legend(ncols=2, loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2)
    return fig
