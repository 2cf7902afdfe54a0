"""One figure or table of one paper: from a finished run if there is one, else from those that ship."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from bentpipe import _core
from bentpipe.plot import looks
from bentpipe.studies import stored
from bentpipe.studies.assembly import WORDS
from bentpipe.studies.combinations import assembly
from bentpipe.studies.design import BASE, Design
from bentpipe.studies.job import StudyFailed, gather, keys_of, outcome_of
from bentpipe.studies.judge import Findings, Sensitivity, evaluate, judged
from bentpipe.studies.places import Place, PlaceKind, find
from bentpipe.studies.study import Case, Figure, Outcome, Study, StudyPlan
from bentpipe.studies.text import from_json, sentences
from bentpipe.sweeps.kept import FOLDER as RUNS
from bentpipe.sweeps.lab import Lab

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MplFigure

#: The folder to which `bentpipe study run` writes, and `show` looks for a finished run.
FINISHED = Path("out/studies")
#: The endings of the files that can be written.
ENDINGS = (".png", ".svg", ".pdf", ".csv")
#: Most seeds without a finished run.
SEEDS = 4

__all__ = ["ENDINGS", "FINISHED", "Shown", "show"]


@dataclass(frozen=True)
class Shown:
    """A figure or table of a paper, ready to be written."""

    study: str
    place: Place
    title: str
    caption: str
    #: The numbers that it shows; of a table, its cells.
    data: pl.DataFrame
    #: Its source, and the number of seeds of that.
    source: str
    #: The claims that judge it, as ``claims.json`` has them.
    claims: Sequence[Mapping[str, Any]]
    #: It drawn, unless it is in `files`.
    drawn: MplFigure | None = None
    #: By ending, the files of a finished run.
    files: Mapping[str, Path] = field(default_factory=dict)

    def write(self, path: Path | str) -> Path:
        """Write it as PNG, SVG, PDF or CSV, by the ending of the name.

        Raises:
            ScenarioError: the ending is another.
            OSError: it cannot be written.
        """
        from bentpipe.studies import draw

        path = Path(path)
        check_ending(path)
        if path.suffix == ".csv":
            self.data.write_csv(path)
        elif path.suffix in self.files:
            shutil.copyfile(self.files[path.suffix], path)
        elif self.drawn is not None:
            draw.save_as(self.drawn, path)
        return path

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without the data."""
        return {
            "study": self.study,
            "name": self.place.name,
            "title": self.title,
            "caption": self.caption,
            "source": self.source,
            "claims": list(self.claims),
        }


def check_ending(path: Path) -> None:
    """Raises ScenarioError if `Shown.write` cannot write a file of this name."""
    if path.suffix not in ENDINGS:
        raise _core.ScenarioError(
            f"-o {path}: the name must end in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
        )


