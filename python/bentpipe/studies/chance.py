"""The probabilities of all claims, as `bentpipe.studies.probability` found them: they ship with the package.

So a study shows them without the runs that they took.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bentpipe.io.files import stored_rows, write_rows
from bentpipe.studies.claim import Claim

#: The file that ships.
SHIPPED = Path(__file__).with_name("probabilities.csv")


@dataclass(frozen=True)
class Chance:
    """The probability of one claim under the base, a single choice or a reading; a row of the file."""

    study: str
    claim: str
    #: The name of the choice or reading, or ``"base"``, and its change in words.
    reading: str
    words: str
    #: The number of its free choices.
    free: int
    #: Checks that hold over the seeds of the study, checks that count, and the verdict.
    held: int
    checks: int
    verdict: str
    #: The verdict over the seeds from 1001 on.
    verdict_from_1001: str
    #: The most seeds of a set, the number of sets, and how many reproduce the claim.
    seeds: int
    sets: int
    reproduced: int

    @property
    def share(self) -> float:
        """The probability."""
        return self.reproduced / self.sets

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without the names of the study and the claim."""
        return {name: value for name, value in asdict(self).items() if name not in ("study", "claim")}


@cache
def shipped(path: Path = SHIPPED) -> Sequence[Chance]:
    """The probabilities that ship; none if they were not made yet."""
    return [Chance(**{**row, "words": str(row["words"])}) for row in stored_rows(path)]


def known(study: str, claim: Claim) -> list[dict[str, Any]]:
    """Those of a claim: under the base, then under what suits it best if anything suits it better.

    None if its checks are not those that were judged then.
    """
    mine = [of for of in shipped() if (of.study, of.claim) == (study, claim.id)]
    return [of.as_dict() for of in mine if of.checks == len(claim.counted)]


def write(found: Sequence[Chance], *paths: Path) -> None:
    """Write probabilities to files, in which those of other studies stay."""
    names = {of.study for of in found}
    for path in paths:
        others = [row for row in stored_rows(path) if row["study"] not in names]
        path.parent.mkdir(parents=True, exist_ok=True)
        write_rows(path, [*others, *map(asdict, found)])


def shown(chances: Sequence[Mapping[str, Any]]) -> str:
    """The probabilities of a claim as a cell: ``"3 %; 97 % with half-queue"``."""
    shares = [f"{of['reproduced'] / of['sets']:.0%}".replace("%", " %") for of in chances]
    ends = ["", *(f" with {of['reading']}" for of in chances[1:])]
    return "; ".join(share + end for share, end in zip(shares, ends, strict=False)) or "-"
