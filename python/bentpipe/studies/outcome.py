"""The outcome of a study from its runs: those stored on disk, or those in hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from bentpipe.studies.study import Case, Outcome, Study
from bentpipe.sweeps.execution import Ran
from bentpipe.sweeps.fingerprint import Fingerprints, code_version
from bentpipe.sweeps.kept import ROWS, TRACES
from bentpipe.sweeps.store import read_table


def keys_of(study: Study, cases: Sequence[Case]) -> list[str]:
    """The keys under which the measures of cases are stored."""
    code, fingerprints = code_version(study.measure), Fingerprints()
    return [fingerprints.case(case, code) for case in cases]


def row_of(case: Case, ran: Ran) -> dict[str, Any]:
    """The row of a run: the keys of its case, and its measures."""
    return {**case.keys, **ran.measures}


def gather(folder: Path, cases: Sequence[Case], keys: Sequence[str]) -> Outcome:
    """The outcome of stored runs.

    Raises:
        ScenarioError: a file is damaged.
        KeyError: a run is not there.
    """
    stored = read_table(folder, ROWS)
    rows = {} if stored is None else {row["run"]: row for row in stored.iter_rows(named=True)}
    kept = read_table(folder, TRACES)
    traces = {} if kept is None else kept.partition_by("run", as_dict=True, maintain_order=True)
    mine = [rows[key] for key in keys]
    return _outcome(
        cases,
        [json.loads(row["row"]) for row in mine],
        [None if (trace := traces.get((key,))) is None else trace.drop("run") for key in keys],
        mine,
    )


def outcome_of(cases: Sequence[Case], runs: Sequence[Ran]) -> Outcome:
    """The outcome of runs in memory, all without an error, in the order of their cases."""
    about = [{**ran.result, "cpu_s": ran.cpu_s} for ran in runs]
    rows = [row_of(case, ran) for case, ran in zip(cases, runs, strict=True)]
    return _outcome(cases, rows, [ran.trace for ran in runs], about)


def _outcome(
    cases: Sequence[Case],
    rows: Sequence[dict[str, Any]],
    traces: Sequence[pl.DataFrame | None],
    about: Sequence[Mapping[str, Any]],
) -> Outcome:
    named = [
        trace.with_columns(**{k: pl.lit(v) for k, v in case.keys.items()})
        for case, trace in zip(cases, traces, strict=True)
        if trace is not None
    ]
    return Outcome(
        runs=pl.DataFrame(rows, infer_schema_length=None),
        traces=pl.concat(named, how="diagonal") if named else pl.DataFrame(),
        packets=sum(int(one["packets"]) for one in about),
        cpu_s=sum(one["cpu_s"] for one in about),
        warnings=list(dict.fromkeys(text for one in about for text in one["warnings"])),
    )
