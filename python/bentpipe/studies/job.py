"""Several studies as one job of a laboratory (`bentpipe.sweeps.lab`).

No study waits for another: a worker takes the next runs, of whatever study, and a study is drawn as soon as
its last run is stored. Runs that are already on disk (`bentpipe.sweeps.kept`) are not made again. This
process stores the measures of the workers, so they can be on other machines; figures are drawn on this one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from bentpipe import _core
from bentpipe.studies.study import Case, Outcome, Study, StudyPlan, StudyResult
from bentpipe.sweeps.engine import Interrupted
from bentpipe.sweeps.execution import Executor, Ran, one_line
from bentpipe.sweeps.fingerprint import RowKeys
from bentpipe.sweeps.kept import FOLDER, ROWS, TRACES, Kept
from bentpipe.sweeps.lab import Lab
from bentpipe.sweeps.lot import Lot, Then
from bentpipe.sweeps.store import read_table
from bentpipe.terminal.progress import State

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
    lots, failed = dict[str, Lot](), dict[str, Failure]()
    with Lab(workers=workers, progress=progress, executor=executor) as lab:
        for job in jobs:
            try:
                lots[job.study.name] = _lot(job, lab, fresh=fresh)
            except (OSError, _core.ScenarioError) as failure:
                failed[job.study.name] = Failure(job.study.name, one_line(failure))
        # The studies that keep most traces take longest to draw, which should not come last.
        order = sorted(lots.values(), key=lambda lot: -sum(case.keep_trace for case in lot.cases))
        try:
            for _ in lab.work(order):
                pass
        except KeyboardInterrupt:
            kept = sum(len(lot.kept.done) for lot in order if lot.kept is not None)
            raise Interrupted(
                f"{kept:,} of {lab.state().total:,} runs are done and kept; "
                "the same command goes on from there"
            ) from None
    found = {name: Failure(name, lot.error) if lot.error else lot.result for name, lot in lots.items()}
    return [(found | failed)[job.study.name] for job in jobs]


def _lot(job: Job, lab: Lab, *, fresh: bool) -> Lot:
    """The runs of a study, with its store; it is drawn when they are there."""
    kept = lab.open(Kept(runs_of(job.place, job.plan), fresh=fresh))
    keys = keys_of(job.study, job.plan.cases)
    kept.wanted.update(keys)
    kept.prune()

    def then() -> Then:
        kept.finish()
        return draw, job.study, job.plan, job.place, keys

    return Lot(
        job.plan.cases, row_of, far=job.study.measure, key=keys.__getitem__, then=then,
        kept=kept, now=job.study.name,
    )  # fmt: skip


def draw(_: Tell, study: Study, plan: StudyPlan, place: Path, keys: Sequence[str]) -> StudyResult:
    """A worker's task: judge and draw a study whose runs are all stored."""
    from bentpipe.studies.assembly import write

    outcome = gather(runs_of(place, plan), plan.cases, keys)
    return write(study, plan, outcome, study.report(plan, outcome), place)


def runs_of(place: Path, plan: StudyPlan) -> Path:
    """The folder of the stored runs of a study, in the folder of its page."""
    return place / FOLDER / plan.mode


def keys_of(study: Study, cases: Sequence[Case]) -> list[str]:
    """The keys under which the measures of cases are stored."""
    return list(map(RowKeys(study.measure).case, cases))


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
