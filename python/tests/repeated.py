"""A study's runs a second time."""

from __future__ import annotations

import json
from itertools import chain

import polars as pl
from forms import form

from bentpipe.studies.study import Study, StudyPlan
from bentpipe.sweeps.lab import Lab

EVERY = form(4, 1)


def same_again(study: Study, plan: StudyPlan, runs: pl.DataFrame) -> bool:
    """Do `runs` have what is run and measured anew, in this process and without drawing anything?

    The quick form repeats every fourth run.
    """
    cases = plan.cases[::EVERY]
    rows = [{} for _ in cases]
    with Lab(near=True) as lab:
        for ran in chain.from_iterable(lab.each(cases, far=study.measure)):
            rows[ran.number] = json.loads(json.dumps({**cases[ran.number].keys, **ran.measures}))
    assert {name for row in rows for name in row} <= set(runs.columns)
    return pl.DataFrame(rows, schema=runs.schema).equals(runs.gather_every(EVERY))
