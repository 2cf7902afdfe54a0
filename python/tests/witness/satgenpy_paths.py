"""Paths between cities as satgenpy has them, the Python part of Hypatia (IMC 2020, github.com/snkas/hypatia).

    python satgenpy_paths.py DIRECTORY [--shell NAME] [--positions ephem|sgp4] [--step 0.1] [--for 200]
    python satgenpy_paths.py DIRECTORY --thin FILE

Needs satgenpy, exputil, polars and numpy: in an environment of its own, since satgenpy wants older packages.
bentpipe is not imported. TLEs, lasers, distances and the graph come from satgenpy's own functions. The
shortest path is networkx's. For each shell and source of positions one Parquet file is written: shell,
positions, pair, rule, t_s, rtt_ms, path (satellites, with "-" between; empty if there is no path). `--thin`
reads all of them and writes the reference of the tests.

`--positions sgp4` takes python-sgp4's positions instead of ephem's (which are up to 60 m off them), turned by
GMST of 1982, and stations on WGS 84; all else stays satgenpy's. It tells what the positions are the cause of.

The rule `length` is Hypatia's: a link to a satellite may be so long as it would be at the least elevation
over a flat Earth. The rule `elevation` takes of these links those that stand above the least elevation, as
ephem has it.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import math
import sys
import time
import types
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np

EARTH_RADIUS_M = 6_378_135.0
"""Hypatia's radius of the Earth (WGS72), paper/satellite_networks_state/main_helper.py."""
LIGHT_M_S = 299_792_458.0


@dataclass(frozen=True)
class Shell:
    """A shell as one of Hypatia's main_*.py sets it up; lengths in metres, angles in degrees."""

    planes: int
    slots: int
    inclination: float
    revolutions_per_day: float
    altitude: float
    cone_radius: float
    least_elevation: float

    def longest_ground_link(self) -> float:
        return math.hypot(self.cone_radius, self.altitude)

    def longest_laser(self) -> float:
        return 2 * math.sqrt((EARTH_RADIUS_M + self.altitude) ** 2 - (EARTH_RADIUS_M + 80_000) ** 2)


def _cone(altitude: float, elevation: float) -> float:
    return altitude / math.tan(math.radians(elevation))


SHELLS = {
    "hypatia-kuiper-k1": Shell(34, 34, 51.9, 14.80, 630e3, _cone(630e3, 30), 30),
    "hypatia-starlink-s1": Shell(72, 22, 53.0, 15.19, 550e3, 940_700, 25),
    "hypatia-telesat-t1": Shell(27, 13, 98.98, 13.66, 1015e3, _cone(1015e3, 10), 10),
}
STATIONS = {  # of the file ..._top_100.basic.txt, as the strings that stand there
    "Rio": ("-22.90278", "-43.2075"),
    "Saint Petersburg": ("59.929858", "30.326228"),
    "Manila": ("14.6042", "120.9822"),
    "Dalian": ("38.913811", "121.602322"),
    "Istanbul": ("41.0138", "28.9497"),
    "Nairobi": ("-1.28333", "36.81667"),
    "Paris": ("48.85341", "2.3488"),
    "Moscow": ("55.754996", "37.621849"),
}
PAIRS = [("Rio", "Saint Petersburg"), ("Manila", "Dalian"), ("Istanbul", "Nairobi"), ("Paris", "Moscow")]
RULES = ("length", "elevation")
POSITIONS = ("ephem", "sgp4")


def _satgen() -> None:
    """Lets parts of satgenpy be imported without its packages' own imports, which want cartopy and
    statsmodels."""
    where = next(Path(p) / "satgen" for p in sys.path if (Path(p) / "satgen").is_dir())
    for name in ("satgen", "satgen.post_analysis"):
        made = types.ModuleType(name)
        made.__path__ = [str(where.parent / name.replace(".", "/"))]
        sys.modules[name] = made


class Instant:
    """An instant of astropy that is written out once: satgenpy does it anew for every link."""

    def __init__(self, time) -> None:
        self._time, self._text = time, str(time)

    def __add__(self, other) -> Instant:
        return Instant(self._time + other)

    def __str__(self) -> str:
        return self._text


