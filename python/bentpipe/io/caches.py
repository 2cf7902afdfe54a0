"""Values that were computed before, in folders of the user's cache, which may be deleted at any time."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe.io.files import Changed, cache_folder, keep_newest, read_frame, replace_frame, replace_text

if TYPE_CHECKING:
    import polars as pl


@dataclass
class Cache:
    """Entries of a value in JSON with its sum, and perhaps a table beside it.

    Attributes:
        room: name of their folder in `$XDG_CACHE_HOME/bentpipe`, or `~/.cache/bentpipe` in its place.
        most: entries that are kept; the oldest go first.
    """

    room: str
    most: int

    @property
    def folder(self) -> Path:
        """The folder of the entries."""
        return cache_folder(self.room)

    def read(self, name: str) -> tuple[Any, pl.DataFrame | None]:
        """The value of an entry, and its table if it has one.

        Raises:
            LookupError: there is none, or a damaged one, which is removed.
        """
        about, table = self._files(name)
        try:
            found = json.loads(about.read_bytes())
            if digest(found["value"]) != found["sum"]:
                raise Changed(str(about))
            return found["value"], None if found["table"] is None else read_frame(table, found["table"])
        except FileNotFoundError:
            pass
        except (OSError, Changed, ValueError, KeyError, TypeError, RecursionError):
            for file in (about, table):
                with suppress(OSError):
                    file.unlink(missing_ok=True)
        raise LookupError(name)

    def write(self, name: str, value: Any, frame: pl.DataFrame | None = None) -> None:
        """Keeps an entry. A full disk or a foreign folder is not an error: it costs time the next time."""
        about, table = self._files(name)
        with suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            whole = None if frame is None else replace_frame(table, frame)
            replace_text(about, json.dumps({"sum": digest(value), "table": whole, "value": value}))
            keep_newest(self.folder, ".json", self.most)

    def _files(self, name: str) -> tuple[Path, Path]:
        return self.folder / f"{name}.json", self.folder / f"{name}.parquet"


def digest(value: Any) -> str:
    """The SHA-256 sum of a value, as JSON without NaN."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, allow_nan=False).encode()).hexdigest()
