"""The runs of an evaluation: their list, and the data kept from each."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bentpipe.evaluation.chapter import Chapter, words
from bentpipe.evaluation.contenders import Contender
from bentpipe.evaluation.experiment import Experiment, Extent
from bentpipe.evaluation.network import capacity
from bentpipe.evaluation.observation import Observation
from bentpipe.progress import State
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.engine import Interrupted, Runs, run_cases
from bentpipe.units import seconds

if TYPE_CHECKING:
    import polars as pl

TOGETHER, FLOWS_TOGETHER = 600, 6000
"""Runs that are in memory at once, and about how many flows in all of them."""


@dataclass(frozen=True)
class Planned:
    """A run: the place of its experiment, its setting, and its algorithm (or the name of a control)."""

    chapter: int
    setting: Mapping[str, Any]
    seed: int
    contender: Contender | str

    @property
    def label(self) -> str:
        """The label of its rows."""
        return self.contender if isinstance(self.contender, str) else self.contender.label


def plan(experiments: Sequence[Experiment], all_: Sequence[Contender], extent: Extent) -> list[Planned]:
    """All runs, the chapters one after the other; of each set-up and seed first those of all algorithms."""
    planned = []
    for number, experiment in enumerate(experiments):
        everyone: list[Contender | str] = [*all_, *experiment.controls]
        for setting in experiment.settings(extent):
            for seed in range(1, experiment.seeds[extent] + 1):
                planned += [Planned(number, setting, seed, who) for who in everyone]
    return planned


def run_plan(
    experiments: Sequence[Experiment],
    all_: Sequence[Contender],
    runs: Sequence[Planned],
    *,
    workers: int = 0,
    progress: Callable[[State], None] | None = None,
) -> tuple[list[Chapter], bool]:
    """Makes the runs and keeps their numbers.

    Returns:
        A chapter for each experiment, and whether the user stopped it.
    """
    labels = [contender.label for contender in all_]
    chapters = [Chapter(experiment, labels) for experiment in experiments]
    kept = _Kept(chapters)
    watch = _Watch(len(runs), progress)
    watch.tell(0, 0, runs[0] if runs else None, chapters)
    over, stopped = 0, False
    try:
        while over < len(runs):
            cases = _some(runs[over:], experiments)
            some = runs[over : over + len(cases)]

            def tell(state: State, over: int = over, some: Sequence[Planned] = some) -> None:
                watch.tell(over + state.done, state.failed, some[min(state.done, len(some) - 1)], chapters)

            done = run_cases(cases, workers=workers, progress=tell)
            over += len(cases)
            watch.failed_before += done.failed.height
            kept.take(some, cases, done)
    except KeyboardInterrupt as stop:
        stopped = True
        if isinstance(stop, Interrupted) and stop.runs is not None:
            over += len(cases)
            kept.take(some, cases, stop.runs)
        kept.missing(runs[over:])
    kept.compare()
    return chapters, stopped


def _some(runs: Sequence[Planned], experiments: Sequence[Experiment]) -> list[Case]:
    """The first of these runs, as many as may be in memory together."""
    cases: list[Case] = []
    flows = 0
    built: tuple[object, dict[str, Any]] = (None, {})
    for planned in runs:
        experiment = experiments[planned.chapter]
        if isinstance(planned.contender, str):
            table = experiment.controls[planned.contender](planned.setting, planned.seed).to_dict()
            controllers: dict[str, Any] = {}
        else:
            # All algorithms of a set-up and a seed have the same scenario, which may have thousands of flows.
            which = (planned.chapter, planned.seed, planned.setting)
            if built[0] != which:
                built = which, experiment.build(planned.setting, _ANY, planned.seed).to_dict()
            table, controllers = _with(built[1], planned.contender.cc)
        keys = {"experiment": experiment.name, "algorithm": planned.label, "setting": words(planned.setting)}
        cases.append(Case(keys, table, keep_trace=experiment.keeps_trace, controllers=controllers))
        flows += len(table["flow"])
        if len(cases) == TOGETHER or flows >= FLOWS_TOGETHER:
            break
    return cases


_ANY = {"name": "the algorithm"}
"""Placeholder for the algorithm in a scenario that all algorithms share."""


def _with(table: Mapping[str, Any], cc: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A scenario with this algorithm, and the controller that goes with it if it is written in Python."""
    name, controllers = (f"python:{cc.__name__}", {cc.__name__: cc}) if isinstance(cc, type) else (cc, {})
    flows = [{**flow, "cc": name} if flow.get("cc") == _ANY else flow for flow in table["flow"]]
    return {**table, "flow": flows}, controllers


