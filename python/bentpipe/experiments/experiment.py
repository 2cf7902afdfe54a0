"""Experiments of many runs that are no papers: one laboratory, one store and one lock for all of them.

An experiment names its cases, measures each run, and writes tables, pages and figures of what was measured.
Runs are measured as they are over, and are stored until everything is written (`bentpipe.sweeps.kept`), so an
interrupted experiment goes on.
"""

from __future__ import annotations

import json
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import bentpipe as bp
from bentpipe.sweeps.case import Case, Key
from bentpipe.sweeps.engine import Interrupted
from bentpipe.sweeps.execution import Ran
from bentpipe.sweeps.fingerprint import RowKeys
from bentpipe.sweeps.kept import FOLDER, Row
from bentpipe.sweeps.lab import Lab
from bentpipe.terminal.progress import State

Of = TypeVar("Of")


class Experiment(ABC):
    """An experiment, whose results are in a folder.

    Args:
        out: the folder; docs for the pages of the repository.
        quick: few runs, and tables alone.
        fresh: results that are there count for nothing.
        data: the folder with measured data that is not in the repository.

    Attributes:
        name: as `bentpipe study run` takes it.
    """

    name: ClassVar[str]

    def __init__(
        self, out: Path, *, quick: bool = False, fresh: bool = False, data: Path | None = None
    ) -> None:
        self.out, self.quick, self.fresh, self.data = out, quick, fresh, data
        self.lines = out / FOLDER / self.name / "lines"  # files that scenarios name; gone afterwards

    @abstractmethod
    def cases(self) -> Sequence[Case]:
        """The runs, in the order in which they are made.

        Raises:
            ScenarioError: data is missing or cannot be read.
        """

    @abstractmethod
    def measure(self, case: Case, result: bp.Result) -> Mapping[str, Any]:
        """The measures of a run: text, numbers, and lists and objects of them."""

    @abstractmethod
    def write(self, cases: Sequence[Case], rows: Sequence[Row]) -> list[Path]:
        """Writes what was measured, case by case; returns the files that a reader looks at first."""

    def keep(self, cases: Sequence[Case], rows: Mapping[int, Row]) -> None:  # noqa: B027
        """Writes what may be seen before all is finished; `rows` are by the numbers of their cases."""

    def stale(self) -> list[str]:
        """The parts of the page that are not those of its tables or of new runs, a line each."""
        return []

    @property
    def tables(self) -> Path:
        """The folder of tables. Those of a full experiment stay what they are."""
        return self.out if self.quick else self.out / "validation"

    def seeds(self, full: int) -> range:
        """The seeds of a full experiment, or the first two of them."""
        return range(1, (min(full, 2) if self.quick else full) + 1)

    def given(self, place: str | Path = "") -> Path:
        """A place in the folder of measured data.

        Raises:
            ScenarioError: there is no such folder.
        """
        found = (self.data or Path()) / place
        if self.data is None or not found.is_dir():
            raise bp.ScenarioError(f"--data: {found} is no directory; docs/starlink.md says how to get it")
        return found

    def run(self, *, workers: int = 0, progress: Callable[[State], None] | None = None) -> list[Path]:
        """Runs what the folder lacks, and writes the results; a full experiment has a page and figures, too.

        Returns:
            The table, and the page.

        Raises:
            Interrupted: the user stopped it; the same call goes on.
            RuntimeError: a run failed; what is finished is kept.
            ScenarioError: data is missing or cannot be read.
            OSError: nothing can be written.
        """
        work = self.lines.parent
        self.lines.mkdir(parents=True, exist_ok=True)
        cases = self.cases()
        with Lab(work / "runs", workers=workers, progress=progress, fresh=self.fresh) as lab:
            made = lab.rows(
                cases,
                self.measure_run,
                key=RowKeys(self.measure).of(cases),
                named=lambda case: f"{self.name}: {_named(case)}",
            )
            if not made.stopped:
                lab.prune()
        self.keep(cases, made.rows)
        if made.stopped:
            done = f"{len(made.rows):,} of {len(cases):,} runs are done and kept"
            raise Interrupted(f"{done}; the same command goes on from there")
        if made.failed:
            number, error = next(iter(made.failed.items()))
            raise RuntimeError(f"{_named(cases[number])}: {error}")
        written = self.write(cases, [made.rows[number] for number in range(len(cases))])
        shutil.rmtree(work)
        with suppress(OSError):  # another experiment has runs there
            work.parent.rmdir()
        return written

    def measure_run(self, case: Case, ran: Ran) -> Row:
        """`measure`, as a laboratory calls it."""
        assert ran.raw is not None, "registered controllers run in this process"
        return self.measure(case, bp.Result(ran.raw))


def case_of(keys: Mapping[str, Key], scenario: bp.Scenario, **settings: Key) -> Case:
    """A case of a scenario; `settings` are what its measure depends on beside it."""
    return Case(keys, json.loads(scenario.as_written()), settings=settings)


def over_seeds(
    cases: Sequence[Case], rows: Sequence[Row], of: Callable[[list[Row]], Of], key: str = "seed"
) -> dict[tuple[Key, ...], Of]:
    """What `of` makes of the rows with all seeds, or all values of another `key`, by the other keys."""
    found: dict[tuple[Key, ...], list[Row]] = {}
    for case, row in zip(cases, rows, strict=True):
        found.setdefault(tuple(value for name, value in case.keys.items() if name != key), []).append(row)
    return {others: of(runs) for others, runs in found.items()}


def _named(case: Case) -> str:
    return " ".join(map(str, case.keys.values()))
