"""Executors of runs: threads, worker processes, this process, or (in a file of its own) a cluster.

All of them take batches of cases and hand out runs as they are done, in any order. The result of a run
depends on its case alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

from bentpipe import _core
from bentpipe.machine.watchdog import watched
from bentpipe.sweeps.case import Case, Key

if TYPE_CHECKING:
    import polars as pl

#: Scalars that a study measures in one run, from its case, its result (the object of `bentpipe run --json`)
#: and its trace (None if the scenario records none).
Measure = Callable[[Case, Mapping[str, Any], "pl.DataFrame | None"], Mapping[str, Key]]
#: A function of a module that the worker can import; its first argument receives its progress.
Task = Callable[..., Any]

#: Most runs that a worker gets at once.
BATCH = 32
#: Time that a laboratory waits for a run before it does other work, s.
WAIT_S = 0.1

_START = "import sys; from bentpipe.sweeps.execution import serve; serve(int(sys.argv[1]))"


@dataclass(frozen=True)
class RunBatch:
    """Some runs that are given to an executor together, each with the number by which it is called."""

    numbers: Sequence[int]
    cases: Sequence[Case]
    measure: Measure | None = None


@dataclass
class Ran:
    """A run that is over. All but `raw` and `failure` goes from process to process."""

    number: int
    #: The object of `bentpipe run --json`, as text; None if the run failed.
    report: str | None = None
    #: The reason for its failure, in one line.
    error: str | None = None
    #: The trace of the flows, if the case keeps it.
    trace: pl.DataFrame | None = None
    #: The trace of the links, if the case keeps it and its scenario records links.
    link_trace: pl.DataFrame | None = None
    #: The transfers of applications, if the case keeps traces and its scenario records them.
    transfers: pl.DataFrame | None = None
    #: The result of `RunBatch.measure`, and then the row that a laboratory makes of the run.
    measures: Mapping[str, Any] = field(default_factory=dict)
    #: Processor time of the run and of its measures, s; 0 if threads share a process.
    cpu_s: float = 0.0
    #: The result itself, and the exception: where the run was made in this process.
    raw: _core.RawResult | None = None
    failure: Exception | None = None

    @property
    def result(self) -> dict[str, Any]:
        """The object of `bentpipe run --json`."""
        return cast(dict[str, Any], json.loads(self.report or "{}"))


class Executor(Protocol):
    """An executor of batches of runs."""

    @property
    def size(self) -> int:
        """The number of runs that it works on at once."""

    @property
    def free(self) -> int:
        """The number of batches that can be started now."""

    def start(self, batch: RunBatch) -> None:
        """Begins a batch; called only if `free` is not 0."""

    def finished(self, timeout_s: float) -> Sequence[Ran]:
        """Runs that are over and were not handed out before; waits for one, or as long as that.

        Each run that was started comes exactly once, if need be as one that failed.
        """

    def stop(self) -> None:
        """Ends everything within a second, including the runs in hand."""


def cores() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0))


class Threads:
    """Threads of the simulator, for controllers in Rust. A batch is best one run."""

    def __init__(self, workers: int = 0) -> None:
        self._threads = _core.Threads(workers or cores())
        self.size = self._threads.threads
        self._cases: dict[int, tuple[Case, Measure | None]] = {}

    @property
    def free(self) -> int:
        """The number of batches that can be started now."""
        # Some wait, so that no thread does while this one writes to the disk.
        return max(0, 4 * self.size - len(self._cases))

    def start(self, batch: RunBatch) -> None:
        """Begins a batch."""
        for number, case in zip(batch.numbers, batch.cases, strict=True):
            self._cases[number] = case, batch.measure
            self._threads.start(number, case.text)

    def finished(self, timeout_s: float) -> Sequence[Ran]:
        """Runs that are over; waits for one, or as long as that."""
        over = []
        for number, given in self._threads.finished(timeout_s):
            case, measure = self._cases.pop(number)
            over.append(_told(number, case, measure, partial(_raised, given)))
        return over

    def stop(self) -> None:
        """Ends everything."""
        self._threads.stop()


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
    """At most ``size`` worker processes, started when they are needed, with one task each at a time.

    They end with the process that started them, however it ends.
    """

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
                status = worker.process.wait()
                how = f"signal {-status}" if status < 0 else f"status {status}"
                yield News(name, "failed", f"a worker process ended ({how})")
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


def said(failure: Exception) -> str:
    """A failure in words: its kind as well, unless the system's message names the file and the error."""
    if isinstance(failure, OSError) and failure.filename and failure.strerror:
        return f"{failure.filename}: {failure.strerror}"
    return f"{type(failure).__name__}: {failure}"


