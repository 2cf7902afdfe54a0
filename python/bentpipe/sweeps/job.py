"""Running a plan: on disk or in memory, all of its runs or as many as are needed, resuming after a stop."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe._core import ScenarioError
from bentpipe.progress import State
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.dataset import Dataset
from bentpipe.sweeps.engine import Clock, Interrupted, Runs, in_memory, work_off
from bentpipe.sweeps.enough import MOST_SEEDS, AllSeeds, UntilInterval, goodput, goodputs
from bentpipe.sweeps.execution import Executor, Ran
from bentpipe.sweeps.lock import WHOLE, Shard
from bentpipe.sweeps.plan import Given, Plan
from bentpipe.sweeps.store import repeated

if TYPE_CHECKING:
    import polars as pl

#: Finished runs are written this often, in s, ...
FLUSH_S = 1.0
#: ... and when this number of runs waits for it.
FLUSH_RUNS = 500


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
        warned: called with each warning of the simulator, with the number of runs that have it.

    Raises:
        Interrupted: the user stopped it.
        ScenarioError: the place holds something else, or another sweep.
        OSError: nothing can be written there.
    """
    rule: AllSeeds | UntilInterval = AllSeeds(plan, shard)
    if until is not None:
        rule = UntilInterval(plan, until, most_seeds, shard)
    with ExitStack() as held:
        kept: _Memory | _Disk
        if place is None:
            kept = _Memory(plan)
        else:
            dataset = held.enter_context(Dataset(place, plan, shard))
            dataset.prepare(fresh=fresh)
            kept = _Disk(dataset)
            if until is not None:
                for number, value in goodputs(dataset.read().flows).items():
                    rule.learn(number, value)
        clock = Clock(0, 0, progress)
        clock.warnings = repeated(kept.damaged)
        try:
            while numbers := rule.next():
                missing = [number for number in numbers if number not in kept.done]
                clock.total += len(numbers)
                clock.done += len(numbers) - len(missing)
                clock.taken_over += len(numbers) - len(missing)
                clock.tell()
                made = None if executor is None or not missing else executor()
                with closing(work_off(plan, missing, workers=workers, executor=made)) as runs:
                    for some in runs:
                        for ran in some:
                            result = ran.result if ran.error is None else None
                            rule.learn(ran.number, None if result is None else goodput(result["flows"]))
                            if result is not None and warned is not None:
                                for text in result["warnings"]:
                                    warned[text] = warned.get(text, 0) + 1
                        kept.take([(plan[ran.number], ran) for ran in some])
                        clock.count(some)
            kept.flush()
            return kept.finish()
        except KeyboardInterrupt:
            kept.flush()
            raise kept.interrupted(clock) from None
        except BaseException:
            kept.flush()
            raise


class _Memory:
    """Runs that stay in memory."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._over: dict[int, tuple[Case, Ran]] = {}
        self.damaged: Sequence[Path] = ()

    @property
    def done(self) -> dict[int, tuple[Case, Ran]]:
        return self._over

    def take(self, some: Sequence[tuple[Case, Ran]]) -> None:
        self._over.update((ran.number, (case, ran)) for case, ran in some)

    def flush(self) -> None:
        pass

    def finish(self) -> Runs:
        return in_memory(self._plan.types, len(self._plan), self._over)

    def interrupted(self, clock: Clock) -> Interrupted:
        return Interrupted(f"{clock.done:,} of {clock.total:,} runs were done", self.finish())


class _Disk:
    """Runs that are written as they are over, about every second."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self.done = dataset.done
        self.damaged = dataset.damaged
        self._waiting: list[tuple[Case, Ran]] = []
        self._written = time.monotonic()

    def take(self, some: Sequence[tuple[Case, Ran]]) -> None:
        self._waiting += some
        late = time.monotonic() - self._written >= FLUSH_S
        if self._waiting and (late or len(self._waiting) >= FLUSH_RUNS):
            self.flush()

    def flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        if waiting:
            self._dataset.add(waiting)
        self._written = time.monotonic()

    def finish(self) -> Runs:
        self._dataset.finish()
        return self._dataset.read()

    def interrupted(self, clock: Clock) -> Interrupted:
        # The signal may have come while runs were written, which nothing but the dataset has counted then.
        done, place = len(self._dataset), self._dataset.place
        return Interrupted(f"{done:,} of {clock.total:,} runs are in {place}; the same command goes on")
