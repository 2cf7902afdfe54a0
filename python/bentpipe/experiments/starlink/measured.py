"""The Starlink measurement of May 2024: its tests of UDP and TCP, pings and outages. See docs/starlink.md.

    git -C STARLINK archive ba7fa17 datasets/maine_starlink_trip/raw/{starlink,dish_history} | tar x -C DIR

STARLINK is a clone of NUWiNS/starlink-measurement. The data has no licence, so only distributions are written
anywhere. Only the runs of 27 May 2024 are simulated over what was measured; those of the days after are read
for signs of the sender's algorithm, and for comparison with the model.

Retransmissions are as nuttcp reports them, measured and simulated. The server that sent the measured
downlinks wrote its count of retransmissions into the data, behind a buffer of 450 MB. A client prints a count
when it arrives: late by the buffer, and in lumps of a third of it (see the head of
`bentpipe.timeline.traces.nuttcp`). `nuttcp.settled` moves a lump back, and spreads it evenly over the time
from which it may come. Neither says when a segment was sent again. So the count of a simulated sender passes
through the same buffer here, and both are compared in both ways.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

import bentpipe as bp
from bentpipe.timeline.traces import dish, nuttcp

Floats = NDArray[np.float64]
DAY = "20240527"
DAYS = (DAY, "20240528", "20240529")
RAW = Path("datasets/maine_starlink_trip/raw")
PLACE, DISH = RAW / "starlink", RAW / "dish_history"
NEAR_S = 15 * 60.0
"""UDP and TCP took turns, about seven minutes apart. A pair across the lunch break is not a neighbour."""
HEADER = 52
DATAGRAM, DATAGRAM_HEADER = 1400, 28
"""Payload of iperf3's datagrams (`-l 1400` in run_network_measurement.sh), and the heads of UDP and IPv4."""
TO_WIRE = (DATAGRAM + DATAGRAM_HEADER) / DATAGRAM
"""Bytes on the wire for each byte of a datagram's payload."""
LEAST_KB = 5
"""BBR's least window in KB: 4 segments (draft-cardwell-iccrg-bbr-congestion-control-00, BBRMinPipeCwnd)."""
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
    """The retransmissions of a test, in the intervals of its report."""

    middles_s: Floats  #: middle of each interval.
    delivered: Floats  #: payload bytes in each.
    reported: Floats  #: retransmissions that the report has in each.
    settled: Floats  #: those that happened in each; NaN at the end of a test, whose counts did not arrive.
    total: int | None = None  #: those of the whole test, where the report has the sender's summary.

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
        nuttcp.ReportLine(i, end - SLOT_S, end, 8 * own / SLOT_S, int(count), None)
        for i, (end, own, count) in enumerate(zip(ends, np.diff(delivered, prepend=0), counts, strict=True))
    ]
    return _counts(rows, BUFFER_BYTES if late else None, None)


def _counts(rows: Sequence[nuttcp.ReportLine], buffered: float | None, total: int | None) -> Counts:
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


@dataclass(frozen=True)
class Capacity:
    """A measured UDP downlink."""

    begin_s: float  #: when it began, Unix time.
    frame: pl.DataFrame  #: payload that came through in each slot.
    ping: pl.DataFrame  #: delays of the ping minutes later.
    outages: pl.DataFrame  #: the loss rate by the dish's outages in the minutes of the test.

    @property
    def rtt_s(self) -> float:
        """The least round trip of the ping."""
        return 2 * float(np.min(self.ping["delay_s"].to_numpy()))

    @property
    def mean_bps(self) -> float:
        """Payload that came through, bits per second, over the whole test."""
        return float(bp.timeline.summary(self.frame)["rate_bps"]["mean"])


@dataclass(frozen=True)
class TcpTest:
    """A measured TCP test."""

    begin_s: float  #: when it began, Unix time.
    slots_bps: np.ndarray  #: goodput of each slot.
    counts: Counts  #: its retransmissions.


