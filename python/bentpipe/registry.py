"""The list of algorithms, as the core's registry has it."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from bentpipe import _core

GRADES = {
    "A": "rules read in an authority: paper, RFC or reference code",
    "B": "from knowledge of a published standard or paper",
    "C": "a reconstruction; the original could not be obtained",
}
"""How well an algorithm is pinned down."""


@cache
def _entries() -> tuple[dict[str, Any], ...]:
    return tuple(json.loads(_core.controllers()))


def controllers() -> list[dict[str, Any]]:
    """Every algorithm, in the order of tables and legends.

    Each is a dict with id, label, about, source, reference, grade, colour, marker, sender (what it asks of
    the sender: aen, bulk_repeat, fixed_rto), params (name, kind, default, min, max, choices, unit, about,
    from_path, and shared: is it one that all window algorithms take?) and refuses_hystart (why it cannot
    start with HyStart++; None if it can).
    """
    return [dict(entry) for entry in _entries()]


def find(name: str) -> dict[str, Any]:
    """The algorithm with this id.

    Raises:
        ScenarioError: there is none; the message gives the nearest names.
    """
    for entry in _entries():
        if entry["id"] == name:
            return dict(entry)
    raise _core.ScenarioError(unknown("algorithm", name, [e["id"] for e in _entries()]))


def style(cc: str) -> dict[str, str]:
    """Label, colour and marker of an algorithm; black and its own name for one that is not registered."""
    for entry in _entries():
        if entry["id"] == cc:
            return {key: entry[key] for key in ("label", "colour", "marker")}
    return {"label": cc, "colour": "#000000", "marker": "."}


def unknown(what: str, name: str, known: list[str]) -> str:
    """One line that says that `name` is unknown and which names are near, or all of them if none is."""
    import difflib

    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(known) or 'none'}"
    return f"no {what} is called {name!r}; {hint}"
