"""Measures of runs, taken as the runs are over and kept on disk, so that an interrupted job goes on.

    DIR/rows/*.parquet      a row for each run: its key, its measures as JSON, its cost and its warnings
    DIR/traces/*.parquet    the traces that are kept
    DIR/parts/*.json        the files that belong together (store.py)

A run is stored under a hash of all inputs of its measures, the code that measures included. So a stored row
is used only for the run that would give the same row again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from bentpipe.sweeps.case import Case
from bentpipe.sweeps.execution import Ran
from bentpipe.sweeps.store import Over, Store, read_table

if TYPE_CHECKING:
    import polars as pl

FOLDER = ".runs"
"""The folder of the runs, in the folder of the results."""
ROWS, TRACES = "rows", "traces"
#: Runs of a part: the most that a kill or a damaged file costs, for about a second of work.
PART = 32

Row = Mapping[str, Any]
"""Measures of a run: text, numbers, and lists and objects of them."""


class Kept(Store):
    """The rows of runs in a folder, and traces.

    Args:
        folder: made if it is not there.
        fresh: forget the runs that are there.

    Attributes:
        wanted: the keys that were asked for.
    """

    def __init__(self, folder: Path, *, fresh: bool = False) -> None:
        super().__init__(folder, (ROWS, TRACES), many=PART, most=PART, fresh=fresh)
        self.wanted: set[str] = set()
        self._rows: dict[str, Row] | None = None

    def __enter__(self) -> Self:
        """As of any store; runs in the earlier layout, files beside the folders of today, are removed."""
        super().__enter__()
        old = [path for path in self.folder.iterdir() if path.suffix in (".parquet", ".json")]
        for path in [*old, self.folder.with_name(f"{self.folder.name}.lock")]:
            path.unlink(missing_ok=True)
        if old and not self._fresh:
            self.warnings = [
                f"{self.folder} held runs of an earlier version; they are repeated",
                *self.warnings,
            ]
        return self

    @property
    def rows(self) -> Mapping[str, Row]:
        """The rows by their keys; read from the disk when they are asked for first.

        Raises:
            ScenarioError: a file has been damaged meanwhile.
        """
        if self._rows is None:
            stored = read_table(self.folder, ROWS)
            pairs = () if stored is None else zip(stored["run"], stored["row"], strict=True)
            self._rows = {key: json.loads(row) for key, row in pairs}
            self._rows |= {key: ran.measures for key, _, ran in self._waiting}
        return self._rows

    def has(self, key: str) -> bool:
        """Whether a run is there; it is wanted."""
        self.wanted.add(key)
        return super().has(key)

    def take(self, key: str, case: Case, ran: Ran) -> None:
        """Takes a run, whose row is its `measures`; its trace is kept if it has one."""
        if self._rows is not None:
            self._rows[key] = ran.measures
        super().take(key, case, ran)

    def prune(self) -> None:
        """Removes the runs that are not `wanted`: of other code or cases.

        Raises:
            OSError: what is left cannot be written.
        """
        for part in list(self.parts):
            kept = [run for run in part.runs if run.key in self.wanted]
            if len(kept) < len(part.runs):
                self.rewrite([part], kept, partial(_of, [run.key for run in kept]))
        self.done &= self.wanted

    def frames(self, over: Sequence[Over]) -> Mapping[str, pl.DataFrame]:
        """The rows, whose types follow from all rows of a study, and so stay text; and the traces."""
        import polars as pl

        results = [ran.result for *_, ran in over]
        rows = pl.DataFrame(
            {
                "run": [key for key, *_ in over],
                "row": [json.dumps(ran.measures, default=_plain) for *_, ran in over],
                "packets": [int(result["packets"]) for result in results],
                "warnings": [result["warnings"] for result in results],
                "cpu_s": [ran.cpu_s for *_, ran in over],
            },
            schema_overrides={"warnings": pl.List(pl.String)},
        )
        traces = [ran.trace.with_columns(run=pl.lit(key)) for key, _, ran in over if ran.trace is not None]
        return {ROWS: rows} | ({TRACES: pl.concat(traces, how="diagonal")} if traces else {})


def _of(keys: Sequence[str], rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(rows["run"].is_in(keys))


def _plain(value: object) -> object:
    """A NumPy scalar as Python's own."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"a measure must be text or a number, not {type(value).__name__}")
