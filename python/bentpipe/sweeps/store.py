"""Tables of many runs on disk, written part by part: an interruption costs only the runs in hand.

    DIR/flows/part-000007.parquet      one file of each table and part
    DIR/parts/part-000007.json         the contents of the part: its runs, and the sums of its files

A part appears complete or not at all: its files are written under other names and renamed, and the last one
is that in `parts/`. A file of a table that no such file names is unfinished, and the next writer removes it.
A changed byte may read as another number, so sums show whether files are as they were written. This module
does not depend on the contents of tables: a sweep has flows and links, a study its measures. A lock on the
folder admits one writer alone, or the shards of one division together.
"""

from __future__ import annotations

import fcntl
import json
import re
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import current_thread, main_thread
from typing import IO, TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from bentpipe._core import ScenarioError
from bentpipe.io import foreign
from bentpipe.io.files import Changed, check_file, lock, make_folder, read_frame, replace_frame, replace_text

if TYPE_CHECKING:
    import polars as pl

    from bentpipe.sweeps.case import Case
    from bentpipe.sweeps.execution import Ran

_LOCK = ".lock"
PARTS = "parts"
"""The folder of the files that list the parts."""
_VERSION = 1
_DAMAGED = "{path} is damaged; the command that wrote it repeats its runs"
#: Finished runs are written this often, in s.
FLUSH_S = 1.0
#: Parts are put together as long as their files are smaller than this in all, in bytes, ...
_LARGE = 64 << 20
#: ... and have fewer runs than this.
_MANY = 50_000
#: This number of small parts is merged while runs go on.
_SCATTERED = 200


@dataclass(frozen=True)
class Shard:
    """One of several writers that share a folder, each with its own part of the runs.

    Attributes:
        index: from 1.
        count: number of all shards; 1 is a single writer.
    """

    index: int
    count: int

    @classmethod
    def of(cls, text: str) -> Shard:
        """The shard of "2/4".

        Raises:
            ScenarioError: it is not a shard.
        """
        found = re.fullmatch(r"\s*([0-9]{1,6})\s*/\s*([0-9]{1,6})\s*", text)
        if found is None or not 1 <= int(found[1]) <= int(found[2]):
            raise ScenarioError(f"--shard {text}: write I/N with I from 1 to N, for example 2/4")
        return cls(int(found[1]), int(found[2]))

    @property
    def prefix(self) -> str:
        """The prefix of the names of its parts."""
        return "part-" if self.count == 1 else f"shard-{self.index}-of-{self.count}-"

    def owns(self, name: str) -> bool:
        """Whether this writer may change a part of that name."""
        return self.count == 1 or name.startswith(self.prefix)

    def has(self, number: int) -> bool:
        """Whether this is the shard of a number."""
        return number % self.count == self.index - 1


WHOLE = Shard(1, 1)
"""A single writer."""


class StoredRun(NamedTuple):
    """A run of a part: its number, its key, and whether it failed."""

    number: int
    key: str
    failed: bool


@dataclass(frozen=True)
class Part:
    """A part that is complete.

    Attributes:
        runs: the runs that it has rows of.
        sums: its files, each with its SHA-256 sum, by their names from the folder of the store.
        replaces: the names of parts whose rows it has taken over.
    """

    name: str
    runs: Sequence[StoredRun]
    sums: Mapping[str, str]
    replaces: Sequence[str] = ()


Over = tuple[str, "Case", "Ran"]
"""A run that is over, with its key."""
Change = Callable[["pl.DataFrame"], "pl.DataFrame"]
"""The new contents of a table when its part is rewritten, from its rows."""


