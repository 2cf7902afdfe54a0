"""Files from elsewhere: their bytes, lines, JSON and tables, within bounds, and messages about them.

A file may be hostile, or simply not the one that was meant. So none is read beyond `MOST_BYTES`, before or
after decompression; none yields more values than memory has room for; nothing is waited for; and a message
repeats at most 60 characters. Content that does not look like the expected format is not repeated at all: a
scenario may come from elsewhere, name another user's file, and its messages may be sent back.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from bentpipe import _core
from bentpipe.terminal import plain

if TYPE_CHECKING:
    import polars as pl

MOST_BYTES = 256 << 20
"""The largest file, also decompressed; that of the simulator's own time lines and traces."""
MOST_LINES = 4_000_000
"""Lines of a text: each takes some 300 bytes by the time that it is a row."""
MOST_VALUES = 16_000_000
"""Values in JSON, and cells of a text: each takes up to 100 bytes."""
MOST_CELLS = 64_000_000
"""Cells of a Parquet table: each takes 8 to 16 bytes."""
_QUOTED = 60
_LONGEST = 400
"""Characters of a whole message about a file."""
_GZIP = b"\x1f\x8b"


def refuse(path: Path, line: int | None, what: str) -> NoReturn:
    """Ends the reading of a file with one line that names the place.

    Raises:
        ScenarioError: always.
    """
    said = plain(what if len(what) <= _LONGEST else what[:_LONGEST] + "...")
    raise _core.ScenarioError(f"{path}{'' if line is None else f', line {line}'}: {said}")


def quoted(text: str) -> str:
    """Text of a file in quotes, cut after 60 characters. Only of one that looks like the expected format."""
    return plain(repr(text[:_QUOTED])) + ("..." if len(text) > _QUOTED else "")


def cut(text: str) -> str:
    """The same without quotes: words of a program."""
    return plain(text[:_QUOTED]) + ("..." if len(text) > _QUOTED else "")


def named(names: Sequence[str]) -> str:
    """Names of columns, cut after 60 characters."""
    return cut(", ".join(names) or "none")


def content(path: Path, most: int = MOST_BYTES) -> bytes:
    """The bytes of a file.

    Raises:
        ScenarioError: it is larger than `most`, or no regular file.
        OSError: it cannot be read.
    """
    return _core.read_file(path, most)


def unpacked(path: Path) -> bytes:
    """The bytes of a file that may be compressed by gzip; decompression stops at the bound.

    Raises:
        ScenarioError: it is too large, before or after decompression, damaged, or no regular file.
        OSError: it cannot be read.
    """
    found = content(path)
    if not found.startswith(_GZIP):
        return found
    found = _decompressed(path, found, MOST_BYTES + 1)
    if len(found) > MOST_BYTES:
        refuse(path, None, f"decompressed it is larger than {MOST_BYTES >> 20} MiB; is it the right one?")
    return found


def head(path: Path, size: int) -> bytes:
    """The first bytes of a file of any size, decompressed if it is compressed by gzip.

    Raises:
        ScenarioError: it begins like gzip and is damaged, or it is not a regular file.
        OSError: it cannot be read.
    """
    found = _core.read_file(path, size, True)
    return _decompressed(path, found, size, cut=True) if found.startswith(_GZIP) else found


def text(path: Path) -> str:
    """The content of a file of text.

    Raises:
        ScenarioError: it is empty, too large, not in UTF-8, or no regular file.
        OSError: it cannot be read.
    """
    return decoded(path, content(path))


def decoded(path: Path, given: bytes) -> str:
    """Bytes of a file as text.

    Raises:
        ScenarioError: they are not in UTF-8, or there is nothing but blanks.
    """
    try:
        found = text_of(given)
    except UnicodeDecodeError as wrong:
        refuse(path, None, f"it is no text in UTF-8 (byte {wrong.start})")
    if not found.strip():
        refuse(path, None, "the file is empty")
    return found


def text_of(given: bytes, errors: str = "strict") -> str:
    """Bytes as text: UTF-8, or UTF-16 with its mark, as PowerShell writes it."""
    wide = given.startswith((b"\xff\xfe", b"\xfe\xff"))
    return given.decode("utf-16" if wide else "utf-8-sig", errors=errors)


def lines(path: Path, most: int = MOST_LINES) -> list[str]:
    """The lines of a text, which LF or CR LF ends.

    Raises:
        ScenarioError: as for `text`; and there are more than `most`.
        OSError: it cannot be read.
    """
    return split(path, text(path), most)


