"""The rows of an experiment, each with the keys of its run, and what they say over seeds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bentpipe import stats

Row = dict[str, Any]


class Rows(Sequence[Row]):
    """Rows of runs: each has the keys of its run, "seed" among them, and what was measured; NaN is no value.

    Args:
        rows: they are not changed any more.
    """

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._rows = list(rows)
        self._groups: dict[tuple[str, ...], dict[tuple[Any, ...], Rows]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, number: Any) -> Any:
        return self._rows[number]

    def groups(self, *keys: str) -> Mapping[tuple[Any, ...], Rows]:
        """The rows by their values of some keys, in the order of the rows."""
        if keys not in self._groups:
            groups: dict[tuple[Any, ...], list[Row]] = {}
            for row in self._rows:
                groups.setdefault(tuple(map(row.get, keys)), []).append(row)
            self._groups[keys] = {values: Rows(rows) for values, rows in groups.items()}
        return self._groups[keys]

    def where(self, **keys: Any) -> Rows:
        """The rows that have these values of keys."""
        return self.groups(*keys).get(tuple(keys.values()), Rows())

    def column(self, name: str, /, **keys: Any) -> list[Any]:
        """A column of the rows that have these values of keys."""
        return [row[name] for row in self.where(**keys)]

    def values(self, name: str, /, **keys: Any) -> dict[int, float]:
        """A measure by seed, of the rows that have these values of keys, and a value."""
        rows = self.where(**keys)
        return {row["seed"]: row[name] for row in rows if math.isfinite(row.get(name, math.nan))}

    def interval(self, name: str, /, **keys: Any) -> stats.Interval | None:
        """The mean of a measure over seeds with its 95 % interval; None if no row has a value."""
        values = self.values(name, **keys).values()
        return stats.interval(values) if values else None

    def mean(self, name: str, /, **keys: Any) -> float:
        """The mean of a measure over seeds; NaN if no row has a value."""
        known = self.interval(name, **keys)
        return math.nan if known is None else known.centre

    def cell(self, name: str, digits: int, scale: float = 1.0, /, **keys: Any) -> str:
        """The mean of a measure over seeds as a cell of a table; empty if no row has a value."""
        known = self.interval(name, **keys)
        return "" if known is None else shown(scale * known.centre, scale * known.half_width, digits)


def shown(mean: float, half: float, digits: int) -> str:
    """A mean, and the half of its interval unless that is not known or rounds to nothing."""
    return f"{mean:.{digits}f} ± {half:.{digits}f}" if half >= 0.5 * 10**-digits else f"{mean:.{digits}f}"
