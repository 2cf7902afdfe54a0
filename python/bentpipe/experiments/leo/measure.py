"""Measures of a run over a moving path of docs/leo.md, and their table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import bentpipe as bp
from bentpipe import measures, stats
from bentpipe.experiments.leo.paths import MovingPath

WINDOW_S = 0.5
"""Goodput is averaged over this time: several round trips, and long against the darkness of a handover."""
SHARE = 0.9
APART_S = 3.0
"""A handover that is followed by another within this time is ignored."""


@dataclass(frozen=True)
class Measured:
    """The numbers of one run.

    Attributes:
        path: name of the path.
        cc: the controller, also with parameters.
        seed: of the run.
        goodput_bps: payload over time.
        share: of the payload that the path could carry from the start of the flow.
        rtt_p95_s: 95th percentile of the round-trip time samples.
        lost: lost of sent segments.
        recovery_s: median over handovers, `recovery`; NaN on a path without any.
    """

    path: str
    cc: str
    seed: int
    goodput_bps: float
    share: float
    rtt_p95_s: float
    lost: float
    recovery_s: float


def measure(path: MovingPath, result: bp.Result) -> dict[str, float]:
    """The numbers of a run."""
    (flow,) = result.json["flows"]
    t = result.trace["t_s"].to_numpy()
    delivered = result.trace["delivered_bytes"].to_numpy() * 8.0
    payload = 1448 / 1500
    begin, end = path.capacity(np.array([flow["start_s"], path.duration_s])) * payload
    times = recovery(path, t, delivered)
    return {
        "goodput_bps": flow["goodput_bps"],
        "share": float(8.0 * flow["delivered_bytes"] / (end - begin)),
        "rtt_p95_s": flow["rtt_p95_s"] or math.nan,
        "lost": measures.lost([flow]) or 0.0,
        "recovery_s": float(np.median(times)) if times else math.nan,
    }


def recovery(path: MovingPath, t: np.ndarray, delivered: np.ndarray) -> list[float]:
    """For each handover the time until the flow has again 90 % of the share of the capacity that it had.

    The share before is that since the handover before (at most 15 s). The share after is that of half a
    second, and the time ends where this half second begins. If it never comes back, it is the time to the
    next handover. In shares, because the new path may be slower or faster than the old one.

    Args:
        path: with its capacity and its handovers.
        t: instants, seconds.
        delivered: bits delivered until then.
    """
    ends = [*path.handovers, path.duration_s]
    grid = np.arange(0.0, path.duration_s - WINDOW_S, 0.05)
    could = path.capacity(grid + WINDOW_S) - path.capacity(grid)
    did = np.interp(grid + WINDOW_S, t, delivered) - np.interp(grid, t, delivered)
    share = np.divide(did, could, out=np.zeros_like(did), where=could > 0)
    found = []
    for before, at, after in zip([0.0, *ends], ends[:-1], ends[1:], strict=False):
        begin = max(before, at - 15.0, 2.0)
        if after - at < APART_S or at - begin < 1.0:
            continue
        bits = np.diff(np.interp([begin, at], t, delivered))[0]
        usual = bits / np.diff(path.capacity(np.array([begin, at])))[0]
        back = (grid >= at) & (grid < after - WINDOW_S) & (share >= SHARE * usual)
        found.append(float(grid[back][0] - at) if back.any() else float(after - at))
    return found


def mean(rows: Sequence[Measured], what: str) -> stats.Mean | None:
    """Mean and interval of a number over seeds; None without a number."""
    values = [value for row in rows if not math.isnan(value := getattr(row, what))]
    return stats.mean(values) if values else None
