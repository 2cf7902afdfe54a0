"""The history that a Starlink dish keeps: its pings of 15 minutes, its outages since it was switched on.

Source: the reply to `get_history` of the dish's gRPC interface (api version 17), as JSON, for instance by
`grpcurl -plaintext -d '{"get_history":{}}' 192.168.100.1:9200 SpaceX.API.Device.Device/Handle`. The times of
outages are nanoseconds since GPS began, 1980-01-06; GPS has no leap seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from bentpipe import _core
from bentpipe.document.spans import merged
from bentpipe.io.foreign import decoded, refuse, unpacked, value
from bentpipe.io.kinds import lacking
from bentpipe.timeline import combine
from bentpipe.timeline.traces.samples import Samples

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


@dataclass(frozen=True)
class Second:
    """A second of the dish's pings: their round trip, None if all were lost, and the share that was lost."""

    rtt_s: float | None
    drop: float


def read(path: Path) -> pl.DataFrame:
    """The pings of the last 15 minutes, as delay and loss in each second; without them the outages.

    The loss counts those of either way. Seconds in which all was lost have the delay of the one before.

    Raises:
        ScenarioError: the file is not a history of a dish, it has neither, or a number is damaged.
        OSError: it cannot be read.
    """
    known = seconds(path)
    if all(one.rtt_s is None for one in known):
        return dark(path)
    samples = Samples(path)
    for number, one in enumerate(known):
        delay_s = None if one.rtt_s is None else one.rtt_s / 2
        samples.add(None, float(number), delay_s=delay_s, loss_rate=one.drop)
    samples.end_s = float(len(known))
    return samples.frame(None)


def dark(path: Path) -> pl.DataFrame:
    """The outages as a loss rate of 1, counted from the first, which is the boot of the dish.

    Raises:
        ScenarioError: the file is not a history of a dish, it has no outage, or a number is damaged.
        OSError: it cannot be read.
    """
    known = outages(path)
    if not known:
        refuse(path, None, "the dish lists no outage, so a time line of it would be empty")
    return lossy(known, known[0].begin_s, known[-1].begin_s + known[-1].length_s)


def seconds(path: Path) -> list[Second]:
    """The pings of each second, the oldest first; none if the reply has no popPingLatencyMs.

    The lists are rings: `current` seconds have passed since the boot, and the next goes to the place of that
    number (sparky8512/starlink-grpc-tools, `starlink_grpc.py`, `_compute_sample_range`).

    Raises:
        ScenarioError: the file is not a history of a dish, or a number is damaged.
        OSError: it cannot be read.
    """
    history = _history(path)
    trips, drops = (history.get(name) or [] for name in ("popPingLatencyMs", "popPingDropRate"))
    try:
        if len(trips) != len(drops):
            refuse(path, None, f"popPingLatencyMs has {len(trips)} values, popPingDropRate {len(drops)}")
        current = int(history.get("current") or len(trips))
        order = range(max(current - len(trips), 0), current)
        found = []
        for place in (number % len(trips) for number in order):
            rtt_ms, drop = float(trips[place] or 0), float(drops[place])
            if not (0 <= rtt_ms < _LONGEST_S and 0 <= drop <= 1):
                refuse(
                    path, None, f"second {place + 1} of popPingLatencyMs or popPingDropRate is out of range"
                )
            found.append(Second(rtt_ms / 1000 if drop < 1 and rtt_ms > 0 else None, drop))
    except _core.ScenarioError:
        raise
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        refuse(path, None, "popPingLatencyMs and popPingDropRate should be lists of numbers")
    return found


def outages(path: Path) -> list[Outage]:
    """All outages since the dish was switched on, in the order of their times.

    The dish writes -1 as the begin of an outage while it does not know the time; these are left out. Text
    around the JSON is skipped: scripts often write the time of the request before and after it.

    Raises:
        ScenarioError: the file is not a history of a dish, or a number is damaged.
        OSError: it cannot be read.
    """
    listed = _history(path).get("outages", [])
    if not isinstance(listed, list):
        refuse(path, None, "dishGetHistory.outages should be a list")
    found = (
        _outage(path, i, one)
        for i, one in enumerate(listed)
        if not (isinstance(one, dict) and str(one.get("startTimestampNs")) == "-1")
    )
    return sorted(found, key=lambda one: one.begin_s)


def _history(path: Path) -> dict[str, Any]:
    text = decoded(path, unpacked(path))
    reply = value(path, text[text.find("{") : text.rfind("}") + 1].encode())
    found = reply.get("dishGetHistory") if isinstance(reply, dict) else None
    if not isinstance(found, dict):
        what = "the JSON has no dishGetHistory"
        refuse(path, None, lacking(path, what, "dish", "a dish's reply to get_history"))
    return found


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
