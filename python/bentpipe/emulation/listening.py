"""Waiting until a program at an end of the link listens."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe._core import ScenarioError

if TYPE_CHECKING:
    from bentpipe.emulation.session import Emulation, Side

_TABLES = {"tcp": "0A", "tcp6": "0A", "udp": "07", "udp6": "07"}
"""Tables of sockets, and the state in which one listens or is bound (include/net/tcp_states.h)."""
_BETWEEN_S = 0.01


def sockets() -> set[str]:
    """The inodes of sockets of TCP that listen and of UDP that are bound, in the namespace of this thread."""
    found = set()
    for table, state in _TABLES.items():
        path = Path(f"/proc/thread-self/net/{table}")
        if path.exists():
            rows = [line.split() for line in path.read_text(encoding="ascii").splitlines()[1:]]
            found |= {row[9] for row in rows if row[3] == state}
    return found


def wait_for_listener(
    emulation: Emulation,
    side: Side,
    program: subprocess.Popen[Any],
    words: Sequence[str],
    most_s: float,
    stopped: Callable[[], bool],
) -> None:
    """Waits until a program that has just been started listens, up to a time limit; it need not listen.

    Raises:
        ScenarioError: it has ended.
    """
    before: set[str] = emulation.served
    until = time.monotonic() + most_s
    while time.monotonic() < until and not stopped():
        status = program.poll()
        if status is not None:
            raise ScenarioError(f"--serve {' '.join(words)}: it has ended with status {status}")
        now = emulation.within(side, sockets)
        if now - before:
            emulation.served = now
            return
        time.sleep(_BETWEEN_S)
