"""A chapter of an evaluation: set-ups, the measurements of each run, charts, and the rows of the runs.

Words, set-ups, metrics and charts are in experiments.toml, scenarios and measurements in the modules.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from bentpipe.evaluation.observation import Observation
from bentpipe.experiments.rows import Rows
from bentpipe.io.toml_tables import beside
from bentpipe.measures import REPORTED, MeasureRow
from bentpipe.scenario import Scenario
from bentpipe.stats import Interval, paired

Extent = Literal["quick", "full"]
"""A full evaluation has more set-ups and more seeds. Common parts are identical in both."""
Setting = Mapping[str, Any]
"""The differences of one set-up of an experiment from the others: {"flows": 8, "buffer": 0.5}."""
Numbers = Mapping[str, float]
"""Metrics of one run in SI units, by name; NaN is a value that the run does not have."""
Measured = Iterable[tuple[Setting, Numbers]]
"""Several rows of one run, each with additions to its setting."""

SEEDS: Mapping[Extent, int] = {"quick": 3, "full": 10}
"""Runs of each set-up and algorithm, unless an experiment says otherwise."""
ALONE, OWN_KIND = "alone", "beside its own kind"
"""Controls: the reference for the other flow's runs with the algorithm."""
_GIVEN = beside(__file__, "experiments.toml")


@dataclass(frozen=True)
class Chart:
    """A chart, of one of three kinds, by what is given.

    - `metric` and `x`: a metric against a part of the setting, a curve for each algorithm; if the part is
      text, the axis has names
    - `y`, `x` and `along`: a metric against another; along each curve a part of the setting changes
    - `label` and `panel`: the course of each algorithm's first run over time, with the label of its axis
    """

    x: str = ""
    metric: str = ""
    y: str = ""
    along: str = ""
    label: str = ""
    panel: str | None = None  #: the part of the setting; each of its values has a chart of its own.
    where: Setting = field(default_factory=dict)  #: values of other parts in this chart.
    log_x: bool = False  #: a logarithmic horizontal axis.
    log_y: bool = False  #: a logarithmic vertical axis.


