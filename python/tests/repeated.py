"""A small run of a study, and its runs a second time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import polars as pl
from forms import form

from bentpipe import studies
from bentpipe.studies.claim import Verdict
from bentpipe.studies.study import Study, StudyPlan, StudyResult
from bentpipe.sweeps.lab import Lab

EVERY = form(4, 1)


def small_run(
    name: str, plan: StudyPlan, place: Path, ids: Sequence[str], drawn: int
) -> tuple[StudyResult, pl.DataFrame]:
    """Runs a plan of a study; checks what the results of all studies have. The result and its runs."""
    seen = []
    result = studies.run_plan(studies.get(name), plan, place, lambda *at: seen.append(at))
    assert seen == sorted(seen) and seen[-1] == (len(plan.cases), len(plan.cases))
    assert [claim["id"] for claim in result.claims] == list(ids)
    for claim in result.claims:
        assert claim["verdict"] in set(map(str, Verdict)) and claim["note"]
        assert claim["ci95"][0] <= claim["measured"] <= claim["ci95"][1]
    runs = pl.read_parquet(place / "runs.parquet")
    assert runs.height == len(plan.cases)
    assert result.page.read_text(encoding="utf-8").count("data:image/svg+xml") == drawn
    return result, runs


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
