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
            worse = self.worse(claim)
            claim.note += f"; also under {tried - len(worse)} of {tried} other choices"
            claim.detail.append(
                "It fares worse with: " + "; ".join(f"{choice(n)} ({v})" for n, v in worse) + "."
                if worse
                else "It reproduces under every other choice tried."
            )
            return
        better = self.better(claim)
        claim.detail.append(
            "Of the other choices tried, it fares better with: "
            + "; ".join(f"{choice(n)} ({v})" for n, v in better)
            + "."
            if better
            else "No other choice tried (last section) gives a better verdict."
        )
