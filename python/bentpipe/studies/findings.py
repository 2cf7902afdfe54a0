"""Findings of a paper's runs: the claims judged by them, and the rows that explain and illustrate them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import polars as pl

from bentpipe.studies.claim import Claim
from bentpipe.studies.judge import Sensitivity
from bentpipe.studies.page import plain
from bentpipe.studies.study import Plan


@dataclass(frozen=True)
class Findings:
    """The runs of a paper and its claims, judged by them."""

    plan: Plan
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

    def under(self, claim_id: str, names: str, *checks: int) -> str | None:
        """``"no ACKs: 1.2 and 3.4; two hops: ..."``: the `means` under some variants; None if none was run.

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
        return "; ".join(said) or None
