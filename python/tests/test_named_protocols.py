"""The table of what the papers name: every name in it exists, and a list that is wrong is refused."""

from __future__ import annotations

import importlib
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bentpipe import _core
from bentpipe.studies import PAPERS

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "scripts")
        yield importlib.import_module("controllers_md")


ENTRIES: list[dict[str, Any]] = json.loads(_core.controllers())


def test_every_paper_has_its_table(script: ModuleType) -> None:
    found = script.named(ENTRIES, tomllib.loads(script.words(script.NAMED)))
    assert {paper.replace("-", "_") for paper in found} == set(PAPERS)
    text = str(found)
    # What the abstracts of the papers propose or build on, each with its own controller.
    for one in (
        "star",
        "hswa",
        "vegas-l",
        "a-liad",
        "simd",
        "aiad",
        "peach",
        "cherry",
        "xcp",
        "vcp",
        "tear",
        "rap",
    ):
        assert f"[`{one}`](controllers/{one}.md)" in text, one


@pytest.mark.parametrize(
    ("protocol", "message"),
    [
        ({"name": "Nobody", "as": "x", "cc": ["nobody"]}, "Nobody: no cc is called nobody"),
        ({"name": "Nobody", "as": "x", "queue": ["nobody"]}, "no queue is called nobody"),
        ({"name": "Nobody", "as": "x", "option": ["nobody"]}, "no option is called nobody"),
        ({"name": "Nobody", "as": "x"}, "say what it is here, or why it is absent"),
        ({"name": "Reno", "as": "x", "cc": ["reno"], "absent": "or not"}, "say what it is here, or why"),
    ],
)
def test_what_does_not_exist_is_refused(script: ModuleType, protocol: dict[str, Any], message: str) -> None:
    papers = {paper.replace("_", "-"): [protocol] for paper in PAPERS}
    with pytest.raises(SystemExit, match=message):
        script.named(ENTRIES, papers)


def test_a_paper_that_is_missing_is_told(script: ModuleType) -> None:
    with pytest.raises(SystemExit, match="spectrum.*not the papers that are studied"):
        script.named(ENTRIES, {paper.replace("_", "-"): [] for paper in PAPERS if paper != "spectrum"})
