"""Measures of one run of the HSWA-TCP study.

The increment runs read off a trace the input of the controller (the RTT of each ACK) and its output (the
window's growth). TD and BaseTD follow by eq. 2 and 3 of the paper. The rule between the two, eq. 4, is not
computed here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bentpipe.papers.hswa import setup
from bentpipe.papers.hswa.setup import HEADER_BYTES, PACKET_BYTES
from bentpipe.studies.study import Case, Key, Measures

if TYPE_CHECKING:
    import polars as pl

NO_THROUGHPUT: Measures = dict.fromkeys(
    ("mbps", "cwnd", "rtt_s", "sent", "lost_error", "lost_queue", "timeouts"), math.nan
)
NO_INCREMENT: Measures = {**dict.fromkeys(("at_base", "zero", "linear", "beyond"), math.nan), "rounds": ""}

#: Rounds that BaseTD looks back (eq. 2).
HISTORY = 10


def measure(case: Case, result: Mapping[str, Any], trace: pl.DataFrame | None) -> Measures:
    """The scalars of one run: of `throughput` and of `increment`, NaN where it is of the other kind."""
    if trace is None:
        raise ValueError("this study measures what traces show, so its runs record one")
    if case.keys["variant"] == setup.INCREMENT.name:
        return increment(trace)
    return throughput(case.settings, result, trace)


def throughput(settings: Mapping[str, Key], result: Mapping[str, Any], trace: pl.DataFrame) -> Measures:
    """A throughput run, with the settings ``from_start`` and ``packet_bytes`` of its set-up.

    ``mbps``: rate of in-order packets, headers included, after the warm-up, Mbit/s. Over the whole run:
    ``cwnd``: mean window, segments; ``rtt_s``: mean RTT; ``sent``: data packets; ``lost_error``,
    ``lost_queue``: those lost by errors and at the queue; ``timeouts``.
    """
    length = float(result["simulated_s"])
    t, got = (trace[c].to_numpy() for c in ("t_s", "delivered_bytes"))
    first = 0 if settings["from_start"] else int(np.searchsorted(t, setup.WARM_UP * length - 1e-6))
    packet_bytes = int(settings["packet_bytes"])
    on_wire = packet_bytes / (packet_bytes - HEADER_BYTES)
    rate = (float(got[-1]) - float(got[first])) * 8 / (float(t[-1]) - float(t[first]))
    flow = result["flows"][0]
    link = next(k for k in result["links"] if k["direction"] == "forward")
    return {
        **NO_INCREMENT,
        "mbps": rate * on_wire / 1e6,
        "cwnd": float(flow["cwnd_mean_segments"]),
        "rtt_s": float(flow["rtt_mean_s"]),
        "sent": float(flow["sent_packets"]),
        "lost_error": float(link["dropped_error"]),
        "lost_queue": float(link["dropped_queue"]),
        "timeouts": float(flow["timeouts"]),
    }


def increment(trace: pl.DataFrame) -> Measures:
    """An increment run.

    ``rounds``: [TD / BaseTD, growth in segments] of each round trip, as JSON. By a line fitted to the round
    trips with 1 < TD / BaseTD < 2: ``at_base``: growth at TD = BaseTD, segments per round trip; ``zero``: TD
    / BaseTD at which it is zero; ``linear``: share of the variance that the line explains. ``beyond``: mean
    growth at TD >= 2 BaseTD.
    """
    return {**NO_THROUGHPUT, **line(growths(trace))}


class Growth(NamedTuple):
    """A round trip: TD / BaseTD of the round before it, and by how many segments the window grew in it."""

    ratio: float
    segments: float


def growths(trace: pl.DataFrame) -> list[Growth]:
    """The round trips of flow ``x`` in congestion avoidance; every ACK must have a row of its own.

    A round ends with the ACK of the first segment sent after the last round's end. The growth is for a whole
    window's worth of ACKs. Nothing may be lost. The trace has the data at the receiver; the sender learns of
    it half a propagation delay later.
    """
    x = trace.filter(trace["flow"] == "x").sort("t_s")
    late = round(setup.INCREMENT_RTT_S / 2 / setup.INCREMENT_SAMPLE_S)
    window, flight, rtt, slow = (x[c].to_numpy() for c in ("cwnd", "in_flight", "rtt_s", "ssthresh"))
    got = x["delivered_bytes"].to_numpy() / (PACKET_BYTES - HEADER_BYTES)
    acked = np.concatenate([np.zeros(late), got[:-late]])
    sent = acked + flight
    acks = np.flatnonzero(np.diff(acked) > 0) + 1
    if len(acks) == 0 or np.diff(acked).max() > 1.5:
        raise ValueError("the trace must have a row for each ACK")
    found: list[Growth] = []
    history: list[float] = []
    before: float | None = None
    ratio = np.nan
    start, mark = int(acks[0]) - 1, 0.0
    while (end := int(np.searchsorted(acked, mark + 0.5))) < len(acked):
        share = (acked[end] - acked[start]) / window[start]
        if window[start] > slow[start] and np.isfinite(ratio):
            found.append(Growth(float(ratio), float((window[end] - window[start]) / share)))
        samples = rtt[acks[(acks > start) & (acks <= end)]]
        least = float(samples.min())
        td = float(samples.mean()) - (least if before is None else before) / 2  # eq. 3
        before = least
        history = [*history, td][-HISTORY:]
        ratio = td / min(history)  # eq. 2
        mark, start = float(sent[end - 1]), end
    return found


def line(found: list[Growth]) -> Measures:
    """The line through the round trips in the pre-congestion sub-phase, and the mean beyond it."""
    x, y = np.array(found).T
    inside, beyond = (x > 1.0) & (x < 2.0), x >= 2.0
    if inside.sum() < 3 or not beyond.any():
        raise ValueError("too few round trips at one of the sub-phases of eq. 4")
    slope, level = np.polyfit(x[inside], y[inside], 1)
    rest = y[inside] - (slope * x[inside] + level)
    return {
        "at_base": float(slope + level),
        "zero": float(-level / slope),
        "linear": float(1.0 - rest.var() / y[inside].var()),
        "beyond": float(y[beyond].mean()),
        "rounds": json.dumps([[round(g.ratio, 4), round(g.segments, 3)] for g in found]),
    }
