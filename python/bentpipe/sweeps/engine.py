"""The engine of many runs: every case of a list is run once, and the results form one set of tables.

The keys of a run are typed columns of each table, before its results.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from bentpipe._core import ScenarioError
from bentpipe.progress import State
from bentpipe.result import flow_frame, link_frame
from bentpipe.sweeps.case import Case, Key, portable
from bentpipe.sweeps.execution import Executor, Here, Measure, Processes, Ran, RunBatch, Threads

if TYPE_CHECKING:
    import polars as pl

#: Most runs that a worker gets at once.
BATCH = 32
#: Time that the engine waits for a run before it does other work, s.
WAIT_S = 0.1
TABLES = ("flows", "links", "traces", "link_traces", "transfers", "failed")
"""The tables of a sweep: a row per flow and run, link direction and run, sample of a flow, sample of a link,
transfer of an application, and failed run."""

_RECORDED: Mapping[str, Mapping[str, str]] = {
    "traces": {
        "t_s": "Float64",
        "flow": "String",
        **dict.fromkeys(("cwnd", "ssthresh", "in_flight", "srtt_s", "rtt_s"), "Float64"),
        **dict.fromkeys(("delivered_bytes", "retransmitted_packets"), "UInt64"),
    },
    "link_traces": {
        "t_s": "Float64",
        "link": "String",
        **dict.fromkeys(("queue_packets", "delivered_packets", "dropped_packets", "dropped_queue"), "UInt64"),
        "rate_bps": "UInt64",
        "delay_s": "Float64",
        "handovers": "UInt64",
    },
    "transfers": {"flow": "String", "start_s": "Float64", "bytes": "UInt64", "completion_s": "Float64"},
}
"""The columns of the tables of what scenarios record, and their types."""

Types = Mapping[str, type[Key]]
"""The type of each key: bool, int, float or str."""


class Runs:
    """The results of many runs, in the order of the cases, whatever the workers.

    Attributes:
        results: the object of `bentpipe run --json` of each case, None for one that failed; None as a whole
            if the runs are on disk.
    """

    def __init__(
        self, load: Callable[[str], pl.DataFrame], results: list[dict[str, Any] | None] | None = None
    ) -> None:
        self._load = load
        self.results = results

    @cached_property
    def flows(self) -> pl.DataFrame:
        """A row per flow and run.

        Columns: the keys, `run` (the number of the case), `seed`, and those of `Result.flows`.
        """
        return self._load("flows")

    @cached_property
    def links(self) -> pl.DataFrame:
        """A row per direction of a link and run, likewise."""
        return self._load("links")

    @cached_property
    def traces(self) -> pl.DataFrame:
        """The flows over time, as `Result.trace` has them, of cases whose traces are kept."""
        return self._load("traces")

    @cached_property
    def link_traces(self) -> pl.DataFrame:
        """The links over time, as `Result.link_trace` has them, likewise."""
        return self._load("link_traces")

    @cached_property
    def transfers(self) -> pl.DataFrame:
        """The transfers of applications, as `Result.transfers` has them, likewise."""
        return self._load("transfers")

    @cached_property
    def failed(self) -> pl.DataFrame:
        """A row per failed run: the keys, `run`, `seed`, and the error in one line."""
        return self._load("failed")


class Interrupted(KeyboardInterrupt):
    """The user stopped a job of many runs; the message says what is kept.

    Attributes:
        runs: the finished runs, if they are nowhere else.
    """

    def __init__(self, message: str, runs: Runs | None = None) -> None:
        super().__init__(message)
        self.runs = runs


class Clock:
    """Reports the progress of a job, and the time of the rest."""

    def __init__(self, total: int, taken_over: int, tell: Callable[[State], None] | None) -> None:
        self.total, self.taken_over, self.done, self.failed = total, taken_over, taken_over, 0
        self.warnings: Sequence[str] = ()
        self.running: Sequence[str] = ()
        self._tell = tell
        self._began = time.monotonic()

    def tell(self) -> None:
        """Reports the progress."""
        if self._tell is None:
            return
        elapsed, new = time.monotonic() - self._began, self.done - self.taken_over
        left = elapsed / new * (self.total - self.done) if new else None
        self._tell(
            State(
                self.done, self.total, self.failed, elapsed, left, self.taken_over,
                running=self.running, warnings=self.warnings,
            )
        )  # fmt: skip

    def take_over(self, runs: int = 1) -> None:
        """Counts further runs as some that were there before."""
        self.done += runs
        self.taken_over += runs

    def count(self, over: Sequence[Ran]) -> None:
        """Counts this number of further runs as over."""
        self.done += len(over)
        self.failed += sum(ran.error is not None for ran in over)
        if over:
            self.tell()


def run_cases(
    cases: Sequence[Case],
    *,
    workers: int = 0,
    progress: Callable[[State], None] | None = None,
    executor: Executor | None = None,
) -> Runs:
    """Runs every case on all cores. A run that fails is a row of `Runs.failed` and does not stop the others.

    Controllers in Rust run in threads of this process, those in Python in worker processes. Those that other
    processes cannot load (of a notebook, or of the script itself) run here, one at a time.

    Args:
        cases: the runs. It may build them as they are asked for.
        workers: threads or processes; 0: one per processor. The results do not depend on it.
        progress: called with the state of the job, from the first moment on.
        executor: the executor of the runs, in place of this machine.

    Raises:
        Interrupted: the user stopped it.
    """
    over: dict[int, tuple[Case, Ran]] = {}
    clock = Clock(len(cases), 0, progress)
    clock.tell()
    try:
        with closing(work_off(cases, range(len(cases)), workers=workers, executor=executor)) as runs:
            for some in runs:
                over.update((ran.number, (cases[ran.number], ran)) for ran in some)
                clock.count(some)
    except KeyboardInterrupt:
        kept = in_memory(key_types(cases), len(cases), over)
        raise Interrupted(f"{len(over):,} of {len(cases):,} runs were done", kept) from None
    return in_memory(key_types(cases), len(cases), over)


def key_types(cases: Iterable[Case]) -> Types:
    """The type of each key of some cases. Whole numbers among others are floats; mixed values are text."""
    found: dict[str, type[Key]] = {}
    for case in cases:
        for name, value in case.keys.items():
            kind, had = type(value), found.get(name, type(value))
            found[name] = kind if kind is had else float if {kind, had} == {int, float} else str
    return found


class Tables:
    """Builds the tables; each call gives frames of the same columns and types.

    The keys come first, then `run` (the number of the case), `seed`, and the columns of `Result.flows` or
    `Result.links`. One of these that is called like a key is called `result_NAME`.
    """

    def __init__(self, types: Types) -> None:
        self._types = {name: kind for name, kind in types.items() if name not in ("run", "seed")}

    def frames(self, over: Sequence[tuple[Case, Ran]]) -> dict[str, pl.DataFrame]:
        """All of `TABLES` of some runs, in their order."""
        import polars as pl

        done = [(case, ran, ran.result) for case, ran in over if ran.error is None]
        failed = [(case, ran) for case, ran in over if ran.error is not None]
        named = self._named_runs([(case, ran) for case, ran, _ in done])
        errors = pl.DataFrame({"error": [ran.error for _, ran in failed]}, schema={"error": pl.String})
        flows, links = [result["flows"] for *_, result in done], [result["links"] for *_, result in done]
        return {
            "flows": self._joined(named, flows, flow_frame),
            "links": self._joined(named, links, link_frame),
            "traces": self._recorded("traces", named, [ran.trace for _, ran, _ in done]),
            "link_traces": self._recorded("link_traces", named, [ran.link_trace for _, ran, _ in done]),
            "transfers": self._recorded("transfers", named, [ran.transfers for _, ran, _ in done]),
            "failed": pl.concat([self._named_runs(failed), errors], how="horizontal"),
        }

    def named(self, runs: Sequence[tuple[Mapping[str, Key], int, int]]) -> pl.DataFrame:
        """The columns that name runs, from the keys, the number and the seed of each."""
        import polars as pl

        kinds = {bool: pl.Boolean, int: pl.Int64, float: pl.Float64, str: pl.String}
        columns = {}
        for name, kind in self._types.items():
            values = [kind(keys[name]) if name in keys else None for keys, _, _ in runs]
            columns[name] = pl.Series(values, dtype=kinds[kind])
        columns["run"] = pl.Series([number for _, number, _ in runs], dtype=pl.UInt64)
        columns["seed"] = pl.Series([seed for *_, seed in runs], dtype=pl.UInt64)
        return pl.DataFrame(columns)

    def renamed(
        self, runs: Mapping[int, tuple[Mapping[str, Key], int, int]], frame: pl.DataFrame
    ) -> pl.DataFrame:
        """Rows of other keys or numbers under the present ones.

        Args:
            runs: the current keys of each run, by its number in `frame`. Rows of other runs are left out.
            frame: a table, with `run` and `seed`.
        """
        import polars as pl

        frame = frame.filter(pl.col("run").is_in(list(runs)))
        places = {number: i for i, number in enumerate(runs)}
        named = self.named(list(runs.values()))[[places[number] for number in frame["run"]]]
        rest = frame[:, frame.columns.index("seed") + 1 :]
        return pl.concat([named, rest], how="horizontal")

    def _named_runs(self, over: Sequence[tuple[Case, Ran]]) -> pl.DataFrame:
        return self.named([(case.keys, ran.number, case.seed) for case, ran in over])

    def _joined(
        self, named: pl.DataFrame, rows: Sequence[Sequence[Any]], frame: Callable[[list[Any]], pl.DataFrame]
    ) -> pl.DataFrame:
        import polars as pl

        index = [i for i, of in enumerate(rows) for _ in of]
        made = frame([row for of in rows for row in of])
        made = made.rename({name: f"result_{name}" for name in made.columns if name in named.columns})
        return pl.concat([named[index], made], how="horizontal")

    def _recorded(
        self, table: str, named: pl.DataFrame, of_runs: Sequence[pl.DataFrame | None]
    ) -> pl.DataFrame:
        """A table of what the scenarios record, of the runs that keep it."""
        import polars as pl

        types = {name: getattr(pl, kind) for name, kind in _RECORDED[table].items()}
        kept = [(i, of) for i, of in enumerate(of_runs) if of is not None]
        # A run without such rows has no columns either.
        rows = [(named[[i] * of.height], of.select(*types).cast(types)) for i, of in kept if of.height]  # type: ignore[arg-type]
        heads = pl.concat([head for head, _ in rows] or [named[:0]])
        frame = pl.concat([some for _, some in rows] or [pl.DataFrame(schema=types)])
        frame = frame.rename({name: f"result_{name}" for name in frame.columns if name in named.columns})
        return pl.concat([heads, frame], how="horizontal")


def in_memory(types: Types, total: int, over: Mapping[int, tuple[Case, Ran]]) -> Runs:
    """Finished runs by their numbers, and the total; `types` are those of the keys."""
    made = Tables(types).frames([over[number] for number in sorted(over)])
    found = [over[i][1] if i in over else None for i in range(total)]
    return Runs(
        made.__getitem__, [ran.result if ran is not None and ran.error is None else None for ran in found]
    )


def work_off(
    cases: Sequence[Case],
    numbers: Iterable[int],
    *,
    workers: int = 0,
    measure: Measure | None = None,
    executor: Executor | None = None,
    keep_raw: bool = False,
) -> Generator[Sequence[Ran]]:
    """Runs the cases of these numbers and gives runs as they are over, in any order; at times an empty list.

    Only the runs in hand are in memory. A caller that does not take all must close it, which ends the runs in
    hand. With `keep_raw` each has its result itself, so nothing is run in another process.

    Raises:
        ScenarioError: the number of workers is below 0.
    """
    if workers < 0:
        raise ScenarioError(f"{workers} workers cannot run anything; give 0 for one per processor, or more")
    if executor is not None:
        yield from _drive(lambda: executor, _batches(cases, numbers, executor.size, measure))
        return
    elsewhere: list[int] = []
    here: list[int] = []

    def native() -> Iterator[RunBatch]:
        for number in numbers:
            case = cases[number]
            if measure is None and not case.controllers:
                yield RunBatch([number], [case])
            elif not keep_raw and all(map(portable, case.controllers.values())):
                elsewhere.append(number)
            else:
                here.append(number)

    yield from _drive(lambda: Threads(workers), native())
    if elsewhere:
        processes = Processes(min(workers, len(elsewhere)) if workers else 0)
        yield from _drive(lambda: processes, _batches(cases, elsewhere, processes.size, measure))
    yield from _drive(Here, (RunBatch([number], [cases[number]], measure) for number in here))


def _batches(
    cases: Sequence[Case], numbers: Iterable[int], size: int, measure: Measure | None
) -> Iterator[RunBatch]:
    """Batches so small that no worker is left alone with the last for long."""
    left = len(numbers) if isinstance(numbers, Sequence) else len(cases)
    ahead = iter(numbers)
    while some := list(islice(ahead, max(1, min(BATCH, left // (4 * size))))):
        left -= len(some)
        yield RunBatch(some, [cases[number] for number in some], measure)


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


def _drive(make: Callable[[], Executor], batches: Iterator[RunBatch]) -> Iterator[Sequence[Ran]]:
    first = next(batches, None)
    if first is None:
        return
    executor = make()
    try:
        yield from share_out(executor, chain([first], batches))
    finally:
        executor.stop()
