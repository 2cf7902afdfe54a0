"""Locks on a folder of runs: one writer alone, or the shards of one division together."""

from __future__ import annotations

import fcntl
import re
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from bentpipe._core import ScenarioError

_FILE = ".lock"


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
        whole = (self._folder / _FILE).open("a+", encoding="utf-8")
        self._held.append(whole)
        alone = _try(whole, fcntl.LOCK_EX)
        if self._shard.count == 1:
            if not alone:
                self._refuse(f"another run is writing to {self._folder}")
            _write(whole, "")
            return
        if alone:  # the first of the shards defines the number of shards
            _write(whole, str(self._shard.count))
        if not _try(whole, fcntl.LOCK_SH):
            self._refuse(f"another run is writing to {self._folder}")
        whole.seek(0)
        count = whole.read().strip()
        if count != str(self._shard.count):
            self._refuse(f"{self._folder} is being written to by {count or 'other'} shards; wait for them")
        own = (self._folder / f"{_FILE}-{self._shard.index}").open("a+", encoding="utf-8")
        self._held.append(own)
        if not _try(own, fcntl.LOCK_EX):
            self._refuse(f"shard {self._shard.index}/{self._shard.count} is running in {self._folder}")

    def release(self) -> None:
        """Lets others write."""
        for held in self._held:
            held.close()
        self._held.clear()

    def _refuse(self, why: str) -> None:
        self.release()
        raise ScenarioError(why)


def _try(file: IO[str], kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _write(file: IO[str], text: str) -> None:
    file.truncate(0)
    file.write(text)
    file.flush()
