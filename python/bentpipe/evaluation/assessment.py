"""The evaluation of an algorithm: which runs it takes, and what they gave."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import _core
from bentpipe.comparison import named_algorithm
from bentpipe.controller import check_controller
from bentpipe.evaluation.experiment import Experiment, Metric
from bentpipe.evaluation.mixed import MIXED
from bentpipe.evaluation.observation import Observation
from bentpipe.evaluation.paths import PATHS
from bentpipe.evaluation.single import SINGLE
from bentpipe.evaluation.suite import SUITE
from bentpipe.registry import find, unknown
from bentpipe.stats import Interval, interval
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.engine import Runs, State, run_cases
from bentpipe.units import seconds

if TYPE_CHECKING:
    import polars as pl

EXPERIMENTS: tuple[Experiment, ...] = (*SINGLE, *MIXED, *PATHS, *SUITE)
"""All experiments, in the order of the chapters."""
STANDARDS = ("cubic", "reno")
"""The algorithms whose numbers stand beside each other one's: RFC 9438 and RFC 5681."""


@dataclass(frozen=True)
class Contender:
    """An algorithm of an evaluation: the one that it is about, or a standard one.

    Args:
        label: its name for people, unique in the evaluation.
        cc: what stands in `Flow.cc`.
        id: its registered name, or the name of its class.
    """

    label: str
    cc: Any
    id: str


@dataclass
class Chapter:
    """An experiment and what its runs gave.

    Args:
        experiment: what was run.
        labels: the algorithms, the one that the evaluation is about first.
        rows: a dict for each run and part of its setting: cc, algorithm, seed, the setting, the metrics.
        courses: (setting, algorithm, instants, values) of first runs.
        failed: (algorithm, setting in words, error) of each run that failed.
    """

    experiment: Experiment
    labels: Sequence[str]
    rows: list[dict[str, Any]] = field(default_factory=list)
    courses: list[tuple[dict[str, Any], str, Sequence[float], Sequence[float]]] = field(default_factory=list)
    failed: list[tuple[str, str, str]] = field(default_factory=list)

    @cached_property
    def settings(self) -> list[dict[str, Any]]:
        """The settings that have rows, in the order of the runs; without parts that are the same in all."""
        seen: dict[tuple[Any, ...], dict[str, Any]] = {}
        for row in self.rows:
            setting = {key: row[key] for key in self.experiment.axes if key in row}
            seen.setdefault(tuple(setting.items()), setting)
        return list(seen.values())

    def interval(self, metric: str, algorithm: str, where: Mapping[str, Any]) -> Interval | None:
        """The mean of a metric over the seeds with its interval, in the SI unit; None if no run has it."""
        values = [
            row[metric]
            for row in self.rows
            if row["algorithm"] == algorithm
            and all(row.get(key) == value for key, value in where.items())
            and math.isfinite(row.get(metric, math.nan))
        ]
        if not values:
            return None
        return interval(values, **_range(self.experiment.metrics[metric], values))


