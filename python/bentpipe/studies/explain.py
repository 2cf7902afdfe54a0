"""Explanation of a claim's verdict in words: its own reason, and the effect of the other choices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bentpipe.studies.claim import Cause, Claim, Verdict, does_not_hold
from bentpipe.studies.judge import Findings, Sensitivity
from bentpipe.studies.page import plain, shown

#: A sentence names at most this many choices one by one.
NAMED = 4

#: A clause for the note of a claim ("" if there is none), and paragraphs for the page.
Reason = tuple[str, list[str]]


def fares(claim: Claim, sensitivity: Sensitivity) -> str:
    """A sentence: under which other choices a claim fares worse if it reproduces, and better if not."""
    steps = sensitivity.compared(claim)
    if claim.verdict == Verdict.REPRODUCED:
        worse = sensitivity.listed(claim.id, [name for name, step in steps.items() if step < 0])
        return f"It fares worse with: {worse}." if worse else "It reproduces under every other choice tried."
    better = sensitivity.listed(claim.id, [name for name, step in steps.items() if step > 0])
    if better:
        return f"Of the other choices tried, it fares better with: {better}."
    return "No other choice tried (last section) gives a better verdict."


def fares_both_ways(claim: Claim, sensitivity: Sensitivity) -> str:
    """Sentences: under which other choices a claim fares better and under which worse, over their seeds."""
    base = sensitivity.claim("base", claim.id)
    assert base is not None
    steps = sensitivity.compared(base)
    said = []
    for what, end, sign in (("better", Verdict.REPRODUCED, 1), ("worse", Verdict.NOT_REPRODUCED, -1)):
        if names := [name for name, step in steps.items() if step * sign > 0]:
            said.append(f"{what} with: {sensitivity.listed(claim.id, names)}")
        elif base.verdict != end:
            said.append(f"{what} under no other choice tried")
    seeds = f"the {base.checks[0].measured.n} seeds of the last section"
    return f"Over {seeds} ({base.verdict} in the base) it fares {'. It fares '.join(said)}."


@dataclass(frozen=True)
class Explanation:
    """The reasons of a paper's claims, and the text around them."""

    reasons: Mapping[str, Callable[[Findings], Reason]]
    #: What ``paper.toml`` declares of each claim. Its ``cause`` names why the base does not reproduce it;
    #: without one it is ours.
    declared: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: Whether a reason's clause is in the note only if some check of the claim fails.
    clause_if_failing: bool = False
    #: Whether the paragraphs begin with a list of the checks that fail.
    lists_failing: bool = False
    #: Whether the note of a claim that reproduces gives the number of choices under which it does.
    counts_choices: bool = False
    #: The last paragraph: how the claim fares under the other choices.
    fares: Callable[[Claim, Sensitivity], str] = fares

    def add(self, claim: Claim, found: Findings) -> None:
        """Write the note (short) and the detail (for the page) of a claim."""
        clause, paragraphs = self.reasons[claim.id](found)
        failing = [c.what for c in claim.counted if not c.holds]
        is_open = claim.id in found.open
        notes = ["quoted by the paper, not judged"] if claim.reference else [claim.tally()]
        if claim.verdict in (Verdict.SAME_ORDER, Verdict.NOT_REPRODUCED):
            claim.cause = Cause[self.declared.get(claim.id, {}).get("cause", "ours").upper()]
            notes.append(claim.cause)
        if claim.few_seeds:
            notes.append(f"too few seeds: with more it may be {claim.with_seeds}")
        if clause and (failing or not is_open or not self.clause_if_failing):
            notes.append(clause)
        if failing and self.lists_failing:
            claim.detail.append(does_not_hold(failing))
        claim.detail += paragraphs
        under = found.sensitivity
        if is_open and under.variants:
            if nearest_choice := nearest(claim, under):
                notes.append(nearest_choice)
            if self.counts_choices and claim.verdict == Verdict.REPRODUCED:
                steps = under.compared(claim).values()
                notes.append(f"also under {sum(s >= 0 for s in steps)} of {len(steps)} other choices")
            claim.tried = tried(claim, under)
            claim.detail.append(self.fares(claim, under))
        claim.note = "; ".join(notes)


def tried(claim: Claim, sensitivity: Sensitivity) -> list[list[str]]:
    """`Claim.tried`: the value of each failing check under the other choices that ran it."""
    under = sensitivity.partly(claim.id)
    rows = []
    for position, check in enumerate(claim.checks):
        values = {name: other.counterpart(claim, position) for name, other in under.items()}
        found = {name: c for name, c in values.items() if c is not None}
        if check.holds or not check.counted or not found:
            continue
        means = [c.measured.mean for c in found.values()]
        met = [name for name, c in found.items() if c.holds]
        some = "; ".join(sensitivity.choices[n] for n in met[:NAMED]) or "none"
        more = f" and {len(met) - NAMED} more" if len(met) > NAMED else ""
        span = plain(means[0]) if len(means) == 1 else f"{plain(min(means))} to {plain(max(means))}"
        here = plain(check.measured.mean)
        rows.append([check.what, shown(check.paper), here, f"{span} ({_choices(len(means))})", some + more])
    return rows


def nearest(claim: Claim, sensitivity: Sensitivity) -> str:
    """A clause for the note of a claim that does not reproduce: under which choice most checks hold."""
    under = sensitivity.under(claim.id)
    base = sensitivity.claim("base", claim.id)
    if claim.verdict == Verdict.REPRODUCED or not under or base is None:
        return ""
    share = {name: of.held / len(of.counted) for name, of in under.items()}
    best = max(share, key=lambda name: share[name])
    tried = f"{_choices(len(under))} tried"
    if share[best] <= base.held / len(base.counted):
        return f"{tried}, none comes nearer"
    return f"{tried}, nearest with: {sensitivity.choices[best]} ({under[best].tally()})"


def _choices(count: int) -> str:
    return f"{count} other {'choice' if count == 1 else 'choices'}"
