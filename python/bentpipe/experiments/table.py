"""Experiments whose result is a table of runs as CSV, with a page and figures that are drawn from it.

A row has the numbers of one controller over one path with one seed, from one run or several. The table is
part of the repository, so a row that it has is not made again. Runs of rows that are not complete are stored
until then (`bentpipe.sweeps.kept`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import bentpipe as bp
from bentpipe.experiments.experiment import Experiment, case_of
from bentpipe.io import files
from bentpipe.io.files import read_rows, write_rows
from bentpipe.pages.page import contrast, rgb, written
from bentpipe.sweeps.case import Case

Row = TypeVar("Row")
CONTRAST = 2.2
"""Least contrast of a line with white. Pale colours are fine as areas and vanish as lines."""


class Key(NamedTuple):
    """What names a row."""

    path: str
    cc: str
    seed: int


class TableExperiment(Experiment, Generic[Row]):
    """An experiment of this kind.

    `measure` gives the columns that come from a run of a row. The name of the run is `case.settings["run"]`.

    Attributes:
        name: of the experiment, and of its files: NAME.csv, NAME.md.
        row: a dataclass; its fields are the columns, those of `Key` first.
    """

    row: type[Row]

    @abstractmethod
    def keys(self) -> Sequence[Key]:
        """The rows, in the order in which they are made; a quick experiment has some of them."""

    @abstractmethod
    def scenarios(self, key: Key) -> Mapping[str, bp.Scenario]:
        """The runs of a row by name. Files that they need are written into `lines`."""

    @abstractmethod
    def text(self, rows: Sequence[Row]) -> str:
        """The page."""

    @abstractmethod
    def draw(self, rows: Sequence[Row]) -> None:
        """Draws the figures; what the table does not have is run again for them."""

    @property
    def table(self) -> Path:
        """The file of the table."""
        return self.out / f"{self.name}.csv"

    @property
    def page(self) -> Path:
        """The file of the page."""
        return self.out / f"{self.name}.md"

    def read(self) -> list[Row]:
        """The rows of the table."""
        return [self.row(**cells) for cells in read_rows(self.table)]

    def write_table(self, rows: Iterable[Any]) -> None:
        """Writes the rows, sorted by path, controller and seed."""
        ordered = sorted(rows, key=lambda one: (one.path, one.cc, one.seed))
        write_rows(self.table, [asdict(one) for one in ordered])

    def stale(self) -> list[str]:
        """A line if the page is not that of the table."""
        same = self.page.read_text(encoding="utf-8") == self.text(self.read())
        return [] if same else [f"{self.page.name} does not agree with {self.table.name}"]

    def cases(self) -> list[Case]:
        """The runs of the rows that the table lacks."""
        there: list[Any] = self._there()
        known = {(one.path, one.cc, one.seed) for one in there}
        return [
            case_of(key._asdict(), scenario, run=name)
            for key in self.keys()
            if key not in known
            for name, scenario in self.scenarios(key).items()
        ]

    def keep(self, cases: Sequence[Case], rows: Mapping[int, Mapping[str, Any]]) -> None:
        """Writes the table with the rows whose runs are all there."""
        parts: dict[Key, dict[str, Any]] = {}
        for number, case in enumerate(cases):
            parts.setdefault(_key(case), {}).update(rows.get(number, {}))
        lacking = {_key(case) for number, case in enumerate(cases) if number not in rows}
        new = [self.row(**key._asdict(), **found) for key, found in parts.items() if key not in lacking]
        self.write_table([*self._there(), *new])

    def write(self, cases: Sequence[Case], rows: Sequence[Mapping[str, Any]]) -> list[Path]:  # noqa: ARG002
        """Writes page and figures of the table, which is there already."""
        if self.quick:
            return [self.table]
        self.write_page()
        self.draw(self.read())
        return [self.table, self.page]

    def write_page(self) -> None:
        """Writes the page of the table."""
        files.replace_text(self.page, self.text(self.read()))

    def _there(self) -> list[Row]:
        return self.read() if self.table.exists() and not self.fresh else []


def _key(case: Case) -> Key:
    return Key(str(case.keys["path"]), str(case.keys["cc"]), int(case.keys["seed"]))


def shown(mean: float, half: float, digits: int) -> str:
    """A mean, and the half of its interval unless that is not known or rounds to nothing."""
    return f"{mean:.{digits}f} ± {half:.{digits}f}" if half >= 0.5 * 10**-digits else f"{mean:.{digits}f}"


def line_colour(colour: str) -> str:
    """The same hue, as dark as a thin line or a small dot has to be."""
    red, green, blue = rgb(colour)
    share, darker = 1.0, (red, green, blue)
    while contrast(darker, (255, 255, 255)) < CONTRAST:
        share -= 0.02
        darker = round(share * red), round(share * green), round(share * blue)
    return written(darker)
