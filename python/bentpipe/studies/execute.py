"""Runs the cases of a study on all cores and collects one row of measures per run."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import polars as pl

from bentpipe import _core
from bentpipe.studies.study import Case, Outcome, Plan, Study

if TYPE_CHECKING:
    from bentpipe._core import RawResult

#: Runs handed to the simulator at once: enough to keep many cores busy, few enough to bound memory.
BATCH = 64


def execute(study: Study, plan: Plan, progress: Callable[[int, int], None] | None = None) -> Outcome:
    """Run every case of ``plan``; ``progress(done, total)`` is called as runs finish."""
    started = time.monotonic()
    total = len(plan.cases)
    rows: list[dict[str, object]] = []
    traces: list[pl.DataFrame] = []
    packets = 0
    warnings: dict[str, None] = {}
    for first, batch in _batches(plan.cases):

        def advance(done: int, first: int = first) -> None:
            if progress is not None:
                progress(first + done, total)

        scenarios = [json.dumps(case.scenario) for case in batch]
        for case, raw in zip(batch, _core.run_many(scenarios, progress=advance), strict=True):
            result = json.loads(raw.json)
            trace = trace_frame(raw) if case.scenario.get("record") else None
            rows.append({**case.keys, **study.measure(case, result, trace)})
            packets += int(result["packets"])
            warnings.update(dict.fromkeys(result["warnings"]))
            if case.keep_trace and trace is not None:
                traces.append(trace.with_columns(**{k: pl.lit(v) for k, v in case.keys.items()}))
    if progress is not None:
        progress(total, total)
    return Outcome(
        runs=pl.DataFrame(rows, infer_schema_length=None),
        traces=pl.concat(traces) if traces else pl.DataFrame(),
        packets=packets,
        wall_s=time.monotonic() - started,
        warnings=list(warnings),
    )


def trace_frame(raw: RawResult) -> pl.DataFrame:
    """The trace of a run as a frame, with the flow's name in place of its index."""
    columns = dict(raw.trace())
    names = pl.Series(list(raw.flow_names), dtype=pl.String)
    index = pl.Series(columns.pop("flow")).cast(pl.UInt32)
    return pl.DataFrame(columns).with_columns(names.gather(index).alias("flow"))


def _batches(cases: Sequence[Case]) -> Iterator[tuple[int, Sequence[Case]]]:
    for first in range(0, len(cases), BATCH):
        yield first, cases[first : first + BATCH]
