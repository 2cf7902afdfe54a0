"""Ground points, by name or by coordinates.

The table is `places.csv` beside this file: the hundred largest cities, more cities, the stations of
`crates/sim/src/orbit/stations.rs`, and gateways. The coordinates of the hundred cities are those of Hypatia's
list, so that paths can be compared. A gateway's source is the filing or the report that names the town; its
position is the town's, to a tenth of a degree, which changes a delay by less than 40 us.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from bentpipe import _core

if TYPE_CHECKING:
    import polars as pl

KINDS = ("city", "station", "gateway")
"""The kinds of places; among places of one name, an earlier kind takes precedence."""

SOURCES = {
    "hypatia": "the 100 largest cities as estimated for 2025: Hypatia's list (github.com/snkas/hypatia, MIT)",
    "rounded": "the city to a tenth of a degree (11 km)",
    "sim": "crates/sim/src/orbit/stations.rs",
}
"""The sources that `places.csv` names by a word. Hypatia's file is
`paper/satellite_networks_state/input_data/ground_stations_cities_sorted_by_estimated_2025_pop_top_100.basic.txt`."""

HIGHEST_M = 100_000.0
"""Highest altitude of a ground point: beyond it is space."""
LOWEST_M = -12_000.0
"""Lowest altitude of a ground point: the sea is nowhere deeper."""

_NUMBER = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)"
_COORDINATES = re.compile(rf"\s*({_NUMBER})\s*,\s*({_NUMBER})\s*(?:,\s*(.+?)\s*)?")


@dataclass(frozen=True)
class Point:
    """A point on or above the ground: degrees, geodetic on WGS84, and metres above the ellipsoid."""

    name: str
    lat_deg: float
    lon_deg: float
    alt_m: float = 0.0

    def request(self) -> dict[str, object]:
        """The point as the compiled module takes it."""
        return {"name": self.name, "lat": self.lat_deg, "lon": self.lon_deg, "alt_m": self.alt_m}


@cache
def table() -> pl.DataFrame:
    """The places: kind, name, aliases (with ";" between), country, lat_deg, lon_deg, alt_m, source."""
    import polars as pl

    text = files("bentpipe.orbit").joinpath("places.csv").read_bytes()
    numbers = dict.fromkeys(("lat_deg", "lon_deg", "alt_m"), pl.Float64)
    return pl.read_csv(text, schema_overrides=numbers).with_columns(pl.col("source").replace(SOURCES))


def key(name: str) -> str:
    """A name without accents, case and punctuation: "São-Paulo" and "sao paulo" are one."""
    bare = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    return " ".join(re.findall(r"[a-z0-9]+", bare.casefold().replace("'", "")))


@cache
def _known() -> dict[str, Point]:
    found: dict[str, Point] = {}
    rows = sorted(table().iter_rows(named=True), key=lambda row: KINDS.index(row["kind"]))
    for whole in (True, False):  # a name goes before another place's alias
        for row in rows:
            point = Point(row["name"], row["lat_deg"], row["lon_deg"], row["alt_m"])
            for name in [row["name"]] if whole else filter(None, (row["aliases"] or "").split(";")):
                found.setdefault(key(name), point)
    return found


def find(name: str) -> Point:
    """The place of this name.

    Raises:
        ScenarioError: there is none; the message gives the nearest names.
    """
    known = _known()
    found = known.get(key(name))
    if found is not None:
        return found
    near = _core.nearest(key(name), list(known))
    names = list(dict.fromkeys(known[one].name for one in near))
    hint = f"did you mean {' or '.join(names)}" if names else "see bentpipe orbit places"
    raise _core.ScenarioError(f'no place is called {name!r}; {hint}, or coordinates such as "35.69,139.69"?')


def point(text: str, what: str = "place") -> Point:
    """A place by its name, or by "latitude,longitude" or "latitude,longitude,altitude" in degrees and metres.

    The altitude may have a unit: "35.69,139.69,11 km".

    Raises:
        ScenarioError: no such place, or invalid coordinates; `what` names it in the message.
    """
    found = _COORDINATES.fullmatch(text)
    if found is None:
        if "," in text and not re.search(r"[^\W\d]", text):
            raise _core.ScenarioError(
                f'{what} {text!r}: write latitude and longitude in degrees, "35.69,139.69", or with an '
                'altitude, "35.69,139.69,120 m"'
            )
        return find(text)
    lat, lon = float(found[1]), float(found[2])
    alt = 0.0 if found[3] is None else metres(found[3], f"{what} {text!r}")
    return checked(Point(text.strip(), lat, lon, alt), what)


def checked(point: Point, what: str) -> Point:
    """The same point.

    Raises:
        ScenarioError: it is not on Earth.
    """
    for label, value, low, high, unit in (
        ("latitude", point.lat_deg, -90.0, 90.0, "degrees"),
        ("longitude", point.lon_deg, -180.0, 360.0, "degrees"),
        ("altitude", point.alt_m, LOWEST_M, HIGHEST_M, "m"),
    ):
        if not (math.isfinite(value) and low <= value <= high):
            raise _core.ScenarioError(
                f"{what} {point.name!r}: {label} {value:.10g} is not between {low:g} and {high:g} {unit}"
            )
    return point


def metres(text: str, what: str) -> float:
    """The metres in a length such as "11 km" or "120 m"; a bare number is metres.

    Raises:
        ScenarioError: it is not a length; `what` names it in the message.
    """
    found = re.fullmatch(rf"\s*({_NUMBER})\s*(m|km|ft|)\s*", text)
    if found is None:
        raise _core.ScenarioError(f'{what}: {text!r} is not a length; write for example "11 km" or "120 m"')
    return float(found[1]) * {"": 1.0, "m": 1.0, "km": 1000.0, "ft": 0.3048}[found[2]]
