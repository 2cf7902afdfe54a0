"""The claims of a paper, judged by its runs: under the base and under each choice that was tried.

With them the columns of the runs that checks need, picked by the keys of the runs and ordered by seed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import polars as pl

from bentpipe.stats import jain
from bentpipe.studies.claim import COUNTED, Cause, Check, Claim, Verdict, corrected
from bentpipe.studies.design import BASE, Design, Where, where
from bentpipe.studies.page import plain
from bentpipe.studies.study import Key, StudyPlan
from bentpipe.studies.text import Block, Items, Text

#: A clause for the note of a claim ("" if there is none), and paragraphs for the page.
Reason = tuple[str, list[Block]]

#: Verdicts from worst to best.
RANK = {Verdict.REFERENCE: 0} | {verdict: rank for rank, verdict in enumerate(reversed(COUNTED))}


@dataclass(frozen=True)
class Sentence:
    """A claim as the paper makes it, and the checks that it is made of."""

    id: str
    title: str
    statement: Text
    #: The checks from the runs; two seeds or more.
    checks: Callable[[pl.DataFrame], list[Check]]
    #: The reason why it does or does not reproduce.
    reason: Callable[[Findings], Reason]
    #: The runs that it is about: without any of them it is not judged. None: a closed form, without runs.
    about: Where | None = Where()
    #: Whether no choice of the set-up can touch it.
    fixed: bool = False
    #: Whether the paper quotes it from others. It is shown without a verdict then.
    reference: bool = False
    #: Why the base does not reproduce it, if that is known.
    cause: Cause = Cause.OURS

    @property
    def open(self) -> bool:
        """Whether a choice may decide its verdict."""
        return self.about is not None and not self.fixed and not self.reference


def evaluate(claims: Sequence[Sentence], runs: pl.DataFrame) -> list[Claim]:
    """The claims for one set of runs, judged together; those about runs that are not there are left out."""
    found = [
        Claim(s.id, s.title, s.statement, s.checks(runs), reference=s.reference)
        for s in claims
        if s.about is None or s.about.rows(runs).height
    ]
    corrected(found)
    return found


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
        return None if same is None else same.measured.centre

    def partly(self, claim_id: str) -> dict[str, Claim]:
        """The claim under each variant that touches it, with the checks that were run under it."""
        found = {name: self.claim(name, claim_id) for name in self.variants}
        return {name: claim for name, claim in found.items() if claim is not None}

    def under(self, claim_id: str) -> dict[str, Claim]:
        """The claim under each variant that ran all its checks; a verdict compares with no other."""
        base, found = self.claim(BASE, claim_id), self.partly(claim_id)
        return {name: claim for name, claim in found.items() if base is None or claim.covers(base)}

    def compared(self, claim: Claim) -> dict[str, int]:
        """By variant that touches it: does ``claim`` surely fare better (1), worse (-1), or neither (0)?"""
        best, worst = (RANK[verdict] for verdict in claim.possible)
        under = {name: c.possible for name, c in self.under(claim.id).items()}
        return {name: (RANK[low] > best) - (RANK[high] < worst) for name, (high, low) in under.items()}

    def listed(self, claim_id: str, names: Iterable[str]) -> list[str]:
        """The changes of some variants, each with a claim's verdict under it: ``"no ACKs (same order)"``."""
        under = self.under(claim_id)
        return [f"{self.choices[name]} ({under[name].verdict})" for name in names]

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
                    "mean": check.measured.centre,
                    "low": check.measured.low,
                    "high": check.measured.high,
                    "seeds": check.measured.n,
                    "outcome": check.outcome,
                    "choice": self.choices.get(name, "as in the set-up (base)"),
                }
                for name, found in {BASE: self.base, **self.variants}.items()
                for claim in found
                for check in claim.checks
            ]
        )


def judged(runs: pl.DataFrame, variant: str, design: Design[Any, Any], plan: StudyPlan) -> pl.DataFrame:
    """The runs that judge a variant: base runs, but its own where keys are equal, and `Design.always`."""
    base, mine = (runs.filter(runs["variant"] == name) for name in (BASE, variant))
    # A choice may have fewer seeds than the base.
    keys = [key for key in design.identity or plan.cases[0].keys if key not in ("variant", "seed")]
    always = runs.filter(runs["variant"].is_in(list(design.always)))
    return pl.concat([mine, base.join(mine, on=keys, how="anti"), always])


