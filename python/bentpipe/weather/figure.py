"""The picture of a link in rain: attenuation, mode and rate over time."""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from bentpipe.plot import WIDTH, styled

_HEIGHT = 5.0
_RAIN, _CLEAR, _LINK, _LOST = "#3b6ea5", "#6b6b6b", "#2c7a4b", "#b3402a"


def draw(line: pl.DataFrame, title: str = "", depth_db: float | None = None) -> Figure:
    """Three panels over one time: attenuation, the mode in use, and the rate with its losses.

    Args:
        line: the result of `timeline`.
        title: the heading.
        depth_db: the attenuation that the availability asks for, as a dashed line.
    """
    scale, unit = (60.0, "min") if line["t_s"][-1] >= 600 else (1.0, "s")
    t = line["t_s"].to_numpy() / scale
    with styled():
        fig = Figure(figsize=(2 * WIDTH, _HEIGHT), layout="constrained")
        fade, mode, rate = fig.subplots(3, 1, sharex=True, height_ratios=(1, 1.25, 1))
        fade.plot(t, line["attenuation_db"], color=_RAIN)
        fade.set(ylabel="rain attenuation, dB", ylim=(0, None))
        if depth_db is not None:
            fade.axhline(depth_db, color=_CLEAR, linewidth=0.7, linestyle=(0, (6, 3)))
            fade.annotate(
                f"{depth_db:.1f} dB",
                (1, depth_db),
                xycoords=("axes fraction", "data"),
                xytext=(-2, 2),
                textcoords="offset points",
                ha="right",
                fontsize=7,
                color=_CLEAR,
            )
        _modes(mode, t, line)
        _rates(rate, t, line)
        rate.set(xlabel=f"time, {unit}", xlim=(0, 2 * t[-1] - t[-2]))
        if title:
            fade.set_title(title, loc="left", fontsize=9)
    return fig


def _modes(axes, t, line: pl.DataFrame) -> None:  # type: ignore[no-untyped-def]
    """The modes that occur, one above the other in the order of their rates."""
    order = line.group_by("modcod").agg(pl.col("rate_bps").first()).sort("rate_bps")["modcod"].to_list()
    rank = {name: i for i, name in enumerate(order)}
    axes.plot(t, [rank[name] for name in line["modcod"]], color=_CLEAR, drawstyle="steps-post")
    shown = np.unique(np.linspace(0, len(order) - 1, min(len(order), 8)).round().astype(int))
    axes.set_yticks(shown, [order[i] or "none" for i in shown])
    axes.set_ylabel("mode")


def _rates(axes, t, line: pl.DataFrame) -> None:  # type: ignore[no-untyped-def]
    """The rate, and in the same panel its losses."""
    rate = line["rate_bps"].to_numpy() / 1e6
    axes.plot(t, rate, color=_LINK, drawstyle="steps-post", label="rate")
    gone = rate * line["loss_rate"].to_numpy()
    if gone.any():
        axes.fill_between(t, gone, step="post", color=_LOST, linewidth=0.8, label="of it lost")
        axes.legend(loc="lower right", bbox_to_anchor=(1, 0.98), ncols=2)
    axes.set(ylabel="rate, Mbit/s", ylim=(0, None))
    axes.yaxis.set_major_locator(MaxNLocator(5))