class Sgp4:
    """Distances in metres and elevations in degrees from python-sgp4, by the signatures of satgenpy's
    functions."""

    def __init__(self, tles: list[str]) -> None:
        from sgp4.api import Satrec, SatrecArray

        self._all = SatrecArray([Satrec.twoline2rv(*two) for two in zip(tles[1::3], tles[2::3], strict=True)])
        self._number = {name.strip(): i for i, name in enumerate(tles[0::3])}
        self._at = ""

    def between(self, one, other, epoch: str, date: str) -> float:
        self._move(date)
        return float(np.linalg.norm(self._fixed[self._of(one)] - self._fixed[self._of(other)]))

    def to_station(self, station, satellite, epoch: str, date: str) -> float:
        self._move(date)
        name = station["name"]
        if name not in self._ranges:
            self._ranges[name] = np.linalg.norm(self._fixed - _station(station)[0], axis=1).tolist()
        return self._ranges[name][self._of(satellite)]

    def elevation(self, station, satellite, epoch: str, date: str) -> float:
        self._move(date)
        place, up = _station(station)
        sight = self._fixed[self._of(satellite)] - place
        return math.degrees(math.asin(float(sight @ up) / float(np.linalg.norm(sight))))

    def _of(self, satellite) -> int:
        return self._number[satellite.name]

    def _move(self, date: str) -> None:
        if date == self._at:
            return
        from sgp4.api import jday
        from sgp4.propagation import gstime

        then = datetime.fromisoformat(date)
        jd, fraction = jday(
            then.year, then.month, then.day, then.hour, then.minute, then.second + then.microsecond / 1e6
        )
        failed, inertial, _ = self._all.sgp4(np.array([jd]), np.array([fraction]))
        assert not failed.any()
        cos, sin = math.cos(gstime(jd + fraction)), math.sin(gstime(jd + fraction))
        self._fixed = 1000 * inertial[:, 0, :] @ np.array([[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]])
        self._at, self._ranges = date, {}


class Ephem:
    """The elevation in degrees, without refraction, as satgenpy would ask ephem for it."""

    def elevation(self, station, satellite, epoch: str, date: str) -> float:
        import ephem

        observer = ephem.Observer()
        observer.pressure = 0
        observer.epoch, observer.date = epoch, date
        observer.lat, observer.lon = station["latitude_degrees_str"], station["longitude_degrees_str"]
        satellite.compute(observer)
        return math.degrees(satellite.alt)


def _station(station) -> tuple[np.ndarray, np.ndarray]:
    """A station on WGS 84: its position in metres, and the direction of its zenith."""
    lat, lon = (math.radians(float(station[f"{name}_degrees_str"])) for name in ("latitude", "longitude"))
    up = np.array([math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat)])
    squared = (2 - 1 / 298.257223563) / 298.257223563
    normal = 6_378_137.0 / math.sqrt(1 - squared * math.sin(lat) ** 2)
    return np.array([normal, normal, normal * (1 - squared)]) * up, up


