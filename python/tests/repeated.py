"""A study's runs a second time."""

from __future__ import annotations

import json

import polars as pl
from forms import form

from bentpipe.studies.study import Study, StudyPlan
from bentpipe.sweeps.engine import work_off

EVERY = form(4, 1)


def same_again(study: Study, plan: StudyPlan, runs: pl.DataFrame) -> bool:
    """Do `runs` have what is run and measured anew, in this process and without drawing anything?

    The quick form repeats every fourth run.
    """
    cases = plan.cases[::EVERY]
    rows = [{} for _ in cases]
    for some in work_off(cases, range(len(cases)), measure=study.measure, keep_raw=True):
        for ran in some:
            rows[ran.number] = json.loads(json.dumps({**cases[ran.number].keys, **ran.measures}))
    assert {name for row in rows for name in row} <= set(runs.columns)
    return pl.DataFrame(rows, schema=runs.schema).equals(runs.gather_every(EVERY))
