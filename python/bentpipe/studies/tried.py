"""What was tried for the checks that fail: their values under the other choices, in words."""

from __future__ import annotations

from collections.abc import Callable

from bentpipe.studies.claim import Check, Claim, Verdict
from bentpipe.studies.page import plain
from bentpipe.studies.sensitivity import Sensitivity

#: A sentence names at most this many choices one by one.
NAMED = 4


def _under(sensitivity: Sensitivity, claim: Claim) -> dict[str, Claim]:
    """The claim under each variant that touches its runs."""
    found = {name: [c for c in of if c.id == claim.id] for name, of in sensitivity.variants.items()}
    return {name: of[0] for name, of in found.items() if of}


def _same(claim: Claim, position: int, other: Claim) -> Check | None:
    """The check of another evaluation that compares the same: by place, or by name if places differ."""
    if len(other.checks) == len(claim.checks):
        return other.checks[position]
    return next((c for c in other.checks if c.what == claim.checks[position].what), None)


def told(claim: Claim, sensitivity: Sensitivity, choice: Callable[[str], str]) -> list[str]:
    """What each failing check of a claim measures under the other choices, as a paragraph; none if none.

    Args:
        claim: the claim, judged under the base.
        sensitivity: the claims under each choice.
        choice: what a variant changes, in words.
    """
    under = _under(sensitivity, claim)
    parts = []
    for position, check in enumerate(claim.checks):
        if check.holds:
            continue
        values = {}
        for name, other in under.items():
            found = _same(claim, position, other)
            if found is not None:
                values[name] = found
        if not values:
            continue
        means = [c.measured.mean for c in values.values()]
        met = [name for name, c in values.items() if c.holds]
        some = "; ".join(choice(n) for n in met[:NAMED])
        more = f" and {len(met) - NAMED} more" if len(met) > NAMED else ""
        span = plain(means[0]) if len(means) == 1 else f"{plain(min(means))} to {plain(max(means))}"
        parts.append(
            f"{check.what}, paper {check.paper}: {plain(check.measured.mean)} here, {span} under "
            f"{len(means)} other "
            + ("choice" if len(means) == 1 else "choices")
            + (f" (holds with: {some}{more})" if met else " (holds with none)")
        )
    return ["The checks that fail, under the other choices. " + ". ".join(parts) + "."] if parts else []


def nearest(claim: Claim, sensitivity: Sensitivity, choice: Callable[[str], str]) -> str:
    """A clause for the note of a claim that does not reproduce: under which choice most checks hold."""
    under = _under(sensitivity, claim)
    base = next((c for c in sensitivity.base if c.id == claim.id), None)
    if claim.verdict == Verdict.REPRODUCED or not under or base is None:
        return ""
    share = {name: sum(c.holds for c in of.checks) / len(of.checks) for name, of in under.items()}
    best = max(share, key=lambda name: share[name])
    tried = f"{len(under)} other {'choice' if len(under) == 1 else 'choices'} tried"
    if share[best] <= sum(c.holds for c in base.checks) / len(base.checks):
        return f"{tried}, none comes nearer"
    return f"{tried}, nearest with: {choice(best)} ({under[best].tally()})"