def serve(descriptor: int) -> None:
    """The life of a worker: tasks come over a connection, one at a time, and their news go back."""
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
                traceback.print_exc()
            answer = ("failed", said(failure))
        connection.send(answer)


class Processes:
    """Worker processes, for controllers and measures in Python."""

    def __init__(self, workers: int = 0) -> None:
        self.size = workers or cores()
        self._pool = Pool(self.size)
        self._started = 0
        #: For each batch in progress, the runs that have not come yet.
        self._left: dict[int, RunBatch] = {}
        self._again: deque[RunBatch] = deque()
        #: News of tasks begun with `begin`.
        self.others: deque[News] = deque()

    @property
    def free(self) -> int:
        """The number of batches that can be started now."""
        return max(0, self._pool.free - len(self._again))

    def start(self, batch: RunBatch) -> None:
        """Begins a batch."""
        self._left[self._started] = batch
        self._pool.start(self._started, run_batch, batch)
        self._started += 1

    def begin(self, name: Any, task: Task, *args: Any) -> None:
        """Gives a free worker something else to do; `others` gets its results."""
        self._pool.start(name, task, *args)

    def finished(self, timeout_s: float) -> Sequence[Ran]:
        """Runs that are over; waits for one, or as long as that."""
        over: list[Ran] = []
        for news in self._pool.news(timeout_s):
            batch = self._left.pop(news.task, None)
            if batch is None:
                if news.task is not None:  # else a worker ended that had nothing to do
                    self.others.append(news)
            elif news.kind == "progress":
                over.append(news.value)
                at = list(batch.numbers).index(news.value.number) + 1
                self._left[news.task] = replace(batch, numbers=batch.numbers[at:], cases=batch.cases[at:])
            elif news.kind == "failed" and batch.numbers:
                # The run in hand is to blame, or the worker was killed. The others had not begun.
                over.append(Ran(batch.numbers[0], error=news.value))
                if len(batch.numbers) > 1:
                    self._again.append(replace(batch, numbers=batch.numbers[1:], cases=batch.cases[1:]))
        while self._again and self._pool.free:
            self.start(self._again.popleft())
        return over

    def stop(self) -> None:
        """Ends everything; later tasks are done by new workers."""
        self._pool.stop()
        self._left.clear()
        self._again.clear()
        self.others.clear()


class Here:
    """This process, one run after the other: for controllers that other processes cannot load."""

    size = 1

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], Ran]] = deque()

    @property
    def free(self) -> int:
        """The number of batches that can be started now."""
        return 1 - len(self._waiting)

    def start(self, batch: RunBatch) -> None:
        """Begins a batch."""
        for number, case in zip(batch.numbers, batch.cases, strict=True):
            self._waiting.append(partial(run_case, number, case, batch.measure))

    def finished(self, timeout_s: float) -> Sequence[Ran]:
        """Runs that are over; waits for one, or as long as that."""
        return [self._waiting.popleft()()] if self._waiting else []

    def stop(self) -> None:
        """Ends everything."""
        self._waiting.clear()


def share_out(executor: Executor, batches: Iterator[RunBatch]) -> Iterator[Sequence[Ran]]:
    """Gives batches to an executor as it is free, and runs as they are over; at times an empty list.

    The caller must stop the executor.
    """
    in_hand, more = 0, True
    while more or in_hand:
        while more and executor.free:
            batch = next(batches, None)
            more = batch is not None
            if batch is not None:
                executor.start(batch)
                in_hand += len(batch.numbers)
        # With nothing in hand, workers may still have to report that they are free.
        if in_hand or more:
            over = executor.finished(WAIT_S)
            in_hand -= len(over)
            yield over


