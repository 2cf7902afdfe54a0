"""Scenarios of the benchmark, and the targets of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bentpipe import _core
from bentpipe.document.source import Source
from bentpipe.io.toml_tables import beside
from bentpipe.registry import SCENARIOS, unknown
from bentpipe.scenario import Scenario


@dataclass(frozen=True)
class BenchCase:
    """One scenario of the benchmark.

    Args:
        title: a short description.
        file: the scenario, from scenarios/bench on.
        changes: values that differ from the file's, key and value.
        quick: duration that a quick benchmark simulates instead.
        runs: how many runs with consecutive seeds make one measurement, all in one process here.
        quick_runs: how many in a quick benchmark.
        ns2: whether ns-2 runs it as well.
        whole: whether a measurement of Bentpipe counts the process from its start, not the call alone.
        setup: whether the time that ns-2 takes to build the scenario counts.
        ns3: the duration that ns-3 simulates of its first run, if it does. Its cost per packet grows with the
            window, so a long run would take hours.
        ns2_of: the case whose run of ns-2 this one is compared with, if it has none of its own.
        against: the case whose cost per packet this one's is compared with, if any.
        must: the ratio that is asked for: to ns-2 at least, to the case `against` at most.
        aim: the ratio that is wished for, likewise.
        must_ns: the nanoseconds of CPU time for a packet that are asked for, at most.
        in_page: whether the module of the page runs it, by node.
    """

    title: str
    file: str
    changes: Sequence[Sequence[str]] = ()
    quick: str = "20 s"
    runs: int = 1
    quick_runs: int = 1
    ns2: bool = True
    whole: bool = False
    setup: bool = True
    ns3: str | None = None
    ns2_of: str | None = None
    against: str | None = None
    must: float | None = None
    aim: float | None = None
    must_ns: float | None = None
    in_page: bool = False

    @property
    def path(self) -> Path:
        """The file of the scenario."""
        return SCENARIOS / "bench" / f"{self.file}.toml"

    def changed(self, *, quick: bool) -> list[list[tuple[str, str]]]:
        """The changes of each run of one measurement."""
        pairs = [(key, value) for key, value in self.changes]
        pairs += [("duration", self.quick)] if quick else []
        runs = self.quick_runs if quick else self.runs
        return [[*pairs, ("seed", f"{seed}")] for seed in range(1, runs + 1)]

    def scenarios(self, *, quick: bool) -> list[Scenario]:
        """The runs of one measurement."""
        source = Source(self.path)
        return [Scenario.from_dict(source.load(pairs)) for pairs in self.changed(quick=quick)]

    def what(self, scenarios: Sequence[Scenario]) -> str:
        """The title with how long is simulated, and how often."""
        runs = f", {len(scenarios)} runs of" if len(scenarios) > 1 else ","
        return f"{self.title}{runs} {scenarios[0].duration}"


CASES: Mapping[str, BenchCase] = {
    name: BenchCase(**case) for name, case in beside(__file__, "cases.toml").items()
}
"""The scenarios by their names, in the order of the runs: cases that are compared are adjacent."""


def chosen(names: Sequence[str]) -> dict[str, BenchCase]:
    """The cases of these names and those that they are compared with.

    A letter selects all its variants, b10 and h-bbr. No name at all selects every case but those of the page,
    which need its module.

    Raises:
        ScenarioError: there is no such case.
    """
    if not names:
        return {key: case for key, case in CASES.items() if not case.in_page}
    wanted: set[str] = set()
    for name in names:
        found = [key for key in CASES if key == name or _is_variant(key, name)]
        if not found:
            raise _core.ScenarioError(unknown("benchmark", name, list(CASES)))
        wanted.update(found)
        wanted.update(base for key in found for base in (CASES[key].ns2_of, CASES[key].against) if base)
    return {key: case for key, case in CASES.items() if key in wanted}


def _is_variant(key: str, letter: str) -> bool:
    return len(letter) == 1 and key[:1] == letter and (key[1:].isdigit() or key[1:2] == "-")
