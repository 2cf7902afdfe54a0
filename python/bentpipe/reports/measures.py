"""Measures of each run in a report, and their means over seeds and combinations of parameters.

Every algorithm has met the same in means that are compared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from bentpipe import measures, registry, stats
from bentpipe._core import ScenarioError
from bentpipe.measures import REPORTED, MeasureRow, Scaled
from bentpipe.sweeps.flows import chosen, controlled, counted
from bentpipe.sweeps.stored import Stored
from bentpipe.units import short

USUAL = ("goodput", "rtt_p95", "loss", "completion", "jain")
"""The measures shown by default, as far as the runs have them."""

#: Most combinations for which the leaders of each are determined.
POINTS = 2000


@dataclass(frozen=True)
class Sample:
    """The runs in the form that a report needs.

    `rows` has a row for each run and algorithm in it: `algorithm`, `run`, `seed`; `point`, the number of its
    combination of parameters; `nth`, which of its combination's runs it is in the order of the seeds; a
    column for each of `parameters` (by key, scaled) and for each of `measures`. Flows of one algorithm in one
    run are one row, their mean, because they are not independent.
    """

    rows: pl.DataFrame
    algorithms: Sequence[str]
    #: The id of each algorithm in the registry, which gives its colour.
    ids: dict[str, str]
    parameters: Sequence[Scaled]
    measures: Sequence[MeasureRow]
    #: Those that are beside another in the same runs: they are shown, and not ranked.
    rivals: frozenset[str] = frozenset()

    @property
    def points(self) -> int:
        """The number of combinations of parameters."""
        return self.rows["point"].n_unique()

    @property
    def least_runs(self) -> int:
        """The fewest runs that an algorithm has at one combination."""
        found = self.rows.group_by("algorithm", "point").len()["len"].min()
        return int(str(found))


def sample(stored: Stored, wanted: Sequence[str] = ()) -> Sample:
    """The measures of stored runs; at least one run must have succeeded.

    Args:
        stored: the runs.
        wanted: names of `REPORTED`; none: `USUAL`.

    Raises:
        ScenarioError: there is no such measure, or no run has it.
    """
    for name in wanted:
        if name not in REPORTED:
            raise ScenarioError(registry.unknown("measure", name, list(REPORTED)))
    flows = labelled(stored)
    choosing = [key for key in stored.keys if registry.chooses(key) or (stored.apart and key == "directory")]
    parameters = [
        found for key in stored.keys if key not in choosing and (found := _parameter(flows, key)) is not None
    ]
    keys = [p.column for p in parameters]
    scaled = flows.with_columns(
        *(pl.col(p.column) * p.factor for p in parameters if p.numeric),
        *(pl.col(p.column).cast(pl.String).fill_null("-") for p in parameters if not p.numeric),
    )
    rows = scaled.group_by("algorithm", "run", "seed", *keys, maintain_order=True).agg(
        (value * shown.factor).alias(name)
        for name, shown in REPORTED.items()
        if (value := measures.of_flows(shown.column, flows)) is not None
    )
    whole = measures.of_runs(flows, stored.links)
    factors = (pl.col(name) * REPORTED[name].factor for name in whole.columns if name != "run")
    rows = rows.join(whole.with_columns(factors), on="run", how="left")
    point = pl.struct(keys).rank("dense") - 1 if keys else pl.lit(0)
    rows = rows.with_columns(point=point.cast(pl.Int64)).with_columns(
        nth=pl.struct("seed", "run").rank("ordinal").over("algorithm", "point") - 1
    )
    there = [name for name in wanted or USUAL if name in rows.columns and _finite(rows, name)]
    missing = [name for name in wanted if name not in there]
    if missing:
        usable = [name for name in REPORTED if name in rows.columns and _finite(rows, name)]
        raise ScenarioError(f"measures: no run has {missing[0]!r}; they have {', '.join(usable)}")
    ids = dict(flows.select("algorithm", "id").unique(maintain_order=True).iter_rows())
    rivals = frozenset(flows.filter("rival")["algorithm"].unique())
    several = (flows.group_by("algorithm", "run").len()["len"] > 1).any()
    shown = [measures.of_several(REPORTED[name]) if several else REPORTED[name] for name in there]
    rates = measures.slowest(stored.links)["rate_bps"].max() if stored.links.height else None
    if isinstance(rates, float) and math.isfinite(rates):
        # Flows together are not faster than the slowest link that they cross.
        shown = [replace(one, most=rates) if one.name == "goodput" else one for one in shown]
    # Rows have the unit of the report.
    shown = [replace(one, most=one.most and one.most * one.factor, factor=1.0) for one in shown]
    return Sample(rows, list(ids), ids, parameters, shown, rivals)


@dataclass(frozen=True)
class Means:
    """One value for each algorithm and seed: its mean over the same combinations for all.

    Attributes:
        values: the values of each algorithm, in the order of the seeds.
        points: number of combinations.
        paired: whether value i of all comes from the same seeds.
        shared: whether all are over the same combinations. If not, they must not be compared.
    """

    values: Mapping[str, Sequence[float]]
    points: int
    paired: bool
    shared: bool = True

    def interval(self, algorithm: str, measure: MeasureRow) -> stats.Interval | None:
        """The mean of an algorithm with its 95 % interval, if it has one."""
        values = self.values.get(algorithm)
        return measure.interval(values) if values else None

    @property
    def random(self) -> bool:
        """Whether runs of an algorithm differ, so that groups mean something."""
        return stats.random_in(self.values)

    def groups(self, measure: MeasureRow, rivals: frozenset[str] = frozenset()) -> list[list[str]]:
        """The algorithms in groups that intervals do not separate; empty for one or one run each."""
        ranked = {name: values for name, values in self.values.items() if name not in rivals}
        if not self.shared or len(ranked) < 2 or min(map(len, ranked.values())) < 2:
            return []
        return stats.groups(ranked, highest_first=measure.better == "more", paired=self.paired)


def means(found: Sample, measure: MeasureRow, rows: pl.DataFrame | None = None) -> Means:
    """Means over the combinations at which every algorithm has all its runs, and each of them the measure.

    An algorithm that has no such combination at all is left out. If the others have none in common, each mean
    is over the algorithm's own. At one combination alone every run counts.

    Args:
        found: the runs.
        measure: the measure.
        rows: of `found.rows` those that count; None: all.
    """
    rows = found.rows if rows is None else rows
    name = measure.name
    there = rows.filter(pl.col(name).is_finite())
    counted = there.group_by("algorithm", "point").len()
    if not counted.height:
        return Means({}, 0, paired=False)
    full = counted
    if counted["point"].n_unique() > 1:
        full = counted.filter(pl.col("len") == int(str(rows["nth"].max())) + 1)
    many = full["algorithm"].n_unique()
    common = full.group_by("point").agg(n=pl.len()).filter(pl.col("n") == many)["point"]
    if len(common):
        full = full.filter(pl.col("point").is_in(common.implode()))
    kept = there.join(full, on=["algorithm", "point"], how="semi")
    if not kept.height:
        return Means({}, 0, paired=False)
    seeds = kept.group_by("point", "nth").agg(n=pl.col("seed").n_unique())["n"].max()
    of = kept.group_by("algorithm", "nth").agg(pl.col(name).mean()).sort("nth")
    values = {
        str(algorithm): part[name].to_list()
        for (algorithm,), part in of.partition_by("algorithm", as_dict=True).items()
    }
    return Means(
        {name: values[name] for name in found.algorithms if name in values},
        full["point"].n_unique(),
        paired=seeds == 1 and len({len(some) for some in values.values()}) == 1,
        shared=len(common) > 0,
    )


def at_points(found: Sample, measure: MeasureRow) -> dict[int, Means]:
    """The runs of each combination by its number; all of them count."""
    name = measure.name
    rows = (
        found.rows.filter(pl.col(name).is_finite())
        .sort("nth")
        .group_by("point", "algorithm", maintain_order=True)
        .agg(pl.col(name), pl.col("seed"))
    )
    values: dict[int, dict[str, Sequence[float]]] = {}
    seeds: dict[int, set[tuple[int, ...]]] = {}
    for point, algorithm, some, of in rows.iter_rows():
        values.setdefault(point, {})[algorithm] = some
        seeds.setdefault(point, set()).add(tuple(of))
    return {point: Means(some, 1, paired=len(seeds[point]) == 1) for point, some in values.items()}


def leads(found: Sample, measure: MeasureRow) -> dict[str, int]:
    """The number of combinations at which each algorithm is in the best group; empty if unknown."""
    if found.least_runs < 2 or not 1 < found.points <= POINTS or len(found.algorithms) < 2:
        return {}
    counted = {name: 0 for name in found.algorithms if name not in found.rivals}
    for runs in at_points(found, measure).values():
        best = runs.groups(measure, found.rivals)
        for name in best[0] if best else []:
            counted[name] += 1
    return counted


def labelled(stored: Stored) -> pl.DataFrame:
    """The flows with `algorithm`, their name in a legend, `id`, the algorithm's name, and `rival`.

    A flow whose algorithm a parameter chooses has the value of the parameter. Another beside it is its rival
    and called "Reno beside CUBIC". For a relayed flow the second half counts: its delivery is that of the
    whole.
    """
    flows, keys = counted(stored.flows, stored.keys)
    flows = flows.filter(controlled())
    cc = pl.col("cc").fill_null("-")
    if stored.apart:
        named = pl.concat_str([_called(cc), pl.col("directory")], separator=" in ")
        return flows.with_columns(algorithm=named, id=cc, rival=pl.lit(value=False))
    choosing = [key for key in keys if registry.chooses(key)]
    if not choosing:
        return flows.with_columns(algorithm=_called(cc), id=cc, rival=pl.lit(value=False))
    # A value may carry parameters: {name = "cubic", hystart = true}.
    given = [pl.col(key).cast(pl.String).fill_null("-") for key in choosing]
    value = pl.concat_str([_called(value) for value in given], separator=" and ")
    varied = pl.any_horizontal([chosen(key) for key in choosing])
    beside = pl.concat_str([_called(cc), value], separator=" beside ")
    alone = value if len(choosing) == 1 else pl.concat_str([_called(cc), value], separator=" of ")
    return flows.with_columns(algorithm=pl.when(varied).then(alone).otherwise(beside), id=cc, rival=~varied)


def _called(cc: pl.Expr) -> pl.Expr:
    """The registry's name of an algorithm, with its parameters behind it; other words as they are."""
    known = {entry["id"]: entry["label"] for entry in registry.controllers()}
    name = cc.str.replace("^python:", "").str.extract(r"^(\S*)(.*)$", 1)
    return name.replace(known) + cc.str.extract(r"^(\S*)(.*)$", 2)


def _finite(rows: pl.DataFrame, name: str) -> bool:
    return bool(rows[name].is_finite().any())


def _parameter(flows: pl.DataFrame, key: str) -> Scaled | None:
    """The key as a parameter, if it has several values. A number that some runs lack is a word."""
    column = flows[key]
    if column.n_unique() < 2:
        return None
    if not column.dtype.is_numeric() or column.null_count():
        column = column.cast(pl.String).fill_null("-")
    return measures.scaled(key, column)


def said(value: float | str) -> str:
    """A value of a parameter in words."""
    return value if isinstance(value, str) else short(value)


def valued(parameter: Scaled, row: Mapping[str, Any]) -> str:
    """The value of a parameter in a row, with its unit."""
    return f"{said(row[parameter.column])} {parameter.unit}".rstrip()
