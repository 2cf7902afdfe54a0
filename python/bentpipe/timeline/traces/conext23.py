"""Rates of Starlink and cellular networks from a car: the data of a paper at CoNEXT 2023.

Source: Starlink-Project/Satellite-vs-Cellular at c467e3b, "LEO Satellite vs. Cellular Networks: Exploring the
Potential for Synergistic Integration": the README of each folder, and the tables themselves. Those of TCP
(`3-Thrpt-Comp/TCP`) and of UDP have the columns time, throughput, speed, latitude, longtitu and, in some,
area_type; those of parallel connections (`7-TCP-Parallel`) have Bitrate and Time. Times are seconds of CDT,
rates are Mbit/s. The repository has no licence.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import polars as pl

from bentpipe.timeline.traces import campaign

_COLUMNS = (("time", "throughput"), ("Time", "Bitrate"))


def read(path: Path, *, test: int | None = None, gap_s: float | None = None) -> pl.DataFrame:
    """The rate in each second of a test (see `campaign.one`).

    Raises:
        ScenarioError: it is no such table, a cell is damaged, or it holds several tests.
        OSError: it cannot be read.
    """
    found = campaign.rows(path, _COLUMNS, _instant, "a table of rates of Satellite-vs-Cellular")
    return campaign.one(path, found, test, gap_s)


def _instant(cell: str) -> float:
    """The Unix time of a cell such as "2023-04-12 10:40:20 CDT"; CDT is five hours behind UTC."""
    local, blank, zone = cell.rpartition(" ")
    if not blank or zone != "CDT" or len(local) != len("2023-04-12 10:40:20"):
        raise ValueError(cell)
    return datetime.fromisoformat(f"{local}-05:00").timestamp()
