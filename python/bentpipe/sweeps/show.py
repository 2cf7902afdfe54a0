"""Results of a sweep as a table: a row for each point of the grid, with mean goodput and its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bentpipe import measures, stats, terminal, units
from bentpipe.result import each_once
from bentpipe.sweeps.job import goodput

if TYPE_CHECKING:
    import polars as pl

#: Rows of the table that are printed.
_ROWS = 40
_HEADS = ["runs", "<goodput, Mbit/s\nmean, 95 % interval", "RTT p95\nms", "lost\n%"]


def groups(flows: pl.DataFrame, links: pl.DataFrame, keys: Sequence[str]) -> list[dict[str, Any]]:
    """One dict for each point of the grid, in the order of the runs.

    With the keys, and runs; goodput_bps of all flows together, its mean over runs, with the ends of its 95 %
    interval, goodput_low_bps and goodput_high_bps (None for one run), which are not beyond the rates of the
    links; rtt_p95_s, the mean over flows and runs; loss, as `measures.lost`.
    """
    forward = links.filter(direction="forward").group_by("run", maintain_order=True).agg("rate_bps")
    rates: dict[int, list[float]] = dict(forward.iter_rows())
    points: dict[tuple[Any, ...], dict[int, list[dict[str, Any]]]] = {}
    for row in flows.iter_rows(named=True):
        points.setdefault(tuple(row[key] for key in keys), {}).setdefault(row["run"], []).append(row)
    found = []
    for point, runs in points.items():
        values = [goodput(rows) for rows in runs.values()]
        most = math.fsum(rates.get(next(iter(runs)), ()))
        mean = stats.interval(values, least=0, most=most if most >= max(values) else None)
        every = [row for rows in runs.values() for row in rows]
        rtts = [row["rtt_p95_s"] for row in every if row["rtt_p95_s"] is not None]
        found.append(
            {
                **dict(zip(keys, point, strict=True)),
                "runs": len(runs),
                "goodput_bps": mean.centre,
                "goodput_low_bps": mean.low if mean.n > 1 else None,
                "goodput_high_bps": mean.high if mean.n > 1 else None,
                "rtt_p95_s": math.fsum(rtts) / len(rtts) if rtts else None,
                "loss": measures.lost(every),
            }
        )
    return found


def show_groups(found: Sequence[dict[str, Any]], keys: Sequence[str]) -> None:
    """Prints them."""
    rows = []
    for row in found[:_ROWS]:
        low, high = row["goodput_low_bps"], row["goodput_high_bps"]
        mean = stats.Interval(
            row["goodput_bps"] / 1e6,
            math.nan if low is None else low / 1e6,
            math.nan if high is None else high / 1e6,
            row["runs"],
            low is not None and low == high,
        )
        rows.append(
            [
                *([_cell(row[key]) for key in keys] or [""]),
                str(row["runs"]),
                stats.shown(mean),
                units.milliseconds(row["rtt_p95_s"]),
                units.percent(row["loss"], 2),
            ]
        )
    heads = [*([f"<{key}" for key in keys] or ["<"]), *_HEADS]
    wide = sum(
        max(len(text) for text in (*(row[i] for row in rows), *head.lstrip("<").split("\n"))) + 2
        for i, head in enumerate(heads)
    )
    if len(keys) > 1 and wide > terminal.console().width:  # the keys as one column
        count = len(keys)
        heads = ["<point", *_HEADS]
        rows = [[", ".join(row[:count]), *row[count:]] for row in rows]
        terminal.line(f"point: {', '.join(keys)}")
    terminal.show_table("", heads, rows)
    terminal.rest(_ROWS, len(found), "points")


def sums_of_lives(flows: pl.DataFrame) -> bool:
    """Whether the goodput of a run is a sum over flows of different lives: `measures.lives_differ`."""
    rows = flows.select("run", "half", "start_s", "completion_s").partition_by("run")
    return any(measures.lives_differ(each_once(of.iter_rows(named=True))) for of in rows)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else terminal.named(str(value))
