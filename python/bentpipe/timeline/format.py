"""The file of a time line, version 1: reading, writing, and all checks of its contents.

A time line describes the changes of one direction of a link, or both, over time. It is a table with one row
per instant; docs/timeline.md describes its columns.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from bentpipe import _core
from bentpipe.io import foreign
from bentpipe.io.files import Kind, check_kind, replace, try_place
from bentpipe.terminal import plain

VERSION = 1
"""The version of the format that is written, and the highest that is read."""
COLUMNS: dict[str, type[pl.DataType]] = {
    "t_s": pl.Float64,
    "rate_bps": pl.Float64,
    "delay_s": pl.Float64,
    "loss_rate": pl.Float64,
    "up": pl.Boolean,
    "handover": pl.Boolean,
}
"""The columns that the simulator knows, and their types. All but the first may be absent."""
KINDS = {
    ".csv": Kind("a time line in CSV", (b"# bentpipe tim", b"t_s,")),
    ".parquet": Kind("a Parquet table", (b"PAR1",)),
}
"""The kinds of files that a time line is written to, by the ending of the name."""
# The highest values that the simulator takes (crates/sim/src/resolve/time_line_file.rs).
MOST = {"t_s": 3.2e9, "rate_bps": 1e14, "delay_s": 86_400.0, "loss_rate": 1.0}
_KEY = "bentpipe.timeline"
_HEAD = re.compile(r"#\s*bentpipe timeline\s+(\S+)\s*")
_LONE_RETURN = "a carriage return without a line feed ends no line; save the file with line ends LF or CR LF"


def read(path: str | Path) -> pl.DataFrame:
    """The time line in a file: Parquet, or CSV if the name ends in .csv.

    Returns:
        The known columns that the file has, in the order of `COLUMNS` and with their types, then all others
        as they are. Empty cells of known columns hold the value of the row before; of `handover`, false.

    Raises:
        ScenarioError: it is not a time line; the message names the file, the line or row, and the column.
        OSError: it cannot be read.
    """
    path = Path(path)
    frame, lines = load(path)
    check(frame, str(path), lines)
    return complete(frame)


def write(frame: pl.DataFrame, path: str | Path) -> Path:
    """Writes a time line, as Parquet or as CSV by the ending of the name. It appears complete or not at all.

    Raises:
        ScenarioError: the frame is not a time line, or the name ends otherwise.
        OSError: it cannot be written.
    """
    path = Path(path)
    _check_name(path)
    check(frame, f"the time line for {path}")
    content = io.BytesIO()
    whole = complete(frame)
    if path.suffix == ".csv":
        content.write(f"# bentpipe timeline {VERSION}\n".encode())
        whole.write_csv(content)
    else:
        whole.write_parquet(content, metadata={_KEY: str(VERSION)})
    replace(path, lambda work: work.write_bytes(content.getbuffer()))
    return path


def check_place(path: Path) -> None:
    """Checks, before long work, that a time line may be written to `path`: its name, and an existing file.

    Raises:
        ScenarioError: the name ends in neither .parquet nor .csv, or a file of another kind is there.
        OSError: it cannot be read, or nothing can be written there.
    """
    _check_name(path)
    check_kind(path, KINDS[path.suffix])
    try_place(path)


def check(frame: pl.DataFrame, where: str = "the time line", lines: Sequence[int] | None = None) -> None:
    """Checks that a frame is a time line.

    Args:
        frame: the table.
        where: its name in messages, a file's name for example.
        lines: the line of each row in the file; without it messages count rows from 1.

    Raises:
        ScenarioError: it is not; the message has the first error, and the number of others.
    """
    found = faults(frame, lines)
    first = next(found, None)
    if first is None:
        return
    more = sum(1 for _ in found)
    rest = f" (and {more} more; bentpipe timeline check shows them)" if more else ""
    raise _core.ScenarioError(f"{plain(where)}{first}{rest}")


def faults(frame: pl.DataFrame, lines: Sequence[int] | None = None) -> Iterator[str]:
    """Everything that keeps a frame from being a time line, each as the end of a message.

    The beginning is the name of the file: ", line 4, column rate_bps: ..." or ": ...".
    """
    if "t_s" not in frame.columns:
        meant = any(name in COLUMNS for name in frame.columns)
        there = f"; its columns are {foreign.named(frame.columns)}" if meant else ""
        yield f": the column t_s is missing{there}; the first line must be as t_s,rate_bps,delay_s"
        return
    known = [name for name in COLUMNS if name in frame.columns]
    if len(known) == 1:
        wanted = ", ".join(list(COLUMNS)[1:])
        yield f": no column says what changes; it needs at least one of {wanted}"
        return
    if frame.height == 0:
        yield ": there is no row; the first must be at t_s = 0"
        return
    for name in known:
        yield from _column_faults(frame[name], COLUMNS[name], lines)


def complete(frame: pl.DataFrame) -> pl.DataFrame:
    """A checked time line with the known columns first, in their types, without empty cells in them."""
    known = [name for name in COLUMNS if name in frame.columns]
    filled = [
        pl.col(name).fill_null(value=False) if name == "handover" else pl.col(name).forward_fill()
        for name in known
    ]
    others = [name for name in frame.columns if name not in COLUMNS]
    return frame.with_columns(pl.col(name).cast(COLUMNS[name]) for name in known).select(*filled, *others)


def handovers(frame: pl.DataFrame) -> list[float]:
    """The instants in seconds at which the path changes hands.

    They are those of the column `handover`, and without it each change of `up` from true to false.
    """
    whole = complete(frame)
    if "handover" in whole.columns:
        return whole.filter("handover")["t_s"].to_list()
    if "up" in whole.columns:
        return whole.filter(~pl.col("up") & pl.col("up").shift(1, fill_value=False))["t_s"].to_list()
    return []


def as_csv(path: Path) -> str:
    """A file in Parquet as the CSV text that the simulator reads: it has no Parquet library of its own.

    Raises:
        ValueError: it cannot be read, with the reason in one line.
    """
    try:
        frame, _ = load(path)
    except FileNotFoundError:
        raise ValueError("there is no such file; check the name") from None
    except OSError as error:
        raise ValueError(f"the file cannot be read: {error.strerror}") from None
    except _core.ScenarioError as error:  # the caller names the file
        raise ValueError(str(error).removeprefix(str(path)).lstrip(":, ")) from None
    return frame.select(name for name in COLUMNS if name in frame.columns).write_csv(quote_style="never")


def load(path: Path) -> tuple[pl.DataFrame, list[int] | None]:
    """The table of a file, not yet checked, and, for CSV, the line of each row.

    Raises:
        ScenarioError: it is not a table of this format, or of an unknown version.
        OSError: it cannot be read.
    """
    if path.suffix.lower() == ".csv":
        return _load_csv(path)
    if path.suffix.lower() == ".parquet":
        frame, version = foreign.parquet(path, _KEY)
        if version is not None:
            _check_version(version, str(path))
        return frame, None
    raise _core.ScenarioError(
        f"{path}: the name of a time line ends in .parquet or .csv; bentpipe timeline import reads others"
    )


def table(path: Path, lines: Sequence[str], separator: str = ",") -> Iterator[tuple[int, list[str]]]:
    """The rows of a table, each with the line in which it ends; empty ones are left out.

    Raises:
        ScenarioError: a row is no CSV.
    """
    rows = csv.reader((f"{line}\n" for line in lines), delimiter=separator, strict=True)
    try:
        for row in rows:
            if row:
                yield rows.line_num, row
    except csv.Error as wrong:
        foreign.refuse(path, rows.line_num, str(wrong))


def _load_csv(path: Path) -> tuple[pl.DataFrame, list[int]]:
    text = foreign.text(path)
    # The module csv would take it for the end of a line, the simulator would not.
    if lone := re.search(r"\r(?!\n)", text):
        foreign.refuse(path, text.count("\n", 0, lone.start()) + 1, _LONE_RETURN)
    lines_of_text = foreign.split(path, text)
    head = _HEAD.fullmatch(lines_of_text[0].strip())
    if head is not None:
        _check_version(head[1], f"{path}, line 1")
    rows = table(path, lines_of_text)
    head_line, heads = next((it for it in rows if not it[1][0].startswith("#")), (0, []))
    names = [name.strip() for name in heads]
    if not names:
        foreign.refuse(path, None, "the file is empty; its first line must name the columns")
    if len(set(names)) < len(names):
        foreign.refuse(path, head_line, "two columns have the same name")
    cells: list[list[str]] = []
    lines: list[int] = []
    for line, row in rows:
        if len(row) != len(names):
            foreign.refuse(path, line, f"{len(row)} cells; the head names {len(names)} columns")
        cells.append(row)
        lines.append(line)
    columns = zip(*cells, strict=True) if cells else [()] * len(names)
    return pl.DataFrame(
        [_typed(name, column, lines, path) for name, column in zip(names, columns, strict=True)]
    ), lines


def _typed(name: str, column: Sequence[str], lines: Sequence[int], path: Path) -> pl.Series:
    """A column of text as the type that its name has; others as numbers if they all are."""
    text = pl.Series(name, column, pl.String).str.strip_chars()
    text = text.set(text == "", None)
    kind = COLUMNS.get(name)
    if kind is pl.Boolean:
        lower = text.str.to_lowercase()
        value = (lower == "true").set(~lower.is_in(["true", "false"]), None)
    else:
        value = text.cast(pl.Float64, strict=False)
        if kind is None:
            return text if (value.is_null() & text.is_not_null()).any() else value
    bad = (value.is_null() & text.is_not_null()).arg_true()
    if len(bad):
        wanted = "true or false" if kind is pl.Boolean else "a number"
        raise _core.ScenarioError(
            f"{path}, line {lines[bad[0]]}, column {name}: {foreign.quoted(text[bad[0]])} is not {wanted}"
        )
    return value


def _check_name(path: Path) -> None:
    if path.suffix not in KINDS:
        raise _core.ScenarioError(f"{path}: the name of a time line must end in .parquet or .csv")


def _check_version(text: str, where: str) -> None:
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < 1:
        raise _core.ScenarioError(f"{where}: {foreign.quoted(text)} is no version of a time line")
    if int(text) > VERSION:
        raise _core.ScenarioError(
            f"{where}: the time line has version {text}; this bentpipe reads up to {VERSION}"
        )


def _column_faults(column: pl.Series, kind: type[pl.DataType], lines: Sequence[int] | None) -> Iterator[str]:
    name = column.name

    def at(place: int) -> str:
        return f", {f'row {place + 1}' if lines is None else f'line {lines[place]}'}, column {name}: "

    if column.dtype == pl.Null:
        yield f"{at(0)}empty; the first row must have a value"
        return
    if kind is pl.Boolean:
        if column.dtype != pl.Boolean:
            yield f", column {name}: it holds {column.dtype}; it must be true or false"
        elif column[0] is None and name != "handover":
            yield f"{at(0)}empty; the first row must have a value"
        return
    if not column.dtype.is_numeric():
        yield f", column {name}: it holds {column.dtype}; it must be numbers"
        return
    values = column.cast(pl.Float64)
    most = MOST[name]
    rules = [(~values.is_finite(), "is no finite number")]
    if name == "loss_rate":
        rules.append(((values < 0) | (values > most), "is not between 0 and 1"))
    else:
        rules.append((values < 0, "is negative"))
        rules.append((values.is_finite() & (values > most), f"is too high; it must be at most {most:g}"))
    if name == "t_s":
        rules.append((values.is_null(), "every row must have a time"))
        nanoseconds = (values * 1e9).round()
        rules.append((nanoseconds.diff() <= 0, "times must increase from row to row, by 1 ns at least"))
        if values[0] is not None and values[0] > 0:
            yield f"{at(0)}{values[0]:g} is the first time; it must be 0"
    elif values[0] is None:
        yield f"{at(0)}empty; the first row must have a value"
    for wrong, why in rules:
        for place in wrong.fill_null(value=False).arg_true():
            yield f"{at(place)}{values[place]:.12g} {why}" if why.startswith("is") else f"{at(place)}{why}"
