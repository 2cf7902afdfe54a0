"""Means over seeds and over combinations of parameters, so that every algorithm has met the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from bentpipe import stats
from bentpipe.reports.measures import Sample, Shown

#: Most combinations for which the leaders of each are determined.
POINTS = 2000


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

    def interval(self, algorithm: str, measure: Shown) -> stats.Interval | None:
        """The mean of an algorithm with its 95 % interval, if it has one."""
        values = self.values.get(algorithm)
        return interval(values, measure) if values else None

    def groups(self, measure: Shown, rivals: frozenset[str] = frozenset()) -> list[list[str]]:
        """The algorithms in groups that intervals do not separate; empty for one or one run each."""
        ranked = {name: values for name, values in self.values.items() if name not in rivals}
        if not self.shared or len(ranked) < 2 or min(map(len, ranked.values())) < 2:
            return []
        return stats.groups(ranked, highest_first=measure.better == "more", paired=self.paired)


def interval(values: Sequence[float], measure: Shown) -> stats.Interval:
    """The mean of runs with its 95 % interval, within the range of the measure."""
    most = measure.most
    if most is not None:
        # Sums in floating point exceed 1 by 1e-16.
        values = [min(value, most) if value < most * (1 + 1e-12) else value for value in values]
        if max(values) > most:
            most = None
    return stats.interval(values, least=0.0, most=most)


def means(found: Sample, measure: Shown, rows: pl.DataFrame | None = None) -> Means:
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


def at_points(found: Sample, measure: Shown) -> dict[int, Means]:
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


def leads(found: Sample, measure: Shown) -> dict[str, int]:
    """The number of combinations at which each algorithm is in the best group; empty if unknown."""
    if found.least_runs < 2 or not 1 < found.points <= POINTS or len(found.algorithms) < 2:
        return {}
    counted = {name: 0 for name in found.algorithms if name not in found.rivals}
    for runs in at_points(found, measure).values():
        best = runs.groups(measure, found.rivals)
        for name in best[0] if best else []:
            counted[name] += 1
    return counted
