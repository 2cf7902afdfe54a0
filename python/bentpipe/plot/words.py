"""Names of axes and legends in figures of many runs, and the units of their values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from bentpipe import measures
from bentpipe.measures import Scaled
from bentpipe.plot.looks import text
from bentpipe.registry import chooses, style
from bentpipe.units import short

#: Smaller numbers on axes and in headings are written by their power of ten.
_SMALL = 0.01


def scaled(column: str, values: pl.Series) -> Scaled:
    """The axis of a column, which is logarithmic also where the values of a key are geometric.

    Args:
        column: a key or a measure, with its SI unit at the end.
        values: all that are drawn.
    """
    known = measures.scaled(column, values)
    log = known.log and measures.measure(column).most is None
    log = log or ("." in column and known.numeric and _geometric(known.values))
    return replace(known, words=text(known.words), log=log)


def places(how: Scaled, values: pl.Series) -> pl.Series:
    """The positions of values on an axis: 0, 1, 2 and so on of those that are no numbers."""
    if how.numeric:
        return values * how.factor
    return pl.Series([how.values.index(value) for value in values], dtype=pl.Float64)


def shown(how: Scaled, value: float) -> str:
    """A value in the unit of an axis."""
    return short(value * how.factor, powers_below=_SMALL)


def valued(key: str, value: Any) -> str:
    """A key and a value of it in words: "one-way delay of sat: 25 ms"."""
    how = scaled(key, pl.Series([value]))
    if how.numeric and value is not None:
        return f"{how.words}: {shown(how, value)} {how.unit}".rstrip()
    return text(named(str(value))) if chooses(key) else f"{how.words}: {text(str(value))}"


def named(algorithm: str) -> str:
    """The label of an algorithm, and its parameters as they were written: "SIMD beta=0.06"."""
    first, space, rest = algorithm.partition(" ")
    if not re.fullmatch(r"[\w+.:/-]+", first):
        return algorithm
    return style(first.rpartition(":")[2])["label"] + space + rest


def _geometric(values: Sequence[float]) -> bool:
    """Whether the ratios of neighbours are more alike than their distances."""
    if len(values) < 4 or values[0] <= 0:
        return False
    ratios, distances = np.diff(np.log(values)), np.diff(values)
    return bool(ratios.std() / ratios.mean() < distances.std() / distances.mean())
