"""The evaluation of an algorithm: its runs, its numbers, and its answers to each criterion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bentpipe import _core
from bentpipe.evaluation import answers, report
from bentpipe.evaluation.chapter import Chapter, Extent, Setting, words
from bentpipe.evaluation.contenders import Contender, contenders
from bentpipe.evaluation.mixed import MIXED
from bentpipe.evaluation.multipath import MULTIPATH
from bentpipe.evaluation.network import capacity
from bentpipe.evaluation.observation import Observation
from bentpipe.evaluation.paths import AQM, PATHS, SATELLITE
from bentpipe.evaluation.single import SINGLE
from bentpipe.evaluation.suite import SUITE
from bentpipe.experiments.experiment import Experiment
from bentpipe.registry import unknown
from bentpipe.result import flow_frame, link_frame
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.kept import FOLDER, Row
from bentpipe.terminal.progress import State
from bentpipe.units import seconds

if TYPE_CHECKING:
    import polars as pl

    from bentpipe.sweeps.execution import Executor, Ran

CHAPTERS = (*SINGLE, *MIXED, AQM, *PATHS, *MULTIPATH, SATELLITE, *SUITE)
"""All chapters, in their order."""


class Planned(NamedTuple):
    """A run: its chapter, its setting, and its algorithm (or the name of a control)."""

    chapter: Chapter
    setting: Setting
    seed: int
    contender: Contender | str

    @property
    def label(self) -> str:
        """The label of its rows."""
        return self.contender if isinstance(self.contender, str) else self.contender.label

    def case(self) -> Case:
        """The run itself."""
        chapter, setting, seed, contender = self
        if isinstance(contender, str):
            scenario = chapter.controls[contender](setting, seed)
        else:
            scenario = chapter.build(setting, contender.cc, seed)
        keys = {"experiment": chapter.name, "algorithm": self.label, "setting": words(setting)}
        traced = chapter.traced or chapter.course is not None
        return Case(keys, scenario.to_dict(), traced, settings=setting, controllers=scenario.controllers())


class Evaluation(Experiment):
    """The evaluation of an algorithm beside the standard ones.

    Arguments are those of `evaluate`, and the chapters that there are. It runs nothing before `run`.

    Attributes:
        contenders: the algorithm under evaluation, then the standard ones.
        subject, label: the first of them, and its display name.
        standards: the names of the others.
        extent: "quick" or "full".
        chapters: an experiment each.
        stopped: whether the user stopped it before all runs were made.

    Raises:
        ScenarioError: there is no such algorithm or experiment.
    """

    name = "rfc9743"

    def __init__(
        self,
        algorithm: Any,
        only: Iterable[str] | None = None,
        *,
        chapters: Sequence[Chapter] = CHAPTERS,
        out: Path | None = None,
        quick: bool = False,
        fresh: bool = False,
    ) -> None:
        super().__init__(out or Path(), quick=quick, fresh=fresh)
        self.contenders = contenders(algorithm)
        labels = [contender.label for contender in self.contenders]
        self.subject, (self.label, *self.standards) = self.contenders[0], labels
        self.extent: Extent = "quick" if quick else "full"
        self.stopped, self._place = False, None if out is None else out / FOLDER / self.extent
        names = [chapter.name for chapter in chapters]
        wanted = names if only is None else list(only)
        for name in wanted:
            if name not in names:
                raise _core.ScenarioError(unknown("experiment", name, names))
        self.chapters = [chapter.of(labels) for chapter in chapters if chapter.name in wanted]

    def __repr__(self) -> str:
        return f"Evaluation({self.label}, {self.extent}: {len(self.chapters)} chapters, {self.runs} runs)"

    @property
    def runs(self) -> int:
        """The number of runs of algorithms."""
        return sum(len(c.rows.groups("algorithm", "seed", *c.axes)) for c in self.chapters)

    def chapter(self, name: str) -> Chapter | None:
        """The chapter of an experiment; None if it was not run."""
        return next((c for c in self.chapters if c.name == name), None)

    @cached_property
    def plan(self) -> list[Planned]:
        """All runs, the chapters one after the other; of each set-up and seed first those of algorithms."""
        return [
            Planned(chapter, setting, seed, who)
            for chapter in self.chapters
            for setting in chapter.settings(self.extent)
            for seed in range(1, chapter.seeds[self.extent] + 1)
            for who in chain[Contender | str](self.contenders, chapter.controls)
        ]

    def cases(self) -> Sequence[Case]:
        """All runs."""
        return _Cases(self.plan)

    def observed(self, case: Case, ran: Ran) -> Observation:
        """A run as its chapter sees it."""
        return Observation(
            setting=case.settings,
            seed=case.seed,
            seconds=seconds(case.scenario["duration"], "duration"),
            flows=flow_frame(ran.result["flows"]).to_dicts(),
            links=link_frame(ran.result["links"]).to_dicts(),
            trace=ran.trace,
            capacity=capacity(case.scenario["link"]) if case.keep_trace else (),
        )

    def measure(self, case: Case, result: Observation) -> Row:
        """The numbers of a run by parts of its setting, and its course if a chart shows it."""
        chapter = self._of(case)
        found = chapter.measure(result)
        parts = [({}, found)] if isinstance(found, Mapping) else found
        course = chapter.course(result) if chapter.course is not None and result.seed == 1 else None
        return {"rows": [{**more, **numbers} for more, numbers in parts], "course": course}

    def measured_by(self, case: Case) -> Callable[..., Any]:
        """The measure of its chapter."""
        return self._of(case).measure

    def named(self, case: Case) -> str:
        """The title of its chapter."""
        return self._of(case).title

    def _of(self, case: Case) -> Chapter:
        return next(c for c in self.chapters if c.name == case.keys["experiment"])

    def run(self, **lab: Any) -> list[Path]:
        """Makes the runs and keeps their numbers; writes nothing but the runs.

        `lab` are the workers, the progress and the executor, as for `evaluate`.
        """
        if self._place is not None:
            report.check_place(self.out)  # before the runs, which may be long
        made = self.make(self.cases(), self._place, fresh=self.fresh, **lab)
        self.stopped = made.stopped
        rows: dict[str, list[dict[str, Any]]] = {chapter.name: [] for chapter in self.chapters}
        for number, planned in enumerate(self.plan):
            chapter, setting, seed, contender = planned
            if number in made.failed:
                chapter.failed.append((planned.label, words(setting), made.failed[number]))
            elif number not in made.rows:
                chapter.missing += not isinstance(contender, str)
            else:
                head = {"algorithm": planned.label, "seed": seed, **setting}
                rows[chapter.name] += [{**head, **found} for found in made.rows[number]["rows"]]
                if (course := made.rows[number]["course"]) is not None:
                    chapter.courses.append((setting, planned.label, *course))
        for chapter in self.chapters:
            chapter.fill(rows[chapter.name])
        return []

    @cached_property
    def numbers(self) -> pl.DataFrame:
        """A row for each experiment, setting, algorithm and metric.

        Columns experiment, setting (in words), algorithm, metric, unit ("" for a plain number), mean, low and
        high of the 95 % interval in that unit (null for one run), and n, the number of runs.
        """
        return _frame(
            [
                (chapter.name, words(setting), label, name, metric.unit, *answers.scaled(of, metric).values())
                for chapter in self.chapters
                for setting in chapter.matching({})
                for name, metric in chapter.metrics.items()
                for label, of in chapter.intervals(name, setting).items()
            ],
            "experiment setting algorithm metric unit mean:f low:f high:f n:i",
        )

    @cached_property
    def rows(self) -> pl.DataFrame:
        """A row for each run, part of its setting, and metric.

        Columns experiment, setting (in words), algorithm, seed, metric, and value in its SI unit.
        """
        return _frame(
            [
                (chapter.name, setting, row["algorithm"], row["seed"], name, row[name])
                for chapter in self.chapters
                for row in chapter.rows
                for setting in [words({key: row[key] for key in chapter.axes if key in row})]
                for name in chapter.metrics
                if row.get(name) is not None
            ],
            "experiment setting algorithm seed:i metric value:f",
        )

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


class _Cases(Sequence[Case]):
    """The cases of runs, built when they are asked for: a scenario may have thousands of flows."""

    def __init__(self, plan: Sequence[Planned]) -> None:
        self._plan = plan
        self._case = lru_cache(4)(lambda number: plan[number].case())  # each is asked for more than once

    def __len__(self) -> int:
        return len(self._plan)

    def __getitem__(self, number: Any) -> Any:
        return self._case(number)


def _frame(rows: Sequence[tuple[Any, ...]], columns: str) -> pl.DataFrame:
    """A table of these columns, which are text but for those with ":f" or ":i"."""
    import polars as pl

    kinds = {"": pl.String, "f": pl.Float64, "i": pl.Int64}
    schema = {name: kinds[kind] for name, _, kind in (each.partition(":") for each in columns.split())}
    return pl.DataFrame(rows, schema=schema, orient="row")


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
    found = Evaluation(algorithm, only, out=place, quick=quick, fresh=fresh)
    found.run(workers=workers, progress=progress, executor=executor)
    if place is not None:
        found.write(place)
    return found
