"""The tables of many runs, for reports and figures: those of a sweep, or of several results combined."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from bentpipe._core import ScenarioError
from bentpipe.result import Result, nested, read_about
from bentpipe.sweeps import dataset
from bentpipe.sweeps.engine import Runs
from bentpipe.units import seconds

_TABLES = ("flows", "links", "traces", "failed", "link_traces", "transfers")
"""The tables of `Stored`."""


@dataclass(frozen=True)
class Stored:
    """The tables of runs, each row with the keys of its run, `run` and `seed` in front.

    `about` is the description in the dataset, and `places` its directories. `results` has the runs that
    were stored one by one. If `apart`, their directories are different things to compare, like algorithms.
    """

    places: Sequence[Path]
    flows: pl.DataFrame
    links: pl.DataFrame
    traces: pl.DataFrame
    failed: pl.DataFrame
    about: dict[str, Any] = field(default_factory=dict)
    results: dict[int, Result] = field(default_factory=dict)
    apart: bool = False
    link_traces: pl.DataFrame = field(default_factory=pl.DataFrame)
    transfers: pl.DataFrame = field(default_factory=pl.DataFrame)

    @property
    def keys(self) -> list[str]:
        """The columns that name a run: those before `run`."""
        columns = self.flows.columns if self.flows.width else self.failed.columns
        return columns[: columns.index("run")] if "run" in columns else []

    @property
    def parts(self) -> list[dict[str, Any]]:
        """The description in each place."""
        parts: list[dict[str, Any]] = self.about.get("parts", [self.about])
        return parts

    def result(self, run: int) -> Result:
        """A run with its scenario and what it recorded, as far as the tables have it."""
        if run in self.results:
            return self.results[run]
        flows, links, *recorded = (
            _own_names(frame.filter(run=run)) if frame.width else pl.DataFrame()
            for frame in (self.flows, self.links, self.traces, self.link_traces, self.transfers)
        )
        of = [part for part in self.parts if part.get("first_run", 0) <= run][-1]
        scenario = dataset.scenario_of(of, run - of.get("first_run", 0))
        seed = int(self.flows.filter(run=run)["seed"][0])
        about = {
            "seed": seed,
            "simulated_s": seconds(str(scenario.get("duration", "0 s")), "duration"),
            "flows": [nested(row) for row in flows.to_dicts()],
            "links": links.to_dicts(),
            "warnings": [],
        }
        names = ("trace", "link_trace", "transfers")
        return Result.of_tables(scenario, about, dict(zip(names, recorded, strict=True)))


ManyGiven = Runs | Stored | pl.DataFrame | Result | str | Path | Sequence["Result | str | Path"]
"""A sweep's directory, its runs or its flows as a frame; or results, or the directories that hold them.

