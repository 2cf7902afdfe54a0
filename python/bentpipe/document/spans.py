"""Values of a link: known ones, and ranges of unknown ones: "600 ms", "550-650 ms"; intervals of time."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from bentpipe import _core, units
from bentpipe.units import short

_COUNTED = {"packet": "packets", "packets": "packets", "BDP": "bdp", "bdp": "bdp"}
_USUAL = units.USUAL | _COUNTED | {"": ""}
_UNITS: Mapping[str, Mapping[str, float]] = {
    "rate": units.FACTORS["rate"],
    "rtt": units.FACTORS["time"],
    "buffer": {**units.FACTORS["size"], **units.FACTORS["time"], **dict.fromkeys(_COUNTED, 1.0)},
    "per": {"": 1.0},
    "ber": {"": 1.0},
}
"""The units of each quantity that may be a range; an error rate has none."""
_EXAMPLES = {"rate": "20 Mbit/s", "rtt": "600 ms", "buffer": "1 bdp", "per": "1e-4", "ber": "1e-7"}
_NUMBER = r"(\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)"
_UNIT = r"\s*([A-Za-zµ%/]*)\s*"
_TEXT = re.compile(rf"\s*{_NUMBER}{_UNIT}(?:(?:\.\.|-|–|\bto\b)\s*{_NUMBER}{_UNIT})?")
"""A value, or two with "..", "-" or "to" between them."""
_FAR = 10.0
"""Ends whose ratio is at least this are a range of magnitudes: it is drawn from on a logarithmic scale."""


@dataclass(frozen=True)
class LinkSpec:
    """Values of a link in place of its own, as `bentpipe.comparison.compare` describes them."""

    rate: str | None = None
    rtt: str | None = None
    ber: float | None = None
    per: float | None = None
    buffer: str | None = None
    timeline: str | Path | None = None

    @property
    def given(self) -> list[str]:
        """The names of those that are there."""
        return [name for name, value in vars(self).items() if value is not None]


@dataclass(frozen=True)
class Span:
    """A quantity of a link, or the range in which it lies.

    Attributes:
        name: "rate", "rtt", "buffer", "per" or "ber".
        low: its least value, in `unit`.
        high: its greatest; the same if it is known.
        unit: in its usual spelling; empty for error rates.
    """

    name: str
    low: float
    high: float
    unit: str

    @property
    def known(self) -> bool:
        """Whether it is a single value."""
        return self.low == self.high

    @property
    def factor(self) -> float:
        """The factor of the unit to bit/s, seconds or bytes; 1 for packets and `bdp`."""
        return _UNITS[self.name][self.unit]

    @property
    def kind(self) -> str:
        """What the unit counts: "size", "time" or "rate"; of others the unit."""
        return _kind(self.unit)

    def at(self, share: float) -> str:
        """The value that lies this far into the range, as a scenario has it: "575 ms"."""
        if self.known:
            value = self.low
        elif self.low > 0 and self.high >= _FAR * self.low:
            value = self.low * (self.high / self.low) ** share
        else:
            value = self.low + (self.high - self.low) * share
        if self.unit in units.FACTORS["size"]:
            return f"{max(round(value * self.factor), 1)} bytes"
        if self.unit == "packets":
            value = max(round(value), 1)
        return f"{value:.9g} {self.unit}".rstrip()

    def __str__(self) -> str:
        shown = short(self.low) if self.known else f"{short(self.low)} to {short(self.high)}"
        return f"{shown} {self.unit}".rstrip()


def span(name: str, text: str | float) -> Span:
    """Reads "600 ms", "550-650 ms", "550 ms..650 ms" or "550 to 650 ms"; of error rates 1e-4, "1e-5..1e-4".

    Raises:
        ScenarioError: it is neither, or the ends are in the wrong order.
    """
    whole = str(text)
    found = _TEXT.fullmatch(whole)
    if found is None:
        _refuse(name, whole)
    first, low_unit, second, high_unit = (part or "" for part in found.groups())
    if second:
        ends = [_end(name, first, low_unit or high_unit, whole), _end(name, second, high_unit, whole)]
    else:
        ends = [_end(name, first, low_unit, whole)]
    unit = ends[-1][1]
    if _kind(ends[0][1]) != _kind(unit):
        raise _core.ScenarioError(f"{name}: {whole!r} has two kinds of unit; write both ends in one")
    scale = _UNITS[name]
    low, high = ends[0][0] * scale[ends[0][1]] / scale[unit], ends[-1][0]
    if low > high:
        raise _core.ScenarioError(f"{name}: {whole!r} ends below where it begins; write the lower end first")
    return Span(name, low, high, unit)


def ranges(**values: str | float | None) -> dict[str, Span]:
    """The quantities of a link that are there, each as `span` reads it.

    Raises:
        ScenarioError: one is no value and no range.
    """
    return {name: span(name, value) for name, value in values.items() if value is not None}


def points(count: int, n: int) -> list[float]:
    """The position of the `n`-th run in each of `count` ranges, 0 to 1: a point of Halton's sequence.

    The points of any first few runs lie evenly over all ranges (J. H. Halton, On the efficiency of certain
    quasi-random sequences of points, Numerische Mathematik 2, 1960). All algorithms of run n have the same.
    """
    return [radical_inverse(n + 1, base) for base in (2, 3, 5, 7, 11)[:count]]


def radical_inverse(n: int, base: int) -> float:
    """The digits of `n` mirrored at the point: evenly spread, whatever the count."""
    value, weight = 0.0, 1.0 / base
    while n:
        n, digit = divmod(n, base)
        value += digit * weight
        weight /= base
    return value


def merged(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Intervals of time in order, those that touch each other as one."""
    found: list[tuple[float, float]] = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((begin, end))
    return found


def _kind(unit: str) -> str:
    return next((kind for kind, factors in units.FACTORS.items() if unit in factors), unit)


def _end(name: str, number: str, unit: str, whole: str) -> tuple[float, str]:
    """Number and unit of one end."""
    value = float(number)
    shares = name in ("per", "ber")
    if shares and unit == "%":
        value, unit = value / 100, ""
    # "mbit/s" is Mbit/s, but "MB/s" is not Mb/s.
    usual = {_USUAL[known].lower(): _USUAL[known] for known in _UNITS[name]}
    unit = _USUAL[unit] if unit in _UNITS[name] else usual.get(unit.lower(), unit)
    if unit not in _UNITS[name] or not math.isfinite(value) or value < 0:
        _refuse(name, whole)
    if value == 0 and not shares:
        raise _core.ScenarioError(f"{name}: it must be above zero, not {whole!r}")
    if shares and value > 1:
        raise _core.ScenarioError(f"{name}: {whole!r} is beyond what a probability can be, 0 to 1")
    return value, unit


def _refuse(name: str, text: str) -> NoReturn:
    example = _EXAMPLES[name]
    number, _, unit = example.partition(" ")
    other = f"{float(number) * 1.5:g} {unit}" if unit else f"1e{int(number[2:]) + 1}"
    raise _core.ScenarioError(
        f'{name}: {text!r} is no value and no range; write for example "{example}" or "{example}..{other}"'
    )
