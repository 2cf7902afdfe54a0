"""The arithmetic of the truth table: simulated against real, over seeds; and the table on a terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean, median, stdev
from typing import Any

import numpy as np

from bentpipe import terminal
from bentpipe.truth.side import Column
from bentpipe.units import in_percent

GOODPUT, RTT, RETRANSMITTED, CURVE = "goodput", "rtt", "retransmitted", "curve"
STANDARD_ERRORS = 3.0
"""A difference within this number of standard errors of the seeds is not an error."""
AGREES_WITHIN = 0.10


@dataclass(frozen=True)
class Compared:
    """One quantity of one sender on one link, over the seeds.

    Args:
        real, simulated: means over the seeds.
        standard_error: of the mean difference, simulated less real; 0 if there is one seed.
        seeds: their number.
    """

    real: float
    simulated: float
    standard_error: float
    seeds: int

    @property
    def error(self) -> float:
        """The relative error of the simulation."""
        return self.simulated / self.real - 1.0 if self.real > 0 else 0.0

    @property
    def counts(self) -> bool:
        """Whether the difference is more than the seeds explain."""
        return abs(self.simulated - self.real) > STANDARD_ERRORS * self.standard_error


def compared(real: Sequence[float], simulated: Sequence[float]) -> Compared:
    """The comparison of a quantity whose values are in the same order of seeds in both worlds."""
    differences = [s - r for r, s in zip(real, simulated, strict=True)]
    error = stdev(differences) / math.sqrt(len(differences)) if len(differences) > 1 else 0.0
    return Compared(fmean(real), fmean(simulated), error, len(differences))


def curve_distance(real: Column, simulated: Column) -> float:
    """The mean absolute difference of two windows on one grid, as a share of the real one's mean."""
    n = min(len(real), len(simulated))
    if n == 0 or real[:n].mean() <= 0:
        return 0.0
    return float(np.abs(simulated[:n] - real[:n]).mean() / real[:n].mean())


def grouped(
    rows: Sequence[dict[str, Any]], names: Sequence[str]
) -> list[tuple[tuple[Any, ...], list[dict[str, Any]]]]:
    """The rows by the values of these columns, in the order in which each value first appears."""

    def key(row: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(row[name] for name in names)

    order: dict[tuple[Any, ...], int] = {}
    for row in rows:
        order.setdefault(key(row), len(order))
    kept = sorted(rows, key=lambda row: order[key(row)])
    return [(name, list(group)) for name, group in groupby(kept, key)]


PLACE = ("sender", "rtt_ms", "per", "buffer_bdp", "link", "length_s")


def table(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row for each sender on each link, from the rows of cells (`measuring.row`)."""
    made = []
    for place, group in grouped(rows, PLACE):
        found: dict[str, Any] = dict(zip(PLACE, place, strict=True)) | {"seeds": len(group)}
        for name in (GOODPUT, RTT, RETRANSMITTED):
            of = compared([r[f"{name}_real"] for r in group], [r[f"{name}_simulated"] for r in group])
            found |= {
                f"{name}_real": of.real,
                f"{name}_simulated": of.simulated,
                f"{name}_error": of.error,
                f"{name}_counts": of.counts,
            }
        windows = compared([r["cwnd_real"] for r in group], [r["cwnd_simulated"] for r in group])
        found |= {"cwnd_real": windows.real, "cwnd_simulated": windows.simulated, "cwnd_error": windows.error}
        curves = [r[CURVE] for r in group if r[CURVE] is not None]
        found[CURVE] = fmean(curves) if len(curves) == len(group) else None
        made.append(found)
    return made


@dataclass(frozen=True)
class Errors:
    """Errors of one quantity over the rows of a table: shares, not percent.

    Args:
        median: of all rows' absolute errors.
        worst: the largest that counts; 0 if none does.
        where: the row with that.
        beyond: rows with an error that counts and is above a tenth.
        rows: their number.
    """

    median: float
    worst: float
    where: dict[str, Any] | None
    beyond: int
    rows: int


def verdict(table_rows: Sequence[dict[str, Any]], name: str) -> Errors:
    """A summary of the errors of quantity `name`."""
    errors = [abs(row[f"{name}_error"]) for row in table_rows]
    counting = [row for row in table_rows if row[f"{name}_counts"]]
    size: Callable[[dict[str, Any]], float] = lambda row: abs(row[f"{name}_error"])  # noqa: E731
    where = max(counting, key=size, default=None)
    return Errors(
        median=median(errors) if errors else 0.0,
        worst=size(where) if where is not None else 0.0,
        where=where,
        beyond=sum(size(row) > AGREES_WITHIN for row in counting),
        rows=len(errors),
    )


LABELS = {GOODPUT: "goodput", RTT: "mean RTT", RETRANSMITTED: "retransmissions"}


def signed(error: float) -> str:
    """An error in percent, with its sign."""
    return in_percent(error, "+.1f")


def link_of(row: dict[str, Any]) -> str:
    """RTT, packet error rate and buffer in a few words, or the link's name."""
    return row["link"] or f"{row['rtt_ms']} ms, {row['per']:g}, {row['buffer_bdp']:g} BDP"


def show_truth(table: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]]) -> None:
    """Prints the table, and a summary of its errors."""
    heads = [
        "<sender",
        "<link",
        "Mbit/s",
        "simulated",
        "error",
        "RTT ms",
        "error",
        "retr.",
        "error",
        "window",
        "curve",
    ]
    lines = [
        [
            row["sender"],
            link_of(row),
            f"{row['goodput_real'] / 1e6:.2f}",
            f"{row['goodput_simulated'] / 1e6:.2f}",
            _marked(row, GOODPUT),
            f"{row['rtt_real'] * 1e3:.1f}",
            _marked(row, RTT),
            in_percent(row["retransmitted_real"], ".2f"),
            _marked(row, RETRANSMITTED),
            in_percent(row["cwnd_error"], "+.1f"),
            "" if row["curve"] is None else in_percent(row["curve"], ".0f"),
        ]
        for row in table
    ]
    terminal.show_table("Real and simulated", heads, lines)
    if any(row["seeds"] > 1 for row in table):
        terminal.line("* a difference that the seeds do not explain (three standard errors)")
    for name, label in LABELS.items():
        said = verdict(table, name)
        if said.rows:
            worst = f"worst {in_percent(said.worst)}" if said.where else "none that counts"
            where = f" ({said.where['sender']}, {link_of(said.where)})" if said.where else ""
            terminal.line(f"{label}: median error {in_percent(said.median)}, {worst}{where}")
    late = sum(not row["kept_time"] for row in rows)
    if late:
        terminal.warn([f"{late} of {len(rows)} transfers were made by an emulation that did not keep time"])


def _marked(row: dict[str, Any], name: str) -> str:
    star = "*" if row["seeds"] > 1 and row[f"{name}_counts"] else ""
    return in_percent(row[f"{name}_error"], "+.1f") + star
