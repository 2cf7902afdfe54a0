"""The page of docs/plots.md: every verb is there, with its commands and its picture."""

from __future__ import annotations

import importlib
import re
import shlex
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest
import typer

import bentpipe as bp
from bentpipe.plot.commands import app

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "plots.md"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    return importlib.import_module("plots_md")


def verbs() -> set[str]:
    """Those of the package; `timeline` and `network` are on pages of their own."""
    return {str(command.name) for command in app.registered_commands} - {"timeline", "network"}


def test_every_verb_has_its_figure_and_its_function(script: ModuleType) -> None:
    figures = script.figures()
    drawn = {shlex.split(commands[-1])[2] for commands in figures.values()}
    assert drawn == verbs()
    text = PAGE.read_text(encoding="utf-8")
    for commands in figures.values():
        assert f"](plots/{script.figure_file(commands)})" in text
    for verb in verbs() - {"path"}:
        assert hasattr(bp.plot, verb.replace("-", "_")), verb


def test_the_options_on_the_page_are_those_of_the_verbs() -> None:
    text = PAGE.read_text(encoding="utf-8")
    group = typer.main.get_command(app)
    for command in re.findall(r"^bentpipe plot ((?:.|\\\n)*?)(?<!\\)$", text, flags=re.MULTILINE):
        verb, *words = shlex.split(command)
        known = {option for part in group.commands[verb].params for option in part.opts}  # type: ignore[attr-defined]
        assert {word for word in words if word.startswith("-")} <= known, command


def test_the_fingerprint_of_numbers_ignores_their_last_digits(script: ModuleType, tmp_path: Path) -> None:
    marks = []
    for nth, value in enumerate((1.0 / 3, 1.0 / 3 + 1e-12, 0.34)):
        pl.DataFrame({"a": ["x"], "y": [value]}).write_csv(tmp_path / f"{nth}.csv")
        marks.append(script.digest(tmp_path / f"{nth}.csv"))
    assert marks[0] == marks[1] != marks[2]
