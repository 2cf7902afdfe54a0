"""Claims with their reasons, figures and sections of the HSWA-TCP study."""

from __future__ import annotations

import polars as pl

from bentpipe.studies.hswa import claims, figures, reasons, sections
from bentpipe.studies.hswa.sensitivity import sensitivity
from bentpipe.studies.study import Outcome, Plan, Report


def build(plan: Plan, outcome: Outcome) -> Report:
    """The report of the study."""
    runs = outcome.runs
    base = runs.filter(pl.col("variant") == "base")
    found = claims.evaluate(base, runs.filter(pl.col("variant") == "increment"))
    under = sensitivity(plan, runs)
    for claim in found:
        reasons.explain(claim, base, under)
    return Report(
        claims=found,
        figures=figures.figures(plan, outcome),
        sections=[
            sections.implied_section(),
            sections.runs_section(runs),
            sections.setup_section(),
            sections.sensitivity_section(plan, under),
        ],
        data={"sensitivity": under.frame()},
    )
