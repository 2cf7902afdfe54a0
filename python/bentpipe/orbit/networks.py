"""A whole constellation: the next hop from every satellite and station to every station, over time.

The paths are in `crates/orbit`; this module turns a user's words into its request, and its columns into
tables. `hypatia.py` reads and writes them as Hypatia's programs do.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import _core, units
from bentpipe.io.files import csv_text, replace_text, write_frame
from bentpipe.orbit.ground import SOURCES, Point, checked, place, read_points, table
from bentpipe.orbit.paths import REACH, furthest, satellites_of
from bentpipe.registry import unknown

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Network:
    """The forwarding tables of a constellation over time.

    Satellites are the nodes 0 to n - 1, and stations follow.

    Attributes:
        tables: changes of the next hops: t_s, node, destination (a station's node), next (a node; null
            without a path). At 0 s there is a row for every node and destination.
        paths: changes of the paths between stations: t_s, from, to (nodes), satellites (a list; empty without
            a path), delay_s (one way over the path at that instant; null without one). At 0 s there is a row
            for every pair.
        satellites: the number of each satellite: its index in a shell, the NORAD number of a TLE.
        stations: names of the stations, in the order of their nodes.
        lasers: pairs of nodes with a laser between them.
        tles: the satellites of a shell as TLEs; None for others.
        info: epoch (UTC), shell, duration_s, step_s, warnings.
        request: the request to the compiled module.
    """

    tables: pl.DataFrame
    paths: pl.DataFrame
    satellites: list[int]
    stations: list[Point]
    lasers: list[tuple[int, int]]
    tles: str | None
    info: dict[str, Any]
    request: dict[str, Any]


def cities() -> list[Point]:
    """The hundred most populous cities, as Hypatia lists them."""
    rows = [row for row in table().iter_rows(named=True) if row["source"] == SOURCES["hypatia"]]
    return [Point(row["name"], row["lat_deg"], row["lon_deg"], row["alt_m"]) for row in rows]


def stations(given: Iterable[str | Point]) -> list[Point]:
    """The stations of a list of points, names, coordinates, and CSV files of name, lat, lon and alt (m).

    Raises:
        ScenarioError: a place is unknown, moves, or is named twice.
        OSError: a file cannot be read.
    """
    found: list[Point] = []
    for one in given:
        if isinstance(one, Point):
            found.append(checked(one, "station"))
        else:
            found += read_points(Path(one)) if one.endswith(".csv") else [_fixed(one)]
    names = [point.name for point in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise _core.ScenarioError(f"station {twice!r} is named twice; give each station once")
    return found


def network(
    places: Iterable[str | Point] | None = None,
    *,
    shell: str | dict[str, Any] | None = None,
    tle: str | Path | None = None,
    satellites: dict[str, Any] | None = None,
    duration: str = "200 s",
    step: str = "1 s",
    epoch: str | None = None,
    min_elevation: float | None = None,
    reach: str = "elevation",
    greatest_length_km: float | None = None,
    lasers: list[tuple[int, int]] | None = None,
    threads: int = 1,
    progress: Callable[[float], object] | None = None,
) -> Network:
    """The next hop from every satellite and station to every station, over time.

        bp.orbit.network(["Tokyo", "Paris", "Lagos"], shell="hypatia-kuiper-k1", duration="20 s")

    Each path is the shortest from a station over satellites to a station; stations relay nothing.

    Args:
        places: the stations, as `stations` reads them, or points; by default `cities`.
        shell: a shell's name (`shells`), or a dict of a Walker shell; by default that of `path`.
        tle: instead of a shell, a file of TLEs or OMMs.
        satellites: instead of both, satellites as the compiled module takes them.
        duration: how long, "200 s".
        step: time between two tables, "100 ms".
        epoch: UTC at the start; by default the shell's, or that of the newest TLE.
        min_elevation: least elevation in degrees; by default the shell's.
        reach: "elevation", or "length" as in Hypatia.
        greatest_length_km: of a link to the ground, for `reach="length"`; by default the shell's.
        lasers: pairs of satellites with a laser between them, by index; by default the +grid of the shell.
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
    ends = stations(cities() if places is None else places)
    request = {
        "satellites": satellites_of(shell, tle) if satellites is None else satellites,
        "lasers": lasers,
        "stations": [point.request() for point in ends],
        "duration_s": units.seconds(str(duration), "duration"),
        "step_s": units.seconds(str(step), "step"),
        "epoch": epoch,
        "min_elevation_deg": min_elevation,
        "reach": reach,
        "greatest_length_km": greatest_length_km,
        "threads": threads,
    }
    return _network(_core.orbit_network(json.dumps(request, allow_nan=False), progress), ends, request)


