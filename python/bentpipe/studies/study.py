"""A study and its parts: its runs, the measures of each run, and the report drawn from them.

The study of a paper is a package (`bentpipe.studies.paper`). The framework (`bentpipe.studies.run`) runs the
cases of a study on all cores, calls ``measure`` on each, hands the table to ``report``, and writes figures,
data, claims and page. That happens in worker processes, so the functions of a study are functions of modules
that can be imported, not local ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe.sweeps.case import Case, Key

__all__ = ["Case", "Key"]

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure as MplFigure

    from bentpipe.studies.claim import Claim
    from bentpipe.studies.places import Place
    from bentpipe.studies.text import Block, Table, Text

#: Scalars measured in one run.
Measures = dict[str, Key]


@dataclass(frozen=True)
class StudyPlan:
    """The runs of a study in one mode. ``settings`` are the numbers that the page and the captions quote."""

    mode: str
    cases: Sequence[Case]
    settings: Mapping[str, Key]


@dataclass
class Outcome:
    """All runs done. ``runs``: one row per case, keys then measures. ``traces``: kept traces with keys."""

    runs: pl.DataFrame
    traces: pl.DataFrame
    packets: int
    #: Processor time of all runs, s.
    cpu_s: float
    warnings: list[str]


@dataclass
class Figure:
    """A figure with its caption, the text alternative, and the data that it shows."""

    name: str
    title: str
    caption: Text
    alt: str
    draw: MplFigure
    data: pl.DataFrame


@dataclass
class Section:
    """A section of the page: paragraphs, then tables."""

    title: str
    paragraphs: Sequence[Block] = ()
    tables: Sequence[Table] = ()
    #: Free choices of the base, if the section lists them.
    free: int | None = None


@dataclass
class Report:
    """The report of a study on its outcome."""

    claims: list[Claim]
    figures: list[Figure]
    sections: list[Section]
    data: dict[str, pl.DataFrame] = field(default_factory=dict)
    #: The joint readings, as `bentpipe.studies.readings.Readings.as_dict` gives them.
    readings: dict[str, Any] = field(default_factory=dict)
    #: Names of one or two figures that represent the study beside others.
    previews: Sequence[str] = ()


@dataclass(frozen=True)
class Loaded:
    """A value of a module, by its dotted name; the module is loaded, with matplotlib, when it is used."""

    module: str
    name: str

    @property
    def value(self) -> Any:
        """The value."""
        return attrgetter(self.name)(import_module(self.module))

    def __call__(self, *given: Any) -> Any:
        """The answer of the value, a function, to some arguments; without any the value itself."""
        return self.value(*given) if given else self.value


@dataclass(frozen=True)
class Study:
    """A published experiment.

    ``plan(mode)`` gives the runs, ``measure(case, result, trace)`` the scalars of one run (``result`` is the
    object of ``bentpipe run --json``; ``trace`` is None if the scenario records none), ``report(plan,
    outcome)`` the rest.
    """

    name: str
    title: str
    citation: str
    summary: str
    plan: Callable[[str], StudyPlan]
    measure: Callable[[Case, Mapping[str, Any], pl.DataFrame | None], Measures]
    report: Callable[[StudyPlan, Outcome], Report]
    #: Every figure and table of the paper, and our version of it; none if the study is of no paper.
    places: Callable[[], Sequence[Place]] = tuple


@dataclass
class StudyResult:
    """A finished study: the claims as plain dicts, the page, and every file written."""

    name: str
    title: str
    citation: str
    mode: str
    note: str
    runs: int
    packets: int
    #: Processor time of the runs, s.
    cpu_s: float
    claims: list[dict[str, Any]]
    #: The figures that represent the study where it is one of several: title, text alternative, SVG file.
    previews: list[tuple[str, str, Path]]
    page: Path
    files: list[Path]
    #: `Report.readings`.
    readings: dict[str, Any] = field(default_factory=dict)
