"""Several studies as one job on the engine of many runs, as sweeps are.

No study waits for another: a worker takes the next runs, of whatever study, and a study is drawn as soon as
its last run is stored. Runs that are already on disk (`bentpipe.sweeps.kept`) are not made again. This
process stores the measures of the workers, so they can be on other machines; figures are drawn on this one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from bentpipe import _core
from bentpipe.progress import State
from bentpipe.studies.study import Case, Outcome, Study, StudyPlan, StudyResult
from bentpipe.sweeps.engine import BATCH, WAIT_S, Interrupted, share_out
from bentpipe.sweeps.execution import Executor, News, Processes, Ran, RunBatch, one_line
from bentpipe.sweeps.fingerprint import Fingerprints, code_version
from bentpipe.sweeps.kept import FOLDER, ROWS, TRACES, Kept
from bentpipe.sweeps.store import read_table

Tell = Callable[[int], None]


@dataclass(frozen=True)
class Job:
    """A study to be run by a plan, and the folder of its page."""

    study: Study
    plan: StudyPlan
    place: Path


@dataclass(frozen=True)
class Failure:
    """A study that could not be finished, and why, in one line."""

    name: str
    why: str


class StudyFailed(RuntimeError):
    """A study could not be finished; the message is one line."""


def run_jobs(
    jobs: Sequence[Job],
    *,
    workers: int = 0,
    fresh: bool = False,
    progress: Callable[[State], None] | None = None,
    executor: Callable[[], Executor] | None = None,
) -> list[StudyResult | Failure]:
    """Runs the jobs; the results come in their order. A study that fails does not stop the others.

    Args:
        jobs: the studies, each with a folder of its own.
        workers: how many processes work; 0 for one per processor. The results do not depend on it.
        fresh: forget earlier runs, and run everything.
        progress: called with the state of the job, whenever that changes.
        executor: makes the executor of the runs, in place of this machine.

    Raises:
        Interrupted: the user stopped it; finished runs are kept for the next time.
        ScenarioError: the executor cannot be used.
    """
    with ExitStack() as held:
        works, failed = [], {}
        for job in jobs:
            try:
                works.append(_open(job, held, fresh))
            except (OSError, _core.ScenarioError) as failure:
                failed[job.study.name] = Failure(job.study.name, one_line(failure))
        try:
            here = Processes(workers)
            held.callback(here.stop)
            runs: Executor = here
            if executor is not None and any(work.waiting for work in works):
                runs = executor()
                held.callback(runs.stop)
            _Floor(works, runs, here, progress).work()
        except KeyboardInterrupt:
            with suppress(OSError):
                for work in works:
                    work.kept.flush()
            kept, total = sum(len(w.kept.done) for w in works), sum(w.total for w in works)
            raise Interrupted(
                f"{kept:,} of {total:,} runs are done and kept; the same command goes on from there"
            ) from None
    found = {work.job.study.name: work.result for work in works} | failed
    results = [found[job.study.name] for job in jobs]
    return [result for result in results if result is not None]


def draw(_: Tell, study: Study, plan: StudyPlan, place: Path, keys: Sequence[str]) -> StudyResult:
    """A worker's task: judge and draw a study whose runs are all stored."""
    from bentpipe.studies.assembly import write

    outcome = gather(_runs(place, plan), plan.cases, keys)
    return write(study, plan, outcome, study.report(plan, outcome), place)


def _runs(place: Path, plan: StudyPlan) -> Path:
    return place / FOLDER / plan.mode


@dataclass
class _Work:
    """The remaining work of a study."""

    job: Job
    kept: Kept
    #: The key of each case, and the numbers of the cases that are not on disk.
    keys: Sequence[str]
    waiting: Sequence[int]
    #: Runs that are over, and those of them that were there before.
    done: int
    taken_over: int
    under_way: int = 0
    #: Processor time of the runs of this job, s, and how many they are.
    spent_s: float = 0.0
    spent_on: int = 0
    drawing: bool = False
    result: StudyResult | Failure | None = None

    @property
    def total(self) -> int:
        return len(self.keys)

    def fail(self, why: str) -> None:
        self.result = Failure(self.job.study.name, why)

    def take(self, number: int, ran: Ran) -> None:
        """The run of a case is over."""
        self.under_way -= 1
        if self.result is not None:  # the study has failed meanwhile
            return
        if ran.error is not None:
            return self.fail(ran.error)
        self.spent_s += ran.cpu_s
        self.spent_on += 1
        try:
            self.kept.take(self.keys[number], row_of(self.job.plan.cases[number], ran), ran)
            self.done += 1
            if self.done == self.total:
                self.kept.finish()
        except OSError as failure:
            self.fail(one_line(failure))


def _open(job: Job, held: ExitStack, fresh: bool) -> _Work:  # noqa: FBT001
    kept = held.enter_context(Kept(_runs(job.place, job.plan)))
    if fresh:
        kept.clear()
    keys = keys_of(job.study, job.plan.cases)
    kept.keep_only(set(keys))
    waiting = [number for number, key in enumerate(keys) if key not in kept.done]
    there = len(keys) - len(waiting)
    return _Work(job, kept, keys, waiting, there, there)


