"""Values with units in text: reading a few, and writing them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Literal

from bentpipe import _core

MSS = 1448
"""Payload bytes of a full segment on Ethernet; TCP has its option of timestamps."""
HEADERS = 52
"""Bytes of headers on each segment: 20 of IPv4, 20 of TCP, 12 of timestamps, as Linux has them."""
PACKET = MSS + HEADERS
"""Bytes of a full segment on the wire."""
TABLES = json.loads(_core.units())
"""The units of "time", "rate" and "size": factors to ns, bit/s and bytes, and the spellings of each."""
_SCALES = {"time": 1e9, "rate": 1, "size": 1}
FACTORS: Mapping[str, Mapping[str, float]] = {
    quantity: {name: factor / _SCALES[quantity] for factor, names in table for name in names}
    for quantity, table in TABLES.items()
}
"""The units of "time", "rate" and "size" that scenarios have, and their factors to s, bit/s and bytes."""
USUAL = {name: names[0] for table in TABLES.values() for _, names in table for name in names}
"""Of each spelling of a unit the usual one: of "Mbps" it is "Mbit/s"."""


def spaced(text: str) -> str:
    """The value with one space between number and unit, as scenarios have it: "1.5bdp" becomes "1.5 bdp"."""
    return re.sub(r"^\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*([^\s0-9.].*?)\s*$", r"\1 \2", text)


def number(text: str, factors: Mapping[str, float]) -> float | None:
    """The number of a text such as "600 ms", times the factor of its unit; None if it is no such text."""
    value, _, unit = spaced(text).partition(" ")
    try:
        return float(value) * factors[unit]
    except (KeyError, ValueError):
        return None


def share(text: str) -> float | None:
    """The share of 1 in a text such as "1e-4" or "0.01 %"; None if it is no such text."""
    value, percent, rest = text.partition("%")
    try:
        return None if rest.strip() else float(value) / (100 if percent else 1)
    except ValueError:
        return None


Quantity = Literal["time", "rate", "size"]
_EXAMPLES: Mapping[Quantity, tuple[str, str]] = {
    "time": ("duration", '"600 ms" or "30 s"'),
    "rate": ("rate", '"242 Mbit/s"'),
    "size": ("size", '"1 MiB"'),
}


def quantity(kind: Quantity, text: str, what: str) -> float:
    """The seconds, bits per second or bytes in a text such as "600 ms".

    Raises:
        ScenarioError: it is no such text; `what` names it in the message.
    """
    value = number(text, FACTORS[kind])
    if value is None:
        word, example = _EXAMPLES[kind]
        raise _core.ScenarioError(f"{what}: {text!r} is not a {word}; write for example {example}")
    return value


def positive(kind: Quantity, text: str, what: str) -> float:
    """A `quantity` that must be above zero and finite."""
    value = quantity(kind, text, what)
    if not (math.isfinite(value) and value > 0):
        raise _core.ScenarioError(f"{what}: a {_EXAMPLES[kind][0]} must be positive, not {text!r}")
    return value


def seconds(text: str, what: str) -> float:
    """The seconds in a duration: `positive`."""
    return positive("time", text, what)


def bits_per_second(text: str, what: str) -> float:
    """The bits per second in a rate: `positive`."""
    return positive("rate", text, what)


def rate(bits_per_second: float) -> str:
    """A rate to four digits: "9.876 Mbit/s"."""
    for factor, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if abs(bits_per_second) >= factor:
            return f"{digits(bits_per_second / factor)} {unit}"
    return f"{digits(bits_per_second)} bit/s"


def digits(value: float | None, count: int = 4) -> str:
    """A number to `count` significant digits, "-" if there is none; tiny and huge ones in powers of ten."""
    if value is None or not math.isfinite(value):
        return "-"
    if value == 0:
        return "0"
    places = count - 1 - exponent(value)
    if -count < places < 8:
        return f"{value:.{max(places, 0)}f}"
    return f"{value:.{count - 1}e}"


def exponent(value: float) -> int:
    """The power of ten of the first digit of a number; 0 of zero."""
    return math.floor(math.log10(abs(value))) if value else 0


def short(value: float, count: int = 4, *, powers_below: float = 1e-4) -> str:
    """A number to `count` significant digits without zeros at its end: "0.25", "1e-5"."""
    if 0 < abs(value) < powers_below:
        number, _, power = f"{value:.{count - 1}e}".partition("e")
        return f"{float(number):g}e{int(power)}"
    text = digits(value, count)
    if "e" in text:
        return f"{value:.{count}g}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def cell(value: float | None, form: str) -> str:
    """A number in a format of Python's, "-" if there is none."""
    return "-" if value is None or math.isnan(value) else format(value, form)


def many(count: int, what: str) -> str:
    """Things that are counted: "1 run", "1,000 runs"."""
    return f"{count:,} {what}{'s' * (count != 1)}"


def milliseconds(value: float | None) -> str:
    """A time in seconds as milliseconds without the unit, "-" if there is none."""
    return "-" if value is None else cell(value * 1e3, ".0f" if value >= 0.1 else ".1f")


def percent(share: float | None, places: int = 1) -> str:
    """A share as percent without the sign, "-" if there is none."""
    return "-" if share is None else cell(100 * share, f".{places}f")


def in_percent(share: float | None, form: str = ".1f") -> str:
    """A share with its unit, "12.3 %", in a format of Python's; "-" if there is none."""
    return "-" if share is None else f"{100 * share:{form}} %"
