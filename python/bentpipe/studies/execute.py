"""Results of the runs of a stored batch, once all of them are over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from bentpipe.studies.study import Case, Key
from bentpipe.sweeps.execution import Ran


@dataclass
class Measured:
    """A batch that is done: one row, one count of packets and one list of warnings per run."""

    rows: list[dict[str, Key]]
    packets: list[int]
    warnings: list[list[str]]
    #: Processor time, s.
    cpu_s: list[float]
    #: The traces that are kept, with the keys of their cases; None if there are none.
    traces: pl.DataFrame | None


def measured(cases: Sequence[Case], runs: Sequence[Ran]) -> Measured:
    """Some runs, all without an error, in the order of their cases."""
    reports = [ran.result for ran in runs]
    traces = [
        ran.trace.with_columns(**{k: pl.lit(v) for k, v in case.keys.items()})
        for case, ran in zip(cases, runs, strict=True)
        if ran.trace is not None
    ]
    return Measured(
        rows=[{**case.keys, **ran.measures} for case, ran in zip(cases, runs, strict=True)],
        packets=[int(report["packets"]) for report in reports],
        warnings=[report["warnings"] for report in reports],
        cpu_s=[ran.cpu_s for ran in runs],
        traces=pl.concat(traces, how="diagonal") if traces else None,
    )
