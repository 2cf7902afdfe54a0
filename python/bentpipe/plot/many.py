"""Input of figures of many runs: a sweep, its tables, or results; and the keys that vary in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import matplotlib as mpl
import polars as pl

from bentpipe import _core, measures
from bentpipe.plot.looks import Turns
from bentpipe.plot.words import named, valued
from bentpipe.registry import chooses, unknown
from bentpipe.sweeps.flows import CLASH, chosen, controlled, counted
from bentpipe.sweeps.stored import ManyGiven, Stored, tables
from bentpipe.sweeps.vary import quantity

SERIES = "algorithm"
"""The column of `Many.flows` that names the line of a flow."""


@dataclass(frozen=True)
class Many:
    """The tables of many runs, for figures.

    Attributes:
        flows: as `Runs.flows`, with `algorithm`, the line that a row belongs to (null: none), `cc`, the id
            of its algorithm, and `position`, its place among the flows of its run.
        links: as `Runs.links`; empty if they are not known.
        traces: as `Runs.traces`; empty if nothing was recorded.
        keys: the keys with several values.
        by: the key that distinguishes lines; None for the flow's own algorithm.
        failed: number of runs that failed.
        missing: number of missing runs of an unfinished sweep.
        transfers: run, seed, and the columns of `Result.transfers`; empty unless the runs recorded them.
    """

    flows: pl.DataFrame
    links: pl.DataFrame
    traces: pl.DataFrame
    keys: list[str]
    by: str | None
    failed: int
    missing: int = 0
    transfers: pl.DataFrame = field(default_factory=pl.DataFrame)

    @cached_property
    def looks(self) -> dict[str, dict[str, Any]]:
        """The style of each line, by its name."""
        rows = self.flows.filter(pl.col(SERIES).is_not_null())
        pairs = rows.select(SERIES, "cc").unique(subset=SERIES, maintain_order=True).rows()
        several = len(pairs) < rows.select(SERIES, "cc").n_unique()
        by = self.by
        if by is not None and not chooses(by) and (several or rows.schema[by].is_numeric()):
            return _graded(by, sorted(rows[by].unique().drop_nulls().to_list()))
        turns = Turns()
        return {name: turns.look(cc, named(name)) for name, cc in pairs}

    def need(self, *columns: str) -> None:
        """Checks that the flows have these columns.

        Raises:
            ScenarioError: a frame lacks one.
        """
        lacking = [column for column in columns if column not in self.flows.columns]
        if lacking:
            raise _core.ScenarioError(f"the frame lacks {' and '.join(lacking)}, which this figure needs")

    @property
    def by_transfer(self) -> Many:
        """The same with a row for each transfer in place of a flow whose application sends in pieces."""
        if not self.transfers.height:
            return self
        own = "result_name" if "result_name" in self.flows.columns else "name"
        pieces = self.transfers.select(
            "run", pl.col("flow").alias(own), "completion_s", delivered_bytes=pl.col("bytes")
        )
        whole = self.flows.join(pieces, on=["run", own], how="anti", maintain_order="left")
        parts = self.flows.drop("completion_s", "delivered_bytes").join(
            pieces, on=["run", own], maintain_order="left_right"
        )
        return replace(self, flows=pl.concat([whole, parts], how="diagonal_relaxed"))

    @property
    def link(self) -> str:
        """The name of a link, for examples in messages."""
        return str(self.links["name"][0]) if self.links.height else "NAME"

    @cached_property
    def tcp(self) -> pl.DataFrame:
        """The flows with a controller."""
        return self.flows.filter(pl.col("cc").ne_missing("cbr"))

    @cached_property
    def slowest(self) -> pl.DataFrame:
        """The row of `links` of each run's slowest direction that data crosses."""
        return measures.slowest(self.links)

    @cached_property
    def several(self) -> bool:
        """Whether a line has several flows in a run, whose measures are put together."""
        rows = self.flows.filter(pl.col(SERIES).is_not_null()).group_by("run", SERIES).len()
        return bool((rows["len"] > 1).any())


def many(given: ManyGiven, *, by: str | None = None, where: Mapping[str, Any] | None = None) -> Many:
    """Reads the input of a figure of many runs.

    Args:
        given: a sweep or results.
        by: the key that distinguishes lines; by default the one that chooses the algorithm, or else the
            flow's own algorithm.
        where: values of keys: other runs are left out.

    Raises:
        ScenarioError: it is none of these, has no runs, or there is no such key or value.
    """
    read = _read(tables(given))
    if "seed" in (where or {}):
        read = replace(read, keys=[*read.keys, "seed"])
    if not read.flows.height:
        why = f": all {read.failed} failed" if read.failed else ""
        raise _core.ScenarioError(f"there is no run to draw{why}")
    for key, value in (where or {}).items():
        read = _kept(read, key, value)
    several = [key for key in read.keys if key != "seed" and read.flows[key].n_unique() > 1]
    choosers = [key for key in several if chooses(key)]
    by = by if by is None else column_of(by, read.keys)
    if by is not None and by not in read.flows.columns:
        raise _core.ScenarioError(unknown("key of the sweep", by, read.keys))
    by = by or next(iter(choosers), None)
    named_flows = _series(read.flows, choosers, by)
    return replace(read, flows=named_flows, keys=[key for key in several if key != by], by=by)


