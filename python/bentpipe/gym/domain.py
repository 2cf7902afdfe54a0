"""Random ranges of a scenario: a value for each key, drawn anew for each episode."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bentpipe._core import ScenarioError
from bentpipe.sweeps.vary import ends

_EXAMPLE = '("1 Mbit/s", "50 Mbit/s"), {"log": ("10 ms", "1 s")}, or a list of values'
_WHOLE = {"bps": "bit/s", "s": "ns", "packets": "packets", "segments": "segments"}
"""The unit in which a drawn value is whole, by the kind of its range."""


@dataclass(frozen=True)
class Range:
    """The values of a key, uniform between two ends, uniform in their logarithm, or one of a list."""

    key: str
    low: float = 0.0
    high: float = 0.0
    unit: str = ""
    log: bool = False
    whole: bool = False
    choices: tuple[Any, ...] = ()

    def draw(self, random: np.random.Generator) -> Any:
        """A value as a scenario has it. Every range takes one draw."""
        if self.choices:
            return self.choices[int(random.integers(len(self.choices)))]
        share = float(random.random())
        if self.log:
            value = self.low * math.exp(share * math.log(self.high / self.low))
        else:
            value = self.low + (self.high - self.low) * share
        if self.unit == "s":
            return f"{round(value * 1e9)} ns"
        if self.unit in _WHOLE:
            return f"{round(value)} {_WHOLE[self.unit]}"
        if self.unit:
            return f"{value:.12g} {self.unit}"
        return round(value) if self.whole else value


def ranges(domain: Mapping[str, Any]) -> list[Range]:
    """The ranges of a domain, in the order of their keys.

    Raises:
        ScenarioError: a range is none; the message names its key.
    """
    return [_range(key, domain[key]) for key in sorted(domain)]


def _range(key: str, given: Any) -> Range:
    log = isinstance(given, Mapping)
    if log:
        if set(given) != {"log"}:
            raise ScenarioError(f"domain: {key}: write {_EXAMPLE}")
        given = given["log"]
    if isinstance(given, list) and not log:
        if not given:
            raise ScenarioError(f"domain: {key}: the list is empty; write {_EXAMPLE}")
        return Range(key, choices=tuple(given))
    if not (isinstance(given, tuple | list) and len(given) == 2):
        raise ScenarioError(f"domain: {key}: {given!r} is no range; write {_EXAMPLE}")
    low, high, unit = ends(given, f"domain: {key}", f"; write {_EXAMPLE}")
    if not low <= high or log and low <= 0:
        above = " and above 0" if log else ""
        raise ScenarioError(
            f"domain: {key}: the ends must be in order{above}, not {given[0]!r} and {given[1]!r}"
        )
    whole = all(isinstance(end, int) for end in given)
    return Range(key, float(low), float(high), unit, log, whole)
