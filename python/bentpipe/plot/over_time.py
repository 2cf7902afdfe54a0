"""Windows, rates, round trips, queues and shares of runs over time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import polars as pl
from matplotlib.axes import Axes

from bentpipe import _core
from bentpipe.plot import rates
from bentpipe.plot.curves import (
    CROWD,
    Given,
    Measure,
    TimeCurve,
    curves,
    draw,
    envelopes,
    need,
    results,
    table,
)
from bentpipe.plot.drawing import GREY, Drawing, blank, figure, legend, level, note, sparse
from bentpipe.plot.looks import DASHES, HEIGHT, WIDTH, Turns, grey, size, styled, text
from bentpipe.plot.routes import Route, buffer_packets, largest, route
from bentpipe.registry import unknown
from bentpipe.result import Result

COLUMNS = {
    "retransmitted_packets": ("segments sent again", 1.0),
    "in_flight": ("in flight, segments", 1.0),
    "srtt_s": ("smoothed round-trip time, ms", 1e3),
}
"""Columns of the trace that may take the place of the window: the name of the axis, and a factor."""
CAPACITIES = 4
"""More capacities than these are not drawn, but the first one alone."""
_BANDS = {"low": "rtt_low_s", "high": "rtt_high_s"}


def cwnd(
    given: Given, *, in_flight: bool = True, ssthresh: bool = False, column: str | None = None
) -> Drawing:
    """Congestion window over time, one line per flow, with the capacity of the path.

    The dashed lines are the bandwidth-delay product (BDP) of the first flow's path and, if the scenario gives
    the size of the buffer, the BDP and the buffer together. The data in flight is the pale area.

    Args:
        given: a run that records its flows, or several.
        in_flight: draw the data in flight too.
        ssthresh: draw the slow-start thresholds too, thinner.
        column: a column of `COLUMNS` that is drawn in place of the window.

    Raises:
        ScenarioError: a result has no trace, or there is no such column.
    """
    runs = results(given, "trace")
    if column is not None:
        return _traced(runs, column)
    found = curves(runs, _column("cwnd"))
    fig, axes = figure()
    with styled():
        draw(axes, found, drawstyle="steps-post")
        data = table(found, "cwnd_segments")
        few = not _crowded(found)
        if in_flight and few and len(found) <= 3:
            pale = curves(runs, _column("in_flight"))
            for curve in pale:
                axes.fill_between(
                    curve.rows["t_s"], curve.rows["y"], step="post",
                    color=curve.look["color"], alpha=0.15, linewidth=0,
                )  # fmt: skip
            data = data.join(table(pale, "in_flight_segments"), on=["run", "flow", "t_s"], how="left")
        if ssthresh and few:
            for curve in curves(runs, _column("ssthresh")):
                finite = curve.rows.filter(pl.col("y").is_finite())
                axes.plot(
                    finite["t_s"], finite["y"],
                    drawstyle="steps-post", color=curve.look["color"], linewidth=0.5,
                )  # fmt: skip
        first = next(iter(runs.values()))
        for at, words in _held(first):
            level(axes, at, words)
        both = "in_flight_segments" in data.columns
        _finish(fig, axes, "cwnd and data in flight, segments" if both else "congestion window, segments")
        axes.set_ylim(bottom=0)
        note(fig, about(runs, found))
    fig.data = data
    return fig


def _traced(runs: dict[str, Result], column: str) -> Drawing:
    """A column of the trace over time, one line per flow."""
    if column not in COLUMNS:
        raise _core.ScenarioError(unknown("column", column, list(COLUMNS)))
    label, factor = COLUMNS[column]
    if not all(column in result.trace.columns for result in runs.values()):
        raise _core.ScenarioError(f"a result was stored without {column}; repeat the run")
    found = curves(runs, _column(column))
    fig, axes = figure()
    with styled():
        draw(axes, found, scale=factor, drawstyle="steps-post")
        _finish(fig, axes, label)
        axes.set_ylim(bottom=0)
        note(fig, about(runs, found))
    fig.data = table(found, column)
    return fig


def goodput(given: Given, *, window_s: float | None = None) -> Drawing:
    """Delivered payload per second over time, one line per flow, over the capacity of the path.

    Of a connection over several paths each subflow is a line, and the whole connection. Where paths have
    different capacities, each is a grey line with a name instead of a surface.

    Bytes count when they arrived at the latest if the path carried no more than its rate, not when a hole
    before them was filled (`bentpipe.plot.rates`). So no line exceeds the path's rate.

    Args:
        given: a run that records its flows, or several.
        window_s: each point is the mean over this time; by default over a hundredth of the run, one
            second and the usual round trip at least.

    Raises:
        ScenarioError: a result has no trace.
    """
    runs = results(given, "trace")
    found = curves(runs, _goodput(runs, window_s))
    fig, axes = figure()
    with styled():
        wholes = [] if _crowded(found) else _wholes(runs, _window(runs, window_s))
        paths = _capacities(axes, runs, found)
        draw(axes, [*wholes, *found], scale=1e-6)
        _finish(fig, axes, "goodput, Mbit/s")
        top = _top([*wholes, *found]) / 1e6
        most = max(path.rate_bps for path in paths) / 1e6
        # Many small flows are not pressed to the ground.
        low = 0 < top < most / 2
        axes.set_ylim(0, 1.15 * top if low else 1.05 * max(most, top))
        said = [about(runs, found), f"means over {_window(runs, window_s):.3g} s"]
        said += ["grey: the capacity of the path"] * (len(paths) == 1 and not low)
        said += [f"the capacity, {most:.4g} Mbit/s, lies above"] * low
        if not all(path.sure for path in paths):
            said.append("the links were not recorded: bursts of late in-order data are shown")
        note(fig, "; ".join(said))
    fig.data = table([*wholes, *found], "goodput_bps")
    return fig


def rtt(given: Given) -> Drawing:
    """Round-trip time over time, one line per flow, above the round trip without queues.

    Several lines with many samples are drawn as medians with bands, so that none hides another.

    That floor is by the delays of the links, which a run that records its links knows over time; else it is
    the smallest that any flow saw. Handovers are vertical lines.

    Raises:
        ScenarioError: a result has no trace.
    """
    runs = results(given, "trace")
    found = curves(runs, _round_trips)
    shown, enveloped = (found, "") if _crowded(found) else envelopes(found)
    fig, axes = figure()
    with styled():
        first = next(iter(runs.values()))
        path = _route(first)
        floor = path.over["floor_s"]
        if floor.len() > 1 and floor.null_count() == 0:
            axes.fill_between(path.over["t_s"], floor * 1e3, color="0.88", linewidth=0, zorder=0)
            _handovers(axes, path)
        else:
            seen = [f["rtt_min_s"] for f in first.json["flows"] if f["rtt_min_s"] is not None]
            least = min(floor.drop_nulls().to_list() or seen, default=None)
            if least is not None:
                axes.fill_between([0, _end(found)], [least * 1e3] * 2, color="0.88", linewidth=0, zorder=0)
        draw(axes, shown, scale=1e3)
        _finish(fig, axes, "round-trip time, ms")
        axes.set_ylim(bottom=0)
        words = [about(runs, found), enveloped, "grey: the round trip without queues"]
        note(fig, "; ".join(filter(None, words)))
    fig.data = table(shown, "rtt_s")
    return fig


def queue(given: Given, *, link: str | None = None) -> Drawing:
    """Packets that wait for a link over time, with the limit of its queue, and drops as ticks below.

    Args:
        given: a run that records its links, or several over the same links.
        link: "sat" or "sat/reverse"; by default the slowest link of the first flow's path.

    Raises:
        ScenarioError: a result has no trace of links, or there is no such link.
    """
    runs = results(given, "link_trace")
    fig, axes = figure()
    parts = []
    with styled():
        first = next(iter(runs.values()))
        known = first.link_trace["link"].cast(pl.String).unique(maintain_order=True).to_list()
        wanted = _slowest(first, known) if link is None else link if "/" in link else f"{link}/forward"
        if wanted not in known:
            raise _core.ScenarioError(unknown("link", wanted, known))
        path = _route(first)
        for curve in _waiting(runs, wanted):
            axes.plot(curve.rows["t_s"], curve.rows["queue_packets"], drawstyle="steps-post", **curve.look)
            lost = curve.rows.filter(pl.col("dropped_packets").diff() > 0)
            axes.plot(
                lost["t_s"], [-0.03] * lost.height, linestyle="", marker="|", markersize=4,
                color=curve.look["color"], transform=axes.get_xaxis_transform(), clip_on=False,
            )  # fmt: skip
            parts.append(
                curve.rows.select(pl.lit(curve.run).alias("run"), pl.lit(wanted).alias("link"), pl.all())
            )
        limit = buffer_packets(first, wanted, path.packet or 1500)
        if limit is not None:
            level(axes, limit, "limit")
        _finish(fig, axes, f"queue of {wanted.removesuffix('/forward')}, packets")
        axes.set_ylim(bottom=0)
        note(fig, about(runs, []) + "; ticks below: packets dropped")
    fig.data = pl.concat(parts)
    return fig


def over_path(given: Given, *, window_s: float | None = None) -> Drawing:
    """Goodput and round-trip time of several runs over the path that they share, one line for each run.

    Above, the grey surface is the rate of the slowest link of the first flow's path, 0 in an outage. Below it
    is the round trip without queues, by the delays of its links. Round trips of several runs with many
    samples are medians with bands from the 5th to the 95th percentile. Handovers are vertical lines. Of a
    connection over several paths each subflow is a line, so is the whole, and there is no surface.

    Args:
        given: runs of the same links; a mapping names them. Each records its flows and links at an interval;
            its first flow is drawn.
        window_s: goodput is the mean over this time; by default a hundredth of the run, one second at
            least.

    Raises:
        ScenarioError: a result has no trace of flows or of links.
    """
    runs = results(given, "link_trace")
    for label, result in runs.items():
        need(result, "trace", label)
    now = size()
    fig = blank(now.at_least(2 * WIDTH), max(now.height, 1.75 * HEIGHT))
    parts = []
    trips: list[TimeCurve] = []
    with styled():
        above, below = fig.subplots(2, 1, sharex=True)
        first = next(iter(runs.values()))
        paths = [route(first, flow["name"]) for flow in _drawn(first)]
        end = largest(paths[0].over["t_s"])
        if len(paths) == 1:
            _capacity(above, paths[0], end)
            over = paths[0].over
            below.fill_between(over["t_s"], over["floor_s"] * 1e3, color="0.88", linewidth=0, zorder=0)
        for axes in (above, below):
            for path in paths:
                _handovers(axes, path)
        turns = Turns()
        for label, result in runs.items():
            arrived = rates.arrivals(result)
            for flow in (flows := _drawn(result)):
                line = label if len(flows) == 1 else f"{label}, {flow['name'].rpartition('/')[2]}"
                rows = result.trace.filter(pl.col("flow").cast(pl.String) == flow["name"])
                drawn = turns.look(flow["cc"], line)
                mean = rates.means(arrived[flow["name"]], window_s or max(1.0, end / 100))
                above.plot(mean["t_s"], mean["goodput_bps"] / 1e6, **drawn)
                trips.append(TimeCurve(drawn, _round_trips(result, "", rows), line, flow["name"]))
                parts.append(mean.select(pl.lit(line).alias("run"), pl.all()))
            if len(flows) > 1:
                whole = rates.together([arrived[flow["name"]] for flow in flows])
                mean = rates.means(whole, window_s or max(1.0, end / 100))
                thick = {"color": drawn["color"], "linewidth": 2.2, "alpha": 0.45}
                above.plot(mean["t_s"], mean["goodput_bps"] / 1e6, label=f"{label}, the whole", **thick)
                parts.append(mean.select(pl.lit(f"{label}, the whole").alias("run"), pl.all()))
        trips, enveloped = envelopes(trips)
        draw(below, trips, scale=1e3)
        parts.append(table(trips, "rtt_s").rename(_BANDS, strict=False).drop("flow"))
        half(above, "goodput, Mbit/s")
        half(below, "RTT, ms")
        below.set_xlabel("time, s")
        legend(fig, above)
        surface = "grey: the capacity of the path, and below its round trip without queues"
        handed = any(path.over["handovers"].max() for path in paths)
        words = [
            about(runs, []), enveloped and f"RTT: {enveloped}", surface if len(paths) == 1 else "",
            "vertical lines: handovers" if handed else "",
        ]  # fmt: skip
        note(fig, "; ".join(filter(None, words)))
    fig.data = pl.concat(parts, how="diagonal")
    return fig


def bdp_segments(result: Result) -> float | None:
    """The bandwidth-delay product of the first flow, in full packets.

    It is the rate of the slowest link of its path times its smallest round-trip time; None if the flow had no
    sample of that.
    """
    if not result.json["flows"]:
        return None
    first = result.json["flows"][0]
    path, least = route(result, first["name"]), first.get("rtt_min_s")
    if not path.rate_bps or least is None or not path.packet:
        return None
    return float(path.rate_bps * least / (8 * path.packet))


def _capacity(axes: Axes, path: Route, end_s: float) -> None:
    """Shades the capacity of the path over time, as a step for each instant at which it is known."""
    t, rate = _steps_of(path, end_s)
    axes.fill_between(t, rate, step="post", color="0.88", linewidth=0, zorder=0)


def _steps_of(path: Route, end_s: float) -> tuple[list[float], list[float]]:
    """The instants at which the capacity of a path changes, and the capacity in Mbit/s."""
    t, rate = path.over["t_s"].to_list(), (path.over["rate_bps"] / 1e6).to_list()
    return ([*t, end_s], [*rate, rate[-1]]) if end_s > t[-1] else (t, rate)


def _capacities(axes: Axes, runs: dict[str, Result], found: list[TimeCurve]) -> list[Route]:
    """Shades the capacity of the path that all flows share; draws that of each path where they differ.

    Returns the paths that were drawn.
    """
    paths: dict[str, Route] = {}
    for name, result in runs.items():
        for flow in {curve.flow: curve for curve in found if curve.run == name}:
            known = flow in {row["name"] for row in result.json["flows"]}
            path = route(result, flow) if known else _route(result)
            alike = [
                other
                for other in paths.values()
                if other.over.drop("floor_s").equals(path.over.drop("floor_s"))
            ]
            if not alike:
                ways = " and ".join("/".join(way).removesuffix("/forward") for way in path.there)
                paths[f"capacity of {ways}, {path.rate_bps / 1e6:.4g} Mbit/s"] = path
    if len(paths) == 1 or len(paths) > CAPACITIES:
        first = next(iter(paths.values()))
        _capacity(axes, first, _end(found))
        return [first]
    for nth, (words, path) in enumerate(paths.items()):
        t, rate = _steps_of(path, _end(found))
        look: dict[str, Any] = GREY | {"linestyle": DASHES[nth % len(DASHES)], "linewidth": 1.4}
        axes.step(t, rate, where="post", label=text(words), zorder=0, **look)
    return list(paths.values())


def _wholes(runs: dict[str, Result], window_s: float) -> list[TimeCurve]:
    """The goodput of each connection with several subflows, as one line."""
    found = []
    for name, result in runs.items():
        arrived = rates.arrivals(result)
        for flow in result.json["flows"]:
            parts = [rows for part, rows in arrived.items() if part.rpartition("/")[0] == flow["name"]]
            subflows = [
                f
                for f in result.json["flows"]
                if f["half"] == "subflow" and f["name"].startswith(f"{flow['name']}/")
            ]
            if len(parts) < 2 or not subflows:
                continue
            mean = rates.means(rates.together(parts), window_s).rename({"goodput_bps": "y"})
            label = (
                f"{name}: {flow['name']}, whole" if len(runs) > 1 else f"{flow['name']}, the whole connection"
            )
            drawn = {"color": grey(0.35), "linewidth": 2.0, "label": text(label)}
            found.append(TimeCurve(drawn, mean, name, flow["name"]))
    return found


def _handovers(axes: Axes, path: Route) -> None:
    """Marks handovers by vertical lines."""
    for now in path.over.filter(pl.col("handovers").cast(pl.Int64).diff() > 0)["t_s"]:
        axes.axvline(now, color="0.55", linewidth=0.5, zorder=1)


def _held(result: Result) -> list[tuple[float, str]]:
    """BDP and BDP + buffer in segments of the first flow."""
    bdp = bdp_segments(result)
    if bdp is None:
        return []
    path = _route(result)
    room = buffer_packets(result, _slowest(result), path.packet)
    return [(bdp, "BDP")] + ([(bdp + room, "BDP\n+ buffer")] if room else [])


def _route(result: Result) -> Route:
    flows = result.json["flows"]
    return route(result, flows[0]["name"] if flows else "")  # an emulation has none: the scenario's first


def _slowest(result: Result, known: Sequence[str] | None = None) -> str:
    """The direction of the first flow's path with the least nominal rate.

    Of the path only those among `known` count, and if there is none, all of `known`.
    """
    ways = ["/".join(way) for way in _route(result).there]
    if known is not None:
        ways = [way for way in ways if way in known] or list(known)
    rates = {f"{k['name']}/{k['direction']}": float(k["rate_bps"]) for k in result.json["links"]}
    return min(ways, key=lambda way: rates.get(way, math.inf))


def _column(name: str) -> Measure:
    return lambda _result, _flow, rows: rows.select("t_s", y=pl.col(name))


def _round_trips(_result: Result, _flow: str, rows: pl.DataFrame) -> pl.DataFrame:
    seen = rows.filter(pl.col("rtt_s").is_finite() & (pl.col("rtt_s") > 0))
    return seen.select("t_s", y="rtt_s")


def _goodput(runs: dict[str, Result], window_s: float | None) -> Measure:
    width = _window(runs, window_s)
    arrived = {id(result): rates.arrivals(result) for result in runs.values()}
    return lambda result, flow, _: rates.means(arrived[id(result)][flow], width).rename({"goodput_bps": "y"})


def _window(runs: dict[str, Result], window_s: float | None) -> float:
    """One window for all lines of a figure."""
    if window_s is None:
        return max(rates.window(result) for result in runs.values())
    if not window_s > 0:
        raise _core.ScenarioError(f"window_s: a window must be longer than 0 s, not {window_s:g}")
    return window_s


def _waiting(runs: dict[str, Result], wanted: str) -> list[TimeCurve]:
    found, turns = [], Turns()
    for name, result in runs.items():
        rows = result.link_trace.filter(pl.col("link").cast(pl.String) == wanted)
        rows = rows.select("t_s", "queue_packets", "dropped_packets")
        flows = result.json["flows"]
        cc = flows[0]["cc"] if flows else "cbr"  # an emulation has no flows of its own
        drawn = turns.look(cc, name) if len(runs) > 1 else {"color": "0.2", "linewidth": 0.8}
        found.append(TimeCurve(drawn, rows, name, ""))
    return found


def _crowded(found: list[TimeCurve]) -> bool:
    return any("low" in curve.rows.columns for curve in found)


def _end(found: list[TimeCurve]) -> float:
    return max((largest(curve.rows["t_s"]) for curve in found if curve.rows.height), default=1.0)


def _top(found: list[TimeCurve]) -> float:
    """The largest value of curves and bands."""
    columns = [curve.rows[name] for curve in found for name in ("y", "high") if name in curve.rows.columns]
    return max(map(largest, columns), default=0.0)


def about(runs: dict[str, Result], found: list[TimeCurve]) -> str:
    """The number of runs in the figure."""
    seeds = sorted({result.json["seed"] for result in runs.values()})
    which = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    words = f"n = 1 ({which})" if len(runs) == 1 else f"n = 1 for each line ({which})"
    if _crowded(found):
        words += f"; more than {CROWD} flows: median and middle 80 % of an algorithm's flows"
    return words


def _finish(fig: Drawing, axes: Axes, label: str) -> None:
    """Markers, legend and names of the axes of a panel over time."""
    sparse(axes)
    axes.set_xlabel("time, s")
    axes.set_ylabel(label)
    axes.margins(x=0)
    legend(fig, axes)


def _drawn(result: Result) -> list[dict[str, Any]]:
    """The first flow, or the subflows of the first connection."""
    flows = result.json["flows"]
    rest = itertools.takewhile(lambda flow: flow["half"] == "subflow", flows[1:])
    return list(rest) or flows[:1]


def half(axes: Axes, label: str) -> None:
    """Markers and the name of the ordinate of one of two panels over time."""
    sparse(axes)
    axes.set_ylabel(label)
    axes.margins(x=0)
    axes.set_ylim(bottom=0)
