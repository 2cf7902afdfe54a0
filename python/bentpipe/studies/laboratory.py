"""Runs and judges combinations of choices, for `bentpipe study fit`.

Runs with the same scenario are run once, whatever combinations they belong to. Finished work is on disk, so
that the same search, given again, takes it over. The results do not depend on the number of workers.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, Self

import polars as pl

from bentpipe.progress import SearchProgress
from bentpipe.studies.assembly import Assembly
from bentpipe.studies.claim import Claim
from bentpipe.studies.design import BASE, Size, Variant
from bentpipe.studies.job import StudyFailed, Tell, row_of
from bentpipe.studies.judge import RANK, evaluate, judged
from bentpipe.studies.study import Case, Key, Loaded, Standing, Study, StudyPlan
from bentpipe.sweeps.engine import BATCH, WAIT_S, share_out
from bentpipe.sweeps.execution import Executor, Processes, Ran, RunBatch, said
from bentpipe.sweeps.fingerprint import Fingerprints, code_version
from bentpipe.sweeps.kept import FOLDER, Kept

Row = dict[str, Any]
#: The names of the choices that are taken together; none for the base.
Names = tuple[str, ...]


@dataclass(frozen=True)
class Tried(Standing):
    """The claims of a paper under a combination of choices."""

    names: Names
    #: The number of free choices (`Design.free`).
    free: int
    claims: Sequence[Claim]

    @property
    def score(self) -> tuple[int, int]:
        """More is better: checks that hold, then verdicts."""
        return self.held, sum(RANK[claim.verdict] for claim in self.claims)


def assembly(study: Study) -> Assembly:
    """The parts of a study's report.

    Raises:
        ValueError: it is not made of claims and choices.
    """
    built = study.report.value if isinstance(study.report, Loaded) else None
    if not isinstance(built, Assembly):
        raise ValueError(f"the study {study.name} has no choices to combine")
    return built


@dataclass
class _Wanted:
    """A combination in progress."""

    number: int
    names: Names
    #: The keys of its runs, with which their rows are found; the last are the base's and those of `always`.
    runs: list[tuple[str, dict[str, Any]]]
    missing: set[str]


class Laboratory:
    """Measures and judges combinations; as a context, no other search uses the folder meanwhile.

    Args:
        study: the study whose choices are combined.
        place: the folder of the search; the runs are kept in it.
        workers: processes that run and judge; 0: one per processor.
        progress: called with the state of the search.
        executor: makes the executor of the runs, in place of these processes.
    """

    def __init__(
        self,
        study: Study,
        place: Path,
        workers: int,
        progress: Callable[[SearchProgress], None] | None,
        executor: Callable[[], Executor] | None = None,
    ) -> None:
        self._study = study
        self._design = assembly(study).design
        self._kept = Kept(place / FOLDER / "fit")
        self._progress = progress
        self._code, self._fingerprints = code_version(study.measure), Fingerprints()
        #: Rows of earlier searches, and those that this one uses.
        self._stored: dict[str, Row] = {}
        self._rows: dict[str, Row] = {}
        self._began = time.monotonic()
        self._measured = 0
        self._best = (0, 0)
        self._held = ExitStack()
        self._here = Processes(workers)
        self._make = executor
        self._runs: Executor = self._here

    def __enter__(self) -> Self:
        """Raises ScenarioError if another search uses the folder, or the executor cannot be used.

        Raises OSError if the folder cannot be made.
        """
        self._held.enter_context(self._kept)
        self._stored = self._kept.rows()
        self._held.callback(self._here.stop)
        if self._make is not None:
            self._runs = self._make()
            self._held.callback(lambda: self._runs.stop())
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    @property
    def runs(self) -> int:
        """Runs that are done."""
        return len(self._rows)

    def expected_s(self, runs: int) -> float:
        """The estimated time of this number of runs, from those that it has done so far, s; 0 if none."""
        return (time.monotonic() - self._began) / max(1, self._measured) * runs if self._measured else 0.0

    def judge(
        self, what: str, wanted: Sequence[Names], size: Size, after: int = 0, until: float | None = None
    ) -> list[Tried | None]:
        """The claims under each of some combinations; None for those not done at the time ``until``.

        Args:
            what: the stage, in words.
            wanted: the combinations; earlier ones are done first.
            size: size of each.
            after: the seed before the first.
            until: on the clock of `time.monotonic`; never if None.

        Raises:
            StudyFailed: a run or a check could not be done; the message is one line.
        """
        found: list[Tried | None] = [None] * len(wanted)
        open_: dict[int, _Wanted] = {}
        ready: deque[_Wanted] = deque()
        judging: dict[str, _Wanted] = {}
        #: For each run in progress, its key and its case.
        asked: dict[int, tuple[str, Case]] = {}

        def late() -> bool:
            return until is not None and time.monotonic() > until

        def batches() -> Iterator[RunBatch]:
            numbers = count()
            for one, missing in self._prepare(wanted, size, after):
                open_[one.number] = one
                for at in range(0, len(missing), BATCH):
                    mine = {next(numbers): one for one in missing[at : at + BATCH]}
                    asked.update(mine)
                    yield RunBatch(list(mine), [case for _, case in mine.values()], self._study.measure)
                ready.extend(self._complete(open_))
                look_after()
                if late():
                    return

        def take(ran: Ran) -> None:
            if ran.error is not None:
                raise StudyFailed(f"study {self._study.name}: {ran.error}")
            key, case = asked.pop(ran.number)
            self._rows[key] = row = row_of(case, ran)
            self._measured += 1
            try:
                self._kept.take(key, row, ran)
            except OSError as failure:
                raise StudyFailed(f"study {self._study.name}: {said(failure)}") from None
            ready.extend(self._complete(open_))

        def look_after() -> None:
            """Judges finished combinations, and reports the progress."""
            while self._here.others:
                news = self._here.others.popleft()
                if news.kind == "failed":
                    raise StudyFailed(f"study {self._study.name}: {news.value}")
                of = judging.pop(news.task)
                found[of.number] = tried = Tried(of.names, self._design.free(of.names), news.value)
                self._best = max(self._best, (tried.held, tried.checks))
            while ready and self._here.free:
                of = ready.popleft()
                judging[str(of.number)] = of
                rows = [{**self._rows[key], **keys} for key, keys in of.runs]
                called = " + ".join(of.names) or BASE
                self._here.begin(str(of.number), judge, self._study, called, rows, of.runs[0][1])
            if self._progress is not None:
                done = sum(of is not None for of in found)
                self._progress(SearchProgress(what, done, len(wanted), self.runs, *self._best))

        for over in share_out(self._runs, batches()):
            for ran in over:
                take(ran)
            if self._here is not self._runs:
                self._here.finished(0)
            look_after()
            if late():
                break
        while (ready or judging) and not late():
            self._here.finished(WAIT_S)
            look_after()
        if late():  # ends the work in hand
            self._here.stop()
            if self._make is not None:
                self._runs.stop()
                self._runs = self._make()
        return found

    def prune(self) -> None:
        """Removes runs that this search did not use."""
        self._kept.finish()
        self._kept.keep_only(self._rows)

    def _prepare(
        self, wanted: Sequence[Names], size: Size, after: int
    ) -> Iterator[tuple[_Wanted, list[tuple[str, Case]]]]:
        """Each combination with those of its runs that neither are there nor belong to one before."""
        base = self._keyed(self._design.joined(), size, after)
        under_way: set[str] = set()
        for number, names in enumerate(wanted):
            mine = self._keyed(self._design.joined(*names), size, after) if names else []
            runs = [*mine, *base]
            self._rows |= {key: self._stored[key] for key, _ in runs if key in self._stored}
            missing = {key: case for key, case in runs if key not in self._rows and key not in under_way}
            under_way |= missing.keys()
            keys = {key for key, _ in runs if key not in self._rows}
            yield (
                _Wanted(number, names, [(key, dict(case.keys)) for key, case in runs], keys),
                [*missing.items()],
            )

    def _keyed(self, variant: Variant[Any], size: Size, after: int) -> list[tuple[str, Case]]:
        """Its runs, each with the key of the inputs of its measures: the variant's name is none of them."""
        cases = [replace(case, keep_trace=False) for case in self._design.cases(variant, size, after)]
        plain = ({name: value for name, value in case.keys.items() if name != "variant"} for case in cases)
        keys = [
            self._fingerprints.case(replace(case, keys=mine), self._code)
            for case, mine in zip(cases, plain, strict=True)
        ]
        return list(zip(keys, cases, strict=True))

    def _complete(self, wanted: dict[int, _Wanted]) -> list[_Wanted]:
        """Takes out those whose runs are all there."""
        for one in wanted.values():
            one.missing = {key for key in one.missing if key not in self._rows}
        done = [number for number, one in wanted.items() if not one.missing]
        return [wanted.pop(number) for number in done]


def judge(_: Tell, study: Study, name: str, rows: Sequence[Row], keys: Mapping[str, Key]) -> list[Claim]:
    """A worker's task: the claims under a combination, from its own runs and the base's.

    ``keys`` are those of a run, whichever.
    """
    built = assembly(study)
    runs = pl.DataFrame(rows, infer_schema_length=None)
    return evaluate(built.claims, judged(runs, name, built.design, StudyPlan("fit", [Case(keys, {})], {})))
