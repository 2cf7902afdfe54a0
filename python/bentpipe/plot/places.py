"""Files for the numbers of a figure."""

from __future__ import annotations

from pathlib import Path

from bentpipe import _core
from bentpipe.files import Kind, check_kind

NUMBERS = {
    ".csv": Kind("the numbers of a figure", (b"figure,",)),
    ".parquet": Kind("a Parquet table", (b"PAR1",)),
}
"""The formats that the numbers of a figure are written in."""


def beside(path: Path) -> Path:
    """The CSV file beside a figure."""
    return path.with_suffix(".csv")


def check_numbers(path: Path) -> None:
    """Checks that numbers can be written there, and replace nothing but numbers.

    Raises:
        ScenarioError: the ending is not a format, or there is a file of another kind.
        OSError: it is a directory, or cannot be read.
    """
    if path.suffix not in NUMBERS:
        raise _core.ScenarioError(f"{path}: the numbers of a figure must end in .csv or .parquet")
    check_kind(path, NUMBERS[path.suffix])
