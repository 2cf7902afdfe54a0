"""Retransmissions of a test as nuttcp reports them, measured and simulated. See docs/starlink.md.

The server that sent the measured downlinks wrote its count of retransmissions into the data, behind a buffer
of 450 MB. A client prints a count when it arrives: late by the buffer, and in lumps of a third of it (see the
head of `bentpipe.timeline.traces.nuttcp`). `nuttcp.settled` moves a lump back, and spreads it evenly over the
time from which it may come. Neither says when a segment was sent again. So the count of a simulated sender
passes through the same buffer here, and both are compared in both ways.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import bentpipe as bp
from bentpipe.timeline.traces import nuttcp

Floats = NDArray[np.float64]
BUFFER_BYTES = 450e6
"""The sender's buffer, in all reports of downlinks that have the server's summary. The others state none."""
MSS = 1408
"""Of the uplink's report, "connect ... with mss=1408"; that of the downlink has no such line."""
TEST_S = 120.0
SLOT_S = 0.5
WAYS = ("reported", "settled")
"""Both ways to count: as the report has it, and moved to where it happened."""
WINDOW_S, QUIET = 5.0, 30
"""A time of 5 s is quiet with at most 30 retransmissions."""


@dataclass(frozen=True)
class Counts:
    """The retransmissions of a test, in the intervals of its report.

    Attributes:
        middles_s: middle of each interval.
        delivered: payload bytes in each.
        reported: retransmissions that the report has in each.
        settled: those that happened in each; NaN at the end of a test, whose counts did not arrive.
        total: those of the whole test, where the report has the sender's summary.
    """

    middles_s: Floats
    delivered: Floats
    reported: Floats
    settled: Floats
    total: int | None = None

    def again(self, way: str) -> float:
        """Retransmissions over segments delivered, where the test has counts; NaN if it has none."""
        if way == "settled" and self.total is not None:
            return self.total * MSS / float(self.delivered.sum())
        counts: Floats = getattr(self, way)
        known = ~np.isnan(counts)
        return float(counts[known].sum() * MSS / self.delivered[known].sum()) if known.any() else np.nan

    def windows(self, way: str) -> list[float]:
        """Retransmissions in each time of 5 s of the first 120 s that has all its counts."""
        counts: Floats = getattr(self, way)
        place = (self.middles_s // WINDOW_S).astype(int)
        sums = [counts[place == i].sum() for i in range(int(TEST_S / WINDOW_S)) if (place == i).any()]
        return [float(found) for found in sums if not np.isnan(found)]

    def by_way(self) -> dict[str, Any]:
        """`again` and `windows` of both ways to count."""
        return {way: {"again": self.again(way), "windows": self.windows(way)} for way in WAYS}


def of_report(file: Path) -> Counts:
    """The counts of a measured test.

    Raises:
        ScenarioError: it is no report, or the test was refused.
        OSError: it cannot be read.
    """
    whole = nuttcp.report(file)
    buffered = None if whole.client_sends else (whole.buffer_bytes or BUFFER_BYTES)
    return _counts(whole.intervals, buffered, whole.retransmitted)


def of_result(result: bp.Result, *, late: bool) -> Counts:
    """The counts of the only flow of a run that recorded segments.

    Args:
        result: the run, with a trace of the flow.
        late: the count passes through the buffer of the measured downlinks; otherwise it is prompt, as on the
            uplink, whose client sent.
    """
    times, bytes_ = (result.trace[name].to_numpy() for name in ("t_s", "delivered_bytes"))
    ends = np.arange(SLOT_S, times[-1] + SLOT_S / 2, SLOT_S)
    delivered = np.interp(ends, times, bytes_)
    resent = result.segments.filter(pl.col("event") == "resent")["t_s"].to_numpy()
    if late:
        counts = through_buffer(resent, ends, delivered, BUFFER_BYTES)
    else:
        counts = np.diff(np.searchsorted(resent, ends), prepend=0)
    rows = [
        nuttcp.Interval(i, end - SLOT_S, end, 8 * own / SLOT_S, int(count), None)
        for i, (end, own, count) in enumerate(zip(ends, np.diff(delivered, prepend=0), counts, strict=True))
    ]
    return _counts(rows, BUFFER_BYTES if late else None, None)


def _counts(rows: Sequence[nuttcp.Interval], buffered: float | None, total: int | None) -> Counts:
    reported = np.array([float(row.retransmitted or 0) for row in rows])
    settled = reported
    if buffered is not None:
        moved = nuttcp.settled(rows, buffered, total)
        settled = np.array([np.nan if count is None else count for count in moved])
    return Counts(
        np.array([(row.begin_s + row.end_s) / 2 for row in rows]),
        np.array([row.rate_bps * (row.end_s - row.begin_s) / 8 for row in rows]),
        reported, settled, total,
    )  # fmt: skip


def through_buffer(resent_s: Floats, ends_s: Floats, delivered: Floats, buffer_bytes: float) -> Floats:
    """What a client that receives would report in each interval.

    The sender fills its buffer at the start, and again whenever a third of it is delivered, with its count of
    that instant.

    Args:
        resent_s: when each segment was sent again.
        ends_s: ends of the intervals.
        delivered: bytes delivered by then.
        buffer_bytes: the sender's buffer.
    """
    third = nuttcp.FREE * buffer_bytes
    written = np.arange(third, delivered[-1], third)
    counted = np.searchsorted(resent_s, np.interp(written, np.append(0, delivered), np.append(0, ends_s)))
    arrived = np.searchsorted(written + buffer_bytes - third, delivered, side="right")
    return np.diff(np.append(0, counted)[arrived], prepend=0).astype(np.float64)
