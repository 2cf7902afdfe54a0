"""Measures of runs, taken as the runs are over and kept on disk, so that an interrupted job goes on.

    DIR/rows/*.parquet      a row for each run: its key, its measures as JSON, its cost and its warnings
    DIR/traces/*.parquet    the traces that are kept
    DIR/parts/*.json        the files that belong together (store.py)

A run is stored under a hash of all inputs of its measures, the code that measures included. So a stored row
is used only for the run that would give the same row again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Self

import polars as pl

from bentpipe.progress import State
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.engine import Clock, work_off
from bentpipe.sweeps.execution import Ran
from bentpipe.sweeps.fingerprint import Fingerprints
from bentpipe.sweeps.store import Store, StoredRun, read_table, repeated

FOLDER = ".runs"
"""The folder of the runs, in the folder of the results."""
ROWS, TRACES = "rows", "traces"
#: Runs of a part: the most that a kill or a damaged file costs, for about a second of work.
PART = 32
#: Finished runs are written this often, in s.
FLUSH_S = 1.0

Row = Mapping[str, Any]
"""Measures of a run: text, numbers, and lists and objects of them."""


class Kept:
    """The measured runs in a folder. As a context, no other process writes to them meanwhile.

    Args:
        folder: made if it is not there.

    Attributes:
        done: the keys of the runs that are there.
        warnings: lines about stored runs that could not be used and were removed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.done: set[str] = set()
        self.warnings: Sequence[str] = ()
        self._store = Store(folder, (ROWS, TRACES), many=PART)
        self._waiting: list[tuple[str, Mapping[str, Any], Ran]] = []
        self._written = 0.0

    def __enter__(self) -> Self:
        """Raises ScenarioError if another process writes there, OSError if the folder cannot be made."""
        self._store.__enter__()
        self.warnings = [*_drop_outdated(self.folder), *repeated(self._store.open())]
        self.done = {run.key for run in self._store.runs()}
        return self

    def __exit__(self, *how: object) -> None:
        with suppress(OSError):  # whoever takes runs learns of it by `take` and `finish`
            self.flush()
        self._store.__exit__(*how)

    def clear(self) -> None:
        """Forgets every run."""
        self._store.clear()
        self.done, self.warnings = set(), ()

    def keep_only(self, keys: Collection[str]) -> None:
        """Removes the runs of other keys: of other code or cases."""
        for part in list(self._store.parts):
            kept = [run for run in part.runs if run.key in keys]
            if len(kept) < len(part.runs):
                self._store.rewrite([part], kept, partial(_of, [run.key for run in kept]))
        self.done.intersection_update(keys)

    def take(self, key: str, row: Mapping[str, Any], ran: Ran) -> None:
        """Takes a run that is over. It is written with others, after a second or when the block ends.

        Args:
            key: the hash of its inputs.
            row: its measures, and what else is wanted of it.
            ran: the run; its trace is kept if it has one.

        Raises:
            OSError: it cannot be written.
        """
        self._waiting.append((key, row, ran))
        if len(self._waiting) >= PART or time.monotonic() - self._written >= FLUSH_S:
            self.flush()

    def flush(self) -> None:
        """Writes the runs that wait for it.

        Raises:
            OSError: they cannot be written.
        """
        waiting, self._waiting = self._waiting, []
        if waiting:
            results = [ran.result for *_, ran in waiting]
            # The types of a column follow from all rows of a study; until all are there a row stays text.
            rows = pl.DataFrame(
                {
                    "run": [key for key, *_ in waiting],
                    "row": [json.dumps(row, default=_plain) for _, row, _ in waiting],
                    "packets": [int(result["packets"]) for result in results],
                    "warnings": [result["warnings"] for result in results],
                    "cpu_s": [ran.cpu_s for *_, ran in waiting],
                },
                schema_overrides={"warnings": pl.List(pl.String)},
            )
            traces = [
                ran.trace.with_columns(run=pl.lit(key)) for key, _, ran in waiting if ran.trace is not None
            ]
            frames = {ROWS: rows} | ({TRACES: pl.concat(traces, how="diagonal")} if traces else {})
            self._store.add(frames, [StoredRun(0, key, failed=False) for key, *_ in waiting])
            self.done |= {key for key, *_ in waiting}
        self._written = time.monotonic()

    def finish(self) -> None:
        """Writes what waits, and merges small files.

        Raises:
            OSError: they cannot be written.
        """
        self.flush()
        self._store.compact()

    def rows(self) -> dict[str, dict[str, Any]]:
        """The stored rows by their keys.

        Raises:
            ScenarioError: a file has been damaged meanwhile.
        """
        table = read_table(self.folder, ROWS)
        if table is None:
            return {}
        return {key: json.loads(row) for key, row in zip(table["run"], table["row"], strict=True)}


