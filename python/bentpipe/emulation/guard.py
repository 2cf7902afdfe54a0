"""Keeps a watcher over the namespaces of an emulation for as long as the emulation lives."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from threading import Lock, Thread

from bentpipe.emulation import watcher
from bentpipe.emulation.outside import Claim

_BETWEEN_S = 0.1
"""Between two attempts, if watchers end as soon as they begin."""


class Guard:
    """A watcher, and another in its place when it is killed.

    In the moment between, an emulator that is killed would leave its programs behind: it has two guards, each
    with a claim of its own.

    Args:
        namespaces: descriptors of the namespaces.
        claimed: the claim that the watcher gives back at the end (`outside`). It belongs to the guard from
            now on.
    """

    def __init__(self, namespaces: Sequence[int], claimed: Claim | None = None) -> None:
        self._namespaces = list(namespaces)
        #: The claim that is given back at the end.
        self.claimed = claimed
        self._lock = Lock()
        self._closing = False
        self._watcher = self._start()
        Thread(target=self._keep, daemon=True, name="guard").start()

    def _start(self) -> subprocess.Popen[bytes]:
        """A process that waits for the end of its standard input.

        It then ends the processes left in the namespaces, and gives the claim back.
        """
        undo: list[str] = []
        passed = self._namespaces
        if self.claimed is not None:
            undo = ["claim", str(self.claimed.descriptor), str(self.claimed.file), str(self.claimed.setting)]
            passed = [self.claimed.descriptor, *passed]
        return subprocess.Popen(
            [sys.executable, "-I", "-S", str(watcher.__file__), *undo, *map(str, self._namespaces)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=passed,
            start_new_session=True,
        )

    def _keep(self) -> None:
        while True:
            began = time.monotonic()
            self._watcher.wait()
            with self._lock:
                if self._closing:
                    return
                self._close()
                with suppress(OSError):  # no more processes just now
                    self._watcher = self._start()
            time.sleep(max(0.0, began + _BETWEEN_S - time.monotonic()))

    def end(self) -> None:
        """Makes the watcher end processes left behind by programs, and give the claim back."""
        with self._lock:
            if self.claimed is not None and not self._closing:
                os.close(self.claimed.descriptor)  # the watcher's own is the last
            self._closing = True
            self._close()

    def _close(self) -> None:
        if self._watcher.stdin is not None:
            self._watcher.stdin.close()

    def wait(self, most_s: float) -> None:
        """Waits until that is done, within this time limit."""
        with suppress(subprocess.TimeoutExpired):
            self._watcher.wait(most_s)
