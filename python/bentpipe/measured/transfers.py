"""A measured transfer of a known algorithm as evidence: simulated over a link, and compared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bentpipe.models import DropTail, Record
from bentpipe.plain import Model
from bentpipe.result import Result
from bentpipe.scenario import Flow, Link, Scenario

LONGEST_S = 20.0
"""So much of a transfer is simulated; a longer one is taken to go on as the second half of that."""
LEAST_TRIPS = 20
"""Round trips below which slow start is most of what is simulated."""
TOLERANCES = {
    "goodput": 0.1, "plateau": 0.1, "resent": math.log(2), "rtt_min": 0.03, "rtt_mean": 0.1, "rtt_max": 0.2,
}  # fmt: skip
"""By how much the logarithm of a simulated value may differ, one standard deviation.

The kernel's own algorithms differ from the simulated ones by up to 6.7 % in goodput, 13 % in the mean round
trip and 94 % in retransmissions (docs/linux-truth.md), over the same links with the same losses. The least
smoothed round trip hardly depends on chance, the longest is one extreme value.
"""
SENDERS_PLATEAU = 0.2
"""The same of a plateau by the sender's intervals, which also say how the buffer of a socket was filled."""
RESENT_FLOOR = 10.0
"""Numbers of segments sent again below this are all the same."""
_RECORDS = 30
_PACKET_BITS = 8 * 1500
_JITTER = "1 s"
SMALL_WINDOW = 3 << 20
"""The receive window of kernels before 6.18 with their default tcp_rmem of 6 MiB."""


@dataclass(frozen=True)
class Test:
    """A transfer as iperf3 tells of it.

    Attributes:
        source: the file.
        cc: the algorithm's id.
        label: its name for people.
        streams: how many connections there were.
        reverse: did the server send?
        omit_s: what was left out at the start, ...
        lasted_s: ... and how long the rest was.
        goodput_bps: payload that all receivers got together.
        plateau_bps: of the intervals of its second half the median, or the mean if they are the sender's.
        by_receiver: are they the receiver's?
        resent: segments sent again, None if nobody tells.
        rtts_s: least, mean and greatest smoothed round trip, None if nobody tells.
        windows: the receive windows that it may have had in bytes, None for one that grows as it likes.
    """

    source: Path
    cc: str
    label: str
    streams: int
    reverse: bool
    omit_s: float
    lasted_s: float
    goodput_bps: float
    plateau_bps: float
    by_receiver: bool
    resent: int | None
    rtts_s: tuple[float, float, float] | None
    windows: tuple[int | None, ...]

    def __str__(self) -> str:
        from bentpipe.units import rate

        several = f" over {self.streams} connections" if self.streams > 1 else ""
        resent = "" if self.resent is None else f" with {self.resent:,} segments sent again"
        return f"by {self.label}{several}, which received {rate(self.goodput_bps)}{resent}"

    def played_s(self, packets: float, rtt_s: float) -> float:
        """How much of it is simulated if so many packets may be."""
        return min(self.lasted_s, LONGEST_S, max(packets / self.packets(1.0), LEAST_TRIPS * rtt_s))

    def packets(self, lasted_s: float) -> float:
        """About how many packets so much of it is."""
        return max(self.goodput_bps * lasted_s / _PACKET_BITS, 1.0)


@dataclass(frozen=True)
class Played:
    """One link on which a transfer is played, as texts of a scenario, and the run's seed.

    `window`, 0 to 1, says which of the possible receive windows it is; `beside`, (algorithm, how many), are
    flows of others that share the link.
    """

    rate: str
    rtt_s: float
    buffer: str
    losses: Sequence[Model]
    window: float
    seed: int
    beside: Sequence[tuple[str, int]] = ()


def scenario(test: Test, link: Played, lasted_s: float) -> Scenario:
    """The transfer over that link; it begins to count one round trip after the handshake began.

    Flows of others begin with it, within `_JITTER`.
    """
    window = test.windows[min(int(link.window * len(test.windows)), len(test.windows) - 1)]
    flow = Flow(
        test.cc, path=["link"], count=test.streams, profile="linux",
        receive_window=None if window is None else f"{window} bytes",
    )  # fmt: skip
    over = Link(
        rate=link.rate,
        delay=f"{round(link.rtt_s / 2 * 1e9)} ns",
        queue=DropTail(link.buffer),
        loss=list(link.losses) or None,
    )
    others = [
        Flow(cc, path=["link"], count=count, profile="linux", start_jitter=_JITTER)
        for cc, count in link.beside
    ]
    duration_s = test.omit_s + link.rtt_s + lasted_s
    return Scenario(
        links={"link": over}, flows=[flow, *others], seed=link.seed, duration=f"{round(duration_s * 1e9)} ns",
        record=Record(f"{round(max(lasted_s / _RECORDS, 1e-3) * 1e9)} ns", links=True),
    )  # fmt: skip


