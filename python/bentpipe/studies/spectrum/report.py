"""Claims with their reasons, figures and sections of the spectrum study."""

from __future__ import annotations

import polars as pl

from bentpipe.studies.claim import Claim
from bentpipe.studies.spectrum import claims, closed, curves, figures, reasons, sections, time_series
from bentpipe.studies.study import Outcome, Plan, Report


def build(plan: Plan, outcome: Outcome) -> Report:
    """The report of the study."""
    base = outcome.runs.filter(pl.col("variant") == "base")
    found = sorted([*closed.evaluate(), *claims.evaluate(base)], key=_number)
    sensitivity = sections.sensitivity(plan, outcome.runs)
    for claim in found:
        reasons.explain(claim, base, sensitivity)
    kept = outcome.traces
    return Report(
        claims=found,
        figures=[
            *curves.figures(),
            figures.friendliness(plan, base),
            *figures.compatibility(plan, base, kept),
            *time_series.throughput(plan, base, kept),
            figures.variation(plan, base),
            time_series.steps(plan, base, kept),
            time_series.impulse(plan, kept),
            *time_series.convergence(plan, base, kept),
        ],
        sections=[
            sections.analysis_section(base),
            sections.choices_section(),
            sections.sensitivity_section(plan, sensitivity),
        ],
        data={"sensitivity": sensitivity.frame()},
    )


def _number(claim: Claim) -> int:
    return int(claim.id.removeprefix("K"))
