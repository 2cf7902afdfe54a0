"""The criteria of the documents, and the lines that answers are compared with, as criteria.toml has them."""

from __future__ import annotations

import tomllib
from pathlib import Path

from bentpipe.evaluation.criterion import Criterion, Exhibit
from bentpipe.evaluation.lines import Line

_GIVEN = tomllib.loads(Path(__file__).with_name("criteria.toml").read_text(encoding="utf-8"))

TITLES: dict[str, str] = _GIVEN["documents"]
"""The documents."""
LINES = {
    name: Line(**given | {"words": " ".join(given["words"].split())})
    for name, given in _GIVEN["lines"].items()
}
"""Every line, by its name."""
CRITERIA = tuple(
    Criterion(
        document=given["document"],
        section=given["section"],
        level=given["level"],
        asks=" ".join(given["asks"].split()),
        evidence=tuple(Exhibit(name, tuple(of), *where) for name, of, *where in given.get("evidence", ())),
        reason=" ".join(given.get("reason", "").split()).format(**_GIVEN["reasons"]),
        lines=tuple(LINES[name] for name in given.get("lines", ())),
    )
    for given in _GIVEN["criteria"]
)
"""All criteria, in the order of the documents."""