def paths(name: str, positions: str, work: Path, step_s: float, for_s: float) -> list[tuple]:
    """Every pair's path in a shell at every step, under both rules: the rows of the file."""
    _satgen()
    import networkx as nx
    from astropy import units as u
    from satgen.isls.generate_plus_grid_isls import generate_plus_grid_isls
    from satgen.post_analysis import graph_tools
    from satgen.tles.generate_tles_from_scratch import generate_tles_from_scratch_with_sgp
    from satgen.tles.read_tles import read_tles

    shell = SHELLS[name]
    tles = work / f"{name}.tles"
    generate_tles_from_scratch_with_sgp(
        str(tles),
        name,
        shell.planes,
        shell.slots,
        True,
        shell.inclination,
        1e-7,
        0.0,
        shell.revolutions_per_day,
    )
    lasers = generate_plus_grid_isls(str(work / f"{name}.isls"), shell.planes, shell.slots, isl_shift=0)
    read = read_tles(str(tles))
    satellites, epoch = read["satellites"], Instant(read["epoch"])
    source = Ephem()
    if positions == "sgp4":
        source = Sgp4(tles.read_text().splitlines()[1:])
        graph_tools.distance_m_between_satellites = source.between
        graph_tools.distance_m_ground_station_to_satellite = source.to_station
    stations = []
    for i, (place, (lat, lon)) in enumerate(STATIONS.items()):
        one = {"gid": i, "name": place, "latitude_degrees_str": lat, "longitude_degrees_str": lon}
        stations.append({**one, "elevation_m_float": 0.0})
    of = {station["name"]: len(satellites) + station["gid"] for station in stations}
    rows = []
    begun = time.monotonic()
    for i in range(round(for_s / step_s)):
        since_ns = round(i * step_s * 1e9)
        graph = graph_tools.construct_graph_with_distances(
            epoch, since_ns, satellites, stations, lasers, shell.longest_ground_link(), shell.longest_laser()
        )
        date = str(epoch + since_ns * u.ns)
        low = {
            (of[station["name"]], sat)
            for station in stations
            for sat in graph.adj.get(of[station["name"]], ())
            if source.elevation(station, satellites[sat], str(epoch), date) < shell.least_elevation
        }
        for a, b in PAIRS:
            ends = (of[a], of[b])
            for rule in RULES:

                def weight(x, y, edge, ends=ends, rule=rule, low=low):
                    for node, other in ((x, y), (y, x)):
                        if node >= len(satellites) and (
                            node not in ends or (rule == "elevation" and (node, other) in low)
                        ):
                            return None  # stations do not relay
                    return edge["weight"]

                try:
                    metres, nodes = nx.bidirectional_dijkstra(graph, *ends, weight=weight)
                    rtt, path = 2e3 * metres / LIGHT_M_S, "-".join(map(str, nodes[1:-1]))
                except (nx.NetworkXNoPath, nx.NodeNotFound):
                    rtt, path = None, ""
                rows.append((name, positions, f"{a}:{b}", rule, since_ns / 1e9, rtt, path))
        if i % 20 == 0:
            spent = time.monotonic() - begun
            print(
                f"{name} {positions} {since_ns / 1e9:.1f} s, {spent:.0f} s spent", file=sys.stderr, flush=True
            )
    return rows


def thinned(frame):
    """The reference of the tests: every change of path or reach (with the step before it), and every 5 s."""
    import polars as pl

    keys = ["shell", "positions", "pair", "rule"]
    changed = (pl.col("path") != pl.col("path").shift(1).over(keys)).fill_null(True)
    kept = changed | changed.shift(-1).over(keys).fill_null(True) | ((pl.col("t_s") * 10).round() % 50 == 0)
    return frame.sort([*keys, "t_s"]).filter(kept)


def file(directory: Path, shell: str, positions: str) -> Path:
    """The file of a shell's paths."""
    return directory / f"{shell}-{positions}.parquet"


def main() -> int:
    """Writes the paths of one shell or of all, or the reference of the tests."""
    parser = argparse.ArgumentParser(description="Paths as satgenpy has them.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--shell", choices=list(SHELLS))
    parser.add_argument("--positions", choices=POSITIONS, default="ephem")
    parser.add_argument("--step", type=float, default=0.1)
    parser.add_argument("--for", dest="for_s", type=float, default=200.0)
    parser.add_argument("--thin", type=Path)
    given = parser.parse_args()
    import polars as pl

    names = ["shell", "positions", "pair", "rule", "t_s", "rtt_ms", "path"]
    given.directory.mkdir(parents=True, exist_ok=True)
    if given.thin:
        files = [file(given.directory, shell, positions) for shell in SHELLS for positions in POSITIONS]
        used = ("satgenpy", "networkx", "ephem", "sgp4")
        versions = {package: importlib.metadata.version(package) for package in used}
        whole = pl.concat([pl.read_parquet(one) for one in files])
        thinned(whole).write_parquet(given.thin, compression_level=19, metadata=versions)
        return 0
    for name in [given.shell] if given.shell else SHELLS:
        rows = paths(name, given.positions, given.directory, given.step, given.for_s)
        made = pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)
        made.write_parquet(file(given.directory, name, given.positions))
    return 0


if __name__ == "__main__":
    sys.exit(main())
