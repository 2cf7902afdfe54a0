"""Time lines that are made: two laid over each other, one stretched, one drawn."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl

from bentpipe import _core
from bentpipe.timeline import drawn
from bentpipe.timeline.format import COLUMNS, check, complete
from bentpipe.timeline.measures import mean
from bentpipe.units import seconds, spaced


def join(
    first: pl.DataFrame,
    second: pl.DataFrame,
    *,
    columns: Sequence[str] | None = None,
    offset_s: float = 0.0,
    delay: str = "lines",
) -> pl.DataFrame:
    """Two time lines as one: the delay of one and the rate of another, for example.

    The rows are at the instants of both. Each line is held before its beginning and after its end.

    Args:
        first: gives all its columns but `columns`.
        second: gives the columns that the first lacks, or `columns`.
        columns: columns to take from the second, also where the first has it.
        offset_s: delay of the second against the first; rows that a negative one moves before 0 are cut.
        delay: "lines" if the delay moves in straight lines between rows (the simulator's default), "steps" if
            it is held; it gives the delay at the instants of the other.

    Raises:
        ScenarioError: one is not a time line, or the second has nothing to give.
    """
    check(first, "the first time line")
    check(second, "the second time line")
    if delay not in ("lines", "steps"):
        raise _core.ScenarioError(f'delay {delay!r}: write "lines" or "steps"')
    if not math.isfinite(offset_s):
        raise _core.ScenarioError(f"the offset is {offset_s}; it must be a number of seconds")
    a, b = complete(first), complete(second)
    given = [name for name in b.columns if name != "t_s"]
    taken = [name for name in given if name not in a.columns] if columns is None else list(columns)
    for name in taken:
        if name not in given:
            raise _core.ScenarioError(f"the second time line has no column {name}; it has {', '.join(given)}")
    if not taken:
        raise _core.ScenarioError(
            f"both time lines have {', '.join(given)}; say what to take of the second, "
            f"for example --take {given[0]}"
        )
    a_ns = _nanoseconds(a["t_s"])
    b_ns = _nanoseconds(b["t_s"]) + round(offset_s * 1e9)
    ns = np.union1d(a_ns, b_ns)
    ns = ns[ns >= 0]
    parts = [_at(a, a_ns, ns, [n for n in a.columns if n not in ("t_s", *taken)], delay)]
    parts.append(_at(b, b_ns, ns, taken, delay))
    known = {column.name: column for part in parts for column in part}
    order = [name for name in COLUMNS if name in known] + [name for name in known if name not in COLUMNS]
    return pl.DataFrame([pl.Series("t_s", ns / 1e9), *(known[name] for name in order)])


def stretch(
    frame: pl.DataFrame, *, time: float = 1.0, rate: float = 1.0, mean_rate: float | None = None
) -> pl.DataFrame:
    """A time line that lasts longer, or has another rate.

    Args:
        frame: the time line.
        time: each instant is multiplied by it; delays are not.
        rate: each rate is multiplied by it.
        mean_rate: instead of `rate`, the mean rate over time that comes out, in bits per second.

    Raises:
        ScenarioError: it is not a time line, a factor is not above 0, or there is no rate to change.
    """
    check(frame)
    for name, value in (("time", time), ("rate", rate), ("mean rate", mean_rate)):
        if value is not None and not (math.isfinite(value) and value > 0):
            raise _core.ScenarioError(f"the {name} is {value:g}; it must be a number above 0")
    whole = complete(frame)
    if mean_rate is not None:
        if rate != 1.0:
            raise _core.ScenarioError("a factor for the rate and a mean rate exclude each other")
        before = mean(whole, "rate_bps") if "rate_bps" in whole.columns else 0.0
        if not before:
            raise _core.ScenarioError("the time line has no rate above 0, so it cannot get a mean rate")
        rate = mean_rate / before
    if rate != 1.0 and "rate_bps" not in whole.columns:
        raise _core.ScenarioError("the time line has no column rate_bps")
    changed = [(pl.col("t_s") * time).alias("t_s")]
    if rate != 1.0:
        changed.append((pl.col("rate_bps") * rate).alias("rate_bps"))
    return whole.with_columns(changed)


def generate(
    generator: str = "starlink",
    *,
    duration: str = "600 s",
    seed: int = 1,
    losses: float = 0.0,
    **recipe: Any,
) -> pl.DataFrame:
    """A drawn time line, complete in one table.

    Args:
        generator: "starlink".
        duration: time of the last row.
        seed: of the draw.
        losses: loss rate outside outages, of single packets.
        **recipe: profile, direction, rate_median ("242 Mbit/s"), share and blackout ("150 ms"), as in a
            scenario.

    Returns:
        `t_s`, `rate_bps`, `delay_s`, `loss_rate`, `up` and `handover`; `loss_rate` is 1 in an outage.

    Raises:
        ScenarioError: a value is wrong.
    """
    if not 0 <= losses <= 1:
        raise _core.ScenarioError(f"losses: {losses:g} is no probability, 0 to 1")
    table = {"generator": generator, "seed": seed, **recipe}
    drawn.check(table, spaced(duration))
    duration_s = seconds(duration, "duration")
    found = drawn.draw(table, seed, duration_s)
    return join(found.line, lossy(found.outages, duration_s, losses))


def lossy(outages: Iterable[tuple[float, float]], end_s: float, otherwise: float = 0.0) -> pl.DataFrame:
    """A time line of ``loss_rate`` from 0 to `end_s`: 1 in an outage, else `otherwise`.

    Args:
        outages: begin and end of each, in order; they do not overlap.
        end_s: time of the last row.
        otherwise: the loss rate outside outages.
    """
    rows = {0.0: otherwise, end_s: otherwise}
    for begin, end in outages:
        rows |= {begin: 1.0, end: otherwise}
    times = sorted(rows)
    return pl.DataFrame({"t_s": times, "loss_rate": [rows[t] for t in times]})


def _nanoseconds(seconds: pl.Series) -> np.ndarray:
    return np.round(seconds.to_numpy() * 1e9).astype(np.int64)


def _at(
    frame: pl.DataFrame, own: np.ndarray, ns: np.ndarray, names: Sequence[str], delay: str
) -> list[pl.Series]:
    """The values of some columns at the instants `ns`, of a frame whose rows are at `own`."""
    place = np.searchsorted(own, ns, side="right") - 1
    held = np.maximum(place, 0)
    found = []
    for name in names:
        values = frame[name].gather(held)
        if name == "handover":  # an event, not a state
            exact = (place >= 0) & (own[held] == ns)
            values = values & pl.Series(exact)
        elif name == "delay_s" and delay == "lines":
            values = pl.Series(name, _lines(frame, own, ns))
        found.append(values.alias(name))
    return found


def _lines(frame: pl.DataFrame, own: np.ndarray, ns: np.ndarray) -> np.ndarray:
    """The delay in straight lines between rows, but held before a handover and where the path is dark."""
    delays = frame["delay_s"].to_numpy()
    place = np.clip(np.searchsorted(own, ns, side="right") - 1, 0, len(own) - 1)
    found: np.ndarray = np.interp(ns, own, delays)
    step = steps(frame)
    return np.where(step[place], delays[place], found)


def steps(frame: pl.DataFrame) -> np.ndarray:
    """For each row of a completed time line, whether its delay holds until the next row."""
    up = frame["up"].to_numpy() if "up" in frame.columns else np.ones(frame.height, dtype=bool)
    # Without a column of handovers the path changes hands where it goes dark.
    changes = frame["handover"].to_numpy() if "handover" in frame.columns else ~up
    held: np.ndarray = ~up | np.append(changes[1:], False)
    return held
