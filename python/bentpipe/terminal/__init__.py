"""Output of the command line: tables, progress bars and lines of error. Rich is loaded on first use."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any, BinaryIO, Self, TextIO, TypeVar, cast

from bentpipe import units

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from bentpipe.terminal.progress import SearchProgress, State

T = TypeVar("T")

PIPED_WIDTH = 100
"""Columns of a table that does not go to a terminal, unless the environment sets COLUMNS."""

_BREAKS_AT = 20
"""Columns that a text which may be broken needs at least to be read."""
_EDGES = 2
"""Columns beside a table."""
LONGEST = 200
"""Characters of a name or a title that are shown; a title may have millions."""
MOST_ROWS = 1000
"""Rows of a table, and lines of warnings, beyond which the rest is counted and not shown: a table is laid out
as a whole, which takes a minute for 100,000 rows."""


def console() -> Console:
    """The console for tables: standard output."""
    from rich.console import Console

    shown = sys.stdout is not None and sys.stdout.isatty()
    width = None if shown or "COLUMNS" in os.environ else PIPED_WIDTH
    # Names come from scenarios: square brackets in them are no markup.
    return Console(width=width, highlight=False, soft_wrap=False, markup=False)


def table(title: str, columns: Sequence[str]) -> Table:
    """An empty table; heads define the alignment of a column.

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


