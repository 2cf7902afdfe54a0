"""Standing answers: of links that need more work than the budget of a question, made once and dated.

`python tools/standing_answers.py` makes standing.json again, and the part of docs/starlink.md.
"""

from __future__ import annotations

import json
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

PLACE = Path(__file__).with_name("standing.json")


@cache
def answers() -> dict[str, Any]:
    """By the name of the link: made, version, plan, recommended, recommended_in_linux, advice, algorithms."""
    found: dict[str, Any] = json.loads(PLACE.read_text(encoding="utf-8"))
    return found


def sentence(answer: dict[str, Any]) -> str:
    """The answer with its date, in a sentence."""
    made = date.fromisoformat(answer["made"])
    said = " ".join(one.rstrip(".") + "." for one in answer["advice"][:3])
    return f"Standing answer of {made.day} {made:%B %Y} (plan {answer['plan']}, docs/starlink.md): {said}"
