"""Several studies as one job: their batches and drawings are shared out to worker processes.

No study waits for another: a worker takes the next batch, of whatever study, and a study is drawn as soon as
its last batch is done. What is on disk already (`bentpipe.studies.store`) is not run again.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bentpipe.studies.store import Batch, Store, gather
from bentpipe.studies.study import Plan, Study, StudyResult
from bentpipe.sweeps.engine import Interrupted, State
from bentpipe.sweeps.execution import cores
from bentpipe.sweeps.pool import News, Pool, said

if TYPE_CHECKING:
    from bentpipe.studies.study import Outcome

Tell = Callable[[int], None]


@dataclass(frozen=True)
class Job:
    """A study to be run by a plan, and the folder of its page."""

    study: Study
    plan: Plan
    place: Path


@dataclass(frozen=True)
class Failure:
    """A study that could not be finished, and why, in one line."""

    name: str
    why: str


class StudyFailed(RuntimeError):
    """A study could not be finished; the message is one line."""


@dataclass
class _Work:
    """What is left to do of a study."""

    job: Job
    store: Store
    waiting: deque[int]
    #: Runs on disk, and those of them that were there before.
    kept: int
    taken_over: int
    damaged: Sequence[Path]
    #: Runs that are done in batches that are being worked on, by batch.
    under_way: dict[int, int] = field(default_factory=dict)
    #: Batches done by this job: time that a worker spent, s, and runs.
    spent_s: float = 0.0
    spent_on: int = 0
    drawn: bool = False
    result: StudyResult | Failure | None = None

    @property
    def total(self) -> int:
        return len(self.job.plan.cases)

    @property
    def done(self) -> int:
        return self.kept + sum(self.under_way.values())

    def fail(self, why: str) -> None:
        self.waiting.clear()
        self.under_way.clear()
        self.result = Failure(self.job.study.name, why)


def run_jobs(
    jobs: Sequence[Job],
    *,
    workers: int = 0,
    fresh: bool = False,
    progress: Callable[[State], None] | None = None,
) -> list[StudyResult | Failure]:
    """Runs the jobs; the results come in their order. A study that fails does not stop the others.

    Args:
        jobs: the studies, each with a folder of its own.
        workers: how many processes work; 0 for one per processor. The results do not depend on it.
        fresh: forget what earlier runs left, and run everything.
        progress: told how far the job is, whenever that changes.

    Raises:
        Interrupted: the user stopped it; what is finished is kept for the next run.
    """
    began = time.monotonic()
    size = workers or cores()
    with ExitStack() as held:
        works, failed = [], {}
        for job in jobs:
            try:
                works.append(_open(job, held, fresh))
            except (OSError, RuntimeError) as failure:
                failed[job.study.name] = Failure(job.study.name, said(failure))
        try:
            _work_off(works, size, began, progress)
        except KeyboardInterrupt:
            kept, total = sum(w.kept for w in works), sum(w.total for w in works)
            raise Interrupted(
                f"{kept:,} of {total:,} runs are done and kept; the same command goes on from there"
            ) from None
    found = {work.job.study.name: work.result for work in works} | failed
    results = [found[job.study.name] for job in jobs]
    return [result for result in results if result is not None]


def _open(job: Job, held: ExitStack, fresh: bool) -> _Work:  # noqa: FBT001
    store = held.enter_context(Store(job.study, job.plan, job.place))
    if fresh:
        store.clear()
    store.prune()
    damaged = store.drop_damaged()
    left = store.unfinished()
    kept = len(job.plan.cases) - sum(len(store.batches[i].cases) for i in left)
    return _Work(job, store, deque(left), kept, kept, damaged)


def _work_off(
    works: Sequence[_Work], size: int, began: float, progress: Callable[[State], None] | None
) -> None:
    order = _order(works)
    started: dict[tuple[int, int | None], float] = {}
    with Pool(size) as pool:
        while any(work.result is None for work in works):
            while pool.free and (task := _next(works, order)) is not None:
                which, number = task
                started[task] = time.monotonic()
                work = works[which]
                if number is None:
                    pool.start(task, draw, work.job.study, work.job.plan, work.job.place, work.store.batches)
                else:
                    pool.start(task, run_batch, work.job.study, work.store.batches[number])
            if progress is not None:
                progress(_state(works, pool.busy, size, began))
            for news in pool.news():
                _take(works, news, started)
        if progress is not None:
            progress(_state(works, [], size, began))


def _order(works: Sequence[_Work]) -> deque[tuple[int, int]]:
    """All batches: the first of each study, which tells how long its runs take, then study by study.

    The studies that keep most traces come first: they take longest to draw, and that should not come last.
    """
    kept = {i: sum(case.keep_trace for case in w.job.plan.cases) for i, w in enumerate(works)}
    first = [(i, work.waiting[0]) for i, work in enumerate(works) if work.waiting]
    rest = [(i, n) for i in sorted(kept, key=lambda i: -kept[i]) for n in list(works[i].waiting)[1:]]
    return deque([*first, *rest])


def _next(works: Sequence[_Work], order: deque[tuple[int, int]]) -> tuple[int, int | None] | None:
    """The next task, a batch or (None) the drawing of a study; None if there is none at present."""
    for i, work in enumerate(works):
        if work.kept == work.total and not work.drawn and work.result is None:
            work.drawn = True
            return i, None
    while order:
        which, number = order.popleft()
        if works[which].result is None:
            works[which].waiting.remove(number)
            return which, number
    return None


def _take(works: Sequence[_Work], news: News, started: dict[tuple[int, int | None], float]) -> None:
    """Notes what a worker says."""
    which, number = news.task
    work = works[which]
    if work.result is not None:  # it has failed; a batch that was under way then may still report
        return
    if news.kind == "failed":
        work.fail(news.value)
    elif number is None:
        work.result = news.value
    elif news.kind == "progress":
        work.under_way[number] = news.value
    else:
        runs = len(work.store.batches[number].cases)
        work.under_way.pop(number, None)
        work.kept += runs
        work.spent_s += time.monotonic() - started[news.task]
        work.spent_on += runs


def _state(works: Sequence[_Work], busy: Sequence[tuple[int, int | None]], size: int, began: float) -> State:
    names = [work.job.study.name for work in works]
    return State(
        done=sum(work.done for work in works),
        total=sum(work.total for work in works),
        failed=0,
        taken_over=sum(work.taken_over for work in works),
        running=[name for i, name in enumerate(names) if any(j == i and n is not None for j, n in busy)],
        drawing=[name for i, name in enumerate(names) if (i, None) in busy],
        elapsed_s=time.monotonic() - began,
        remaining_s=_remaining(works, size),
        damaged=[path for work in works for path in work.damaged],
    )


def _remaining(works: Sequence[_Work], size: int) -> float | None:
    """The time of the runs that are left, each taken to last as long as those of its study have so far, s."""
    runs = sum(work.spent_on for work in works)
    if not runs:
        return None
    typical = sum(work.spent_s for work in works) / runs
    left = 0.0
    for work in works:
        each = work.spent_s / work.spent_on if work.spent_on else typical
        left += each * (work.total - work.done) if work.result is None else 0.0
    return left / size


def run_batch(tell: Tell, study: Study, batch: Batch) -> None:
    """A worker's task: run and store a batch."""
    from bentpipe.studies.execute import measure

    batch.write(measure(study, batch.cases, tell))


def draw(_: Tell, study: Study, plan: Plan, place: Path, batches: Sequence[Batch]) -> StudyResult:
    """A worker's task: judge and draw a study whose batches are all stored."""
    from bentpipe.studies.write import write

    outcome: Outcome = gather(batches)
    return write(study, plan, outcome, study.report(plan, outcome), place)
