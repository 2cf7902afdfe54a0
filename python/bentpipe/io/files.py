"""Files and directories that appear complete or not at all, even if the process that writes them is killed.

A file has a temporary name beside its place, `.NAME.PID.N`, until it is complete. For a name of more than 200
bytes its SHA-256 sum is used instead, since no name has more than 255. Leftovers of a killed process under
such a name are removed when the same place is written to again.
"""

from __future__ import annotations

import csv
import errno
import fcntl
import hashlib
import itertools
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from bentpipe import _core

if TYPE_CHECKING:
    import polars as pl

_numbers = itertools.count()
_LONGEST, _NAME_MAX = 200, 255
_MOST_BYTES = 1 << 36
"""Of a table of a stored result: 200 million rows of a trace have up to 13 GB."""
DIGITS = 6
"""Significant digits of a number in a file of rows."""
_FLAGS = {"True": True, "False": False, "": None}


@dataclass(frozen=True)
class Kind:
    """A kind of file: its name in messages, and the first bytes of its content."""

    name: str
    begins: tuple[bytes, ...]


CAPTURE = Kind(
    "a capture in the format pcapng or pcap",
    # The block type of a section header, and the magic number in either byte order, of micro- or nanoseconds.
    (b"\n\r\r\n", b"\xa1\xb2\xc3\xd4", b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\x3c\x4d", b"\x4d\x3c\xb2\xa1"),
)
TABLES = {
    ".csv": Kind("the table of a comparison", (b"label,cc,",)),
    ".parquet": Kind("a Parquet table", (b"PAR1",)),
    ".tex": Kind("a table for LaTeX", (b"% Bentpipe: ",)),
}
FIGURES = {
    ".pdf": Kind("a figure in the format PDF", (b"%PDF",)),
    ".png": Kind("a figure in the format PNG", (b"\x89PNG",)),
    ".svg": Kind("a figure in the format SVG", (b"<?xml", b"<svg")),
}
TIMINGS = Kind("a file of timings", (b'{\n "schema": ',))


def check_kind(path: Path, kind: Kind) -> None:
    """Checks that writing to `path` replaces nothing, an empty file, or one of the same kind.

    Raises:
        ScenarioError: `path` is a file of another kind.
        OSError: it is a directory, or cannot be read.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not path.is_file():  # nothing, or a device
        return
    with path.open("rb") as stream:
        begins = stream.read(16)
    if begins and not begins.startswith(kind.begins):
        raise _core.ScenarioError(f"{path} exists and is not {kind.name}; choose another")


def check_figure(option: str, path: Path) -> None:
    """Checks that `option` names a figure of a known format, which replaces nothing but a figure.

    Raises:
        ScenarioError: the ending of the name is not a format, or `path` is a file of another kind.
        OSError: it is a directory, or cannot be read.
    """
    if path.suffix not in FIGURES:
        raise _core.ScenarioError(f"{option} {path}: the name must end in .svg, .pdf or .png")
    check_kind(path, FIGURES[path.suffix])


def cache_folder(name: str) -> Path:
    """The folder of values that were computed before: in `$XDG_CACHE_HOME`, or `~/.cache` in its place."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "bentpipe" / name


def keep_newest(folder: Path, ending: str, most: int) -> None:
    """Removes the oldest entries of a cache folder, so that at most this many stay.

    Args:
        folder: its entries are files, or several files of one name with various endings.
        ending: of the file that every entry has, ".json"; its age counts.
        most: entries that stay.

    Raises:
        OSError: the folder cannot be read, or a file cannot be removed.
    """
    entries = list(folder.glob(f"*{ending}"))
    if len(entries) > most:
        for entry in sorted(entries, key=lambda file: file.stat().st_mtime)[: len(entries) - most]:
            for file in folder.glob(f"{entry.stem}.*"):
                file.unlink(missing_ok=True)


def make_folder(folder: Path) -> None:
    """Makes a folder and those above it, but none in the root of the file system: only root could, by a slip.

    Raises:
        OSError: it cannot be made.
    """
    top = Path(*Path(os.path.abspath(folder)).parts[:2])
    if not top.exists():
        raise FileNotFoundError(errno.ENOENT, f"there is no folder {top}", str(folder))
    folder.mkdir(parents=True, exist_ok=True)


def replace(path: Path, write: Callable[[Path], object]) -> None:
    """Makes a file by `write`, which is given another name to write to, then renames it. Its folder is made.

    Raises:
        OSError: it cannot be written; the error names `path`.
    """
    work = _beside(path)
    try:
        with _about(path):
            make_folder(path.parent)
            remove_leftovers(path)
            write(work)
            os.replace(work, path)
    finally:
        with suppress(OSError):
            work.unlink(missing_ok=True)


def replace_text(path: Path, text: str) -> None:
    """The same for a text, in UTF-8."""
    replace(path, lambda work: work.write_text(text, encoding="utf-8"))


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Rows, the heads first, as comma-separated values with a line feed after each row."""
    import csv
    import io

    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def replace_frame(path: Path, frame: pl.DataFrame) -> str:
    """The same for a table, as Parquet, or as CSV if `path` ends so. Returns the sum of the file."""
    sums = []
    replace(path, lambda work: sums.append(write_frame(work, frame, path.suffix)))
    return sums[0]


def write_frame(path: Path, frame: pl.DataFrame, kind: str = ".parquet") -> str:
    """Writes a table to `path` and returns the SHA-256 sum of the file.

    Raises:
        OSError: it cannot be written.
    """
    from io import BytesIO

    # Not by polars itself: its error for a full disk is that the format is broken.
    whole = BytesIO()
    if kind == ".csv":
        frame.write_csv(whole)
    else:
        frame.write_parquet(whole)
    path.write_bytes(whole.getbuffer())
    return hashlib.sha256(whole.getbuffer()).hexdigest()


class Changed(Exception):
    """A file is not the one that was written."""


def read_frame(path: Path, wanted: str) -> pl.DataFrame:
    """A table from Parquet, if the SHA-256 sum of its file is the one that `write_frame` returned.

    A changed byte may read as another number, and polars may panic on one.

    Raises:
        Changed: the file is another one.
        OSError: it cannot be read.
    """
    from io import BytesIO

    import polars as pl

    return pl.read_parquet(BytesIO(_checked(path, wanted)))


def check_file(path: Path, wanted: str) -> None:
    """Checks that `read_frame` will read the file.

    Raises:
        Changed: the file is another one.
        OSError: it cannot be read.
    """
    _checked(path, wanted)


def _checked(path: Path, wanted: str) -> bytes:
    written = _core.read_file(path, _MOST_BYTES)
    if hashlib.sha256(written).hexdigest() != wanted:
        raise Changed(str(path))
    return written


def lock(file: IO[str], kind: int) -> bool:
    """Locks an open file, unless another process has locked it; `kind` is `fcntl.LOCK_EX` or `LOCK_SH`."""
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextmanager
def only_writer(path: Path) -> Iterator[None]:
    """Keeps other processes that ask for the same from writing to `path` before the block is done.

    Raises:
        ScenarioError: another process is in such a block.
        OSError: the file of the lock, `.NAME.lock` beside `path`, cannot be made.
    """
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".{_mark(target.name)}.lock")
    with _about(path):
        make_folder(target.parent)
        held = beside.open("a", encoding="utf-8")
    with held:
        if not lock(held, fcntl.LOCK_EX):
            raise _core.ScenarioError(f"another run is writing to {path}")
        try:
            yield
        finally:
            beside.unlink(missing_ok=True)


@contextmanager
def replaced_directory(path: Path) -> Iterator[Path]:
    """An empty directory to fill, which takes the place of the one at `path` when the block is done.

    Raises:
        OSError: it cannot be written; the error names `path`.
    """
    work = _beside(path)
    with _about(path):
        make_folder(path.parent)
        remove_leftovers(path)
        (work / "new").mkdir(parents=True)
    try:
        with _about(path):
            yield work / "new"
            if path.exists():
                os.rename(path, work / "old")
            os.rename(work / "new", path)
    finally:
        _finish(path, work)


def try_place(path: Path) -> None:
    """Makes the parent directory of `path`, and checks that it is writable.

    Leftovers of killed processes are removed.

    Raises:
        OSError: it cannot be made or written to.
    """
    work = _beside(path)
    with _about(path):
        make_folder(path.parent)
        remove_leftovers(path)
        work.mkdir()
        work.rmdir()


def remove_leftovers(path: Path) -> None:
    """Removes leftovers of killed processes at `path`, and completes a directory that only lacked its name.

    Raises:
        OSError: the parent directory of `path` cannot be read.
    """
    if not path.parent.is_dir():
        return
    ours = re.compile(rf"\.{re.escape(_mark(path.name))}\.([0-9]{{1,9}})(\.[0-9]+)?")
    for entry in list(os.scandir(path.parent)):
        found = ours.fullmatch(entry.name)
        if found is None or _runs(int(found[1])):
            continue
        if entry.is_dir(follow_symlinks=False):
            _finish(path, Path(entry.path))
        elif entry.is_file(follow_symlinks=False):
            Path(entry.path).unlink(missing_ok=True)


def _finish(path: Path, work: Path) -> None:
    """Removes a directory of work. Between the two renames the new one is complete, and the old one safe."""
    if (work / "old").is_dir():
        for kept in (work / "new", work / "old"):
            if kept.is_dir() and not path.exists():
                with suppress(OSError):
                    os.rename(kept, path)
    shutil.rmtree(work, ignore_errors=True)


def _beside(path: Path) -> Path:
    """A name that no other process and no other thread writes to."""
    return path.with_name(f".{_mark(path.name)}.{os.getpid()}.{next(_numbers)}")


def _mark(name: str) -> str:
    """A name, or its SHA-256 sum where a prefix and suffix alone would make the name too long."""
    given = os.fsencode(name)
    return hashlib.sha256(given).hexdigest() if _LONGEST < len(given) <= _NAME_MAX else name


def _runs(pid: int) -> bool:
    """Whether there is a process with this number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is another user's
        return True
    return True


@contextmanager
def _about(path: Path) -> Iterator[None]:
    """Failures in the block are said of the place that was asked for."""
    try:
        yield
    except OSError as failure:
        if failure.errno is None:
            raise OSError(f"{path}: {failure}") from None
        raise OSError(failure.errno, failure.strerror or str(failure), str(path)) from None


def write_rows(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Writes rows, all with the columns of the first; nothing if there are none."""
    if not rows:
        return
    cells = ([f"{v:.{DIGITS}g}" if isinstance(v, float) else v for v in row.values()] for row in rows)
    replace_text(path, csv_text([rows[0], *cells]))


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Rows as `write_rows` wrote them."""
    with path.open(encoding="utf-8", newline="") as file:
        return [{name: _value(text) for name, text in row.items()} for row in csv.DictReader(file)]


def stored_rows(path: Path) -> list[dict[str, Any]]:
    """The same, and none if there is no such file."""
    return read_rows(path) if path.exists() else []


def _value(text: str) -> Any:
    """A cell of such a file as what it was: a flag, a number or text."""
    if text in _FLAGS:
        return _FLAGS[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
