"""Ground points, by name or by coordinates, and those that move: on a great circle, or as a file has them.

The table is `places.csv` beside this file: the hundred largest cities, more cities, the stations of
`crates/sim/src/orbit/stations.rs`, and gateways. The coordinates of the hundred cities are those of Hypatia's
list, so that paths can be compared. A gateway's source is the filing or the report that names the town; its
position is the town's, to a tenth of a degree, which changes a delay by less than 40 us.
"""

from __future__ import annotations

import bisect
import math
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from bentpipe import _core, units
from bentpipe.io.foreign import lines, quoted, refuse

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
EARTH_RADIUS_M = 6_371_008.8
"""Mean radius of WGS84, (2a + b) / 3: on this sphere a great circle is measured."""

STEP_S = 10.0
"""Seconds between two positions of a voyage. At 300 m/s the straight line between them is 0.2 m below the
arc."""

FASTEST_M_S = 1000.0
"""Fastest voyage: three times the speed of sound. Anything faster is a mistake in the unit."""

_SPEEDS = {"km/h": 1 / 3.6, "m/s": 1.0, "kn": 1852 / 3600, "knots": 1852 / 3600}
_VOYAGE = re.compile(r"(.+?)\s+to\s+(.+?)\s+at\s+([^,]+?)\s*(?:,\s*([^,]+?)\s*)?(?:,\s*after\s+([^,]+?)\s*)?")


@dataclass(frozen=True)
class Point:
    """A point on or above the ground: degrees, geodetic on WGS84, and metres above the ellipsoid."""

    name: str
    lat_deg: float
    lon_deg: float
    alt_m: float = 0.0

    def at(self, t_s: float) -> Point:  # noqa: ARG002
        """The point: it stands."""
        return self

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


@dataclass(frozen=True)
class Track:
    """Positions over time: rows of t_s, latitude and longitude in degrees, altitude in metres.

    Before the first row and after the last one the point rests.
    """

    name: str
    rows: tuple[tuple[float, float, float, float], ...]

    def at(self, t_s: float) -> Point:
        """Where it is at an instant: between two rows on the great circle."""
        behind = bisect.bisect_right(self.rows, t_s, key=lambda row: row[0])
        if behind in (0, len(self.rows)):
            return Point(self.name, *self.rows[max(behind - 1, 0)][1:])
        (begin_s, *begin), (end_s, *end) = self.rows[behind - 1 : behind + 1]
        share = (t_s - begin_s) / (end_s - begin_s)
        a, b = _unit(Point("", *begin)), _unit(Point("", *end))
        alt_m = begin[2] + share * (end[2] - begin[2])
        return Point(self.name, *_between(a, b, _angle(a, b), share), alt_m)

    def request(self) -> dict[str, object]:
        """The track as the compiled module takes it."""
        return {"name": self.name, "waypoints": [list(row) for row in self.rows]}


def place(text: str, what: str, duration_s: float) -> Point | Track:
    """The end of a path that a user names.

    A place as `point` takes it; a voyage, "Frankfurt to New York at 900 km/h, 11 km" or "Rotterdam to
    Singapore at 20 knots, after 3 h" (altitude 0 if there is none; `after`: time under way at the start);
    or a file of positions, "track.csv".

    Raises:
        ScenarioError: it is none of them; `what` names it in the message.
        OSError: the file cannot be read.
    """
    if text.lower().endswith(".csv"):
        return read(Path(text))
    found = _VOYAGE.fullmatch(text.strip())
    if found is None:
        return point(text, what)
    begin, end, speed, high, after = found.groups()
    if after is None and high is not None and high.startswith("after "):
        after = high.removeprefix("after ")
        high = None
    return voyage(
        point(begin, what),
        point(end, what),
        _speed(speed, f"{what} {text!r}"),
        0.0 if high is None else metres(high, f"{what} {text!r}"),
        duration_s=duration_s,
        after_s=0.0 if after is None else units.seconds(after, f"{what} {text!r}"),
        name=text.strip(),
    )


def voyage(
    begin: Point,
    end: Point,
    speed_m_s: float,
    alt_m: float,
    *,
    duration_s: float,
    after_s: float = 0.0,
    name: str = "",
) -> Track:
    """A voyage on the great circle between two points at one speed and altitude; after it the point rests.

    Args:
        begin: where it begins.
        end: where it ends.
        speed_m_s: metres per second over the ground, on a sphere of `EARTH_RADIUS_M`.
        alt_m: altitude, all the way.
        duration_s: time that the positions cover, seconds.
        after_s: time of the voyage before the first position, seconds.
        name: its name in messages and pictures.

    Raises:
        ScenarioError: the two points are opposite to each other, or the altitude is invalid.
    """
    name = name or f"{begin.name} to {end.name}"
    checked(Point(name, begin.lat_deg, begin.lon_deg, alt_m), "altitude of")
    a, b = _unit(begin), _unit(end)
    angle = _angle(a, b)
    if math.pi - angle < 1e-6:
        raise _core.ScenarioError(
            f"{name}: the two ends are opposite to each other, and every way is shortest; "
            "name a place between them"
        )
    length_s = angle * EARTH_RADIUS_M / speed_m_s
    last_s = min(duration_s, max(length_s - after_s, 0.0))
    count = max(math.ceil(last_s / STEP_S), 1)
    rows = []
    for i in range(count + 1):
        t_s = round(last_s * i / count, 9)
        share = min((t_s + after_s) / length_s, 1.0) if length_s > 0 else 1.0
        rows.append((t_s, *_between(a, b, angle, share), alt_m))
    return Track(name, tuple(rows[:1] if last_s == 0 else rows))


