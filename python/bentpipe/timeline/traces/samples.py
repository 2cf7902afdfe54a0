"""Samples of a measurement on their way to a time line, with checks of their times."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from bentpipe.io.foreign import refuse
from bentpipe.timeline.format import COLUMNS, MOST

GAP_STEPS = 10.0
"""A step is a gap if it is this many times as long as the median step, unless the caller sets the length."""
_PLACES = 12
# Seconds since 1970 stay below it for three thousand years.
_LATEST_S = 1e11


def check_rate(path: Path, line: int | None, rate_bps: float, place: str = "") -> None:
    """Checks that a rate of a report is one that the simulator takes. `place`: where it is, without a line.

    Raises:
        ScenarioError: it is higher, or no number.
    """
    if not rate_bps <= MOST["rate_bps"]:
        at = f"{place}: " if place else ""
        refuse(path, line, f"{at}the rate is {rate_bps:g} bit/s; it must be at most {MOST['rate_bps']:g}")


@dataclass
class Samples:
    """The samples of a file, in its order: time, line, and the value of each column.

    Attributes:
        path: the file, for messages.
        end_s: the end of the last sample, for those that last; None if samples are instants.
    """

    path: Path
    end_s: float | None = None
    _added: list[tuple[float, int | None, Mapping[str, Any]]] = field(default_factory=list)

    def add(self, line: int | None, t_s: float, **values: Any) -> None:
        """One sample: at this time the named columns of the time line have these values.

        Raises:
            ScenarioError: a rate or a delay is negative, no finite number, or more than the simulator
                takes; or the time is out of reach.
        """
        if not abs(t_s) < _LATEST_S:
            refuse(self.path, line, f"{t_s:g} s is no time")
        for name, value in values.items():
            number = not isinstance(value, bool) and value is not None
            if number and not 0 <= value < float("inf"):
                refuse(self.path, line, f"{name} is {value:g}; it must be a number from 0")
            if number and value > MOST.get(name, float("inf")):
                refuse(self.path, line, f"{name} is {value:g}; it must be at most {MOST[name]:g}")
        self._added.append((t_s, line, values))

    def frame(self, gap_s: float | None) -> pl.DataFrame:
        """The time line, whose first row is at 0.

        Args:
            gap_s: the longest step that is not a gap; by default `GAP_STEPS` times the median step.

        Raises:
            ScenarioError: there is no sample, a time goes back or occurs twice, or there is a gap.
        """
        times = [t for t, _, _ in self._added]
        if not times:
            refuse(self.path, None, "the file holds no sample")
        if self.end_s is not None and not 1e-9 <= self.end_s - times[-1] < _LATEST_S:
            what = f"the last interval begins at {times[-1]:.9g} s and ends at {self.end_s:.9g} s"
            refuse(self.path, self._added[-1][1], what)
        steps = [later - sooner for sooner, later in zip(times, times[1:], strict=False)]
        for place, step in enumerate(steps):
            if round(step * 1e9) <= 0:
                what = "stands twice" if round(step * 1e9) == 0 else "goes back"
                refuse(
                    self.path, self._added[place + 1][1],
                    f"the time {what}: {_seconds(times[place + 1])} after {_seconds(times[place])}",
                )  # fmt: skip
        # Samples that last are joined: a long one is not a gap, unless the caller says so.
        if len(steps) > 1 and (gap_s is not None or self.end_s is None):
            usual = statistics.median(steps)
            longest = GAP_STEPS * usual if gap_s is None else gap_s
            for place, step in enumerate(steps):
                if step > longest:
                    refuse(
                        self.path, self._added[place + 1][1],
                        f"a gap: this sample comes {_seconds(step)} after the one before, where the usual "
                        f'step is {_seconds(usual)}; --gap "{step * 1.01:.3g} s" lets it pass',
                    )  # fmt: skip
        return self._table()

    def _table(self) -> pl.DataFrame:
        first = self._added[0][0]
        rows = [(t, values) for t, _, values in self._added]
        if self.end_s is not None:
            rows.append((self.end_s, rows[-1][1]))
        names = [name for name in COLUMNS if any(name in row for _, row in rows)]
        columns: dict[str, Sequence[Any]] = {"t_s": [round(t - first, _PLACES) for t, _ in rows]}
        columns |= {name: [row.get(name) for _, row in rows] for name in names}
        # A value that is first known later held before: an unreachable start has no delay of its own.
        for name in names:
            if columns[name][0] is None and name != "handover":
                known = next((value for value in columns[name] if value is not None), None)
                if known is None:
                    refuse(self.path, None, f"no sample says {name}")
                columns[name] = [known, *columns[name][1:]]
        return pl.DataFrame(columns, schema_overrides={name: COLUMNS[name] for name in columns})


def _seconds(value: float) -> str:
    return f"{value:.9g} s"
