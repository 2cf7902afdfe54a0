"""The programs of `bentpipe emulate`: waiting until one listens or ends, and signals that end an emulation.

A signal is noted, without an exception in the middle of the work.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from subprocess import Popen
from types import FrameType
from typing import TYPE_CHECKING, Any

from bentpipe._core import ScenarioError
from bentpipe.kernel import machine

if TYPE_CHECKING:
    from bentpipe.emulation.session import Emulation, Side

_TABLES = {"tcp": "0A", "tcp6": "0A", "udp": "07", "udp6": "07"}
"""Tables of sockets, and the state in which one listens or is bound (include/net/tcp_states.h)."""
_BETWEEN_S = 0.01
_HEARD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def sockets() -> set[str]:
    """The inodes of sockets of TCP that listen and of UDP that are bound, in the namespace of this thread."""
    found = set()
    for table, state in _TABLES.items():
        lines = machine.text(f"/proc/thread-self/net/{table}").splitlines()[1:]
        found |= {row[9] for row in map(str.split, lines) if row[3] == state}
    return found


def wait_for_listener(
    emulation: Emulation,
    side: Side,
    program: Popen[Any],
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


class Signals:
    """Interrupt, termination and hang-up while it is held: they are noted, and end waiting."""

    def __init__(self, woken: socket.socket) -> None:
        self._woken = woken
        #: The first that came.
        self.heard: int | None = None

    def note(self, number: int, _: FrameType | None) -> None:
        """One has come."""
        if self.heard is None:
            self.heard = number

    def wait(self, program: Popen[Any], most_s: float) -> int | None:
        """Waits this long for a program to end, less if a signal comes; its exit status if it has ended."""
        if self.heard is not None and most_s > 0:
            return program.poll()
        return _end_of(program, most_s, self._woken)


@contextmanager
def held() -> Iterator[Signals]:
    """A block in which signals are noted; only in the main thread."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        theirs.setblocking(False)
        signals = Signals(ours)
        before = [signal.signal(number, signals.note) for number in _HEARD]
        old = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
        try:
            yield signals
        finally:
            signal.set_wakeup_fd(old)
            for number, handler in zip(_HEARD, before, strict=True):
                signal.signal(number, handler)


def end(program: Popen[Any], within_s: float) -> int:
    """Lets a program end that an interrupt may have reached, asks it to in a third of the time, kills it."""
    for number in (0, signal.SIGTERM, signal.SIGKILL):
        with suppress(OSError):
            program.send_signal(number)
        status = _end_of(program, within_s / 3, None)
        if status is not None:
            return status
    return program.wait()


def _end_of(program: Popen[Any], most_s: float, woken: socket.socket | None) -> int | None:
    status = program.poll()
    if status is not None:
        return status
    descriptor = os.pidfd_open(program.pid)
    try:
        heard: list[Any] = [descriptor] if woken is None else [descriptor, woken]
        ready = select.select(heard, [], [], most_s)[0]
    finally:
        os.close(descriptor)
    if woken is not None and woken in ready:
        with suppress(BlockingIOError):
            woken.recv(64)
    return program.poll()