class Store(ABC):
    """Runs in a folder, which are written as parts. As a context, no other process writes to them meanwhile.

    Args:
        folder: made if it is not there.
        tables: the names of the tables; each is a folder with a file of every part that has rows of it.
        always: the tables that have a file in every part, also without rows.
        many: parts with fewer runs are put together.
        most: a part is written when this number of runs waits for it.
        shard: the owner of these parts, if several writers share the folder.
        fresh: forget the runs that are there.

    Attributes:
        done: the keys of the runs that are there or wait to be written.
        warnings: lines about stored runs that could not be used and were removed.
    """

    #: Whether runs that failed are stored, too.
    with_failed: ClassVar[bool] = False

    def __init__(
        self,
        folder: Path,
        tables: Sequence[str],
        *,
        always: Sequence[str] = (),
        many: int = _MANY,
        most: int,
        shard: Shard = WHOLE,
        fresh: bool = False,
    ) -> None:
        self.folder, self.tables, self._always = folder, tables, always
        self._many, self._most, self._fresh = many, most, fresh
        self.shard = shard
        self.done: set[str] = set()
        self.warnings: Sequence[str] = ()
        self.parts: list[Part] = []
        #: The highest number of a part.
        self._last = 0
        self._lock = Lock(folder, shard)
        self._waiting: list[Over] = []
        self._written = 0.0

    def __enter__(self) -> Self:
        """Raises ScenarioError if another process writes there, OSError if the folder cannot be made."""
        make_folder(self.folder)
        self._lock.take()
        try:
            damaged = self.open()
            if self._fresh:
                self.clear()
            else:
                self.warnings = [
                    f"{path} was damaged; it was removed and its runs are repeated" for path in damaged
                ]
            self.done = {run.key for run in self.runs() if not run.failed}
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # whoever takes runs learns of it by `flush`
            self.flush()
        self._lock.release()

    def has(self, key: str) -> bool:
        """Whether a run is there."""
        return key in self.done

    def take(self, key: str, case: Case, ran: Ran) -> None:
        """Takes a run that is over; `flush` writes it."""
        self._waiting.append((key, case, ran))
        self.done.add(key)

    def flush(self, *, late: bool = False) -> None:
        """Writes the runs that wait for it; late: only if they are many, or the last were written long ago.

        Raises:
            OSError: they cannot be written.
        """
        if late and len(self._waiting) < self._most and time.monotonic() - self._written < FLUSH_S:
            return
        waiting, self._waiting = self._waiting, []
        if waiting:
            runs = [StoredRun(ran.number, key, ran.error is not None) for key, _, ran in waiting]
            self.add(self.frames(waiting), sorted(runs))
        self._written = time.monotonic()

    def finish(self) -> None:
        """Writes what waits, and merges small files.

        Raises:
            OSError: they cannot be written.
        """
        self.flush()
        self.compact()

    @abstractmethod
    def frames(self, over: Sequence[Over]) -> Mapping[str, pl.DataFrame]:
        """The tables of some runs."""

    def open(self) -> list[Path]:
        """Finds the parts, checks those that are one's own, and removes incomplete ones.

        Returns a file of each part that was damaged; such parts are removed.
        """
        self.parts, damaged = [], []
        for path in self._listed(PARTS):
            part = read_part(path)
            if not self.shard.owns(path.stem):  # theirs to check
                self.parts += [] if part is None else [part]
                continue
            wrong = path if part is None else self._damaged(part)
            if wrong is not None:
                damaged.append(wrong)
                path.unlink(missing_ok=True)
            elif part is not None:
                self.parts.append(part)
        self.parts = self._valid()
        self._sweep_up()
        names = [path.stem for folder in (PARTS, *self.tables) for path in self._listed(folder)]
        tails = [name.removeprefix(self.shard.prefix) for name in names if self.shard.owns(name)]
        self._last = max((int(tail) for tail in tails if tail.isdigit()), default=0)
        return damaged

    def _valid(self) -> list[Part]:
        """The parts without those that others have taken over, or that repeat others."""
        old = {name for part in self.parts for name in part.replaces}
        known: set[str] = set()
        kept = []
        for part in self.parts:
            keys = {run.key for run in part.runs}
            if part.name in old or not known.isdisjoint(keys):
                if self.shard.owns(part.name):
                    (self.folder / PARTS / f"{part.name}.json").unlink(missing_ok=True)
            else:
                known |= keys
                kept.append(part)
        return kept

    def runs(self) -> Iterable[StoredRun]:
        """The runs that there are."""
        return (run for part in self.parts for run in part.runs)

    def add(self, frames: Mapping[str, pl.DataFrame], runs: Sequence[StoredRun]) -> None:
        """Writes a part.

        Raises:
            OSError: it cannot be written; nothing is left of it.
        """
        with _undisturbed():
            self.parts.append(self._write(frames, runs, ()))
        if sum(self._small(part) for part in self._own()) >= _SCATTERED:
            self.compact()

    def compact(self) -> None:
        """Puts small parts together, so that many runs are a few files."""
        waiting: list[Part] = []
        size = runs = 0
        for part in [part for part in self._own() if self._small(part)]:
            waiting.append(part)
            size += self._size(part)
            runs += len(part.runs)
            if size >= _LARGE or runs >= self._many:
                self.rewrite(waiting)
                waiting, size, runs = [], 0, 0
        if len(waiting) > 1:
            self.rewrite(waiting)

    def rewrite(
        self, parts: Sequence[Part], runs: Sequence[StoredRun] | None = None, change: Change | None = None
    ) -> None:
        """Puts parts together as one.

        Args:
            parts: some of `parts`.
            runs: the runs that are left of them, if not all are.
            change: the new contents of their tables.
        """
        import polars as pl

        kept = [run for part in parts for run in part.runs] if runs is None else list(runs)
        frames = {}
        for table in self.tables:
            names = [(f"{table}/{part.name}.parquet", part.sums) for part in parts]
            read = [read_frame(self.folder / name, sums[name]) for name, sums in names if name in sums]
            if read:
                whole = pl.concat(read, how="diagonal")
                whole = whole if change is None else change(whole)
                frames[table] = whole.sort("run", maintain_order=True)
        old = [part.name for part in parts]
        with _undisturbed():
            new = [self._write(frames, sorted(kept), old)] if kept else []
            self.parts = [part for part in self.parts if part.name not in old] + new
            for part in parts:
                (self.folder / PARTS / f"{part.name}.json").unlink(missing_ok=True)
                for name in part.sums:
                    (self.folder / name).unlink(missing_ok=True)

    def clear(self) -> None:
        """Removes every part."""
        for path in self._listed(PARTS):
            path.unlink(missing_ok=True)
        self.parts = []
        self._sweep_up()

    def _write(
        self, frames: Mapping[str, pl.DataFrame], runs: Sequence[StoredRun], old: Sequence[str]
    ) -> Part:
        self._last += 1
        name = f"{self.shard.prefix}{self._last:06}"
        sums: dict[str, str] = {}
        try:
            for table, frame in frames.items():
                if frame.height or table in self._always:
                    path = self.folder / table / f"{name}.parquet"
                    path.parent.mkdir(exist_ok=True)
                    sums[f"{table}/{name}.parquet"] = replace_frame(path, frame)
            about = {"version": _VERSION, "runs": runs, "files": sums, "replaces": old}
            path = self.folder / PARTS / f"{name}.json"
            path.parent.mkdir(exist_ok=True)
            replace_text(path, json.dumps(about))
        except BaseException:
            for file in sums:
                (self.folder / file).unlink(missing_ok=True)
            raise
        return Part(name, list(runs), sums, list(old))

    def _own(self) -> list[Part]:
        """The parts that this writer may change."""
        return [part for part in self.parts if self.shard.owns(part.name)]

    def _size(self, part: Part) -> int:
        return sum((self.folder / name).stat().st_size for name in part.sums)

    def _small(self, part: Part) -> bool:
        return len(part.runs) < self._many and self._size(part) < _LARGE

    def _damaged(self, part: Part) -> Path | None:
        """A file of a part that is not the one that was written."""
        for name, wanted in part.sums.items():
            try:
                check_file(self.folder / name, wanted)
            except (OSError, Changed):
                return self.folder / name
        return None

    def _sweep_up(self) -> None:
        """Removes files that no part names: of parts that were not finished, or were replaced or damaged."""
        named = {name for part in self.parts for name in part.sums}
        for table in self.tables:
            for path in self._listed(table):
                if f"{table}/{path.name}" not in named and self.shard.owns(path.stem):
                    path.unlink(missing_ok=True)
        for folder in (PARTS, *self.tables):  # nobody else writes under these names now
            for path in (self.folder / folder).glob(".*"):
                if self.shard.owns(path.name[1:]):
                    path.unlink(missing_ok=True)

    def _listed(self, folder: str) -> list[Path]:
        """The files of a part in a folder."""
        place = self.folder / folder
        kind = ".json" if folder == PARTS else ".parquet"
        return sorted(place.glob(f"[!.]*{kind}")) if place.is_dir() else []


