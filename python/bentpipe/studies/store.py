"""Finished batches of a study on disk, so that an interrupted run resumes where it was.

A batch is a fixed number of consecutive cases. It is named by a hash of its cases and of the code that
measures them (`bentpipe.sweeps.sources`), so a file is used for just the runs that would give its contents
again. It appears complete or not at all: its files are written under other names and renamed, and the last
one holds the sums of the others, because a changed byte may read as another number.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import polars as pl

from bentpipe.files import Changed, check_file, read_frame, replace, replace_frame
from bentpipe.studies.execute import Measured, measured
from bentpipe.studies.study import Case, Outcome, Plan, Study
from bentpipe.sweeps.execution import Ran
from bentpipe.sweeps.sources import code_version

#: Runs in a batch: the most that an interruption loses, for each core.
BATCH = 32
#: The folder of the batches, in the folder of a study's page.
FOLDER = ".runs"


@dataclass(frozen=True)
class StoredBatch:
    """Some consecutive cases of a plan, and the file of their rows."""

    cases: Sequence[Case]
    rows: Path

    @property
    def traces(self) -> Path:
        """The file of the traces that are kept; absent if the cases keep none."""
        return self.rows.with_suffix(".traces.parquet")

    @property
    def sums(self) -> Path:
        """The file with the sums of the others; it exists if the batch is finished."""
        return self.rows.with_suffix(".json")

    def files(self) -> list[Path]:
        """The files of a finished batch, beside its sums."""
        return [self.rows, self.traces] if self.keeps_traces() else [self.rows]

    def finished(self) -> bool:
        """Whether the batch is on disk."""
        return self.sums.exists()

    def damaged(self) -> Path | None:
        """A file of a finished batch that is not the one that was written; None if there is none."""
        for path in self.files():
            try:
                check_file(path, self._sum(path))
            except (OSError, Changed):
                return path
        return None

    def forget(self) -> None:
        """Removes the batch."""
        for path in (self.sums, *self.files()):
            path.unlink(missing_ok=True)

    def keeps_traces(self) -> bool:
        """Whether the traces of any case are kept."""
        return any(case.keep_trace for case in self.cases)

    def read(self, path: Path) -> pl.DataFrame:
        """One of its two files, finished.

        Raises:
            RuntimeError: the file is damaged; the batch is removed.
        """
        try:
            return read_frame(path, self._sum(path))
        except (OSError, Changed):
            self.forget()
            raise RuntimeError(
                f"{path} is damaged and was removed; the same command repeats its runs"
            ) from None

    def _sum(self, path: Path) -> str:
        try:
            return str(json.loads(self.sums.read_bytes())[path.name])
        except (ValueError, TypeError, KeyError, RecursionError):
            raise Changed(str(self.sums)) from None

    def write(self, done: Measured) -> None:
        """Writes a batch that is done."""
        self.sums.unlink(missing_ok=True)
        sums = {}
        if done.traces is not None:
            sums[self.traces.name] = replace_frame(self.traces, done.traces)
        # The types of a column follow from all rows of a study; until all are there a row stays text.
        rows = pl.DataFrame(
            {
                "row": [json.dumps(row, default=_plain) for row in done.rows],
                "packets": done.packets,
                "warnings": done.warnings,
                "cpu_s": done.cpu_s,
            },
            schema_overrides={"warnings": pl.List(pl.String)},
        )
        sums[self.rows.name] = replace_frame(self.rows, rows)
        replace(self.sums, lambda work: work.write_text(json.dumps(sums), encoding="utf-8"))


class Filling:
    """Takes the runs of a stored batch, in any order, and writes it when it has all."""

    def __init__(self, batch: StoredBatch) -> None:
        self.batch = batch
        self.over: dict[int, Ran] = {}

    def take(self, index: int, ran: Ran) -> bool:
        """Takes the run of a case, by its index in the batch; whether the batch is written with that.

        Raises:
            OSError: it cannot be written.
        """
        self.over[index] = ran
        if len(self.over) < len(self.batch.cases):
            return False
        cases = self.batch.cases
        self.batch.write(measured(cases, [self.over[i] for i in range(len(cases))]))
        return True


def hold(folder: Path) -> IO[bytes]:
    """Makes a folder of batches and keeps other runs out of it until the returned object is closed.

    Raises:
        RuntimeError: another run uses it.
        OSError: it cannot be made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = (folder.parent / f"{folder.name}.lock").open("wb")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise RuntimeError(f"another run is writing to {folder.parent.parent}") from None
    return lock


class Store:
    """The batches of a plan in ``place/.runs/MODE``; as a context, no other run uses the folder meanwhile."""

    def __init__(self, study: Study, plan: Plan, place: Path) -> None:
        self.folder = place / FOLDER / plan.mode
        self._lock: IO[bytes] | None = None
        code = code_version(study.measure)
        self.batches = []
        for first in range(0, len(plan.cases), BATCH):
            cases = plan.cases[first : first + BATCH]
            text = json.dumps([[dict(c.keys), c.scenario, c.keep_trace, dict(c.settings)] for c in cases])
            key = hashlib.sha256(f"{code} {text}".encode()).hexdigest()[:32]
            self.batches.append(StoredBatch(cases, self.folder / f"{key}.parquet"))

    def __enter__(self) -> Self:
        """Raises RuntimeError if another run uses the folder, OSError if it cannot be made."""
        self._lock = hold(self.folder)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._lock is not None:
            self._lock.close()

    def clear(self) -> None:
        """Forgets every batch."""
        shutil.rmtree(self.folder)
        self.folder.mkdir()

    def prune(self) -> None:
        """Removes files that this plan cannot use: batches of other code or cases, and files half written."""
        kept = {path for batch in self.batches for path in (batch.sums, *batch.files())}
        for path in self.folder.iterdir():
            if path not in kept:
                path.unlink()

    def drop_damaged(self) -> list[Path]:
        """Removes finished batches that are not as they were written; for each, a file that is not."""
        found = [(batch, batch.damaged()) for batch in self.batches if batch.finished()]
        for batch, path in found:
            if path is not None:
                batch.forget()
        return [path for _, path in found if path is not None]

    def unfinished(self) -> list[int]:
        """The numbers of the batches that are still to be run."""
        return [i for i, batch in enumerate(self.batches) if not batch.finished()]


def gather(batches: Iterable[StoredBatch]) -> Outcome:
    """The outcome of finished batches."""
    batches = list(batches)
    stored = pl.concat([batch.read(batch.rows) for batch in batches])
    traces = [batch.read(batch.traces) for batch in batches if batch.keeps_traces()]
    return Outcome(
        runs=pl.DataFrame([json.loads(row) for row in stored["row"]], infer_schema_length=None),
        traces=pl.concat(traces, how="diagonal") if traces else pl.DataFrame(),
        packets=int(stored["packets"].sum()),
        cpu_s=float(stored["cpu_s"].sum()),
        warnings=list(dict.fromkeys(stored["warnings"].explode().drop_nulls())),
    )


def _plain(value: object) -> object:
    """A NumPy scalar as Python's own."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"a measure must be text or a number, not {type(value).__name__}")
