"""Claims with their reasons, figures and sections of the Vegas-L study."""

from __future__ import annotations

from bentpipe.studies.report import assemble, base_of
from bentpipe.studies.study import Outcome, Plan, Report
from bentpipe.studies.vegas_l import claims, figures, reasons, sections


def build(plan: Plan, outcome: Outcome) -> Report:
    """The report of the study."""
    base = base_of(outcome.runs)
    under = sections.sensitivity(plan, outcome.runs)
    return assemble(
        claims.evaluate(base),
        under,
        sections.choice,
        lambda claim: reasons.explain(claim, base, under),
        figures.figures(plan, outcome, base),
        [
            sections.runs_section(base),
            sections.setup_section(base),
            sections.sensitivity_section(plan, under),
        ],
    )
