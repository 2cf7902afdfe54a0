"""Writes docs/satellite-2026.md, its table docs/satellite-2026.csv and its figures.

python scripts/satellite_2026.py           # run what docs/satellite-2026.csv lacks, draw, write
python scripts/satellite_2026.py --draw    # from docs/satellite-2026.csv, but for one figure
python scripts/satellite_2026.py --check   # does the page agree with docs/satellite-2026.csv?
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Sequence
from pathlib import Path

import run_table
import satellite_page
from satellite_measure import PATHS, Job, Measured, delivery, exists
from satellite_page import ALGORITHMS, STORY

import bentpipe as bp
from bentpipe import files, terminal

DOCS = Path(__file__).resolve().parent.parent / "docs"
BATCH = 8


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs, draws, writes. Exit status 1: by `--check`, the page is out of date."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", metavar="PATH", help="this path alone")
    parser.add_argument("--fresh", action="store_true", help="repeat runs that the table has")
    parser.add_argument("--draw", action="store_true", help="run nothing for the table")
    parser.add_argument("--check", action="store_true", help="run and write nothing")
    parser.add_argument("--out", type=Path, default=DOCS)
    parser.add_argument("--threads", type=int, default=0)
    given = parser.parse_args(arguments)
    table, page = given.out / "satellite-2026.csv", given.out / "satellite-2026.md"
    if given.check:
        text = satellite_page.text(run_table.read(table, Measured))
        return 0 if page.read_text(encoding="utf-8") == text else 1
    ccs = [cc for cc in ALGORITHMS if exists(cc)]
    if missing := [label for cc, label in ALGORITHMS.items() if cc not in ccs]:
        terminal.note(f"not registered, and left out: {', '.join(missing)}")
    rows = run_table.read(table, Measured) if table.exists() and not given.fresh else []
    if not given.draw:
        paths = [path for path in PATHS if given.only in (None, path.name)]
        # Seed by seed, so that a table that was interrupted is one of fewer seeds.
        known = {(r.path, r.cc, r.seed) for r in rows}
        jobs = [
            Job(path, cc, seed)
            for seed in range(1, given.seeds + 1)
            for path in paths
            for cc in ccs
            if (path.name, cc, seed) not in known
        ]
        with terminal.Bar("runs") as bar:
            for begin in range(0, len(jobs), BATCH):
                rows += run(jobs[begin : begin + BATCH], given.threads)
                run_table.write(table, Measured, rows)
                bar(min(begin + BATCH, len(jobs)), len(jobs))
    rows = run_table.read(table, Measured)  # as rounded there
    files.replace(page, lambda work: work.write_text(satellite_page.text(rows), encoding="utf-8"))
    satellite_page.draw(given.out, rows, story([cc for cc in STORY if cc in ccs]))
    return 0


def run(jobs: Sequence[Job], threads: int = 0) -> list[Measured]:
    """Works out some jobs."""
    results = iter(bp.run_many([one for job in jobs for one in job.scenarios], threads))
    return [job.measured(list(itertools.islice(results, len(job.scenarios)))) for job in jobs]


def story(ccs: Sequence[str]) -> satellite_page.Traces:
    """The delivery of a bulk flow of each algorithm over time, with one seed."""
    keys = [(path, cc) for path in PATHS if path.name in satellite_page.SHOWN for cc in ccs]
    scenarios = [path.scenario(cc, bp.Bulk(), 1, "24 s", bp.Record("50 ms")) for path, cc in keys]
    found = {}
    for (path, cc), result in zip(keys, bp.run_many(scenarios), strict=True):
        t, delivered = delivery(result)
        begun = next(flow["start_s"] for flow in result.json["flows"] if flow["name"] == "flow")
        found[path.name, cc] = (t - begun, delivered)
    return found


if __name__ == "__main__":
    sys.exit(main())
