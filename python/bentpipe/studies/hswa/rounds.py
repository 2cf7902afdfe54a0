"""The round trips of a traced flow, and TD and BaseTD of the HSWA-TCP paper (eq. 2 and 3) from them.

This reads off a trace what the controller saw (the RTT of each ACK) and what it did (the window's growth).
The rule between the two, eq. 4, is not computed here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bentpipe.studies.hswa.setup import (
    HEADER_BYTES,
    INCREMENT_RTT_S,
    INCREMENT_SAMPLE_S,
    PACKET_BYTES,
)

if TYPE_CHECKING:
    import polars as pl

#: Rounds that BaseTD looks back (eq. 2).
HISTORY = 10


@dataclass(frozen=True)
class Growth:
    """One round trip: TD / BaseTD of the round before it, and by how many segments the window grew in it."""

    ratio: float
    segments: float


def growths(trace: pl.DataFrame) -> list[Growth]:
    """The round trips of flow ``x`` in congestion avoidance; every ACK must have a row of its own.

    A round ends with the ACK of the first segment sent after the last round's end. The growth is for a whole
    window's worth of ACKs. Nothing may be lost. The trace has what the receiver has got; the sender knows it
    half a propagation delay later.
    """
    import polars as pl

    x = trace.filter(pl.col("flow") == "x").sort("t_s")
    late = round(INCREMENT_RTT_S / 2 / INCREMENT_SAMPLE_S)
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
