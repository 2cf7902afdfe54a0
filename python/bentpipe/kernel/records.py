"""Records of attached controllers: one directory for each, with all that `detach` must undo.

The directory is /run/bentpipe, for its owner alone; BENTPIPE_STATE names another. A record is written before
action that it describes is taken, so that a crash leaves no untracked state.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bentpipe.kernel.choice import Choice

VARIABLE = "BENTPIPE_STATE"
"""The environment variable that names another directory."""


@dataclass
class Record:
    """One attached controller.

    Attributes:
        choice: which.
        pin: directory in a bpffs where the datapath is pinned, or None.
        mounted: where the agent had to mount that, or None.
        pid: process of the agent; 0 before it has started.
        began: start of that process, in ticks since boot: the number of a dead process is reused.
        netns: inode of the network namespace whose routes were changed.
        routes: of each changed route, "family" ("-4" or "-6"), "old" and "new": the words of `ip route`.
    """

    choice: Choice
    pin: str | None = None
    mounted: str | None = None
    pid: int = 0
    began: int = 0
    netns: int = 0
    routes: list[dict[str, Any]] = field(default_factory=list)

    @property
    def directory(self) -> Path:
        """Its path, beside the agent's socket and log."""
        return home() / self.choice.name

    def alive(self) -> bool:
        """Whether its agent still runs."""
        return self.pid > 0 and started(self.pid) == self.began

    def write(self) -> None:
        """Writes it, at once and as a whole."""
        self.directory.mkdir(mode=0o700, exist_ok=True)
        new = self.directory / "record.new"
        new.write_text(
            json.dumps(asdict(self) | {"choice": self.choice.as_dict()}, indent=1), encoding="utf-8"
        )
        new.replace(self.directory / "record.json")

    def remove(self) -> None:
        """Forgets it, with the agent's socket and log."""
        shutil.rmtree(self.directory, ignore_errors=True)


def home() -> Path:
    """The directory of all records."""
    return Path(os.environ.get(VARIABLE) or "/run/bentpipe")


def records() -> list[Record]:
    """All that is attached, in order of their names; nothing if this user may not look."""
    found = []
    try:
        places = sorted(home().iterdir())
    except OSError:
        return []
    for place in places:
        with suppress(OSError, ValueError, KeyError, TypeError):
            table = json.loads((place / "record.json").read_text(encoding="utf-8"))
            found.append(Record(**table | {"choice": Choice.from_dict(table["choice"])}))
    return found


def unreadable() -> bool:
    """Whether there is a directory of records that this user may not read: that of all, or that of one."""
    try:
        return any(place.is_dir() and not os.access(place, os.R_OK | os.X_OK) for place in home().iterdir())
    except PermissionError:
        return True
    except OSError:
        return False


@contextmanager
def changing() -> Iterator[None]:
    """A block in which no other process attaches or detaches.

    Raises:
        OSError: the directory cannot be made.
    """
    handle = _locked()
    try:
        yield
    finally:
        with suppress(OSError):  # something is attached
            home().rmdir()
        os.close(handle)


def _locked() -> int:
    """A handle of the directory of all records, which no other process has locked."""
    while True:
        home().mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileNotFoundError):  # the last controller goes just now
            handle = os.open(home(), os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(handle, fcntl.LOCK_EX)
            try:
                if os.path.samestat(os.fstat(handle), os.stat(home())):
                    return handle
            except FileNotFoundError:
                pass
            os.close(handle)


def started(pid: int) -> int:
    """The start of a process, in ticks since boot (field 22 of /proc/PID/stat); -1 if it has ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return -1
    words = text.rpartition(")")[2].split()  # the name before may hold anything
    return -1 if words[0] in "ZX" else int(words[19])
