"""Measurements by irtt: its JSON (`irtt client -o FILE`), also compressed by gzip.

Source: the manual page irtt-client(1), section "JSON format": round_trips with seqno, lost, timestamps,
delay.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from bentpipe.foreign import refuse, unpacked, value
from bentpipe.timeline.traces import probes
from bentpipe.timeline.traces.probes import Probe


def read(path: Path, *, outage_s: float | None = None, gap_s: float | None = None) -> pl.DataFrame:
    """Half of each round trip as delay; lost probes as outages, or as loss (see `probes.frame`).

    Times are those at which the client sent, by its monotonic clock.

    Raises:
        ScenarioError: it is not such JSON, or damaged, no probe came back, or there is a gap.
        OSError: it cannot be read.
    """
    return probes.frame(path, sent(path), outage_s, gap_s)


def sent(path: Path) -> list[Probe]:
    """Every probe, in the order of the file.

    Raises:
        ScenarioError: it is not such JSON, or damaged.
        OSError: it cannot be read.
    """
    content = unpacked(path)
    if not content.strip():
        refuse(path, None, "the file is empty")
    report = value(path, content)
    trips = report.get("round_trips") if isinstance(report, dict) else None
    if not isinstance(trips, list) or not trips:
        refuse(path, None, "it has no round_trips; is it the JSON of irtt client?")
    found = []
    for place, trip in enumerate(trips):
        try:
            sent = float(trip["timestamps"]["client"]["send"]["monotonic"]) / 1e9
            lost = trip["lost"] not in ("false", False)
            rtt = None if lost else float(trip["delay"]["rtt"]) / 1e9
        except (KeyError, OverflowError, TypeError, ValueError):
            refuse(path, None, f"round_trips[{place}] has no time of sending, or no round-trip time")
        if rtt is not None and rtt < 0:
            refuse(path, None, f"round_trips[{place}]: the round-trip time is negative")
        found.append(Probe(None, sent, rtt))
    return found
