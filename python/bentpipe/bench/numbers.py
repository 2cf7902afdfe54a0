"""From timings to ratios. Ratios are taken within pairs, whose runs saw the same machine."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bentpipe.bench.cases import CASES, GROWTH, Case

SCHEMA = 1
"""Version of the form in which timings are stored."""


@dataclass(frozen=True)
class Spread:
    """Median, least and largest of some values."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """The spread of at least one value."""
        return cls(statistics.median(values), min(values), max(values))


@dataclass(frozen=True)
class Figures:
    """The results of the timings of one case.

    Attributes:
        here: data packets that Bentpipe delivers in order per CPU second.
        events: events of its engine per such packet; None where it does not count them.
        peak_bytes: most memory of its process, the median.
        ns2: packets per CPU second of ns-2 in this case, or in the one that `ns2_of` names; None without
            it. Its set-up counts where the case says so.
        ns2_setup_s: CPU seconds until ns-2 begins to simulate, the median.
        ns2_peak_bytes: most memory of its process, the median.
        ratio: of the two speeds; for a case that is compared with another, of the costs per packet.
    """

    here: Spread
    events: float | None
    peak_bytes: float | None
    ns2: Spread | None
    ns2_setup_s: float | None
    ns2_peak_bytes: float | None
    ratio: Spread | None


def _speed(run: dict[str, Any], *, setup: bool = True) -> float:
    return float(run["packets"] / (run["cpu_s"] - (0.0 if setup else run["setup_s"])))


def _median(runs: Sequence[dict[str, Any]], key: str) -> float | None:
    known = [run[key] for run in runs if run[key] is not None]
    return statistics.median(known) if known else None


def figures(stored: dict[str, Any]) -> dict[str, Figures]:
    """The results of every case of a stored benchmark.

    Raises:
        ValueError: it is of another version, or holds a case that is not known.
    """
    if stored.get("schema") != SCHEMA:
        raise ValueError(f"timings of schema {SCHEMA} are known, not {stored.get('schema')!r}")
    unknown = set(stored["cases"]) - set(CASES)
    if unknown:
        raise ValueError(f"no benchmark is called {sorted(unknown)[0]!r}")
    return {key: _figures(CASES[key], key, stored) for key in CASES if key in stored["cases"]}


def _figures(case: Case, key: str, stored: dict[str, Any]) -> Figures:
    ours = [pair["here"] for pair in stored["cases"][key]["pairs"]]
    witness = stored["cases"].get(case.ns2_of or key, {"pairs": []})
    theirs = [pair["ns2"] for pair in witness["pairs"] if pair["ns2"] is not None]
    ratio = None
    if case.against is not None and case.against in stored["cases"]:
        ratio = _costs(stored, key, case.against)
    elif len(theirs) == len(ours):
        both = zip(ours, theirs, strict=True)
        ratio = Spread.of([_speed(o) / _speed(t, setup=case.setup) for o, t in both])
    events = [run["events"] / run["packets"] for run in ours if run["events"] is not None]
    return Figures(
        here=Spread.of([_speed(run) for run in ours]),
        events=statistics.median(events) if events else None,
        peak_bytes=_median(ours, "peak_bytes"),
        ns2=Spread.of([_speed(run, setup=case.setup) for run in theirs]) if theirs else None,
        ns2_setup_s=_median(theirs, "setup_s"),
        ns2_peak_bytes=_median(theirs, "peak_bytes"),
        ratio=ratio,
    )


def _costs(stored: dict[str, Any], key: str, against: str) -> Spread:
    """CPU time per packet of one case as a multiple of another's, turn by turn."""
    turns = zip(stored["cases"][key]["pairs"], stored["cases"][against]["pairs"], strict=True)
    return Spread.of([_speed(base["here"]) / _speed(run["here"]) for run, base in turns])


def growth(stored: dict[str, Any]) -> Spread | None:
    """Cost per packet with very many flows as a multiple of that with a hundred; None if not measured."""
    many, few, _, _ = GROWTH
    if not {many, few} <= set(stored["cases"]):
        return None
    return _costs(stored, many, few)


def verdict(value: float, must: float | None, aim: float | None, *, least: bool) -> str:
    """The rating of a value against its targets: "aim", "must" or "miss"; empty without targets.

    Args:
        value: the measured value.
        must: the required value.
        aim: the desired value.
        least: whether these are lower bounds; otherwise they are upper bounds.
    """
    sign = 1.0 if least else -1.0
    for name, bound in (("aim", aim), ("must", must)):
        if bound is not None and sign * value >= sign * bound:
            return name
    return "miss" if must is not None or aim is not None else ""


def judged(key: str, found: Figures) -> str:
    """The verdict on a case."""
    case = CASES[key]
    if found.ratio is None:
        return ""
    return verdict(found.ratio.median, case.must, case.aim, least=case.against is None)


def parallel(stored: dict[str, Any]) -> tuple[Spread, Spread]:
    """Several threads against one: the CPU seconds of all, and how many times as fast by the wall clock."""
    pairs = stored["parallel"]["pairs"]
    cpu = Spread.of([pair["several"]["cpu_s"] / pair["one"]["cpu_s"] for pair in pairs])
    return cpu, Spread.of([pair["one"]["wall_s"] / pair["several"]["wall_s"] for pair in pairs])


def environments(stored: dict[str, Any]) -> dict[str, tuple[Spread, Spread]]:
    """By transport: steps of agents' environments per CPU second of one thread, and per second on several."""
    found = stored["environments"]
    steps = found["count"] * found["steps"]

    def speeds(pairs: list[dict[str, Any]]) -> tuple[Spread, Spread]:
        one = Spread.of([steps / pair["one"]["cpu_s"] for pair in pairs])
        return one, Spread.of([steps / pair["several"]["wall_s"] for pair in pairs])

    return {transport: speeds(pairs) for transport, pairs in found["transports"].items()}
