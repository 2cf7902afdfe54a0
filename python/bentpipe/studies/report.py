"""What the reports of all studies have in common: which runs are the base, and how the parts are joined."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from bentpipe.studies.claim import Claim
from bentpipe.studies.sensitivity import Sensitivity
from bentpipe.studies.study import Figure, Report, Section


def base_of(runs: pl.DataFrame) -> pl.DataFrame:
    """The runs of the set-up that the claims are judged by; the others change one choice of it."""
    return runs.filter(pl.col("variant") == "base")


def assemble(
    claims: list[Claim],
    sensitivity: Sensitivity,
    choice: Callable[[str], str],
    explain: Callable[[Claim], None],
    figures: Sequence[Figure],
    sections: Sequence[Section],
) -> Report:
    """A report from its parts.

    Args:
        claims: judged under the base.
        sensitivity: the claims under the other choices.
        choice: what a variant of these changes, in words.
        explain: adds to a claim why it does or does not reproduce.
        figures: in the order of the page.
        sections: in the order of the page, below the figures.
    """
    for claim in claims:
        explain(claim)
    words = {"base": "as in the set-up (base)", **{name: choice(name) for name in sensitivity.variants}}
    under = sensitivity.frame().with_columns(choice=pl.col("variant").replace_strict(words))
    return Report(claims, list(figures), list(sections), data={"sensitivity": under})