class Lock:
    """Keeps others out of a folder. It ends with the process, however that ends."""

    def __init__(self, folder: Path, shard: Shard = WHOLE) -> None:
        self._folder, self._shard = folder, shard
        self._held: list[IO[str]] = []

    def take(self) -> None:
        """Takes the lock.

        Raises:
            ScenarioError: another process has it.
        """
        whole = (self._folder / _LOCK).open("a+", encoding="utf-8")
        self._held.append(whole)
        alone = lock(whole, fcntl.LOCK_EX)
        if self._shard.count == 1:
            if not alone:
                self._refuse(f"another run is writing to {self._folder}")
            _mark(whole, "")
            return
        if alone:  # the first of the shards defines the number of shards
            _mark(whole, str(self._shard.count))
        if not lock(whole, fcntl.LOCK_SH):
            self._refuse(f"another run is writing to {self._folder}")
        whole.seek(0)
        count = whole.read().strip()
        if count != str(self._shard.count):
            self._refuse(f"{self._folder} is being written to by {count or 'other'} shards; wait for them")
        own = (self._folder / f"{_LOCK}-{self._shard.index}").open("a+", encoding="utf-8")
        self._held.append(own)
        if not lock(own, fcntl.LOCK_EX):
            self._refuse(f"shard {self._shard.index}/{self._shard.count} is running in {self._folder}")

    def release(self) -> None:
        """Lets others write."""
        for held in self._held:
            held.close()
        self._held.clear()

    def _refuse(self, why: str) -> None:
        self.release()
        raise ScenarioError(why)


