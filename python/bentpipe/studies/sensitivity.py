"""How far a paper's open parameters decide the verdicts: the claims again under each changed choice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import polars as pl

from bentpipe.studies.claim import Claim, Verdict

#: Verdicts from worst to best.
RANK = {Verdict.NOT_REPRODUCED: 0, Verdict.SAME_ORDER: 1, Verdict.REPRODUCED: 2}


@dataclass
class Sensitivity:
    """The claims under the base and under each changed choice, over the same seeds."""

    base: list[Claim]
    variants: Mapping[str, list[Claim]]

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
                }
                for name, found in {"base": self.base, **self.variants}.items()
                for claim in found
                for check in claim.checks
            ]
        )

    def verdicts(self, claim_id: str) -> dict[str, Verdict]:
        """The verdict of a claim under each variant."""
        return {
            name: next(c for c in found if c.id == claim_id).verdict for name, found in self.variants.items()
        }

    def better(self, claim: Claim) -> list[tuple[str, Verdict]]:
        """The variants under which a claim fares better than ``claim`` does, with the verdict."""
        found = self.verdicts(claim.id)
        return [(name, v) for name, v in found.items() if RANK[v] > RANK[claim.verdict]]

    def worse(self, claim: Claim) -> list[tuple[str, Verdict]]:
        """The variants under which a claim fares worse than ``claim`` does, with the verdict."""
        found = self.verdicts(claim.id)
        return [(name, v) for name, v in found.items() if RANK[v] < RANK[claim.verdict]]

    def tell(self, claim: Claim, choice: Callable[[str], str]) -> None:
        """Adds to a claim's note and detail under which other choices it fares better or worse.

        Args:
            claim: the claim, judged under the base.
            choice: what a variant changes, in words.
        """
        tried = len(self.variants)
        if claim.verdict == Verdict.REPRODUCED:
            claim.note += f"; also under {tried - len(self.worse(claim))} of {tried} other choices"
        claim.detail.append(self.fares(claim, choice))

    def fares(self, claim: Claim, choice: Callable[[str], str]) -> str:
        """A sentence: under which other choices a claim fares worse if it reproduces, and better if not.

        Args:
            claim: the claim, judged under the base.
            choice: what a variant changes, in words.
        """

        def told(found: list[tuple[str, Verdict]]) -> str:
            return "; ".join(f"{choice(name)} ({verdict})" for name, verdict in found)

        if claim.verdict == Verdict.REPRODUCED:
            worse = self.worse(claim)
            if worse:
                return f"It fares worse with: {told(worse)}."
            return "It reproduces under every other choice tried."
        better = self.better(claim)
        if better:
            return f"Of the other choices tried, it fares better with: {told(better)}."
        return "No other choice tried (last section) gives a better verdict."
