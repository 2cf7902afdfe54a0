"""Why a claim does or does not reproduce: notes and details computed from the runs."""

from __future__ import annotations

import polars as pl

from bentpipe.studies.claim import Claim, Verdict
from bentpipe.studies.vegas_l.sections import Sensitivity, choice


def explain(claim: Claim, base: pl.DataFrame, sensitivity: Sensitivity) -> None:
    """Write the note (short) and the detail (for the page) of a claim."""
    failed = [c for c in claim.checks if not c.holds]
    claim.note = claim.tally()
    if claim.verdict == Verdict.REPRODUCED:
        return
    better = sensitivity.better(claim.id)
    claim.detail.append("Fails: " + "; ".join(c.what for c in failed) + ".")
    claim.detail.append(
        "Fares better with: " + "; ".join(f"{choice(n)} ({v})" for n, v in better) + "."
        if better
        else "None of the other choices tried gives a better verdict."
    )