def read(path: Path) -> Track:
    """Positions from a CSV file with the columns t_s, lat, lon and, if it has altitudes, alt (metres).

    Raises:
        ScenarioError: a column is missing, times do not increase, or a value is invalid; the message names
            the line.
        OSError: the file cannot be read.
    """
    rows: list[tuple[float, float, float, float]] = []
    for where, line in _csv(path, ("t_s", "lat", "lon")):
        t_s = _number(line, "t_s", where)
        if rows and t_s <= rows[-1][0]:
            raise _core.ScenarioError(
                f"{where}: t_s {t_s:.10g} is not after {rows[-1][0]:.10g}; times must increase"
            )
        point = _place(line, path.name, where)
        rows.append((t_s, point.lat_deg, point.lon_deg, point.alt_m))
    if not rows:
        raise _core.ScenarioError(f"{path}: no positions; a line is t_s,lat,lon or t_s,lat,lon,alt")
    return Track(path.name, tuple(rows))


def is_track(path: Path) -> bool:
    """Whether a CSV file has positions over time, for `read`, and no points.

    Raises:
        OSError: it cannot be read.
    """
    return "t_s" in next(iter(lines(path)), "").strip().split(",")


def read_points(path: Path) -> list[Point]:
    """Points from a CSV file with the columns name, lat, lon and, if it has altitudes, alt (metres).

    Raises:
        ScenarioError: a column is missing, or a value is invalid; the message names the line.
        OSError: the file cannot be read.
    """
    rows = _csv(path, ("name", "lat", "lon"))
    found = [_place(line, (line["name"] or "").strip(), where) for where, line in rows]
    if not found:
        raise _core.ScenarioError(f"{path}: no points; a line is name,lat,lon or name,lat,lon,alt")
    return found


def _csv(path: Path, needed: tuple[str, ...]) -> Iterator[tuple[str, dict[str, str | None]]]:
    """The lines of a CSV file, each with the words that say where it is.

    Raises:
        ScenarioError: a column is missing, or it is no CSV.
        OSError: it cannot be read.
    """
    import csv

    table = csv.DictReader(lines(path))
    try:
        missing = [name for name in needed if name not in (table.fieldnames or ())]
        if missing:
            raise _core.ScenarioError(
                f"{path}: no column {' and no column '.join(missing)}; "
                f"the first line must be {','.join(needed)} or {','.join(needed)},alt"
            )
        for line in table:
            yield f"{path}, line {table.line_num}", line
    except csv.Error as wrong:
        refuse(path, table.line_num, str(wrong))


def _place(line: dict[str, str | None], name: str, where: str) -> Point:
    """The point of a line with the columns lat, lon and perhaps alt."""
    alt = _number(line, "alt", where) if line.get("alt") else 0.0
    return checked(Point(name, _number(line, "lat", where), _number(line, "lon", where), alt), where)


def _number(line: dict[str, str | None], name: str, where: str) -> float:
    text = line.get(name)
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise _core.ScenarioError(f"{where}: {name} {quoted(text or '')} is not a number")
    return value


def _speed(text: str, what: str) -> float:
    value = units.number(text, _SPEEDS)
    if value is None:
        raise _core.ScenarioError(
            f'{what}: {text!r} is not a speed; write for example "900 km/h" or "20 knots"'
        )
    if not 0 < value <= FASTEST_M_S:
        raise _core.ScenarioError(
            f"{what}: a speed must be above 0 and at most {FASTEST_M_S * 3.6:.0f} km/h, not {text!r}"
        )
    return value


def _unit(point: Point) -> tuple[float, float, float]:
    lat, lon = math.radians(point.lat_deg), math.radians(point.lon_deg)
    return math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat)


def _angle(a: tuple[float, float, float], b: tuple[float, float, float]) -> float:
    return math.atan2(math.hypot(*_cross(a, b)), sum(x * y for x, y in zip(a, b, strict=True)))


def _cross(a: tuple[float, float, float], b: tuple[float, float, float]) -> tuple[float, float, float]:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def _between(
    a: tuple[float, float, float], b: tuple[float, float, float], angle: float, share: float
) -> tuple[float, float]:
    """Latitude and longitude after a share of the way from a to b (Shoemake's spherical interpolation)."""
    if angle < 1e-12:
        weights = 1.0 - share, share
    else:
        weights = math.sin((1 - share) * angle) / math.sin(angle), math.sin(share * angle) / math.sin(angle)
    x, y, z = (weights[0] * u + weights[1] * v for u, v in zip(a, b, strict=True))
    # To 0.1 mm: the last bits of a sine differ between machines.
    lat, lon = math.atan2(z, math.hypot(x, y)), math.atan2(y, x)
    return round(math.degrees(lat), 9), round(math.degrees(lon), 9)
