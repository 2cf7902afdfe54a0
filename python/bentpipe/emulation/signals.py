"""Signals that end an emulation, without exceptions in the middle of the work."""

from __future__ import annotations

import os
import select
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from subprocess import Popen
from types import FrameType
from typing import Any

_HEARD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


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
