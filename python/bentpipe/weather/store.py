"""Cache of computed values, in files whose names are sums of all inputs of the values.

The files lie under `$XDG_CACHE_HOME/bentpipe/weather`, or `~/.cache` in its place, and may be deleted at any
time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from bentpipe import files

_FORM = 1
"""Counted up when a method changes, so that earlier values are not used."""
MOST = 500
"""Files that are kept; the oldest go first."""


def kept(kind: str, inputs: dict[str, Any], make: Callable[[], Any]) -> Any:
    """The value of `make`, which depends on nothing but `inputs`: from its file, or made and written there.

    Args:
        kind: the beginning of the file's name.
        inputs: all that the value depends on, as JSON.
        make: computes the value, as JSON.
    """
    key = _text({"form": _FORM, "kind": kind, "inputs": inputs})
    path = directory() / f"{kind}-{_sum(key)[:32]}.json"
    with suppress(OSError, ValueError, KeyError, TypeError):
        found = json.loads(path.read_bytes())
        if found["key"] == key and found["sum"] == _sum(_text(found["value"])):
            return found["value"]
    value = make()
    with suppress(OSError):  # a full disk or a foreign directory costs time and nothing else
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = _text({"key": key, "sum": _sum(_text(value)), "value": value})
        files.replace(path, lambda work: work.write_text(whole))
        files.keep_newest(path.parent, ".json", MOST)
    return value


def directory() -> Path:
    """The folder of the files."""
    return files.cache_folder("weather")


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, allow_nan=False, separators=(",", ":"))


def _sum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
