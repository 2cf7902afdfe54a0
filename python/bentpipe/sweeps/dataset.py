"""A sweep on disk: `sweep.json`, and its tables as Parquet files.

    DIR/sweep.json              the axes, the columns with their types and units, the seeds
    DIR/flows/*.parquet         a row for each flow and run: the keys, run, seed, the columns of Result.flows
    DIR/links/*.parquet         a row for each direction of a link and run
    DIR/traces/*.parquet        the flows over time, of a sweep that keeps traces
    DIR/link_traces/*.parquet   the links over time, likewise
    DIR/transfers/*.parquet     the transfers of applications, likewise
    DIR/failed/*.parquet        a row for each run that failed, with its error
    DIR/parts/*.json            the files that belong together (store.py)

All files of a table have the same columns and types, so every reader of Parquet takes them as one.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from bentpipe import _core
from bentpipe.io import foreign
from bentpipe.sweeps.case import Key
from bentpipe.sweeps.engine import TABLES, Interrupted, Runs, Tables
from bentpipe.sweeps.fingerprint import simulator_hash
from bentpipe.sweeps.store import PARTS, WHOLE, Over, Shard, Store, StoredRun, read_table
from bentpipe.sweeps.vary import put_at

if TYPE_CHECKING:
    import polars as pl

    from bentpipe.sweeps.plan import Plan

ABOUT = "sweep.json"
"""The description of a dataset."""
FORMAT, VERSION = "bentpipe sweep", 1
#: Finished runs are written when this number waits for it.
FLUSH_RUNS = 500
#: Differences that a message names.
_DIFFERENCES = 3
_KINDS: Mapping[str, type[Key]] = {kind.__name__: kind for kind in (bool, int, float, str)}


class Dataset(Store):
    """The dataset of a plan in a directory. As a context, no other process writes to it meanwhile.

    Its `done` are the runs that did not fail. Runs that are there are adapted to the plan: numbers, columns.

    Args:
        place: the directory; made if it is not there.
        plan: its runs.
        shard: this writer's part of the runs, if several share the directory.
        fresh: forget the runs that are there.

    Raises:
        ScenarioError: the directory holds something else, or runs of another scenario or simulator, or of a
            later version; another writer is there.
        OSError: nothing can be written there.
    """

    with_failed = True

    def __init__(self, place: Path, plan: Plan, shard: Shard = WHOLE, *, fresh: bool = False) -> None:
        self._plan = plan
        for name, code in plan.about()["controllers"].items():
            if not code:
                raise _core.ScenarioError(
                    f"{name} has no source, so a change of it could not be noticed; write it to a file"
                )
        check_place(place)
        super().__init__(place, TABLES, always=("flows", "links"), most=FLUSH_RUNS, shard=shard, fresh=fresh)
        self._tables = Tables(plan.types)

    def interrupted(self, total: int) -> Interrupted:
        """The exception for a job of `total` runs that the user stopped."""
        # The signal may have come while runs were written, which nothing but the store has counted then.
        self.flush()
        done = sum(1 for _ in self.runs())
        return Interrupted(f"{done:,} of {total:,} runs are in {self.folder}; the same command goes on")

    def __enter__(self) -> Self:
        """Raises what the class says; runs that are there are adapted to the plan."""
        super().__enter__()
        try:
            self._adapt()
        except BaseException:
            self._lock.release()
            raise
        return self

    def frames(self, over: Sequence[Over]) -> Mapping[str, pl.DataFrame]:
        """The tables of some runs, in the order of their numbers."""
        pairs = [(case, ran) for _, case, ran in over]
        return self._tables.frames(sorted(pairs, key=lambda pair: pair[1].number))

    def _adapt(self) -> None:
        old = about(self.folder)
        numbers = self._plan.take_over([run.key for run in self.runs()])
        others = sum(run.key not in numbers for run in self.runs())
        if others:
            there = sum(1 for _ in self.runs())
            what = "; ".join(_differences(old, self._plan.about())) or "its values are others"
            raise _core.ScenarioError(
                f"{self.folder} holds {there:,} runs, {others:,} of them not of this sweep ({what}); "
                "choose another --out, or give --fresh to remove them"
            )
        self._fit(numbers, columns=old.get("keys") == self._plan.about()["keys"])
        self._write_about()

    def _fit(self, numbers: Mapping[str, int], *, columns: bool) -> None:
        """Renumbers runs, rewrites columns that have changed, and drops failed runs."""
        for part in list(self.parts):
            new = {run.number: numbers[run.key] for run in part.runs if not run.failed}
            owned = self.shard.owns(part.name)
            if columns and all(old == now for old, now in new.items()):
                if not owned or len(new) == len(part.runs):
                    continue  # the failed runs of other shards are theirs to repeat
            elif not owned:
                raise _core.ScenarioError(
                    f"{self.folder} holds runs of another grid; give the command once without --shard"
                )
            kept = [StoredRun(new[run.number], run.key, failed=False) for run in part.runs if not run.failed]
            named = {old: self._plan.named(now) for old, now in new.items()}
            self.rewrite([part], kept, partial(self._tables.renamed, named))

    def finish(self) -> None:
        """Writes what waits and the final plan, and merges small files."""
        super().finish()
        self._write_about()

    def _write_about(self) -> None:
        now = {"format": FORMAT, "version": VERSION, **self._plan.about()}
        text = json.dumps(now, indent=1, default=str) + "\n"
        path = self.folder / ABOUT
        if not path.is_file() or path.read_text(encoding="utf-8", errors="replace") != text:
            # Not by `files.replace`: shards on other machines may write the same at this moment.
            work = self.folder / f".{self.shard.prefix}{ABOUT}"
            work.write_text(text, encoding="utf-8")
            os.replace(work, path)


def check_place(place: Path) -> None:
    """Checks that a dataset can be written to a directory.

    Raises:
        ScenarioError: it holds something else, or is not a directory.
    """
    if not place.exists():
        return
    if not place.is_dir():
        raise _core.ScenarioError(f"{place} exists and is no directory; choose another")
    if (place / ABOUT).is_file():
        about(place)
        return
    ours = {*TABLES, PARTS, ABOUT}  # another shard may have written the last one since
    if any(path.name not in ours and not path.name.startswith(".") for path in place.iterdir()):
        raise _core.ScenarioError(f"{place} exists and is no dataset of bentpipe sweep; choose another")


def read(place: str | Path) -> Runs:
    """The runs of a dataset, in the order of their numbers.

    Raises:
        ScenarioError: `place` holds none, or a file of it is damaged.
        OSError: it cannot be read.
    """
    place = Path(place)
    if not (place / ABOUT).is_file():
        raise _core.ScenarioError(f"{place} is no dataset of bentpipe sweep: it has no {ABOUT}")
    types = {entry["column"]: _KINDS[entry["type"]] for entry in about(place).get("keys", [])}

    def table(name: str) -> pl.DataFrame:
        found = read_table(Path(place), name)
        return Tables(types).frames([])[name] if found is None else found.sort("run", maintain_order=True)

    return Runs(table)


def about(place: Path) -> dict[str, Any]:
    """The description of a dataset: its `sweep.json`; empty if there is none that can be read.

    Raises:
        ScenarioError: it is of something else, or of a later version.
    """
    path = place / ABOUT
    if not path.is_file():
        return {}
    try:
        found: dict[str, Any] = json.loads(foreign.content(path))
        kind, version = found["format"], found["version"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return {}  # rewritten from the plan; the parts list their own contents
    if kind != FORMAT:
        raise _core.ScenarioError(f"{place} exists and is no dataset of bentpipe sweep; choose another")
    if version != VERSION:
        raise _core.ScenarioError(f"{place}: this program reads version {VERSION}, not {version}")
    return found


def scenario_of(about: Mapping[str, Any], run: int) -> dict[str, Any]:
    """The scenario of a run of a dataset, by its description: the base, with the values of its point."""
    table: dict[str, Any] = copy.deepcopy(about.get("scenario") or {})
    for key, value in point_of(about, run).items():
        put_at(table, key, value)
    return table


def point_of(about: Mapping[str, Any], run: int) -> dict[str, Any]:
    """The varied keys of a run of a dataset with their values, those that change first in front."""
    found: dict[str, Any] = {}
    point = run % int(about.get("points", 1))
    for axis in reversed(about.get("vary", [])):  # the last axis changes first
        point, at = divmod(point, len(axis["values"]))
        found |= dict(zip(axis["keys"], axis["values"][at], strict=True))
    return found


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """The first few differences between two descriptions: why existing runs are not the wanted ones."""
    if not old:
        return []
    found = []
    if old.get("simulator") not in (None, simulator_hash()):
        found.append("they were made by another build of the simulator")
    for what in ("files", "controllers"):
        before, now = old.get(what, {}), new.get(what, {})
        found += [f"{name} has changed" for name in before if name in now and before[name] != now[name]]
    varied = {key for about in (old, new) for axis in about.get("vary", []) for key in axis["keys"]}
    before, now = _flat(old.get("scenario")), _flat(new.get("scenario"))
    for key in {**before, **now}:
        if before.get(key) != now.get(key) and key not in ("title", "seed"):
            if not any(key == v or key.startswith(f"{v}.") for v in varied):
                found.append(f"{key} was {before.get(key)} and is {now.get(key)}")
    was = {tuple(axis["keys"]): axis["values"] for axis in old.get("vary", [])}
    for axis in new.get("vary", []):
        gone = [row for row in was.get(tuple(axis["keys"]), []) if row not in axis["values"]]
        if gone:
            shown = ", ".join(str(value) for row in gone[:_DIFFERENCES] for value in row)
            found.append(f"{' with '.join(axis['keys'])} had {shown}, too")
    more = len(found) - _DIFFERENCES
    return found[:_DIFFERENCES] + ([f"and {more} more"] if more > 0 else [])


def _flat(value: Any, at: str = "") -> dict[str, Any]:
    """The values of a tree by dotted key."""
    if isinstance(value, Mapping):
        members: Iterable[tuple[Any, Any]] = value.items()
    elif isinstance(value, list):
        members = enumerate(value)
    else:
        return {at: value}
    return {k: v for name, one in members for k, v in _flat(one, f"{at}.{name}" if at else str(name)).items()}
