"""Axes of a sweep: values from a table `[vary]` or from `--vary KEY=VALUES`; and their columns.

    [vary]
    "flow.0.cc" = ["cubic", { name = "simd", beta = 0.06 }, "my.py:Mine"]
    "link.sat.delay" = ["10 ms", "100 ms"]
    "link.sat.loss.rate" = { log = [1e-6, 1e-3], points = 7 }

    [[vary.zip]]
    "link.sat.rate" = ["10 Mbit/s", "50 Mbit/s"]
    "link.sat.queue.limit" = ["400 packets", "2000 packets"]

All axes are crossed. The keys of one `[[vary.zip]]` go together, value by value. Keys are those of `--set`.

`link.sat.delay` = "25 ms" is the column `link.sat.delay_s` with the number 0.025. Values without a number,
such as the name of an algorithm, are text.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from bentpipe._core import ScenarioError, key_parts
from bentpipe.document.plain import value_of
from bentpipe.sweeps.case import Key
from bentpipe.units import TABLES, spaced

#: Values of an axis that a message names.
_SHOWN = 8
#: Points of one axis.
MOST_POINTS = 100_000
_EXAMPLE = '["10 ms", "100 ms"], { log = [1e-6, 1e-3], points = 7 } or { lin = [1, 3], points = 5 }'
#: The name of a unit in the name of a column, and its factor.
UNITS: dict[str, tuple[str, Fraction]] = {
    unit: (name, Fraction(factor, scale))
    for quantity, name, scale in (("time", "s", 10**9), ("rate", "bps", 1), ("size", "bytes", 1))
    for factor, units in TABLES[quantity]
    for unit in units
} | {
    unit: (units[0], Fraction(1))
    for units in (("packets", "packet"), ("segments", "segment"), ("bdp", "BDP"))
    for unit in units
}
#: Units of things that are counted: their numbers are whole.
COUNTED = ("bytes", "packets", "segments")


@dataclass(frozen=True)
class SweepAxis:
    """One key and its values, or several keys that go together.

    Attributes:
        keys: dotted keys.
        rows: a value of each key for each point, as TOML or JSON has it.
    """

    keys: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]

    def as_dict(self) -> dict[str, Any]:
        """As `sweep.json` has it."""
        return {"keys": list(self.keys), "values": [[_plain(value) for value in row] for row in self.rows]}


def _plain(value: Any) -> Any:
    """A value of an axis as JSON has it."""
    if isinstance(value, type):
        return value.__name__
    return value.item() if hasattr(value, "item") else value


def axes(table: Any, where: str = "vary") -> list[SweepAxis]:
    """The axes of a table `[vary]`.

    Raises:
        ScenarioError: it is invalid; the message begins with `where` and the key.
    """
    if not isinstance(table, Mapping):
        raise ScenarioError(f'{where}: a table is needed, for example "link.sat.delay" = ["10 ms", "100 ms"]')
    found: list[SweepAxis] = []
    for name, given in table.items():
        if name == "zip":
            groups = given if isinstance(given, list | tuple) else [given]
            found += [_zipped(group, f"{where}.zip") for group in groups]
        else:
            found += [
                SweepAxis((key,), [(value,) for value in values]) for key, values in _keys(name, given, where)
            ]
    keys = [key for axis in found for key in axis.keys]
    for key in keys:
        if keys.count(key) > 1:
            raise ScenarioError(f"{where}: {key} is varied twice")
    return found


def axis_of_text(text: str) -> SweepAxis:
    """The axis of `--vary KEY=VALUES`: values with commas between, or a table with `log` or `lin`.

    Raises:
        ScenarioError: it is invalid.
    """
    key, equals, values = text.partition("=")
    key, values = key.strip(), values.strip()
    where = f"--vary {text}"
    if not (key and equals and values):
        raise ScenarioError(f"{where}: write KEY=VALUES, for example link.sat.delay=10ms,100ms")
    found = value_of(values)
    if not (isinstance(found, list) or isinstance(found, dict) and {"log", "lin"} & set(found)):
        found = [value_of(part) for part in _split(values) if part]
    return SweepAxis((key,), [(value,) for value in _values(found, where)])


def _keys(name: str, given: Any, where: str) -> Iterator[tuple[str, list[Any]]]:
    """Keys with their values; those without quotes are tables in tables."""
    at = f"{where}.{name}"
    if isinstance(given, Mapping) and not {"log", "lin"} & set(given):
        if not given or not all(isinstance(member, Mapping | list | tuple) for member in given.values()):
            raise ScenarioError(f"{at}: write values as {_EXAMPLE}")
        for part, member in given.items():
            one = part if key_parts(part) == [part] else json.dumps(part)
            yield from ((f"{name}.{key}", values) for key, values in _keys(one, member, at))
    else:
        yield name, _values(given, at)


def _zipped(group: Any, where: str) -> SweepAxis:
    if not isinstance(group, Mapping) or not group:
        raise ScenarioError(f"{where}: a table of keys with lists of values is needed")
    keys = dict(pair for name, given in group.items() for pair in _keys(name, given, where))
    lengths = {key: len(values) for key, values in keys.items()}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{key} has {n}" for key, n in lengths.items())
        raise ScenarioError(f"{where}: keys that go together need equally many values: {counts}")
    return SweepAxis(tuple(keys), list(zip(*keys.values(), strict=True)))


def _values(given: Any, where: str) -> list[Any]:
    if isinstance(given, Mapping):
        return _range(given, where)
    if not isinstance(given, list | tuple):
        listed = getattr(given, "tolist", None) or getattr(given, "to_list", None)
        given = listed() if listed is not None else None  # an array of NumPy, a column of polars
    if not isinstance(given, list | tuple):
        raise ScenarioError(f"{where}: a list of values is needed: {_EXAMPLE}")
    if not given:
        raise ScenarioError(f"{where}: the list is empty; write values as {_EXAMPLE}")
    if len(given) > MOST_POINTS:
        raise ScenarioError(f"{where}: {len(given):,} values; up to {MOST_POINTS:,} are allowed")
    return list(given)


def _range(given: Mapping[str, Any], where: str) -> list[Any]:
    """The values of { log = [a, b], points = n } or { lin = [a, b], points = n }."""
    for name in given:
        if name not in ("log", "lin", "points"):
            raise ScenarioError(f"{where}: unknown key {name}; write {_EXAMPLE}")
    kind = "log" if "log" in given else "lin"
    pair, points = given[kind], given.get("points")
    if "log" in given and "lin" in given:
        raise ScenarioError(f"{where}: log and lin exclude each other")
    if not (isinstance(pair, list | tuple) and len(pair) == 2):
        raise ScenarioError(
            f"{where}: {kind} needs two ends, for example {{ {kind} = [1, 100], points = 5 }}"
        )
    if isinstance(points, bool) or not isinstance(points, int) or not 2 <= points <= MOST_POINTS:
        raise ScenarioError(f"{where}: points must be a whole number from 2 to {MOST_POINTS:,}")
    low, high, unit = ends(pair, where)
    if kind == "log" and (low <= 0 or high <= 0):
        raise ScenarioError(f"{where}: the ends of a log axis must be above 0; use lin")
    if low == high:
        raise ScenarioError(f"{where}: the ends are alike")
    found = [_written(number, unit) for number in _between(low, high, points, log=kind == "log")]
    for before, after in zip(found, found[1:], strict=False):
        if before == after:
            raise ScenarioError(f"{where}: {points} points are too many: two of them are {after}")
    return found


def _between(low: Fraction, high: Fraction, points: int, *, log: bool) -> list[Fraction]:
    """Both ends, and the values between: rounded, as the last digits of a power differ between machines."""
    inner = []
    for i in range(1, points - 1):
        share = Fraction(i, points - 1)
        if log:
            inner.append(Fraction(f"{float(low) * float(high / low) ** float(share):.6g}"))
        else:
            inner.append(Fraction(f"{float(low + (high - low) * share):.12g}"))
    return [low, *inner, high]


#: The unit that a range of a kind is written in, its factor to the kind's own unit, and its rounding.
_WRITTEN = {
    "s": ("ns", Fraction(1, 10**9)),
    "bps": ("bit/s", Fraction(1)),
    **{kind: (kind, Fraction(1)) for kind in COUNTED},
}


def _written(number: Fraction, unit: str) -> Any:
    """A number of a range: nanoseconds, bits per second and counts are whole."""
    if unit in _WRITTEN:
        name, one = _WRITTEN[unit]
        return f"{round(number / one)} {name}"
    plain = int(number) if number.denominator == 1 and abs(number) < 2**53 else float(number)
    return f"{plain} {unit}" if unit else plain


def _split(text: str) -> list[str]:
    """Splits at commas outside of brackets and quotes."""
    depth, quoted, parts = 0, "", [""]
    for character in text:
        if quoted:
            quoted = "" if character == quoted else quoted
        elif character in "\"'":
            quoted = character
        else:
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(character, 0)
        if character == "," and depth <= 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


@dataclass(frozen=True)
class Column:
    """One key that a sweep varies, as a column of its tables."""

    key: str
    name: str
    #: bool, int, float or str.
    type: type[Key]
    #: "s", "bps", "bytes", "packets", "segments", "bdp", or "" for none.
    unit: str

    def as_dict(self) -> dict[str, str]:
        """As `sweep.json` has it."""
        return {"key": self.key, "column": self.name, "type": self.type.__name__, "unit": self.unit}


def quantity(text: Any) -> tuple[Fraction, str] | None:
    """The number and the unit of "10 Mbit/s" and the like, in bit/s, s or bytes; None for other text."""
    if not isinstance(text, str):
        return None
    number, _, written = spaced(text).partition(" ")
    if written not in UNITS:
        return None
    unit, factor = UNITS[written]
    try:
        size = abs(float(number))
    except ValueError:
        return None
    # A fraction of "1e-999999" would take hours.
    if size == 0:
        return Fraction(0), unit
    return (Fraction(number) * factor, unit) if 1e-30 < size < 1e30 else None


def ends(given: Sequence[Any], where: str, hint: str = "") -> tuple[Fraction, Fraction, str]:
    """Both ends of a range, and their unit: "" for plain numbers.

    Raises:
        ScenarioError: one is no quantity, which `hint` follows in the message, or their units differ.
    """
    read = []
    for end in given:
        plain = isinstance(end, int | float) and not isinstance(end, bool) and math.isfinite(end)
        found = (Fraction(str(end)), "") if plain else quantity(end)
        if found is None:
            raise ScenarioError(f"{where}: {end!r} is neither a number nor one with a unit{hint}")
        read.append(found)
    (low, unit), (high, other) = read
    if unit != other:
        raise ScenarioError(
            f"{where}: both ends need the same kind of unit, not {given[0]!r} and {given[1]!r}"
        )
    return low, high, unit


def column(key: str, values: Sequence[Any]) -> tuple[Column, list[Key]]:
    """The column of a key, and each of its values as it has them.

    Args:
        key: a dotted key, "link.sat.delay".
        values: those of the scenarios: texts with units, numbers, tables.
    """
    read = [quantity(value) for value in values]
    units = {found[1] for found in read if found is not None}
    if len(units) == 1 and None not in read:
        (unit,) = units
        numbers = [found[0] for found in read if found is not None]
        if unit in COUNTED and all(number.denominator == 1 for number in numbers):
            return Column(key, f"{key}_{unit}", int, unit), [int(number) for number in numbers]
        return Column(key, f"{key}_{unit}", float, unit), [float(number) for number in numbers]
    types = {type(value) for value in values}
    for kind in (bool, int, float):
        if types <= ({int, float} if kind is float else {kind}):
            return Column(key, key, kind, ""), [kind(value) for value in values]
    return Column(key, key, str, ""), [words(value) for value in values]


def words(value: Any) -> str:
    """A value as text: a table by its name, "simd beta=0.06"."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        rest = dict(value)
        name = rest.pop("name", None) or rest.pop("kind", None)
        if isinstance(name, str):
            return " ".join([name, *(f"{key}={words(member)}" for key, member in rest.items())])
    if isinstance(value, float):
        return f"{value:.10g}"
    return json.dumps(value, default=str)