class _Floor:
    """The workers of the studies: `runs` computes the runs, `here` draws."""

    def __init__(
        self,
        works: Sequence[_Work],
        runs: Executor,
        here: Processes,
        progress: Callable[[State], None] | None,
    ) -> None:
        self._works, self._runs, self._here, self._progress = works, runs, here, progress
        self._began = time.monotonic()
        #: For each run in progress, its study and the number of its case.
        self._asked: dict[int, tuple[_Work, int]] = {}

    def work(self) -> None:
        """Runs and draws everything."""
        self._look_after()
        for over in share_out(self._runs, self._batches()):
            for ran in over:
                work, number = self._asked.pop(ran.number)
                work.take(number, ran)
            if self._here is not self._runs:
                self._here.finished(0)
            self._look_after()
        while any(work.result is None for work in self._works):
            self._here.finished(WAIT_S)
            self._look_after()

    def _batches(self) -> Iterator[RunBatch]:
        """All runs, in parts so small that none is worked on alone for long."""
        left = sum(work.total - work.done for work in self._works)
        size = max(1, min(BATCH, left // (4 * self._runs.size)))
        first = 0
        for work, waiting in self._order():
            for at in range(0, len(waiting), size):
                if work.result is not None:
                    break
                mine = waiting[at : at + size]
                numbers = range(first, first + len(mine))
                first += len(mine)
                work.under_way += len(mine)
                self._asked.update((n, (work, number)) for n, number in zip(numbers, mine, strict=True))
                yield RunBatch(numbers, [work.job.plan.cases[i] for i in mine], work.job.study.measure)

    def _order(self) -> list[tuple[_Work, Sequence[int]]]:
        """All runs: the first of each study, which show the length of its runs, then study by study.

        The studies that keep most traces come first: they take longest to draw, which should not come last.
        """
        by_traces = sorted(
            self._works, key=lambda work: -sum(case.keep_trace for case in work.job.plan.cases)
        )
        first = [(work, work.waiting[:BATCH]) for work in self._works]
        return [*first, *((work, work.waiting[BATCH:]) for work in by_traces)]

    def _look_after(self) -> None:
        """Begins to draw complete studies, notes drawn ones, and reports the state of the job."""
        while self._here.others:
            self._note(self._here.others.popleft())
        for work in self._works:
            complete = work.done == work.total and work.result is None and not work.drawing
            if complete and self._here.free:
                work.drawing = True
                job = work.job
                self._here.begin(job.study.name, draw, job.study, job.plan, job.place, work.keys)
        if self._progress is not None:
            self._progress(self._state())

    def _note(self, news: News) -> None:
        (work,) = (work for work in self._works if work.job.study.name == news.task)
        work.drawing = False
        if news.kind == "failed":
            work.fail(news.value)
        else:
            work.result = news.value

    def _state(self) -> State:
        works = self._works
        return State(
            done=sum(work.done for work in works),
            total=sum(work.total for work in works),
            failed=0,
            taken_over=sum(work.taken_over for work in works),
            running=[work.job.study.name for work in works if work.under_way],
            drawing=[work.job.study.name for work in works if work.drawing],
            elapsed_s=time.monotonic() - self._began,
            remaining_s=self._remaining(),
            warnings=[text for work in works for text in work.kept.warnings],
        )

    def _remaining(self) -> float | None:
        """The time of the runs that are left, s, each taken to last as long as those of its study so far."""
        spent_s = sum(work.spent_s for work in self._works)
        if not spent_s:
            return None
        typical = spent_s / sum(work.spent_on for work in self._works)
        left_s = 0.0
        for work in self._works:
            each = work.spent_s / work.spent_on if work.spent_on else typical
            left_s += each * (work.total - work.done) if work.result is None else 0.0
        return (time.monotonic() - self._began) * left_s / spent_s


def keys_of(study: Study, cases: Sequence[Case]) -> list[str]:
    """The keys under which the measures of cases are stored."""
    code, fingerprints = code_version(study.measure), Fingerprints()
    return [fingerprints.case(case, code) for case in cases]


def row_of(case: Case, ran: Ran) -> dict[str, Any]:
    """The row of a run: the keys of its case, and its measures."""
    return {**case.keys, **ran.measures}


def gather(folder: Path, cases: Sequence[Case], keys: Sequence[str]) -> Outcome:
    """The outcome of stored runs.

    Raises:
        ScenarioError: a file is damaged.
        KeyError: a run is not there.
    """
    stored = read_table(folder, ROWS)
    rows = {} if stored is None else {row["run"]: row for row in stored.iter_rows(named=True)}
    kept = read_table(folder, TRACES)
    traces = {} if kept is None else kept.partition_by("run", as_dict=True, maintain_order=True)
    mine = [rows[key] for key in keys]
    return _outcome(
        cases,
        [json.loads(row["row"]) for row in mine],
        [None if (trace := traces.get((key,))) is None else trace.drop("run") for key in keys],
        mine,
    )


def outcome_of(cases: Sequence[Case], runs: Sequence[Ran]) -> Outcome:
    """The outcome of runs in memory, all without an error, in the order of their cases."""
    about = [{**ran.result, "cpu_s": ran.cpu_s} for ran in runs]
    rows = [row_of(case, ran) for case, ran in zip(cases, runs, strict=True)]
    return _outcome(cases, rows, [ran.trace for ran in runs], about)


def _outcome(
    cases: Sequence[Case],
    rows: Sequence[dict[str, Any]],
    traces: Sequence[pl.DataFrame | None],
    about: Sequence[Mapping[str, Any]],
) -> Outcome:
    named = [
        trace.with_columns(**{k: pl.lit(v) for k, v in case.keys.items()})
        for case, trace in zip(cases, traces, strict=True)
        if trace is not None
    ]
    return Outcome(
        runs=pl.DataFrame(rows, infer_schema_length=None),
        traces=pl.concat(named, how="diagonal") if named else pl.DataFrame(),
        packets=sum(int(one["packets"]) for one in about),
        cpu_s=sum(one["cpu_s"] for one in about),
        warnings=list(dict.fromkeys(text for one in about for text in one["warnings"])),
    )
