"""Measurement campaigns: a table in CSV with the rate of each second, of many tests one after another.

Sources:

- Starlink-Project/Satellite-vs-Cellular at c467e3b, "LEO Satellite vs. Cellular Networks: Exploring the
  Potential for Synergistic Integration" (CoNEXT 2023), rates of Starlink and cellular networks from a car:
  the README of each folder, and the tables themselves. Those of TCP (`3-Thrpt-Comp/TCP`) and of UDP have the
  columns time, throughput, speed, latitude, longtitu and, in some, area_type; those of parallel connections
  (`7-TCP-Parallel`) have Bitrate and Time. Times are seconds of CDT, rates are Mbit/s. The repository has no
  licence.
- sys-uos/Starlink-on-the-Autobahn at 959e270, "Measuring Mobile Starlink Performance: A Comprehensive Look"
  (IEEE OJ-COMS 2025), rates of Starlink on a German motorway: `throughput.csv` in
  `Data/Autobahn/throughput.zip`, and `Throughput_Bridges.csv`, which adds the distance of the nearest bridge.
  Each row is a second of two iperf3 tests at the same time: timestamp_start_dl and download,
  timestamp_start_ul and upload; times are UTC, rates Mbit/s. The tables have no outages. The authors'
  emulation loses all under a bridge, by a trace of losses that is another file; a distance once a second does
  not say when a pass of half a second began.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import polars as pl

from bentpipe import _core
from bentpipe.io.foreign import lines, quoted, refuse
from bentpipe.io.kinds import lacking
from bentpipe.timeline.format import table
from bentpipe.timeline.traces.samples import GAP_STEPS, Samples

_MBPS = 1e6
_CELLULAR = (("time", "throughput"), ("Time", "Bitrate"))
_AUTOBAHN = {"down": ("timestamp_start_dl", "download"), "up": ("timestamp_start_ul", "upload")}


def conext23(path: Path, *, test: int | None = None, gap_s: float | None = None) -> pl.DataFrame:
    """The rate in each second of a test of Satellite-vs-Cellular (see `_one`).

    Raises:
        ScenarioError: it is no such table, a cell is damaged, or it holds several tests.
        OSError: it cannot be read.
    """
    found = _rows(path, _CELLULAR, _cdt, "a table of rates of Satellite-vs-Cellular")
    return _one(path, found, test, gap_s)


def autobahn(
    path: Path, *, direction: str = "down", test: int | None = None, gap_s: float | None = None
) -> pl.DataFrame:
    """The rate in each second of a test of Starlink-on-the-Autobahn, "down" or "up" (see `_one`).

    Raises:
        ScenarioError: it is no such table, a cell is damaged, or it holds several tests.
        OSError: it cannot be read.
    """
    if direction not in _AUTOBAHN:
        raise _core.ScenarioError(f"--direction {direction!r}: write down or up")
    whose = "throughput.csv or Throughput_Bridges.csv of Starlink-on-the-Autobahn"
    return _one(path, _rows(path, [_AUTOBAHN[direction]], _utc, whose), test, gap_s)


@dataclass(frozen=True)
class _Row:
    """A row of the table: its line in the file, the Unix time of its second, and the rate in it."""

    line: int
    begin_s: float
    rate_bps: float


def _rows(
    path: Path, columns: Sequence[tuple[str, str]], instant: Callable[[str], float], whose: str
) -> list[_Row]:
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
    found: list[_Row] = []
    whole = lines(path)
    rows = table(path, whole)
    head = [name.strip() for name in next(rows)[1]] if whole[0] else []
    pair = next((pair for pair in columns if set(pair) <= set(head)), None)
    if pair is None:
        needed = " or ".join(" and ".join(pair) for pair in columns)
        refuse(path, 1, lacking(path, f"it names no columns {needed}", "", whose))
    places = [head.index(name) for name in pair]
    for line, cells in rows:
        if len(cells) <= max(places):
            refuse(path, line, f"{len(cells)} cells; {' or '.join(pair)} is missing")
        when, rate = (cells[place].strip() for place in places)
        row = _Row(
            line,
            _value(path, line, pair[0], when, "a time", instant),
            _MBPS * _value(path, line, pair[1], rate, "a number", float),
        )
        if not 0 <= row.rate_bps < float("inf"):
            refuse(path, line, f"column {pair[1]}: {quoted(rate)} is no rate; it must be from 0")
        if not found or (row.begin_s, row.rate_bps) != (found[-1].begin_s, found[-1].rate_bps):
            found.append(row)
    if not found:
        refuse(path, None, "the file holds no sample")
    return found


def _one(path: Path, found: Sequence[_Row], test: int | None, gap_s: float | None) -> pl.DataFrame:
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


def _cdt(cell: str) -> float:
    """The Unix time of a cell such as "2023-04-12 10:40:20 CDT"; CDT is five hours behind UTC."""
    local, blank, zone = cell.rpartition(" ")
    if not blank or zone != "CDT" or len(local) != len("2023-04-12 10:40:20"):
        raise ValueError(cell)
    return datetime.fromisoformat(f"{local}-05:00").timestamp()


def _utc(cell: str) -> float:
    known = datetime.fromisoformat(cell)
    return (known if known.tzinfo is not None else known.replace(tzinfo=UTC)).timestamp()
