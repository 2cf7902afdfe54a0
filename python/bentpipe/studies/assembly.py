"""The report of a paper, put together from its claims, figures, reasons and sections, and its files."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from bentpipe import _core
from bentpipe.files import replace_frame, replace_text
from bentpipe.studies import draw, page, readings
from bentpipe.studies.design import BASE, Design
from bentpipe.studies.explain import Explanation
from bentpipe.studies.judge import Findings, Sentence, evaluate, judged, sensitivity
from bentpipe.studies.places import Place
from bentpipe.studies.study import Outcome, Plan, Report, Section, Study, StudyResult

#: The file of the figures' words, by figure, with the study, the mode, its note, and the version.
WORDS = "figures.json"


def every_run(runs: pl.DataFrame) -> pl.DataFrame:
    """All of them."""
    return runs


@dataclass(frozen=True)
class Assembly:
    """The parts of a paper's report; calling it builds the report."""

    design: Design[Any, Any]
    #: In the order of the page.
    claims: Sequence[Sentence]
    explanation: Explanation
    #: The figures and tables of the paper; those that have a function are drawn, in the studies' style.
    places: Sequence[Place]
    #: The sections below the figures.
    sections: Callable[[Findings], list[Section]]
    #: The runs over which base and variants can be compared, of all that have the seeds of the variants.
    comparable: Callable[[pl.DataFrame], pl.DataFrame] = every_run

    def __call__(self, plan: Plan, outcome: Outcome) -> Report:
        """The report of a finished run."""
        runs, design = outcome.runs, self.design
        few = runs.filter(pl.col("seed") <= int(plan.settings["sensitivity_seeds"]))
        found = Findings(
            plan=plan,
            runs=runs,
            base=runs.filter(pl.col("variant") == BASE),
            traces=outcome.traces,
            claims=evaluate(self.claims, judged(runs, BASE, design, plan)),
            sensitivity=sensitivity(self.claims, design, plan, self.comparable(few)),
            open=[s.id for s in self.claims if s.open],
        )
        for claim in found.claims:
            self.explanation.add(claim, found)
        with draw.styled():
            figures = [place.draw(found) for place in self.places if place.draw is not None]
        sections = self.sections(found)
        free = next((s.free for s in sections if s.free is not None), None)
        whole = readings.read(self.claims, design, plan, runs, found.sensitivity, free)
        if (table := readings.section(whole)) is not None:
            sections.append(table)
        data = {"sensitivity": found.sensitivity.frame()}
        return Report(found.claims, figures, sections, data, whole.as_dict())


def write(study: Study, plan: Plan, outcome: Outcome, report: Report, out: Path) -> StudyResult:
    """Write ``OUT/index.html``, ``OUT/claims.json``, ``OUT/figures*`` and ``OUT/*.parquet``."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "figures").mkdir(exist_ok=True)
    files: list[Path] = []
    for fig in report.figures:
        files += draw.save(fig.draw, out / "figures" / fig.name)
        path = out / f"{fig.name}.parquet"
        replace_frame(path, fig.data)
        files.append(path)
    for name, frame in {"runs": outcome.runs, **report.data}.items():
        path = out / f"{name}.parquet"
        replace_frame(path, frame)
        files.append(path)
    claims = [claim.as_dict() for claim in report.claims]
    words = _words(study, plan, report)
    for name, data in {"claims.json": claims, "readings.json": report.readings, WORDS: words}.items():
        replace_text(out / name, json.dumps(data, indent=1, ensure_ascii=False) + "\n")
        files.append(out / name)
    index = out / "index.html"
    page.render(study, plan, outcome, report, out).write(index)
    files.append(index)
    return StudyResult(
        name=study.name,
        title=study.title,
        citation=study.citation,
        mode=plan.mode,
        note=str(plan.settings["note"]),
        runs=outcome.runs.height,
        packets=outcome.packets,
        cpu_s=outcome.cpu_s,
        claims=claims,
        readings=report.readings,
        previews=[_preview(report, name, out) for name in study.previews],
        page=index,
        files=files,
    )


def _words(study: Study, plan: Plan, report: Report) -> dict[str, Any]:
    figures = {f.name: {"title": f.title, "caption": f.caption, "alt": f.alt} for f in report.figures}
    of = {"study": study.name, "mode": plan.mode, "note": plan.settings["note"], "version": _core.__version__}
    return {**of, "figures": figures}


def _preview(report: Report, name: str, out: Path) -> tuple[str, str, Path]:
    for figure in report.figures:
        if figure.name == name:
            return figure.title, figure.alt, out / "figures" / f"{name}.svg"
    known = ", ".join(figure.name for figure in report.figures)
    raise ValueError(f"the study names {name} as a preview, which is none of its figures: {known}")