A frame has a row per flow and run, as `Runs.flows` and `DIR/flows/*.parquet` have it: the columns before
`run` are the keys.
"""


def tables(given: ManyGiven) -> Stored:
    """The input of the figures of many runs, as tables.

    Raises:
        ScenarioError: it is none of these, a place has no runs, or is no dataset and no result.
        OSError: something cannot be read.
    """
    match given:
        case Stored():
            return given
        case Runs():
            return Stored([], given.flows, given.links, given.traces, given.failed, transfers=given.transfers)
        case pl.DataFrame():
            return Stored([], given, pl.DataFrame(), pl.DataFrame(), pl.DataFrame())
        case Result():
            return _of_result(given)
        case str() | Path():
            return read([Path(given)])
        case [Result(), *_] if all(isinstance(one, Result) for one in given):
            return _joined([_of_result(one) for one in given if isinstance(one, Result)])
        case [str() | Path(), *_] if all(isinstance(one, str | Path) for one in given):
            return read([Path(one) for one in given if isinstance(one, str | Path)])
    raise ScenarioError(
        "a figure of many runs is drawn of a sweep (its directory, its runs or its flows as a polars frame) "
        f"or of results, not of {type(given).__name__}"
    )


def read(places: Sequence[Path]) -> Stored:
    """Reads datasets of sweeps and directories of results.

    Raises:
        ScenarioError: a place is neither, or all are empty.
        OSError: something cannot be read.
    """
    if not places:
        raise ScenarioError("a report needs a directory: a sweep's, or one of `bentpipe run --out`")
    found = [_read(place) for place in places]
    if len(found) > 1:
        found = [_named(one, place, places) for one, place in zip(found, places, strict=True)]
    whole = found[0] if len(found) == 1 else _joined(found)
    if not whole.flows.height and not whole.failed.height:
        names = ", ".join(map(str, places))
        if whole.results:
            raise ScenarioError(
                f"{names}: an emulation has no flows of its own to report; "
                f"bentpipe plot queue {names} -o queue.svg draws its link"
            )
        raise ScenarioError(f"{names}: there is no run yet")
    return whole


def _read(place: Path) -> Stored:
    if (place / "sweep.json").is_file():
        runs = dataset.read(place)
        whole: dict[str, Any] = {name: getattr(runs, name) for name in _TABLES}
        return Stored([place], about=dataset.about(place), **whole)
    if (place / "run.json").is_file():
        return _of_result(Result.load(place), place)
    if not place.exists():
        raise ScenarioError(f"{place}: there is no such directory")
    raise ScenarioError(
        f"{place} is no dataset of `bentpipe sweep --out` and no result of `bentpipe run --out`: "
        "it has neither sweep.json nor run.json"
    )


def _of_result(result: Result, place: Path | None = None) -> Stored:
    """One run; `directory`, its place, is its last column."""
    where = [] if place is None else [pl.lit(place.resolve().name).alias("directory")]
    seed = pl.lit(result.json["seed"], dtype=pl.UInt64).alias("seed")
    number = pl.lit(0, dtype=pl.UInt64).alias("run")

    def named(frame: pl.DataFrame) -> pl.DataFrame:
        return frame.select(number, seed, pl.all(), *where) if frame.width else frame

    def recorded(frame: pl.DataFrame) -> pl.DataFrame:
        return named(frame.with_columns(pl.col(pl.Enum, pl.Categorical).cast(pl.String)))

    about = {
        "scenario": result.scenario,
        "warnings": result.json["warnings"],
        "version": read_about(place)["version"] if place else "",
    }
    return Stored(
        [place] if place else [],
        named(result.flows),
        named(result.links),
        recorded(result.trace),
        pl.DataFrame(),
        about,
        {0: result},
        link_traces=recorded(result.link_trace),
        transfers=recorded(result.transfers),
    )


def _own_names(frame: pl.DataFrame) -> pl.DataFrame:
    """The columns of a result under their own names, where a key is called like them."""
    given = {name: name.removeprefix("result_") for name in frame.columns if name.startswith("result_")}
    return frame.drop(given.values()).rename(given)


def _named(one: Stored, place: Path, places: Sequence[Path]) -> Stored:
    """The same with the directory as a key in front: its name if that distinguishes it from the others."""
    alike = sum(other.resolve().name == place.resolve().name for other in places) > 1
    name = pl.lit(str(place) if alike else place.resolve().name).alias("directory")

    def named(frame: pl.DataFrame) -> pl.DataFrame:
        return frame.select(name, pl.all().exclude("directory")) if frame.height else pl.DataFrame()

    tables: dict[str, Any] = {table: named(getattr(one, table)) for table in _TABLES}
    return replace(one, **tables)


def _joined(found: Sequence[Stored]) -> Stored:
    """Several as one; their runs are renumbered, and a key that one lacks is empty there."""
    numbered: list[list[pl.DataFrame]] = []
    results: dict[int, Result] = {}
    first, firsts = 0, []
    for one in found:
        runs = [frame["run"].max() for frame in (one.flows, one.failed) if frame.height]
        frames = [
            frame.with_columns(pl.col("run") + first) if frame.height else frame
            for frame in (getattr(one, table) for table in _TABLES)
        ]
        numbered.append(frames)
        firsts.append(first)
        results |= {first + run: result for run, result in one.results.items()}
        first += 1 + max((int(str(run)) for run in runs), default=-1)
    keys = list(dict.fromkeys(key for one in found for key in one.keys))

    def table(nth: int) -> pl.DataFrame:
        frames = [frames[nth] for frames in numbered if frames[nth].height]
        if not frames:
            return pl.DataFrame()
        whole = pl.concat(frames, how="diagonal_relaxed")
        there = [key for key in keys if key in whole.columns]
        return whole.select(*there, pl.all().exclude(there))

    tables: dict[str, Any] = {name: table(nth) for nth, name in enumerate(_TABLES)}
    places = [place for one in found for place in one.places]
    about = {"parts": [{**one.about, "first_run": n} for one, n in zip(found, firsts, strict=True)]}
    alone = all(one.results for one in found)
    if alone and _alike([one.about["scenario"] for one in found]):
        # The algorithms and the seeds make the names of the directories redundant: they are no key.
        last = [pl.col("^directory$")]
        tables = {name: frame.select(pl.all().exclude("directory"), *last) for name, frame in tables.items()}
        alone = False
    return Stored(places, about=about, results=results, apart=alone, **tables)


def _alike(scenarios: Sequence[dict[str, Any]]) -> bool:
    """Whether they differ only in seeds and the algorithms of flows, each with the same parameters."""
    rest: set[str] = set()
    parameters: dict[str, set[str]] = {}
    for scenario in scenarios:
        flows = scenario.get("flow", [])
        # An algorithm brings its requirements on the sender.
        plain = [{key: flow.get(key) for key in ("path", "traffic", "count", "start")} for flow in flows]
        others = {key: value for key, value in scenario.items() if key not in ("seed", "flow", "title")}
        rest.add(json.dumps([plain, others], sort_keys=True))
        for flow in flows:
            cc = flow.get("cc")
            name = cc.get("name") if isinstance(cc, dict) else cc
            parameters.setdefault(str(name), set()).add(json.dumps(flow, sort_keys=True))
    return len(rest) == 1 and all(len(found) == 1 for found in parameters.values())
