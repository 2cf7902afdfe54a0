"""The claims of a paper, judged by its runs: under the base and under each choice that was tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from bentpipe.studies.claim import Check, Claim, Verdict
from bentpipe.studies.design import BASE, Design, Where, where
from bentpipe.studies.prose import rows
from bentpipe.studies.study import Plan

#: Verdicts from worst to best.
RANK = {Verdict.REFERENCE: 0, Verdict.NOT_REPRODUCED: 0, Verdict.SAME_ORDER: 1, Verdict.REPRODUCED: 2}


@dataclass(frozen=True)
class Sentence:
    """A claim as the paper makes it, and the checks that it is made of."""

    id: str
    title: str
    statement: str
    #: The checks from the runs; two seeds or more.
    checks: Callable[[pl.DataFrame], list[Check]]
    #: The runs that it is about: without any of them it is not judged. None: a closed form, without runs.
    about: Where | None = Where()
    #: Whether no choice of the set-up can touch it.
    fixed: bool = False
    #: Whether the paper quotes it from others. It is shown without a verdict then.
    reference: bool = False

    @property
    def open(self) -> bool:
        """Whether a choice may decide its verdict."""
        return self.about is not None and not self.fixed and not self.reference


def sentences(
    block: str,
    checks: Mapping[str, Callable[[pl.DataFrame], list[Check]]],
    declared: Mapping[str, Mapping[str, Any]],
) -> list[Sentence]:
    """The claims of a paper.

    Args:
        block: a row for each as `bentpipe.studies.prose.rows` reads it: id, title, the paper's statement.
        checks: `Sentence.checks` of each, by id.
        declared: by id the other fields of a `Sentence` that are not usual. ``about`` are keys of runs with
            their values, or false for a closed form.
    """

    def about(of: Mapping[str, Any]) -> Where | None:
        given = of.get("about", {})
        return None if given is False else where(**given)

    return [
        Sentence(
            id, title, statement, checks[id], about(of), of.get("fixed", False), of.get("reference", False)
        )
        for id, title, statement in rows(block)
        for of in [declared.get(id, {})]
    ]


def evaluate(claims: Sequence[Sentence], runs: pl.DataFrame) -> list[Claim]:
    """The claims for one set of runs; those about runs that are not there are left out."""
    return [
        Claim(s.id, s.title, s.statement, s.checks(runs), reference=s.reference)
        for s in claims
        if s.about is None or s.about.rows(runs).height
    ]


@dataclass(frozen=True)
class Sensitivity:
    """The claims under the base and those that each variant touches, over the same seeds."""

    base: Sequence[Claim]
    variants: Mapping[str, Sequence[Claim]]
    #: The change of each variant, in words.
    choices: Mapping[str, str]

    def claim(self, variant: str, claim_id: str) -> Claim | None:
        """A claim under a variant or ``"base"``; None if it was not run or does not touch the claim."""
        found = self.base if variant == BASE else self.variants.get(variant, ())
        return next((c for c in found if c.id == claim_id), None)

    def mean(self, variant: str, claim_id: str, check: int) -> float | None:
        """The measured mean of one check of `claim`; None if it was not run."""
        found, base = self.claim(variant, claim_id), self.claim(BASE, claim_id)
        same = found.counterpart(base, check) if found and base else None
        return None if same is None else same.measured.mean

    def partly(self, claim_id: str) -> dict[str, Claim]:
        """The claim under each variant that touches it, with the checks that were run under it."""
        found = {name: self.claim(name, claim_id) for name in self.variants}
        return {name: claim for name, claim in found.items() if claim is not None}

    def under(self, claim_id: str) -> dict[str, Claim]:
        """The claim under each variant that ran all its checks; a verdict compares with no other."""
        base, found = self.claim(BASE, claim_id), self.partly(claim_id)
        return {name: claim for name, claim in found.items() if base is None or claim.covers(base)}

    def compared(self, claim: Claim) -> dict[str, int]:
        """Change of the score against ``claim``, better (> 0) or worse (< 0), by variant that touches it."""
        return {name: RANK[c.verdict] - RANK[claim.verdict] for name, c in self.under(claim.id).items()}

    def listed(self, claim_id: str, names: Iterable[str]) -> str:
        """The changes of some variants, each with a claim's verdict under it: ``"no ACKs (same order)"``."""
        under = self.under(claim_id)
        return "; ".join(f"{self.choices[name]} ({said(under[name])})" for name in names)

    def few_seeds(self, variant: str, claim_id: str) -> bool:
        """Whether a claim's verdict differs from the base's only because an interval is wide."""
        pair = [self.claim(name, claim_id) for name in (BASE, variant)]
        worse, better = sorted((c for c in pair if c is not None), key=lambda c: RANK[c.verdict])
        return RANK[worse.verdict] < RANK[better.verdict] <= RANK[worse.with_seeds]

    def frame(self) -> pl.DataFrame:
        """One row per variant, claim and check."""
        return pl.DataFrame(
            [
                {
                    "variant": name,
                    "claim": claim.id,
                    "verdict": str(claim.verdict),
                    "check": check.what,
                    "paper": str(check.paper),
                    "mean": check.measured.mean,
                    "low": check.measured.low,
                    "high": check.measured.high,
                    "holds": check.holds,
                    "few_seeds": self.few_seeds(name, claim.id),
                    "choice": self.choices.get(name, "as in the set-up (base)"),
                }
                for name, found in {BASE: self.base, **self.variants}.items()
                for claim in found
                for check in claim.checks
            ]
        )


def said(claim: Claim) -> str:
    """A claim's verdict, and whether it is due to too few seeds: ``"same order, too few seeds"``."""
    return f"{claim.verdict}, too few seeds" if claim.few_seeds else str(claim.verdict)


def judged(runs: pl.DataFrame, variant: str, design: Design[Any, Any], plan: Plan) -> pl.DataFrame:
    """The runs that judge a variant: base runs, but its own where keys are equal, and `Design.always`."""
    base, mine = (runs.filter(runs["variant"] == name) for name in (BASE, variant))
    keys = list(design.identity) or [key for key in plan.cases[0].keys if key != "variant"]
    always = runs.filter(runs["variant"].is_in(list(design.always)))
    return pl.concat([mine, base.join(mine, on=keys, how="anti"), always])


def sensitivity(
    claims: Sequence[Sentence], design: Design[Any, Any], plan: Plan, few: pl.DataFrame
) -> Sensitivity:
    """The claims under the base and under each variant that was run, over the seeds that all variants have.

    A claim is judged under a variant if that has its own version of any run that the claim is about.

    Args:
        claims: of the paper.
        design: the design.
        plan: its plan.
        few: the runs, over those seeds.
    """
    measured = [s for s in claims if s.about is not None and not s.reference]

    def under(name: str) -> list[Claim]:
        mine = few.filter(pl.col("variant") == name)
        touched = [s for s in measured if s.about is not None and s.about.rows(mine).height]
        return evaluate(touched, judged(few, name, design, plan))

    present = set(few["variant"])
    choices = {v.name: v.choice for v in design.variants if v.name in present}
    return Sensitivity(under(BASE), {name: under(name) for name in choices}, choices)
