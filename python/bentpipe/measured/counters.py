"""Estimates from what a sender or a receiver has counted: rates over time, segments sent again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bentpipe.measured.hypotheses import Count, Watched
from bentpipe.measured.quantities import Estimate, share
from bentpipe.units import MSS, PACKET

Found = tuple[list[Estimate], list[Watched | Count]]
"""Of a file its estimates, and its packets that were lost or not."""
WIRE = PACKET / MSS
"""Bytes on the wire for each of data, where the file does not give the size of segments."""
FILLED = 0.05
"""A test whose round trips swell by this share has filled a queue somewhere, so its rate is the link's."""
FILLING = 2
"""Intervals at the start that reflect the sender's buffer, or slow start, more than the link."""


def joined(*parts: Found) -> Found:
    """All estimates and all losses of several."""
    return [one for found, _ in parts for one in found], [one for _, losses in parts for one in losses]


def best_half(rates: Sequence[float] | NDArray[np.float64]) -> tuple[float, float, float, int]:
    """The highest mean over half of the intervals, without the first; its range, and how many they are.

    The range is the middle half of the intervals.
    """
    steady = np.asarray(rates[FILLING:] if len(rates) > 2 * FILLING else rates, dtype=float)
    width = max(len(steady) // 2, 1)
    mean = float(np.convolve(steady, np.ones(width) / width, mode="valid").max())
    low, high = (float(end) for end in np.percentile(steady, (25, 75)))
    return mean, min(low, mean), max(high, mean), width


def rate(path: Path, rates: Sequence[float], of: str, *, filled: bool) -> Estimate:
    """The rate of a link by what a receiver got in each interval, bits per second with headers.

    Args:
        path: the file.
        rates: of the intervals.
        of: what they are: "of the download".
        filled: whether round trips show that the transfer filled a queue.
    """
    value, low, high, width = best_half(rates)
    how = f"highest mean over {width} of {len(rates)} intervals in a row {of}, with headers"
    if filled:
        return Estimate("rate_bps", value, low, high, how, path, weight=2)
    return Estimate("rate_bps", value, low, high, f"{how}; it may not have filled the link", path, "least", 1)


def sent_again(path: Path, resent: int, sent: int, lasted_s: float) -> Found:
    """Segments sent again: an upper bound of the link's losses, for queues may have dropped them."""
    if sent <= 0:
        return [], []
    return from_count(Count(min(resent, sent), sent, lasted_s, path, most=True))


def from_count(count: Count) -> Found:
    """The loss that such a count allows."""
    _, _, high = share(count.lost, count.sent)
    how = f"at most the {count.lost} of {count.sent} segments that were sent again; queues may have dropped "
    how += "them"
    return [Estimate("loss", 0.0, 0.0, high, how, count.source, weight=0)], [count]


def round_trip(path: Path, least_s: float, how: str) -> Estimate:
    """The least round trip of a connection, its handshake included: no queue of its own was there then."""
    return Estimate("rtt_s", least_s, least_s, least_s, how, path)
