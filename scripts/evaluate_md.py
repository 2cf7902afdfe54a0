"""Writes the tables of docs/evaluate.md from the criteria, lines and experiments themselves."""

from __future__ import annotations

from pathlib import Path

from md import DOCS, filled, table

from bentpipe.evaluation.assessment import CHAPTERS
from bentpipe.evaluation.criteria import CRITERIA, LINES, TITLES, Criterion

PAGE = DOCS / "evaluate.md"


def answered() -> str:
    """A row for each criterion that an experiment answers."""
    rows = []
    for c in CRITERIA:
        if c.evidence:
            names = ", ".join(f"`{name}`" for name in dict.fromkeys(e.experiment for e in c.evidence))
            rows.append((_place(c), c.asks, names, "yes" if c.lines else "", c.reason))
    return table(("section", "asked", "experiments", "held against a line", "what it leaves out"), rows)


def left() -> str:
    """A row for each criterion that is not evaluated."""
    rows = [(_place(c), c.asks, c.reason) for c in CRITERIA if not c.evidence]
    return table(("section", "asked", "why not"), rows)


def bounds() -> str:
    """A row for each line."""
    metrics = {e.name: e.metrics for e in CHAPTERS}
    rows = [
        (f"`{of.experiment}`", metrics[of.experiment][of.metric].words, of.words) for of in LINES.values()
    ]
    return table(("experiment", "metric", "line"), rows)


def set_ups() -> str:
    """A paragraph for each experiment."""
    text = ""
    for e in CHAPTERS:
        quick, full = (len(list(e.settings(extent))) for extent in ("quick", "full"))
        differs = f"How it differs: {e.deviation}\n\n" if e.deviation else ""
        text += (
            f"### {e.title} (`{e.name}`)\n\n{e.setup}\n\n{differs}Source: {e.source}. Set-ups and seeds: "
            f"{quick} and {e.seeds['quick']} (quick), {full} and {e.seeds['full']} (full).\n\n"
        )
    return text


PARTS = {"answered": answered, "left": left, "lines": bounds, "experiments": set_ups}


def _place(c: Criterion) -> str:
    level = c.level if c.level in ("MUST", "SHOULD") else ""
    return f"{c.document} {c.section} {level}".strip()


def pages() -> dict[Path, str]:
    """The page with its tables as they should be."""
    assert all(c.document in TITLES for c in CRITERIA)
    return filled(PAGE, {name: make() for name, make in PARTS.items()})
