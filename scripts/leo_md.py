"""Writes docs/leo.md, its table docs/leo.csv and its figures: every controller over paths that move.

    python scripts/leo_md.py                       # run what docs/leo.csv lacks, then draw and write
    python scripts/leo_md.py --measured DIR        # and the measured downlinks; DIR: see scripts/starlink.py
    python scripts/leo_md.py --draw                # from docs/leo.csv alone
    python scripts/leo_md.py --check               # does the page agree with docs/leo.csv?

The measured data has no licence that lets us ship it. Its results stay in docs/leo.csv when it is not there.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import leo_page
import leo_paths
import run_table
from leo_measure import Measured, measure
from leo_paths import MovingPath

import bentpipe as bp
from bentpipe import controller, files, terminal

DOCS = Path(__file__).resolve().parent.parent / "docs"
RESET = "path_change=reset"
WINDOW = "base_window=10"
BATCH = 24


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs, draws, writes. Exit status 1: by `--check`, the page is out of date."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--measured", type=Path, metavar="DIR", help="the data of 27 May 2024")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--fresh", action="store_true", help="repeat runs that the table has")
    parser.add_argument("--draw", action="store_true", help="run nothing")
    parser.add_argument("--check", action="store_true", help="run and write nothing")
    parser.add_argument("--threads", type=int, default=0)
    given = parser.parse_args(arguments)
    table, page = DOCS / "leo.csv", DOCS / "leo.md"
    if given.check:
        return 0 if page.read_text(encoding="utf-8") == leo_page.text(run_table.read(table, Measured)) else 1
    rows = run_table.read(table, Measured) if table.exists() and not given.fresh else []
    paths = [
        leo_paths.shipped(),
        leo_paths.shipped("leo-loss", leo_paths.LOSS),
        *leo_paths.shells(),
        *leo_paths.fades(),
    ]
    if given.measured is not None:
        paths += leo_paths.measured(given.measured)
    if not given.draw:
        for seed in range(1, given.seeds + 1):
            for path in paths:
                known = {row.cc for row in rows if (row.path, row.seed) == (path.name, seed)}
                wanted = [cc for cc in algorithms(path) if cc not in known]
                rows += run(path, wanted, seed, given.threads)
                run_table.write(table, Measured, rows)
    rows = run_table.read(table, Measured)  # as rounded there
    files.replace(page, lambda work: work.write_text(leo_page.text(rows), encoding="utf-8"))
    leo_page.draw(DOCS, rows, paths, story(paths[0]))
    return 0


def algorithms(path: MovingPath) -> list[str]:
    """Every controller; where the path changes hands, also those that forget the smallest round-trip time."""
    found = []
    for entry in bp.controllers():
        found.append(entry["id"])
        if path.group != leo_paths.LEO or entry["uses_path_hints"]:
            continue
        if any(param["name"] == "base_window" for param in entry["params"]):
            found.append(f"{entry['id']} {WINDOW}")
        if entry["id"] in leo_page.KEEPERS:
            found.append(f"{entry['id']} {RESET}")
    return found


def run(path: MovingPath, ccs: Sequence[str], seed: int, threads: int = 0) -> list[Measured]:
    """Runs controllers over a path, in batches, so that traces do not pile up."""
    rows: list[Measured] = []
    with tempfile.TemporaryDirectory() as work, terminal.Bar(f"{path.label}, seed {seed}") as bar:
        for begin in range(0, len(ccs), BATCH):
            batch = ccs[begin : begin + BATCH]
            scenarios = [path.scenario(controller.named_algorithm(cc), seed, Path(work)) for cc in batch]
            results = bp.run_many(scenarios, threads, progress=lambda n, b=begin: bar(b + n, len(ccs)))
            rows += [measure(path, cc, seed, r) for cc, r in zip(batch, results, strict=True)]
    return rows


def story(path: MovingPath) -> dict[str, Any]:
    """Traces of a few controllers over one path, for a figure."""
    ccs = leo_page.STORY
    with tempfile.TemporaryDirectory() as work:
        scenarios: Iterable[bp.Scenario] = [
            path.scenario(controller.named_algorithm(cc), 1, Path(work)) for cc in ccs
        ]
        return {cc: r.trace for cc, r in zip(ccs, bp.run_many(list(scenarios)), strict=True)}


if __name__ == "__main__":
    sys.exit(main())
