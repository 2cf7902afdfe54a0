"""Running a plan: on disk or in memory, all of its runs or as many as are needed, resuming after a stop."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import stats, units
from bentpipe._core import ScenarioError
from bentpipe.result import each_once
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.dataset import Dataset, read
from bentpipe.sweeps.engine import Interrupted, Runs, in_memory
from bentpipe.sweeps.execution import Executor, Ran
from bentpipe.sweeps.lab import Lab
from bentpipe.sweeps.lot import Lot
from bentpipe.sweeps.plan import Given, Plan
from bentpipe.sweeps.store import WHOLE, Shard
from bentpipe.terminal.progress import State

if TYPE_CHECKING:
    import polars as pl

MOST_SEEDS = 100
"""Seeds of a point at most, if their number follows from the interval, unless the caller says otherwise."""


def sweep(
    scenario: Given,
    vary: Mapping[str, Any] | None = None,
    seeds: int | Sequence[int] | None = None,
    *,
    out: str | Path | None = None,
    workers: int = 0,
    traces: bool = False,
    until_ci: float | None = None,
    most_seeds: int = MOST_SEEDS,
    fresh: bool = False,
    progress: Callable[[State], None] | None = None,
    executor: Callable[[], Executor] | None = None,
) -> pl.DataFrame:
    """Runs a scenario at every point of a grid with every seed, on all processors.

        grid = {"flow.0.cc": ["cubic", "bbr"], "link.geo.delay": ["10 ms", "250 ms"]}
        runs = bp.sweep("geo", grid, seeds=5)
        runs.group_by("flow.0.cc", "link.geo.delay_s").agg(pl.col("goodput_bps").mean())

    Args:
        scenario: a scenario, its table as a dict, a file (which may have `[vary]` and `seeds`), the name of
            one that comes with the package, or a directory that `Result.save` wrote.
        vary: values by dotted key. Values are a list, or {"log": [1e-6, 1e-3], "points": 7}, or
            {"lin": ["10 ms", "50 ms"], "points": 5}; keys that go together are in a table under "zip". A
            controller in Python is its class, or "FILE.py:CLASS".
        seeds: how many, from the scenario's own on, or a list of them. By default those of the file, or one.
        out: a directory for the runs (docs/sweeps.md). Existing runs are not run again, and a stopped sweep
            goes on. None: everything stays in memory.
        workers: threads, or processes for controllers in Python; 0: one per processor. The results do not
            depend on it.
        traces: keep the traces that the scenario records, in `out`.
        until_ci: 0.02 gives each point seeds until the 95 % interval of its mean goodput is within ±2 %.
        most_seeds: of a point then, at most.
        fresh: forget the runs in `out`.
        progress: called with the state of the job.
        executor: makes the executor of the runs, in place of this machine.

    Returns:
        A row for each flow and run: the varied keys, with the unit in the name (`link.geo.delay_s`), `run`,
        `seed`, and the columns of `Result.flows`. Links, traces and runs that failed are in
        `bentpipe.sweeps.dataset.read(out)`, as `links`, `traces` and `failed`; a warning says if runs failed.

    Raises:
        Interrupted: the user stopped it.
        ScenarioError: the scenario or a value is wrong, or `out` holds something else.
        OSError: `out` cannot be written.
    """
    if traces and out is None:
        raise ScenarioError("traces: they are kept on disk; give out=DIR")
    plan = Plan(scenario, vary or {}, seeds, traces=traces)
    runs = run_plan(
        plan, None if out is None else Path(out), workers=workers, until=until_ci, most_seeds=most_seeds,
        fresh=fresh, progress=progress, executor=executor,
    )  # fmt: skip
    if runs.failed.height:
        first = runs.failed["error"][0]
        warnings.warn(f"{runs.failed.height:,} of {len(plan):,} runs failed; {first}", stacklevel=2)
    return runs.flows


def run_plan(
    plan: Plan,
    place: Path | None = None,
    *,
    workers: int = 0,
    shard: Shard = WHOLE,
    until: float | None = None,
    most_seeds: int = MOST_SEEDS,
    fresh: bool = False,
    progress: Callable[[State], None] | None = None,
    executor: Callable[[], Executor] | None = None,
    warned: dict[str, int] | None = None,
) -> Runs:
    """Makes the runs of a plan that are not there yet. A run that fails does not stop the others.

    Args:
        plan: the runs.
        place: the directory of the dataset; None keeps everything in memory.
        workers: threads or processes; 0: one per processor. The results do not depend on it.
        shard: the part of this writer, if several write to one place.
        until: if given, each point gets seeds until the 95 % interval of its mean goodput is within this
            share of the mean.
        most_seeds: of a point then, at most.
        fresh: forget the existing runs.
        progress: called with the state of the job.
        executor: makes the executor of the runs, in place of this machine.
        warned: gets each warning of the simulator, with the number of runs that have it.

    Raises:
        Interrupted: the user stopped it.
        ScenarioError: the place holds something else, or another sweep.
        OSError: nothing can be written there.
    """
    rule: AllSeeds | UntilInterval = AllSeeds(plan, shard)
    if until is not None:
        rule = UntilInterval(plan, until, most_seeds, shard)
    over: dict[int, tuple[Case, Ran]] = {}
    with Lab(workers=workers, executor=executor, progress=progress) as lab:
        kept = None if place is None else lab.open(Dataset(place, plan, shard, fresh=fresh))
        if place is not None and until is not None:
            for number, value in goodputs(read(place).flows).items():
                rule.learn(number, value)
        try:
            while numbers := rule.next():
                for some in lab.work([Lot(plan, key=plan.run_key, numbers=numbers, kept=kept)]):
                    for _, ran in some:
                        result = ran.result if ran.error is None else None
                        rule.learn(ran.number, None if result is None else goodput(result["flows"]))
                        if result is not None and warned is not None:
                            for text in result["warnings"]:
                                warned[text] = warned.get(text, 0) + 1
                        if kept is None:
                            over[ran.number] = plan[ran.number], ran
            if kept is not None:
                kept.finish()
        except KeyboardInterrupt:
            total = lab.state().total
            if kept is not None:
                raise kept.interrupted(total) from None
            runs = in_memory(plan.types, over)
            raise Interrupted(f"{len(over):,} of {total:,} runs were done", runs) from None
    return in_memory(plan.types, over) if place is None else read(place)


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
    value = units.share(text)
    if value is None or not 0 < value < 1:
        raise ScenarioError(f"--until-ci {text}: write a share of the mean, for example 2%")
    return value


def goodput(flows: Iterable[Mapping[str, Any]]) -> float:
    """The goodput of all flows of a run. Parts of one count with the whole."""
    return math.fsum(flow["goodput_bps"] for flow in each_once(flows))


def goodputs(flows: pl.DataFrame) -> dict[int, float]:
    """The same for each run of a table of flows, by its number."""
    runs = flows.select("run", "half", "goodput_bps").partition_by("run", as_dict=True)
    return {run: goodput(rows.iter_rows(named=True)) for (run,), rows in runs.items()}
