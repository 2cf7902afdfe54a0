"""Combinations of choices, and the claims under each, for `bentpipe study fit`.

Runs with the same scenario are run once, whatever combinations they belong to. Finished work is on disk, so
that the same search, given again, takes it over. The results do not depend on the number of workers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from bentpipe.studies.assembly import Assembly
from bentpipe.studies.claim import Claim, Standing
from bentpipe.studies.design import BASE, Size, Variant
from bentpipe.studies.job import StudyFailed, Tell, row_of
from bentpipe.studies.judge import RANK, evaluate, judged
from bentpipe.studies.study import Case, Key, Loaded, Study, StudyPlan
from bentpipe.sweeps.fingerprint import RowKeys
from bentpipe.sweeps.kept import Row
from bentpipe.sweeps.lab import Lab
from bentpipe.sweeps.lot import Lot, Then
from bentpipe.terminal.progress import SearchProgress

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


class Combinations:
    """Judges combinations.

    Args:
        study: the study whose choices are combined.
        lab: makes and keeps the runs.
        progress: called with the state of the search.
    """

    def __init__(
        self, study: Study, lab: Lab, progress: Callable[[SearchProgress], None] | None = None
    ) -> None:
        assert lab.kept is not None
        self._study, self._lab, self._kept, self._progress = study, lab, lab.kept, progress
        self._design = assembly(study).design
        self._keys = RowKeys(study.measure)
        self._best = (0, 0)

    @property
    def runs(self) -> int:
        """Runs that are done."""
        return len(self._kept.done & self._kept.wanted)

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
            ScenarioError: the executor cannot be used.
            StudyFailed: a run or a check could not be done; the message is one line.
        """
        found: list[Tried | None] = [None] * len(wanted)
        lots: list[Lot] = []

        def late() -> bool:
            return until is not None and time.monotonic() > until

        def look_after() -> None:
            """Takes the claims of judged combinations, and reports the progress."""
            for number, lot in enumerate(lots):
                if lot.error:
                    raise StudyFailed(f"study {self._study.name}: {lot.error}")
                if lot.result is not None and found[number] is None:
                    names = wanted[number]
                    found[number] = tried = Tried(names, self._design.free(names), lot.result)
                    self._best = max(self._best, (tried.held, tried.checks))
            if self._progress is not None:
                done = sum(tried is not None for tried in found)
                self._progress(SearchProgress(what, done, len(wanted), self.runs, *self._best))

        def combinations() -> Iterator[Lot]:
            base = self._keyed(self._design.joined(), size, after)
            for names in wanted:
                if late():
                    return
                mine = self._keyed(self._design.joined(*names), size, after) if names else []
                lots.append(self._lot(names, [*mine, *base]))
                yield lots[-1]
                look_after()

        for _ in self._lab.work(combinations()):
            look_after()
            if late():
                break
        return found

    def _lot(self, names: Names, runs: Sequence[tuple[str, Case]]) -> Lot:
        """The runs of a combination, each with its key; the last are the base's."""
        named = [(key, case.keys) for key, case in runs]

        def then() -> Then:
            rows = [{**self._kept.rows[key], **keys} for key, keys in named]
            return judge, self._study, " + ".join(names) or BASE, rows, named[0][1]

        return Lot(
            [case for _, case in runs], row_of, far=self._study.measure,
            key=[key for key, _ in runs].__getitem__, then=then, kept=self._kept,
        )  # fmt: skip

    def _keyed(self, variant: Variant[Any], size: Size, after: int) -> list[tuple[str, Case]]:
        """Its runs, each with the key of the inputs of its measures: the variant's name is none of them."""
        cases = [replace(case, keep_trace=False) for case in self._design.cases(variant, size, after)]
        plain = ({name: value for name, value in case.keys.items() if name != "variant"} for case in cases)
        keys = [self._keys.case(replace(case, keys=mine)) for case, mine in zip(cases, plain, strict=True)]
        return list(zip(keys, cases, strict=True))


def judge(_: Tell, study: Study, name: str, rows: Sequence[Row], keys: Mapping[str, Key]) -> list[Claim]:
    """A worker's task: the claims under a combination, from its own runs and the base's.

    ``keys`` are those of a run, whichever.
    """
    built = assembly(study)
    runs = pl.DataFrame(rows, infer_schema_length=None)
    return evaluate(built.claims, judged(runs, name, built.design, StudyPlan("fit", [Case(keys, {})], {})))
