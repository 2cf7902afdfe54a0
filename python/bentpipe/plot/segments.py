"""Time-sequence plots, after tcptrace."""

from __future__ import annotations

from typing import Any, cast

import polars as pl
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter

from bentpipe import _core
from bentpipe.plot.curves import need
from bentpipe.plot.drawing import Drawing, blank, note
from bentpipe.plot.looks import HEIGHT, WIDTH, size, styled, text
from bentpipe.registry import unknown
from bentpipe.result import Result

_BARS = {"sack": ("SACK", "#c5b0d5"), "sent": ("sent", "0.25"), "resent": ("sent again", "#d55e00")}
_EVENTS = {"resent": ("sent again", "#d55e00"), "lost": ("lost", "#000000")}
_VECTORS = 20_000


def sequence(
    result: Result,
    *,
    flow: str | None = None,
    unit: str = "bytes",
    between: tuple[float, float] | None = None,
) -> Drawing:
    """Time-sequence plot of one flow as its sender sees it, after tcptrace.

    Each segment is a vertical bar over the bytes that it carries, at the time when it is sent;
    retransmissions and SACK blocks have their own colours. The lower line is the acknowledged data, the one
    above (if the receive window is finite) the limit of the window. Two rows of ticks under the panel say
    when segments were sent again and when segments were lost, at any zoom.

    Args:
        result: a result whose scenario records segments.
        flow: the flow's name; by default the first that has segments.
        unit: "bytes" or "segments" (full ones).
        between: show only this interval of time, in seconds.

    Raises:
        ScenarioError: the result has no segments, or there is no such flow, interval or unit.
    """
    need(result, "segments")
    frame = result.segments
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
    data = rows.with_columns(pl.col("flow", "event").cast(pl.String))
    rows = rows.with_columns(pl.col("from_bytes", "to_bytes").cast(pl.Float64) / scale)
    now = size()
    fig = blank(now.at_least(2 * WIDTH), max(now.height, 1.7 * HEIGHT))
    with styled():
        axes, strip = fig.subplots(2, 1, sharex=True, height_ratios=(12, 1.6))
        parts = {
            key: rows.filter(pl.col("event") == key) for key in cast(pl.Enum, rows.schema["event"]).categories
        }
        _sequence(axes, parts)
        _strip(strip, parts)
        strip.set_xlabel("time, s")
        axes.set_ylabel(f"sequence number, {unit}")
        axes.set_title(text(name), loc="left")
        axes.margins(x=0.01)
        axes.yaxis.set_major_formatter(EngFormatter())
        if between is not None and between[1] < float("inf"):
            axes.set_xlim(*between)
        axes.legend(loc="upper left")
        note(fig, f"n = 1 (seed {result.json['seed']})")
    fig.data = data
    return fig


def _sequence(axes: Axes, rows: dict[str, pl.DataFrame]) -> None:
    """Draws the rows of each event; more than a viewer copes with as vectors become one picture."""
    many = sum(part.height for part in rows.values()) > _VECTORS
    thick = 1.2 * size().type
    for event, (label, colour) in _BARS.items():
        part = rows[event]
        if part.height:
            axes.vlines(
                part["t_s"], part["from_bytes"], part["to_bytes"],
                color=colour, linewidth=thick, label=label, rasterized=many,
            )  # fmt: skip
    # A bar of one segment is shorter than a pixel among thousands. A tick keeps its length at any zoom.
    again = rows["resent"]
    axes.plot(
        again["t_s"], (again["from_bytes"] + again["to_bytes"]) / 2, linestyle="", marker="|",
        markersize=4 * size().type, markeredgewidth=0.7 * size().type, color="#d55e00", rasterized=many,
    )  # fmt: skip
    acks = rows["ack"]
    line: dict[str, Any] = {"drawstyle": "steps-post", "linewidth": 0.8 * size().type, "rasterized": many}
    if acks.height:
        axes.plot(acks["t_s"], acks["from_bytes"], color="#009e73", label="acknowledged", **line)
    if (acks["to_bytes"] > acks["from_bytes"]).any():
        axes.plot(acks["t_s"], acks["to_bytes"], color="#0072b2", label="receive window", **line)


def _strip(axes: Axes, rows: dict[str, pl.DataFrame]) -> None:
    """Rows of ticks: when segments were sent again, and when segments were lost."""
    many = sum(rows[event].height for event in _EVENTS) > _VECTORS
    for row, (event, (label, colour)) in enumerate(_EVENTS.items()):
        axes.plot(
            rows[event]["t_s"], [1.0 - row] * rows[event].height, linestyle="", marker="|",
            markersize=5 * size().type, markeredgewidth=0.6 * size().type, color=colour, label=label,
            rasterized=many,
        )  # fmt: skip
    axes.set_yticks([1.0, 0.0], [f"{label} ({rows[event].height})" for event, (label, _) in _EVENTS.items()])
    axes.set_ylim(-0.7, 1.7)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
