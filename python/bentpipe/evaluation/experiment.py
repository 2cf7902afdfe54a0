"""Experiments of an evaluation: set-ups, the measurements of each run, and the charts of the results.

Their words, set-ups, metrics and charts are in experiments.toml; `experiment` reads them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from bentpipe.evaluation.observation import Observation
from bentpipe.io.toml_tables import beside
from bentpipe.measures import REPORTED, MeasureRow
from bentpipe.scenario import Scenario

Extent = Literal["quick", "full"]
"""A full evaluation has more set-ups and more seeds. Common parts are identical in both."""

Setting = Mapping[str, str | int | float]
"""The differences of one set-up of an experiment from the others: {"flows": 8, "buffer": 0.5}."""


Numbers = Mapping[str, float]
"""Metrics of one run in SI units, by name; NaN is a value that the run does not have."""

Measured = Iterable[tuple[Setting, Numbers]]
"""Several rows of one run, each with additions to its setting."""


SEEDS: Mapping[Extent, int] = {"quick": 3, "full": 10}
"""Runs of each set-up and algorithm, unless an experiment says otherwise."""

_GIVEN = beside(__file__, "experiments.toml")


ALONE, OWN_KIND = "alone", "beside its own kind"
"""Controls: the reference for the other flow's runs with the algorithm."""


@dataclass(frozen=True)
class Curves:
    """A chart of a metric against a part of the setting, a curve for each algorithm.

    Args:
        metric: the metric that is drawn.
        x: the part of the setting that runs along the axis; if it is text, the axis has names.
        panel: the part of the setting; each of its values has a chart of its own.
        where: values of other parts in this chart.
        log_x: a logarithmic horizontal axis.
        log_y: a logarithmic vertical axis.
    """

    metric: str
    x: str
    panel: str | None = None
    where: Setting = field(default_factory=dict)
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class Tradeoff:
    """A chart of one metric against another; along each curve a part of the setting changes.

    Args:
        x: the metric of the horizontal axis.
        y: the metric of the vertical axis.
        along: the part of the setting.
        where: as for `Curves`.
    """

    x: str
    y: str
    along: str
    where: Setting = field(default_factory=dict)


@dataclass(frozen=True)
class Course:
    """A chart over time of each algorithm's first run.

    Args:
        label: the vertical axis.
        panel: the part of the setting; each of its values has a chart of its own.
        where: as for `Curves`.
    """

    label: str
    panel: str
    where: Setting = field(default_factory=dict)


@dataclass(frozen=True)
class SuiteExperiment:
    """Runs that answer one question about an algorithm.

    Args:
        name: the name by which criteria refer to it.
        title: the heading of its chapter.
        question: the question, for the reader.
        setup: links, flows and times, in words.
        source: the documents and sections that it is made for.
        deviation: differences from them, with the reasons; "" for none.
        axes: each part of a setting, and its words for an axis.
        metrics: the metrics, by name; an interval of one does not go beyond its possible range.
        settings: the set-ups of a quick evaluation, or of a full one.
        build: the scenario of a setting, an algorithm (as in `Flow.cc`) and a seed.
        measure: the numbers of one run.
        charts: the charts.
        seeds: number of seeds, by extent.
        controls: runs of a setting and a seed without the algorithm, by name; their rows are for `compare`.
        course: of a run, instants and values for its `Course` charts; the runs are traced then.
        traced: whether `measure` needs the flows over time.
        compare: adds metrics to the rows of a setting and a seed: those of the algorithms, and by name those
            of the controls.
    """

    name: str
    title: str
    question: str
    setup: str
    source: str
    axes: Mapping[str, str]
    metrics: Mapping[str, MeasureRow]
    settings: Callable[[Extent], Iterable[Setting]]
    build: Callable[[Setting, Any, int], Scenario]
    measure: Callable[[Observation], Numbers | Measured]
    charts: Sequence[Curves | Tradeoff | Course]
    deviation: str = ""
    seeds: Mapping[Extent, int] = field(default_factory=lambda: dict(SEEDS))
    course: Callable[[Observation], tuple[Sequence[float], Sequence[float]]] | None = None
    traced: bool = False
    controls: Mapping[str, Callable[[Setting, int], Scenario]] = field(default_factory=dict)
    compare: Callable[[list[dict[str, Any]], Mapping[str, dict[str, Any]]], None] | None = None

    @property
    def keeps_trace(self) -> bool:
        """Whether its runs are recorded over time."""
        return self.traced or self.course is not None


def experiment(
    name: str,
    build: Callable[[Setting, Any, int], Scenario],
    measure: Callable[[Observation], Numbers | Measured],
    *,
    settings: Callable[[Extent], Iterable[Setting]] | None = None,
    **code: Any,
) -> SuiteExperiment:
    """The experiment of a name in experiments.toml.

    Args:
        name: its table there.
        build: as for `SuiteExperiment`.
        measure: as for `SuiteExperiment`.
        settings: as for `SuiteExperiment`; by default the combinations of the values in the file.
        code: other fields of `SuiteExperiment`: controls, compare, course.
    """
    given = _GIVEN["experiments"][name]
    texts: dict[str, Any] = {
        key: text.format(**_GIVEN["words"]) for key, text in given.items() if isinstance(text, str)
    }
    return SuiteExperiment(
        name=name,
        **texts,
        axes=given["axes"],
        metrics={of: _metric(of, each) for of, each in given["metrics"].items()},
        settings=settings or partial(_settings, given["settings"], given.get("full", {})),
        build=build,
        measure=measure,
        charts=[_chart(each) for each in given["charts"]],
        seeds=given.get("seeds", SEEDS),
        traced=given.get("traced", False),
        **code,
    )


def _metric(name: str, given: Mapping[str, Any]) -> MeasureRow:
    given = given or _GIVEN["metrics"].get(name)
    if given is None:
        return REPORTED[name]
    known: dict[str, Any] = {key: None if value == "any" else value for key, value in given.items()}
    return MeasureRow(name, **{"better": "less", **known})


def _chart(given: Mapping[str, Any]) -> Curves | Tradeoff | Course:
    if "along" in given:
        return Tradeoff(**given)
    return Course(**given) if "label" in given else Curves(**given)


def _settings(
    quick: Mapping[str, Iterable[str | int | float]],
    full: Mapping[str, Iterable[str | int | float]],
    extent: Extent,
) -> list[Setting]:
    """Every combination of the values of the parts of a setting; the last part varies fastest."""
    parts = {**quick, **full} if extent == "full" else quick
    return [dict(zip(parts, values, strict=True)) for values in itertools.product(*parts.values())]
