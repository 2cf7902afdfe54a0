"""Claims with their reasons, figures and sections of the HSWA-TCP study."""

from __future__ import annotations

import polars as pl

from bentpipe.studies.hswa import claims, figures, reasons, sections
from bentpipe.studies.hswa.sensitivity import choice, sensitivity
from bentpipe.studies.report import assemble, base_of
from bentpipe.studies.study import Outcome, Plan, Report


def build(plan: Plan, outcome: Outcome) -> Report:
    """The report of the study."""
    runs = outcome.runs
    base = base_of(runs)
    under = sensitivity(plan, runs)
    return assemble(
        claims.evaluate(base, runs.filter(pl.col("variant") == "increment")),
        under,
        choice,
        lambda claim: reasons.explain(claim, base, under),
        figures.figures(plan, outcome),
        [
            sections.implied_section(),
            sections.runs_section(runs),
            sections.setup_section(),
            sections.sensitivity_section(plan, under),
        ],
    )
