"""Tables that are data of a module: a TOML file beside it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any


def beside(module: str, name: str) -> dict[str, Any]:
    """The tables of a file beside a module; a text of several lines is one line.

    Args:
        module: its ``__file__``.
        name: of the file.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no TOML.
    """
    tables: dict[str, Any] = _joined(tomllib.loads(Path(module).with_name(name).read_text(encoding="utf-8")))
    return tables


def _joined(value: Any) -> Any:
    """A value of TOML whose texts have no line breaks."""
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, list):
        return [_joined(one) for one in value]
    return {key: _joined(one) for key, one in value.items()} if isinstance(value, dict) else value
