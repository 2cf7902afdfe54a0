"""Distributions: the share of flows, or of samples of a trace, below a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from bentpipe import _core
from bentpipe.measures import column_named
from bentpipe.plot import words
from bentpipe.plot.drawing import Drawing, sparse
from bentpipe.plot.looks import styled
from bentpipe.plot.many import SERIES, Many, many
from bentpipe.plot.measures import available, per_run, queueing
from bentpipe.plot.over_key import failures, finish
from bentpipe.plot.panels import logarithmic, panels
from bentpipe.registry import unknown
from bentpipe.sweeps.stored import ManyGiven

TRACED = ("rtt_s", "srtt_s", "cwnd", "in_flight")
"""Columns of a trace that can be drawn."""
_POINTS = 1000


def cdf(
    given: ManyGiven,
    column: str | None = None,
    *,
    by: str | None = None,
    where: Mapping[str, Any] | None = None,
) -> Drawing:
    """The cumulative distribution of a column, one line per algorithm.

    Each flow of each run counts once; of a column of traces (rtt_s, srtt_s, cwnd, in_flight) each sample;
    of completion times each transfer, if results recorded transfers.
    Transfers that are not finished count as longer than all others, so that their line ends below 1.

    Args:
        given: a sweep, or results.
        column: a column of the flows or of the traces, or a measure of `bentpipe.plot.measures`. By default
            the completion time if there is one, or else the samples of the RTT if there are traces, or else
            the goodput.
        by: the key that distinguishes lines; by default the algorithm.
        where: values of keys: other runs are left out.

    Raises:
        ScenarioError: there is no such column, or it has no values.
    """
    found = many(given, by=by, where=where)
    pieces = found.by_transfer
    name = column_named(column or _usual(pieces))
    if name == "completion_s":
        found = pieces
    rows = _values(found, name)
    if not rows["y"].drop_nulls().len():
        raise _core.ScenarioError(f"no flow has a value of {name}")
    how = words.scaled(name, rows["y"])
    fig, drawn = panels(found, rows, [])
    parts = []
    with styled():
        for panel in drawn:
            for line, look in found.looks.items():
                part = panel.rows.filter(pl.col(SERIES) == line)
                if not part["y"].drop_nulls().len():
                    continue
                points = _steps(part["y"])
                panel.axes.plot(points["y"] * how.factor, points["part"], drawstyle="steps-post", **look)
                parts.append(panel.named(points.select(pl.lit(line).alias(SERIES), pl.all())))
            if how.log:
                logarithmic(panel.axes.xaxis)
            panel.axes.set_ylim(0, 1.02)
            sparse(panel.axes)
        what = "samples" if name in TRACED else "transfers" if name == "completion_s" else "flows"
        finish(fig, drawn, how.label, f"share of {what}", _foot(rows, what) + failures(found))
    fig.data = pl.concat(parts).rename({"y": name, "part": "share"})
    return fig


def _usual(found: Many) -> str:
    flows = found.flows.filter(pl.col(SERIES).is_not_null())
    if "completion_s" in flows.columns and flows["completion_s"].drop_nulls().len():
        return "completion_s"
    return "rtt_s" if found.traces.height else "goodput_bps"


def _values(found: Many, name: str) -> pl.DataFrame:
    """The keys, run, algorithm and y of each flow or sample; y is null for unfinished transfers."""
    flows = queueing(found) if name == "queueing_p95_s" else found.flows.filter(pl.col(SERIES).is_not_null())
    heads = list(dict.fromkeys([*found.keys, *([found.by] if found.by else []), "run", SERIES]))
    if name in TRACED:
        if not found.traces.height:
            raise _core.ScenarioError(
                f"{name} is of traces, and none is kept; record the flows with --set record.interval=100ms"
            )
        own = "result_name" if "result_name" in flows.columns else "name"
        lines = flows.select(*heads, pl.col(own).alias("_flow"))
        flow = pl.col("flow").str.replace(r"/\d+$", "").alias("_flow")  # a short flow is "NAME/1"
        samples = found.traces.select("run", flow, pl.col(name).alias("y"))
        samples = samples.filter(pl.col("y").is_finite() & (pl.col("y") > 0))
        return lines.join(samples, on=["run", "_flow"], maintain_order="left").drop("_flow")
    if name in flows.columns and flows.schema[name].is_numeric():
        rows = flows.select(*heads, y=pl.col(name).cast(pl.Float64))
        # A line without any finished transfer belongs to flows without an end.
        finished = pl.col("y").is_not_null()
        return rows.filter(finished.any().over(SERIES) if name == "completion_s" else finished)
    if name in available(found):
        return per_run(found, name).select(*heads, "y")
    raise _core.ScenarioError(unknown("column", name, [*available(found), *TRACED]))


def _steps(values: pl.Series) -> pl.DataFrame:
    """Columns y and part: the share of values up to y; of many a thousand steps."""
    known = np.sort(values.drop_nulls().to_numpy())
    parts = np.arange(1, len(known) + 1) / len(values)
    if len(known) > _POINTS:
        kept = np.unique(np.linspace(0, len(known) - 1, _POINTS).astype(int))
        known, parts = known[kept], parts[kept]
    return pl.DataFrame({"y": np.concatenate([known[:1], known]), "part": np.concatenate([[0.0], parts])})


def _foot(rows: pl.DataFrame, what: str) -> str:
    line = [column for column in rows.columns if column not in ("run", "y")]
    counts = rows.group_by(line).agg(pl.len().alias("n"), pl.col("run").n_unique().alias("runs"))
    n, runs = ((int(str(counts[c].min())), int(str(counts[c].max()))) for c in ("n", "runs"))
    said = f"n = {_span(n)} {what} of {_span(runs)} runs for each line"
    if runs[1] == 1:
        said = f"n = 1 run for each line, with {_span(n)} {what}"
    unfinished = rows["y"].null_count()
    return said + (f"; {unfinished} of {rows.height} did not finish" if unfinished else "")


def _span(ends: tuple[int, int]) -> str:
    return f"{ends[0]:,}" if ends[0] == ends[1] else f"{ends[0]:,} to {ends[1]:,}"
