"""The agent: a process that answers the reports of one controller's flows, and questions about them.

`python -m bentpipe.kernel.agent DIRECTORY READY` is started by `attach`; the directory holds the record, and
one line on the file descriptor READY says that the controller is registered, or why it is not.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from bentpipe import _core
from bentpipe.kernel.choice import Choice

STEP_S = 0.1
"""Time that the agent waits for reports before it checks whether to end."""
PATIENCE_S = 5.0
"""Time limit for the request of a client."""


class Datapath(Protocol):
    """The interface that is required of `_core.KernelAgent`."""

    def step(self, timeout_s: float) -> bool:
        """Waits for its end up to a time limit; True if it has ended. Raises its error if it failed."""

    def status(self) -> str:
        """Everything about it and its flows, as JSON."""

    def close(self) -> None:
        """Unregisters the controller unless it is pinned."""


Maker = Callable[[Choice, str | None], Datapath]
"""Registers a controller, pinned in a directory or not."""


def make(choice: Choice, pin: str | None) -> Datapath:
    """Registers a controller in the kernel.

    Raises:
        KernelError: the kernel or this user's privileges do not allow it; nothing has been changed.
        ScenarioError: the file of a user's controller does not load.
    """
    made: Datapath = _core.KernelAgent(
        choice.agent_spec(),
        name=choice.name,
        native=choice.native,
        pin=None if pin is None else str(Path(pin).parent),
    )
    return made


class Listener:
    """Answers "status" and "stop" on a socket, in a thread of its own."""

    def __init__(self, directory: Path, datapath: Datapath) -> None:
        self._datapath = datapath
        self.stop = threading.Event()
        """Set when a client has asked for the end."""
        self._path = directory / "socket"
        self._path.unlink(missing_ok=True)
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            # By way of the handle the path is short: 108 characters is the most.
            self._listening.bind(f"/proc/self/fd/{handle}/socket")
        finally:
            os.close(handle)
        self._listening.listen(16)
        self._thread = threading.Thread(target=self._serve, daemon=True, name="questions")
        self._thread.start()

    def close(self) -> None:
        """Ends; the socket is gone."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(1)
        self._path.unlink(missing_ok=True)

    def _serve(self) -> None:
        while True:
            try:
                asking, _ = self._listening.accept()
            except OSError:
                return
            with asking, suppress(OSError, ValueError):
                asking.settimeout(PATIENCE_S)
                question = asking.makefile("r", encoding="utf-8").readline().strip()
                asking.sendall(self._answer(question).encode() + b"\n")

    def _answer(self, question: str) -> str:
        if question == "stop":
            self.stop.set()
            return "{}"
        if question != "status":
            return json.dumps({"error": f"no question is called {question!r}"})
        try:
            return json.dumps(json.loads(self._datapath.status()))
        except Exception as failure:
            return json.dumps({"error": f"{type(failure).__name__}: {failure}"})


def serve(datapath: Datapath, directory: Path, ready: Callable[[], None]) -> None:
    """Runs the datapath until a signal or a client ends it; then closes it.

    Args:
        datapath: the datapath.
        directory: where the socket is to be.
        ready: called once questions are answered.
    """
    listener = Listener(directory, datapath)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda _number, _frame: listener.stop.set())
    try:
        ready()
        while not listener.stop.is_set() and not datapath.step(STEP_S):
            pass
    finally:
        datapath.close()
        listener.close()


def notify_systemd() -> None:
    """Tells systemd that the service is ready (sd_notify(3)), if it is one."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    name = "\0" + address[1:] if address.startswith("@") else address
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as line:
        line.sendto(b"READY=1", name)


def ask(directory: Path, question: str, patience_s: float = PATIENCE_S) -> dict[str, Any] | None:
    """The answer of an agent; None if none listens.

    Raises:
        TimeoutError: it does not answer in time.
    """
    try:
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as line:
            line.settimeout(patience_s)
            try:
                line.connect(f"/proc/self/fd/{handle}/socket")
                line.sendall(question.encode() + b"\n")
                text = line.makefile("r", encoding="utf-8").readline()
            except TimeoutError:
                raise
            except OSError:
                return None
    finally:
        os.close(handle)
    return dict(json.loads(text)) if text else None


def wait_for_line(handle: int, patience_s: float) -> str:
    """The line that comes on a file descriptor; an incomplete line on timeout or if it is closed."""
    text = b""
    end = time.monotonic() + patience_s
    with selectors.DefaultSelector() as selector:
        selector.register(handle, selectors.EVENT_READ)
        while b"\n" not in text and (left := end - time.monotonic()) > 0:
            if selector.select(left):
                part = os.read(handle, 65536)
                if not part:
                    break
                text += part
    return text.decode(errors="replace").strip()


def main(arguments: list[str], maker: Maker = make) -> int:
    """The process of an agent; `maker` makes its datapath. Returns the exit status."""
    directory, ready = Path(arguments[0]), int(arguments[1])

    def say(**what: object) -> None:
        with suppress(OSError):  # the process that started this one has gone
            os.write(ready, json.dumps(what).encode() + b"\n")
        with suppress(OSError):
            os.close(ready)

    try:
        record = json.loads((directory / "record.json").read_text(encoding="utf-8"))
        datapath = maker(Choice(**record["choice"]), record["pin"])
    except Exception as failure:
        say(error=" ".join(str(failure).split()) or type(failure).__name__, kind=type(failure).__name__)
        return 1
    serve(datapath, directory, lambda: say(pid=os.getpid()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
