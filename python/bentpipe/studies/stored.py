"""The runs that ship with the package: rows and parts of traces that the figures and tables of papers need.

So `bentpipe study show` draws each at once. `make reproducing` writes them, from a full run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from polars import selectors

from bentpipe import _core
from bentpipe.io.files import replace_text
from bentpipe.studies.combinations import assembly
from bentpipe.studies.design import Design
from bentpipe.studies.job import gather, keys_of, runs_of
from bentpipe.studies.places import Place
from bentpipe.studies.study import Case, Study, StudyPlan

#: Their folder: of each study NAME.parquet, NAME-traces.parquet and NAME.json.
FOLDER = Path(__file__).with_name("stored")
MODE = "full"


@dataclass(frozen=True)
class ShippedRuns:
    """The runs of a place: all rows that it needs, and traces."""

    plan: StudyPlan
    runs: pl.DataFrame
    traces: pl.DataFrame
    #: The version of Bentpipe that made them.
    version: str


def write(study: Study, place: Path, folder: Path = FOLDER) -> list[Path]:
    """Write the runs that the figures and tables of a paper need, from the full run in the folder ``place``.

    Raises:
        ScenarioError: a file of the run is damaged.
        KeyError: a run is not there, or is one of other code.
    """
    plan, places = plan_of(study), [of for of in study.places() if of.given]
    cases = [case for case in plan.cases if any(of.uses(case.keys) for of in places)]
    outcome = gather(runs_of(place, plan), cases, keys_of(study, cases))
    about = {"version": _core.__version__, "cases": {of.name: digest(_cases(plan, of)) for of in places}}
    keys = set(plan.cases[0].keys)
    traces = assembly(study).drawn(outcome.traces) if outcome.traces.height else outcome.traces
    frames = {"": outcome.runs, "-traces": traces}
    files = [folder / f"{study.name}{end}.parquet" for end in frames]
    folder.mkdir(exist_ok=True)
    for file, frame in zip(files, frames.values(), strict=True):
        # A figure shows no more than the seven digits of a single.
        short = frame.with_columns(selectors.float().exclude(*keys, "t_s").cast(pl.Float32))
        short.write_parquet(file, compression="zstd", compression_level=22, statistics=False)
    replace_text(words := folder / f"{study.name}.json", json.dumps(about, indent=1) + "\n")
    return [*files, words]


def read(study: Study, place: Place, folder: Path = FOLDER) -> ShippedRuns | None:
    """The stored runs of a figure or table; None if there are none, or the paper's set-up is another now."""
    try:
        about = json.loads((folder / f"{study.name}.json").read_text(encoding="utf-8"))
        frames = [pl.read_parquet(folder / f"{study.name}{end}.parquet") for end in ("", "-traces")]
    except OSError:
        return None
    plan = plan_of(study)
    if about["cases"].get(place.name) != digest(_cases(plan, place)):
        return None
    runs, traces = (frame.with_columns(selectors.float().cast(pl.Float64)) for frame in frames)
    if place.needs is not None:
        runs = runs.filter([place.uses(keys) for keys in runs.iter_rows(named=True)])
    return ShippedRuns(plan, runs, traces, about["version"])


def plan_of(study: Study) -> StudyPlan:
    """The full plan of a paper without the readings and the choices that no figure shows."""
    design: Design[Any, Any] = assembly(study).design
    shown = [of for of in study.places() if of.given]
    variants = [v for v in design.variants if any(of.shows_variant(v.name) for of in shown)]
    return design.plan_of(MODE, design.sizes[MODE], variants)


def digest(cases: Iterable[Case]) -> str:
    """A hash of the scenarios of some runs, and of what their measures depend on beside these."""
    found = hashlib.sha256()
    for case in cases:
        found.update(
            json.dumps([dict(case.keys), case.scenario, dict(case.settings)], sort_keys=True).encode()
        )
    return found.hexdigest()[:16]


def _cases(plan: StudyPlan, place: Place) -> list[Case]:
    return [case for case in plan.cases if place.uses(case.keys)]
