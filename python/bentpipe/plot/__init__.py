"""Figures of results, in the size and type of a two-column paper, with the registry's colours and markers.

Each function returns a matplotlib `Figure`; `save(figure, "cwnd.pdf")` writes it as vectors with embedded
fonts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from bentpipe import _core
from bentpipe.files import replace
from bentpipe.plot.looks import HEIGHT, RC, WIDTH, look, styled, text
from bentpipe.registry import unknown
from bentpipe.result import Result
from bentpipe.units import seconds

__all__ = [
    "HEIGHT",
    "RC",
    "WIDTH",
    "bdp_segments",
    "cwnd",
    "figure",
    "goodput",
    "look",
    "over_path",
    "rtt",
    "save",
    "sequence",
    "styled",
]

_MARKS = 8


def figure(width: float = WIDTH, height: float = HEIGHT) -> tuple[Figure, Axes]:
    """An empty figure of one panel; sizes in inches."""
    with styled():
        fig = Figure(figsize=(width, height), layout="constrained")
        return fig, fig.add_subplot()


def save(fig: Figure, path: str | Path) -> Path:
    """Writes a figure; the ending of the name says the format (pdf, svg, png).

    The same figure gives the same bytes: no dates are written. The file appears complete or not at all.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    dates = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
    kind = target.suffix.removeprefix(".") or None
    with styled():
        replace(target, lambda work: fig.savefig(work, format=kind, metadata=dates.get(target.suffix, {})))
    return target


def cwnd(result: Result, *, ssthresh: bool = False) -> Figure:
    """Congestion window over time, one line per flow, with the bandwidth-delay product of a flow's path.

    Args:
        result: a result whose scenario records its flows.
        ssthresh: draw the slow-start thresholds too, thinner.

    Raises:
        ScenarioError: the result has no trace.
    """
    fig, axes = figure()
    with styled():
        for drawn, rows in _flows(result):
            axes.plot(rows["t_s"], rows["cwnd"], drawstyle="steps-post", **drawn)
            if ssthresh:
                finite = rows.filter(pl.col("ssthresh").is_finite())
                axes.plot(
                    finite["t_s"],
                    finite["ssthresh"],
                    drawstyle="steps-post",
                    color=drawn["color"],
                    linewidth=0.5,
                )
        bdp = bdp_segments(result)
        if bdp is not None:
            axes.axhline(bdp, color="0.4", linewidth=0.6, linestyle=(0, (6, 3)))
            axes.annotate(
                "BDP", (1.01, bdp), xycoords=("axes fraction", "data"), ha="left", va="center", color="0.4"
            )
        _finish(axes, "congestion window / segments")
    return fig


def rtt(result: Result) -> Figure:
    """Round-trip time samples over time, one line per flow, above the smallest that any flow saw.

    Raises:
        ScenarioError: the result has no trace.
    """
    fig, axes = figure()
    with styled():
        for drawn, rows in _flows(result):
            seen = rows.filter(pl.col("rtt_s").is_finite() & (pl.col("rtt_s") > 0))
            axes.plot(seen["t_s"], seen["rtt_s"] * 1e3, **drawn)
        least = [f["rtt_min_s"] for f in result.json["flows"] if f["rtt_min_s"] is not None]
        if least:
            axes.axhline(min(least) * 1e3, color="0.4", linewidth=0.6, linestyle=(0, (6, 3)))
        _finish(axes, "round-trip time / ms", zero=False)
    return fig


def goodput(result: Result, *, window_s: float = 1.0) -> Figure:
    """Delivered payload per second over time, one line per flow, with the rate of the slowest link.

    Args:
        result: a result whose scenario records its flows.
        window_s: each point is the mean over this many seconds.

    Raises:
        ScenarioError: the result has no trace.
    """
    fig, axes = figure()
    with styled():
        for drawn, rows in _flows(result):
            bins = _goodput(rows, window_s)
            axes.plot(bins["t_s"], bins["rate"], **drawn)
        rates = [k["rate_bps"] for k in result.json["links"] if k["direction"] == "forward"]
        if rates:
            axes.axhline(min(rates) / 1e6, color="0.4", linewidth=0.6, linestyle=(0, (6, 3)))
        _finish(axes, "goodput / Mbit/s")
    return fig


