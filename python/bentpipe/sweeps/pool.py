"""Worker processes with one task at a time. They end with the process that started them, however it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any, Literal

#: A function of a module that the worker can import; its first argument receives its progress.
Task = Callable[..., Any]

_START = "import sys; from bentpipe.sweeps.pool import serve; serve(int(sys.argv[1]))"


@dataclass(frozen=True)
class News:
    """A worker's report on its task: its progress, its result, or its error in one line."""

    task: Any
    kind: Literal["progress", "done", "failed"]
    value: Any


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    task: Any = None


class Pool:
    """At most ``size`` worker processes, started when they are needed."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._workers: dict[Connection, _Worker] = {}

    def stop(self) -> None:
        """Ends all workers, with the tasks in hand."""
        for connection, worker in self._workers.items():
            connection.close()
            worker.process.kill()  # the file that it was writing has another name until it is complete
            worker.process.wait()
        self._workers.clear()

    @property
    def free(self) -> int:
        """The number of tasks that can be started now."""
        return self._size - len(self.busy)

    @property
    def busy(self) -> list[Any]:
        """The names of the tasks in progress."""
        return [worker.task for worker in self._workers.values() if worker.task is not None]

    def start(self, name: Any, task: Task, *args: Any) -> None:
        """Gives a task to a free worker; ``name`` identifies its reports."""
        idle = (connection for connection, worker in self._workers.items() if worker.task is None)
        connection = next(idle, None) or self._new()
        self._workers[connection].task = name
        connection.send((task, args))

    def news(self, timeout_s: float | None = None) -> Iterator[News]:
        """Waits for a report of a worker, up to a time limit."""
        for connection in wait(list(self._workers), timeout_s):
            assert isinstance(connection, Connection)
            worker = self._workers[connection]
            name = worker.task
            try:
                kind, value = connection.recv()
            except (EOFError, OSError):
                del self._workers[connection]
                connection.close()
                yield News(name, "failed", f"a worker process ended ({_ending(worker.process.wait())})")
                continue
            if kind != "progress":
                worker.task = None
            yield News(name, kind, value)

    def _new(self) -> Connection:
        ours, theirs = Pipe()
        # polars shares out its sums over its threads: their number must be the same on every machine.
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path),
            "POLARS_MAX_THREADS": "1",
        }
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _START, str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            env=environment,
            process_group=0,  # Ctrl-C is for the process that the user started, which ends its workers
        )
        theirs.close()
        self._workers[ours] = _Worker(process)
        return ours


def _ending(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"status {status}"


def said(failure: Exception) -> str:
    """A failure in words: its kind as well, unless the system's message names the file and the error."""
    if isinstance(failure, OSError) and failure.filename and failure.strerror:
        return f"{failure.filename}: {failure.strerror}"
    return f"{type(failure).__name__}: {failure}"


def serve(descriptor: int) -> None:
    """The life of a worker: tasks come over a connection, one at a time, and their news go back."""
    from queue import SimpleQueue
    from threading import Thread

    connection = Connection(descriptor)
    tasks: SimpleQueue[tuple[Task, tuple[Any, ...]] | Exception] = SimpleQueue()

    def listen() -> None:
        while True:
            try:
                tasks.put(connection.recv())
            except (EOFError, OSError):
                os._exit(0)  # the process that gave the tasks was killed, so the work in hand is not needed
            except Exception as failure:  # the task's module or a class of it cannot be loaded
                tasks.put(failure)

    Thread(target=listen, daemon=True).start()
    while True:
        try:
            given = tasks.get()
            if isinstance(given, Exception):
                raise given
            task, args = given
            answer = ("done", task(lambda value: connection.send(("progress", value)), *args))
        except Exception as failure:
            if "BENTPIPE_TRACEBACK" in os.environ:
                import traceback

                traceback.print_exc()
            answer = ("failed", said(failure))
        connection.send(answer)
