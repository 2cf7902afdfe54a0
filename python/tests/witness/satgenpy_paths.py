"""Paths between cities as satgenpy has them, the Python part of Hypatia (IMC 2020, github.com/snkas/hypatia).

    python satgenpy_paths.py DIRECTORY [--shell NAME] [--step 0.1] [--for 200] [--thin FILE]

Needs satgenpy, exputil, polars and numpy: in an environment of its own, since satgenpy wants older packages.
bentpipe is not imported. TLEs, lasers, distances and the graph come from satgenpy's own functions. The
shortest path is networkx's. For each shell one Parquet file is written: shell, pair, rule, t_s, rtt_ms, path
(satellites, with "-" between; empty if there is no path). `--thin` reads all of them and writes the reference
of the tests.

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
from pathlib import Path

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


def _satgen() -> None:
    """Lets parts of satgenpy be imported without its packages' own imports, which want cartopy and
    statsmodels."""
    where = next(Path(p) / "satgen" for p in sys.path if (Path(p) / "satgen").is_dir())
    for name in ("satgen", "satgen.post_analysis"):
        made = types.ModuleType(name)
        made.__path__ = [str(where.parent / name.replace(".", "/"))]
        sys.modules[name] = made


def paths(
    name: str, work: Path, step_s: float, for_s: float
) -> list[tuple[str, str, str, float, float | None, str]]:
    """Every pair's path in a shell at every step, under both rules."""
    _satgen()
    import ephem
    import networkx as nx
    from astropy import units as u
    from satgen.isls.generate_plus_grid_isls import generate_plus_grid_isls
    from satgen.post_analysis.graph_tools import construct_graph_with_distances
    from satgen.tles.generate_tles_from_scratch import generate_tles_from_scratch_with_sgp
    from satgen.tles.read_tles import read_tles

    shell = SHELLS[name]
    generate_tles_from_scratch_with_sgp(
        str(work / f"{name}.tles"), name, shell.planes, shell.slots, True, shell.inclination, 1e-7, 0.0,
        shell.revolutions_per_day,
    )  # fmt: skip
    lasers = generate_plus_grid_isls(str(work / f"{name}.isls"), shell.planes, shell.slots, isl_shift=0)
    read = read_tles(str(work / f"{name}.tles"))
    satellites, epoch = read["satellites"], read["epoch"]
    stations = [
        {
            "gid": i,
            "name": k,
            "latitude_degrees_str": lat,
            "longitude_degrees_str": lon,
            "elevation_m_float": 0.0,
        }
        for i, (k, (lat, lon)) in enumerate(STATIONS.items())
    ]
    of = {station["name"]: len(satellites) + station["gid"] for station in stations}
    rows = []
    begun = time.monotonic()
    for i in range(round(for_s / step_s)):
        since_ns = round(i * step_s * 1e9)
        graph = construct_graph_with_distances(
            epoch, since_ns, satellites, stations, lasers, shell.longest_ground_link(), shell.longest_laser()
        )
        low = set()
        for station in stations:
            observer = ephem.Observer()
            observer.pressure = 0  # no refraction
            observer.epoch, observer.date = str(epoch), str(epoch + since_ns * u.ns)
            observer.lat, observer.lon = station["latitude_degrees_str"], station["longitude_degrees_str"]
            node = of[station["name"]]
            for sat in graph.adj.get(node, ()):
                satellites[sat].compute(observer)
                if math.degrees(satellites[sat].alt) < shell.least_elevation:
                    low.add((node, sat))
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
                rows.append((name, f"{a}:{b}", rule, since_ns / 1e9, rtt, path))
        if i % 20 == 0:
            print(
                f"{name} {since_ns / 1e9:.1f} s, {time.monotonic() - begun:.0f} s spent",
                file=sys.stderr,
                flush=True,
            )
    return rows


def thinned(frame):
    """The reference of the tests: every change of path or reach (with the step before it), and every 5 s."""
    import polars as pl

    keys = ["shell", "pair", "rule"]
    changed = (pl.col("path") != pl.col("path").shift(1).over(keys)).fill_null(True)
    kept = changed | changed.shift(-1).over(keys).fill_null(True) | ((pl.col("t_s") * 10).round() % 50 == 0)
    return frame.sort([*keys, "t_s"]).filter(kept)


def main() -> int:
    """Writes the paths of one shell or of all, or the reference of the tests."""
    parser = argparse.ArgumentParser(description="Paths as satgenpy has them.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--shell", choices=list(SHELLS))
    parser.add_argument("--step", type=float, default=0.1)
    parser.add_argument("--for", dest="for_s", type=float, default=200.0)
    parser.add_argument("--thin", type=Path)
    given = parser.parse_args()
    import polars as pl

    names = ["shell", "pair", "rule", "t_s", "rtt_ms", "path"]
    given.directory.mkdir(parents=True, exist_ok=True)
    if given.thin:
        whole = pl.concat([pl.read_parquet(given.directory / f"{name}.parquet") for name in SHELLS])
        used = ("satgenpy", "networkx", "ephem", "sgp4")
        versions = {p: importlib.metadata.version(p) for p in used}
        thinned(whole).write_parquet(given.thin, compression_level=19, metadata=versions)
        return 0
    for name in [given.shell] if given.shell else SHELLS:
        rows = paths(name, given.directory, given.step, given.for_s)
        pl.DataFrame(rows, schema=names, orient="row").write_parquet(given.directory / f"{name}.parquet")
    return 0


if __name__ == "__main__":
    sys.exit(main())
