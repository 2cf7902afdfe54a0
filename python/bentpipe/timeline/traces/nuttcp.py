"""Measurements by nuttcp: the lines of its interval report (`-i`), also with times by `ts`.

Source: nuttcp 8.1.4, the interval report of `nuttcp.c`: "MB / sec = Mbps" with retransmissions and the
congestion window for TCP, with drops and packets for UDP; also `-fparse`.

A client that sends prints its own count of retransmissions with each interval. A client that receives prints
the count that the sender wrote into the data (`nretrans` in `nuttcp.c`). Such a count is as old as the data
that waited in the sender's buffer when the sender wrote it. Linux lets a sender that filled its buffer write
again when a third of the buffer is free (`sk_stream_is_writeable` in `include/net/sock.h`), so counts also
come in lumps of a third of the buffer. `settled` corrects both.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from bentpipe import _core
from bentpipe.io.foreign import lines, refuse
from bentpipe.io.kinds import lacking
from bentpipe.timeline.traces.samples import Samples, check_rate

# Few places begin a number, and a word is short: a long line must not take time of the square of its length.
_ROW = re.compile(
    r"(?<![0-9.])[0-9.]+ +MB +/ +(?P<sec>[0-9.]+) +sec += +"
    r"(?P<rate>-?[0-9.]+) +(?P<unit>[MGk]?)bps(?P<rest>.*)"
)
_PARSED = re.compile(
    r"megabytes=\S{1,40} real_(?:seconds|sec)=(?P<sec>\S+) rate_(?P<unit>[MGk])bps=(?P<rate>\S+)(?P<rest>.*)"
)
_RETRANSMITTED = re.compile(r"(?:\b(\d{1,12}) retrans\b|\bretrans=(\d{1,12})\b)")
_WINDOW = re.compile(r"\b(\d{1,12}) KB-cwnd\b")
_SENDER = re.compile(r"\bnuttcp-t: (?:send window size = (\d{1,12})\b|retrans = (\d{1,12})\b)")
_CLIENT_SENDS = re.compile(r"\bnuttcp-t: connect to ")
_UNITS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
FREE = 1 / 3
"""Of a full buffer: what must be free before the sender writes again."""


@dataclass(frozen=True)
class ReportLine:
    """One line of the report.

    Attributes:
        line: its line number in the file.
        begin_s: when it began, counted from the first; the report rounds lengths to 10 ms.
        end_s: when it ended.
        rate_bps: the receiver's rate, bits per second.
        retransmitted: segments sent again, by the count that nuttcp prints; None for UDP.
        window_kb: the sender's congestion window as printed, in KB; None where it is not.
    """

    line: int
    begin_s: float
    end_s: float
    rate_bps: float
    retransmitted: int | None
    window_kb: int | None


@dataclass(frozen=True)
class NuttcpReport:
    """A report.

    Attributes:
        intervals: its lines, without the summary.
        buffer_bytes: the sender's buffer, "send window size" of nuttcp-t; None if the report lacks it.
        retransmitted: segments sent again in the whole test, as the sender counted; None if it lacks them.
        client_sends: the client sent the data, so counts are those of the instant at which they were printed.
    """

    intervals: list[ReportLine]
    buffer_bytes: int | None
    retransmitted: int | None
    client_sends: bool


def read(path: Path, *, buffer_bytes: float | None = None, gap_s: float | None = None) -> pl.DataFrame:
    """The rate in each interval. The last row is the end of the last one, with its rate.

    A column `retransmitted_per_s` has the segments that were sent again per second, if the client sent the
    data or the sender's buffer is known. In the second case it is empty at the end of a test if the report
    lacks the sender's summary (see `settled`).

    Args:
        path: the report.
        buffer_bytes: the sender's buffer; by default the one in the report.
        gap_s: the longest interval that is not a gap.

    Raises:
        ScenarioError: there is no interval, one is negative, or one is so long that it is a gap; or a buffer
            is given and the report counts no retransmissions, or the client sent.
        OSError: it cannot be read.
    """
    whole = report(path)
    samples = Samples(path)
    for row in whole.intervals:
        samples.add(row.line, row.begin_s, rate_bps=row.rate_bps)
        samples.end_s = row.end_s
    frame = samples.frame(gap_s)
    buffered = whole.buffer_bytes if buffer_bytes is None else buffer_bytes
    counted = any(row.retransmitted is not None for row in whole.intervals)
    if buffer_bytes is not None and (whole.client_sends or not counted):
        why = "its client sent, so its counts are not late" if counted else "it counts no retransmissions"
        raise _core.ScenarioError(f"--buffer is not for {path}: {why}")
    counts: Sequence[float | None]
    if counted and whole.client_sends:
        counts = [row.retransmitted or 0 for row in whole.intervals]
    elif counted and buffered is not None:
        counts = settled(whole.intervals, buffered, whole.retransmitted)
    else:
        return frame
    rates = [
        None if count is None else count / (row.end_s - row.begin_s)
        for count, row in zip(counts, whole.intervals, strict=True)
    ]
    return frame.with_columns(pl.Series("retransmitted_per_s", [*rates, rates[-1]], dtype=pl.Float64))


def settled(rows: Sequence[ReportLine], buffer_bytes: float, total: int | None = None) -> list[float | None]:
    """Segments sent again in each interval, moved from where they were reported to where they happened.

    For a report whose client received.
    A count that arrives after B bytes was written when between B - buffer and B - 2/3 buffer were delivered,
    and it covers what happened since the sender last wrote. So it is spread over the bytes of this range.

    Args:
        rows: the intervals of a test.
        buffer_bytes: the sender's buffer.
        total: segments sent again in the whole test. What no interval reports happened at its end.

    Returns:
        One number for each interval. None at the end of the test, where nothing arrived that would say it.
    """
    own = np.array([row.rate_bps * (row.end_s - row.begin_s) / 8 for row in rows])
    ends = np.cumsum(own)
    counts = np.array([float(row.retransmitted or 0) for row in rows])
    last = float(ends[-1])
    lumps = np.flatnonzero(counts)
    low = np.maximum(ends[lumps] - own[lumps] - buffer_bytes, 0)
    # Some bytes more than `low`, also where doubles are further apart.
    high = np.maximum(ends[lumps] - (1 - FREE) * buffer_bytes, low * (1 + 1e-12) + 1)
    known = max(last - buffer_bytes, *high, 0.0)
    counts = counts[lumps]
    if total is not None:
        rest, known = max(total - counts.sum(), 0.0), min(known, last - 1)
        low, high, counts = np.append(low, known), np.append(high, last), np.append(counts, rest)
        known = last
    places = np.concatenate([low, high])
    order = np.argsort(places, kind="stable")
    places = places[order]
    slopes = np.cumsum(np.concatenate([counts / (high - low), -counts / (high - low)])[order])
    sums = np.concatenate([[0.0], np.cumsum(slopes[:-1] * np.diff(places))])
    happened = np.diff(np.interp(np.concatenate([[0.0], ends]), places, sums)) if len(places) else 0 * own
    return [
        max(float(count), 0.0) if end <= known + 1 else None
        for count, end in zip(happened, ends, strict=True)
    ]


def report(path: Path) -> NuttcpReport:
    """A report: its intervals, and what the sender says.

    Raises:
        ScenarioError: there is no interval, or a number is negative or invalid.
        OSError: it cannot be read.
    """
    found: list[ReportLine] = []
    sender: dict[int, int] = {}
    client_sends = False
    now = 0.0
    for number, line in enumerate(lines(path), 1):
        if (said := _SENDER.search(line)) is not None:
            sender |= {group: int(word) for group in (1, 2) if (word := said[group]) is not None}
        client_sends |= _CLIENT_SENDS.search(line) is not None
        row = _ROW.search(line) or _PARSED.search(line)
        # Only the summary has the load of the processors.
        if row is None or re.search(r"%TX|%RX|tx_cpu=|rx_cpu=", row["rest"]):
            continue
        try:
            length, rate = float(row["sec"]), float(row["rate"]) * _UNITS[row["unit"]]
        except ValueError:
            refuse(path, number, "a number of the interval cannot be read")
        if rate < 0:
            refuse(path, number, f"the rate is negative: {rate:g} bit/s")
        check_rate(path, number, rate)
        if length <= 0:
            refuse(path, number, f"the interval lasts {length:g} s")
        again = _RETRANSMITTED.search(row["rest"])
        window = _WINDOW.search(row["rest"])
        found.append(
            ReportLine(
                number,
                now,
                now + length,
                rate,
                int(again[1] or again[2]) if again is not None else None,
                int(window[1]) if window is not None else None,
            )
        )
        now = round(now + length, 6)
    if not found:
        refuse(path, None, lacking(path, "it has no intervals", "nuttcp", "a report of nuttcp -i"))
    return NuttcpReport(found, sender.get(1), sender.get(2), client_sends)
