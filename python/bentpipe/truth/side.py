"""One side of a cell: its numbers, and its window on the grid of both worlds; simulated or stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import bentpipe as bp
from bentpipe import measures
from bentpipe.truth.cell import Cell

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
    """

    goodput_bps: float
    rtt_s: float
    retransmitted: float
    cwnd: Column

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Side:
        """The side of a real transfer, from its row (`real.row`)."""
        return cls(row["goodput_bps"], row["rtt_s"], row["retransmitted"], np.array(row["cwnd"], dtype=float))


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


def simulate(cell: Cell) -> Side:
    """Simulates a cell; the thread is free meanwhile."""
    return simulated(cell, bp.run(cell.scenario(traced=True)))


def simulated(cell: Cell, result: bp.Result) -> Side:
    """The simulated side of a cell, from the run of its scenario."""
    flow, last = result.json["flows"][0], result.json["flows"][-1]  # they differ where a relay splits it
    trace = result.trace.filter(flow=flow["name"])
    at, t = grid(cell.length_s), trace["t_s"].to_numpy()
    srtt = held(at, t, trace["srtt_s"].to_numpy())
    return Side(
        goodput_bps=last["delivered_bytes"] * 8 / cell.length_s,
        rtt_s=mean_after_handshake(at, srtt),
        retransmitted=measures.resent([flow]) or 0.0,
        cwnd=np.floor(held(at, t, trace["cwnd"].to_numpy())),
    )
