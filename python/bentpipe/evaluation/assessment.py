"""The evaluation of an algorithm: its runs, its numbers, and its answers to each criterion."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import _core
from bentpipe.evaluation import answers, report
from bentpipe.evaluation.chapter import Chapter, words
from bentpipe.evaluation.experiment import Extent, SuiteExperiment
from bentpipe.evaluation.mixed import MIXED
from bentpipe.evaluation.multipath import MULTIPATH
from bentpipe.evaluation.paths import AQM, PATHS, SATELLITE
from bentpipe.evaluation.plan import Contender, contenders, plan, run_plan
from bentpipe.evaluation.single import SINGLE
from bentpipe.evaluation.suite import SUITE
from bentpipe.registry import unknown
from bentpipe.sweeps.kept import FOLDER
from bentpipe.terminal.progress import State

if TYPE_CHECKING:
    import polars as pl

    from bentpipe.sweeps.execution import Executor

EXPERIMENTS: tuple[SuiteExperiment, ...] = (*SINGLE, *MIXED, AQM, *PATHS, *MULTIPATH, SATELLITE, *SUITE)
"""All experiments, in the order of the chapters."""


class Evaluation:
    """The result of an evaluation.

    Attributes:
        contenders: the algorithm under evaluation, then the standard ones.
        extent: "quick" or "full".
        chapters: an experiment each.
        stopped: whether the user stopped it before all runs were made.
    """

    def __init__(
        self, all_: list[Contender], extent: Extent, chapters: list[Chapter], *, stopped: bool = False
    ) -> None:
        self.contenders, self.extent, self.chapters, self.stopped = all_, extent, chapters, stopped

    def __repr__(self) -> str:
        return f"Evaluation({self.label}, {self.extent}: {len(self.chapters)} chapters, {self.runs} runs)"

    @property
    def subject(self) -> Contender:
        """The algorithm under evaluation."""
        return self.contenders[0]

    @property
    def label(self) -> str:
        """Its display name."""
        return self.subject.label

    @property
    def standards(self) -> list[str]:
        """The names of the standard algorithms beside it."""
        return [contender.label for contender in self.contenders[1:]]

    @property
    def runs(self) -> int:
        """The number of runs of algorithms."""
        return sum(
            len({(r["algorithm"], r["seed"], *map(r.get, c.experiment.axes)) for r in c.rows})
            for c in self.chapters
        )

    def chapter(self, name: str) -> Chapter | None:
        """The chapter of an experiment; None if it was not run."""
        return next((c for c in self.chapters if c.experiment.name == name), None)

    @cached_property
    def numbers(self) -> pl.DataFrame:
        """A row for each experiment, setting, algorithm and metric.

        Columns experiment, setting (in words), algorithm, metric, unit ("" for a plain number), mean, low and
        high of the 95 % interval in that unit (null for one run), and n, the number of runs.
        """
        import polars as pl

        rows = [
            {
                "experiment": chapter.experiment.name,
                "setting": words(setting),
                "algorithm": label,
                "metric": name,
                "unit": metric.unit,
                **answers.scaled(found, metric),
            }
            for chapter in self.chapters
            for setting in chapter.settings
            for name, metric in chapter.experiment.metrics.items()
            for label in chapter.labels
            if (found := chapter.interval(name, label, setting)) is not None
        ]
        schema = {
            **dict.fromkeys(("experiment", "setting", "algorithm", "metric", "unit"), pl.String),
            **dict.fromkeys(("mean", "low", "high"), pl.Float64),
            "n": pl.Int64,
        }
        return pl.DataFrame(rows, schema=schema)

    @cached_property
    def rows(self) -> pl.DataFrame:
        """A row for each run, part of its setting, and metric.

        Columns experiment, setting (in words), algorithm, seed, metric, and value in its SI unit.
        """
        import polars as pl

        rows = [
            {
                "experiment": chapter.experiment.name,
                "setting": words({key: row[key] for key in chapter.experiment.axes if key in row}),
                "algorithm": row["algorithm"],
                "seed": row["seed"],
                "metric": name,
                "value": row[name],
            }
            for chapter in self.chapters
            for row in chapter.rows
            for name in chapter.experiment.metrics
            if row.get(name) is not None
        ]
        schema = {
            **dict.fromkeys(("experiment", "setting", "algorithm"), pl.String),
            "seed": pl.Int64,
            "metric": pl.String,
            "value": pl.Float64,
        }
        return pl.DataFrame(rows, schema=schema)

    @cached_property
    def answers(self) -> list[dict[str, Any]]:
        """The answer to each criterion (`bentpipe.evaluation.answers`)."""
        return answers.answers(self)

    def as_dict(self) -> dict[str, Any]:
        """The object of `bentpipe evaluate --json`."""
        return answers.as_dict(self)

    def write(self, directory: str | Path) -> Path:
        """Writes evaluation.html, evaluation.json, numbers.csv and runs.parquet; returns the page.

        Raises:
            ScenarioError: a file there does not belong to an evaluation.
            OSError: nothing can be written there.
        """
        return report.write(self, Path(directory))


def evaluate(
    algorithm: Any,
    *,
    quick: bool = False,
    only: Iterable[str] | None = None,
    out: str | Path | None = None,
    fresh: bool = False,
    workers: int = 0,
    progress: Callable[[State], None] | None = None,
    executor: Callable[[], Executor] | None = None,
) -> Evaluation:
    """Evaluates an algorithm beside CUBIC and Reno against RFC 9743 and the TCP evaluation suite.

    Every run of the algorithm has a run of CUBIC and one of Reno on the same links and with the same seed.
    If the user stops it (Ctrl-C), the evaluation has the runs that were done, and `stopped` is true. With
    `out` the same call then goes on from there, also after a kill.

    Args:
        algorithm: a registered name ("star"), one with parameters ("vegas path_change=reset"), a `Controller`
            subclass, or "FILE.py:CLASS".
        quick: fewer set-ups and seeds.
        only: names of experiments ("many-flows"); all of them by default.
        out: a directory for the page, the JSON and the numbers. Its folder `.runs` holds the finished runs.
        fresh: repeat the runs that are in `out`.
        workers: threads, or processes for a controller in Python; 0 for one per processor.
        progress: called with the state of progress.
        executor: makes the executor of the runs, in place of this machine.

    Raises:
        ScenarioError: there is no such algorithm or experiment; `out` holds something else.
        OSError: nothing can be written to `out`.
    """
    place = None if out is None else Path(out)
    found = assess(
        algorithm, quick=quick, only=only, place=place, fresh=fresh, workers=workers, progress=progress,
        executor=executor,
    )  # fmt: skip
    if place is not None:
        found.write(place)
    return found


def assess(
    algorithm: Any,
    *,
    quick: bool,
    only: Iterable[str] | None,
    place: Path | None,
    fresh: bool,
    workers: int,
    progress: Callable[[State], None] | None,
    executor: Callable[[], Executor] | None,
) -> Evaluation:
    """The evaluation as `evaluate` makes it; of `place` only the stored runs are read and written."""
    all_ = contenders(algorithm)
    chosen = _chosen(only)
    if place is not None:
        report.check_place(place)  # before the runs, which may be long
    extent: Extent = "quick" if quick else "full"
    chapters, stopped = run_plan(
        chosen, all_, plan(chosen, all_, extent), place=None if place is None else place / FOLDER / extent,
        fresh=fresh, workers=workers, progress=progress, executor=executor,
    )  # fmt: skip
    return Evaluation(all_, extent, chapters, stopped=stopped)


def _chosen(only: Iterable[str] | None) -> list[SuiteExperiment]:
    """The experiments of these names."""
    known = {experiment.name: experiment for experiment in EXPERIMENTS}
    wanted = list(known) if only is None else list(only)
    for name in wanted:
        if name not in known:
            raise _core.ScenarioError(unknown("experiment", name, list(known)))
    return [experiment for experiment in EXPERIMENTS if experiment.name in wanted]