def value_at(table: Any, key: str) -> Any:
    """The value at a dotted key of a scenario; None if there is none. "*" is the first, as all are alike."""
    return _member(table, key_parts(key) or [])


def _member(table: Any, parts: Sequence[str]) -> Any:
    for part in parts:
        if isinstance(table, Mapping):
            table = next(iter(table.values()), None) if part == "*" else table.get(part)
        elif isinstance(table, list) and table:
            if part == "*" or not part.isdigit():  # a list of one loss model equals that model
                table = table[0] if part == "*" else _member(table[0], [part])
            else:
                table = table[int(part)] if int(part) < len(table) else None
        else:
            return None
    return table


def chosen(axes_: Sequence[SweepAxis], text: str) -> list[int]:
    """The values that "cc=cubic, loss=1e-5" chooses: of each axis the number of one.

    A key may be cut to a part that means it alone: "loss" for link.sat.loss.rate. An axis of one value needs
    none.

    Raises:
        ScenarioError: a key or a value is none of these, or an axis has several values and none is chosen.
    """
    where, wanted = f"--point {text}", dict[str, Any]()
    for part in filter(None, map(str.strip, _split(text))):
        key, equals, value = map(str.strip, part.partition("="))
        keys = [one for axis in axes_ for one in axis.keys]
        near = [one for one in keys if key == one] or [one for one in keys if key in (key_parts(one) or [])]
        if not equals or len(near) != 1:
            how = f"{key} means {' and '.join(near)}" if near else f"no axis is called {key!r}"
            known = f"there are {', '.join(keys)}" if keys else "nothing varies here"
            raise ScenarioError(f"{where}: {how}; write KEY=VALUE, {known}")
        wanted[near[0]] = value
    found = []
    for axis in axes_:
        given = [(at, key) for at, key in enumerate(axis.keys) if key in wanted]
        fits = [
            nth for nth, row in enumerate(axis.rows) if all(_same(row[at], wanted[key]) for at, key in given)
        ]
        if len(fits) != 1:
            what = "has no such value" if not fits else "has several values"
            shown = "; ".join(", ".join(map(words, row)) for row in axis.rows[:_SHOWN])
            more = f" and {len(axis.rows) - _SHOWN} more" if len(axis.rows) > _SHOWN else ""
            raise ScenarioError(f"{where}: {' with '.join(axis.keys)} {what}: choose one of {shown}{more}")
        found.append(fits[0])
    return found