def over_path(results: Mapping[str, Result], *, window_s: float | None = None) -> Figure:
    """Goodput and round-trip time of several runs over the path that they share, one line for each run.

    Above, the grey surface is the rate of the slowest link of the first flow's path, 0 in an outage. Below it
    is the round trip without queues, by the delays of its links. Handovers are vertical lines.

    Args:
        results: runs of the same links by label. Each records its flows and links at an interval; its first
            flow is drawn.
        window_s: goodput is the mean over so many seconds; by default a hundredth of the run, one second at
            least.

    Raises:
        ScenarioError: a result has no trace of flows or of links.
    """
    fig = Figure(figsize=(2 * WIDTH, 1.7 * HEIGHT), layout="constrained")
    with styled():
        above, below = fig.subplots(2, 1, sharex=True)
        first = next(iter(results.values()))
        _path(above, below, first)
        for label, result in results.items():
            if result.trace.height == 0:
                raise _core.ScenarioError(f'{label} has no trace; give the scenario record=Record("100 ms")')
            name = result.json["flows"][0]["name"]
            rows = result.trace.filter(pl.col("flow").cast(pl.String) == name)
            drawn = look(result.json["flows"][0]["cc"], label)
            window = window_s or max(1.0, cast(float, rows["t_s"].max()) / 100)
            mean = _goodput(rows, window)
            above.plot(mean["t_s"], mean["rate"], **drawn)
            seen = rows.filter(pl.col("rtt_s").is_finite() & (pl.col("rtt_s") > 0))
            below.plot(seen["t_s"], seen["rtt_s"] * 1e3, **drawn)
        _finish(above, "goodput / Mbit/s")
        _finish(below, "RTT / ms")
        above.set_xlabel("")
        legend = below.get_legend()
        if legend is not None:
            legend.remove()
    return fig


def _path(above: Axes, below: Axes, result: Result) -> None:
    """Draws what the links of the first flow's path allow: capacity, base round trip, handovers, outages."""
    if result.link_trace.height == 0:
        raise _core.ScenarioError('the result has no trace of links; give Record("100 ms", links=True)')
    given = result.scenario["flow"][0]
    there = [(name.partition("/")[0], "reverse" if "/" in name else "forward") for name in given["path"]]
    opposite = {"forward": "reverse", "reverse": "forward"}
    ways = [f"{link}/{way}" for link, way in there]
    back = [f"{link}/{opposite[way]}" for link, way in there]
    known = result.link_trace.with_columns(pl.col("link").cast(pl.String))
    path = (
        known.filter(pl.col("link").is_in(ways))
        .group_by("t_s", maintain_order=True)
        .agg(pl.col("rate_bps").min(), pl.col("delay_s").sum(), pl.col("handovers").sum())
    )
    returned = known.filter(pl.col("link").is_in(back)).group_by("t_s", maintain_order=True)
    extra = given.get("extra_delay") or "0 s"
    access = 0.0 if extra.startswith("0 ") else 2 * seconds(extra, "extra_delay")
    base = path["delay_s"] + returned.agg(pl.col("delay_s").sum())["delay_s"] + access
    grey: dict[str, Any] = {"color": "0.88", "linewidth": 0, "zorder": 0}
    above.fill_between(path["t_s"], path["rate_bps"] / 1e6, step="post", **grey)
    below.fill_between(path["t_s"], base * 1e3, **grey)
    for now in path.filter(pl.col("handovers").diff() > 0)["t_s"]:
        for axes in (above, below):
            axes.axvline(now, color="0.55", linewidth=0.5, zorder=1)


def _goodput(rows: pl.DataFrame, window_s: float) -> pl.DataFrame:
    """Mean goodput in Mbit/s of each window in the trace of one flow: columns t_s (its end) and rate.

    A window that the end of the run cuts to less than half is left out: a few packets would decide.
    """
    span = pl.col("t_s").diff()
    return (
        rows.group_by(((pl.col("t_s") / window_s).floor()).alias("bin"), maintain_order=True)
        .agg(pl.col("t_s").last(), pl.col("delivered_bytes").last())
        .with_columns((8 * pl.col("delivered_bytes").cast(pl.Float64).diff() / span / 1e6).alias("rate"))
        .filter(span >= window_s / 2)
    )


def sequence(
    result: Result,
    *,
    flow: str | None = None,
    unit: str = "bytes",
    between: tuple[float, float] | None = None,
) -> Figure:
    """Time-sequence plot of one flow as its sender sees it, after tcptrace.

    Each segment is a vertical bar over the bytes that it carries, at the time when it is sent;
    retransmissions, SACK blocks and losses have their own colours. The line below is what is acknowledged,
    the one above (if the receive window is finite) what the window allows.

    Args:
        result: a result whose scenario records segments.
        flow: the flow's name; by default the first that has segments.
        unit: "bytes" or "segments" (full ones).
        between: show only this interval of time, in seconds.

    Raises:
        ScenarioError: the result has no segments, or there is no such flow, interval or unit.
    """
    frame = result.segments
    if frame.height == 0:
        raise _core.ScenarioError(
            "the result has no segments; write record = { segments = true } in the scenario"
        )
    names = frame["flow"].cast(pl.String).unique(maintain_order=True).to_list()
    name = names[0] if flow is None else flow
    if name not in names:
        raise _core.ScenarioError(unknown("flow with segments", name, names))
    if unit not in ("bytes", "segments"):
        raise _core.ScenarioError(f"unit {unit!r}: write bytes or segments")
    rows = frame.filter(pl.col("flow").cast(pl.String) == name)
    if between is not None:
        rows = rows.filter(pl.col("t_s").is_between(*between))
    if rows.height == 0:
        raise _core.ScenarioError(f"flow {name} has no segments between {between} s")
    scale = 1.0
    if unit == "segments":
        sent = (frame["to_bytes"] - frame["from_bytes"]).filter(frame["event"] == "sent")
        scale = cast(float, sent.cast(pl.Float64).max())
    rows = rows.with_columns(pl.col("from_bytes", "to_bytes").cast(pl.Float64) / scale)
    fig, axes = figure(2 * WIDTH, 1.6 * HEIGHT)
    with styled():
        _sequence(axes, {key: rows.filter(pl.col("event") == key) for key in _events(rows)})
        axes.set_xlabel("time / s")
        axes.set_ylabel(f"sequence number / {unit}")
        axes.set_title(text(name), loc="left")
        axes.margins(x=0.01)
        axes.yaxis.set_major_formatter(EngFormatter())
        if between is not None and between[1] < float("inf"):
            axes.set_xlim(*between)
        axes.legend(loc="upper left")
    return fig


