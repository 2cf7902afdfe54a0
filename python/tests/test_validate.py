"""Tables of docs/validation.md are written between their markers."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("validate", ROOT / "scripts" / "validate.py")
assert SPEC is not None and SPEC.loader is not None
validate = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(validate)

PAGE = "before\n<!-- a -->\n\n| old |\n\n<!-- end a -->\nafter <!-- b -->\n<!-- end b -->\n"


def test_a_table_takes_the_place_of_the_old_one() -> None:
    assert validate.replaced(PAGE, "a", "| new |\n\nwords\n") == PAGE.replace("| old |", "| new |\n\nwords")


@pytest.mark.parametrize("page", [PAGE.replace("<!-- a -->", ""), PAGE.replace("<!-- end a -->", "")])
def test_a_missing_marker_is_an_error(page: str) -> None:
    with pytest.raises(ValueError, match="has no <!-- a --> or no <!-- end a -->"):
        validate.replaced(page, "a", "| new |")


@pytest.mark.parametrize("name", validate.COMMANDS)
def test_every_witness_has_its_markers_and_its_file(name: str) -> None:
    page = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
    assert "| again |" in validate.replaced(page, name, "| again |")
    assert (validate.WITNESSES / validate.COMMANDS[name][0]).is_file()
