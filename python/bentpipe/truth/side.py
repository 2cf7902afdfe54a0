"""One side of a cell: its numbers, and its window and RTT on the grid of both worlds; simulated or stored."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

import bentpipe as bp
from bentpipe import measures
from bentpipe.io.files import replace_text
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
        more={"timeouts": flow["timeouts"], "srtt": srtt},
    )


class Keyed(Protocol):
    """A cell of any kind, as far as its file is concerned."""

    @property
    def key(self) -> str:
        """Its name, which a file can have."""


@dataclass(frozen=True)
class TransferStore:
    """A folder of real transfers: KEY.npz has the curves, and KEY.json, written last, everything else."""

    folder: Path

    def has(self, cell: Keyed) -> bool:
        """Whether the cell's real transfer is stored completely."""
        return self.file(cell).exists()

    def put(self, cell: Cell, side: Side, about: dict[str, Any]) -> None:
        """Keeps a transfer; `about` holds the other columns of its row."""
        curves = {name: value for name, value in side.more.items() if isinstance(value, np.ndarray)}
        plain = {name: value for name, value in side.more.items() if name not in curves}
        row = {
            **cell.as_dict(),
            "goodput_bps": side.goodput_bps,
            "rtt_s": side.rtt_s,
            "retransmitted": side.retransmitted,
            **plain,
            **about,
        }
        np.savez_compressed(
            self._curves(cell), cwnd=side.cwnd.astype(np.float32), srtt=curves["srtt"].astype(np.float32)
        )
        text = json.dumps(row, indent=1) + "\n"
        replace_text(self.file(cell), text)

    def get(self, cell: Cell) -> tuple[Side, dict[str, Any]]:
        """A stored transfer, and its whole row."""
        row: dict[str, Any] = json.loads(self.file(cell).read_text(encoding="utf-8"))
        with np.load(self._curves(cell)) as curves:
            cwnd = curves["cwnd"].astype(np.float64)
            srtt = curves["srtt"].astype(np.float64)
        return Side(row["goodput_bps"], row["rtt_s"], row["retransmitted"], cwnd, {"srtt": srtt}), row

    def file(self, cell: Keyed) -> Path:
        """The file by which a transfer is known to be complete."""
        return self.folder / f"{cell.key}.json"

    def _curves(self, cell: Cell) -> Path:
        return self.folder / f"{cell.key}.npz"
