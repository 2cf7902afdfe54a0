"""Rows as files of comma-separated values."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bentpipe.files import csv_text, replace_text

DIGITS = 6
_FLAGS = {"True": True, "False": False, "": None}


def write_rows(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Writes rows, all with the columns of the first; nothing if there are none."""
    if not rows:
        return
    cells = ([f"{v:.{DIGITS}g}" if isinstance(v, float) else v for v in row.values()] for row in rows)
    replace_text(path, csv_text([rows[0], *cells]))


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Rows as `write_rows` wrote them."""
    with path.open(encoding="utf-8", newline="") as file:
        return [{name: _value(text) for name, text in row.items()} for row in csv.DictReader(file)]


def stored_rows(path: Path) -> list[dict[str, Any]]:
    """The same, and none if there is no such file."""
    return read_rows(path) if path.exists() else []


def _value(text: str) -> Any:
    if text in _FLAGS:
        return _FLAGS[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
