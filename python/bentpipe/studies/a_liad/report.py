"""Claims with their reasons, figures and sections of the A-LIAD study."""

from __future__ import annotations

from bentpipe.studies.a_liad import claims, figures, reasons, sections, sensitivity, windows
from bentpipe.studies.report import assemble, base_of
from bentpipe.studies.study import Outcome, Plan, Report


def build(plan: Plan, outcome: Outcome) -> Report:
    """The report of the study."""
    base = base_of(outcome.runs)
    under = sensitivity.evaluate(plan, outcome.runs)
    return assemble(
        claims.evaluate(base),
        under,
        sensitivity.choice,
        lambda claim: reasons.explain(claim, base, under),
        figures.figures(plan, base, windows.windows(plan, outcome.traces, base)),
        [sections.setup_section(), sections.runs_section(base), sensitivity.section(plan, under)],
    )
