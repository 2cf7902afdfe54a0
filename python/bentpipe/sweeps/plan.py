"""The runs of a sweep: every point of its grid with every seed, each built on demand."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np

from bentpipe import _core
from bentpipe._core import ScenarioError
from bentpipe.controller import only_named
from bentpipe.document.plain import toml
from bentpipe.document.source import CC, Source
from bentpipe.scenario import Scenario
from bentpipe.sweeps.case import Case, Key
from bentpipe.sweeps.engine import Types
from bentpipe.sweeps.fingerprint import Fingerprints, run_key, simulator_hash
from bentpipe.sweeps.vary import (
    Column,
    SweepAxis,
    axes,
    axis_of_text,
    chosen,
    column,
    value_at,
    words,
)

MOST_RUNS = 100_000_000
"""Runs of one sweep."""
#: This number of points is kept as text; more are built again for each of their runs.
_KEPT = 20_000
_SEEDS = "write seeds = 5 above the first table"

Given = Scenario | Mapping[str, Any] | str | Path
"""A scenario, its table (which may have `vary` and `seeds`), or an argument of `Source`."""


class Plan(Sequence[Case]):
    """A case for each run. Run n is point n modulo `points`, with the seed number n divided by `points`.

    So the runs of the first seed come first, and more seeds only add runs.

    Args:
        given: the scenario.
        vary: axes beside those of the scenario, a table like `[vary]` or texts "KEY=VALUES"; a key of theirs
            replaces that of the scenario.
        seeds: how many, from the scenario's own on; or a list of them. By default those of the scenario.
        overrides: pairs of a key and its value as TOML, as `--set` has them.
        traces: keep the traces that the scenario records.

    Raises:
        ScenarioError: the scenario or a value is wrong; the message names the file and the key.
    """

    def __init__(
        self,
        given: Given,
        vary: Mapping[str, Any] | Sequence[str] = (),
        seeds: int | Sequence[int] | None = None,
        *,
        overrides: Sequence[tuple[str, str]] = (),
        traces: bool = False,
    ) -> None:
        self._source = Source(given.to_dict() if isinstance(given, Scenario) else given)
        self._controllers = self._source.controllers
        if isinstance(given, Scenario):
            self._controllers.update(given.controllers())  # type: ignore[arg-type]
        self._raw = self._source.raw()
        self.axes = self._axes(vary, [key for key, _ in overrides])
        self._overrides = [self._source.override(*pair) for pair in overrides]
        self.traces = traces
        self.points = math.prod(len(axis.rows) for axis in self.axes)
        #: Each axis, each point of it, as overrides.
        self._settings = [[self._setting(axis, row) for row in axis.rows] for axis in self.axes]
        self._keys, self.columns = self._checked()
        first = self._scenario(0)
        self.title: str = first.get("title") or ""
        self.scenario = first
        self.seeds = self._seeds(seeds, int(first["seed"]))
        if traces and not first.get("record"):
            raise ScenarioError(
                f"{self._source.name}: --traces needs a scenario that records: "
                "add --set 'record.interval=\"100 ms\"'"
            )
        self._texts: dict[int, str] = {}
        self.fingerprints = Fingerprints(self._controllers)
        #: The hash of each point.
        self.names = [self._name(point) for point in range(self.points)]

    def __len__(self) -> int:
        return self.points * len(self.seeds)

    @overload
    def __getitem__(self, number: int) -> Case: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Case]: ...
    def __getitem__(self, number: int | slice) -> Case | Sequence[Case]:
        if isinstance(number, slice):
            return [self[n] for n in range(*number.indices(len(self)))]
        if not 0 <= number < len(self):
            raise IndexError(number)
        nth, point = divmod(number, self.points)
        scenario = {**self._again(point), "seed": self.seeds[nth]}
        text = json.dumps(scenario["flow"])
        used = {name: cls for name, cls in self._controllers.items() if f'"python:{name}"' in text}
        return Case(self.keys(point), scenario, self.traces, controllers=used)

    def at(self, text: str) -> Scenario:
        """The scenario of one run, that of the point "cc=cubic, loss=1e-5" and the first seed.

        Raises:
            ScenarioError: there is no such point.
        """
        indices, sizes = chosen(self.axes, text), [len(axis.rows) for axis in self.axes]
        case = self[int(np.ravel_multi_index(indices, sizes)) if sizes else 0]
        return Scenario.from_dict(case.scenario, case.controllers)

    def keys(self, point: int) -> dict[str, Key]:
        """The columns of a point."""
        return {
            name: value
            for axis, at in zip(self._keys, self._indices(point), strict=True)
            for name, value in axis[at].items()
        }

    @property
    def types(self) -> Types:
        """The type of each column."""
        return {found.name: found.type for found in self.columns}

    def run_key(self, number: int) -> str:
        """The key of a run on disk."""
        nth, point = divmod(number, self.points)
        return run_key(self.names[point], self.seeds[nth])

    def named(self, number: int) -> tuple[Mapping[str, Key], int, int]:
        """The columns that name a run, its number and its seed."""
        nth, point = divmod(number, self.points)
        return self.keys(point), number, self.seeds[nth]

    def take_over(self, keys: Iterable[str]) -> dict[str, int]:
        """The numbers of runs that are on disk, by their keys; none for those of other scenarios.

        Seeds that the plan lacks are added to it.
        """
        points = {name: point for point, name in enumerate(self.names)}
        parted = [(key, points[key.rpartition("-")[0]]) for key in keys if key.rpartition("-")[0] in points]
        seeds = {key: int(key.rpartition("-")[2]) for key, _ in parted}
        self.seeds += sorted(set(seeds.values()) - set(self.seeds))
        places = {seed: nth for nth, seed in enumerate(self.seeds)}
        return {key: places[seeds[key]] * self.points + point for key, point in parted}

    def about(self) -> dict[str, Any]:
        """Its description for `sweep.json`."""
        return {
            "title": self.title,
            "runs": len(self),
            "points": self.points,
            "seeds": self.seeds,
            "keys": [found.as_dict() for found in self.columns],
            "vary": [axis.as_dict() for axis in self.axes],
            "scenario": self.scenario,
            "traces": self.traces,
            "bentpipe": _core.__version__,
            "simulator": simulator_hash(),
            "files": self.fingerprints.files,
            "controllers": self.fingerprints.controllers,
        }

    def in_words(self) -> str:
        """The axes, in one line: "flow.0.cc (3) x link.sat.delay (2)"."""
        shown = [f"{' with '.join(axis.keys)} ({len(axis.rows)})" for axis in self.axes]
        return " x ".join(shown) or "one scenario"

    def _axes(self, vary: Mapping[str, Any] | Sequence[str], fixed: Sequence[str]) -> list[SweepAxis]:
        written, place = self._raw.get("vary", {}), f"{self._source.name}: vary"
        if isinstance(written, Mapping) and "seeds" in written:
            raise ScenarioError(f"{place}.seeds: seeds are not varied; {_SEEDS}")
        found = axes(written, place)
        more = axes(vary) if isinstance(vary, Mapping) else [axis_of_text(text) for text in vary]
        new = [key for axis in more for key in axis.keys]
        for key in new:
            if new.count(key) > 1:
                raise ScenarioError(f"--vary {key}: it is varied twice")
        for axis in found:
            if len(axis.keys) > 1 and not set(new).isdisjoint(axis.keys):
                raise ScenarioError(f"{place}.zip: {', '.join(axis.keys)} go together; vary all or none")
        both = [axis for axis in found if set(new).isdisjoint(axis.keys)] + more
        for key in fixed:
            if any(key in axis.keys for axis in both):
                raise ScenarioError(f"--set {key}: this key is varied; give its values with --vary")
        if any("seed" in axis.keys for axis in both):
            raise ScenarioError(f"{place}.seed: seeds are not varied; {_SEEDS}")
        if math.prod(len(axis.rows) for axis in both) > MOST_RUNS:
            raise ScenarioError(f"{place}: more than {MOST_RUNS:,} points")
        return both

    def _setting(self, axis: SweepAxis, row: Sequence[Any]) -> list[tuple[str, str]]:
        pairs = []
        for key, value in zip(axis.keys, row, strict=True):
            at = f"{self._source.name}: vary: {key}"
            try:
                pairs.append((key, toml(self._source.algorithm(value) if CC.fullmatch(key) else value)))
            except TypeError as wrong:
                raise ScenarioError(f"{at}: {wrong} is nothing that a scenario can hold") from None
            except ScenarioError as wrong:
                raise ScenarioError(f"{at}: {wrong}") from None
        return pairs

    def _checked(self) -> tuple[list[list[dict[str, Key]]], list[Column]]:
        """Checks each value once, beside the first of other axes; gives the columns of each axis point."""
        keys, columns = [], []
        for number, axis in enumerate(self.axes):
            tables = []
            for at, row in enumerate(axis.rows):
                indices = [0] * len(self.axes)
                indices[number] = at
                tables.append(self._load(indices, dict(zip(axis.keys, row, strict=True))))
            named: list[dict[str, Key]] = [{} for _ in axis.rows]
            for place, key in enumerate(axis.keys):
                given = [row[place] for row in axis.rows]
                there = [value_at(table, key) for table in tables]
                # A relay that is a text is called by it; all else by what the scenario then has.
                relay = key.endswith(".relay")
                values = [
                    g if t is None or (relay and isinstance(g, str)) else t
                    for g, t in zip(given, there, strict=True)
                ]
                made, shown = column(
                    key, [v.removeprefix("python:") if isinstance(v, str) else v for v in values]
                )
                columns.append(made)
                for row_keys, value in zip(named, shown, strict=True):
                    row_keys[made.name] = value
            for at, one in enumerate(named):
                if one in named[:at]:
                    what = ", ".join(f"{name} = {value}" for name, value in one.items())
                    raise ScenarioError(f"{self._source.name}: vary: {what} is there twice")
            keys.append(named)
        return keys, columns

    def _load(self, indices: Sequence[int], what: Mapping[str, Any]) -> dict[str, Any]:
        pairs = [pair for axis, at in zip(self._settings, indices, strict=True) for pair in axis[at]]
        try:
            table = self._source.load([*self._overrides, *pairs], sweep=True, own=True)
        except ScenarioError as wrong:
            message = str(wrong)
            begins = f"{self._source.name} (override): "
            if not message.startswith(begins):  # of the file itself, with its line
                raise
            message = f"{self._source.name}: vary: {message.removeprefix(begins)}"
            beside = ", ".join(f"{key} = {words(value)}" for key, value in what.items())
            raise ScenarioError(message + (f" (with {beside})" if len(what) > 1 else "")) from None
        for i, flow in enumerate(table["flow"]):
            cc = flow.get("cc")
            name = cc.get("name") if isinstance(cc, Mapping) else cc
            missing = only_named(name)
            if missing is not None and str(name).removeprefix("python:") not in self._controllers:
                raise ScenarioError(f"{self._source.name}: flow.{i}.cc: {missing}")
        return table

    def _indices(self, point: int) -> list[int]:
        """The value of each axis at a point; the last axis changes first."""
        return [int(at) for at in np.unravel_index(point, [len(axis.rows) for axis in self.axes])]

    def _scenario(self, point: int) -> dict[str, Any]:
        indices = self._indices(point)
        what = {
            key: value
            for axis, at in zip(self.axes, indices, strict=True)
            for key, value in zip(axis.keys, axis.rows[at], strict=True)
        }
        return self._load(indices, what)

    def _name(self, point: int) -> str:
        scenario = self._scenario(point)
        if len(self._texts) < _KEPT:
            self._texts[point] = json.dumps(scenario)
        return self.fingerprints.point(scenario)

    def _again(self, point: int) -> dict[str, Any]:
        """The scenario of a point."""
        kept = self._texts.get(point)
        return self._scenario(point) if kept is None else dict(json.loads(kept))

    def _seeds(self, given: int | Sequence[int] | None, first: int) -> list[int]:
        where = f"{self._source.name}: seeds"
        if given is None:
            given = self._raw.get("seeds", 1)
        else:
            where = "seeds"
        if isinstance(given, int) and not isinstance(given, bool):
            if not 1 <= given <= MOST_RUNS:
                raise ScenarioError(f"{where}: {given} is not a number of runs; write for example 5")
            return list(range(first, first + given))
        numbers = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else []
        if not numbers or not all(type(seed) is int and 0 <= seed < 2**64 for seed in numbers):
            raise ScenarioError(
                f"{where}: write how many, seeds = 5, or a list of whole numbers, seeds = [1, 7]"
            )
        for seed in numbers:
            if numbers.count(seed) > 1 if len(numbers) < 1000 else len(set(numbers)) < len(numbers):
                raise ScenarioError(f"{where}: {seed} is there twice")
        return numbers
