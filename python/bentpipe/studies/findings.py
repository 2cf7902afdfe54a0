"""Findings of a paper's runs: the claims judged by them, and the rows that explain and illustrate them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import polars as pl

from bentpipe.studies.claim import Claim
from bentpipe.studies.judge import Sensitivity
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
