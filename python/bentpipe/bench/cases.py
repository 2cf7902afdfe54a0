"""Scenarios of the benchmark, and the targets of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bentpipe import _core
from bentpipe.registry import SCENARIOS, unknown
from bentpipe.scenario import Scenario

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Case:
    """One scenario of the benchmark.

    Args:
        title: a short description.
        file: the scenario, in scenarios/bench.
        changes: values that differ from the file's, key and value.
        quick: duration that a quick benchmark simulates instead.
        runs: how many runs with consecutive seeds make one measurement, all in one process here.
        quick_runs: how many in a quick benchmark.
        ns2: whether ns-2 runs it as well.
        whole: whether a measurement of Bentpipe counts the process from its start, not the call alone.
        setup: whether the time that ns-2 takes to build the scenario counts.
        ns2_of: the case whose run of ns-2 this one is compared with, if it has none of its own.
        against: the case whose cost per packet this one's is compared with, if any.
        must: the ratio that is asked for: to ns-2 at least, to the case `against` at most.
        aim: the ratio that is wished for, likewise.
    """

    title: str
    file: str
    changes: Pairs = ()
    quick: str = "20 s"
    runs: int = 1
    quick_runs: int = 1
    ns2: bool = True
    whole: bool = False
    setup: bool = True
    ns2_of: str | None = None
    against: str | None = None
    must: float | None = None
    aim: float | None = None

    def scenarios(self, *, quick: bool) -> list[Scenario]:
        """The runs of one measurement."""
        pairs = [*self.changes, *([("duration", self.quick)] if quick else [])]
        path = str(SCENARIOS / "bench" / f"{self.file}.toml")
        runs = self.quick_runs if quick else self.runs
        return [
            Scenario.from_json(_core.load(path, [*pairs, ("seed", f"{seed}")])) for seed in range(1, runs + 1)
        ]

    def what(self, scenarios: Sequence[Scenario]) -> str:
        """The title with how long is simulated, and how often."""
        runs = f", {len(scenarios)} runs of" if len(scenarios) > 1 else ","
        return f"{self.title}{runs} {scenarios[0].duration}"


def _count(flows: int) -> tuple[str, str]:
    return ("flow.0.count", f"{flows}")


def _recorded(what: str, more: Pairs, must: float | None) -> Case:
    return Case(
        f"a, {what}",
        "a",
        (("record.flows", "true"), *more),
        quick="60 s",
        ns2=False,
        against="a",
        must=must,
    )


def _controller(label: str, name: str) -> Case:
    return Case(
        f"a with {label} instead of Reno",
        "a",
        (("flow.0.cc", name),),
        quick="60 s",
        ns2=False,
        ns2_of="a",
        must=8,
        aim=12,
    )


def _moving(often: str, file: str, must: float) -> Case:
    return Case(
        f"a, rate and delay change {often}",
        "a",
        (("link.core.timeline", f'{{ file = "{file}", repeat = true }}'),),
        quick="60 s",
        ns2=False,
        against="a",
        must=must,
    )


CASES: Mapping[str, Case] = {
    "a": Case("1 SACK flow, 100 Mbit/s, RTT 500 ms", "a", quick="60 s", must=10, aim=20),
    "g": _recorded("every change of the window recorded", (), must=1.3),
    "g-links": _recorded(
        "windows and queues recorded every 10 ms",
        (("record.links", "true"), ("record.interval", "10 ms")),
        must=1.3,
    ),
    "g-segments": _recorded("every segment recorded as well", (("record.segments", "true"),), must=None),
    "h-cubic": _controller("CUBIC", "cubic"),
    "h-bbr": _controller("BBR", "bbr"),
    "h-star": _controller("TCP-STAR", "star"),
    "h-a-liad": _controller("A-LIAD", "a-liad"),
    "h-simd": _controller("SIMD", "simd"),
    "i-1s": _moving("every second", "line-1s.csv", 2.5),
    "i-10ms": _moving("every 10 ms", "line-10ms.csv", 4),
    "b10": Case("10 SACK flows, 1 Gbit/s, RTT 500 ms", "b100", (_count(10),), setup=False, must=10, aim=20),
    "b100": Case("100 SACK flows, 1 Gbit/s, RTT 500 ms", "b100", setup=False, must=10, aim=20),
    "b1000": Case(
        "1000 SACK flows, 1 Gbit/s, RTT 500 ms",
        "b100",
        (_count(1000), ("duration", "20 s")),
        quick="8 s",
        setup=False,
        must=10,
        aim=20,
    ),
    "b10000": Case(
        "10,000 SACK flows, 1 Gbit/s, RTT 500 ms",
        "b100",
        (_count(10_000), ("duration", "20 s")),
        quick="5 s",
        setup=False,
        must=10,
        aim=20,
    ),
    "c": Case("100 SACK flows, RTT 20 to 600 ms, PER 1e-3, 1 Gbit/s", "c", quick="10 s", must=8, aim=12),
    "d": Case("32 flows, RED with ECN, 60 Mbit/s, RTT 100 ms", "d", quick="40 s", must=8, aim=12),
    "e": Case(
        "1 SACK flow, 10 Mbit/s, RTT 500 ms, start-up counted",
        "e",
        quick="100 s",
        runs=200,
        quick_runs=20,
        whole=True,
        must=10,
        aim=20,
    ),
    "f": Case("a chain of 5 links, 10 flows through and 10 across each", "f", must=8, aim=12),
}
"""The scenarios by their names, in the order of the runs: cases that are compared are adjacent."""

GROWTH = ("b10000", "b100", 5.0, 3.0)
"""The cost per packet of the first case as a multiple of the second's: the limit, and the target."""


def chosen(names: Sequence[str]) -> dict[str, Case]:
    """The cases of these names and those that they are compared with.

    A letter selects all names that begin with it; no name at all selects every case.

    Raises:
        ScenarioError: there is no such case.
    """
    if not names:
        return dict(CASES)
    wanted: set[str] = set()
    for name in names:
        found = [key for key in CASES if key == name or (len(name) == 1 and key.startswith(name))]
        if not found:
            raise _core.ScenarioError(unknown("benchmark", name, list(CASES)))
        wanted.update(found)
        wanted.update(base for key in found for base in (CASES[key].ns2_of, CASES[key].against) if base)
    return {key: case for key, case in CASES.items() if key in wanted}
