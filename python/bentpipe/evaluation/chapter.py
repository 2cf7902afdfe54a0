"""Results of the runs of one experiment."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from bentpipe.evaluation.experiment import Setting, SuiteExperiment
from bentpipe.stats import Interval, paired

Course = tuple[dict[str, Any], str, Sequence[float], Sequence[float]]
"""Setting, algorithm, instants and values of one run over time."""


@dataclass
class Chapter:
    """An experiment and the results of its runs.

    Args:
        experiment: the experiment.
        labels: the algorithms, the one that the evaluation is about first.
        rows: a dict for each run and part of its setting: algorithm, seed, the setting, the metrics.
        courses: of first runs.
        failed: (algorithm, setting in words, error) of each run that failed.
        missing: runs that were not made because the user stopped the evaluation.
    """

    experiment: SuiteExperiment
    labels: Sequence[str]
    rows: list[dict[str, Any]] = field(default_factory=list)
    courses: list[Course] = field(default_factory=list)
    failed: list[tuple[str, str, str]] = field(default_factory=list)
    missing: int = 0

    @cached_property
    def settings(self) -> list[dict[str, Any]]:
        """The settings that have rows, in the order of the runs; only the parts that are axes."""
        seen: dict[tuple[Any, ...], dict[str, Any]] = {}
        for row in self.rows:
            setting = {key: row[key] for key in self.experiment.axes if key in row}
            seen.setdefault(tuple(setting.items()), setting)
        return list(seen.values())

    def matching(self, where: Setting) -> list[dict[str, Any]]:
        """The settings that have these parts."""
        return [s for s in self.settings if all(s.get(key) == value for key, value in where.items())]

    def values(self, metric: str, algorithm: str, where: Setting) -> dict[int, float]:
        """A metric by seed, in the SI unit; without runs that do not have it."""
        found = {}
        for row in self._by_algorithm.get(algorithm, ()):
            value = row.get(metric, math.nan)
            if math.isfinite(value) and all(row.get(key) == wanted for key, wanted in where.items()):
                found[int(row["seed"])] = float(value)
        return found

    def interval(self, metric: str, algorithm: str, where: Setting) -> Interval | None:
        """The mean of a metric over the seeds with its interval, in the SI unit; None if no run has it."""
        values = list(self.values(metric, algorithm, where).values())
        return self.experiment.metrics[metric].interval(values) if values else None

    def difference(self, metric: str, a: str, b: str, where: Setting) -> Interval | None:
        """The mean of a - b, seed by seed, with its interval; None if no seed has both."""
        of_a, of_b = self.values(metric, a, where), self.values(metric, b, where)
        seeds = sorted(of_a.keys() & of_b.keys())
        return paired([of_a[s] for s in seeds], [of_b[s] for s in seeds]) if seeds else None

    @cached_property
    def _by_algorithm(self) -> dict[str, list[dict[str, Any]]]:
        found: dict[str, list[dict[str, Any]]] = {}
        for row in self.rows:
            found.setdefault(row["algorithm"], []).append(row)
        return found


def words(setting: Mapping[str, Any]) -> str:
    """A setting in one line: "flows=8, buffer=0.5"."""
    return ", ".join(
        f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}" for key, value in setting.items()
    )