def show_whole(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Prints a table on standard output, in one however wide it is; title and heads as for `table`."""
    made = table(title, columns)
    for row in rows:
        made.add_row(*row)
    console().print(made)


def show_table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints a table on standard output; one that is too wide in parts, each with the first column.

    A column without any text is left out.

    Args:
        title: one line above it, or "".
        heads: as for `table`.
        rows: the cells of each row.
    """
    shown = console()
    widths = [
        max(
            _BREAKS_AT if head.startswith("~") and i else 0,
            *(len(line) for line in head.lstrip("<~").split("\n")),
            *(len(row[i]) for row in rows if i == 0 or not head.startswith("~")),
        )
        for i, head in enumerate(heads)
    ]
    first = min(widths[0], max(_BREAKS_AT, shown.width // 3)) if heads[0].startswith("~") else widths[0]
    parts: list[list[int]] = [[]]
    used = _EDGES + first
    for i in range(1, len(heads)):
        if rows and not any(row[i] for row in rows):
            continue
        if parts[-1] and used + 2 + widths[i] > shown.width:
            parts.append([])
            used = _EDGES + first
        parts[-1].append(i)
        used += 2 + widths[i]
    for number, part in enumerate(parts):
        at = [0, *part]
        show_whole(
            title if number == 0 else "", [heads[i] for i in at], ([row[i] for i in at] for row in rows)
        )


def show_rows(
    title: str, columns: Sequence[tuple[str, Callable[[T], str]]], items: Sequence[T], *, whole: bool = False
) -> None:
    """Prints a table with a row for each item.

    Args:
        title: as for `table`.
        columns: the head of each, as for `table`, and the cell of an item in it.
        items: the items.
        whole: in one table, however wide it is.
    """
    rows = [[cell(item) for _, cell in columns] for item in items]
    (show_whole if whole else show_table)(title, [head for head, _ in columns], rows)


def plain(text: str) -> str:
    """Text whose control characters are written out: a name in a scenario cannot steer the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def named(text: str) -> str:
    """A name or a title as `plain`, and shortened."""
    return plain(text if len(text) <= LONGEST else text[:LONGEST] + "...")


def rest(shown: int, there: int, what: str) -> None:
    """Reports the number of rows left out, if any were."""
    if there > shown:
        line(f"... and {there - shown:,} {what} more; --json prints and --out writes all")


def line(text: str = "") -> None:
    """One line on standard output."""
    print(text)


def error(text: str) -> None:
    """One line on standard error, however the text was broken."""
    note("bentpipe: " + " ".join(text.split()))


def error_lines(lines: Sequence[str]) -> None:
    """An error of a few lines on standard error: the first as `error` writes it, the others below."""
    for i, text in enumerate(lines):
        note(("  " if i else "bentpipe: ") + " ".join(text.split()))


def note(text: str) -> None:
    """One line on standard error about ongoing work; nothing if standard error is not visible."""
    if sys.stderr is not None:
        with suppress(OSError):
            print(plain(text), file=sys.stderr, flush=True)


def warn(warnings: Sequence[str]) -> None:
    """Each warning as one line on standard error."""
    for text in warnings[:MOST_ROWS]:
        error(f"warning: {text}")
    if len(warnings) > MOST_ROWS:
        error(f"warning: and {len(warnings) - MOST_ROWS:,} more; --json prints and --out writes all")


def answer(value: Mapping[str, Any]) -> None:
    """An object as JSON on standard output. Its first member is `schema`, the version of its form."""
    print(json.dumps({"schema": 1, **value}, indent=2, allow_nan=False))


def give(value: Callable[[], Mapping[str, Any]], show: Callable[[], object], *, json: bool) -> None:
    """The answer of a verb: its value as JSON, or as `show` prints it."""
    if json:
        answer(value())
    else:
        show()


class OutputFailed(Exception):
    """Standard output takes no more; the cause is the OSError. Typer would turn an OSError into a status."""


class _Output:
    """Standard output, with failures distinct from those of files. After one it swallows the rest."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        return self._do(lambda: self._stream.write(text))

    def flush(self) -> None:
        self._do(self._stream.flush)

    def copy(self, source: BinaryIO) -> None:
        self._do(lambda: shutil.copyfileobj(source, self._stream.buffer))

    def _do(self, what: Callable[[], T]) -> T:
        try:
            return what()
        except OSError as failure:
            # Or Python tries again at its end, and changes the status.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
            raise OutputFailed(f"standard output: {failure.strerror or failure}") from failure


def copy(path: Path) -> None:
    """The bytes of a file on standard output."""
    with path.open("rb") as stream:
        if isinstance(sys.stdout, _Output):
            sys.stdout.copy(stream)
        elif sys.stdout is not None:
            shutil.copyfileobj(stream, sys.stdout.buffer)


@contextmanager
def guarded_output() -> Iterator[None]:
    """A block in which a failure to print raises `OutputFailed`."""
    if sys.stdout is None:  # the caller has closed it
        yield
        return
    with redirect_stdout(cast(TextIO, _Output(sys.stdout))):
        yield


class Bar:
    """A progress bar on standard error, if that is a terminal and the work lasts more than half a second.

    Without a terminal, work of more than ten seconds reports its state as a line, then each minute; kinds of
    work report each new stage, too.
    """

    _AFTER_S = 0.5
    _FIRST_S, _EVERY_S = 10.0, 60.0

    def __init__(self, what: str) -> None:
        self._what = what
        self._done = 0.0
        self._shown: Any = None
        self._wanted = sys.stderr is not None and sys.stderr.isatty()
        self._starts = Timer(self._AFTER_S, self._begin)
        self._starts.daemon = True
        self._total = 1.0
        self._lock = Lock()
        self._ended = False
        self._stage = ""
        self._began = time.monotonic()
        self._last_line = self._began + self._FIRST_S - self._EVERY_S

    def __enter__(self) -> Self:
        if self._wanted:
            self._starts.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._starts.cancel()
        with self._lock:
            self._ended = True
            if self._shown is not None:
                self._shown.stop()
                self._shown = None

    def __call__(self, done: float, total: float = 1.0) -> None:
        """Takes the share of the whole that is done."""
        self._done, self._total = done, total
        if 0 < done < total:
            left = (time.monotonic() - self._began) * (total / done - 1)
            self.report(self._stage, f"{named(self._what)}: {done / total:.0%}, {_clock(left)} left")
        with self._lock:
            if self._shown is not None:
                self._shown.update(self._shown.task_ids[0], completed=done, total=total)

    def report(self, stage: str, state: str) -> None:
        """Without a terminal, prints the state as a line if the stage is new, or the last line is old."""
        now = time.monotonic()
        if not self._wanted and (stage != self._stage or now >= self._last_line + self._EVERY_S):
            self._stage, self._last_line = stage, now
            note(state)

    def _begin(self) -> None:
        """Shows the bar, also before anything is done."""
        with self._lock:
            if not self._ended:
                self._show(self._total)
                self._shown.update(self._shown.task_ids[0], completed=self._done)

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
        self._shown.add_task(named(self._what), total=total)
        self._shown.start()


class FitBar(Bar):
    """The bar of a search: the stage, its number of combinations, and the best so far."""

    def __init__(self) -> None:
        super().__init__("starting")

    def at(self, state: SearchProgress) -> None:
        """Takes the state of the search."""
        best = f", best {state.held} of {state.checks} checks" if state.checks else ""
        stage = f"{state.what} ({state.total})"
        self.report(stage, f"{stage}; {state.runs:,} runs are done{best}")
        self._what = f"{state.what} ({state.done}/{state.total}), {state.runs:,} runs{best}"
        self(state.done, max(state.total, 1))
        if self._shown is not None:
            self._shown.update(self._shown.task_ids[0], description=self._what)


class RunsBar(Bar):
    """The bar of many runs: the current work, runs done and in all, their rate, and the time."""

    def __init__(self, what: str = "starting") -> None:
        super().__init__(what)
        self._ahead = ""
        self._warnings: Sequence[str] = ()
        #: The number of runs that were done before.
        self.taken_over = 0

    def __exit__(self, *how: object) -> None:
        super().__exit__(*how)
        warn(self._warnings)

    def at(self, state: State) -> None:
        """Takes the state of the job, whose warnings are printed at the end."""
        self._warnings, self.taken_over = state.warnings, state.taken_over
        what = [", ".join(state.running)] if state.running else []
        what += [f"drawing {', '.join(state.drawing)}"] if state.drawing else []
        self._what = "; ".join(what) or self._what
        new = state.done - state.taken_over
        rate = f"{units.digits(new / state.elapsed_s, 3)}/s" if new and state.elapsed_s > 0 else ""
        left = state.remaining_s if state.done < state.total else None
        self._ahead = f"{rate}, {_clock(left)} left" if left is not None else rate
        done = f"{self._what}: {state.done:,} of {state.total:,} runs"
        self.report(self._stage, f"{done}, {self._ahead}" if self._ahead else done)
        self(state.done, max(state.total, 1))
        if self._shown is not None:
            self._shown.update(self._shown.task_ids[0], description=named(self._what), ahead=self._ahead)

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
            TextColumn("{task.fields[ahead]}", table_column=Column(no_wrap=True)),
            console=Console(file=sys.stderr),
            expand=True,
            transient=True,
        )
        self._shown.add_task(named(self._what), total=total, ahead=self._ahead)
        self._shown.start()


def _clock(seconds: float) -> str:
    """A length of time: "4:07", "1:02:09"."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
