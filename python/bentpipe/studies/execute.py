"""Runs a batch of a study's cases and measures each run."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from bentpipe import _core
from bentpipe.studies.study import Case, Key, Study
from bentpipe.sweeps.execution import trace_frame


@dataclass
class Measured:
    """A batch that is done: one row, one count of packets and one list of warnings per run."""

    rows: list[dict[str, Key]]
    packets: list[int]
    warnings: list[list[str]]
    #: The traces that are kept, with the keys of their cases; None if there are none.
    traces: pl.DataFrame | None
    #: Processor time of the whole batch, s.
    cpu_s: float


def measure(study: Study, cases: Sequence[Case], advance: Callable[[int], None]) -> Measured:
    """Runs the cases on one core; ``advance(done)`` is called as runs finish.

    What comes out depends on the cases alone, not on what runs beside them.
    """
    began = time.process_time()
    done = Measured([], [], [], None, 0.0)
    traces: list[pl.DataFrame] = []
    for number, case in enumerate(cases):
        raw = _core.run(json.dumps(case.scenario))
        advance(number)
        result = json.loads(raw.json)
        trace = trace_frame(raw) if case.scenario.get("record") else None
        done.rows.append({**case.keys, **study.measure(case, result, trace)})
        done.packets.append(int(result["packets"]))
        done.warnings.append(result["warnings"])
        if case.keep_trace and trace is not None:
            traces.append(trace.with_columns(**{k: pl.lit(v) for k, v in case.keys.items()}))
    done.traces = pl.concat(traces) if traces else None
    done.cpu_s = time.process_time() - began
    return done
