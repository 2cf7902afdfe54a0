"""The share of a late-comer over time, and how evenly all flows share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl

from bentpipe import _core
from bentpipe.plot import rates
from bentpipe.plot.curves import Given, TimeCurve, curves, draw, results
from bentpipe.plot.drawing import GREY, Drawing, blank, legend, note
from bentpipe.plot.looks import grey, size, styled, text
from bentpipe.plot.over_time import about, half
from bentpipe.plot.words import named
from bentpipe.result import Result
from bentpipe.stats import jain

_WINDOWS = 10
"""A share stays fair if each mean over this number of windows is."""
_SAID = 3
"""Late-comers that the foot names."""


def convergence(given: Given, *, window_s: float | None = None, within: float = 0.2) -> Drawing:
    """Shares of the late-comer and of the flows before it, and how long it takes to get its fair share.

    The share is a flow's goodput in that of all flows. A late-comer has converged when its share is as near
    to 1/n, n flows there at the time, as `within` says, and stays so until it ends or the run does: each mean
    over ten windows is. That is one way to see it: a run of another seed will differ. Below is Jain's index
    of the goodputs.

    Args:
        given: a run that records its flows; one of them starts last.
        window_s: each point is the mean over this time; by default as in `goodput`.
        within: tolerance around the fair share, as a part of it.

    Raises:
        ScenarioError: the result has no trace, or all its flows start together.
    """
    runs = results(given, "trace")
    if len(runs) > 1:
        raise _core.ScenarioError(
            f"convergence is drawn of one run, and these are {len(runs)}; give one result, or choose one run "
            "of a sweep with --where"
        )
    result = next(iter(runs.values()))
    starts = {flow["name"]: flow["start_s"] for flow in result.json["flows"]}
    last = max(starts, key=lambda name: float(starts[name]))
    if len(starts) < 2 or starts[last] <= min(starts.values()):
        raise _core.ScenarioError(
            "the flows start together: convergence needs a late-comer, "
            'for example start = "20 s" in a [[flow]]'
        )
    width = rates.window(result) if window_s is None else window_s
    arrived = rates.arrivals(result)
    means = {name: rates.means(part, width) for name, part in arrived.items()}
    grid = pl.concat([part.with_columns(pl.lit(name).alias("flow")) for name, part in means.items()])
    whole = pl.col("goodput_bps").sum().over("t_s")
    shares = grid.with_columns((pl.col("goodput_bps") / whole).fill_nan(0.0).alias("share"))
    index = shares.group_by("t_s", maintain_order=True).agg("goodput_bps")
    index = index.with_columns(jain=pl.Series([jain(each) for each in index["goodput_bps"]]))
    fair = 1 / len(means)
    lives = {flow["name"]: _life(flow, result) for flow in result.json["flows"]}
    there = [sum(begin <= t < end for begin, end in lives.values()) for t in shares["t_s"]]
    shares = shares.with_columns(_n=pl.Series(there))
    late = sorted(
        (name for name, start in starts.items() if start > min(starts.values())), key=starts.__getitem__
    )
    after = {name: _converged(shares.filter(flow=name).sort("t_s"), *lives[name], within) for name in late}
    now = size()
    fig = blank(now.width, 1.3 * now.height)
    with styled():
        axes, below = fig.subplots(2, 1, sharex=True, height_ratios=[3, 1])
        found = curves(
            runs, lambda _, name, __: shares.filter(pl.col("flow") == name).select("t_s", y="share")
        )
        draw(axes, [replace(curve, look=curve.look | {"label": _of(result, curve)}) for curve in found])
        axes.axhline(fair, **GREY)
        for name in late:
            axes.axvline(starts[name], color="0.55", linewidth=0.5)
        if (time := after[last]) is not None:
            axes.axvspan(starts[last], starts[last] + time, color="0.92", linewidth=0, zorder=0)
        half(axes, "share of the goodput")
        axes.set_ylim(0, 1)
        below.plot(index["t_s"], index["jain"], color=grey(0.2), linewidth=0.9)
        half(below, "Jain's index")
        below.set_ylim(0, 1.05)
        below.set_xlabel("time, s")
        legend(fig, axes)
        said = [
            f"{name}: no lasting fair share" if time is None else f"{name}: fair share from {time:.3g} s on"
            for name, time in after.items()
        ]
        words = "; ".join(said[:_SAID]) + (
            f"; {len(said) - _SAID} late-comers more" if len(said) > _SAID else ""
        )
        note(
            fig,
            f"{about(runs, found)}; after its start, {words} (within {within:.0%} of it; means over "
            f"{width:.3g} s)",
        )
    fig.data = shares.join(index.select("t_s", "jain"), on="t_s").select(
        "flow", "t_s", "goodput_bps", "share", "jain"
    )
    return fig


def _life(flow: dict[str, Any], result: Result) -> tuple[float, float]:
    """When a flow begins and ends."""
    start, lasts = float(flow["start_s"]), flow["completion_s"]
    return start, float(result.json["simulated_s"]) if lasts is None else start + float(lasts)


def _of(result: Result, curve: TimeCurve) -> str:
    """The label of a flow: its name and its algorithm."""
    cc = next((flow["cc"] for flow in result.json["flows"] if flow["name"] == curve.flow), None)
    known = text(named(cc)) if cc else ""
    return (
        str(curve.look["label"])
        if not known or known == curve.look["label"]
        else f"{curve.look['label']} ({known})"
    )


def _converged(own: pl.DataFrame, start_s: float, end_s: float, within: float) -> float | None:
    """Seconds from its start until a late-comer's share is near the fair one for good, if it ever is."""
    rows = own.filter(pl.col("t_s").is_between(start_s, end_s))
    off = [abs(share * n - 1) for share, n in rows.select("share", "_n").iter_rows()]
    fair = (rows["share"] * rows["_n"]).to_list()
    near = [
        abs(sum(fair[i : i + _WINDOWS]) / _WINDOWS - 1) <= within for i in range(len(fair) - _WINDOWS + 1)
    ]
    since = len(near) - next((i for i, holds in enumerate(reversed(near)) if not holds), len(near))
    for i in range(since, len(near)):
        if off[i] <= within:
            return float(rows["t_s"][i] - start_s)
    return None
