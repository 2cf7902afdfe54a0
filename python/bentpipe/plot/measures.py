"""Measures of each run among many, by the table of `bentpipe.measures`: a row for each run and line.

`queueing_p95_s` is above the smallest RTT that a flow in the same place had in any run of the same keys,
whatever its algorithm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from bentpipe import _core, measures
from bentpipe.plot.many import SERIES, Many
from bentpipe.plot.words import scaled
from bentpipe.registry import chooses, unknown

DERIVED = (
    "utilisation", "queueing_p95_s", "share", "jain", "rtt_ratio",
    *(one.column for one in measures.MEASURES.values() if one.needs),
)  # fmt: skip
"""Measures that are no column of the flows."""
_HIDDEN = ("run", "seed", "position", "start_s")
_OF_FLOWS = ("dropped_packets", "inside_packets")
"""Columns that links have, too, and that mean those of the flows."""


def per_run(found: Many, measure: str) -> pl.DataFrame:
    """A measure of each run and line: the keys, run, seed, algorithm, y. Rows without a value are left out.

    Raises:
        ScenarioError: there is no such measure, or the tables lack a column for it.
    """
    flows = _of_lines(found)
    heads = [*found.keys, *([found.by] if found.by else []), "run", "seed", SERIES]
    heads = list(dict.fromkeys(heads))
    if measure in ("jain", "share", "rtt_ratio"):
        rows = _together(found, measure)
        named = flows.select(heads).unique(maintain_order=True)
        on = ["run", SERIES] if measure == "share" else ["run"]
        rows = named.join(rows, on=on, how="left", maintain_order="left")
    elif measure in _of_links(found):
        links = measures.bottleneck(found.links) if measure == "utilisation" else found.slowest
        y = links.select("run", y=pl.col(measure).cast(pl.Float64))
        named = flows.select(heads).unique(maintain_order=True)
        rows = named.join(y, on="run", how="left", maintain_order="left")
    else:
        if measure == "queueing_p95_s":
            flows = queueing(found)
        rows = flows.group_by(heads, maintain_order=True).agg(y=_of_flows(found, measure))
    rows = rows.filter(pl.col("y").is_not_null() & pl.col("y").is_finite())
    if not rows.height:
        raise _core.ScenarioError(f"no run has a value of {measure}")
    return rows


def available(found: Many) -> list[str]:
    """The measures that these tables have."""
    numbers = _numbers(found.flows, *found.keys, found.by)
    derived = [name for name in DERIVED if name != "utilisation"]
    return [*derived, *numbers, *(name for name in _of_links(found) if name not in numbers)]


def queueing(found: Many) -> pl.DataFrame:
    """The flows of lines with queueing_p95_s, the 95th percentile of their RTT above their floor."""
    floor = _floors(found).select("run", "position", "floor_s")
    found.need("rtt_p95_s")
    flows = _of_lines(found).join(floor, on=["run", "position"], how="left", maintain_order="left")
    return flows.with_columns(queueing_p95_s=pl.col("rtt_p95_s") - pl.col("floor_s"))


def _floors(found: Many) -> pl.DataFrame:
    """The flows of TCP with floor_s, the smallest RTT of their place in runs of the same keys."""
    found.need("rtt_min_s")
    keys = [key for key in found.keys if not chooses(key) and "queue" not in key and "loss" not in key]
    return found.tcp.with_columns(pl.col("rtt_min_s").min().over([*keys, "position"]).alias("floor_s"))


def rates(found: Many) -> list[float]:
    """The rates of the slowest links of the runs, each once; empty if they are not known."""
    return found.slowest["rate_bps"].unique().to_list() if found.slowest.height else []


def steady_rate(found: Many) -> float | None:
    """The rate of the slowest link, if it is the same in all runs."""
    known = rates(found)
    return known[0] if len(known) == 1 else None


def several(found: Many, measure: str) -> None:
    """Checks that runs have several TCP flows.

    Raises:
        ScenarioError: each has one.
    """
    if (found.tcp.group_by("run").len()["len"] < 2).all():
        raise _core.ScenarioError(
            f"{measure} is of several flows, and each run here has one: add a second [[flow]], "
            'for example with cc = "cubic" and the same path'
        )


def measured(found: Many, measure: str, values: pl.Series) -> measures.Scaled:
    """The axis of a measure. Where a line has several flows in a run, its name says what of them it is."""
    known = scaled(measure, values)
    if measure in _of_links(found) or not found.several:
        return known
    own = replace(measures.measure(measure), words=known.words)
    return replace(known, words=measures.of_several(own).words)


def summary(rows: pl.DataFrame, heads: Sequence[str], measure: str, found: Many) -> pl.DataFrame:
    """The mean over the runs of each point with its 95 % interval by Student's t.

    Args:
        rows: the result of `per_run`.
        heads: the columns that make a point.
        measure: the measure; its possible range bounds the intervals.
        found: the runs; the rate of the slowest link of each bounds its goodput.

    Returns:
        The heads, then mean, low and high (null if there is one run), n, alike.
    """
    limits = found.slowest.select("run", "rate_bps").rows() if found.slowest.height else []
    rate: dict[int, float] = dict(limits) if measure == "goodput_bps" else {}
    made: list[dict[str, Any]] = []
    for point, part in rows.group_by(*heads, maintain_order=True):
        values = part["y"].to_list()
        known = measures.measure(measure)
        if rate:
            known = replace(known, most=max(map(rate.get, part["run"])))  # type: ignore[type-var]
        at = known.interval(values)
        low, high = (None if math.isnan(end) else end for end in (at.low, at.high))
        of = {"mean": at.centre, "low": low, "high": high, "n": at.n, "alike": at.alike}
        made.append(dict(zip(heads, point, strict=True)) | of)
    types = {head: rows.schema[head] for head in heads}
    types |= dict.fromkeys(("mean", "low", "high"), pl.Float64()) | {"n": pl.Int64(), "alike": pl.Boolean()}
    return pl.DataFrame(made, schema=types, orient="row")


def runs_behind(points: pl.DataFrame, *, drawn: str = "band") -> str:
    """The number of runs behind each point, for the foot of a figure.

    Args:
        points: the result of `summary`.
        drawn: the mark that shows the interval.
    """
    most, n = runs(points["n"])
    if most == 1:
        return "n = 1: one run for each point, so no intervals"
    words = f"{n} runs for each point"
    several = points.filter(pl.col("n") > 1)
    alike = several["alike"].sum()
    if alike == several.height:
        return f"{words}, all alike: nothing random had an effect"
    words += f"; {drawn}: 95 % interval of the mean"
    if alike:
        words += f"; runs are alike at {alike} of {points.height} points"
    return words


def runs(n: pl.Series) -> tuple[int, str]:
    """The most of some numbers of runs; and the least and the most in words: "n = 3 to 5"."""
    least, most = (int(str(end)) for end in (n.min(), n.max()))
    return most, f"n = {least}" if least == most else f"n = {least} to {most}"


def _of_lines(found: Many) -> pl.DataFrame:
    return found.flows.filter(pl.col(SERIES).is_not_null())


def _of_links(found: Many) -> list[str]:
    return _numbers(found.links, *_OF_FLOWS) if found.links.height else []


def _numbers(frame: pl.DataFrame, *hidden: str | None) -> list[str]:
    numbers = [name for name, kind in frame.schema.items() if kind.is_numeric() and "." not in name]
    return [name for name in numbers if name not in (*_HIDDEN, *hidden)]


def _of_flows(found: Many, measure: str) -> pl.Expr:
    if measure == "queueing_p95_s":
        return pl.col(measure).mean()
    known = measure in DERIVED or measure in available(found)
    value = measures.of_flows(measure, found.flows) if known else None
    if value is None and measure == "utilisation":
        raise _core.ScenarioError(
            "utilisation is of links, and this frame is of flows: give the directory of the sweep or its runs"
        )
    if value is None:
        raise _core.ScenarioError(unknown("measure", measure, available(found)))
    return value


def _together(found: Many, measure: str) -> pl.DataFrame:
    """Columns that describe all TCP flows of a run together."""
    several(found, measure)
    if measure == "jain":
        return measures.of_runs(found.tcp, found.links).select("run", y=measure)
    if measure == "rtt_ratio":
        floor = _floors(found).group_by("run", maintain_order=True)
        return floor.agg(y=pl.col("floor_s").max() / pl.col("floor_s").min())
    whole = pl.col("goodput_bps").sum().over("run")
    parts = found.tcp.with_columns(y=pl.when(whole > 0).then(pl.col("goodput_bps") / whole))
    return (
        parts.filter(pl.col(SERIES).is_not_null())
        .group_by("run", SERIES, maintain_order=True)
        .agg(pl.col("y").sum())
    )
