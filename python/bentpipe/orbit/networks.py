"""A whole constellation: the next hop from every satellite and station to every station, over time.

The paths are in `crates/orbit`; this module turns a user's words into its request, and its columns into
tables. `hypatia.py` reads and writes them as Hypatia's programs do.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import _core, units
from bentpipe.io.files import csv_text, replace_text, write_frame
from bentpipe.io.foreign import content, text
from bentpipe.orbit.ground import SOURCES, Point, Track, checked, is_track, key, place, read_points, table
from bentpipe.orbit.paths import REACH, SELECT, ShellName, furthest, satellites_of, shells_of, when_of
from bentpipe.registry import unknown

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

CITIES = ("top-100", "top-1000")
"""Lists of cities."""
ROUTES = ("length", "hops")
"""Rules for the path of a packet: the shortest, or of those with the fewest links the shortest."""
_FAILURE = (
    (re.compile(r"satellite\s+(?P<satellite>\d+)"), "satellite 17"),
    (re.compile(r"laser\s+(?P<a>\d+)\s*-\s*(?P<b>\d+)"), "laser 17-18"),
    (re.compile(r"station\s+(?P<station>.+)"), "station Tokyo"),
    (re.compile(r"(?P<percent>\d+(?:\.\d+)?)\s*% of (?P<of>satellites|lasers)"), "5 % of lasers"),
)
"""What fails, and an example of it."""
_WHEN = (
    (re.compile(r"from\s+(?P<from_s>.+?)(?:\s+to\s+(?P<to_s>.+))?"), "from 20 s to 60 s"),
    (re.compile(r"detected after\s+(?P<detect_s>.+)"), "detected after 5 s"),
    (re.compile(r"seed\s+(?P<seed>\d+)"), "seed 3"),
)
"""What may stand behind it."""
_WHOLE, _SCHEMA = "network.json", 1
"""The file of a stored network that holds all but its frames, and the version of its keys."""
_POINT = ("name", "lat", "lon", "alt_m")
"""The keys of a station in a request, as `Point` takes them."""


@dataclass(frozen=True)
class Knots:
    """Positions of all nodes at even instants, Earth-fixed.

    A polynomial of the fifth degree through six of them gives a position at any instant within a centimetre.

    Attributes:
        first_ns: the first instant, three of them before the start.
        spacing_ns: between two instants.
        xyz_km: all nodes of the first instant, then those of the second one, in rows of x, y, z.
    """

    first_ns: int
    spacing_ns: int
    xyz_km: np.ndarray


@dataclass(frozen=True)
class Network:
    """The forwarding tables of a constellation over time.

    Satellites are the nodes 0 to n - 1, and stations follow.

    Attributes:
        tables: changes of the next hops: t_s, node, destination (a station's node), next (a node; null
            without a path). At 0 s there is a row for every node and destination.
        paths: changes of the paths between stations: t_s, from, to (nodes), via (a list of the nodes between:
            satellites, and stations that relay; empty without a path), delay_s (one way over the path at that
            instant; null without one). At 0 s there is a row for every pair.
        failed: what fails: kind (satellite, laser or station), node, other (the second satellite of a laser;
            null for others), from_s, to_s. Routes learn of it later, if that is said.
        satellites: the number of each satellite: its node in a shell, the NORAD number of a TLE.
        stations: the stations, in the order of their nodes.
        lasers: pairs of nodes with a laser between them.
        tles: the satellites of a single shell as TLEs; None for others.
        knots: where the nodes are over time; None unless asked for.
        info: epoch (UTC), shell (the names, if all satellites are of shells that have one), duration_s,
            step_s, warnings.
        request: the request to the compiled module.
    """

    tables: pl.DataFrame
    paths: pl.DataFrame
    failed: pl.DataFrame
    satellites: list[int]
    stations: list[Point | Track]
    lasers: list[tuple[int, int]]
    tles: str | None
    knots: Knots | None
    info: dict[str, Any]
    request: dict[str, Any]


def cities(which: str = CITIES[0]) -> list[Point]:
    """Cities in the order of their population: one of `CITIES`.

    "top-100" are those of Hypatia's list. "top-1000" are from GeoNames (geonames.org, CC BY 4.0, as of July
    2026): the most populous cities by the population of the city proper, of places less than 15 km apart
    only the largest. The file `cities.csv` beside this one has their populations.

    Raises:
        ScenarioError: there is no such list.
    """
    if which not in CITIES:
        raise _core.ScenarioError(unknown("list of cities", which, list(CITIES)))
    if which == CITIES[1]:
        return read_points(Path(str(files("bentpipe.orbit").joinpath("cities.csv"))))
    rows = [row for row in table().iter_rows(named=True) if row["source"] == SOURCES["hypatia"]]
    return [Point(row["name"], row["lat_deg"], row["lon_deg"], row["alt_m"]) for row in rows]


def populations(places: Iterable[Point | Track]) -> list[float]:
    """The population of the city of each place, by the list "top-1000".

    0 for a place that is not on it; an empty list if none is.
    """
    rows = csv.DictReader(
        io.StringIO(files("bentpipe.orbit").joinpath("cities.csv").read_text(encoding="utf-8"))
    )
    known = {key(row["name"]): float(row["population"]) for row in rows}
    found = [known.get(key(place.name), 0.0) for place in places]
    return found if any(found) else []


def stations(given: Iterable[str | Point | Track], duration_s: float = 1.0) -> list[Point | Track]:
    """The stations of points, tracks, places, lists of cities, and files of name, lat, lon and alt (m).

    A place is what `ground.place` takes: a name, coordinates, a voyage, or a file of positions. It may have a
    name of its own, "Liner = Yokohama to Los Angeles at 20 knots".

    Args:
        given: these.
        duration_s: time that the positions of voyages cover, s.

    Raises:
        ScenarioError: a place is unknown, or is named twice.
        OSError: a file cannot be read.
    """
    found: list[Point | Track] = []
    for one in given:
        if isinstance(one, Track):
            found.append(one)
        elif isinstance(one, Point):
            found.append(checked(one, "station"))
        elif re.fullmatch(r"top-\d+", one):
            found += cities(one)
        elif one.endswith(".csv") and "=" not in one and not is_track(Path(one)):
            found += read_points(Path(one))
        else:
            name, equals, where = map(str.strip, one.rpartition("="))
            if equals and not name:
                raise _core.ScenarioError(f'station {one!r}: write "NAME = PLACE"')
            at = place(where, "station", duration_s)
            found.append(replace(at, name=name) if name else at)
    twice = next((name for name, count in Counter(point.name for point in found).items() if count > 1), None)
    if twice is not None:
        raise _core.ScenarioError(f"station {twice!r} is named twice; give each station once")
    return found


def network(
    places: Iterable[str | Point | Track] | None = None,
    *,
    shell: ShellName | Sequence[ShellName] | None = None,
    tle: str | Path | Sequence[str | Path] | None = None,
    satellites: dict[str, Any] | None = None,
    duration: str = "200 s",
    step: str = "1 s",
    epoch: str | None = None,
    min_elevation: float | None = None,
    reach: str = "elevation",
    greatest_length_km: float | None = None,
    lasers: list[tuple[int, int]] | None = None,
    route: str = "length",
    select: str = "shortest-path",
    every: str | None = None,
    relays: bool = False,
    failures: Iterable[str] = (),
    knots: bool = False,
    paths: bool = True,
    threads: int = 1,
    progress: Callable[[float], object] | None = None,
) -> Network:
    """The next hop from every satellite and station to every station, over time.

        bp.orbit.network(["Tokyo", "Paris", "Lagos"], shell="hypatia-kuiper-k1", duration="20 s")

    Without further rules each path is the shortest from a station over satellites to a station.

    Args:
        places: the stations, as `stations` reads them; by default "top-100" (`cities`).
        shell: a shell's name (`shells`), a dict of a Walker shell, or a list of these; by default that of
            `path`. Satellites are numbered one shell after the other, lasers join those of one shell, and
            stations reach all.
        tle: instead of a shell, a file of TLEs or OMMs, or a list.
        satellites: instead of both, satellites as the compiled module takes them.
        duration: how long, "200 s".
        step: time between two tables, "100 ms".
        epoch: UTC at the start; by default the shell's, or that of the newest TLE.
        min_elevation: least elevation in degrees; by default that of each shell.
        reach: "elevation", or "length" as in Hypatia.
        greatest_length_km: of a link to the ground, for `reach="length"`; by default the shell's.
        lasers: pairs of satellites with a laser between them, by index; by default the +grid of each shell.
            An empty list: none.
        route: one of `ROUTES`.
        select: which satellite serves a station, for what it sends and what is sent to it: that of the
            shortest path, "highest-elevation", or "longest-visible".
        every: when it is chosen: None at every step, "15 s", or "lost": when one is lost.
        relays: stations pass on what is for others.
        failures: what fails, and when: "satellite 17", "laser 17-18", "station Tokyo" or
            "5 % of lasers, seed 3", each with ", from 20 s to 60 s" and ", detected after 5 s" if need be.
        knots: give the positions of all nodes, too.
        paths: give the changes of paths; without them `Network.paths` is empty.
        threads: how many threads work; the result does not depend on it.
        progress: called with the share that is done.

    Raises:
        ScenarioError: a value is wrong.
        OSError: a file cannot be read.
    """
    if reach not in REACH:
        raise _core.ScenarioError(unknown("rule of reach", reach, list(REACH)))
    if min_elevation is not None and not math.isfinite(min_elevation):
        raise _core.ScenarioError(f"min_elevation {min_elevation}: write degrees, for example 25")
    if route not in ROUTES:
        raise _core.ScenarioError(unknown("route", route, list(ROUTES)))
    if select not in SELECT:
        raise _core.ScenarioError(unknown("way to select", select, list(SELECT)))
    if every is not None and select == SELECT[0]:
        raise _core.ScenarioError(
            f"every goes with select, {SELECT[1]} or {SELECT[2]}: the shortest path is that of each step"
        )
    duration_s = units.seconds(str(duration), "duration")
    ends = stations(cities() if places is None else places, duration_s)
    request = {
        "satellites": satellites_of(shell, tle) if satellites is None else satellites,
        "lasers": lasers,
        "stations": [point.request() for point in ends],
        "duration_s": duration_s,
        "step_s": units.seconds(str(step), "step"),
        "epoch": epoch,
        "min_elevation_deg": min_elevation,
        "reach": reach,
        "greatest_length_km": greatest_length_km,
        "route": route,
        "choose": select,
        "when": when_of(every),
        "relays": relays,
        "failures": [_failure(text, ends) for text in failures],
        "knots": knots,
        "paths": paths,
        "threads": threads,
    }
    return _network(_core.orbit_network(json.dumps(request, allow_nan=False), progress), ends, request)


def satellites_at(made: Network, t_s: float) -> dict[str, Any]:
    """Where satellites are at an instant, as arrays: sat; lat, lon in degrees, geodetic on WGS84; alt_km."""
    end = made.stations[0].request()
    request = {
        "satellites": made.request["satellites"],
        "a": end,
        "b": end,
        "duration_s": max(t_s, made.info["duration_s"]),
        "step_s": made.info["step_s"],
        "epoch": made.info["epoch"],
    }
    return _core.orbit_snapshot(json.dumps(request, allow_nan=False), t_s)


def write(made: Network, folder: Path) -> None:
    """Writes tables.parquet, paths.parquet, network.json, and nodes.csv (node, kind, name, lat_deg, lon_deg).

    Of a station that moves nodes.csv has the place at the start. Also failed.csv if something fails.

    Raises:
        OSError: the folder cannot be written.
    """
    parts = {"satellites": made.satellites, "lasers": made.lasers, "tles": made.tles, "info": made.info}
    request = {key: value for key, value in made.request.items() if key != "threads"}
    replace_text(folder / _WHOLE, json.dumps({"schema": _SCHEMA, **parts, "request": request}) + "\n")
    write_frame(folder / "tables.parquet", made.tables)
    write_frame(folder / "paths.parquet", made.paths)
    rows: list[list[object]] = [["node", "kind", "name", "lat_deg", "lon_deg"]]
    rows += [[node, "satellite", number, "", ""] for node, number in enumerate(made.satellites)]
    rows += [
        [node, "station", point.name, point.lat_deg, point.lon_deg]
        for node, point in enumerate((one.at(0.0) for one in made.stations), len(made.satellites))
    ]
    replace_text(folder / "nodes.csv", csv_text(rows))
    if made.failed.height > 0:
        replace_text(folder / "failed.csv", made.failed.write_csv())


def read(folder: Path) -> Network:
    """The network that `write` wrote.

    Raises:
        ScenarioError: there is none, or it is damaged.
        OSError: a file cannot be read.
    """
    import polars as pl

    if not (folder / _WHOLE).is_file():
        raise _core.ScenarioError(f"{folder} holds no network; bentpipe orbit network -o {folder} writes one")
    try:
        known = json.loads(text(folder / _WHOLE))
        if known["schema"] != _SCHEMA:
            raise ValueError
        places = [_station(one) for one in known["request"]["stations"]]
        lasers = [(int(a), int(b)) for a, b in known["lasers"]]
        tables, paths = (
            pl.read_parquet(io.BytesIO(content(folder / f"{name}.parquet"))) for name in ("tables", "paths")
        )
        request = known["request"] | {"threads": 1}
        satellites, tles, info = known["satellites"], known["tles"], known["info"]
        failed = pl.DataFrame(schema=_failed_columns())
        if (folder / "failed.csv").is_file():
            failed = pl.read_csv(content(folder / "failed.csv"), schema=_failed_columns())
        return Network(tables, paths, failed, satellites, places, lasers, tles, None, info, request)
    except (ValueError, KeyError, TypeError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise _core.ScenarioError(f"{folder} holds a damaged network, or one of another version") from None


def _station(known: dict[str, Any]) -> Point | Track:
    """A station of a request."""
    if "waypoints" in known:
        return Track(known["name"], tuple((t_s, lat, lon, alt) for t_s, lat, lon, alt in known["waypoints"]))
    return Point(*(known[key] for key in _POINT))


def _network(raw: dict[str, Any], ends: list[Point | Track], request: dict[str, Any]) -> Network:
    import polars as pl

    # NumPy divides; polars multiplies by the inverse, which rounds once more.
    tables = pl.DataFrame(raw["tables"]).select(
        pl.Series("t_s", raw["tables"]["t_ns"] / 1e9),
        "node",
        "destination",
        pl.when(pl.col("next") >= 0).then(pl.col("next")).cast(pl.UInt32).alias("next"),
    )
    failed = _failed(raw, len(raw["satellites"]))
    delay_s = raw["paths"]["delay_ns"] / 1e9
    paths = pl.DataFrame(raw["paths"]).select(
        pl.Series("t_s", raw["paths"]["t_ns"] / 1e9),
        "from",
        "to",
        _lists("via", raw["via"], raw["ends"]),
        pl.when(pl.col("delay_ns").is_finite()).then(pl.Series("delay_s", delay_s)).alias("delay_s"),
    )
    info = json.loads(raw["info"]) | {key: request[key] for key in ("duration_s", "step_s")}
    satellites, knots = raw["satellites"].tolist(), Knots(**raw["knots"]) if "knots" in raw else None
    made = Network(tables, paths, failed, satellites, ends, raw["lasers"], raw["tles"], knots, info, request)
    info["warnings"] += _unreached(made)
    return made


def _lists(name: str, items: np.ndarray, ends: np.ndarray) -> pl.Series:
    """A column of lists: `items` of all rows in a row, and where those of each row end."""
    import numpy as np
    import polars as pl

    rows = np.searchsorted(ends.astype(np.int64), np.arange(len(items)), side="right")
    full = pl.DataFrame({"row": rows, name: items}).group_by("row", maintain_order=True).agg(name)
    empty = pl.lit([], dtype=pl.List(pl.UInt32))
    every = pl.DataFrame({"row": np.arange(len(ends))}).join(
        full, on="row", how="left", maintain_order="left"
    )
    return every[name].cast(pl.List(pl.UInt32)).to_frame().select(pl.col(name).fill_null(empty))[name]


def _unreached(made: Network) -> list[str]:
    """A sentence for the stations to which no path ever leads, with the reason where the latitude is one."""
    import polars as pl

    first = len(made.satellites)
    begins = (pl.col("node") >= first) & pl.col("next").is_not_null()
    seen = set(made.tables.filter(begins)["destination"].unique().to_list())
    alone = [point for node, point in enumerate(made.stations, first) if node not in seen]
    if not alone:
        return []
    names = ", ".join(point.name for point in alone)
    reason = ""
    if shells_of(made.request["satellites"]) is not None:
        limit = furthest(made.request)
        if all(isinstance(one, Point) and abs(one.lat_deg) > limit for one in alone):
            reason = f": the satellites serve latitudes up to {limit:.3g} degrees"
    return [f"no path ever leads to {names}{reason}"]


def _failed(raw: dict[str, Any], satellites: int) -> pl.DataFrame:
    import polars as pl

    rows: list[tuple[str, int, int | None, float, float]] = []
    columns = (raw["failed"][name].tolist() for name in ("node", "laser", "from_ns", "to_ns"))
    for node, laser, from_ns, to_ns in zip(*columns, strict=True):
        kind, ends = ("laser", raw["lasers"][laser]) if laser >= 0 else ("satellite", (node, None))
        kind = "station" if node >= satellites else kind
        rows.append((kind, *ends, from_ns / 1e9, to_ns / 1e9))
    return pl.DataFrame(rows, schema=_failed_columns(), orient="row")


def _failed_columns() -> dict[str, Any]:
    """The columns of `Network.failed`."""
    import polars as pl

    nodes, times = dict.fromkeys(("node", "other"), pl.UInt32), dict.fromkeys(("from_s", "to_s"), pl.Float64)
    return {"kind": pl.String, **nodes, **times}


def _failure(text: str, ends: list[Point | Track]) -> dict[str, Any]:
    """A failure as the compiled module takes it."""
    parts = [part.strip() for part in text.split(",")]
    said: dict[str, str] = {}
    while len(parts) > 1 and (found := _matched(_WHEN, parts[-1])) is not None:
        said |= found
        parts.pop()
    what = _matched(_FAILURE, ",".join(parts))  # coordinates of a station have a comma, too
    if what is None:
        first = " or ".join(f'"{example}"' for _, example in _FAILURE)
        more = ", ".join(f'"{example}"' for _, example in _WHEN)
        raise _core.ScenarioError(f"failure {text!r}: write {first}, and behind commas {more}")
    request: dict[str, Any] = {name: units.seconds(said[name], name) for name in said if name != "seed"}
    if "seed" in said:
        request["seed"] = int(said["seed"])
    if "station" in what:
        keys = [key(point.name) for point in ends]
        if key(what["station"]) not in keys:
            raise _core.ScenarioError(unknown("station", what["station"], [point.name for point in ends]))
        return request | {"station": keys.index(key(what["station"]))}
    if "percent" in what:
        return request | {"share": float(what["percent"]) / 100, "of": what["of"]}
    if "a" in what:
        return request | {"laser": [int(what["a"]), int(what["b"])]}
    return request | {"satellite": int(what["satellite"])}


def _matched(forms: tuple[tuple[re.Pattern[str], str], ...], text: str) -> dict[str, str] | None:
    """The groups of the form that a text has; None if it has none."""
    found = next(filter(None, (form.fullmatch(text) for form, _ in forms)), None)
    return None if found is None else {name: value for name, value in found.groupdict().items() if value}
