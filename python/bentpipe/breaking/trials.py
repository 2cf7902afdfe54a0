"""The runs of links with a goal: made once, in the order in which they are asked for, and kept on disk."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, Self

from bentpipe import _core
from bentpipe.breaking.conditions import Conditions, scenario
from bentpipe.breaking.goals import RunAnswer, SearchGoal
from bentpipe.breaking.observation import Row, Trace, far, near, traces
from bentpipe.controller import named_algorithm, parameters
from bentpipe.registry import find
from bentpipe.result import Result
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.execution import run_case
from bentpipe.sweeps.fingerprint import RowKeys
from bentpipe.sweeps.lab import Lab
from bentpipe.terminal.progress import State

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
    """The runs of a search. Each is made once.

    Args:
        pair: what is measured.
        lab: makes the runs, and keeps them if it has a place.
        progress: called with the state of the search.

    Attributes:
        runs: the simulations that were asked for so far, those that were there already included.
        failed: the error of the first run that failed, if any did.
    """

    def __init__(self, pair: Pair, lab: Lab, progress: Tell | None = None) -> None:
        self.pair, self._lab, self._tell = pair, lab, progress
        self.runs, self.failed = 0, ""
        self._keys = RowKeys(near)
        self._own = {**pair.subject.own, **pair.yardstick.own}
        # A trace of another process comes as a frame, which would take longer here than a short run.
        self._far = far if self._own or lab.elsewhere else None
        #: The measures of a run by its scenario, as text; None if it failed.
        self._rows: dict[str, Row | None] = {}

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
        parts = [self.pair.goal.scenarios(one, self.pair.yardstick.cc) for one in wanted]
        texts = [{role: json.dumps(part) for role, part in mine.items()} for mine in parts]
        self.runs += sum(map(len, texts))
        missing = {
            text: Case({}, mine[role], controllers=self._own)
            for mine, named in zip(parts, texts, strict=True)
            for role, text in named.items()
            if text not in self._rows
        }
        cases = list(missing.values())
        made = self._lab.rows(
            cases,
            None if self._far else near,
            far=self._far,
            key=self._keys.of(cases),
        )
        if made.stopped:
            raise KeyboardInterrupt
        self._rows |= {text: made.rows.get(number) for number, text in enumerate(missing)}
        self.failed = self.failed or next(iter(made.failed.values()), "")
        return [
            self.pair.measured(one, {role: self._rows[text] for role, text in named.items()})
            for one, named in zip(wanted, texts, strict=True)
        ]

    def report(self, what: str, share: float | None = None) -> None:
        """Reports the current work, and the share of it that is done, if that is known."""
        if self._tell is None:
            return
        state, runs = self._lab.state(), self.runs
        total = max(round(runs / share) if share else 0, runs)
        left = state.elapsed_s * (1 - share) / share if share else None
        there = runs - self._lab.made
        self._tell(
            replace(
                state, done=runs, total=total, failed=0, remaining_s=left, taken_over=there, running=[what]
            )
        )

    def refuse(self) -> NoReturn:
        """Says why there is no answer.

        Raises:
            ControllerError: the algorithm failed.
            ScenarioError: no link was usable.
        """
        if self.failed:
            raise _core.ControllerError(f"{self.pair.subject.label} failed: {self.failed}")
        raise _core.ScenarioError(
            f"{self.pair.yardstick.label} gets nearly nothing on any link that was tried; give other bounds"
        )