def _mark(file: IO[str], text: str) -> None:
    file.truncate(0)
    file.write(text)
    file.flush()


def read_part(path: Path) -> Part | None:
    """The contents of a file in `parts/`; None if it is damaged.

    Raises:
        ScenarioError: it is of a later version.
    """
    try:
        about: dict[str, Any] = json.loads(foreign.content(path))
        if about["version"] != _VERSION:
            raise ScenarioError(f"{path}: this program reads version {_VERSION}, not {about['version']}")
        runs = [StoredRun(int(number), str(key), bool(failed)) for number, key, failed in about["runs"]]
        sums = {str(name): str(value) for name, value in about["files"].items()}
        return Part(path.stem, runs, sums, [str(name) for name in about["replaces"]])
    except ScenarioError:
        raise
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def read_table(folder: Path, table: str) -> pl.DataFrame | None:
    """All rows of a table, part by part, even while a writer adds to it; None if no part has rows of it.

    Raises:
        ScenarioError: a file is damaged.
    """
    import polars as pl

    for more_tries in (True, True, True, False):
        try:
            frames = [
                read_frame(folder / file, part.sums[file])
                for part in _parts(folder)
                if (file := f"{table}/{part.name}.parquet") in part.sums
            ]
            break
        except (FileNotFoundError, Changed) as wrong:
            if more_tries and isinstance(wrong, FileNotFoundError):
                continue  # a writer puts parts together
            path = wrong.filename if isinstance(wrong, FileNotFoundError) else wrong
            raise ScenarioError(_DAMAGED.format(path=path)) from None
    return pl.concat(frames, how="diagonal") if frames else None


def _parts(folder: Path) -> Iterable[Part]:
    found = []
    for path in sorted((folder / PARTS).glob("[!.]*.json")):
        part = read_part(path)
        if part is not None:
            found.append(part)
        elif path.exists():
            raise ScenarioError(_DAMAGED.format(path=path))
    old = {name for part in found for name in part.replaces}
    return [part for part in found if part.name not in old]


@contextmanager
def _undisturbed() -> Iterator[None]:
    """A block that Ctrl-C does not cut in two: it counts when the block is done."""
    if current_thread() is not main_thread():
        yield
        return
    asked: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: asked.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if asked:
        raise KeyboardInterrupt