@dataclass
class Made:
    """The measures of runs by the numbers of their cases, the errors of those that failed.

    Attributes:
        stopped: whether the user stopped the job before all runs were made.
    """

    rows: dict[int, Row] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)
    stopped: bool = False


def measure_all(
    cases: Sequence[Case],
    measure: Callable[[int, Case, Ran], Row],
    *,
    place: Path | None = None,
    code: Callable[[Case], str] = lambda _: "",
    fresh: bool = False,
    workers: int = 0,
    progress: Callable[[State], None] | None = None,
    named: Callable[[Case], str] | None = None,
) -> Made:
    """Runs cases on all cores and measures each in this process as soon as it is over.

    Args:
        cases: the runs. It may build them as they are asked for; not all are in memory at once.
        measure: the measures of a run from the number of its case, the case and the run, which has its trace
            if the case keeps it.
        place: the folder of the measures; a run that is there is not made again. None: they stay in memory.
        code: the hash of the code that measures a case; another hash, and the run is made again.
        fresh: forget the runs that are in `place`.
        workers: threads, or processes for controllers in Python; 0: one per processor. The results do not
            depend on it.
        progress: called with the state of the job.
        named: the name of the current work, for `progress`.

    Raises:
        ScenarioError: another process writes to `place`.
        OSError: `place` cannot be written.
    """
    made, keys, fingerprints = Made(), dict[int, str](), Fingerprints()
    clock = Clock(len(cases), 0, progress)
    with ExitStack() as held:
        kept, there = None, {}
        if place is not None:
            kept = held.enter_context(Kept(place))
            if fresh:
                kept.clear()
            there = kept.rows()
            clock.warnings = kept.warnings

        def missing() -> Iterator[int]:
            for number in range(len(cases)):
                if kept is not None:
                    keys[number] = key = fingerprints.case(cases[number], code(cases[number]))
                    if key in there:
                        made.rows[number] = there[key]
                        clock.take_over()
                        continue
                yield number

        try:
            clock.tell()
            with closing(work_off(cases, missing(), workers=workers)) as runs:
                for some in runs:
                    for ran in some:
                        case = cases[ran.number]
                        if ran.error is not None:
                            made.failed[ran.number] = ran.error
                            continue
                        row = measure(ran.number, case, ran)
                        made.rows[ran.number] = row
                        # A change of a controller without a source could not be noticed.
                        if kept is not None and all(map(fingerprints.controllers.get, case.controllers)):
                            ran.trace = None
                            kept.take(keys[ran.number], row, ran)
                    if some and named is not None:
                        clock.running = [named(cases[some[-1].number])]
                    clock.count(some)
        except KeyboardInterrupt:
            made.stopped = True
        if kept is not None and not made.stopped:
            kept.keep_only(set(keys.values()))
            kept.finish()
    return made


def _of(keys: Sequence[str], rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(rows["run"].is_in(keys))


def _drop_outdated(folder: Path) -> list[str]:
    """Removes runs in the earlier layout, files beside the folders of today; a line if there were any."""
    old = [path for path in folder.iterdir() if path.suffix in (".parquet", ".json")]
    for path in [*old, folder.with_name(f"{folder.name}.lock")]:
        path.unlink(missing_ok=True)
    return [f"{folder} held runs of an earlier version; they are repeated"] if old else []


def _plain(value: object) -> object:
    """A NumPy scalar as Python's own."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"a measure must be text or a number, not {type(value).__name__}")
