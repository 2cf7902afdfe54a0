"""The algorithms of an evaluation, and its runs: their list, and the data kept from each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from bentpipe import _core
from bentpipe.controller import check_controller, named_algorithm
from bentpipe.evaluation.chapter import Chapter, words
from bentpipe.evaluation.experiment import Extent, SuiteExperiment
from bentpipe.evaluation.network import capacity
from bentpipe.evaluation.observation import Observation
from bentpipe.registry import find
from bentpipe.result import flow_frame, link_frame
from bentpipe.sweeps import vary
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.execution import Executor, Ran
from bentpipe.sweeps.fingerprint import RowKeys
from bentpipe.sweeps.kept import Row
from bentpipe.sweeps.lab import Lab, Made
from bentpipe.terminal.progress import State
from bentpipe.units import seconds

STANDARDS = ("cubic", "reno")
"""The algorithms whose numbers are shown beside those of every other one: RFC 9438 and RFC 5681."""


@dataclass(frozen=True)
class Contender:
    """An algorithm of an evaluation: the one under evaluation, or a standard one.

    Args:
        label: its display name, unique in the evaluation.
        cc: its value for `Flow.cc`.
        id: its registered name with its parameters, or the name of its class.
    """

    label: str
    cc: Any
    id: str

    @property
    def style(self) -> str:
        """By which name figures know it (`plot.looks.look`)."""
        return self.id.split()[0]


def contenders(algorithm: Any) -> list[Contender]:
    """The algorithm, and then the standard ones that it is not.

    Args:
        algorithm: a registered name, one with parameters, a class, or "FILE.py:CLASS".

    Raises:
        ScenarioError: there is no such algorithm.
    """
    subject = _subject(named_algorithm(algorithm))
    standards = [Contender(find(name)["label"], name, name) for name in STANDARDS if name != subject.id]
    if subject.label in [standard.label for standard in standards]:
        subject = Contender(f"{subject.label} (own)", subject.cc, subject.id)
    return [subject, *standards]


def _subject(cc: Any) -> Contender:
    if isinstance(cc, type):
        check_controller(cc, cc.__qualname__)
        return Contender(cc.__name__, cc, cc.__name__)
    if isinstance(cc, str) or (isinstance(cc, Mapping) and "name" in cc):
        name, *given = vary.words(cc).split(" ")
        return Contender(" ".join([find(name)["label"], *given]), cc, vary.words(cc))
    raise _core.ScenarioError(f"cc: {cc!r} is no algorithm; give a name, a class or FILE.py:CLASS")


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


def plan(experiments: Sequence[SuiteExperiment], all_: Sequence[Contender], extent: Extent) -> list[Planned]:
    """All runs, the chapters one after the other; of each set-up and seed first those of all algorithms."""
    planned = []
    for number, experiment in enumerate(experiments):
        everyone: list[Contender | str] = [*all_, *experiment.controls]
        for setting in experiment.settings(extent):
            for seed in range(1, experiment.seeds[extent] + 1):
                planned += [Planned(number, setting, seed, who) for who in everyone]
    return planned


def run_plan(
    experiments: Sequence[SuiteExperiment],
    all_: Sequence[Contender],
    runs: Sequence[Planned],
    *,
    place: Path | None = None,
    fresh: bool = False,
    workers: int = 0,
    progress: Callable[[State], None] | None = None,
    executor: Callable[[], Executor] | None = None,
) -> tuple[list[Chapter], bool]:
    """Makes the runs and keeps their numbers.

    Args:
        experiments: the chapters.
        all_: the algorithms.
        runs: the runs of `plan`.
        place: the folder of the numbers; runs that are there are not made again. None: they stay in memory.
        fresh: forget the runs that are in `place`.
        workers: as for `evaluate`.
        progress: called with the state of progress.
        executor: as for `evaluate`.

    Returns:
        A chapter for each experiment, and whether the user stopped it.
    """
    cases, titles = _Cases(experiments, runs), {one.name: one.title for one in experiments}
    keys = {one.name: RowKeys(_measured, one.measure) for one in experiments}

    def key(number: int) -> str:
        case = cases[number]
        return keys[str(case.keys["experiment"])].case(case)

    def measure(case: Case, ran: Ran) -> Row:
        planned = runs[ran.number]
        return _measured(experiments[planned.chapter], planned, case, ran)

    with Lab(place, workers=workers, executor=executor, progress=progress, fresh=fresh) as lab:
        made = lab.rows(cases, measure, key=key, named=lambda case: titles[str(case.keys["experiment"])])
        if not made.stopped:
            lab.prune()
    chapters = [Chapter(experiment, [contender.label for contender in all_]) for experiment in experiments]
    _fill(chapters, runs, made)
    return chapters, made.stopped


class _Cases(Sequence[Case]):
    """The cases of runs, built when they are asked for: a scenario may have thousands of flows."""

    def __init__(self, experiments: Sequence[SuiteExperiment], runs: Sequence[Planned]) -> None:
        self._experiments, self._runs = experiments, runs
        # All algorithms of a set-up and a seed have one scenario, and a case is asked for more than once.
        self._shared = lru_cache(1)(self._build)
        self._case = lru_cache(4)(self._make)

    def __len__(self) -> int:
        return len(self._runs)

    def __getitem__(self, number: Any) -> Any:
        """The case of a number; no one asks for several."""
        return self._case(number)

    def _build(self, chapter: int, setting: tuple[tuple[str, Any], ...], seed: int) -> dict[str, Any]:
        return self._experiments[chapter].build(dict(setting), _ANY, seed).to_dict()

    def _make(self, number: int) -> Case:
        planned = self._runs[number]
        experiment = self._experiments[planned.chapter]
        controllers: dict[str, Any] = {}
        if isinstance(planned.contender, str):
            table = experiment.controls[planned.contender](planned.setting, planned.seed).to_dict()
        else:
            shared = self._shared(planned.chapter, tuple(planned.setting.items()), planned.seed)
            table, controllers = _with(shared, planned.contender.cc)
        keys = {"experiment": experiment.name, "algorithm": planned.label, "setting": words(planned.setting)}
        return Case(keys, table, keep_trace=experiment.keeps_trace, controllers=controllers)


_ANY = {"name": "the algorithm"}
"""Placeholder for the algorithm in a scenario that all algorithms share."""


def _with(table: Mapping[str, Any], cc: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A scenario with this algorithm, and the controller that goes with it if it is written in Python."""
    name, controllers = (f"python:{cc.__name__}", {cc.__name__: cc}) if isinstance(cc, type) else (cc, {})
    flows = [{**flow, "cc": name} if flow.get("cc") == _ANY else flow for flow in table["flow"]]
    return {**table, "flow": flows}, controllers


