"""The report of a paper, put together from its claims, figures, reasons and sections, and its files.

Each verdict is explained in words: by its own reason, and by the effect of the other choices.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from bentpipe import _core
from bentpipe.io.files import replace_frame, replace_text
from bentpipe.studies import chance, draw, page, readings
from bentpipe.studies.claim import FAILING, Claim, Tolerance, Verdict
from bentpipe.studies.design import BASE, Design
from bentpipe.studies.judge import Findings, Sensitivity, Sentence, evaluate, judged, sensitivity
from bentpipe.studies.page import plain, shown
from bentpipe.studies.places import Place
from bentpipe.studies.study import Outcome, Report, Section, Study, StudyPlan, StudyResult
from bentpipe.studies.text import Block, as_json, listing
from bentpipe.web.link import BESIDE

#: The file of the figures' words, by figure, with the study, the mode, its note, and the version.
WORDS = "figures.json"
#: A sentence names at most this many choices one by one.
NAMED = 4


def fares(claim: Claim, sensitivity: Sensitivity) -> list[Block]:
    """A sentence: under which other choices a claim fares worse if it reproduces, and better if not."""
    steps = sensitivity.compared(claim)
    if claim.verdict == Verdict.REPRODUCED:
        worse = sensitivity.listed(claim.id, [name for name, step in steps.items() if step < 0])
        return [
            listing("It fares worse with", worse)
            if worse
            else "It reproduces under every other choice tried."
        ]
    better = sensitivity.listed(claim.id, [name for name, step in steps.items() if step > 0])
    if better:
        return [listing("Of the other choices tried, it fares better with", better)]
    return ["No other choice tried (last section) gives a better verdict."]


def fares_both_ways(claim: Claim, sensitivity: Sensitivity) -> list[Block]:
    """Sentences: under which other choices a claim fares better and under which worse, over their seeds."""
    base = sensitivity.claim("base", claim.id)
    assert base is not None
    steps = sensitivity.compared(base)
    said: list[Block] = []
    seeds = f"the {base.checks[0].measured.n} seeds of the last section"
    begins = f"Over {seeds} ({base.verdict} in the base) it fares"
    for what, end, sign in (("better", Verdict.REPRODUCED, 1), ("worse", Verdict.NOT_REPRODUCED, -1)):
        if names := [name for name, step in steps.items() if step * sign > 0]:
            said.append(listing(f"{begins} {what} with", sensitivity.listed(claim.id, names)))
        elif base.verdict != end:
            said.append(f"{begins} {what} under no other choice tried.")
        begins = "It fares" if said else begins
    return said


@dataclass(frozen=True)
class Explanation:
    """The text around the reasons of a paper's claims."""

    #: Whether a reason's clause is in the note only if some check of the claim fails.
    clause_if_failing: bool = False
    #: Whether the paragraphs begin with a list of the checks that fail.
    lists_failing: bool = False
    #: Whether the note of a claim that reproduces gives the number of choices under which it does.
    counts_choices: bool = False
    #: The last paragraph: how the claim fares under the other choices.
    fares: Callable[[Claim, Sensitivity], list[Block]] = fares

    def add(self, claim: Claim, sentence: Sentence, found: Findings) -> None:
        """Write the note (short) and the detail (for the page) of a claim."""
        clause, paragraphs = sentence.reason(found)
        failing = [c.what for c in claim.counted if not c.holds]
        is_open = claim.id in found.open
        notes = ["quoted by the paper, not judged"] if claim.reference else [claim.tally()]
        if claim.verdict in (Verdict.SAME_ORDER, Verdict.NOT_REPRODUCED):
            claim.cause = sentence.cause
            notes.append(claim.cause)
        if claim.verdict == Verdict.UNDECIDED:
            notes.append(f"more seeds would tell: {' or '.join(claim.possible)}")
        if clause and (failing or not is_open or not self.clause_if_failing):
            notes.append(clause)
        if failing and self.lists_failing:
            claim.detail.append(listing(FAILING, failing))
        claim.detail += paragraphs
        under = found.sensitivity
        if is_open and under.variants:
            if nearest_choice := nearest(claim, under):
                notes.append(nearest_choice)
            if self.counts_choices and claim.verdict == Verdict.REPRODUCED:
                steps = under.compared(claim).values()
                notes.append(f"also under {sum(s >= 0 for s in steps)} of {len(steps)} other choices")
            claim.tried = tried(claim, under)
            claim.detail += self.fares(claim, under)
        claim.note = "; ".join(notes)


