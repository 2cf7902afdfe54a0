"""Claims with their reasons, figures and sections of the TCP-STAR study."""

from __future__ import annotations

from bentpipe.studies.report import assemble, base_of
from bentpipe.studies.study import Outcome, Plan, Report
from bentpipe.studies.tcp_star import claims, figures, reasons, sections


def build(plan: Plan, outcome: Outcome) -> Report:
    """The report of the study."""
    runs = outcome.runs
    base = base_of(runs)
    under = sections.sensitivity(plan, runs)
    return assemble(
        claims.evaluate(base),
        under,
        sections.choice,
        lambda claim: reasons.explain(claim, runs, under),
        figures.figures(plan, outcome, base),
        [
            sections.runs_section(base),
            sections.setup_section(base),
            sections.rto_section(plan, runs),
            sections.sensitivity_section(plan, under),
        ],
    )
