"""Claims with their reasons, figures and sections of the Vegas-L study."""

from __future__ import annotations

import polars as pl

from bentpipe.studies.study import Outcome, Plan, Report
from bentpipe.studies.vegas_l import claims, figures, reasons, sections


def build(plan: Plan, outcome: Outcome) -> Report:
    """The report of the study."""
    runs = outcome.runs
    base = runs.filter(pl.col("variant") == "base")
    found = claims.evaluate(base)
    sensitivity = sections.sensitivity(plan, runs)
    for claim in found:
        reasons.explain(claim, base, sensitivity)
    return Report(
        claims=found,
        figures=figures.figures(plan, outcome, base),
        sections=[
            sections.runs_section(base),
            sections.setup_section(base),
            sections.sensitivity_section(plan, sensitivity),
        ],
        data={"sensitivity": sensitivity.frame()},
    )