def _same(value: Any, text: str) -> bool:
    """Whether a value of an axis is the one that a text gives: "10 ms" is "10ms", 1e-5 is 0.00001."""
    given = value_of(text)
    if given == value or words(value) == text or str(value) == text:
        return True
    one, other = quantity(value), quantity(given)
    if one is not None and other is not None:
        return one[1] == other[1] and math.isclose(float(one[0]), float(other[0]), rel_tol=1e-3)
    return False


def put_at(table: Any, key: str, value: Any) -> None:
    """Sets the value at a dotted key of a scenario, and makes the tables on its way; "*" is every item.

    An algorithm that is a name becomes a table with that name before a parameter of it is set.

    Raises:
        ScenarioError: the key is none, or leads through something that is no table.
    """
    parts = key_parts(key)
    if not parts:
        raise ScenarioError(f"{key}: write a key of the scenario, for example link.sat.delay")
    _put(table, parts, value, key)


def _put(table: Any, parts: Sequence[str], value: Any, key: str) -> None:
    first, *rest = parts
    if isinstance(table, list):
        every = first == "*"
        if not every and not first.isdigit() and table:  # a list of one loss model equals that model
            return _put(table[0], parts, value, key)
        items: list[Any] = list(range(len(table))) if every else [int(first)] if first.isdigit() else []
        if not every and not (items and items[0] < len(table)):
            raise ScenarioError(f"{key}: {first} is not the number of an entry; there are {len(table)}")
    elif isinstance(table, dict):
        items = list(table) if first == "*" else [first]
    else:
        raise ScenarioError(f"{key}: the scenario has no table there")
    for item in items:
        if not rest:
            table[item] = value
            continue
        if isinstance(table, dict):
            table[item] = {} if table.get(item) is None else table[item]
            if item == "cc" and isinstance(table[item], str):
                table[item] = {"name": table[item]}
        _put(table[item], rest, value, key)
