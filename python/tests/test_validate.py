"""docs/validation.md follows from the data files in docs/validation, and stands between its markers."""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from bentpipe.pages.markdown import replaced

ROOT = Path(__file__).parents[2]
PAGE = "before\n<!-- a -->\n\n| old |\n\n<!-- end a -->\nafter <!-- b -->\n<!-- end b -->\n"


@pytest.fixture(name="validate")
def _validate(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The script, which imports its neighbours."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    monkeypatch.delitem(sys.modules, "validate", raising=False)
    yield importlib.import_module("validate")


def test_a_table_takes_the_place_of_the_old_one(validate: ModuleType) -> None:
    assert replaced(PAGE, "a", "| new |\n\nwords\n") == PAGE.replace("| old |", "| new |\n\nwords")


@pytest.mark.parametrize("page", [PAGE.replace("<!-- a -->", ""), PAGE.replace("<!-- end a -->", "")])
def test_a_missing_marker_is_an_error(validate: ModuleType, page: str) -> None:
    with pytest.raises(ValueError, match="has no <!-- a --> or no <!-- end a -->"):
        replaced(page, "a", "| new |")


def test_the_page_is_what_the_data_files_give(validate: ModuleType) -> None:
    assert validate.pages()[validate.PAGE] == validate.PAGE.read_text(encoding="utf-8")


def test_every_witness_has_its_data_file_and_a_part_of_the_page(validate: ModuleType) -> None:
    parts = validate.parts()
    for name, command in validate.COMMANDS.items():
        assert (validate.PROGRAMS / command[0]).is_file()
        assert f"validation/{name}.csv" in parts[name]


def copied(validate: ModuleType, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the script work on copies of the page and the data files."""
    shutil.copytree(validate.DATA, folder / "validation")
    shutil.copy(validate.PAGE, folder / "validation.md")
    monkeypatch.setattr(validate, "PAGE", folder / "validation.md")
    monkeypatch.setattr(validate, "DATA", folder / "validation")


@pytest.mark.parametrize(("status", "verdict"), [(0, "agrees"), (1, "differs")])
def test_what_a_witness_prints_becomes_its_data_file_and_shows_on_the_page(
    validate: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, verdict: str
) -> None:
    copied(validate, tmp_path, monkeypatch)
    head = (tmp_path / "validation" / "ns2-queues.csv").read_text(encoding="utf-8").partition("\n")[0]
    printed = f'{head}\n"red, drops",a quantity,1,0.1,1.5,0.1,+50.0,10,{verdict}\n'
    witness = tmp_path / "witness.py"
    witness.write_text(f"import sys\nprint({printed!r}, end='')\nsys.exit({status})\n", encoding="utf-8")
    monkeypatch.setattr(validate, "PROGRAMS", tmp_path)
    monkeypatch.setattr(validate, "COMMANDS", {"ns2-queues": ["witness.py"]})
    monkeypatch.setattr(sys, "argv", ["validate.py"])
    assert validate.main() == status
    assert (tmp_path / "validation" / "ns2-queues.csv").read_text(encoding="utf-8") == printed
    page = validate.PAGE.read_text(encoding="utf-8")
    assert f"| red, drops | a quantity | 1 | 1.5 | +50.0 | {verdict} |" in page
    # Of what differs there is no median; it counts as open.
    assert ("1 quantities | 1 |  | 0 | 50.0 %, 50.0 %" in page) == (verdict == "agrees")
    assert ("1 quantities | 0 |  | 1 |  |" in page) == (verdict == "differs")


def test_a_witness_that_fails_or_prints_other_columns_leaves_its_data_file(
    validate: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied(validate, tmp_path, monkeypatch)
    stored = tmp_path / "validation" / "ns2-queues.csv"
    before = stored.read_text(encoding="utf-8")
    (tmp_path / "witness.py").write_text("print('other,columns')\n", encoding="utf-8")
    monkeypatch.setattr(validate, "PROGRAMS", tmp_path)
    monkeypatch.setattr(validate, "COMMANDS", {"ns2-queues": ["witness.py"]})
    monkeypatch.setattr(sys, "argv", ["validate.py"])
    assert validate.main() == 1
    assert stored.read_text(encoding="utf-8") == before


def test_a_page_that_the_data_files_do_not_give_is_noticed(
    validate: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    copied(validate, tmp_path, monkeypatch)
    docs = importlib.import_module("docs")
    monkeypatch.setattr(sys, "argv", ["docs.py", "validate", "--check"])
    assert docs.main() == 0
    stored = tmp_path / "validation" / "ns3-grid.csv"
    stored.write_text(stored.read_text(encoding="utf-8").replace("+9.7", "+9.6"), encoding="utf-8")
    assert docs.main() == 1
    assert "validation.md does not agree with its source" in capsys.readouterr().err


def test_a_row_that_agrees_by_rule_stands_beside_the_difference_without_it(validate: ModuleType) -> None:
    columns = ("cell", "rule", "x_mbit", "difference_percent", "verdict")
    rows = [
        dict(zip(columns, cells, strict=True))
        for cells in (
            ("one", "", "1", "+1.0", "agrees"),
            ("two", "", "2", "-40.0", "repeated"),
            ("two", "Rule", "2", "+2.0", "agrees by rule"),
            ("three", "", "3", "+30.0", "repeated"),
            ("three", "Rule", "3", "-20.0", "open"),
        )
    ]
    witness = validate.Witness("", "cells", "ns-9", {"cell": "cell", "rule": "rule"})
    made = validate.section("x", witness, rows).splitlines()
    assert made[0].startswith("3 cells: 1 agree, 1 agree with ns-9's rule, 1 open.")
    assert made[2:] == [
        "| cell | rule | difference, % | without the rule, % | verdict |",
        "| --- | --- | --- | --- | --- |",
        "| one |  | +1.0 |  | agrees |",
        "| two | Rule | +2.0 | -40.0 | agrees by rule |",
        "| three | Rule | -20.0 | +30.0 | open |",
    ]
