"""Measurement campaigns: a table in CSV with the rate of each second, of many tests one after another."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import polars as pl

from bentpipe.foreign import lines, quoted, refuse
from bentpipe.timeline.traces.samples import GAP_STEPS, Samples

_MBPS = 1e6


@dataclass(frozen=True)
class Row:
    """A row of the table.

    Attributes:
        line: its line number in the file.
        begin_s: when its second began, Unix time.
        rate_bps: the rate in it, bits per second.
    """

    line: int
    begin_s: float
    rate_bps: float


def rows(
    path: Path, columns: Sequence[tuple[str, str]], instant: Callable[[str], float], whose: str
) -> list[Row]:
    """The rows of a table. One that repeats the row before it is left out.

    Args:
        path: the table.
        columns: possible names of its columns with the begin of a second and with the rate in Mbit/s; the
            first pair that the head has is taken.
        instant: the Unix time in a cell; it raises ValueError if there is none.
        whose: what the table should be, for messages.

    Raises:
        ScenarioError: the head has no such pair, or a cell of them is missing or damaged.
        OSError: it cannot be read.
    """
    found: list[Row] = []
    table = csv.reader((f"{line}\n" for line in lines(path)), strict=True)
    try:
        head = [name.strip() for name in next(table)]
        pair = next((pair for pair in columns if set(pair) <= set(head)), None)
        if pair is None:
            needed = " or ".join(" and ".join(pair) for pair in columns)
            refuse(path, 1, f"it names no columns {needed}; is it {whose}?")
        places = [head.index(name) for name in pair]
        for cells in table:
            if not cells:
                continue
            if len(cells) <= max(places):
                refuse(path, table.line_num, f"{len(cells)} cells; {' or '.join(pair)} is missing")
            when, rate = (cells[place].strip() for place in places)
            row = Row(
                table.line_num,
                _value(path, table.line_num, pair[0], when, "a time", instant),
                _MBPS * _value(path, table.line_num, pair[1], rate, "a number", float),
            )
            if not 0 <= row.rate_bps < float("inf"):
                refuse(path, row.line, f"column {pair[1]}: {quoted(rate)} is no rate; it must be from 0")
            if not found or (row.begin_s, row.rate_bps) != (found[-1].begin_s, found[-1].rate_bps):
                found.append(row)
    except csv.Error as wrong:
        refuse(path, table.line_num, str(wrong))
    if not found:
        refuse(path, None, "the file holds no sample")
    return found


def one(path: Path, found: Sequence[Row], test: int | None, gap_s: float | None) -> pl.DataFrame:
    """One test of a campaign as a time line: the rate of each row holds until the next one.

    A test ends where the time goes back, and before a row that comes later than `gap_s`.

    Args:
        path: the file, for messages.
        found: all rows, in the order of the file.
        test: which test, from 1; None if there is only one.
        gap_s: the longest step within a test; by default `GAP_STEPS` times the median step.

    Raises:
        ScenarioError: there are several tests and `test` does not say which, or there is no such test, or a
            time occurs twice.
    """
    steps = [later.begin_s - sooner.begin_s for sooner, later in pairwise(found)]
    usual = statistics.median_low([step for step in steps if step > 0] or [1.0])
    longest = GAP_STEPS * usual if gap_s is None else gap_s
    edges = [0, *(place + 1 for place, step in enumerate(steps) if not 0 <= step <= longest), len(found)]
    tests = [found[begin:end] for begin, end in pairwise(edges)]
    if test is None and len(tests) > 1:
        most = max(range(len(tests)), key=lambda place: len(tests[place]))
        refuse(
            path, None,
            f"it holds {len(tests):,} tests, each ends at a gap of more than {longest:g} s or where the time "
            f"goes back; say which: --test {most + 1} has the most rows, {len(tests[most]):,}",
        )  # fmt: skip
    if test is not None and not 1 <= test <= len(tests):
        refuse(path, None, f"there is no test {test}; the file holds {len(tests):,}")
    samples = Samples(path)
    for row in tests[(test or 1) - 1]:
        samples.add(row.line, row.begin_s, rate_bps=row.rate_bps)
        samples.end_s = row.begin_s + usual
    return samples.frame(None)


def _value(
    path: Path, line: int, column: str, cell: str, what: str, convert: Callable[[str], float]
) -> float:
    try:
        return convert(cell)
    except (OverflowError, ValueError):
        refuse(path, line, f"column {column}: {quoted(cell)} is not {what}")
