"""Estimates from the data of flent (`.flent.gz`): its pings and the goodput of its TCP streams.

Source: tohojo/flent, `doc/data-format.rst` (x_values, results, raw_values), the names of the series in
`flent/tests`, and the files in its `unittests/test_data`. A ping runs while the streams do, so what it loses
may be lost by a full queue; flent starts it some seconds before them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bentpipe import _core
from bentpipe.io.foreign import refuse, unpacked, value
from bentpipe.measured.counters import FILLED, WIRE, Found, rate
from bentpipe.measured.hypotheses import Count
from bentpipe.measured.quantities import Estimate, floor, share

_PING = re.compile(r"Ping \(ms\)(?! avg)")
_STREAM = re.compile(r"TCP (download|upload)(?! (?:avg|sum))(?!.*::(?:tcp|cpu)_)")


def estimates(path: Path) -> Found:
    """Round trip without queues, rate, and an upper bound of the losses.

    Raises:
        ScenarioError: it is damaged, or has neither pings nor streams of TCP.
        OSError: it cannot be read.
    """
    try:
        return _of(path, value(path, unpacked(path)))
    except _core.ScenarioError:
        raise
    except (AttributeError, KeyError, IndexError, OverflowError, TypeError, ValueError):
        refuse(path, None, "its series are not as flent writes them")


def _of(path: Path, data: Mapping[str, Any]) -> Found:
    raw, results = data.get("raw_values") or {}, data["results"]
    found: Found = [], []
    pings = {name: rows for name, rows in raw.items() if _PING.match(name) and rows}
    trips = np.array([float(row["val"]) / 1e3 for rows in pings.values() for row in rows if row.get("val")])
    if not trips.size:
        shown = [results[name] for name in results if _PING.match(name)]
        trips = np.array([float(trip) / 1e3 for series in shown for trip in series if trip])
    filled = False
    if trips.size:
        least, low = floor(trips)
        almost = float(np.percentile(trips, 5))
        filled = float(np.percentile(trips, 75)) > (1 + FILLED) * least
        how = f"least of {trips.size} pings; to their 5th percentile"
        found[0].append(Estimate("rtt_s", least, low, almost, how, path))
    numbered: list[Mapping[str, Any]] = next(
        (rows for rows in pings.values() if all("seq" in row for row in rows)), []
    )
    if len(numbered) > 1:
        seqs = {int(row["seq"]) for row in numbered}
        sent = max(seqs) - min(seqs) + 1
        lost, span = sent - len(seqs), float(numbered[-1]["t"]) - float(numbered[0]["t"])
        _, _, high = share(lost, sent)
        how = f"at most the {lost} of {sent} pings that were lost; queues may have dropped them"
        found[0].append(Estimate("loss", 0.0, 0.0, high, how, path, weight=0))
        found[1].append(Count(lost, sent, max(span, 1e-3), path, most=True))
    ways = {way: _rates(results, way) for way in ("download", "upload")}
    way = "download" if ways["download"] else "upload"
    if rates := ways[way]:
        both = all(ways.values())
        of = f"of the {way}" + (", beside an upload at once" if both else "")
        of += " as the sender's socket took it" if way == "upload" else ""
        found[0].append(rate(path, rates, of, filled=filled and not both and way == "download"))
    if not found[0]:
        refuse(path, None, "it is data of flent without pings and without streams of TCP")
    return found


def _rates(results: Mapping[str, Sequence[float | None]], way: str) -> list[float]:
    """Bits per second with headers of all streams of one way together, where at least one has a value."""
    streams = [
        of for name, of in results.items() if (found := _STREAM.match(name)) is not None and found[1] == way
    ]
    rows = [row for row in zip(*streams, strict=False) if any(cell is not None for cell in row)]
    whole = [row for row in rows if None not in row] or rows
    return [WIRE * 1e6 * sum(float(cell or 0) for cell in row) for row in whole]
