"""The report of a paper, put together from its claims, figures, reasons and sections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from bentpipe.studies import draw, readings
from bentpipe.studies.design import BASE, Design
from bentpipe.studies.explain import Explanation
from bentpipe.studies.findings import Findings
from bentpipe.studies.judge import Sentence, evaluate, judged, sensitivity
from bentpipe.studies.study import Figure, Outcome, Plan, Report, Section


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
    #: The figures, drawn in the studies' style, and the sections below them.
    figures: Callable[[Findings], list[Figure]]
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
            figures = self.figures(found)
        sections = self.sections(found)
        free = next((s.free for s in sections if s.free is not None), None)
        whole = readings.read(self.claims, design, plan, runs, found.sensitivity, free)
        if (table := readings.section(whole)) is not None:
            sections.append(table)
        data = {"sensitivity": found.sensitivity.frame()}
        return Report(found.claims, figures, sections, data, whole.as_dict())
