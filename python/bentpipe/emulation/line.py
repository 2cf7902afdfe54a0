"""The live line of an emulation: the last line of the terminal, below the output of the command."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Any, Self

from bentpipe import units

_ARROWS = {"forward": "\N{RIGHTWARDS ARROW}", "reverse": "\N{LEFTWARDS ARROW}"}


def short(seconds: float) -> str:
    """A short time: in microseconds below a millisecond."""
    return f"{seconds * 1e6:.0f} \N{MICRO SIGN}s" if seconds < 1e-3 else f"{units.milliseconds(seconds)} ms"


def text(snapshot: dict[str, Any]) -> str:
    """The numbers of a snapshot in one line: rate, queue and losses both ways, and how late packets were."""
    parts = [f"{snapshot['t_s']:.0f} s"]
    for way, arrow in _ARROWS.items():
        row = snapshot[way]
        lost = row["dropped_queue"] + row["dropped_error"]
        parts.append(
            f"{arrow} {units.rate(row['rate_bps'])}, {row['queue_packets']:,} waiting, {lost:,} lost"
        )
    late = max(snapshot[way]["lateness_p99_s"] for way in _ARROWS)
    parts.append(f"99 % within {short(late)}")
    return "   ".join(parts)


class LiveLine:
    """Keeps the last line of the terminal of standard error for itself, if there is one; as a context.

    The other lines scroll above it, as the command writes them (the terminal's scroll region, DECSTBM). A
    program that takes the terminal for itself, as a shell does, has it: nothing is drawn then.
    """

    def __init__(self, *, wanted: bool) -> None:
        self._wanted = wanted and sys.stderr is not None and sys.stderr.isatty()
        self._rows = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._rows:
            self._put(f"\x1b7\x1b[r\x1b[{self._rows};1H\x1b[2K\x1b8")
            self._rows = 0

    @property
    def is_shown(self) -> bool:
        """Whether a line would be visible now."""
        if not self._wanted:
            return False
        try:
            return os.tcgetpgrp(sys.stderr.fileno()) == os.getpgrp()
        except OSError:
            return False

    def show(self, snapshot: dict[str, Any]) -> None:
        """Draws the line."""
        if not self.is_shown:
            return
        from rich.console import Console
        from rich.text import Text

        columns, rows = shutil.get_terminal_size()
        if rows < 3:
            return
        if rows != self._rows:
            # A new line first: the last one may hold the cursor.
            self._put(f"\n\x1b7\x1b[1;{rows - 1}r\x1b8\x1b[1A")
            self._rows = rows
        console = Console(file=sys.stderr, width=columns, highlight=False, markup=False)
        line = Text(text(snapshot), style="dim", no_wrap=True, overflow="ellipsis", end="")
        with console.capture() as drawn:
            console.print(line, end="")
        self._put(f"\x1b7\x1b[{rows};1H\x1b[2K{drawn.get()}\x1b8")

    def _put(self, control: str) -> None:
        sys.stderr.write(control)
        sys.stderr.flush()
