"""Share of a late-comer over time, and its time to convergence."""

from __future__ import annotations

import polars as pl

from bentpipe import _core
from bentpipe.plot import rates
from bentpipe.plot.curves import curves, draw
from bentpipe.plot.drawing import GREY, Drawing, figure, note
from bentpipe.plot.given import Given, results
from bentpipe.plot.looks import styled
from bentpipe.plot.over_time import about, finish
from bentpipe.stats import jain


def convergence(given: Given, *, window_s: float | None = None, within: float = 0.2) -> Drawing:
    """Shares of the late-comer and of the flows before it, and how long it takes to get its fair share.

    The share is a flow's goodput in that of all flows. The late-comer has converged when its share is first
    as near to 1/n as `within` says and stays so for ten windows on average. That is one way to see it: a run
    of another seed will differ.

    Args:
        given: a run that records its flows; one of them starts last.
        window_s: each point is the mean over this time; by default as in `goodput`.
        within: tolerance around the fair share, as a part of it.

    Raises:
        ScenarioError: the result has no trace, or all its flows start together.
    """
    runs = results(given, "trace")
    if len(runs) > 1:
        raise _core.ScenarioError("convergence is drawn of one run; give one result")
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
    own = shares.filter(pl.col("flow") == last).sort("t_s")
    after = _converged(own, float(starts[last]), fair, within)
    fig, axes = figure()
    with styled():
        found = curves(
            runs, lambda _, name, __: shares.filter(pl.col("flow") == name).select("t_s", y="share")
        )
        draw(axes, found)
        axes.axhline(fair, **GREY)
        axes.axvline(starts[last], color="0.55", linewidth=0.5)
        if after is not None:
            axes.axvspan(starts[last], starts[last] + after, color="0.92", linewidth=0, zorder=0)
        words = f"{last}: fair share after {after:.3g} s" if after is not None else f"{last}: no fair share"
        finish(fig, axes, "share of the goodput")
        axes.set_ylim(0, 1)
        note(fig, f"{about(runs, found)}; {words} (within {within:.0%}; means over {width:.3g} s)")
    fig.data = shares.join(index.select("t_s", "jain"), on="t_s").select(
        "flow", "t_s", "goodput_bps", "share", "jain"
    )
    return fig


def _converged(own: pl.DataFrame, start_s: float, fair: float, within: float) -> float | None:
    """Seconds from its start until the late-comer's share is near the fair one on average, if it ever is."""
    rows = own.filter(pl.col("t_s") >= start_s)
    shares = rows["share"].to_list()
    for i, now in enumerate(rows["t_s"]):
        ahead = shares[i : i + 10]
        near = abs(shares[i] - fair) <= within * fair
        if near and len(ahead) == 10 and abs(sum(ahead) / 10 - fair) <= within * fair:
            return float(now - start_s)
    return None