def log_fit(test: Test, result: Result, lasted_s: float) -> float:
    """The logarithm of a normal kernel of how far what was simulated is from what was measured."""
    return -0.5 * sum(difference**2 for difference in differences(test, result, lasted_s).values())


def differences(test: Test, result: Result, lasted_s: float) -> dict[str, float]:
    """By quantity, how far the simulated value is from the measured one, in tolerances."""
    end = float(result.json["simulated_s"])
    begin = end - lasted_s
    flows = result.json["flows"][: test.streams]
    trace = result.trace.filter(pl.col("flow").cast(pl.String).is_in([flow["name"] for flow in flows]))
    t, delivered = _together(trace, len(flows))
    rates = 8 * np.diff(np.interp(np.linspace(begin, end, _RECORDS + 1), t, delivered)) * _RECORDS / lasted_s
    later = rates[_RECORDS // 2 :]
    share = lasted_s / test.lasted_s
    goodput = share * float(rates.mean()) + (1 - share) * float(later.mean())
    found = {
        "goodput": _logs(goodput, test.goodput_bps, TOLERANCES["goodput"]),
        "plateau": _logs(
            float(np.median(later) if test.by_receiver else later.mean()), test.plateau_bps,
            TOLERANCES["plateau"] if test.by_receiver else SENDERS_PLATEAU,
        ),
    }  # fmt: skip
    if test.resent is not None:
        resent = sum(flow["retransmitted_packets"] for flow in flows)
        more = (1 / share - 1) * 2 * _dropped_late(result, (begin + end) / 2)
        found["resent"] = _logs(
            resent * (1 + more) + RESENT_FLOOR, test.resent + RESENT_FLOOR, TOLERANCES["resent"]
        )
    if test.rtts_s is not None:
        seen = _round_trips(trace, len(flows), begin)
        for name, ours, theirs in zip(("rtt_min", "rtt_mean", "rtt_max"), seen, test.rtts_s, strict=True):
            found[name] = _logs(ours, theirs, TOLERANCES[name])
    return found


def _together(trace: pl.DataFrame, flows: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Instants, and the bytes that all flows of a trace have delivered by then."""
    t = trace["t_s"].to_numpy().reshape(-1, flows)[:, 0]
    delivered = trace["delivered_bytes"].to_numpy().astype(float).reshape(-1, flows).sum(axis=1)
    return t, delivered


def _dropped_late(result: Result, middle_s: float) -> float:
    """The share of all packets lost that was lost after this instant."""
    trace = result.link_trace
    forward = trace["link"].cast(pl.String).str.ends_with("/forward")
    t = trace["t_s"].filter(forward).to_numpy()
    dropped = trace["dropped_packets"].filter(forward).to_numpy().astype(float)
    return 1 - float(np.interp(middle_s, t, dropped)) / dropped[-1] if dropped[-1] else 0.0


def _round_trips(trace: pl.DataFrame, flows: int, begin: float) -> tuple[float, float, float]:
    """The least, mean and greatest smoothed round trip at the ends of intervals, mean over the flows."""
    smoothed = trace["srtt_s"].to_numpy().reshape(-1, flows)
    smoothed = smoothed[trace["t_s"].to_numpy().reshape(-1, flows)[:, 0] > begin]
    if not len(smoothed) or np.isnan(smoothed).all(axis=0).any():
        return math.nan, math.nan, math.nan
    ends = np.nanmin(smoothed, axis=0), np.nanmean(smoothed, axis=0), np.nanmax(smoothed, axis=0)
    least, mean, most = (float(of.mean()) for of in ends)
    return least, mean, most


def _logs(ours: float, theirs: float, tolerance: float) -> float:
    """The difference of two logarithms in tolerances, a large one if there is none of ours."""
    if not ours > 0:
        return 50.0
    return float(np.clip(math.log(ours / max(theirs, 1.0e-9)) / tolerance, -50.0, 50.0))
