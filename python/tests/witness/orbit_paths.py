"""Paths between cities beside satgenpy's, the Python part of Hypatia.

    SATGENPY_PYTHON=/path/to/python python python/tests/witness/orbit_paths.py

prints docs/validation/orbit-paths.csv: the four pairs of Hypatia's paper, three shells, 200 s in steps of 100
ms, under Hypatia's rule of a longest link and under true elevation. Each comparison is made twice: with
ephem's positions, which satgenpy takes, and with python-sgp4's in their place. satgenpy is installed in an
environment of its own, whose Python the variable names (`pip install satgenpy exputil polars`); its paths are
kept in out/satgenpy. Without it the exit status is 3.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import data_file
import polars as pl
import satgenpy_paths

from bentpipe import orbit
from bentpipe.terminal import note

MISSING = 3
TOLERANCE_MS = 0.01
"""Difference of the round-trip time: 1.5 km one way. ephem has ranges and angles in 32 bits."""
TOLERANCE_SHARE = 0.001
"""Steps in which the path may be another: where two are equally long within a metre, the last bits decide."""
COLUMNS = [
    "shell",
    "pair",
    "rule",
    "positions",
    "steps",
    "other_path_steps",
    "other_reach_steps",
    "without_path_satgenpy_steps",
    "without_path_bentpipe_steps",
    "same_path_difference_us",
    "rtt_mean_ms",
    "verdict",
]
ROOT = Path(__file__).parents[3]
REFERENCE = Path(__file__).parent / "satgenpy-paths.parquet"
"""A part of satgenpy's paths, for the quick form: every change of path with the step before it, and every 5
s."""


@dataclass(frozen=True)
class Beside:
    """A pair in a shell under a rule: satgenpy's rows (t_s, rtt_ms, path) beside ours (ours_ms, ours)."""

    shell: str
    pair: str
    rule: str
    positions: str
    rows: pl.DataFrame

    def agrees(self) -> bool:
        """Whether the paths are the same but for a step in a thousand, and as long."""
        other, reach, same = self._apart()
        return other + reach <= TOLERANCE_SHARE * self.rows.height and same <= TOLERANCE_MS

    def row(self, verdict: str) -> list[str]:
        """The line of the data file."""
        other, reach, same = self._apart()
        mean = self.rows["ours_ms"].mean()
        return [
            self.shell,
            self.pair,
            self.rule,
            self.positions,
            str(self.rows.height),
            str(other),
            str(reach),
            str(self.rows["rtt_ms"].null_count()),
            str(self.rows["ours_ms"].null_count()),
            f"{1000 * same:.3f}",
            "" if mean is None else f"{mean:.3f}",
            verdict,
        ]

    def _apart(self) -> tuple[int, int, float]:
        """Steps with another path, steps with a path in one program only, and the RTT's difference on the
        same path."""
        here, there = pl.col("ours_ms").is_not_null(), pl.col("rtt_ms").is_not_null()
        both = self.rows.filter(here & there)
        same = both.filter(pl.col("path") == pl.col("ours"))
        far = same.select((pl.col("rtt_ms") - pl.col("ours_ms")).abs().max()).item()
        return both.height - same.height, self.rows.filter(here != there).height, float(far or 0.0)


def judged(found: Sequence[Beside]) -> list[str]:
    """The verdicts of the same comparison with ephem's and with python-sgp4's positions, in this order."""
    ephem, sgp4 = (one.agrees() for one in found)
    if ephem:
        return ["agrees", "agrees" if sgp4 else "differs"]
    return ["repeated", "agrees by rule"] if sgp4 else ["differs", "differs"]


def beside(
    reference: pl.DataFrame,
    shell: str,
    pair: str,
    rule: str,
    positions: Sequence[str] = satgenpy_paths.POSITIONS,
) -> list[Beside]:
    """A pair of the reference beside ours, at the instants of the reference, for each source of positions."""
    a, b = pair.split(":")
    found = orbit.solve(
        a, b, shell=shell, duration="200 s", step="100 ms", reach=rule, mode="lasers", keep=False
    )
    routes = ["-".join(map(str, route)) for route in found.routes]
    ours = found.frame.select(
        tick=(pl.col("t_s") * 10).round().cast(pl.Int64),
        ours_ms="rtt_ms",
        ours=pl.Series([None if i is None else routes[i] for i in found.frame["route"]], dtype=pl.String),
    )
    mine = reference.filter(pl.col("shell") == shell, pl.col("pair") == pair, pl.col("rule") == rule)
    mine = mine.with_columns(tick=(pl.col("t_s") * 10).round().cast(pl.Int64)).join(
        ours, on="tick", how="left"
    )
    return [
        Beside(shell, pair, rule, one, mine.filter(pl.col("positions") == one).sort("tick"))
        for one in positions
    ]


def reference(python: str, folder: Path) -> pl.DataFrame:
    """All of satgenpy's paths, computed if they are not there: half an hour."""
    read = []
    for shell in satgenpy_paths.SHELLS:
        for positions in satgenpy_paths.POSITIONS:
            file = satgenpy_paths.file(folder, shell, positions)
            if not file.exists():
                note(f"satgenpy: {shell} with the positions of {positions}")
                script = Path(__file__).with_name("satgenpy_paths.py")
                command = [python, script, folder, "--shell", shell, "--positions", positions]
                subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
            read.append(pl.read_parquet(file))
    return pl.concat(read)


def main() -> int:
    """Prints the data file; 1 if a pair differs."""
    python = os.environ.get("SATGENPY_PYTHON")
    if python is None:
        note("SATGENPY_PYTHON is not set; see python/tests/witness/orbit_paths.py")
        return MISSING
    paths = reference(python, ROOT / "out" / "satgenpy")
    print(data_file.line(COLUMNS))
    worst = 0
    for shell in satgenpy_paths.SHELLS:
        for a, b in satgenpy_paths.PAIRS:
            for rule in satgenpy_paths.RULES:
                found = beside(paths, shell, f"{a}:{b}", rule)
                for one, verdict in zip(found, judged(found), strict=True):
                    print(data_file.line(one.row(verdict)), flush=True)
                    worst |= verdict == "differs"
    return worst


if __name__ == "__main__":
    sys.exit(main())
