"""The scenarios that come with the package: their names, titles and texts."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from bentpipe.document.source import find_file
from bentpipe.registry import shipped_files


@dataclass(frozen=True)
class Preset:
    """One shipped scenario.

    Attributes:
        name: its name for `bentpipe run`.
        title: its own title, one line.
        about: the sentences at the head of its file.
        file: the file.
    """

    name: str
    title: str
    about: str
    file: Path


def shipped() -> list[Preset]:
    """All of them, in alphabetical order."""
    found = []
    for file in shipped_files().values():
        content = file.read_text(encoding="utf-8")
        head = content.partition("\ntitle")[0].splitlines()
        about = " ".join(line.lstrip("# ") for line in head if line.startswith("#"))
        found.append(Preset(file.stem, tomllib.loads(content)["title"], about, file))
    return found


def text(name: str | Path) -> str:
    """The text of the scenario with this name, or of a file, with its comments.

    Raises:
        ScenarioError: there is neither.
        OSError: the file cannot be read.
    """
    return find_file(name).read_text(encoding="utf-8")