class Evaluation:
    """What an evaluation found.

    Attributes:
        label: the name of the algorithm.
        full: whether it was a full one.
        chapters: an experiment each.
    """

    def __init__(self, subject: Contender, full: bool, chapters: list[Chapter]) -> None:
        self.subject, self.label, self.full, self.chapters = subject, subject.label, full, chapters

    def __repr__(self) -> str:
        runs = sum(len(chapter.rows) for chapter in self.chapters)
        return f"Evaluation({self.label}, {'full' if self.full else 'quick'}: {len(self.chapters)} chapters, {runs} rows)"

    def chapter(self, name: str) -> Chapter | None:
        """The chapter of an experiment; None if it was not run."""
        return next((c for c in self.chapters if c.experiment.name == name), None)

    @cached_property
    def numbers(self) -> pl.DataFrame:
        """A row for each experiment, setting, algorithm and metric.

        Columns experiment, setting (in words), algorithm, metric, unit ("" for a plain number), mean, low and
        high of the 95 % interval in that unit, and n, the number of runs.
        """
        import polars as pl

        rows = []
        for chapter in self.chapters:
            metrics = chapter.experiment.metrics
            for setting in chapter.settings:
                for name, metric in metrics.items():
                    for label in chapter.labels:
                        found = chapter.interval(name, label, setting)
                        if found is None:
                            continue
                        scaled = [value * metric.scale for value in found[:3]]
                        rows.append(
                            {
                                "experiment": chapter.experiment.name,
                                "setting": words(setting),
                                "algorithm": label,
                                "metric": name,
                                "unit": metric.unit,
                                **dict(zip(("mean", "low", "high"), scaled, strict=True)),
                                "n": found.n,
                            }
                        )
        schema = {
            **dict.fromkeys(("experiment", "setting", "algorithm", "metric", "unit"), pl.String),
            **dict.fromkeys(("mean", "low", "high"), pl.Float64),
            "n": pl.Int64,
        }
        return pl.DataFrame(rows, schema=schema)

    @cached_property
    def answers(self) -> list[dict[str, Any]]:
        """What stands beside each criterion (`bentpipe.evaluation.answers`)."""
        from bentpipe.evaluation.answers import answers

        return answers(self)

    def as_dict(self) -> dict[str, Any]:
        """The object of `bentpipe evaluate --json`."""
        from bentpipe.evaluation.answers import as_dict

        return as_dict(self)

    def write(self, directory: str | Path) -> Path:
        """Writes evaluation.html, evaluation.json and numbers.csv; returns the page.

        Raises:
            OSError: nothing can be written there.
        """
        from bentpipe.evaluation.report import write

        return write(self, Path(directory))


def evaluate(
    algorithm: Any,
    *,
    full: bool = False,
    only: Iterable[str] | None = None,
    out: str | Path | None = None,
    workers: int = 0,
    progress: Callable[[State], None] | None = None,
) -> Evaluation:
    """Evaluates an algorithm beside CUBIC and Reno by what RFC 9743 and the TCP evaluation suite ask for.

    Every run of the algorithm has a run of CUBIC and one of Reno on the same links and with the same seed.

    Args:
        algorithm: a registered name ("star"), one with parameters ("vegas path_change=reset"), a `Controller`
            subclass, or "FILE.py:CLASS".
        full: more settings, more seeds, longer runs; hours instead of a minute.
        only: names of experiments ("many-flows"); all of them by default.
        out: a directory for page, JSON, numbers and the runs. The same call goes on where it was stopped.
        workers: 0 for one per processor.
        progress: told how far it is.

    Raises:
        ScenarioError: there is no such algorithm or experiment; `out` holds something else.
        Interrupted: it was stopped (`bentpipe.sweeps.engine`).
        OSError: nothing can be written to `out`.
    """
    subject, contenders = _contenders(algorithm)
    chosen = _chosen(only)
    cases, origins = _cases(chosen, contenders, full)
    place = None if out is None else Path(out) / "runs"
    runs = run_cases(cases, place=place, workers=workers, progress=progress)
    labels = [contender.label for contender in contenders]
    found = Evaluation(subject, full, _chapters(chosen, labels, origins, cases, runs))
    if out is not None:
        found.write(out)
    return found


def words(setting: Mapping[str, Any]) -> str:
    """A setting in one line: "flows=8, buffer=0.5"."""
    return ", ".join(f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}" for key, value in setting.items())


@dataclass(frozen=True)
class Origin:
    """Where a case comes from."""

    experiment: Experiment
    setting: Mapping[str, Any]
    contender: Contender
    seed: int


def _contenders(algorithm: Any) -> tuple[Contender, list[Contender]]:
    """The algorithm, and all that are run, itself first."""
    cc = named_algorithm(algorithm)
    if isinstance(cc, type):
        check_controller(cc, cc.__qualname__)
        subject = Contender(cc.__name__, cc, cc.__name__)
    elif isinstance(cc, str):
        subject = Contender(find(cc)["label"], cc, cc)
    elif isinstance(cc, Mapping) and "name" in cc:
        given = " ".join(f"{key}={value}" for key, value in cc.items() if key != "name")
        subject = Contender(f"{find(cc['name'])['label']} {given}".strip(), dict(cc), str(cc["name"]) + (" " + given if given else ""))
    else:
        raise _core.ScenarioError(f"cc: {algorithm!r} is no algorithm; give a name, a class or FILE.py:CLASS")
    standards = [Contender(find(name)["label"], name, name) for name in STANDARDS if name != subject.id]
    if subject.label in [standard.label for standard in standards]:
        subject = Contender(f"{subject.label} (own)", subject.cc, subject.id)
    return subject, [subject, *standards]


