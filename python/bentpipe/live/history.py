"""The numbers of the last minutes, for all connected browsers."""

from __future__ import annotations

import json
import math
import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

from bentpipe.live.board import Numbers

#: Time for which a number is kept, in seconds.
KEPT_S = 600.0
#: Most numbers that are kept, with a name each: 50 MB at the very worst. With more, less time is kept.
MOST = 400_000
#: Rows after which a browser that did not keep up gets the whole history instead.
BEHIND = 20


class History:
    """Rows of numbers with their times, the newest last; and whether there will be more."""

    def __init__(self) -> None:
        self._rows: deque[tuple[float, dict[str, float]]] = deque()
        self._numbers = 0
        #: The number of rows so far, removed ones included.
        self._count = 0
        self._ended: str | None = None
        self._changed = threading.Condition()

    def add(self, t_s: float, numbers: Numbers) -> None:
        """Adds a row; rows older than `KEPT_S` are removed."""
        row = {
            name: float(f"{value:.6g}")
            for name, value in numbers.items()
            if value is not None and math.isfinite(value)
        }
        with self._changed:
            if self._ended is not None:
                return
            self._rows.append((round(t_s, 3), row))
            self._numbers += len(row)
            self._count += 1
            while len(self._rows) > 1 and (self._rows[0][0] < t_s - KEPT_S or self._numbers > MOST):
                self._numbers -= len(self._rows.popleft()[1])
            self._changed.notify_all()

    def end(self, said: str) -> None:
        """There will be no more, for the reason `said`. Only the first reason counts."""
        with self._changed:
            if self._ended is None:
                self._ended = said
                self._changed.notify_all()

    def events(self, quiet_s: float) -> Iterator[tuple[str, Any] | None]:
        """The messages to a browser: the history, each row as it comes, the end.

        None after `quiet_s` seconds in which nothing happened, so that a browser that has gone is noticed.
        """
        with self._changed:
            seen, told = self._count, self._columns()
        yield "history", told
        while True:
            with self._changed:
                if self._count == seen and self._ended is None:
                    self._changed.wait(quiet_s)
                new, ended = self._count - seen, self._ended
                seen = self._count
                if new > min(BEHIND, len(self._rows)):
                    events: list[tuple[str, Any] | None] = [("history", self._columns())]
                else:
                    events = [("row", self._rows[i]) for i in range(-new, 0)]
            if not events and ended is None:
                events = [None]
            yield from events
            if ended is not None:
                yield "end", ended
                return

    def _columns(self) -> dict[str, Any]:
        """All rows: their times, and a column for each name, with None where a row lacks it."""
        names: dict[str, list[float | None]] = {}
        for i, (_, row) in enumerate(self._rows):
            for name, value in row.items():
                if name not in names:
                    names[name] = [None] * len(self._rows)
                names[name][i] = value
        return {"t": [t for t, _ in self._rows], "columns": names, "kept_s": KEPT_S}


def event(kind: str, value: Any) -> bytes:
    """A server-sent event; JSON has no line breaks that would end it."""
    return f"event: {kind}\ndata: {json.dumps(value, separators=(',', ':'), allow_nan=False)}\n\n".encode()