def column_of(key: str, keys: Sequence[str]) -> str:
    """The column of a key without its unit: link.sat.delay is link.sat.delay_s."""
    if key not in keys and CLASH.get(key) in keys:
        return CLASH[key]
    found = [known for known in keys if known.startswith(f"{key}_") and "." not in known[len(key) :]]
    return found[0] if key not in keys and len(found) == 1 else key


def rest(found: Many, used: Sequence[str | None]) -> list[str]:
    """Keys that vary beside those of a figure; not those whose values follow from these (a zip)."""
    fixed = [key for key in (*used, found.by) if key is not None]
    left: list[str] = []
    for key in found.keys:
        if key in fixed:
            continue
        alone = found.flows.group_by(*fixed, *left).agg(pl.col(key).n_unique()) if fixed or left else None
        follows = alone is not None and alone[key].max() == 1
        if not follows:
            left.append(key)
    return left


def _read(stored: Stored) -> Many:
    flows, failed = stored.flows, stored.failed.height
    planned = sum(int(part.get("runs", 0)) for part in stored.parts)
    there = failed + (flows["run"].n_unique() if "run" in flows.columns else 0)
    more: dict[str, Any] = {"missing": max(0, planned - there), "transfers": stored.transfers}
    if not flows.height:
        return Many(flows, stored.links, stored.traces, [], None, failed, **more)
    if not {"run", "goodput_bps"} <= set(flows.columns):
        raise _core.ScenarioError(
            "the frame is not the flows of a sweep: it needs the columns run and goodput_bps, "
            f"and has {', '.join(flows.columns[:8])}"
        )
    if "seed" not in flows.columns:
        flows = flows.with_columns(seed=pl.lit(1, dtype=pl.UInt64))
    keys = [key for key in stored.keys if key != "seed" and not (stored.apart and key == "directory")]
    flows, keys = counted(flows, keys)
    return Many(flows, stored.links, stored.traces, keys, None, failed, **more)


def _kept(read: Many, key: str, value: Any) -> Many:
    """The runs in which a key has this value."""
    key = column_of(key, read.keys)
    if key not in read.keys:
        raise _core.ScenarioError(unknown("key of the sweep", key, read.keys))
    column = read.flows[key]
    if column.dtype.is_numeric():
        number = _number(key, value)
        hit = (pl.col(key) - number).abs() <= 1e-9 * abs(number)
    else:
        hit = pl.col(key).cast(pl.String) == str(value)
    flows = read.flows.filter(hit)
    if not flows.height:
        there = ", ".join(
            f"{one:g}" if isinstance(one, float) else str(one) for one in column.unique().sort()
        )
        raise _core.ScenarioError(f"no run has {key}={value}; there are {there}")
    runs = flows["run"].unique().implode()

    def part(frame: pl.DataFrame) -> pl.DataFrame:
        return frame.filter(pl.col("run").is_in(runs)) if frame.height else frame

    return replace(
        read, flows=flows, links=part(read.links), traces=part(read.traces), transfers=part(read.transfers)
    )


def _number(key: str, value: Any) -> float:
    """A value of a key as the column has it: 0.25 or "250 ms"."""
    given = quantity(value)
    if given is not None and key.endswith(f"_{given[1]}"):
        return float(given[0])
    try:
        return float(value)
    except (TypeError, ValueError):
        raise _core.ScenarioError(f"where {key}={value}: write a number, in the unit of the column") from None


def _series(flows: pl.DataFrame, choosers: list[str], by: str | None) -> pl.DataFrame:
    """With the line to which each flow belongs."""
    text = pl.col("cc" if by is None else by).cast(pl.String)
    chooser = by if by is None or chooses(by) else next(iter(choosers), None)
    own = controlled() if chooser is None else chosen(chooser)
    return flows.with_columns(pl.when(own).then(text).alias(SERIES))


def _graded(key: str, values: list[Any]) -> dict[str, dict[str, Any]]:
    """Looks of lines that numbers or words distinguish: from dark to light, markers in turns."""
    shades = mpl.colormaps["viridis"]
    markers = "osD^vPXp"
    top = max(1, len(values) - 1)
    names = pl.Series(values).cast(pl.String).to_list()
    return {
        name: {
            "color": mpl.colors.to_hex(shades(0.85 * i / top)),
            "marker": markers[i % len(markers)],
            "markerfacecolor": mpl.colors.to_hex(shades(0.85 * i / top)),
            "linestyle": "-",
            "label": valued(key, value),
        }
        for i, (name, value) in enumerate(zip(names, values, strict=True))
    }
