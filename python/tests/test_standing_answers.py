"""Standing answers: kept with their date, shown beside one's own, and made again by a command."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest

import bentpipe as bp
from bentpipe.advice import standing

ROOT = Path(__file__).parents[2]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return __import__("standing_answers")


def test_the_standing_answers_are_those_of_the_page(script: ModuleType) -> None:
    known = standing.answers()
    assert set(known) == {"starlink-down", "starlink-up"}
    page = (ROOT / "docs" / "starlink.md").read_text(encoding="utf-8")
    assert script.part(known).strip() in page
    for one in known.values():
        assert one["recommended"] in {row["cc"] for row in one["algorithms"]}
        assert one["plan"].startswith("63x"), "all algorithms"


def test_the_standing_answer_is_shown_beside_ones_own() -> None:
    few = {"cc": ["cubic"], "plan": "2x2x5s+0"}
    found = bp.advise("starlink-up", **few)
    (said,) = [one for one in found.sentences() if one.startswith("Standing answer of ")]
    kept = standing.answers()["starlink-up"]
    assert kept["plan"] in said and kept["made"][:4] in said and kept["advice"][0].rstrip(".") in said
    assert found.to_dict()["standing"] == kept
    for other in ({"flows": 2}, {"per": 1e-4}, {"goal": "fair"}, {"shared": False}):
        assert bp.advise("starlink-up", **few, **other).standing is None
    assert bp.advise("geo", **few).standing is None


def test_a_standing_answer_is_made_by_a_command(script: ModuleType, tmp_path: Path) -> None:
    assert script.main(["--plan", "3x1x2s+0", "--out", str(tmp_path)]) == 0
    made = json.loads((tmp_path / "standing.json").read_text())
    assert made["starlink-down"]["plan"] == "3x1x2s+0" and made["starlink-down"]["algorithms"]
    assert "**`starlink-up`, " in (tmp_path / "standing.md").read_text()
