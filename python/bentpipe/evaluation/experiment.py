"""Experiments of an evaluation: set-ups, the measurements of each run, and the charts of the results."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from bentpipe.evaluation.observation import Observation
from bentpipe.scenario import Scenario

Extent = Literal["quick", "full"]
"""A full evaluation has more set-ups and more seeds. Common parts are identical in both."""

Setting = Mapping[str, str | int | float]
"""The differences of one set-up of an experiment from the others: {"flows": 8, "buffer": 0.5}."""


def product(**parts: Iterable[str | int | float]) -> list[Setting]:
    """Every combination of the values of some parts of a setting; the last part varies fastest."""
    return [dict(zip(parts, values, strict=True)) for values in itertools.product(*parts.values())]


Numbers = Mapping[str, float]
"""Metrics of one run in SI units, by name; NaN is a value that the run does not have."""

Measured = Iterable[tuple[Setting, Numbers]]
"""Several rows of one run, each with additions to its setting."""


SEEDS: Mapping[Extent, int] = {"quick": 3, "full": 10}
"""Runs of each set-up and algorithm, unless an experiment says otherwise."""


@dataclass(frozen=True)
class Metric:
    """A number that is measured in each run.

    Args:
        words: its description, "packets lost at the queue".
        unit: in which it is shown.
        scale: from the SI unit to that unit.
        least: the smallest possible value in the SI unit; an interval does not go below it.
        most: the largest possible value, likewise.
        good: whether "more" or "less" of it is better; "" where that is not the question.
    """

    words: str
    unit: str = ""
    scale: float = 1.0
    least: float | None = 0.0
    most: float | None = None
    good: Literal["more", "less", ""] = "less"

    @property
    def label(self) -> str:
        """The words with the unit, as at an axis."""
        return f"{self.words}, {self.unit}" if self.unit else self.words


DROPS = Metric("packets dropped at the queue", "%", 100, most=1)
"""Of the packets offered to it."""
UTILISATION = Metric("capacity used", "%", 100, most=1, good="more")
"""Of the bottleneck: bits that left it, to bits that could have."""
LOSS = Metric("packets lost", "%", 100, most=1)
"""Of the data packets of the flows that are measured."""
QUEUEING = Metric("mean wait in the queue", "ms", 1e3)
"""Packets that waited on average, as the time that it takes to send them in full packets."""
QUEUEING_P95 = Metric("95th percentile of the wait in the queue", "ms", 1e3)
"""Of the round-trip times that the flows measured, less their propagation."""
JAIN = Metric("Jain's index", most=1, good="more")
"""R. Jain, D. Chiu, W. Hawe, 1984."""
MORE_HARM = Metric("harm beyond that by its own kind", "points", 100, least=-1, most=1)
"""Harm as R. Ware, M. K. Mukerjee, S. Seshan, J. Sherry define it (Beyond Jain's Fairness Index, 2019)."""
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
class Experiment:
    """Runs that answer one question about an algorithm.

    Args:
        name: the name by which criteria refer to it.
        title: the heading of its chapter.
        question: the question, for the reader.
        setup: links, flows and times, in words.
        source: the documents and sections that it is made for.
        deviation: differences from them, with the reasons; "" for none.
        axes: each part of a setting, and its words for an axis.
        metrics: the metrics, by name.
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
    metrics: Mapping[str, Metric]
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
