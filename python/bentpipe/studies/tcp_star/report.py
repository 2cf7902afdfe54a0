"""Claims with their reasons, figures and sections of the TCP-STAR study."""

from __future__ import annotations

import polars as pl

from bentpipe.studies.study import Outcome, Plan, Report
from bentpipe.studies.tcp_star import claims, figures, reasons, sections


def build(plan: Plan, outcome: Outcome) -> Report:
    """The report of the study."""
    runs = outcome.runs
    base = runs.filter(pl.col("variant") == "base")
    found = claims.evaluate(base)
    sensitivity = sections.sensitivity(plan, runs)
    for claim in found:
        reasons.explain(claim, runs, sensitivity)
    return Report(
        claims=found,
        figures=figures.figures(plan, outcome, base),
        sections=[
            sections.runs_section(base),
            sections.setup_section(base),
            sections.rto_section(plan, runs),
            sections.sensitivity_section(plan, sensitivity),
        ],
        data={"sensitivity": sensitivity.frame()},
    )
