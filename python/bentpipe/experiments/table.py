"""Experiments whose result is a table of runs as CSV, with a page and figures that are drawn from it.

A row has the numbers of one controller over one path with one seed, from one run or several. The table is
part of the repository, so a row that it has is not made again. Runs of rows that are not complete are stored
until then (`bentpipe.sweeps.kept`).
"""

from __future__ import annotations

import json
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import bentpipe as bp
from bentpipe import files
from bentpipe.progress import State
from bentpipe.stats import Mean
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.engine import Interrupted
from bentpipe.sweeps.execution import Ran
from bentpipe.sweeps.kept import FOLDER
from bentpipe.sweeps.measuring import measure_all
from bentpipe.sweeps.sources import code_version
from bentpipe.truth.writing import read_rows, write_rows

Row = TypeVar("Row")
STYLE: dict[Any, Any] = {
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "bentpipe",
    "svg.fonttype": "path",
}
"""Settings of matplotlib for the figures."""


class Key(NamedTuple):
    """What names a row."""

    path: str
    cc: str
    seed: int


class Table(ABC, Generic[Row]):
    """An experiment of this kind.

    Attributes:
        name: of the experiment, and of its files: NAME.csv, NAME.md.
        row: a dataclass; its fields are the columns, those of `Key` first.
    """

    name: ClassVar[str]
    row: type[Row]

    @abstractmethod
    def keys(self, *, quick: bool) -> Sequence[Key]:
        """The rows, in the order in which they are made; a quick experiment has some of them."""

    @abstractmethod
    def scenarios(self, key: Key, folder: Path) -> Mapping[str, bp.Scenario]:
        """The runs of a row by name. Files that they need are written into `folder`."""

    @abstractmethod
    def measure(self, key: Key, run: str, result: bp.Result) -> Mapping[str, float]:
        """The columns that come from this run of a row."""

    @abstractmethod
    def text(self, rows: Sequence[Row]) -> str:
        """The page."""

    @abstractmethod
    def draw(self, folder: Path, rows: Sequence[Row]) -> None:
        """Draws the figures into a folder; what the table does not have is run again for them."""

    def read(self, file: Path) -> list[Row]:
        """The rows of a table."""
        return [self.row(**cells) for cells in read_rows(file)]

    def write(self, file: Path, rows: Iterable[Any]) -> None:
        """Writes the rows, sorted by path, controller and seed."""
        write_rows(file, [asdict(one) for one in sorted(rows, key=lambda one: (one.path, one.cc, one.seed))])

    def stale(self, folder: Path) -> bool:
        """Whether the page in a folder is not that of the table there."""
        page = (folder / f"{self.name}.md").read_text(encoding="utf-8")
        return page != self.text(self.read(folder / f"{self.name}.csv"))

    def run(
        self,
        out: Path,
        *,
        quick: bool = False,
        fresh: bool = False,
        workers: int = 0,
        progress: Callable[[State], None] | None = None,
    ) -> list[Path]:
        """Makes the rows that `out/NAME.csv` lacks. A full experiment then has its page and figures.

        Returns:
            The table, and the page.

        Raises:
            Interrupted: the user stopped it; the same call goes on.
            RuntimeError: a run failed; what is complete is in the table.
            OSError: nothing can be written.
        """
        table, page, work = (
            out / place for place in (f"{self.name}.csv", f"{self.name}.md", f"{FOLDER}/{self.name}")
        )
        paths = work / "paths"
        paths.mkdir(parents=True, exist_ok=True)
        rows: list[Any] = self.read(table) if table.exists() and not fresh else []
        known = {(row.path, row.cc, row.seed) for row in rows}
        cases = [
            Case({**key._asdict(), "run": name}, json.loads(scenario.as_written()))
            for key in self.keys(quick=quick)
            if key not in known
            for name, scenario in self.scenarios(key, paths).items()
        ]
        code = code_version(self.measure)
        made = measure_all(
            cases,
            self._measured,
            place=work / "runs",
            code=lambda _: code,
            fresh=fresh,
            workers=workers,
            progress=progress,
            named=lambda case: f"{self.name}: {case.keys['path']}, seed {case.seed}",
        )
        parts: dict[Key, dict[str, Any]] = {}
        for number, case in enumerate(cases):
            parts.setdefault(_key(case), {}).update(made.rows.get(number, {}))
        lacking = {_key(case) for number, case in enumerate(cases) if number not in made.rows}
        rows += [self.row(**key._asdict(), **found) for key, found in parts.items() if key not in lacking]
        self.write(table, rows)
        if made.stopped:
            done = f"{len(made.rows):,} of {len(cases):,} runs are done and kept"
            raise Interrupted(f"{done}; the same command goes on from there")
        if made.failed:
            number, error = next(iter(made.failed.items()))
            raise RuntimeError(f"{' '.join(map(str, _key(cases[number])))}: {error}")
        if not quick:
            rows = self.read(table)  # as rounded there
            files.replace_text(page, self.text(rows))
            self.draw(out, rows)
        shutil.rmtree(work)
        with suppress(OSError):  # another experiment has runs there
            work.parent.rmdir()
        return [table] if quick else [table, page]

    def _measured(self, _: int, case: Case, ran: Ran) -> Mapping[str, float]:
        assert ran.raw is not None, "registered controllers run in this process"
        return self.measure(_key(case), str(case.keys["run"]), bp.Result(ran.raw))


def _key(case: Case) -> Key:
    return Key(str(case.keys["path"]), str(case.keys["cc"]), int(case.keys["seed"]))


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]], rule: str = "---:") -> str:
    """A table in Markdown; `rule` is below the heads of all columns but the first."""
    lines = [_line(*heads), "|---|" + f"{rule}|" * (len(heads) - 1), *(_line(*cells) for cells in rows)]
    return "".join(f"{text}\n" for text in lines)


def _line(*cells: str) -> str:
    """A row of a table in Markdown."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def shown(known: Mean, digits: int, scale: float = 1.0) -> str:
    """A mean times `scale`, and the half of its interval unless that rounds to nothing."""
    text, half = f"{scale * known.mean:.{digits}f}", scale * known.half_width
    return f"{text} ± {half:.{digits}f}" if known.n > 1 and half >= 0.5 * 10**-digits else text