def run_batch(tell: Callable[[Ran], None], batch: RunBatch) -> None:
    """A worker's task: runs a batch and reports each run as it is over."""
    for number, case in zip(batch.numbers, batch.cases, strict=True):
        tell(replace(run_case(number, case, batch.measure), raw=None, failure=None))


def run_case(number: int, case: Case, measure: Measure | None = None) -> Ran:
    """Runs one case in this process."""
    began = time.process_time()
    with watched(case.controllers.values()):
        over = _told(number, case, measure, lambda: _core.run(case.text, dict(case.controllers) or None))
    return replace(over, cpu_s=time.process_time() - began)


def trace_frame(raw: _core.RawResult) -> pl.DataFrame:
    """The trace of a run as a frame, with the flow's name in place of its index.

    If the run recorded probes, each is one more column: its value then, null for a flow without it.
    """
    trace, probes = _named_rows(raw.trace(), "flow", raw.flow_names), raw.probes()
    if not len(probes["t_s"]):
        return trace
    return _beside(trace, _named_rows(probes, "flow", raw.flow_names), raw.probe_names)


def _beside(trace: pl.DataFrame, probes: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """A trace with a column for each probe, whose value holds until its next row."""
    import polars as pl

    rows = _named_rows(probes.to_dict(), "probe", names)
    wide = rows.pivot("probe", index=["t_s", "flow"], values="value", aggregate_function="last")
    held = wide.with_columns(pl.col(names).forward_fill().over("flow"))
    return trace.join_asof(held, on="t_s", by="flow", check_sortedness=False)


def link_frame(raw: _core.RawResult) -> pl.DataFrame:
    """The trace of the links as a frame, with the name ("sat/forward") in place of the index."""
    return _named_rows(raw.link_trace(), "link", raw.link_names)


def transfer_frame(raw: _core.RawResult) -> pl.DataFrame:
    """The transfers of applications as a frame, as `Result.transfers` has them."""
    import polars as pl

    flows = [flow["name"] for flow in json.loads(raw.json)["flows"]]
    frame = _named_rows(raw.transfers(), "flow", flows)
    return frame.with_columns(pl.col("completion_s").fill_nan(None))


def _named_rows(columns: Mapping[str, Any], key: str, names: Sequence[str]) -> pl.DataFrame:
    """The columns as a frame; `key` is the last, with names for indices. A query would wake threads."""
    import polars as pl

    others = {name: column for name, column in columns.items() if name != key}
    return pl.DataFrame({**others, key: pl.Series(names, dtype=pl.String)[columns[key]]})


def one_line(failure: Exception) -> str:
    """A failure in one line; its kind as well, unless it is one of Bentpipe's, which are complete."""
    complete = isinstance(failure, _core.ScenarioError | _core.ControllerError)
    return " ".join((str(failure) if complete else said(failure)).split())


def _raised(given: _core.RawResult | Exception) -> _core.RawResult:
    if isinstance(given, BaseException):
        raise given
    return given


def _told(number: int, case: Case, measure: Measure | None, run: Callable[[], _core.RawResult]) -> Ran:
    try:
        raw = run()
        record = case.scenario.get("record") or {}
        trace = trace_frame(raw) if record and (measure or case.keep_trace) else None
        links = link_frame(raw) if case.keep_trace and record.get("links") else None
        transfers = transfer_frame(raw) if case.keep_trace and record.get("transfers") else None
        report = raw.json
        result = json.loads(report) if measure is not None else {}
        found = measure(case, result, trace) if measure is not None else {}
    except Exception as failure:
        if "BENTPIPE_TRACEBACK" in os.environ:
            traceback.print_exc()
        return Ran(number, error=one_line(failure), failure=failure)
    kept = trace if case.keep_trace else None
    return Ran(number, report, trace=kept, link_trace=links, transfers=transfers, measures=found, raw=raw)
