"""Measurements by nuttcp: the lines of its interval report (`-i`), also with times by `ts`.

Source: nuttcp 8.1.4, the interval report of `nuttcp.c`: "MB / sec = Mbps" with retransmissions and the
congestion window for TCP, with drops and packets for UDP; also `-fparse`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from bentpipe.foreign import lines, refuse
from bentpipe.timeline.traces.samples import Samples

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
_UNITS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}


@dataclass(frozen=True)
class Interval:
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


def read(path: Path, *, gap_s: float | None = None) -> pl.DataFrame:
    """The rate in each interval. The last row is the end of the last one, with its rate.

    Raises:
        ScenarioError: there is no interval, one is negative, or one is so long that it is a gap.
        OSError: it cannot be read.
    """
    samples = Samples(path)
    for row in intervals(path):
        samples.add(row.line, row.begin_s, rate_bps=row.rate_bps)
        samples.end_s = row.end_s
    return samples.frame(gap_s)


def intervals(path: Path) -> list[Interval]:
    """The intervals of a report, without its summary.

    Raises:
        ScenarioError: there is none, or a number is negative or invalid.
        OSError: it cannot be read.
    """
    found: list[Interval] = []
    now = 0.0
    for number, line in enumerate(lines(path), 1):
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
        if length <= 0:
            refuse(path, number, f"the interval lasts {length:g} s")
        again = _RETRANSMITTED.search(row["rest"])
        window = _WINDOW.search(row["rest"])
        found.append(
            Interval(
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
        refuse(path, None, "it has no intervals; is it a report of nuttcp -i?")
    return found