def show(
    study: Study,
    kinds: Sequence[PlaceKind],
    number: str,
    mode: str | None = None,
    finished: Path = FINISHED,
    *,
    workers: int = 0,
    fresh: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Shown:
    """A figure or table of a paper.

    Args:
        study: of the paper.
        kinds: the kinds that it may be.
        number: as the paper counts it, or the name of one of our own figures.
        mode: how many seeds, ``"quick"`` or ``"full"``; None: a finished run as it is, else the runs that
            ship, which have all seeds.
        finished: the folder to which `bentpipe study run` wrote; the figure of a finished run is used if it
            is there. At another size than that of a paper (`bentpipe.plot.sized`) it is drawn again from the
            kept runs.
        workers: processes; 0: one per processor.
        fresh: run what it needs, quick unless `mode` says otherwise.
        progress: called with the number of runs done and the total.

    Raises:
        ScenarioError: the paper has no such figure or table, or nothing is drawn of it.
        StudyFailed: a run failed.
    """
    try:
        place = find(study.places(), kinds, number)
    except ValueError as wrong:
        raise _core.ScenarioError(f"{study.name} has {wrong}") from None
    if not place.given:
        raise _core.ScenarioError(f"{study.name}, {place.title}: nothing is drawn; {place.why}")
    for folder in () if fresh else (finished / study.name, finished):
        if (kept := _kept(study, place, mode, folder)) is not None:
            return kept
    ships = place.needs is not None and not fresh and mode != "quick"
    there = stored.read(study, place) if ships else None
    if there is not None:
        source = f"From stored runs of bentpipe {there.version}: {_ran(there.runs)}; --fresh runs again."
        return _given(study, place, there.plan, there.runs, there.traces, source)
    return _made(study, place, mode or "quick", workers, progress)


def _kept(study: Study, place: Place, mode: str | None, folder: Path) -> Shown | None:
    """Its version in a finished run; None if there is no run, or it is of another mode."""
    try:
        words = json.loads((folder / WORDS).read_text(encoding="utf-8"))
        if words["study"] != study.name or (mode or words["mode"]) != words["mode"]:
            return None
        claims = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
        mine = [claim for claim in claims if claim["id"] in place.claims]
        source = f"{words['mode'].capitalize()} run in {folder}, bentpipe {words['version']}. {words['note']}"
        if place.draw is None:
            plan, runs = study.plan(words["mode"]), pl.read_parquet(folder / "runs.parquet")
            return _tabled(study, place, findings(plan, runs, pl.DataFrame()), source, mine)
        of = words["figures"][place.name]
        files = {end: folder / "figures" / f"{place.name}{end}" for end in ENDINGS[:-1]}
        data = pl.read_parquet(folder / f"{place.name}.parquet")
        if not all(path.exists() for path in files.values()):
            return None
        again = None if looks.size() == looks.SIZES["paper"] else _again(study, place, words["mode"], folder)
    except (OSError, ValueError, KeyError):
        return None
    files = files if again is None else {}
    caption = sentences(from_json(of["caption"]))
    return Shown(study.name, place, of["title"], caption, data, source, mine, again, files)


def _again(study: Study, place: Place, mode: str, folder: Path) -> MplFigure:
    """The figure of a finished run, drawn from its kept runs in the size of now.

    Raises:
        KeyError: a run that it needs is not there, or is one of other code.
        ScenarioError: a file of the runs is damaged.
    """
    plan = study.plan(mode)
    cases = [case for case in plan.cases if place.uses(case.keys)]
    outcome = gather(folder / RUNS / mode, cases, keys_of(study, cases))
    return _drawn(place, findings(plan, outcome.runs, outcome.traces)).draw


def _made(
    study: Study, place: Place, mode: str, workers: int, progress: Callable[[int, int], None] | None
) -> Shown:
    """It from the runs that it needs."""
    plan = study.plan(mode) if mode == "full" else few(assembly(study).design)
    cases = [case for case in plan.cases if place.uses(case.keys)]
    outcome = run_some(study, cases, workers, progress)
    more = "; --full runs all seeds" if mode != "full" and cases else ""
    source = f"{_ran(outcome.runs)}{more}. bentpipe {_core.__version__}."
    return _given(study, place, plan, outcome.runs, outcome.traces, source)


def _ran(runs: pl.DataFrame) -> str:
    """How many runs, and which seeds, in words."""
    if not runs.height:
        return "Closed forms, no runs"
    return f"{runs.height:,} runs, seeds {runs['seed'].min()!s} to {runs['seed'].max()!s}"


def _given(
    study: Study, place: Place, plan: StudyPlan, runs: pl.DataFrame, traces: pl.DataFrame, source: str
) -> Shown:
    """It from runs in memory."""
    found = findings(plan, runs, traces)
    # The place names the runs that its claims need; closed forms need none.
    about = [replace(s, about=None) for s in assembly(study).claims if s.id in place.claims]
    rows = judged(runs, BASE, assembly(study).design, plan) if runs.height else runs
    claims = [claim.as_dict() for claim in evaluate(about, rows)]
    if place.draw is None:
        return _tabled(study, place, found, source, claims)
    figure = _drawn(place, found)
    caption = sentences(figure.caption)
    return Shown(study.name, place, figure.title, caption, figure.data, source, claims, figure.draw)


def _drawn(place: Place, found: Findings) -> Figure:
    """It in the size of now."""
    from bentpipe.studies import draw

    assert place.draw is not None
    with draw.styled():
        figure: Figure = place.draw(found)
        draw.enlarge(figure.draw)
    return figure


def few(design: Design[Any, Any]) -> StudyPlan:
    """The quick plan of a paper with `SEEDS` seeds at most."""
    size = design.sizes["quick"].bounded(SEEDS)
    return design.plan_of("quick", size, [variant for variant in design.variants if variant.quick])


def _tabled(
    study: Study, place: Place, found: Findings, source: str, claims: Sequence[Mapping[str, Any]]
) -> Shown:
    from bentpipe.studies import draw

    assert place.table is not None
    table = place.table(found)
    cells = [[str(cell) for cell in row] for row in table.rows]
    # A header may name two columns alike ("paper"), which a frame may not.
    heads = [
        name if table.header.count(name) == 1 else f"{name} ({i})" for i, name in enumerate(table.header, 1)
    ]
    data = pl.DataFrame(cells, schema=heads, orient="row")
    title = f"{place.title.capitalize()}. {place.shows[0].upper()}{place.shows[1:]}."
    drawn = draw.table(list(table.header), cells)
    return Shown(study.name, place, title, table.caption, data, source, claims, drawn)


def findings(plan: StudyPlan, runs: pl.DataFrame, traces: pl.DataFrame) -> Findings:
    """The data that drawing needs from some runs; no claim is judged."""
    base = runs.filter(pl.col("variant") == BASE) if runs.height else runs
    nothing = Sensitivity([], {}, {})
    return Findings(plan, runs, base, traces, claims=[], sensitivity=nothing, open=[])


def run_some(
    study: Study,
    cases: Sequence[Case],
    workers: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Outcome:
    """The outcome of some cases of a study, kept in memory.

    Raises:
        StudyFailed: a run failed; the message is one line.
    """
    over = {}
    with Lab(workers=workers) as lab:
        for some in lab.each(cases, far=study.measure):
            for ran in some:
                if ran.error is not None:
                    raise StudyFailed(f"study {study.name}: {ran.error}")
                over[ran.number] = ran
            if progress is not None:
                progress(len(over), len(cases))
    return outcome_of(cases, [over[i] for i in range(len(cases))])