def digits(path: Path, number: int, line: str, what: str, *, first: bool) -> str:
    """The digits of a line that must be one whole number.

    Args:
        path: the file.
        number: of the line, from 1.
        line: the line.
        what: the number in words, without an article: "delay in whole milliseconds".
        first: no line before was good; the content is not repeated then, as the file may be another one.

    Raises:
        ScenarioError: it is anything else.
    """
    word = line.strip()
    if not word:
        refuse(path, number, f"the line is empty; each must be a {what}")
    if not (word.isascii() and word.isdigit()):
        refuse(path, number, f"{'it' if first else quoted(word)} is no {what}")
    return word


def split(path: Path, found: str, most: int = MOST_LINES) -> list[str]:
    """The same of text that was read.

    Raises:
        ScenarioError: there are more than `most`, or too many cells in all.
    """
    check_count(path, found.count("\n"), most, "lines")
    check_count(path, found.count(","), MOST_VALUES, "cells")
    whole = found.removesuffix("\n").split("\n") if found else []
    return [line.removesuffix("\r") for line in whole] if "\r" in found else whole


def check_count(path: Path, there: int, most: int, what: str) -> None:
    """Checks that a file has no more of something than memory has room for.

    Raises:
        ScenarioError: it has.
    """
    if there > most:
        refuse(path, None, f"it has {there:,} {what}; at most {most:,} are read")


def value(path: Path, given: bytes) -> Any:
    """The value of JSON from a file.

    Raises:
        ScenarioError: it is damaged, holds several, or too many values.
    """
    found = documents(path, given)
    if len(found) > 1:
        refuse(path, None, f"it holds {len(found):,} values of JSON one after another; it must be one")
    return found[0]


def documents(path: Path, given: bytes) -> list[Any]:
    """The values of JSON that follow each other in a file: one, one on each line, or as RFC 7464 has them.

    Raises:
        ScenarioError: one is damaged, there is none, or they hold too many values.
    """
    check_count(path, sum(given.count(mark) for mark in (b",", b"[", b"{")), MOST_VALUES, "values")
    try:
        whole = text_of(given)
    except UnicodeDecodeError:
        refuse(path, None, "it is neither JSON nor JSON compressed by gzip, or it is damaged")
    found: list[Any] = []
    decoder, at = json.JSONDecoder(), _next_value(whole, 0)
    try:
        while at < len(whole) or not found:
            one, at = decoder.raw_decode(whole, at)
            found.append(one)
            at = _next_value(whole, at)
    except json.JSONDecodeError as wrong:
        refuse(path, wrong.lineno, f"the JSON is damaged: {wrong.msg}")
    except (ValueError, RecursionError) as wrong:  # a number of thousands of digits, nested without end
        refuse(path, None, f"the JSON is damaged: {wrong}")
    return found


_BETWEEN = re.compile(r"[ \t\r\n\x1e]*")


def _next_value(whole: str, at: int) -> int:
    found = _BETWEEN.match(whole, at)
    assert found is not None
    return found.end()


def parquet(path: Path, key: str) -> tuple[pl.DataFrame, str | None]:
    """A Parquet table, and the value of one key of its metadata.

    The file's own count of rows is checked before they are read: a few bytes may declare billions.

    Raises:
        ScenarioError: it is not Parquet, damaged, too large, or not a regular file.
        OSError: it cannot be read.
    """
    import polars as pl

    found = content(path)
    try:
        if not found.startswith(b"PAR1"):  # polars would look for other formats
            raise ValueError
        metadata = pl.read_parquet_metadata(io.BytesIO(found))
        columns = pl.read_parquet_schema(io.BytesIO(found))
        if nested := [name for name, kind in columns.items() if kind.is_nested()]:
            refuse(path, None, f"a cell of {named(nested)} holds several values; a cell must be one")
        rows = int(pl.scan_parquet(io.BytesIO(found)).select(pl.len()).collect().item())
        check_count(path, rows * max(len(columns), 1), MOST_CELLS, "cells")
        return pl.read_parquet(io.BytesIO(found), n_rows=rows), metadata.get(key)
    except _core.ScenarioError:
        raise
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError, MemoryError):
        refuse(path, None, "it is no Parquet table, or a damaged one")


def _decompressed(path: Path, packed: bytes, most: int, *, cut: bool = False) -> bytes:
    """The first `most` bytes of a gzip stream; `cut`: its end may be missing."""
    found = bytearray()
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(packed)) as stream:
            while len(found) < most and (more := stream.read1(most - len(found))):
                found += more
    except EOFError:
        if not cut:
            refuse(path, None, "it is compressed by gzip, and its end is missing")
    except (OSError, zlib.error):
        refuse(path, None, "it begins like gzip and is damaged")
    return bytes(found)
