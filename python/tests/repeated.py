"""A study's runs a second time."""

from __future__ import annotations

import json

import polars as pl

from bentpipe.studies.study import Plan, Study
from bentpipe.sweeps.engine import work_off


def measured_again(study: Study, plan: Plan) -> pl.DataFrame:
    """What runs.parquet must have, run and measured anew: in this process, and without drawing anything."""
    rows = [{} for _ in plan.cases]
    for some in work_off(plan.cases, range(len(plan.cases)), measure=study.measure, keep_raw=True):
        for ran in some:
            rows[ran.number] = json.loads(json.dumps({**plan.cases[ran.number].keys, **ran.measures}))
    return pl.DataFrame(rows, infer_schema_length=None)
