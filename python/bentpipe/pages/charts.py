"""Interactive charts: their contents as plain data that the script of the page reads."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

#: Colours of curves that have none of their own, distinct for everyone (Okabe and Ito, "Color Universal
#: Design", 2008), without the black that CUBIC has.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#7F7F7F", "#8C564B")


@dataclass(frozen=True)
class Axis:
    """An axis: its label with the unit, ``"goodput, Mbit/s"``.

    ``names`` makes it one of categories: the position i has the name ``names[i]``. On a logarithmic axis
    values that are not above zero are left out. ``least`` and ``most`` are the ends of the whole view, where
    the values do not give them.
    """

    label: str
    log: bool = False
    names: Sequence[str] = ()
    least: float | None = None
    most: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain values for the script."""
        return {**asdict(self), "names": list(self.names)}


@dataclass(frozen=True)
class Curve:
    """The points of one algorithm, or of whatever the legend names.

    ``low`` and ``high`` are the ends of the interval of each point (NaN: none). ``notes`` describe each
    point where it is pointed at: ``"seed 3"``. Values that are not finite are gaps.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    kind: Literal["line", "steps", "points", "both"] = "line"
    colour: str = ""
    marker: str = "o"
    dashes: Sequence[float] = ()
    notes: Sequence[str] = ()

    def as_dict(self, nth: int, x: Axis, y: Axis) -> dict[str, Any]:
        """Plain values for the script; ``nth`` chooses a colour where there is none.

        Raises:
            ValueError: its columns differ in length.
        """
        columns = {"y": self.y, "low": self.low, "high": self.high, "notes": self.notes or None}
        for name, values in columns.items():
            if values is not None and len(values) != len(self.x):
                raise ValueError(
                    f"curve {self.label!r}: x has {len(self.x)} values and {name} has {len(values)}"
                )
        plain: dict[str, Any] = {
            "label": self.label,
            "kind": self.kind,
            "colour": self.colour or COLOURS[nth % len(COLOURS)],
            "marker": self.marker,
            "dashes": list(self.dashes),
            "x": _rounded(self.x, x),
            "y": _rounded(self.y, y),
        }
        if self.low is not None and self.high is not None:
            plain |= {"low": _rounded(self.low, y), "high": _rounded(self.high, y)}
        if self.notes:
            plain["notes"] = list(self.notes)
        return plain


def curves(
    given: Sequence[Curve] | Mapping[str, Sequence[Curve]], x: Axis, y: Axis, choose: str = ""
) -> dict[str, Any]:
    """A chart of curves; of a mapping the reader chooses by name, with the first shown initially.

    Raises:
        ValueError: there are none, or none under a name, or the columns of one differ in length.
    """
    axes = {"x": x.as_dict(), "y": y.as_dict()}
    if isinstance(given, Mapping):
        drawn = [[name, curves(of, x, y)["curves"]] for name, of in given.items()]
        return axes | {"choose": choose, "choices": drawn, "curves": []}
    if not given:
        raise ValueError("a chart needs a curve")
    return axes | {"curves": [curve.as_dict(i, x, y) for i, curve in enumerate(given)]}


def cells(
    values: Sequence[Sequence[float]],
    x: Axis,
    y: Axis,
    quantity: str,
    ends: tuple[float, float] | None = None,
) -> dict[str, Any]:
    """A heat map: ``values[j][i]`` belongs to ``y.names[j]`` and ``x.names[i]``; NaN is left empty.

    ``ends`` are the values of the first and the last colour, if not the least and the greatest value.

    Raises:
        ValueError: the shape is not that of the names, or no value is finite.
    """
    if len(values) != len(y.names) or any(len(row) != len(x.names) for row in values):
        raise ValueError(f"a heat map of {len(y.names)} rows and {len(x.names)} columns needs as many values")
    if not any(math.isfinite(value) for row in values for value in row):
        raise ValueError("a heat map needs a value that is finite")
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    # cividis: the same to readers with and without deficient colour vision (Nuñez, Anderton, Renslow, 2018).
    scale = [to_hex(colormaps["cividis"](i / 15)) for i in range(16)]
    across = [i for _ in values for i in range(len(x.names))]
    up = [j for j, row in enumerate(values) for _ in row]
    flat = _rounded([value for row in values for value in row], Axis(quantity))
    return {
        "x": x.as_dict(),
        "y": y.as_dict(),
        "quantity": quantity,
        "scale": scale,
        "ends": ends,
        "curves": [{"label": quantity, "kind": "cells", "colour": "", "value": flat, "x": across, "y": up}],
    }


def _rounded(values: Sequence[float], axis: Axis) -> list[float | None]:
    """Seven digits of each: more than a screen shows, and half the size of all."""
    least = 0.0 if axis.log else -math.inf
    return [
        float(f"{value:.7g}") if value is not None and math.isfinite(value) and value > least else None
        for value in values
    ]
