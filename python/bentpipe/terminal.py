"""What the command line shows: tables, progress bars and lines of error. Rich is loaded when it is used."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TextIO, TypeVar, cast

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from bentpipe.studies.laboratory import Progress
    from bentpipe.sweeps.engine import State

T = TypeVar("T")

PIPED_WIDTH = 100
"""Columns of a table that does not go to a terminal, unless the environment sets COLUMNS."""

MOST_ROWS = 1000
"""Rows of a table, and lines of warnings, beyond which the rest is counted and not shown: a table is laid out
as a whole, which takes a minute for 100,000 rows."""


def console() -> Console:
    """Where tables go: standard output."""
    from rich.console import Console

    shown = sys.stdout is not None and sys.stdout.isatty()
    width = None if shown or "COLUMNS" in os.environ else PIPED_WIDTH
    # Names come from scenarios: square brackets in them are no markup.
    return Console(width=width, highlight=False, soft_wrap=False, markup=False)


def table(title: str, columns: Sequence[str]) -> Table:
    """An empty table; heads say how a column is laid out.

    Numbers to the right; "<" in front of a head means text to the left, and "~" text that may be broken.
    """
    from rich import box
    from rich.table import Table

    made = Table(
        title=title or None,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for head in columns:
        made.add_column(
            head.lstrip("<~"),
            justify="left" if head[:1] in ("<", "~") else "right",
            no_wrap=not head.startswith("~"),
            overflow="fold",
            header_style="bold",
        )
    return made


def plain(text: str) -> str:
    """Text whose control characters are written out: a name in a scenario cannot steer the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def rest(shown: int, there: int, what: str) -> None:
    """Says how many rows were left out, if any were."""
    if there > shown:
        line(f"... and {there - shown:,} {what} more; --json prints and --out writes all")


def line(text: str = "") -> None:
    """One line on standard output."""
    print(text)


def error(text: str) -> None:
    """One line on standard error, however the text was broken."""
    print("bentpipe: " + plain(" ".join(text.split())), file=sys.stderr)


def note(text: str) -> None:
    """One line on standard error about work that goes on."""
    print(plain(text), file=sys.stderr, flush=True)


def warn(warnings: Sequence[str]) -> None:
    """Each warning as one line on standard error."""
    for text in warnings[:MOST_ROWS]:
        error(f"warning: {text}")
    if len(warnings) > MOST_ROWS:
        error(f"warning: and {len(warnings) - MOST_ROWS:,} more; --json prints and --out writes all")


def answer(value: Any) -> None:
    """A value as JSON on standard output."""
    print(json.dumps(value, indent=2, allow_nan=False))


class OutputFailed(Exception):
    """Standard output takes no more; the cause is the OSError. It is none: Typer makes a status of those."""


class _Output:
    """Standard output, whose failures are told from those of files. After one it swallows the rest."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        return self._do(lambda: self._stream.write(text))

    def flush(self) -> None:
        self._do(self._stream.flush)

    def _do(self, what: Callable[[], T]) -> T:
        try:
            return what()
        except OSError as failure:
            # Or Python tries again at its end, and changes the status.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
            raise OutputFailed(f"standard output: {failure.strerror or failure}") from failure


@contextmanager
def guarded_output() -> Iterator[None]:
    """A block in which what cannot be printed raises `OutputFailed`."""
    if sys.stdout is None:  # the caller has closed it
        yield
        return
    with redirect_stdout(cast(TextIO, _Output(sys.stdout))):
        yield


class Bar:
    """A progress bar on standard error, if that is a terminal and the work lasts more than half a second."""

    _AFTER_S = 0.5

    def __init__(self, what: str) -> None:
        self._what = what
        self._since = time.monotonic()
        self._shown: Any = None
        self._wanted = sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown is not None:
            self._shown.stop()
            self._shown = None

    def __call__(self, done: float, total: float = 1.0) -> None:
        """So much of the whole is done."""
        if not self._wanted or time.monotonic() - self._since < self._AFTER_S:
            return
        if self._shown is None:
            self._show(total)
        self._shown.update(self._shown.task_ids[0], completed=done, total=total)

    def _show(self, total: float) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        self._shown = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            console=Console(file=sys.stderr),
            transient=True,
        )
        self._shown.add_task(plain(self._what), total=total)
        self._shown.start()


class FitBar(Bar):
    """The bar of a search: what is being tried, how many combinations of it, and what is best so far."""

    def __init__(self) -> None:
        super().__init__("starting")
        self._begun = ("", 0)

    def at(self, state: Progress) -> None:
        """The search has come so far. Without a terminal, a line says what begins."""
        best = f", best {state.held} of {state.checks} checks" if state.checks else ""
        if not self._wanted and self._begun != (state.what, state.total):
            self._begun = state.what, state.total
            note(f"{state.what} ({state.total}); {state.runs:,} runs are done{best}")
        self._what = f"{state.what} ({state.done}/{state.total}), {state.runs:,} runs{best}"
        self(state.done, max(state.total, 1))
        if self._shown is not None:
            self._shown.update(self._shown.task_ids[0], description=self._what)


class StudiesBar(Bar):
    """The bar of a job of studies: what is being worked on, the runs of all studies, and the time."""

    def __init__(self) -> None:
        super().__init__("starting")

    def at(self, state: State) -> None:
        """The job has come so far."""
        what = [", ".join(state.running)] if state.running else []
        what += [f"drawing {', '.join(state.drawing)}"] if state.drawing else []
        self._what = "; ".join(what) or self._what
        self(state.done, max(state.total, 1))
        if self._shown is not None:
            left = ""
            if state.remaining_s is not None and state.done < state.total:
                left = f"{_clock(state.remaining_s)} left"
            self._shown.update(self._shown.task_ids[0], description=self._what, left=left)

    def _show(self, total: float) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.table import Column

        self._shown = Progress(
            TextColumn(
                "{task.description}",
                markup=False,
                table_column=Column(ratio=3, no_wrap=True, overflow="ellipsis"),
            ),
            BarColumn(bar_width=None, table_column=Column(ratio=2)),
            MofNCompleteColumn(),
            TextColumn("runs"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}", table_column=Column(no_wrap=True)),
            console=Console(file=sys.stderr),
            expand=True,
            transient=True,
        )
        self._shown.add_task(self._what, total=total, left="")
        self._shown.start()


def _clock(seconds: float) -> str:
    """A length of time: "4:07", "1:02:09"."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
