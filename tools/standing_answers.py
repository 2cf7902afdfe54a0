"""Makes the standing answers again: of links that take longer than the budget of a question.

python tools/standing_answers.py             # advice/standing.json, and the part of docs/starlink.md
python tools/standing_answers.py --plan 61x3x20s+2 --out DIR     # smaller, elsewhere
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))
import md

import bentpipe as bp
from bentpipe import _core
from bentpipe.advice import standing
from bentpipe.io import files
from bentpipe.machine import linux
from bentpipe.pages.markdown import markdown, replaced, wrapped
from bentpipe.units import digits

LINKS = ("starlink-down", "starlink-up")
PLAN = "63x20x60s+20"
"""All algorithms, with twenty seeds of a minute, and as many for the costs of the best."""
MARK = "standing_answers"
PAGE = md.DOCS / "starlink.md"
ROWS = 8


def main(arguments: Sequence[str] | None = None) -> int:
    """Asks, and writes."""
    parser = md.command_line(__doc__)
    parser.add_argument("--plan", default=PLAN, help="of each answer")
    parser.add_argument("--out", type=Path, help="write the answers and the part of the page there instead")
    given = parser.parse_args(arguments)
    made = {link: of(bp.advise(link, plan=given.plan)) for link in LINKS}
    place = standing.PLACE if given.out is None else given.out / standing.PLACE.name
    files.replace_text(place, json.dumps(made, indent=1) + "\n")
    if given.out is None:
        files.replace_text(PAGE, replaced(PAGE.read_text(encoding="utf-8"), MARK, part(made)))
    else:
        files.replace_text(given.out / "standing.md", part(made) + "\n")
    return 0


def of(advice: bp.Advice) -> dict[str, Any]:
    """What is kept of an answer."""
    kept = ("cc", "label", "had", "goodput_bps", "queue_p95_s", "loss", "harm_cubic", "flags")
    return {
        "made": datetime.now(UTC).date().isoformat(),
        "version": _core.__version__,
        "plan": str(advice.plan),
        "recommended": advice.recommended,
        "recommended_in_linux": advice.recommended_in_linux,
        "advice": [said for said in advice.sentences() if not said.startswith("Standing answer")],
        "algorithms": [{name: row[name] for name in kept} for row in advice.final_rows()],
    }


def part(made: Mapping[str, Mapping[str, Any]]) -> str:
    """The part of the page."""
    return "\n\n".join(_one(link, answer) for link, answer in made.items())


def _one(link: str, answer: Mapping[str, Any]) -> str:
    heads = [
        "<algorithm",
        "<had",
        "goodput, Mbit/s",
        "queue p95, ms",
        "lost, %",
        "CUBIC beside it loses, %",
        "<reckless by",
    ]
    rows = [
        [
            row["label"],
            linux.in_a_word(row["cc"]),
            _number(row["goodput_bps"], 1e-6),
            _number(row["queue_p95_s"], 1e3),
            _number(row["loss"], 100),
            _number(row["harm_cubic"], 100),
            ", ".join(flag["kind"] for flag in row["flags"]),
        ]
        for row in answer["algorithms"]
    ]
    head = f"**`{link}`, {answer['made']}, version {answer['version']}, plan {answer['plan']}.**"
    return f"{wrapped(' '.join([head, *answer['advice']]))}\n\n{markdown(heads, rows)}"


def _number(value: Mapping[str, Any] | None, scale: float) -> str:
    return "-" if value is None else digits(value["centre"] * scale, 3)


if __name__ == "__main__":
    sys.exit(main())
