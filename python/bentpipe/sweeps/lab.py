"""A laboratory that answers for rows: it makes the runs whose rows are not there yet, and gives all rows.

    with Lab(Path("out/.runs"), progress=bar.at) as lab:
        made = lab.rows(cases, measure, key=key)

Runs are made on all processors or on a cluster, in any order. Rows are stored under the keys of their runs
(`kept.py`) as the runs are over. So an interruption costs only the runs in hand, and the same call goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, count, groupby, islice
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

from bentpipe._core import ScenarioError
from bentpipe.sweeps.case import Case, portable
from bentpipe.sweeps.execution import (
    BATCH,
    WAIT_S,
    Executor,
    Here,
    Processes,
    Ran,
    RunBatch,
    Threads,
    one_line,
    share_out,
)
from bentpipe.sweeps.kept import Kept, Row
from bentpipe.sweeps.lot import Lot
from bentpipe.sweeps.store import Store
from bentpipe.terminal.progress import State

Keeping = TypeVar("Keeping", bound=Store)


@dataclass
class Made:
    """The rows of runs by the numbers of their cases, and the errors of those that failed.

    Attributes:
        stopped: whether the user stopped the job before all runs were made.
    """

    rows: dict[int, Row] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)
    stopped: bool = False


class _Run(NamedTuple):
    """A run of a lot: the number of its case, and its key in the store, "" if it is not stored."""

    lot: Lot
    number: int
    key: str

    @property
    def row(self) -> Hashable:
        """What it gives: runs of a store with the same key give one row."""
        return (self.lot.kept, self.key) if self.key else (self.lot, self.number)


class Lab:
    """A laboratory; as a context, no other process writes to its store meanwhile.

    Args:
        place: the folder of the store; rows that are there are not made again. None: nothing is stored.
        workers: threads, or processes for controllers and measures in Python; 0: one per processor. The rows
            do not depend on it.
        executor: makes the executor of the runs, in place of this machine, when there is a run to be made.
        progress: called with the state of the job.
        fresh: forget the rows that are there.
        near: run nothing in another process, so that each run has its result itself.

    Attributes:
        kept: the store of `place`.
        elsewhere: whether runs are made by `executor`.

    Raises:
        ScenarioError: the number of workers is below 0; another process writes to the store.
        OSError: the store cannot be written.
    """

    def __init__(
        self,
        place: Path | None = None,
        *,
        workers: int = 0,
        executor: Callable[[], Executor] | None = None,
        progress: Callable[[State], None] | None = None,
        fresh: bool = False,
        near: bool = False,
    ) -> None:
        if workers < 0:
            raise ScenarioError(
                f"{workers} workers cannot run anything; give 0 for one per processor, or more"
            )
        self._place, self._near, self.elsewhere = place, near, executor is not None
        self._make: Callable[[], Executor] = executor or partial(Threads, workers)
        self._progress, self._fresh = progress, fresh
        self._began = time.monotonic()
        self.kept: Kept | None = None
        self._held = ExitStack()
        self._stores: list[Store] = []
        self._lots: list[Lot] = []
        #: Lots whose task is not done.
        self._open: list[Lot] = []
        self._executors: dict[Callable[[], Executor], Executor] = {}
        self._pool = Processes(workers)
        #: The runs in hand by their numbers there, and for each key the runs that wait for its row.
        self._in_hand: dict[int, tuple[_Run, Case]] = {}
        self._wanted: dict[Hashable, list[_Run]] = {}
        self._numbers = count()
        #: Runs that are over and were not given yet.
        self._over: list[tuple[Lot, Ran]] = []

    def __enter__(self) -> Self:
        if self._place is not None:
            self.kept = self.open(Kept(self._place, fresh=self._fresh))
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._end()
        with self._held:
            if kind is None and self.kept is not None:
                self.kept.finish()

    def open(self, kept: Keeping) -> Keeping:
        """Opens a further store, for lots of their own; it is closed when this is.

        Raises:
            ScenarioError: another process writes there.
            OSError: it cannot be written.
        """
        self._held.enter_context(kept)
        self._stores.append(kept)
        return kept

    def prune(self) -> None:
        """Removes the stored rows that nobody has asked for."""
        if self.kept is not None:
            self.kept.prune()

    @property
    def made(self) -> int:
        """Runs that were made."""
        return sum(lot.done - lot.taken_over for lot in self._lots)

    def rows(
        self, cases: Sequence[Case], measure: Callable[[Case, Ran], Row] | None = None, **how: Any
    ) -> Made:
        """The rows of all cases; after Ctrl-C those that there are. `how` are further arguments of `Lot`."""
        made = Made()
        try:
            for over in self.each(cases, measure, **how):
                for ran in over:
                    if ran.error is None:
                        made.rows[ran.number] = ran.measures
                    else:
                        made.failed[ran.number] = ran.error
        except KeyboardInterrupt:
            made.stopped = True
        return made

    def each(
        self, cases: Sequence[Case], measure: Callable[[Case, Ran], Row] | None = None, **how: Any
    ) -> Iterator[Sequence[Ran]]:
        """The runs of cases as they are over, in any order; at times an empty list.

        The row is `Ran.measures`; a run that is stored has no more than that. Who does not take all ends the
        runs in hand. `how` are further arguments of `Lot`.
        """
        for over in self.work([Lot(cases, measure, kept=self.kept, **how)]):
            yield [ran for _, ran in over]

    def work(self, lots: Iterable[Lot]) -> Iterator[Sequence[tuple[Lot, Ran]]]:
        """Makes the runs of lots and begins their tasks; gives runs as they are over, as `each` does.

        Runs that were stored are not given for a lot with a task. Of a list of lots some runs of each are
        made first, which show how long its runs take, and then lot after lot. Other lots are taken when
        workers are free.
        """
        missing = self._missing(lots)
        try:
            # One kind of executor after the other, so that no more is worked on at once than the user allows.
            while (first := next(missing, None)) is not None:
                others: list[_Run] = []
                executor = self._executor(first.lot, first.lot.cases[first.number])
                mine = self._made_by(executor, chain([first], missing), others)
                for over in share_out(executor, self._batches(executor, mine)):
                    if executor is not self._pool and self._open:
                        self._pool.finished(0)
                    for ran in over:
                        self._take(ran)
                    yield self._handed_out()
                    self._look_after()
                missing = iter(others)
            yield self._handed_out()
            self._look_after()
            while self._open:
                self._pool.finished(WAIT_S)
                self._look_after()
                yield []
        finally:
            if self._in_hand or self._open:
                self._end()

    def state(self) -> State:
        """The state of the job."""
        lots = self._lots
        return State(
            done=sum(lot.done for lot in lots),
            total=sum(lot.total for lot in lots),
            failed=sum(lot.failed for lot in lots),
            taken_over=sum(lot.taken_over for lot in lots),
            running=list(dict.fromkeys(lot.now for lot in lots if lot.in_hand and lot.now)),
            drawing=[lot.now for lot in self._open if lot.drawing],
            elapsed_s=time.monotonic() - self._began,
            remaining_s=self.remaining_s(),
            warnings=[text for kept in self._stores for text in kept.warnings],
        )

    def remaining_s(self, more: int = 0) -> float | None:
        """The time of the runs that are left, and of more, s; None before the first was made.

        Each is taken to cost as much as those of its lot so far.
        """
        spent_s, left_s = sum(lot.spent_s for lot in self._lots), 0.0
        if not spent_s:
            return None
        typical = spent_s / self.made
        for lot in self._lots:
            mine = lot.done - lot.taken_over
            left_s += (lot.spent_s / mine if mine else typical) * lot.left
        return (time.monotonic() - self._began) * (left_s + more * typical) / spent_s

    def _missing(self, lots: Iterable[Lot]) -> Iterator[_Run]:
        """The runs that have to be made."""
        ahead: Iterable[tuple[Lot, Iterator[_Run]]] = ((lot, self._unstored(lot)) for lot in lots)
        if isinstance(lots, Sequence):
            ahead = list(ahead)
            self._look_after()
            for _, runs in ahead:
                yield from islice(runs, BATCH)
        for lot, runs in ahead:
            self._look_after()
            yield from (run for run in runs if not lot.error)

    def _unstored(self, lot: Lot) -> Iterator[_Run]:
        """The runs of a lot that have to be made; without a task they are sought as they are needed."""
        if lot not in self._lots:
            self._lots.append(lot)
        if lot.then is None:
            return self._sought(lot)
        self._open.append(lot)
        return iter([*self._sought(lot)])

    def _sought(self, lot: Lot) -> Iterator[_Run]:
        """The runs of a lot whose rows are not there and that no other lot waits for."""
        for number in lot.numbers or ():
            key = "" if lot.kept is None else lot.key(number)
            if lot.kept is not None and lot.kept.has(key):
                lot.over(there=True)
                if lot.then is None and isinstance(lot.kept, Kept):
                    self._over.append((lot, Ran(number, measures=lot.kept.rows[key])))
                continue
            run = _Run(lot, number, key)
            waiting = self._wanted.setdefault(run.row, [])
            waiting.append(run)
            if len(waiting) == 1:
                yield run

    def _executor(self, lot: Lot, case: Case) -> Executor:
        """Where a run is made."""
        classes, make = case.controllers.values(), self._make
        if not self.elsewhere and (classes or lot.far is not None):
            if not self._near and all(map(portable, classes)):
                return self._pool
            make = Here
        if make not in self._executors:
            self._executors[make] = make()
        return self._executors[make]

    def _made_by(
        self, executor: Executor, runs: Iterable[_Run], others: list[_Run]
    ) -> Iterator[tuple[_Run, Case]]:
        """Those of some runs that an executor makes; the rest is put aside."""
        for run in runs:
            case = run.lot.cases[run.number]
            if self._executor(run.lot, case) is executor:
                yield run, case
            else:
                others.append(run)

    def _batches(self, executor: Executor, runs: Iterator[tuple[_Run, Case]]) -> Iterator[RunBatch]:
        """Batches so small that no worker is left alone with the last for long."""
        for lot, some in groupby(runs, key=lambda pair: pair[0].lot):
            while True:
                size = 1
                if not isinstance(executor, Threads | Here):
                    left = sum(each.left - each.in_hand for each in self._lots)
                    size = max(1, min(BATCH, left // (4 * executor.size)))
                batch = {next(self._numbers): pair for pair in islice(some, size)}
                if not batch:
                    break
                self._in_hand |= batch
                cases = [case for _, case in batch.values()]
                lot.in_hand += len(cases)
                lot.now = lot.named(cases[0]) or lot.now
                yield RunBatch(list(batch), cases, lot.far)

    def _take(self, ran: Ran) -> None:
        """A run is over: measures and stores it, and gives it to all lots that wait for it."""
        run, case = self._in_hand.pop(ran.number)
        lot, ran.number, key = run
        lot.in_hand -= 1
        lot.spent_s += ran.cpu_s or 1.0
        if ran.error is None and lot.measure is not None:
            ran.measures = lot.measure(case, ran)
        if lot.kept is not None and key and (ran.error is None or lot.kept.with_failed):
            if lot.measure is not None and lot.far is None:
                ran.trace = None  # it was measured
            lot.kept.take(key, case, ran)
        for nth, each in enumerate(self._wanted.pop(run.row)):
            each.lot.over(there=nth > 0, error=ran.error)
            self._over.append((each.lot, replace(ran, number=each.number)))

    def _handed_out(self) -> Sequence[tuple[Lot, Ran]]:
        over, self._over = self._over, []
        return over

    def _look_after(self) -> None:
        """Notes the tasks that are done, begins those of complete lots, and reports the state of the job."""
        while self._pool.others:
            news = self._pool.others.popleft()
            self._open.remove(news.task)
            news.task.drawing = False
            if news.kind == "failed":
                news.task.error = news.value
            else:
                news.task.result = news.value
        for lot in self._lots:
            try:
                if lot.kept is not None and lot.left:
                    lot.kept.flush(late=True)
                if lot in self._open and not (lot.left or lot.drawing or lot.error) and self._pool.free:
                    assert lot.then is not None
                    self._pool.begin(lot, *lot.then())
                    lot.drawing = True
            except OSError as failure:
                if lot.then is None:
                    raise
                lot.error = one_line(failure)
        self._open = [lot for lot in self._open if not lot.error]
        if self._progress is not None:
            self._progress(self.state())

    def _end(self) -> None:
        """Ends everything that is under way."""
        with ExitStack() as ends:
            for executor in (*self._executors.values(), self._pool):
                ends.callback(executor.stop)
        for waiting in (self._executors, self._in_hand, self._wanted, self._open):
            waiting.clear()
