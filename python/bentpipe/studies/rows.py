"""Columns of the runs of a paper, picked by the keys of the runs and ordered by seed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from bentpipe.studies.design import where

if TYPE_CHECKING:
    import polars as pl

    from bentpipe.studies.study import Key

#: Values by name, one per seed.
Groups = dict[str, list[float]]


def column(runs: pl.DataFrame, name: str, **keys: Key) -> list[float]:
    """A column of the runs with the given keys, ordered by seed."""
    values: list[float] = where(**keys).rows(runs).sort("seed")[name].to_list()
    return values


def by_algorithm(runs: pl.DataFrame, name: str, labels: Mapping[str, str], **keys: Key) -> Groups:
    """A column of the runs with the given keys, for each algorithm of ``labels`` under its label there."""
    at = where(**keys).rows(runs)
    return {label: column(at, name, cc=cc) for cc, label in labels.items()}


def seed_means(groups: Iterable[list[float]]) -> list[float]:
    """The mean over several columns, seed by seed."""
    return [sum(values) / len(values) for values in zip(*groups, strict=True)]


def over_seeds(rows: pl.DataFrame, *by: str) -> pl.DataFrame:
    """Mean and 95 % interval (Student's t) of the column ``value`` over the seeds, for each value of ``by``.

    The columns are ``by``, mean, seeds, low and high; the rows are sorted by the first.
    """
    import polars as pl
    from scipy.special import stdtrit

    value = pl.col("value")
    of = rows.group_by(*by).agg(mean=value.mean(), std=value.std(), seeds=pl.len())
    n = of["seeds"].to_numpy()
    half = pl.Series(stdtrit(n - 1, 0.975) * of["std"].to_numpy() / n**0.5)
    low, high = of["mean"] - half, of["mean"] + half
    return of.with_columns(low=low, high=high).drop("std").sort(*by)
