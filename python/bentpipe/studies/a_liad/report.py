"""Claims with their reasons, figures and sections of the A-LIAD study."""

from __future__ import annotations

import polars as pl

from bentpipe.studies.a_liad import claims, figures, reasons, sections, sensitivity, windows
from bentpipe.studies.study import Outcome, Plan, Report


def build(plan: Plan, outcome: Outcome) -> Report:
    """The report of the study."""
    base = outcome.runs.filter(pl.col("variant") == "base")
    found = claims.evaluate(base)
    under = sensitivity.evaluate(plan, outcome.runs)
    for claim in found:
        reasons.explain(claim, base, under)
    return Report(
        claims=found,
        figures=figures.figures(plan, base, windows.windows(plan, outcome.traces, base)),
        sections=[sections.setup_section(), sections.runs_section(base), sensitivity.section(plan, under)],
        data={"sensitivity": under.frame()},
    )
