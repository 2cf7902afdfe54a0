"""Runs over a path that moves: goodput above, round trips below, and the limits of the path."""

from __future__ import annotations

import itertools
from typing import Any

import polars as pl
from matplotlib.axes import Axes

from bentpipe.plot import rates
from bentpipe.plot.curves import Curve, draw, envelopes, table
from bentpipe.plot.drawing import Drawing, blank, legend, note, sparse
from bentpipe.plot.given import Given, need, results
from bentpipe.plot.looks import HEIGHT, WIDTH, look, size, styled
from bentpipe.plot.over_time import about, capacity, handovers
from bentpipe.plot.routes import route
from bentpipe.result import Result

_BANDS = {"low": "rtt_low_s", "high": "rtt_high_s"}


def over_path(given: Given, *, window_s: float | None = None) -> Drawing:
    """Goodput and round-trip time of several runs over the path that they share, one line for each run.

    Above, the grey surface is the rate of the slowest link of the first flow's path, 0 in an outage. Below it
    is the round trip without queues, by the delays of its links. Round trips of several runs with many
    samples are medians with bands from the 5th to the 95th percentile. Handovers are vertical lines. Of a
    connection over several paths each subflow is a line, and there is no surface.

    Args:
        given: runs of the same links; a mapping names them. Each records its flows and links at an interval;
            its first flow is drawn.
        window_s: goodput is the mean over this time; by default a hundredth of the run, one second at
            least.

    Raises:
        ScenarioError: a result has no trace of flows or of links.
    """
    runs = results(given, "link_trace")
    now = size()
    fig = blank(now.at_least(2 * WIDTH), max(now.height, 1.75 * HEIGHT))
    parts = []
    trips: list[Curve] = []
    with styled():
        above, below = fig.subplots(2, 1, sharex=True)
        first = next(iter(runs.values()))
        paths = [route(first, flow["name"]) for flow in _drawn(first)]
        last = paths[0].over["t_s"].max()
        end = float(last) if isinstance(last, int | float) else 0.0
        if len(paths) == 1:
            capacity(above, paths[0], end)
            over = paths[0].over
            below.fill_between(over["t_s"], over["floor_s"] * 1e3, color="0.88", linewidth=0, zorder=0)
        for axes in (above, below):
            for path in paths:
                handovers(axes, path)
        for label, result in runs.items():
            need(result, "trace", label)
            arrived = rates.arrivals(result)
            for i, flow in enumerate(flows := _drawn(result)):
                line = label if len(flows) == 1 else f"{label}, {flow['name'].rpartition('/')[2]}"
                rows = result.trace.filter(pl.col("flow").cast(pl.String) == flow["name"])
                drawn = look(flow["cc"], line, i)
                mean = rates.means(arrived[flow["name"]], window_s or max(1.0, end / 100))
                above.plot(mean["t_s"], mean["goodput_bps"] / 1e6, **drawn)
                seen = rows.filter(pl.col("rtt_s").is_finite() & (pl.col("rtt_s") > 0)).select("t_s", "rtt_s")
                trips.append(Curve(drawn, seen.rename({"rtt_s": "y"}), line, flow["name"]))
                parts.append(mean.select(pl.lit(line).alias("run"), pl.all()))
        trips, enveloped = envelopes(trips)
        draw(below, trips, scale=1e3)
        parts.append(table(trips, "rtt_s").rename(_BANDS, strict=False).drop("flow"))
        _axes(above, "goodput / Mbit/s")
        _axes(below, "RTT / ms")
        below.set_xlabel("time / s")
        legend(fig, above)
        note(fig, "; ".join(filter(None, [about(runs, []), enveloped and f"RTT: {enveloped}"])))
    fig.data = pl.concat(parts, how="diagonal")
    return fig


def _drawn(result: Result) -> list[dict[str, Any]]:
    """The first flow, or the subflows of the first connection."""
    flows = result.json["flows"]
    rest = itertools.takewhile(lambda flow: flow["half"] == "subflow", flows[1:])
    return list(rest) or flows[:1]


def _axes(axes: Axes, label: str) -> None:
    sparse(axes)
    axes.set_ylabel(label)
    axes.margins(x=0)
    axes.set_ylim(bottom=0)
