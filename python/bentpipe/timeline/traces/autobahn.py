"""Rates of Starlink on a German motorway: the data set Starlink-on-the-Autobahn.

Source: sys-uos/Starlink-on-the-Autobahn at 959e270, "Measuring Mobile Starlink Performance: A Comprehensive
Look" (IEEE OJ-COMS 2025): `throughput.csv` in `Data/Autobahn/throughput.zip`, and `Throughput_Bridges.csv`,
which adds the distance of the nearest bridge. Each row is a second of two iperf3 tests at the same time:
timestamp_start_dl and download, timestamp_start_ul and upload; times are UTC, rates Mbit/s.

The tables have no outages. The authors' emulation loses all under a bridge, by a trace of losses that is
another file; a distance once a second does not say when a pass of half a second began.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from bentpipe import _core
from bentpipe.timeline.traces import campaign

_COLUMNS = {"down": ("timestamp_start_dl", "download"), "up": ("timestamp_start_ul", "upload")}


def read(
    path: Path, *, direction: str = "down", test: int | None = None, gap_s: float | None = None
) -> pl.DataFrame:
    """The rate in each second of a test, "down" or "up" (see `campaign.one`).

    Raises:
        ScenarioError: it is no such table, a cell is damaged, or it holds several tests.
        OSError: it cannot be read.
    """
    if direction not in _COLUMNS:
        raise _core.ScenarioError(f"--direction {direction!r}: write down or up")
    whose = "throughput.csv or Throughput_Bridges.csv of Starlink-on-the-Autobahn"
    found = campaign.rows(path, [_COLUMNS[direction]], _instant, whose)
    return campaign.one(path, found, test, gap_s)


def _instant(cell: str) -> float:
    known = datetime.fromisoformat(cell)
    return (known if known.tzinfo is not None else known.replace(tzinfo=UTC)).timestamp()
