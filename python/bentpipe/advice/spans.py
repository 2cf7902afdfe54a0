"""Values of a link that are known, and those of which only a range is: "600 ms", "550 ms..650 ms"."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from bentpipe import _core
from bentpipe.units import digits, spaced

FACTORS: Mapping[str, Mapping[str, float]] = {
    "rate": {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9},
    "rtt": {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0},
    "buffer": {"packets": 1.0, "bytes": 1.0, "kB": 1e3, "MB": 1e6, "bdp": 1.0},
    "per": {"": 1.0},
    "ber": {"": 1.0},
}
"""The units of each quantity that may be a range; an error rate has none."""
_EXAMPLES = {"rate": "20 Mbit/s", "rtt": "600 ms", "buffer": "1 bdp", "per": "1e-4", "ber": "1e-7"}
_FAR = 10.0
"""Ends whose ratio is at least this are a range of magnitudes: it is drawn from on a logarithmic scale."""


@dataclass(frozen=True)
class Span:
    """A quantity of a link, or the range in which it lies.

    Attributes:
        name: "rate", "rtt", "buffer", "per" or "ber".
        low: its least value, in `unit`.
        high: its greatest; the same if it is known.
        unit: one of `FACTORS`; empty for error rates.
    """

    name: str
    low: float
    high: float
    unit: str

    @property
    def known(self) -> bool:
        """Is it one value?"""
        return self.low == self.high

    def at(self, share: float) -> str:
        """The value that lies this far into the range, as a scenario has it: "575 ms"."""
        if self.known:
            value = self.low
        elif self.low > 0 and self.high >= _FAR * self.low:
            value = self.low * (self.high / self.low) ** share
        else:
            value = self.low + (self.high - self.low) * share
        if self.unit in ("packets", "bytes"):
            value = max(round(value), 1)
        return f"{value:.9g} {self.unit}".rstrip()

    def __str__(self) -> str:
        ends = [digits(value).rstrip("0").rstrip(".") if "." in digits(value) else digits(value)
                for value in (self.low, self.high)]  # fmt: skip
        shown = ends[0] if self.known else f"{ends[0]} to {ends[1]}"
        return f"{shown} {self.unit}".rstrip()


def span(name: str, text: str | float) -> Span:
    """Reads "600 ms", "550 ms..650 ms" or "550..650 ms"; of error rates 1e-4, "1e-5..1e-4".

    Raises:
        ScenarioError: it is neither, or the ends are in the wrong order.
    """
    ends = str(text).split("..")
    if len(ends) > 2 or not all(end.strip() for end in ends):
        _refuse(name, str(text))
    parts = [_end(name, end, str(text)) for end in ends]
    unit = parts[-1][1]
    first = parts[0] if parts[0][1] or name in ("per", "ber") else (parts[0][0], unit)
    if not unit and name not in ("per", "ber"):
        _refuse(name, str(text))
    scale = FACTORS[name]
    counted = ("packets", "bytes", "bdp")
    if first[1] != unit and (first[1] in counted or unit in counted):
        raise _core.ScenarioError(f"{name}: {text!r} has two kinds of unit; write both ends in one")
    low, high = first[0] * scale[first[1]] / scale[unit], parts[-1][0]
    if low > high:
        raise _core.ScenarioError(f"{name}: {text!r} ends below where it begins; write the lower end first")
    return Span(name, low, high, unit)


def points(count: int, n: int) -> list[float]:
    """How far into each of `count` ranges the `n`-th run lies, 0 to 1: a point of Halton's sequence.

    The points of any first few runs lie evenly over all ranges (J. H. Halton, On the efficiency of certain
    quasi-random sequences of points, Numerische Mathematik 2, 1960). All algorithms of run n have the same.
    """
    return [_radical_inverse(n + 1, base) for base in (2, 3, 5, 7, 11)[:count]]


def _radical_inverse(n: int, base: int) -> float:
    """The digits of `n` mirrored at the point."""
    value, weight = 0.0, 1.0 / base
    while n:
        n, digit = divmod(n, base)
        value += digit * weight
        weight /= base
    return value


def _end(name: str, text: str, whole: str) -> tuple[float, str]:
    """Number and unit of one end."""
    found = re.fullmatch(r"([0-9.]+(?:[eE][-+]?[0-9]+)?) ?(\S*)", spaced(text.strip()))
    try:
        value = float(found[1]) if found else math.nan
    except ValueError:
        value = math.nan
    least = 0.0 if name in ("per", "ber") else 5e-324
    most = 1.0 if name in ("per", "ber") else math.inf
    if found is None or not (least <= value <= most and math.isfinite(value)):
        _refuse(name, whole)
    units = {unit.lower(): unit for unit in FACTORS[name]}
    if found[2] and found[2].lower() not in units:
        _refuse(name, whole)
    return value, units.get(found[2].lower(), "")


def _refuse(name: str, text: str) -> NoReturn:
    example = _EXAMPLES[name]
    number, _, unit = example.partition(" ")
    other = f"{float(number) * 1.5:g} {unit}".rstrip() if unit else f"{float(number) * 10:.0e}"
    raise _core.ScenarioError(
        f'{name}: {text!r} is no value and no range; write for example "{example}" or "{example}..{other}"'
    )
