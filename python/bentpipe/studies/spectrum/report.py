"""Claims with their reasons, figures and sections of the spectrum study."""

from __future__ import annotations

from bentpipe.studies.claim import Claim
from bentpipe.studies.report import assemble, base_of
from bentpipe.studies.spectrum import claims, closed, curves, figures, reasons, sections, time_series
from bentpipe.studies.study import Outcome, Plan, Report


def build(plan: Plan, outcome: Outcome) -> Report:
    """The report of the study."""
    base, kept = base_of(outcome.runs), outcome.traces
    under = sections.sensitivity(plan, outcome.runs)
    return assemble(
        sorted([*closed.evaluate(), *claims.evaluate(base)], key=_number),
        under,
        sections.choice,
        lambda claim: reasons.explain(claim, base, under),
        [
            *curves.figures(),
            figures.friendliness(plan, base),
            *figures.compatibility(plan, base, kept),
            *time_series.throughput(plan, base, kept),
            figures.variation(plan, base),
            time_series.steps(plan, base, kept),
            time_series.impulse(plan, kept),
            *time_series.convergence(plan, base, kept),
        ],
        [
            sections.analysis_section(base),
            sections.choices_section(),
            sections.sensitivity_section(plan, under),
        ],
    )


def _number(claim: Claim) -> int:
    return int(claim.id.removeprefix("K"))