def _measured(experiment: SuiteExperiment, planned: Planned, case: Case, ran: Ran) -> Row:
    """The numbers of a run by parts of its setting, and its course if a chart shows it."""
    result = ran.result
    run = Observation(
        setting=planned.setting,
        seed=planned.seed,
        seconds=seconds(case.scenario["duration"], "duration"),
        flows=flow_frame(result["flows"]).to_dicts(),
        links=link_frame(result["links"]).to_dicts(),
        trace=ran.trace,
        capacity=capacity(case.scenario["link"]) if case.keep_trace else (),
    )
    found = experiment.measure(run)
    parts = [({}, found)] if isinstance(found, Mapping) else found
    rows = [{**more, **numbers} for more, numbers in parts]
    drawn = experiment.course is not None and planned.seed == 1
    return {"rows": rows, "course": experiment.course(run) if experiment.course and drawn else None}


def _fill(chapters: Sequence[Chapter], runs: Sequence[Planned], made: Made) -> None:
    """Puts the numbers of runs into their chapters, in the order of the plan."""
    #: By chapter, seed and setting: the rows of the controls.
    controls: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = {}

    def key(number: int, row: Mapping[str, Any]) -> tuple[Any, ...]:
        return (number, row["seed"], *(row.get(part) for part in chapters[number].experiment.axes))

    for number, planned in enumerate(runs):
        chapter, who = chapters[planned.chapter], planned.contender
        if number in made.failed:
            chapter.failed.append((planned.label, words(planned.setting), made.failed[number]))
        elif number not in made.rows:
            chapter.missing += not isinstance(who, str)
        else:
            for found in made.rows[number]["rows"]:
                row = {"algorithm": planned.label, "seed": planned.seed, **planned.setting, **found}
                if isinstance(who, str):
                    controls.setdefault(key(planned.chapter, row), {})[who] = row
                else:
                    chapter.rows.append(row)
            if (course := made.rows[number]["course"]) is not None:
                chapter.courses.append((dict(planned.setting), planned.label, *course))
    for number, chapter in enumerate(chapters):
        if (compare := chapter.experiment.compare) is not None:  # metrics that need all runs of a seed
            together: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
            for row in chapter.rows:
                together.setdefault(key(number, row), []).append(row)
            for place, rows in together.items():
                compare(rows, controls.get(place, {}))
