"""The runs that a sweep makes: all of its seeds, or as many as the interval of each point's goodput needs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bentpipe import stats
from bentpipe._core import ScenarioError
from bentpipe.result import each_once
from bentpipe.sweeps.lock import WHOLE, Shard

if TYPE_CHECKING:
    import polars as pl

    from bentpipe.sweeps.plan import Plan

MOST_SEEDS = 100
"""Seeds of a point at most, if their number follows from the interval, unless the caller says otherwise."""


class AllSeeds:
    """Every point with every seed of the plan."""

    def __init__(self, plan: Sequence[Any], shard: Shard = WHOLE) -> None:
        #: The runs; seeds that are on disk beyond the plan's are not asked for.
        self._numbers = [n for n in range(len(plan)) if shard.has(n)]

    def next(self) -> Sequence[int]:
        """The runs that are known to be needed; none if there are enough."""
        numbers, self._numbers = self._numbers, []
        return numbers

    def learn(self, number: int, goodput: float | None) -> None:
        """A run is over."""


class UntilInterval:
    """More seeds for each point until the interval of its mean goodput is narrow enough.

    The goodput of a run is that of all its flows together. `stats.enough` is asked after 5 seeds, or as many
    as the plan has, and then after each quarter more. A point with a run that failed gets no more. The seeds
    of a point do not depend on the order in which runs end.

    Args:
        plan: its seeds come first, then those that follow its last.
        relative: 0.02 for an interval of ±2 % of the mean.
        most: seeds of a point at most.
        shard: it has whole points.
    """

    def __init__(self, plan: Plan, relative: float, most: int = MOST_SEEDS, shard: Shard = WHOLE) -> None:
        self._plan, self._relative = plan, relative
        self._most = max(most, len(plan.seeds))
        self._first = max(len(plan.seeds), stats.LEAST_RUNS)
        self._goodputs: dict[int, float | None] = {}
        #: The number of seeds of each unfinished point.
        self._open = dict.fromkeys((p for p in range(plan.points) if shard.has(p)), 0)

    def next(self) -> Sequence[int]:
        """The runs that are known to be needed; none if there are enough."""
        numbers: list[int] = []
        for point, count in list(self._open.items()):
            if count and self._done(point, count):
                del self._open[point]
                continue
            more = min(max(count + max(1, count // 4), self._first), self._most)
            while len(self._plan.seeds) < more:
                self._plan.seeds.append(max(self._plan.seeds) + 1)
            numbers += [nth * self._plan.points + point for nth in range(count, more)]
            self._open[point] = more
        return sorted(numbers)

    def learn(self, number: int, goodput: float | None) -> None:
        """A run is over; None is one that failed."""
        self._goodputs[number] = goodput

    def _done(self, point: int, count: int) -> bool:
        values = [self._goodputs.get(nth * self._plan.points + point) for nth in range(count)]
        known = [value for value in values if value is not None]
        return count >= self._most or len(known) < count or stats.enough(known, self._relative)


def relative(text: str) -> float:
    """The share of "2%" or "0.02".

    Raises:
        ScenarioError: it is not a share between 0 and 1.
    """
    number = text.strip()
    try:
        value = float(number.removesuffix("%")) / (100 if number.endswith("%") else 1)
    except ValueError:
        value = math.nan
    if not 0 < value < 1:
        raise ScenarioError(f"--until-ci {text}: write a share of the mean, for example 2%")
    return value


def goodput(flows: Iterable[Mapping[str, Any]]) -> float:
    """The goodput of all flows of a run. Parts of one count with the whole."""
    return math.fsum(flow["goodput_bps"] for flow in each_once(flows))


def goodputs(flows: pl.DataFrame) -> dict[int, float]:
    """The same for each run of a table of flows, by its number."""
    found: dict[int, list[dict[str, Any]]] = {}
    for row in flows.select("run", "half", "goodput_bps").iter_rows(named=True):
        found.setdefault(row["run"], []).append(row)
    return {run: goodput(rows) for run, rows in found.items()}
