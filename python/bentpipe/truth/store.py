"""Real transfers on disk: two files a cell, so that a job resumes where it stopped."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bentpipe.files import replace_text
from bentpipe.truth.cell import Cell
from bentpipe.truth.curve import Side


@dataclass(frozen=True)
class Store:
    """A folder of real transfers: KEY.npz has the curves, and KEY.json, written last, everything else."""

    folder: Path

    def has(self, cell: Cell) -> bool:
        """Whether the cell's real transfer is stored completely."""
        return self._row(cell).exists()

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
        replace_text(self._row(cell), text)

    def get(self, cell: Cell) -> tuple[Side, dict[str, Any]]:
        """A stored transfer, and its whole row."""
        row: dict[str, Any] = json.loads(self._row(cell).read_text(encoding="utf-8"))
        with np.load(self._curves(cell)) as curves:
            cwnd = curves["cwnd"].astype(np.float64)
            srtt = curves["srtt"].astype(np.float64)
        return Side(row["goodput_bps"], row["rtt_s"], row["retransmitted"], cwnd, {"srtt": srtt}), row

    def _row(self, cell: Cell) -> Path:
        return self.folder / f"{cell.key}.json"

    def _curves(self, cell: Cell) -> Path:
        return self.folder / f"{cell.key}.npz"