def measured(
    directory: Path, day: str = DAY, way: str = "downlink"
) -> tuple[list[Capacity], list[TcpTest], list[str]]:
    """The UDP downlinks and the TCP tests of a day, and the unreadable ones, each with its reason.

    `way` is that of the TCP tests, "downlink" or "uplink".
    """
    place = directory / PLACE / day
    dark = outages(directory / DISH / day)
    capacities, transfers, skipped = [], [], []
    for file in sorted([*place.glob("*/udp_downlink_*.out"), *place.glob(f"*/tcp_{way}_*.out")]):
        try:
            if file.name.startswith("tcp"):
                transfers.append(transfer(file))
                continue
            (ping,) = file.parent.glob("ping_*.out")
            frame, delays = bp.timeline.read_trace(file, "iperf3"), bp.timeline.read_trace(ping, "ping")
            begin_s = _begin(file)
            lost = dish.lossy(dark, begin_s, begin_s + TEST_S)
            capacities.append(Capacity(begin_s, frame, delays.select("t_s", "delay_s"), lost))
        except (bp.ScenarioError, ValueError) as wrong:
            skipped.append(str(wrong).replace(str(place), "."))
    return capacities, transfers, skipped


def outages(place: Path) -> list[dish.Outage]:
    """All outages of a day, each once: a reply of the dish lists those since it was switched on."""
    known = {one.begin_s: one for file in place.glob("*/dish_history.out") for one in dish.outages(file)}
    return sorted(known.values(), key=lambda one: one.begin_s)


class Signs(NamedTuple):
    """Signs of the sender's algorithm in reports of nuttcp."""

    tests: int  #: number of reports.
    falls: int  #: how often the window is smaller than in the report before, without a retransmission since.
    rises: int  #: how often it is larger.
    least: int  #: how many tests report BBR's least window, `LEAST_KB`.
    below: int  #: how many report a smaller window, as TCP without BBR has after a timeout.


def signs(directory: Path) -> dict[str, Signs]:
    """The signs of the downlinks of each day, and of the uplinks of the first."""
    found = {day: _signs(directory / PLACE / day, "tcp_downlink") for day in DAYS}
    return found | {"uplink": _signs(directory / PLACE / DAY, "tcp_uplink")}


def _signs(place: Path, kind: str) -> Signs:
    tests = falls = rises = least = below = 0
    for file in sorted(place.glob(f"*/{kind}_*.out")):
        try:
            rows = nuttcp.report(file).intervals
        except bp.ScenarioError:  # the test was refused
            continue
        windows = [row.window_kb for row in rows if row.window_kb is not None]
        quiet = [row.retransmitted == 0 for row in rows if row.window_kb is not None]
        steps = [now - was for (was, now), still in zip(pairwise(windows), quiet[1:], strict=True) if still]
        tests += 1
        falls += sum(step < 0 for step in steps)
        rises += sum(step > 0 for step in steps)
        least += LEAST_KB in windows
        below += any(kb < LEAST_KB for kb in windows)
    return Signs(tests, falls, rises, least, below)


def _begin(file: Path) -> float:
    found = re.search(r"Start time: (\d+)", file.read_text(encoding="utf-8"))
    if found is None:
        raise bp.ScenarioError(f"{file}: no line says its start time")
    return int(found[1]) / 1000


def transfer(file: Path) -> TcpTest:
    """A measured TCP test, downlink or uplink.

    Raises:
        ScenarioError: it is no report, or the test was refused.
        OSError: it cannot be read.
    """
    whole = nuttcp.report(file)
    rows = whole.intervals
    ends = np.array([row.end_s for row in rows])
    bits = np.cumsum([row.rate_bps * (row.end_s - row.begin_s) for row in rows])
    slots = np.diff(np.interp(np.arange(0, TEST_S + SLOT_S / 2, SLOT_S), [0, *ends], [0, *bits])) / SLOT_S
    buffered = None if whole.client_sends else (whole.buffer_bytes or BUFFER_BYTES)
    return TcpTest(_begin(file), slots, _counts(rows, buffered, whole.retransmitted))


def near(capacities: Sequence[Capacity], at_s: float, within_s: float = NEAR_S) -> float | None:
    """The mean rate of the last capacity before an instant and of the first after it, if one is near."""
    means = [c.mean_bps for c in capacities if -within_s <= c.begin_s - at_s < 0][-1:]
    means += [c.mean_bps for c in capacities if 0 < c.begin_s - at_s <= within_s][:1]
    return float(np.mean(means)) if means else None


def repeated(frame: pl.DataFrame, length_s: float) -> pl.DataFrame:
    """A time line over and over until it is at least this long, its last value held for a usual step."""
    times = frame["t_s"].to_numpy()
    period = float(times[-1] + np.median(np.diff(times)))
    rounds = int(np.ceil(length_s / period))
    return pl.concat([frame.with_columns(pl.col("t_s") + i * period) for i in range(rounds)])
