"""The history that a Starlink dish keeps: its outages since it was switched on.

Source: the reply to `get_history` of the dish's gRPC interface (api version 17), as JSON, for instance by
`grpcurl -plaintext -d '{"get_history":{}}' 192.168.100.1:9200 SpaceX.API.Device.Device/Handle`. The times of
outages are nanoseconds since GPS began, 1980-01-06; GPS has no leap seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from bentpipe.foreign import decoded, refuse, unpacked, value
from bentpipe.spans import merged
from bentpipe.timeline import combine

#: Unix time of the epoch of GPS, and the leap seconds since: none after 2017.
GPS_EPOCH_S, LEAP_S = 315_964_800, 18
_LONGEST_S = 3.2e9


@dataclass(frozen=True)
class Outage:
    """An outage: a time in which nothing came through.

    Attributes:
        begin_s: when it began, Unix time.
        length_s: how long it lasted.
        cause: the dish's word: NO_DOWNLINK, NO_PINGS, OBSTRUCTED, NO_SCHEDULE, BOOTING and others.
    """

    begin_s: float
    length_s: float
    cause: str


def read(path: Path) -> pl.DataFrame:
    """The outages as a loss rate of 1, counted from the first, which is the boot of the dish.

    Raises:
        ScenarioError: the file is not a history of a dish, it has no outage, or a number is damaged.
        OSError: it cannot be read.
    """
    known = outages(path)
    if not known:
        refuse(path, None, "the dish lists no outage, so a time line of it would be empty")
    return lossy(known, known[0].begin_s, known[-1].begin_s + known[-1].length_s)


def outages(path: Path) -> list[Outage]:
    """All outages since the dish was switched on, in the order of their times.

    The dish writes -1 as the begin of an outage while it does not know the time; these are left out. Text
    around the JSON is skipped: scripts often write the time of the request before and after it.

    Raises:
        ScenarioError: the file is not a history of a dish, or a number is damaged.
        OSError: it cannot be read.
    """
    text = decoded(path, unpacked(path))
    reply = value(path, text[text.find("{") : text.rfind("}") + 1].encode())
    try:
        listed: Any = reply["dishGetHistory"].get("outages", [])
    except (KeyError, TypeError, AttributeError):
        refuse(path, None, "the JSON has no dishGetHistory, which is the dish's reply to get_history")
    if not isinstance(listed, list):
        refuse(path, None, "dishGetHistory.outages should be a list")
    found = (
        _outage(path, i, one)
        for i, one in enumerate(listed)
        if not (isinstance(one, dict) and str(one.get("startTimestampNs")) == "-1")
    )
    return sorted(found, key=lambda one: one.begin_s)


def _outage(path: Path, index: int, one: Any) -> Outage:
    try:
        gps_s, length_s = int(one["startTimestampNs"]) / 1e9, int(one["durationNs"]) / 1e9
        cause = str(one.get("cause", "UNKNOWN"))
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        refuse(path, None, f"outage {index + 1} lacks a whole number as startTimestampNs or durationNs")
    if not (0 <= gps_s <= _LONGEST_S and 0 <= length_s <= _LONGEST_S):
        refuse(path, None, f"outage {index + 1} has a time or a length that is negative or too large")
    return Outage(gps_s + GPS_EPOCH_S - LEAP_S, length_s, cause)


def lossy(known: list[Outage], begin_s: float, end_s: float) -> pl.DataFrame:
    """A time line of ``loss_rate`` between two Unix times: 1 in an outage, else 0.

    Outages that overlap count as one. The last row is the end.
    """
    lost = (
        (max(one.begin_s, begin_s) - begin_s, min(one.begin_s + one.length_s, end_s) - begin_s)
        for one in known
    )
    dark = merged((first, last) for first, last in lost if first < last)
    return combine.lossy(dark, end_s - begin_s)