def tried(claim: Claim, sensitivity: Sensitivity) -> list[list[str]]:
    """`Claim.tried`: the value of each check that does not hold under the other choices that ran it."""
    under = sensitivity.partly(claim.id)
    rows = []
    for position, check in enumerate(claim.checks):
        values = {name: other.counterpart(claim, position) for name, other in under.items()}
        found = {name: c for name, c in values.items() if c is not None}
        if check.holds or not check.counted or not found:
            continue
        means = [c.measured.centre for c in found.values()]
        met = [name for name, c in found.items() if c.holds]
        some = "; ".join(sensitivity.choices[n] for n in met[:NAMED]) or "none"
        more = f" and {len(met) - NAMED} more" if len(met) > NAMED else ""
        span = plain(means[0]) if len(means) == 1 else f"{plain(min(means))} to {plain(max(means))}"
        here = plain(check.measured.centre)
        rows.append([check.what, shown(check.paper), here, f"{span} ({_choices(len(means))})", some + more])
    return rows


def nearest(claim: Claim, sensitivity: Sensitivity) -> str:
    """A clause for the note of a claim that does not reproduce: under which choice most checks hold."""
    under = sensitivity.under(claim.id)
    base = sensitivity.claim("base", claim.id)
    if claim.verdict == Verdict.REPRODUCED or not under or base is None:
        return ""
    share = {name: of.held / len(of.counted) for name, of in under.items()}
    best = max(share, key=lambda name: share[name])
    tried = f"{_choices(len(under))} tried"
    if share[best] <= base.held / len(base.counted):
        return f"{tried}, none comes nearer"
    return f"{tried}, nearest with: {sensitivity.choices[best]} ({under[best].tally()})"


def _choices(count: int) -> str:
    return f"{count} other {'choice' if count == 1 else 'choices'}"


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
    comparable: Callable[[pl.DataFrame], pl.DataFrame] = pl.DataFrame.clone
    #: The part of the kept traces that figures show.
    drawn: Callable[[pl.DataFrame], pl.DataFrame] = pl.DataFrame.clear
    #: The numbers of ours that decide its checks.
    limits: Sequence[Tolerance] = ()
    #: Names of one or two figures that represent the study beside others.
    previews: Sequence[str] = ()

    def findings(self, plan: StudyPlan, outcome: Outcome) -> Findings:
        """The runs, and the claims judged by them, not yet explained."""
        runs, design = outcome.runs, self.design
        few = runs.filter(pl.col("seed") <= int(plan.settings["sensitivity_seeds"]))
        return Findings(
            plan=plan,
            runs=runs,
            base=runs.filter(pl.col("variant") == BASE),
            traces=outcome.traces,
            claims=evaluate(self.claims, judged(runs, BASE, design, plan)),
            sensitivity=sensitivity(self.claims, design, plan, self.comparable(few)),
            open=[s.id for s in self.claims if s.open],
        )

    def __call__(self, plan: StudyPlan, outcome: Outcome) -> Report:
        """The report of a finished run."""
        found, runs, design = self.findings(plan, outcome), outcome.runs, self.design
        sentences = {sentence.id: sentence for sentence in self.claims}
        for claim in found.claims:
            self.explanation.add(claim, sentences[claim.id], found)
        with draw.styled():
            figures = [place.draw(found) for place in self.places if place.draw is not None]
        sections = self.sections(found)
        free = next((s.free for s in sections if s.free is not None), None)
        whole = readings.read(self.claims, design, plan, runs, found.sensitivity, free)
        if (table := readings.section(whole)) is not None:
            sections.append(table)
        data = {"sensitivity": found.sensitivity.frame()}
        return Report(found.claims, figures, sections, data, whole.as_dict(), self.previews)


def write(study: Study, plan: StudyPlan, outcome: Outcome, report: Report, out: Path) -> StudyResult:
    """Write ``OUT/index.html``, ``OUT/claims.json``, ``OUT/figures*`` and ``OUT/*.parquet``."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "figures").mkdir(exist_ok=True)
    for claim in report.claims:
        claim.chances = chance.known(study.name, claim)
    files = [path for fig in report.figures for path in draw.save(fig.draw, out / "figures" / fig.name)]
    frames = {fig.name: fig.data for fig in report.figures} | {"runs": outcome.runs, **report.data}
    for name, frame in frames.items():
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
    files += [path for path in (index, out / BESIDE) if path.is_file()]
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
        previews=[_preview(report, name, out) for name in report.previews],
        page=index,
        files=files,
    )


def _words(study: Study, plan: StudyPlan, report: Report) -> dict[str, Any]:
    figures = {
        f.name: {"title": f.title, "caption": as_json(f.caption), "alt": f.alt} for f in report.figures
    }
    of = {"study": study.name, "mode": plan.mode, "note": plan.settings["note"], "version": _core.__version__}
    return {**of, "figures": figures}


def _preview(report: Report, name: str, out: Path) -> tuple[str, str, Path]:
    for figure in report.figures:
        if figure.name == name:
            return figure.title, figure.alt, out / "figures" / f"{name}.svg"
    known = ", ".join(figure.name for figure in report.figures)
    raise ValueError(f"the study names {name} as a preview, which is none of its figures: {known}")