def write(made: Network, folder: Path) -> None:
    """Writes tables.parquet, paths.parquet, and nodes.csv with node, kind, name, lat_deg, lon_deg.

    Raises:
        OSError: the folder cannot be written.
    """
    write_frame(folder / "tables.parquet", made.tables)
    write_frame(folder / "paths.parquet", made.paths)
    rows: list[list[object]] = [["node", "kind", "name", "lat_deg", "lon_deg"]]
    rows += [[node, "satellite", number, "", ""] for node, number in enumerate(made.satellites)]
    rows += [
        [node, "station", point.name, point.lat_deg, point.lon_deg]
        for node, point in enumerate(made.stations, len(made.satellites))
    ]
    replace_text(folder / "nodes.csv", csv_text(rows))


def _network(raw: dict[str, Any], ends: list[Point], request: dict[str, Any]) -> Network:
    import polars as pl

    # NumPy divides; polars multiplies by the inverse, which rounds once more.
    tables = pl.DataFrame(raw["tables"]).select(
        pl.Series("t_s", raw["tables"]["t_ns"] / 1e9),
        "node",
        "destination",
        pl.when(pl.col("next") >= 0).then(pl.col("next")).cast(pl.UInt32).alias("next"),
    )
    on_way, bounds = raw["on_way"].tolist(), [0, *raw["ends"].tolist()]
    ways = [on_way[begin:end] for begin, end in zip(bounds[:-1], bounds[1:], strict=True)]
    delay_s = raw["paths"]["delay_ns"] / 1e9
    paths = pl.DataFrame(raw["paths"]).select(
        pl.Series("t_s", raw["paths"]["t_ns"] / 1e9),
        "from",
        "to",
        pl.Series("satellites", ways, dtype=pl.List(pl.UInt32)),
        pl.when(pl.col("delay_ns").is_finite()).then(pl.Series("delay_s", delay_s)).alias("delay_s"),
    )
    info = json.loads(raw["info"]) | {key: request[key] for key in ("duration_s", "step_s")}
    made = Network(tables, paths, raw["satellites"].tolist(), ends, raw["lasers"], raw["tles"], info, request)
    info["warnings"] += _unreached(made)
    return made


def _unreached(made: Network) -> list[str]:
    """A sentence for the stations to which no path ever leads, with the reason where the latitude is one."""
    import polars as pl

    first = len(made.satellites)
    seen = set(made.paths.filter(pl.col("delay_s").is_not_null())["to"].to_list())
    alone = [point for node, point in enumerate(made.stations, first) if node not in seen]
    if not alone:
        return []
    names = ", ".join(point.name for point in alone)
    reason = ""
    if {"shell", "walker"} & set(made.request["satellites"]):
        limit = furthest(made.request, made.info["min_elevation_deg"])
        if all(abs(point.lat_deg) > limit for point in alone):
            reason = f": the satellites serve latitudes up to {limit:.3g} degrees"
    return [f"no path ever leads to {names}{reason}"]


def _fixed(text: str) -> Point:
    found = place(text.strip(), "station", 1.0)
    if not isinstance(found, Point):
        raise _core.ScenarioError(f"station {text!r} moves; a network has stations that stand")
    return found
