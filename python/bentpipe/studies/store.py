"""Finished batches of a study on disk, so that a run that was interrupted goes on where it was.

A batch is a fixed number of consecutive cases. It is named by a hash of its cases and of the code that
measures them (`bentpipe.studies.sources`), so a file is used for just the runs that would give its contents
again. It appears complete or not at all: it is written under another name and renamed, the traces before the
rows.
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

from bentpipe.files import replace_frame
from bentpipe.studies.execute import Measured
from bentpipe.studies.sources import code_version
from bentpipe.studies.study import Case, Outcome, Plan, Study

#: Runs in a batch: what is lost at most, for each core, by an interruption.
BATCH = 32
#: What polars raises for a damaged file; it panics on some.
UNREADABLE = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
#: The folder of the batches, in the folder of a study's page.
FOLDER = ".runs"


@dataclass(frozen=True)
class Batch:
    """Some consecutive cases of a plan, and the file of their rows."""

    cases: Sequence[Case]
    rows: Path

    @property
    def traces(self) -> Path:
        """The file of the traces that are kept; absent if the cases keep none."""
        return self.rows.with_suffix(".traces.parquet")

    def finished(self) -> bool:
        """Whether the batch is on disk and can be read."""
        files = [self.rows, *([self.traces] if self.keeps_traces() else [])]
        try:
            return all(pl.read_parquet_schema(path) for path in files)
        except (OSError, *UNREADABLE):
            return False

    def keeps_traces(self) -> bool:
        """Whether the traces of any case are kept."""
        return any(case.keep_trace for case in self.cases)

    def read(self, path: Path) -> pl.DataFrame:
        """One of its two files, finished.

        Raises:
            RuntimeError: the file is damaged; the batch is removed.
        """
        try:
            return pl.read_parquet(path)
        except UNREADABLE:
            self.rows.unlink(missing_ok=True)
            raise RuntimeError(
                f"{path} is damaged and was removed; the same command repeats its runs"
            ) from None

    def cpu_s(self) -> float:
        """Processor time that the finished batch took, s."""
        return float(pl.read_parquet(self.rows, columns=["cpu_s"])["cpu_s"].sum())

    def write(self, done: Measured) -> None:
        """Writes a batch that is done."""
        if done.traces is not None:
            replace_frame(self.traces, done.traces)
        # The types of a column follow from all rows of a study; until all are there a row stays text.
        rows = pl.DataFrame(
            {
                "row": [json.dumps(row, default=_plain) for row in done.rows],
                "packets": done.packets,
                "warnings": done.warnings,
                "cpu_s": [done.cpu_s / len(done.rows)] * len(done.rows),
            },
            schema_overrides={"warnings": pl.List(pl.String)},
        )
        replace_frame(self.rows, rows)


class Store:
    """The batches of a plan in ``place/.runs/MODE``; as a context, no other run uses the folder meanwhile."""

    def __init__(self, study: Study, plan: Plan, place: Path) -> None:
        self.folder = place / FOLDER / plan.mode
        self._lock: IO[bytes] | None = None
        code = code_version(study)
        self.batches = []
        for first in range(0, len(plan.cases), BATCH):
            cases = plan.cases[first : first + BATCH]
            text = json.dumps([[dict(c.keys), c.scenario, c.keep_trace] for c in cases])
            key = hashlib.sha256(f"{code} {text}".encode()).hexdigest()[:32]
            self.batches.append(Batch(cases, self.folder / f"{key}.parquet"))

    def __enter__(self) -> Self:
        """Raises RuntimeError if another run uses the folder, OSError if it cannot be made."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = (self.folder.parent / f"{self.folder.name}.lock").open("wb")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise RuntimeError(f"another run is writing to {self.folder.parent.parent}") from None
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
        """Removes what this plan cannot use: batches of other code or cases, and files half written."""
        kept = {path for batch in self.batches for path in (batch.rows, batch.traces)}
        for path in self.folder.iterdir():
            if path not in kept:
                path.unlink()

    def unfinished(self) -> list[int]:
        """The numbers of the batches that are still to be run."""
        return [i for i, batch in enumerate(self.batches) if not batch.finished()]


def gather(batches: Iterable[Batch]) -> Outcome:
    """The outcome of finished batches."""
    batches = list(batches)
    stored = pl.concat([batch.read(batch.rows) for batch in batches])
    traces = [batch.read(batch.traces) for batch in batches if batch.keeps_traces()]
    return Outcome(
        runs=pl.DataFrame([json.loads(row) for row in stored["row"]], infer_schema_length=None),
        traces=pl.concat(traces) if traces else pl.DataFrame(),
        packets=int(stored["packets"].sum()),
        cpu_s=float(stored["cpu_s"].sum()),
        warnings=list(dict.fromkeys(stored["warnings"].explode().drop_nulls())),
    )


def _plain(value: object) -> object:
    """A NumPy scalar as Python's own."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"a measure must be text or a number, not {type(value).__name__}")
