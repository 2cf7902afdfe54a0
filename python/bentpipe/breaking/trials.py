"""The runs of links with a goal: made once, in the order in which they are asked for, and kept on disk."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, Self

from bentpipe import _core
from bentpipe.breaking.conditions import Conditions, scenario
from bentpipe.breaking.goals import RunAnswer, SearchGoal
from bentpipe.breaking.observation import Trace, observe, traces
from bentpipe.controller import named_algorithm, parameters
from bentpipe.progress import State
from bentpipe.registry import find
from bentpipe.result import Result
from bentpipe.sweeps.case import Case, portable
from bentpipe.sweeps.engine import share_out
from bentpipe.sweeps.execution import Executor, Here, Processes, Ran, RunBatch, Threads, run_case
from bentpipe.sweeps.fingerprint import Fingerprints, code_version
from bentpipe.sweeps.kept import Kept

Tell = Callable[[State], None]


@dataclass(frozen=True)
class Algorithm:
    """An algorithm of a search.

    Attributes:
        text: as the caller named it, and as a scenario file has it.
        label: its name for people.
        cc: its value in a scenario that is run.
        queue: the kind of queue that it needs; None: any.
        own: the class, if it is a controller in Python.
    """

    text: Any
    label: str
    cc: Any
    queue: str | None = None
    own: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Any) -> Self:
        """The algorithm of a name, a name with parameters, a table, a class, or "FILE.py:CLASS".

        Raises:
            ScenarioError: there is no such algorithm.
        """
        cc = named_algorithm(given)
        if isinstance(cc, type):
            name = cc.__qualname__
            return cls(given, name, f"python:{name}", own={name: cc})
        entry = find(cc if isinstance(cc, str) else cc["name"])
        return cls(cc, " ".join([entry["label"], *parameters(cc)]), cc, entry["queue"])


@dataclass(frozen=True)
class Pair:
    """A goal, the algorithm that it is about, the yardstick, and the profile of both (None: the default)."""

    goal: SearchGoal
    subject: Algorithm
    yardstick: Algorithm
    profile: str | None = None

    def scenario(self, on: Conditions, seed: int) -> dict[str, Any]:
        """The scenario of a link, as it is run."""
        seconds = {"none": None, "same": self.subject, "yardstick": self.yardstick}[self.goal.second]
        second, queue = seconds and seconds.cc, self.subject.queue
        return scenario(on, self.subject.cc, seed, second=second, queue=queue, profile=self.profile)

    def measured(self, scenario: Mapping[str, Any], rows: Mapping[str, Any]) -> RunAnswer | None:
        """The answer from the rows of its runs; None if one failed, or if the link is not usable."""
        if None in rows.values() or not self.goal.usable(scenario, rows):
            return None
        return self.goal.measure(scenario, rows)


def traced(pair: Pair, scenario: Mapping[str, Any]) -> tuple[dict[str, dict[str, Trace]], dict[str, Result]]:
    """The traces of the flows of each run of a link by its role, and its result, which has its links.

    Args:
        pair: the goal, the algorithm and the yardstick.
        scenario: that of the algorithm.

    Raises:
        ControllerError: a run failed.
    """
    found, results = {}, {}
    own = {**pair.subject.own, **pair.yardstick.own}
    linked = {**scenario, "record": {**scenario["record"], "links": True}}
    for role, each in pair.goal.scenarios(linked, pair.yardstick.cc).items():
        ran = run_case(0, Case({}, each, controllers=own))
        if ran.raw is None:
            raise _core.ControllerError(str(ran.error))
        found[role] = traces(ran)
        results[role] = Result(ran.raw)
    return found, results


class SearchRuns:
    """The runs of a search; as a context, no other process uses the folder meanwhile.

    Args:
        pair: what is measured.
        place: the folder in which rows are kept; None: they stay in memory.
        fresh: forget the rows that are there.
        workers: threads, or processes for controllers in Python; 0: one per processor. The results do not
            depend on it.
        executor: makes the executor of the runs, in place of this machine.

    Attributes:
        runs: the simulations that were asked for so far, those that were there already included.
        made: the simulations that were made.
        failed: the error of the first run that failed, if any did.
        warnings: lines about stored runs that could not be used.
    """

    def __init__(
        self,
        pair: Pair,
        place: Path | None = None,
        *,
        fresh: bool = False,
        workers: int = 0,
        executor: Callable[[], Executor] | None = None,
    ) -> None:
        self.pair = pair
        self.runs = self.made = 0
        self.failed = ""
        self.warnings: Sequence[str] = ()
        self._kept = None if place is None else Kept(place)
        self._fresh = fresh
        self._workers, self._executor = workers, executor
        self._rows: dict[str, Any] = {}
        self._code, self._fingerprints = "" if place is None else code_version(observe), Fingerprints()
        self._own = {**pair.subject.own, **pair.yardstick.own}
        self._held = ExitStack()
        self._runs: Executor | None = None
        #: Whether runs are made in other processes, from which their traces come as frames.
        self._far = False

    def __enter__(self) -> Self:
        """Raises ScenarioError if another process uses the folder, OSError if it cannot be made."""
        if self._kept is not None:
            self._held.enter_context(self._kept)
            if self._fresh:
                self._kept.clear()
            self._rows = dict(self._kept.rows())
            self.warnings = self._kept.warnings
        self._runs = self._make()
        self._held.callback(self._runs.stop)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._kept is not None and kind is None:
            self._kept.finish()
        self._held.close()

    def measure(self, links: Sequence[tuple[Conditions, int]]) -> list[RunAnswer | None]:
        """The answers for links with seeds; None as for `Pair.measured`.

        Raises:
            OSError: a row cannot be written.
        """
        return self.measure_scenarios([self.pair.scenario(on, seed) for on, seed in links])

    def measure_scenarios(self, wanted: Sequence[dict[str, Any]]) -> list[RunAnswer | None]:
        """The answers for scenarios of the algorithm, as `measure` makes them of links.

        Raises:
            OSError: a row cannot be written.
        """
        keys: list[dict[str, str]] = []
        missing: dict[str, Case] = {}
        for one in wanted:
            mine = {}
            for role, of in self.pair.goal.scenarios(one, self.pair.yardstick.cc).items():
                mine[role] = key = self._key(of)
                if key not in self._rows:
                    missing[key] = Case({}, of, keep_trace=self._far, controllers=self._own)
            self.runs += len(mine)
            keys.append(mine)
        self._run(missing)
        return [
            self.pair.measured(one, {role: self._rows[key] for role, key in mine.items()})
            for one, mine in zip(wanted, keys, strict=True)
        ]

    def _key(self, scenario: dict[str, Any]) -> str:
        """The key of a run, whatever its executor; in memory its scenario will do."""
        if self._kept is None:
            return json.dumps(scenario)
        return self._fingerprints.case(Case({}, scenario, controllers=self._own), self._code)

    def _run(self, missing: Mapping[str, Case]) -> None:
        assert self._runs is not None, "used as a context"
        names, cases = list(missing), list(missing.values())
        batches = (RunBatch([i], [case]) for i, case in enumerate(cases))
        for over in share_out(self._runs, batches):
            for ran in over:
                self._take(names[ran.number], cases[ran.number], ran)

    def _take(self, key: str, case: Case, ran: Ran) -> None:
        self.made += 1
        found = {} if ran.error is not None else traces(ran)
        if not found:
            self.failed = self.failed or str(ran.error)
            self._rows[key] = None
            return
        self._rows[key] = row = observe(case.scenario, ran.result, found)
        ran.trace = None
        # A change of a controller without a source could not be noticed.
        if self._kept is not None and all(map(self._fingerprints.controllers.get, case.controllers)):
            self._kept.take(key, row, ran)

    def _make(self) -> Executor:
        self._far = True
        if self._executor is not None:
            return self._executor()
        if not self._own:
            self._far = False
            return Threads(self._workers)
        return Processes(self._workers) if all(map(portable, self._own.values())) else Here()


class Reporter:
    """Reports the progress of a search.

    Args:
        tell: called with the state; None: nobody listens.
        trials: the runs.
    """

    def __init__(self, tell: Tell | None, trials: SearchRuns) -> None:
        self._tell, self._trials = tell, trials
        self._began = time.monotonic()

    def at(self, what: str, share: float | None = None) -> None:
        """The current work, and the share of it that is done, if that is known."""
        if self._tell is None:
            return
        runs, elapsed = self._trials.runs, time.monotonic() - self._began
        total = round(runs / share) if share else 0
        left = elapsed * (1 - share) / share if share else None
        self._tell(
            State(
                runs, max(total, runs), 0, elapsed, left, runs - self._trials.made,
                running=[what], warnings=self._trials.warnings,
            )
        )  # fmt: skip


def refuse(trials: SearchRuns) -> NoReturn:
    """Says why there is no answer.

    Raises:
        ControllerError: the algorithm failed.
        ScenarioError: no link was usable.
    """
    if trials.failed:
        raise _core.ControllerError(f"{trials.pair.subject.label} failed: {trials.failed}")
    raise _core.ScenarioError(
        f"{trials.pair.yardstick.label} gets nearly nothing on any link that was tried; give other bounds"
    )
