"""Where a scenario is read from: a file, a shipped name, a stored result, or standard input."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bentpipe import _core
from bentpipe.registry import unknown

SCENARIOS = Path(__file__).parent / "scenarios"
"""The scenarios that come with the package, one TOML file each."""
STDIN = "-"
"""Stands for standard input."""


class Source:
    """The text of a scenario, read once, and the name that messages call it by.

    Args:
        given: a TOML or JSON file; the name of a scenario that comes with the package ("geo", in any case); a
            directory that `bentpipe run --out` wrote, or the run.json in it; or "-", standard input.

    Raises:
        ScenarioError: there is no such scenario, or the text is not what it should be.
    """

    def __init__(self, given: str | Path) -> None:
        self._path: Path | None = None
        self._text = ""
        if str(given) == STDIN:
            self._name = "standard input"
            self._text = _standard_input()
        elif (stored := _stored(Path(given))) is not None:
            self._name = str(given)
            self._text = json.dumps(stored)
        else:
            self._path = find_file(given)

    def load(self, overrides: Mapping[str, Any] | Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
        """The table of the scenario, checked; files that it names can be found from the working directory.

        Args:
            overrides: values by dotted key, or pairs of a key and its value as TOML.

        Raises:
            ScenarioError: it is not correct; the message names file, line and key.
        """
        if isinstance(overrides, Mapping):
            overrides = [(key, json.dumps(value)) for key, value in overrides.items()]
        pairs = list(overrides)
        if self._path is not None:
            text = _core.load(str(self._path), pairs)
        else:
            text = _core.parse(self._text, self._name, pairs)
        table: dict[str, Any] = json.loads(text)
        return table


def find_file(given: str | Path) -> Path:
    """The file of that name, or the one that comes with the package under it.

    Raises:
        ScenarioError: there is neither.
    """
    file = Path(given)
    if file.is_file():
        return file
    known = sorted(p.stem for p in SCENARIOS.glob("*.toml"))
    name = str(given).lower()
    if name in known:
        return SCENARIOS / f"{name}.toml"
    if file.is_dir():
        raise _core.ScenarioError(
            f"{given} is a directory, neither a scenario file nor a result of run --out"
        )
    if file.suffix == ".toml" or len(file.parts) > 1:
        raise _core.ScenarioError(f"there is no file {str(given)!r}")
    raise _core.ScenarioError(unknown("scenario", str(given), known))


def _standard_input() -> str:
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise _core.ScenarioError(f"standard input is not text in UTF-8: byte {error.start + 1}") from None
    except (AttributeError, OSError, ValueError):  # it is closed
        raise _core.ScenarioError("standard input cannot be read; give a file") from None


def _stored(path: Path) -> dict[str, Any] | None:
    """The scenario of a stored result, with the seed of its run; None if `path` is none."""
    directory = path.parent if path.name == "run.json" else path
    if not (directory / "run.json").is_file():
        return None
    from bentpipe.result import read_about

    about = read_about(directory)
    return {**about["scenario"], "seed": about["seed"]}
