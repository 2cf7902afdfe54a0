"""Paths between cities beside satgenpy's, the Python part of Hypatia.

    SATGENPY_PYTHON=/path/to/python python python/tests/witness/orbit_paths.py

prints docs/validation/orbit-paths.csv: the four pairs of Hypatia's paper, three shells, 200 s in steps of 100
ms, under Hypatia's rule of a longest link and under true elevation. satgenpy is installed in an environment
of its own, whose Python the variable names (`pip install satgenpy exputil polars`); its paths are kept in
out/satgenpy. Without it the exit status is 3.
"""

from __future__ import annotations

import os
import subprocess
import sys
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
    "steps",
    "other_path_steps",
    "other_reach_steps",
    "without_path_satgenpy_steps",
    "without_path_bentpipe_steps",
    "same_path_difference_us",
    "any_path_difference_us",
    "rtt_mean_ms",
    "verdict",
]
ROOT = Path(__file__).parents[3]
REFERENCE = Path(__file__).parent / "satgenpy-paths.parquet"
"""A part of satgenpy's paths, for the quick form: every change of path with the step before it, and every 5
s."""


@dataclass(frozen=True)
class Beside:
    """A pair in a shell under a rule: satgenpy's rows (t_s, rtt_ms, path) beside ours."""

    shell: str
    pair: str
    rule: str
    rows: pl.DataFrame

    def row(self) -> list[str]:
        """The line of the data file."""
        rows = self.rows
        reach = rows.filter(pl.col("rtt_ms").is_not_null() != pl.col("ours_ms").is_not_null()).height
        both = rows.filter(pl.col("rtt_ms").is_not_null() & pl.col("ours_ms").is_not_null())
        other = both.filter(pl.col("path") != pl.col("ours"))
        same = both.filter(pl.col("path") == pl.col("ours"))
        far = (pl.col("rtt_ms") - pl.col("ours_ms")).abs()
        apart = [float(part.select(far.max()).item() or 0.0) for part in (same, both)]
        agrees = (
            reach <= TOLERANCE_SHARE * rows.height
            and other.height <= TOLERANCE_SHARE * rows.height
            and max(apart) <= TOLERANCE_MS
        )
        mean = both["ours_ms"].mean()
        return [
            self.shell,
            self.pair,
            self.rule,
            str(rows.height),
            str(other.height),
            str(reach),
            str(rows["rtt_ms"].null_count()),
            str(rows["ours_ms"].null_count()),
            *(f"{1000 * value:.3f}" for value in apart),
            "" if mean is None else f"{mean:.3f}",
            "agrees" if agrees else "differs",
        ]


def beside(reference: pl.DataFrame, shell: str, pair: str, rule: str, for_s: float = 200.0) -> Beside:
    """A pair of the reference beside ours, at the instants of the reference."""
    a, b = pair.split(":")
    found = orbit.solve(
        a, b, shell=shell, duration=f"{for_s:g} s", step="100 ms", reach=rule, mode="lasers", keep=False
    )
    routes = ["-".join(map(str, route)) for route in found.routes]
    ours = found.frame.select(
        tick=(pl.col("t_s") * 10).round().cast(pl.Int64),
        ours_ms="rtt_ms",
        ours=pl.Series([None if i is None else routes[i] for i in found.frame["route"]], dtype=pl.String),
    )
    wanted = reference.filter(
        pl.col("shell") == shell, pl.col("pair") == pair, pl.col("rule") == rule, pl.col("t_s") < for_s
    )
    rows = wanted.with_columns(tick=(pl.col("t_s") * 10).round().cast(pl.Int64)).join(
        ours, on="tick", how="left"
    )
    return Beside(shell, pair, rule, rows.sort("tick"))


def reference(python: str, folder: Path) -> pl.DataFrame:
    """All of satgenpy's paths, computed if they are not there: a quarter of an hour."""
    for shell in satgenpy_paths.SHELLS:
        if not (folder / f"{shell}.parquet").exists():
            note(f"satgenpy: {shell}")
            script = Path(__file__).with_name("satgenpy_paths.py")
            subprocess.run([python, script, folder, "--shell", shell], check=True, stderr=subprocess.DEVNULL)
    return pl.concat([pl.read_parquet(folder / f"{shell}.parquet") for shell in satgenpy_paths.SHELLS])


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
                row = beside(paths, shell, f"{a}:{b}", rule).row()
                worst |= row[-1] != "agrees"
                print(data_file.line(row), flush=True)
    return worst


if __name__ == "__main__":
    sys.exit(main())
