"""The quantities of weather as text with a unit: "20 GHz", "14 dB", "30 Mbaud"."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from bentpipe import _core
from bentpipe.units import number


@dataclass(frozen=True)
class Quantity:
    """A kind of quantity: its units as factors, an example, and the range in which it makes sense."""

    units: dict[str, float]
    example: str
    least: float = -math.inf
    most: float = math.inf

    def read(self, text: str, what: str) -> float:
        """The value of a text, in the unit whose factor is 1.

        Raises:
            ScenarioError: it is not such a quantity, or out of range; `what` names it in the message.
        """
        value = number(str(text), self.units)
        if value is None or not math.isfinite(value):
            raise _core.ScenarioError(
                f"{what}: {text!r} does not say how much; write for example {self.example!r}"
            )
        if not self.least <= value <= self.most:
            unit = next(name for name, factor in self.units.items() if factor == 1)
            bounds = f"from {self.least:g} to {self.most:g} {unit}"
            raise _core.ScenarioError(f"{what}: {text!r} is out of range; it must be {bounds}")
        return value

    def of(self, attribute: str) -> cached_property[float]:
        """A property of a class: the value of the text in an attribute, read once."""
        return cached_property(lambda owner: self.read(getattr(owner, attribute), attribute))


FREQUENCY: Final = Quantity({"GHz": 1.0, "MHz": 1e-3}, "20 GHz", 4.0, 55.0)
"""In GHz; the range is that of P.1853-1 for paths between Earth and space."""
ELEVATION: Final = Quantity({"deg": 1.0, "°": 1.0}, "35 deg", 5.0, 90.0)
"""In degrees; the range is that of P.1853-1 for paths between Earth and space."""
DIAMETER: Final = Quantity({"m": 1.0, "cm": 1e-2}, "60 cm", 0.05, 70.0)
HEIGHT: Final = Quantity({"km": 1.0, "m": 1e-3}, "120 m", -0.5, 6.0)
RATIO: Final = Quantity({"dB": 1.0}, "14 dB", -20.0, 60.0)
MARGIN: Final = Quantity({"dB": 1.0}, "1 dB", 0.0, 20.0)
TEMPERATURE: Final = Quantity({"K": 1.0}, "242 K", 10.0, 1e5)
SYMBOL_RATE: Final = Quantity({"baud": 1.0, "kbaud": 1e3, "Mbaud": 1e6, "Gbaud": 1e9}, "30 Mbaud", 1e3, 1e10)