def sensitivity(
    claims: Sequence[Sentence], design: Design[Any, Any], plan: StudyPlan, few: pl.DataFrame
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


@dataclass(frozen=True)
class Findings:
    """The runs of a paper and its claims, judged by them."""

    plan: StudyPlan
    #: All runs, one row each: keys, then measures.
    runs: pl.DataFrame
    #: Those of the base.
    base: pl.DataFrame
    #: The kept traces with the keys of their runs.
    traces: pl.DataFrame
    claims: list[Claim]
    sensitivity: Sensitivity
    #: The ids of the claims that choices may decide.
    open: Collection[str]

    @property
    def seeds(self) -> int:
        """Seeds of the base."""
        return int(self.plan.settings["seeds"])

    @property
    def few_seeds(self) -> int:
        """Seeds of the other choices."""
        return int(self.plan.settings["sensitivity_seeds"])

    def means(self, variant: str, claim_id: str, *checks: int) -> list[float] | None:
        """The measured means of some checks of a claim under a variant; None if they were not run."""
        got = [self.sensitivity.mean(variant, claim_id, check) for check in checks]
        return None if None in got else [mean for mean in got if mean is not None]

    def tried(
        self, claim_id: str, names: str, *checks: int, before: str = "", between: str = " and "
    ) -> Items | None:
        """What `under` gives, with the names of the checks: ``"(rate and window)"``."""
        base, under = self.sensitivity.claim(BASE, claim_id), self.under(claim_id, names, *checks)
        if not under or base is None:
            return None
        what = between.join(base.checks[check].what for check in checks)
        return replace(under, head=f"({before}{what})")

    def under(self, claim_id: str, names: str, *checks: int) -> Items | None:
        """The `means` under some variants, ``"no ACKs: 1.2 and 3.4"`` each; None if none was run.

        Args:
            claim_id: of the claim.
            names: of the variants, with blanks between.
            checks: the numbers of the checks.
        """
        found = {name: self.means(name, claim_id, *checks) for name in names.split()}
        said = [
            f"{self.sensitivity.choices[name]}: {' and '.join(map(plain, means))}"
            for name, means in found.items()
            if means
        ]
        return Items("", said) if said else None


#: Values by name, one per seed.
Groups = dict[str, list[float]]


def column(runs: pl.DataFrame, name: str, **keys: Key) -> list[float]:
    """A column of the runs with the given keys, ordered by seed."""
    values: list[float] = where(**keys).rows(runs).sort("seed")[name].to_list()
    return values


def by_algorithm(runs: pl.DataFrame, name: str, labels: Mapping[str, str], **keys: Key) -> Groups:
    """A column of the runs with the given keys, for each algorithm of ``labels`` under its label there."""
    at = where(**keys).rows(runs)
    return {label: column(at, name, cc=cc) for cc, label in labels.items()}


def seed_means(groups: Iterable[list[float]]) -> list[float]:
    """The mean over several columns, seed by seed."""
    return [sum(values) / len(values) for values in zip(*groups, strict=True)]


def index_of_means(one: Groups, other: Groups) -> dict[str, float]:
    """Jain's index of the means over the seeds of two flows, beside the mean of each seed's index."""
    return {name: jain([fmean(one[name]), fmean(other[name])]) for name in one}


def linearity(x: Sequence[float], y: Sequence[float]) -> float:
    """The share of the variance of ``y`` that a straight line in ``x`` explains; 1 if ``y`` is constant."""
    import numpy as np

    return float(np.corrcoef(x, y)[0, 1] ** 2) if float(np.ptp(y)) else 1.0


def over_seeds(rows: pl.DataFrame, *by: str) -> pl.DataFrame:
    """Mean and 95 % interval (Student's t) of the column ``value`` over the seeds, for each value of ``by``.

    The columns are ``by``, mean, seeds, low and high; the rows are sorted by the first.
    """
    from scipy.special import stdtrit

    value = pl.col("value")
    of = rows.group_by(*by).agg(mean=value.mean(), std=value.std(), seeds=pl.len())
    n = of["seeds"].to_numpy()
    half = pl.Series(stdtrit(n - 1, 0.975) * of["std"].to_numpy() / n**0.5)
    low, high = of["mean"] - half, of["mean"] + half
    return of.with_columns(low=low, high=high).drop("std").sort(*by)