def _chosen(only: Iterable[str] | None) -> list[Experiment]:
    """The experiments of these names."""
    if only is None:
        return list(EXPERIMENTS)
    known = {experiment.name: experiment for experiment in EXPERIMENTS}
    wanted = list(only)
    for name in wanted:
        if name not in known:
            raise _core.ScenarioError(unknown("experiment", name, list(known)))
    return [experiment for experiment in EXPERIMENTS if experiment.name in wanted]


def _cases(
    chosen: Sequence[Experiment], contenders: Sequence[Contender], full: bool
) -> tuple[list[Case], list[Origin]]:
    """All runs, the chapters one after the other."""
    cases, origins = [], []
    for experiment in chosen:
        for setting in experiment.settings(full):
            for seed in range(1, experiment.seeds[full] + 1):
                for contender in contenders:
                    made = experiment.build(setting, contender.cc, seed)
                    keys = {
                        "experiment": experiment.name,
                        "algorithm": contender.label,
                        "setting": words(setting),
                    }
                    cases.append(
                        Case(
                            keys=keys,
                            scenario=made.to_dict(),
                            keep_trace=experiment.keeps_trace,
                            controllers=made.controllers(),
                        )
                    )
                    origins.append(Origin(experiment, setting, contender, seed))
    return cases, origins


def _chapters(
    chosen: Sequence[Experiment],
    labels: Sequence[str],
    origins: Sequence[Origin],
    cases: Sequence[Case],
    runs: Runs,
) -> list[Chapter]:
    chapters = {experiment.name: Chapter(experiment, labels) for experiment in chosen}
    failures = {row["run"]: row["error"] for row in runs.failed.to_dicts()}
    flows, links, traces = (_by_run(frame) for frame in (runs.flows, runs.links, runs.traces))
    for number, (origin, case) in enumerate(zip(origins, cases, strict=True)):
        chapter, contender = chapters[origin.experiment.name], origin.contender
        if number in failures:
            chapter.failed.append((contender.label, words(origin.setting), str(failures[number])))
            continue
        trace = traces.get(number)
        run = Observation(
            setting=origin.setting,
            seed=origin.seed,
            seconds=seconds(case.scenario["duration"], "duration"),
            flows=flows[number].to_dicts(),
            links=links[number].to_dicts(),
            trace=trace,
        )
        head = {"cc": contender.id, "algorithm": contender.label, "seed": origin.seed, **origin.setting}
        chapter.rows += [{**head, **more, **numbers} for more, numbers in origin.experiment.measure(run)]
        if origin.experiment.course is not None and origin.seed == 1:
            chapter.courses.append((dict(origin.setting), contender.label, *origin.experiment.course(run)))
    for chapter in chapters.values():
        _compare(chapter)
    return list(chapters.values())


def _compare(chapter: Chapter) -> None:
    """Metrics that need the runs of all algorithms of a setting and a seed."""
    compare = chapter.experiment.compare
    if compare is None:
        return
    together: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in chapter.rows:
        key = (row["seed"], *(row.get(part) for part in chapter.experiment.axes))
        together.setdefault(key, []).append(row)
    for rows in together.values():
        compare(rows)


def _by_run(frame: pl.DataFrame) -> dict[int, pl.DataFrame]:
    """The rows of each run."""
    if "run" not in frame.columns:
        return {}
    parts = frame.partition_by("run", as_dict=True, maintain_order=True)
    return {int(key[0]): part for key, part in parts.items()}


def _range(metric: Metric, values: Sequence[float]) -> dict[str, float | None]:
    """The possible range for `interval`; rounding may put a value a hair outside."""
    least = metric.least if metric.least is None or min(values) >= metric.least else None
    most = metric.most if metric.most is None or max(values) <= metric.most else None
    return {"least": least, "most": most}


