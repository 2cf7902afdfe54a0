"""Paths that were computed before, in a folder of the user's cache.

An entry is named by a hash of the request, of the compiled module, and of the version of this format. It is a
table and a JSON object, which holds the routes and the table's sum. A damaged entry is removed and computed
again. The folder is `$XDG_CACHE_HOME/bentpipe/orbit`, or `~/.cache/bentpipe/orbit`; removing it costs time
only.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import _core
from bentpipe.files import Changed, cache_folder, keep_newest, read_frame, replace_frame, replace_text

if TYPE_CHECKING:
    import polars as pl

    Entry = tuple[pl.DataFrame, list[list[int]], dict[str, Any]]

FORMAT = 1
"""Version of an entry: another one is never read."""
MOST = 200
"""Entries that are kept; the oldest go first."""


def folder() -> Path:
    """The folder of entries."""
    return cache_folder("orbit")


@cache
def _module() -> str:
    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()


def name(request: str) -> str:
    """The name of the entry of a request."""
    return hashlib.sha256(f"{FORMAT} {_module()} {request}".encode()).hexdigest()[:32]


def read(name: str) -> Entry | None:
    """An entry: its table, its routes and its other data.

    None if it is not there, or damaged: then it is removed.
    """
    table, more = _files(name)
    try:
        about = json.loads(more.read_bytes())
        whole = hashlib.sha256(json.dumps(about["found"]).encode()).hexdigest()
        if whole != about["sum"]:
            raise Changed(str(more))
        return read_frame(table, about["found"]["table"]), about["found"]["routes"], about["found"]["info"]
    except FileNotFoundError:
        return None
    except (OSError, Changed, ValueError, KeyError, TypeError, RecursionError):
        for file in (more, table):
            with suppress(OSError):
                file.unlink(missing_ok=True)
        return None


def write(name: str, frame: pl.DataFrame, routes: list[list[int]], info: dict[str, Any]) -> None:
    """Keeps an entry.

    A folder that cannot be written to is not an error: the path is computed again the next time.
    """
    table, more = _files(name)
    with suppress(OSError):
        table.parent.mkdir(parents=True, exist_ok=True)
        found = {"table": replace_frame(table, frame), "routes": routes, "info": info}
        about = {"sum": hashlib.sha256(json.dumps(found).encode()).hexdigest(), "found": found}
        replace_text(more, json.dumps(about))
        keep_newest(folder(), ".json", MOST)


def _files(name: str) -> tuple[Path, Path]:
    return folder() / f"{name}.parquet", folder() / f"{name}.json"
