"""The checker of English counts what it should, and lets no number rise."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def english(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "scripts"))
    sys.modules.pop("english", None)
    import english

    return english


def test_phrases_are_found_in_prose_docstrings_and_comments(english: ModuleType, tmp_path: Path) -> None:
    source = '"""What it is."""\ntold = "told"  # so many are told\n'
    lines = list(english._of_python(tmp_path / "x.py", source))
    assert len(english.found("told", "python", lines)) == 1  # neither the name nor the text
    assert len(english.found("so many", "python", lines)) == 1
    assert len(english.found("What/Which/How ...", "python", lines)) == 1
    long = english.ProseLine(tmp_path / "x.rs", 3, "    // " + "x" * 110)
    assert len(english.found(english.LONG, "rust", [long])) == 1
    readme = [line.text for line in english.pages() if line.path.name == "README.md"]
    assert any("laboratory" in text for text in readme) and not any("make study  " in text for text in readme)


def test_more_than_the_number_fails_and_no_update_raises_it(
    english: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    place = tmp_path / "english.toml"
    monkeypatch.setattr(english, "FILE", place)
    line = english.ProseLine(english.ROOT / "docs" / "x.md", 7, "So many words, so many things.")
    monkeypatch.setattr(english, "AREAS", {"pages": lambda: [line]})
    text = '["so many"]\nbetter = "n"\npages = {}\n'
    for most, status in ((1, 1), (2, 0), (5, 0)):
        place.write_text(text.format(most), encoding="utf-8")
        monkeypatch.setattr(sys, "argv", ["english.py"])
        assert english.main() == status
    assert "'so many' occurs 2 times in pages, 1 before; better: n" in capsys.readouterr().err
    for most, kept in ((5, 2), (1, 1)):
        place.write_text(text.format(most), encoding="utf-8")
        monkeypatch.setattr(sys, "argv", ["english.py", "--update"])
        assert english.main() == 0 and f"pages = {kept}\n" in place.read_text(encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["english.py", "--list", "so many"])
    assert english.main() == 0 and capsys.readouterr().out.startswith("docs/x.md:7: So many")


def test_no_page_has_a_name_where_numbers_should_be(english: ModuleType) -> None:
    """A line of its own, or before a percent sign; states of BBR have such names within sentences."""
    left = [
        line for line in english.pages() if re.search(r"^[A-Z0-9_]{4,}$|[A-Z]{3,}[A-Z0-9_]* %", line.text)
    ]
    assert [f"{line.path.name}:{line.number}: {line.text}" for line in left] == []
