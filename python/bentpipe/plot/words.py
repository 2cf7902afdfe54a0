"""Names of axes and legends in figures of many runs, and the units of their values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from bentpipe.measures import LOG_FROM, MEASURES, in_unit, key_words, measure
from bentpipe.plot.looks import text
from bentpipe.registry import chooses, style
from bentpipe.units import short

#: Smaller numbers on axes and in headings are written by their power of ten.
_SMALL = 0.01


@dataclass(frozen=True)
class Scaled:
    """A quantity on an axis: its name, its unit (empty for pure numbers), and the factor for the values.

    Values that are not numbers have `names`, and positions 0, 1, 2 and so on.
    """

    name: str
    unit: str
    factor: float
    log: bool
    names: tuple[Any, ...] = ()

    def places(self, values: pl.Series) -> pl.Series:
        """The positions of values on the axis."""
        if not self.names:
            return values * self.factor
        return pl.Series([self.names.index(value) for value in values], dtype=pl.Float64)

    def shown(self, value: float) -> str:
        """A value in this unit."""
        return short(value * self.factor, powers_below=_SMALL)

    @property
    def label(self) -> str:
        """The name with the unit."""
        return f"{self.name}, {self.unit}" if self.unit else self.name


def scaled(column: str, values: pl.Series) -> Scaled:
    """The axis of a column; a logarithmic axis where it spans more than a factor of `LOG_FROM`.

    Args:
        column: a key or a measure, with its SI unit at the end.
        values: all that are drawn.
    """
    known = values.drop_nulls()
    if not known.dtype.is_numeric() or not known.len():
        return Scaled(_name(column), "", 1.0, log=False, names=tuple(known.unique(maintain_order=True)))
    low, high = (float(str(end)) for end in (known.min(), known.max()))
    log = low > 0 and high / low > LOG_FROM and measure(column).most is None
    log = log or ("." in column and low > 0 and _geometric(known))
    _, unit, factor = in_unit(column, high)
    return Scaled(_name(column), unit, factor, log)


def valued(key: str, value: Any) -> str:
    """A key and a value of it in words: "one-way delay of sat: 25 ms"."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return text(named(str(value))) if chooses(key) else f"{_name(key)}: {text(str(value))}"
    how = scaled(key, pl.Series([value]))
    return f"{how.name}: {how.shown(value)} {how.unit}".rstrip()


def named(algorithm: str) -> str:
    """The label of an algorithm, and its parameters as they were written: "SIMD beta=0.06"."""
    first, space, rest = algorithm.partition(" ")
    if not re.fullmatch(r"[\w+.:/-]+", first):
        return algorithm
    return style(first.rpartition(":")[2])["label"] + space + rest


def _geometric(values: pl.Series) -> bool:
    """Whether the ratios of neighbours are more alike than their distances."""
    known = np.unique(values.cast(pl.Float64).to_numpy())
    if len(known) < 4:
        return False
    ratios, distances = np.diff(np.log(known)), np.diff(known)
    return bool(ratios.std() / ratios.mean() < distances.std() / distances.mean())


def _name(column: str) -> str:
    if column in MEASURES:
        return MEASURES[column].words
    return text(key_words(in_unit(column, 0.0)[0]))
