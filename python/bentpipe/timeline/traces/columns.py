"""A table whose columns the caller names, each with its unit: CSV, with semicolons, tabs or blanks.

The first line says what divides its cells: a tab, a semicolon, a comma, or blanks (`kinds.SEPARATORS`). A
number may have a decimal comma where commas do not divide. A table whose first line is numbers has no head:
its columns are called 1, 2 and so on. In a log whose head begins with NAME_HEADER, as those of cake-autorate
do, only the rows that begin with NAME count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import chain
from pathlib import Path

import polars as pl

from bentpipe import _core
from bentpipe.io.foreign import lines, named, quoted, refuse
from bentpipe.io.kinds import SEPARATORS
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
            `date` (ISO 8601). Without a head NAME is the number of the column, from 1.
        gap_s: the longest step that is not a gap.

    Raises:
        ScenarioError: a column or a unit is missing or unknown, a cell is not a number, a rate is negative,
            times go back, there is a gap.
        OSError: it cannot be read.
    """
    head, rows = _table(path)
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


def _table(path: Path) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """The names of the columns, and the rows with their lines.

    Raises:
        ScenarioError: no line names the columns, or a row is no CSV.
    """
    whole = lines(path)
    begin = next((place for place, line in enumerate(whole) if line.strip() and line[0] != "#"), None)
    if begin is None:
        refuse(path, None, "no line names its columns")
    separator = next((one for one in SEPARATORS if one in whole[begin]), ",")
    blanks = separator not in whole[begin] and _in_blanks(whole[begin : begin + 2])
    if blanks:
        rows = ((n, line.split()) for n, line in enumerate(whole[begin:], begin + 1) if line.strip())
    else:
        rows = ((begin + n, row) for n, row in table(path, whole[begin:], separator))
    first = next(rows)
    if _number(first[1][0]) is not None:
        return [str(n) for n in range(1, len(first[1]) + 1)], chain([first], rows)
    head = [name.strip() for name in first[1]]
    mark = head[0].removesuffix("_HEADER")
    if mark != head[0]:
        rows = ((line, row) for line, row in rows if row[0].strip() == mark)
    return head, rows


def _in_blanks(lines: Sequence[str]) -> bool:
    """Whether blanks divide cells: the second line has numbers, as many as the first has words.

    Anything else may be no table at all, and its words another user's secret.
    """
    words = [line.split() for line in lines]
    return len(words) == 2 and len(words[0]) == len(words[1]) > 1 and None not in map(_number, words[1])


def _number(word: str) -> float | None:
    """A number with a point or, where a comma divides no cells, a comma; None if it is none."""
    try:
        return float(word)
    except ValueError:
        pass
    return float(word.replace(",", ".")) if _COMMA.fullmatch(word) else None


_COMMA = re.compile(r"[-+]?\d{1,15},\d{1,15}")
_Cell = Callable[[int, list[str]], float | bool | None]


def _wanted(path: Path, columns: str | None, head: list[str]) -> dict[str, _Cell]:
    """For each column of the time line, a function that gets its value from a row."""
    # A file with one column may be no table at all, and its first line another user's secret.
    divided = ", nothing divides it (tab, semicolon, comma or blank)"
    there = f"it has {named(head)}" if len(head) > 1 else f"its first line has one cell{divided}"
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
            number = _number(word)
            if number is None:
                raise ValueError(word)
            return number * _UNITS[key][unit]
        except (KeyError, ValueError):
            kind = "true or false" if key in ("up", "handover") else "a date" if unit == _DATE else "a number"
            refuse(path, line, f"column {name}: {quoted(word)} is not {kind}")

    return value
