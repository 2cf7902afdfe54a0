"""The columns of varied keys: names with units, and plain numbers.

`link.sat.delay` = "25 ms" is the column `link.sat.delay_s` with the number 0.025. Values without a number,
such as the name of an algorithm, are text.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from bentpipe._core import ScenarioError
from bentpipe.sweeps.case import Key

#: The name of a unit in the name of a column, and its factor.
UNITS: dict[str, tuple[str, Fraction]] = {
    **{unit: ("s", Fraction(1, 10**n)) for unit, n in (("ns", 9), ("us", 6), ("ms", 3), ("s", 0))},
    **{unit: ("s", Fraction(n)) for unit, n in (("min", 60), ("h", 3600), ("d", 86400))},
    **{
        prefix + unit: ("bps", Fraction(1000**n))
        for n, prefix in enumerate(("", "k", "M", "G", "T"))
        for unit in ("bit/s", "bps")
    },
    **{unit: ("bytes", Fraction(1)) for unit in ("bytes", "byte", "B")},
    **{prefix + "B": ("bytes", Fraction(1000**n)) for n, prefix in enumerate(("k", "M", "G"), 1)},
    **{prefix + "iB": ("bytes", Fraction(1024**n)) for n, prefix in enumerate(("K", "M", "G"), 1)},
    **{unit: ("packets", Fraction(1)) for unit in ("packets", "packet")},
    **{unit: ("segments", Fraction(1)) for unit in ("segments", "segment")},
    **{unit: ("bdp", Fraction(1)) for unit in ("bdp", "BDP")},
}
#: Units of things that are counted: their numbers are whole.
COUNTED = ("bytes", "packets", "segments")


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
    text = text.strip()
    at = len(text)
    while at and (text[at - 1].isalpha() or text[at - 1] == "/"):
        at -= 1
    if text[at:] not in UNITS:
        return None
    unit, factor = UNITS[text[at:]]
    number = text[:at].strip()
    try:
        if not number or "/" in number or not 1e-30 < abs(float(number)) < 1e30 and float(number) != 0:
            return None
        return Fraction(number) * factor, unit
    except ValueError:
        return None


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
    for part in key.split("."):
        part = part.strip().strip('"')
        if isinstance(table, Mapping):
            table = next(iter(table.values()), None) if part == "*" else table.get(part)
        elif isinstance(table, list) and table:
            if part == "*" or not part.isdigit():  # a list of one loss model equals that model
                table = table[0] if part == "*" else value_at(table[0], part)
            else:
                table = table[int(part)] if int(part) < len(table) else None
        else:
            return None
    return table
