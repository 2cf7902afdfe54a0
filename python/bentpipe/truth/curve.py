"""One side of a cell: its numbers, and its window and RTT on the grid on which both worlds are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

STEP_S = 0.1
"""Spacing of the instants at which both worlds are compared."""

Column = NDArray[np.float64]


@dataclass(frozen=True)
class Side:
    """The result of a cell in one world.

    Args:
        goodput_bps: payload that the receiving application had by the end, over the whole time.
        rtt_s: smoothed round-trip time, its mean over time.
        retransmitted: retransmissions per segment sent.
        cwnd: congestion window in segments at the instants of the grid.
        more: further data, for the file.
    """

    goodput_bps: float
    rtt_s: float
    retransmitted: float
    cwnd: Column
    more: dict[str, Any]


def grid(length_s: float) -> Column:
    """The instants of a cell of this length, from the first step on."""
    return np.arange(1, round(length_s / STEP_S), dtype=np.float64) * np.float64(STEP_S)


def held(at: Column, t: Column, values: Column) -> Column:
    """`values`, each valid from its `t` on, at the instants `at`; the first one before that."""
    return values[np.clip(np.searchsorted(t, at, side="right") - 1, 0, len(values) - 1)]


def mean_after_handshake(at: Column, values: Column) -> float:
    """The mean over the instants for which there is a value; 0 if there is none."""
    known = np.isfinite(values) & (values > 0)
    return float(values[known].mean()) if known.any() else 0.0
