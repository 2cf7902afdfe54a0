"""Every figure and table of a paper, and its place here: our version of it, or the reason for its absence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from bentpipe.studies.claim import Verdict
from bentpipe.studies.design import BASE, Where

if TYPE_CHECKING:
    from bentpipe.studies.judge import Findings
    from bentpipe.studies.study import Figure
from bentpipe.studies.text import Table


class PlaceKind(StrEnum):
    """The kind of a place."""

    FIGURE = "figure"
    TABLE = "table"
    #: A figure of ours that the paper does not have.
    OWN = "own figure"


@dataclass(frozen=True)
class Place:
    """A figure or table of a paper: its contents, our version of it, and the claims that judge it."""

    #: As the paper counts, or the name of one of ours: ``"4a"``, ``"loss-scan"``.
    number: str
    #: In a few words.
    shows: str
    #: The function that draws it; None if nothing is drawn, or it is a table.
    draw: Callable[[Findings], Figure] | None = None
    #: The ids of the claims that judge it.
    claims: tuple[str, ...] = ()
    #: The runs that it and its claims need, and patterns of their variants; ``None``: none.
    needs: Where | None = None
    _: KW_ONLY
    variants: tuple[str, ...] = (BASE,)
    #: The function that makes it, if it is a table.
    table: Callable[[Findings], Table] | None = None
    #: A pattern of the names of its checks: of a claim that has any such, only those are about it.
    only: str = ""
    #: The text in its place, or the reason why there is nothing.
    why: str = ""
    kind: PlaceKind = PlaceKind.FIGURE

    def __post_init__(self) -> None:
        if (self.draw or self.table) is None and not self.why:
            raise ValueError(f"{self.title} is neither drawn nor is it said why")

    @property
    def name(self) -> str:
        """The name of our version of it: ``"figure-5"``."""
        return self.number if self.kind == PlaceKind.OWN else f"{self.kind}-{self.number}"

    @property
    def title(self) -> str:
        """``"figure 5"``."""
        return f"{self.kind} {self.number}"

    @property
    def option(self) -> str:
        """The option of `bentpipe study show` for it: ``"--figure 5"``."""
        return f"--{'table' if self.kind == PlaceKind.TABLE else 'figure'} {self.number}"

    @property
    def given(self) -> bool:
        """Whether we have a figure or table of it."""
        return self.draw is not None or self.table is not None

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        words = {"kind": str(self.kind), "number": self.number, "shows": self.shows, "why": self.why}
        return {**words, "ours": self.name if self.given else None, "claims": list(self.claims)}

    def uses(self, keys: Mapping[str, Any]) -> bool:
        """Whether it needs the run with these keys."""
        return self.needs is not None and self.shows_variant(keys["variant"]) and self.needs(keys)

    def shows_variant(self, name: str) -> bool:
        """Whether it needs runs of a variant."""
        return any(fnmatchcase(name, pattern) for pattern in self.variants)

    def checks(self, claims: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """The checks that are about it and count, of claims as ``claims.json`` has them."""
        found: list[Mapping[str, Any]] = []
        for claim in claims:
            judges = claim["id"] in self.claims and claim["verdict"] != Verdict.REFERENCE
            every = claim["checks"] if judges else []
            some = [check for check in every if self.only and re.search(self.only, check["what"])]
            found += [check for check in some or every if check["counted"]]
        return found


def find(places: Sequence[Place], kinds: Sequence[PlaceKind], number: str) -> Place:
    """The place with this number: ``"5"``, ``"7b"`` (which is a part of 7), ``"figure-5"``.

    Raises:
        ValueError: the paper has none; the message lists the existing ones.
    """
    some = [place for place in places if place.kind in kinds]
    wanted = number.strip().lower().removeprefix("figure").removeprefix("table").strip(" -.()")
    for of in (wanted, wanted.rstrip("abcd")):
        for place in some:
            if of == place.number or number == place.name:
                return place
    if not some:
        there = ", ".join(place.number or place.name for place in places)
        other = PlaceKind.FIGURE if PlaceKind.TABLE in kinds else PlaceKind.TABLE
        raise ValueError(f"no {kinds[0]}; it has {other}s {there}")
    raise ValueError(f"no {kinds[0]} {number!r}; there are: {', '.join(place.number for place in some)}")
