"""The criteria of the documents, and the lines that answers are compared with, as criteria.toml has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from bentpipe.evaluation.lines import Line
from bentpipe.toml_tables import beside

Level = Literal["MUST", "SHOULD", "criterion", "experiment"]
"""A key word of RFC 2119 (REQUIRED counts as MUST); a criterion that has none; an experiment of tcpeval."""


@dataclass(frozen=True)
class Exhibit:
    """Numbers that answer a criterion.

    Args:
        experiment: the name of the experiment.
        metrics: which of its metrics.
        where: in which setting.
    """

    experiment: str
    metrics: tuple[str, ...]
    where: Mapping[str, str | int | float] = field(default_factory=dict)


@dataclass(frozen=True)
class Criterion:
    """One demand of a document.

    Args:
        document: "RFC 9743" or "tcpeval".
        section: its number there.
        level: how strongly it is put.
        asks: the demand.
        evidence: the numbers that answer it; empty if it is not evaluated.
        reason: why it is not evaluated, or the limits of the evidence.
        lines: at which the answer is held; without one it is a matter of judgement.
    """

    document: str
    section: str
    level: Level
    asks: str
    evidence: tuple[Exhibit, ...] = ()
    reason: str = ""
    lines: tuple[Line, ...] = ()


_GIVEN = beside(__file__, "criteria.toml")

TITLES: dict[str, str] = _GIVEN["documents"]
"""The documents."""
LINES = {name: Line(**given) for name, given in _GIVEN["lines"].items()}
"""Every line, by its name."""
CRITERIA = tuple(
    Criterion(
        document=given["document"],
        section=given["section"],
        level=given["level"],
        asks=given["asks"],
        evidence=tuple(Exhibit(name, tuple(of), *where) for name, of, *where in given.get("evidence", ())),
        reason=given.get("reason", "").format(**_GIVEN["reasons"]),
        lines=tuple(LINES[name] for name in given.get("lines", ())),
    )
    for given in _GIVEN["criteria"]
)
"""All criteria, in the order of the documents."""
