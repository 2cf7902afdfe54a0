"""A table of measured runs as CSV: a row for each run, which its path, its controller and its seed name."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar

from bentpipe import files

Row = TypeVar("Row")
KINDS: dict[str, type] = {"path": str, "cc": str, "seed": int}
"""Columns that are not real numbers."""


def read(file: Path, row: type[Row]) -> list[Row]:
    """The rows of a table, each as a dataclass whose fields are the columns."""
    with file.open(encoding="utf-8", newline="") as lines:
        return [
            row(**{key: KINDS.get(key, float)(value) for key, value in cells.items()})
            for cells in csv.DictReader(lines)
        ]


def write(file: Path, row: type[Any], rows: Iterable[Any]) -> None:
    """Writes the rows, sorted by path, controller and seed; real numbers have six digits."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(row)], lineterminator="\n")
    writer.writeheader()
    for one in sorted(rows, key=lambda one: (one.path, one.cc, one.seed)):
        plain = asdict(one)
        writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in plain.items()})
    files.replace(file, lambda work: work.write_text(text.getvalue(), encoding="utf-8"))
