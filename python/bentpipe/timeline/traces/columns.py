"""A table in CSV whose columns the caller names, each with its unit."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import polars as pl

from bentpipe import _core
from bentpipe.foreign import lines, named, quoted, refuse
from bentpipe.terminal import plain
from bentpipe.timeline.format import table
from bentpipe.timeline.traces.samples import Samples

_TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0}
_RATES = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "byte/s": 8.0}
_UNITS: dict[str, dict[str, float]] = {
    "t": _TIMES,
    "rate": _RATES,
    "delay": _TIMES,
    "rtt": {unit: factor / 2 for unit, factor in _TIMES.items()},
    "loss": {"share": 1.0, "%": 0.01},
    "up": {},
    "handover": {},
}
_COLUMN = {"rate": "rate_bps", "delay": "delay_s", "rtt": "delay_s", "loss": "loss_rate"}
_DATE = "date"
_EXAMPLE = '--columns "t=time_ms:ms, rate=throughput:Mbit/s, rtt=ping:ms"'
_WORDS = {"true": True, "1": True, "false": False, "0": False}


def read(path: Path, *, columns: str | None = None, gap_s: float | None = None) -> pl.DataFrame:
    """A time line of a table with a head.

    Args:
        path: the table.
        columns: its columns: "t=NAME:UNIT, rate=NAME:UNIT, ..." of `t`, `rate`, `delay` or `rtt` (whose
            half is the delay), `loss`, `up`, `handover`. The last two have no unit; `t` may have the unit
            `date` (ISO 8601).
        gap_s: the longest step that is not a gap.

    Raises:
        ScenarioError: a column or a unit is missing or unknown, a cell is not a number, a rate is negative,
            times go back, there is a gap.
        OSError: it cannot be read.
    """
    rows = table(path, lines(path))
    head = next(([name.strip() for name in row] for _, row in rows if not row[0].startswith("#")), None)
    if head is None:
        refuse(path, None, "no line names its columns")
    wanted = _wanted(path, columns, head)
    samples = Samples(path)
    for line, row in rows:
        if len(row) != len(head):
            refuse(path, line, f"{len(row)} cells; the head names {len(head)} columns")
        values = {key: value(line, row) for key, value in wanted.items()}
        now = values.pop("t")
        if now is None:
            refuse(path, line, "the row has no time")
        samples.add(line, now, **values)
    return samples.frame(gap_s)


_Cell = Callable[[int, list[str]], float | bool | None]


def _wanted(path: Path, columns: str | None, head: list[str]) -> dict[str, _Cell]:
    """For each column of the time line, a function that gets its value from a row."""
    # A file with one column may be no table at all, and its first line another user's secret.
    there = f"it has {named(head)}" if len(head) > 1 else "its first line has one cell"
    if columns is None:
        raise _core.ScenarioError(
            f"{path}: say which columns hold what, and in which unit: {_EXAMPLE}; {there}"
        )
    found: dict[str, _Cell] = {}
    for part in columns.split(","):
        key, equals, rest = (word.strip() for word in part.partition("="))
        name, _, unit = (word.strip() for word in rest.rpartition(":")) if ":" in rest else (rest, "", "")
        where = f"--columns {plain(part.strip())}"
        if key not in _UNITS or not equals or not name:
            raise _core.ScenarioError(f"{where}: write {', '.join(_UNITS)} = NAME:UNIT, as in {_EXAMPLE}")
        if name not in head:
            raise _core.ScenarioError(f"{where}: {path} has no column {name}; {there}")
        units = [*_UNITS[key], *([_DATE] if key == "t" else [])]
        if unit not in units and units:
            what = f"{unit} is no unit of {key}" if unit else f"the unit of {name} is missing"
            raise _core.ScenarioError(f"{where}: {what}; write {key}={name}:UNIT with {', '.join(units)}")
        column = _COLUMN.get(key, key)
        if column in found:
            raise _core.ScenarioError(f"{where}: {column} is given twice")
        found[column] = _cell(path, head.index(name), name, key, unit)
    if "t" not in found or len(found) == 1:
        raise _core.ScenarioError(f"--columns {plain(columns)}: it needs t and one more, as in {_EXAMPLE}")
    return found


def _cell(path: Path, place: int, name: str, key: str, unit: str) -> _Cell:
    def value(line: int, row: list[str]) -> float | bool | None:
        word = row[place].strip()
        if not word:
            return None
        try:
            if key in ("up", "handover"):
                return _WORDS[word.lower()]
            if unit == _DATE:
                return datetime.fromisoformat(word).timestamp()
            return float(word) * _UNITS[key][unit]
        except (KeyError, ValueError):
            kind = "true or false" if key in ("up", "handover") else "a date" if unit == _DATE else "a number"
            refuse(path, line, f"column {name}: {quoted(word)} is not {kind}")

    return value
