"""The criteria of the documents, and the lines that answers are compared with, as criteria.toml has them."""

from __future__ import annotations

from bentpipe.evaluation.criterion import Criterion, Exhibit
from bentpipe.evaluation.lines import Line
from bentpipe.toml_tables import beside

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
