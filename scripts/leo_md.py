"""Adds the measured downlinks to docs/leo.csv, or checks docs/leo.md and docs/satellite-2026.md.

    python scripts/leo_md.py --measured DIR        # DIR: see scripts/starlink.py
    python scripts/leo_md.py --check               # do the pages agree with their tables?

The measured data has no licence that lets us ship it. Its results stay in docs/leo.csv when it is not there.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import md
import polars as pl

import bentpipe as bp
from bentpipe import terminal
from bentpipe.experiments import TABLES, load
from bentpipe.experiments.leo import Leo
from bentpipe.experiments.leo.paths import MEASURED, MovingPath


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs, draws, writes. Exit status 1: by `--check`, a page is out of date."""
    parser = md.command_line(__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--measured", type=Path, metavar="DIR", help="the data of 27 May 2024")
    what.add_argument("--check", action="store_true", help="run and write nothing")
    given = parser.parse_args(arguments)
    if given.check:
        return any(load(name).stale(md.DOCS) for name in TABLES)
    with terminal.RunsBar("leo") as bar:
        Leo(measured(given.measured)).run(md.DOCS, progress=bar.at)
    return 0


def measured(directory: Path, duration_s: float = 60.0) -> list[MovingPath]:
    """Two measured downlinks of 27 May 2024: those whose mean rates are the quartiles of the day.

    The rate is that of UDP, in half seconds. The delay is that of a ping minutes later, which includes waits
    in the network, too.
    """
    import starlink

    capacities, _, _ = starlink.measured(directory)
    order = sorted(capacities, key=lambda capacity: capacity.mean_bps)
    found = []
    for name, share in (("starlink-slow", 0.25), ("starlink-fast", 0.75)):
        capacity = order[round(share * (len(order) - 1))]
        delays = starlink.repeated(capacity.ping, duration_s)
        frame = bp.timeline.join(capacity.frame, delays, columns=["delay_s"])
        frame = frame.filter(pl.col("t_s") < duration_s).select("t_s", "rate_bps", "delay_s")
        frame = frame.with_columns(up=pl.lit(value=True), handover=pl.lit(value=False))
        found.append(MovingPath(name, MEASURED, frame, duration_s, 15e6))
    return found


if __name__ == "__main__":
    sys.exit(main())