@dataclass
class Chapter:
    """An experiment of an evaluation: runs that answer one question about an algorithm."""

    name: str  #: the name by which criteria refer to it.
    title: str  #: the heading of its chapter.
    question: str  #: the question, for the reader.
    setup: str  #: links, flows and times, in words.
    source: str  #: the documents and sections that it is made for.
    axes: Mapping[str, str]  #: each part of a setting, and its words for an axis.
    #: the metrics, by name; an interval of one does not go beyond its possible range.
    metrics: Mapping[str, MeasureRow]
    settings: Callable[[Extent], Iterable[Setting]]  #: the set-ups of a quick evaluation, or of a full one.
    #: the scenario of a setting, an algorithm (as in `Flow.cc`) and a seed.
    build: Callable[[Setting, Any, int], Scenario]
    measure: Callable[[Observation], Numbers | Measured]  #: the numbers of one run.
    charts: Sequence[Chart]  #: the charts.
    deviation: str = ""  #: differences from the source, with the reasons; "" for none.
    seeds: Mapping[Extent, int] = field(default_factory=lambda: SEEDS)  #: number of seeds, by extent.
    traced: bool = False  #: whether `measure` needs the flows over time.
    #: of a run, instants and values for its charts over time; the runs are traced then.
    course: Callable[[Observation], tuple[Sequence[float], Sequence[float]]] | None = None
    #: runs of a setting and a seed without the algorithm, by name; their rows are for `compare`.
    controls: Mapping[str, Callable[[Setting, int], Scenario]] = field(default_factory=dict)
    #: adds metrics to the rows of a setting and a seed: those of the algorithms, and by name those of the
    #: controls.
    compare: Callable[[list[dict[str, Any]], Mapping[str, dict[str, Any]]], None] | None = None
    labels: Sequence[str] = ()  #: the algorithms, the one that the evaluation is about first.
    #: for each run and part of its setting: algorithm, seed, the setting, the metrics.
    rows: Rows = field(default_factory=Rows)
    #: of first runs: setting, algorithm, instants and values.
    courses: list[tuple[Setting, str, Sequence[float], Sequence[float]]] = field(default_factory=list)
    #: algorithm, setting in words and error of each run that failed.
    failed: list[tuple[str, str, str]] = field(default_factory=list)
    missing: int = 0  #: runs that were not made because the user stopped the evaluation.

    def of(self, labels: Sequence[str]) -> Chapter:
        """The same about these algorithms, without rows."""
        return replace(self, labels=labels, rows=Rows(), courses=[], failed=[], missing=0)

    def fill(self, rows: Iterable[dict[str, Any]]) -> None:
        """Takes the rows of all runs, those of controls among them, and adds the metrics of `compare`."""
        every = Rows(rows)
        if self.compare is not None:  # metrics that need all runs of a seed
            for same in every.groups("seed", *self.axes).values():
                controls = {row["algorithm"]: row for row in same if row["algorithm"] in self.controls}
                self.compare([row for row in same if row["algorithm"] not in controls], controls)
        self.rows = Rows(row for row in every if row["algorithm"] not in self.controls)

    def matching(self, where: Setting) -> list[dict[str, Any]]:
        """The settings that have rows and these parts, in the order of the runs; only parts that are axes."""
        groups = self.rows.where(**where).groups(*self.axes)
        named = (zip(self.axes, values, strict=True) for values in groups)
        return [{key: value for key, value in setting if value is not None} for setting in named]

    def interval(self, metric: str, algorithm: str, where: Setting) -> Interval | None:
        """The mean of a metric over the seeds with its interval, in the SI unit; None if no run has it."""
        values = self.rows.values(metric, algorithm=algorithm, **where).values()
        return self.metrics[metric].interval(list(values)) if values else None

    def intervals(self, metric: str, where: Setting) -> dict[str, Interval]:
        """The same of each algorithm that has it."""
        found = ((label, self.interval(metric, label, where)) for label in self.labels)
        return {label: interval for label, interval in found if interval is not None}

    def difference(self, metric: str, a: str, b: str, where: Setting) -> Interval | None:
        """The mean of a - b, seed by seed, with its interval; None if no seed has both."""
        of_a, of_b = (self.rows.values(metric, algorithm=name, **where) for name in (a, b))
        seeds = sorted(of_a.keys() & of_b.keys())
        return paired([of_a[s] for s in seeds], [of_b[s] for s in seeds]) if seeds else None


def chapter(
    name: str,
    build: Callable[[Setting, Any, int], Scenario],
    measure: Callable[[Observation], Numbers | Measured],
    **code: Any,
) -> Chapter:
    """The chapter of a name in experiments.toml, with its code, fields of `Chapter`.

    Without `settings` in `code`, the settings are all combinations of the values there; those of the last key
    change first.
    """
    given = dict(_GIVEN["experiments"][name])
    quick = given.pop("settings", {})
    parts = {"quick": quick, "full": quick | given.pop("full", {})}

    def settings(extent: Extent) -> list[Setting]:
        every = itertools.product(*parts[extent].values())
        return [dict(zip(parts[extent], values, strict=True)) for values in every]

    of: dict[str, Any] = {
        key: value.format(**_GIVEN["words"]) if isinstance(value, str) else value
        for key, value in given.items()
    }
    of["metrics"] = {metric: _metric(metric, each) for metric, each in given["metrics"].items()}
    of["charts"] = [Chart(**each) for each in given["charts"]]
    return Chapter(name, **{"settings": settings, **of, **code}, build=build, measure=measure)


def words(setting: Setting) -> str:
    """A setting in one line: "flows=8, buffer=0.5"."""
    return ", ".join(
        f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}" for key, value in setting.items()
    )


def _metric(name: str, given: Mapping[str, Any]) -> MeasureRow:
    given = given or _GIVEN["metrics"].get(name)
    if given is None:
        return REPORTED[name]
    known: dict[str, Any] = {key: None if value == "any" else value for key, value in given.items()}
    return MeasureRow(name, **{"better": "less", **known})
