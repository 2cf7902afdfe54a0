"""An experiment of many runs: its cases, the measures of a run, and the tables, pages and figures of all.

One laboratory makes the runs of all experiments (`bentpipe.sweeps.lab`). It stores the rows of runs as they
are over, until everything is written, so an interrupted experiment goes on.
"""

from __future__ import annotations

import json
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import bentpipe as bp
from bentpipe.experiments.rows import Rows
from bentpipe.io.files import replace_text, stored_rows, write_rows
from bentpipe.sweeps.case import Case, Key
from bentpipe.sweeps.engine import Interrupted
from bentpipe.sweeps.execution import Ran
from bentpipe.sweeps.fingerprint import RowKeys
from bentpipe.sweeps.kept import FOLDER, Row
from bentpipe.sweeps.lab import Lab, Made
from bentpipe.terminal.progress import State

if TYPE_CHECKING:
    from matplotlib.figure import Figure


KEYS = ("path", "cc", "seed")
"""What names a row of a table: a path, an algorithm, also with parameters, and a seed."""


class Experiment(ABC):
    """An experiment, whose results are in a folder.

    One with `columns` has a table NAME.csv of its rows, and a page NAME.md and figures of the table. The
    table is part of the repository, so a row that it has is not made again. Others write what they like.

    Args:
        out: the folder; docs for the pages of the repository.
        quick: few runs, and tables alone.
        fresh: results that are there count for nothing.
        data: the folder with measured data that is not in the repository.

    Attributes:
        name: as `bentpipe study run` takes it.
        columns: the measures of a row of the table, in words, which follow its `KEYS`. They may come from
            several runs with these keys.
    """

    name: ClassVar[str]
    columns: ClassVar[Mapping[str, str]] = {}

    def __init__(
        self, out: Path, *, quick: bool = False, fresh: bool = False, data: Path | None = None
    ) -> None:
        self.out, self.quick, self.fresh, self.data = out, quick, fresh, data
        self.lines = out / FOLDER / self.name / "lines"  # files that scenarios name; gone afterwards
        self.table, self.page = out / f"{self.name}.csv", out / f"{self.name}.md"

    @abstractmethod
    def cases(self) -> Sequence[Case]:
        """All runs, in the order in which they are made; a quick experiment has some of them.

        Raises:
            ScenarioError: data is missing or cannot be read.
        """

    @abstractmethod
    def measure(self, case: Case, result: Any) -> Row:
        """The measures of a run, whose result is as `observed` gives it: text, numbers, lists, objects."""

    def text(self, rows: Rows) -> str:  # noqa: ARG002
        """The page of the table."""
        return ""

    def views(self, rows: Rows) -> Iterable[tuple[str, Figure]]:  # noqa: ARG002
        """The figures of the table, each with the name of its file; runs that it lacks are made for them."""
        return ()

    def read(self) -> Rows:
        """The rows of the table."""
        return Rows(stored_rows(self.table) if self.columns else ())

    def finish(self, rows: Rows) -> list[Path]:
        """Writes what was measured, in the order of the cases; returns the files that a reader wants first.

        A full experiment has a page and figures, too.
        """
        ordered = sorted(rows, key=lambda row: [row[key] for key in KEYS])
        write_rows(self.table, [{name: row[name] for name in (*KEYS, *self.columns)} for row in ordered])
        if self.quick:
            return [self.table]
        self.write_page()
        self.draw(self.out)
        return [self.table, self.page]

    def draw(self, folder: Path) -> None:
        """Draws the figures of the table into a folder."""
        from bentpipe.plot import looks

        with looks.fixed(looks.PAGE | looks.LETTERS):
            for name, figure in self.views(self.read()):
                looks.write(figure, folder / name)

    def write_page(self) -> None:
        """Writes the page of the table."""
        replace_text(self.page, self.text(self.read()))

    def stale(self) -> list[str]:
        """The parts of the page that are not those of its table or of new runs, a line each."""
        if not self.columns or self.page.read_text(encoding="utf-8") == self.text(self.read()):
            return []
        return [f"{self.page.name} does not agree with {self.table.name}"]

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
        every = self.cases()
        there = Rows() if self.fresh else self.read()
        known = there.groups(*every[0].keys) if every else {}
        cases = [case for case in every if tuple(case.keys.values()) not in known]
        made = self.make(cases, work / "runs", workers=workers, progress=progress, fresh=self.fresh)
        if made.stopped:
            done = f"{len(made.rows):,} of {len(cases):,} runs are done and kept"
            raise Interrupted(f"{done}; the same command goes on from there")
        if made.failed:
            number, error = next(iter(made.failed.items()))
            raise RuntimeError(f"{_named(cases[number])}: {error}")
        written = self.finish(Rows([*there, *joined(cases, made)]))
        shutil.rmtree(work)
        with suppress(OSError):  # another experiment has runs there
            work.parent.rmdir()
        return written

    def make(self, cases: Sequence[Case], place: Path | None = None, **lab: Any) -> Made:
        """Makes the runs that the store in `place` lacks; `lab` are further arguments of `Lab`."""
        keys = cache(RowKeys)
        with Lab(place, **lab) as laboratory:
            made = laboratory.rows(
                cases,
                lambda case, ran: self.measure(case, self.observed(case, ran)),
                key=lambda number: keys(self.measured_by(cases[number])).case(cases[number]),
                named=self.named,
            )
            if not made.stopped:
                laboratory.prune()
        return made

    def observed(self, case: Case, ran: Ran) -> Any:  # noqa: ARG002
        """The result of a run."""
        assert ran.raw is not None, "registered controllers run in this process"
        return bp.Result(ran.raw)

    def measured_by(self, case: Case) -> Callable[..., Any]:  # noqa: ARG002
        """The function in whose module the measures of a run are."""
        return self.measure

    def named(self, case: Case) -> str:
        """The name of the work on a run, for people."""
        return f"{self.name}: {_named(case)}"


def case_of(keys: Mapping[str, Key], scenario: bp.Scenario, **settings: Key) -> Case:
    """A case of a scenario; `settings` are what its measure depends on beside it."""
    return Case(keys, json.loads(scenario.as_written()), settings=settings)


def joined(cases: Sequence[Case], made: Made) -> Rows:
    """The rows of runs with their keys; those of runs with the same keys are one row."""
    rows: dict[tuple[Key, ...], dict[str, Any]] = {}
    for number, case in enumerate(cases):
        rows.setdefault(tuple(case.keys.values()), dict(case.keys)).update(made.rows[number])
    return Rows(rows.values())


def _named(case: Case) -> str:
    return " ".join(map(str, case.keys.values()))