class _Kept:
    """Puts the numbers of runs into their chapters."""

    def __init__(self, chapters: Sequence[Chapter]) -> None:
        self._chapters = chapters
        #: By chapter, seed and setting: the rows of the controls.
        self._controls: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = {}

    def take(self, some: Sequence[Planned], cases: Sequence[Case], runs: Runs) -> None:
        """The numbers of these runs; those that were not made are missing."""
        errors = {row["run"]: str(row["error"]) for row in runs.failed.to_dicts()}
        flows, links, traces = (_by_run(frame) for frame in (runs.flows, runs.links, runs.traces))
        for number, (planned, case) in enumerate(zip(some, cases, strict=True)):
            chapter = self._chapters[planned.chapter]
            if number in errors:
                chapter.failed.append((planned.label, words(planned.setting), errors[number]))
            elif number not in links:
                self.missing([planned])
            else:
                run = Observation(
                    setting=planned.setting,
                    seed=planned.seed,
                    seconds=seconds(case.scenario["duration"], "duration"),
                    flows=flows[number].to_dicts() if number in flows else [],
                    links=links[number].to_dicts(),
                    trace=traces.get(number),
                    capacity=capacity(case.scenario["link"]) if case.keep_trace else (),
                )
                self._keep(chapter, planned, run)

    def missing(self, runs: Sequence[Planned]) -> None:
        """These runs of algorithms were not made."""
        for planned in runs:
            if not isinstance(planned.contender, str):
                self._chapters[planned.chapter].missing += 1

    def _keep(self, chapter: Chapter, planned: Planned, run: Observation) -> None:
        experiment, who = chapter.experiment, planned.contender
        for more, numbers in experiment.measure(run):
            row = {"algorithm": planned.label, "seed": planned.seed, **planned.setting, **more, **numbers}
            if isinstance(who, str):
                self._controls.setdefault(self._key(planned.chapter, row), {})[who] = row
            else:
                chapter.rows.append(row)
        if experiment.course is not None and planned.seed == 1:
            chapter.courses.append((dict(planned.setting), planned.label, *experiment.course(run)))

    def compare(self) -> None:
        """Metrics that need all runs of a setting and a seed."""
        for number, chapter in enumerate(self._chapters):
            compare = chapter.experiment.compare
            if compare is None:
                continue
            together: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
            for row in chapter.rows:
                together.setdefault(self._key(number, row), []).append(row)
            for key, rows in together.items():
                compare(rows, self._controls.get(key, {}))

    def _key(self, number: int, row: Mapping[str, Any]) -> tuple[Any, ...]:
        axes = self._chapters[number].experiment.axes
        return (number, row["seed"], *(row.get(part) for part in axes))


class _Watch:
    """Reports the progress of all runs, from the progress of a part of them."""

    def __init__(self, total: int, tell: Callable[[State], None] | None) -> None:
        self._total, self._tell, self._began = total, tell, time.monotonic()
        self.failed_before = 0

    def tell(self, done: int, failed: int, at: Planned | None, chapters: Sequence[Chapter]) -> None:
        """Takes the number of runs that are done."""
        if self._tell is None:
            return
        elapsed = time.monotonic() - self._began
        left = elapsed / done * (self._total - done) if done else None
        title = [chapters[at.chapter].experiment.title] if at is not None else []
        self._tell(State(done, self._total, self.failed_before + failed, elapsed, left, running=title))


def _by_run(frame: pl.DataFrame) -> Mapping[int, pl.DataFrame]:
    """The rows of each run."""
    if "run" not in frame.columns:
        return {}
    parts = frame.partition_by("run", as_dict=True, maintain_order=True)
    return {int(key[0]): part for key, part in parts.items()}
