"""Quantities of a link, their means over several runs in ns-2 and here, and the program that prints them.

`ns2_moving` and `ns2_queues` say which runs and which quantities.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import data_file

import bentpipe as bp
from bentpipe import ns2

COLUMNS = """
setup quantity ns2_mean ns2_standard_error bentpipe_mean bentpipe_standard_error
difference_percent tolerated_percent verdict
""".split()
"""Of the data file. `quantity` says the unit of the four columns behind it."""


@dataclass(frozen=True)
class Found:
    """One quantity, its mean over runs and the standard error in both programs."""

    setup: str
    quantity: str
    theirs: tuple[float, float]
    ours: tuple[float, float]
    tolerance: float

    @property
    def difference(self) -> float:
        """Relative difference of the means."""
        return self.ours[0] / self.theirs[0] - 1.0

    @property
    def error(self) -> float:
        """Its standard error."""
        return math.hypot(self.theirs[1], self.ours[1]) / self.theirs[0]

    @property
    def tolerated(self) -> float:
        """The tolerance, or three standard errors where that is more."""
        return max(self.tolerance, 3.0 * self.error)

    @property
    def agrees(self) -> bool:
        """Is the difference tolerated?"""
        return abs(self.difference) <= self.tolerated

    def row(self) -> list[str]:
        """One row of the data file."""
        means = [text for mean, error in (self.theirs, self.ours) for text in (f"{mean:.4g}", f"{error:.1g}")]
        difference, tolerated = data_file.percent(self.difference), f"{100.0 * self.tolerated:.0f}"
        verdict = "agrees" if self.agrees else "differs"
        return [self.setup, self.quantity, *means, difference, tolerated, verdict]


def sat(result: dict[str, Any]) -> dict[str, Any]:
    """The forward direction of the link `sat`."""
    return next(x for x in result["links"] if (x["name"], x["direction"]) == ("sat", "forward"))


def compared(
    setup: str, scenarios: Sequence[bp.Scenario], in_ns2: Callable[[Any], Any], here: Callable[[Any], Any],
    quantities: Iterable[tuple[str, str, float]], tolerance: float, jobs: int = 2,
) -> Iterator[Found]:  # fmt: skip
    """The quantities of runs in both programs.

    Args:
        setup: its name.
        scenarios: the runs.
        in_ns2: what is measured of a run of ns-2.
        here: the same of the object of `bentpipe run --json`.
        quantities: the name with the unit, the attribute of what is measured, and its factor to the unit.
        tolerance: of each.
        jobs: runs at a time.
    """
    with ThreadPoolExecutor(jobs) as pool:
        theirs = [
            *map(in_ns2, pool.map(lambda scenario: ns2.run(scenario, watch=["sat/forward"]), scenarios))
        ]
    ours = [here(result.json) for result in bp.run_many(scenarios, jobs)]

    def mean(runs: Sequence[Any], column: str, scale: float) -> tuple[float, float]:
        values = [getattr(run, column) * scale for run in runs]
        return statistics.fmean(values), statistics.stdev(values) / math.sqrt(len(values))

    for name, column, scale in quantities:
        yield Found(setup, name, mean(theirs, column, scale), mean(ours, column, scale), tolerance)


def main(title: str, rows: Callable[[int], Iterable[Found]]) -> int:
    """Prints the rows, from the number of runs at a time; 1 if a quantity differs, 3 without ns-2."""
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    given = parser.parse_args()
    if not ns2.available():
        print(ns2.MISSING, file=sys.stderr)
        return 3
    print(data_file.line(COLUMNS))
    bad = 0
    for found in rows(given.jobs):
        bad += not found.agrees
        print(data_file.line(found.row()), flush=True)
    return 1 if bad else 0