def _events(rows: pl.DataFrame) -> list[str]:
    return list(cast(pl.Enum, rows.schema["event"]).categories)


_BARS = {"sack": ("SACK", "#c5b0d5"), "sent": ("sent", "0.25"), "resent": ("sent again", "#d62728")}
_VECTORS = 20_000


def _sequence(axes: Axes, rows: dict[str, pl.DataFrame]) -> None:
    """Draws the rows of each event; more than a viewer copes with as vectors become one picture."""
    many = sum(part.height for part in rows.values()) > _VECTORS
    for event, (label, colour) in _BARS.items():
        part = rows[event]
        if part.height:
            axes.vlines(
                part["t_s"], part["from_bytes"], part["to_bytes"],
                color=colour, linewidth=1.2, label=label, rasterized=many,
            )  # fmt: skip
    middle = {name: (rows[name]["from_bytes"] + rows[name]["to_bytes"]) / 2 for name in ("resent", "lost")}
    # A bar of one segment is too short to be seen among thousands; what went wrong shall be seen.
    dot: dict[str, Any] = {"linestyle": "", "rasterized": many}
    axes.plot(rows["resent"]["t_s"], middle["resent"], marker=".", markersize=1.5, color="#d62728", **dot)
    if rows["lost"].height:
        axes.plot(
            rows["lost"]["t_s"], middle["lost"],
            marker="x", markersize=3, markeredgewidth=0.6, color="#ff7f0e", label="lost", **dot,
        )  # fmt: skip
    acks = rows["ack"]
    line: dict[str, Any] = {"drawstyle": "steps-post", "linewidth": 0.8, "rasterized": many}
    if acks.height:
        axes.plot(acks["t_s"], acks["from_bytes"], color="#2ca02c", label="acknowledged", **line)
    if (acks["to_bytes"] > acks["from_bytes"]).any():
        axes.plot(acks["t_s"], acks["to_bytes"], color="#1f77b4", label="receive window", **line)


def bdp_segments(result: Result) -> float | None:
    """The bandwidth-delay product of the first flow, in full packets.

    It is the rate of the slowest forward link times the flow's smallest round-trip time; None if the flow had
    no sample of that.
    """
    rates = [k["rate_bps"] for k in result.json["links"] if k["direction"] == "forward"]
    first = result.json["flows"][0] if result.json["flows"] else {}
    least = first.get("rtt_min_s")
    given = (result.scenario.get("flow") or [{}])[0]
    packet = sum(_bytes(given.get(key)) for key in ("mss", "header"))
    if not rates or least is None or packet == 0:
        return None
    return float(min(rates) * least / (8 * packet))


def _bytes(value: Any) -> float:
    """A size of a resolved scenario: a number of bytes, or text such as "1448 bytes"."""
    if isinstance(value, int | float):
        return float(value)
    number, _, unit = str(value or "").partition(" ")
    return float(number) if unit == "bytes" else 0.0


def _flows(result: Result) -> Iterator[tuple[dict[str, Any], pl.DataFrame]]:
    """For each traced flow how to draw it and its rows; flows of one algorithm differ by their dashes."""
    if result.trace.height == 0:
        raise _core.ScenarioError('the result has no trace; give the scenario record=Record("100 ms")')
    seen: dict[str, int] = {}
    for flow in result.json["flows"]:
        rows = result.trace.filter(pl.col("flow").cast(pl.String) == flow["name"])
        if rows.height == 0:
            continue
        nth = seen.setdefault(flow["cc"], 0)
        seen[flow["cc"]] += 1
        yield look(flow["cc"], None if flow["name"] == flow["cc"] else flow["name"], nth), rows


def _finish(axes: Axes, label: str, *, zero: bool = True) -> None:
    lines: list[Any] = axes.get_legend_handles_labels()[0]
    for place, line in enumerate(lines):  # so few markers, and those of different flows beside each other
        every = max(1, len(line.get_xdata()) // _MARKS)
        line.set_markevery((place % 5 * every // 5, every))
    axes.set_xlabel("time / s")
    axes.set_ylabel(label)
    axes.margins(x=0)
    if zero:
        axes.set_ylim(bottom=0)
    if 1 <= len(lines) <= 8:
        axes.legend(
            ncols=2 if len(lines) == 4 else min(len(lines), 3),
            loc="lower center",
            bbox_to_anchor=(0.5, 1.0),
            borderaxespad=0.2,
        )
