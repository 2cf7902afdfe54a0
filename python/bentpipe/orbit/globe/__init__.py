"""A constellation over time as one HTML page, which needs no server: globe, flat map, paths, loads.

The page holds positions each `KNOTS_S` seconds, the path of every pair of stations at every step, the load of
links if there is one, and coasts. It computes the rest: positions between, by cubic polynomials, and delays,
by the lengths of the legs of a path. Integers are packed as four planes of bytes (`_planes`), since most of
their upper bytes are zero. The scripts are `PARTS`: `data` unpacks and interpolates, `scene` draws, `page`
has the controls.
"""

from __future__ import annotations

import json
import math
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from bentpipe import _core, units
from bentpipe.io.files import replace_text
from bentpipe.orbit import loads
from bentpipe.orbit.coasts import ISLAND_IN_LAKE, LAKE, coasts
from bentpipe.orbit.ground import Track
from bentpipe.orbit.networks import satellites_at
from bentpipe.pages.page import blocks, check_page, framed, own, packed

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from bentpipe.orbit.ground import Point
    from bentpipe.orbit.networks import Network

    Whole = NDArray[np.int64]
    Numbers = NDArray[Any] | list[int]

PARTS = ("data", "scene", "page")
"""The scripts of the page. They are the body of one function, in this order."""
KNOTS_S = 30.0
"""From position to position. A cubic between them is 0.2 m off in a low orbit; 16 bits round to 0.1 km."""
MOST_PATHS = 2_000_000
"""Changes of paths that a page takes."""
MOST_CELLS = 500_000
"""Links times intervals of a load that a page takes; of more, intervals are joined."""
_LEAST_DEG = 1.0
"""Size of the smallest island or lake of the page."""
_AXIS_KM, _FLATTENING = 6378.137, 1 / 298.257223563
"""The ellipsoid WGS 84."""


def page(made: Network, file: str | Path, load: pl.DataFrame | None = None) -> Path:
    """Writes a network as a page for a browser, and returns its path.

        net = bp.orbit.network(shell="hypatia-kuiper-k1", duration="200 s")
        bp.orbit.page(net, "kuiper.html")

    The page shows satellites, lasers and stations on a globe or a flat map at every instant; of two stations
    the path with its delay and its changes; and the most loaded links. It loads nothing.

    Args:
        made: the network.
        file: where the page goes.
        load: the load of links over time (columns: `bentpipe.orbit.loads.COLUMNS`).

    Raises:
        ScenarioError: the load is not of this network, the network is too large, or `file` is no page.
        OSError: the file cannot be written.
    """
    file = Path(file)
    check_page(file)
    replace_text(file, html(made, load))
    return file


def html(made: Network, load: pl.DataFrame | None = None) -> str:
    """The whole page.

    Raises:
        ScenarioError: as of `page`.
    """
    if len(made.stations) < 2:
        raise _core.ScenarioError("the page shows paths between stations; name two or more")
    if made.paths.height > MOST_PATHS:
        raise _core.ScenarioError(
            f"the paths change {made.paths.height:,} times, and a page takes {MOST_PATHS:,}; "
            "name fewer stations, or a shorter time"
        )
    duration_s, first = float(made.info["duration_s"]), len(made.satellites)
    knots, unit_km = _knots(made, duration_s)
    arrays: dict[str, Numbers] = {"knots": knots} | _paths(made) | _coast()
    arrays |= {"laser_a": [a for a, _ in made.lasers], "laser_b": [b for _, b in made.lasers]}
    loaded = None
    if load is not None:
        loaded, more = _load(loads.checked(load, made), duration_s)
        arrays |= more
    content, places = b"", {}
    for name, values in arrays.items():
        places[name] = [len(content), len(values)]
        content += _planes(values)
    known: dict[str, Any] = {
        "version": version("bentpipe"),
        "duration_s": duration_s,
        "step_s": float(made.info["step_s"]),
        "knots_s": KNOTS_S,
        "unit_km": unit_km,
        "satellites": None if made.satellites == list(range(first)) else made.satellites,
        "count": first,
        "stations": [
            [one.name, *_spots(one, len(knots) // (3 * first)).round(3).ravel().tolist()]
            for one in made.stations
        ],
        "load": loaded,
        "arrays": places,
    }
    scripts = "\n".join(_own(f"{part}.js") for part in PARTS)
    sheets = "".join(own(f"templates/{name}.css") for name in ("page", "table", "chart"))
    shared = [own("uplot/uPlot.iife.min.js")]
    shared += [own(f"templates/{name}.js") for name in ("chart", "canvas", "unpack")]
    return framed(
        _own("page.html"),
        title=f"{made.info['shell'] or 'Satellites'}: {first:,} satellites, {len(made.stations):,} stations",
        lead=f"{units.short(duration_s)} s from {made.info['epoch']}, "
        f"with new paths each {units.short(made.info['step_s'])} s.",
        loaded=loaded is not None,
        blocks=blocks(),
        # Ours, and none ends an element of the page.
        style=Markup(sheets + own("uplot/uPlot.min.css") + _own("page.css")),
        begin=Markup("\n".join(shared)),
        script=Markup(f'(async () => {{\n"use strict";\n{scripts}}})();'),
        known=Markup(json.dumps(known, separators=(",", ":")).replace("<", "\\u003c")),
        arrays=packed(content),
        version=known["version"],
    )


def _planes(values: Numbers) -> bytes:
    """Numbers below 2^32 as their lowest bytes, then the bytes above, to the highest."""
    return np.asarray(values, "<u4").view(np.uint8).reshape(-1, 4).T.tobytes()


def _knots(made: Network, duration_s: float) -> tuple[Whole, float]:
    """Positions of all satellites each `KNOTS_S`, to the second instant behind the end, and their unit in km.

    The values are x, y and z in the frame that turns with the Earth, plus 2^15.
    """
    count = math.ceil(duration_s / KNOTS_S) + 2
    there = [satellites_at(made, nth * KNOTS_S) for nth in range(count)]
    positions = np.array([_ecef(one["lat"], one["lon"], one["alt_km"]) for one in there])
    unit_km = float(np.abs(positions).max()) / 32_767
    return (np.rint(positions / unit_km).astype(np.int64) + 32_768).ravel(), unit_km


def _spots(station: Point | Track, count: int) -> NDArray[np.float64]:
    """Where a station is, x, y and z in km; of one that moves at each of so many knots."""
    instants = np.arange(count if isinstance(station, Track) else 1) * KNOTS_S
    there = [station.at(t_s) for t_s in instants]
    columns = ([point.lat_deg for point in there], [point.lon_deg for point in there])
    return _ecef(*columns, np.array([point.alt_m for point in there]) / 1000)


def _ecef(lat_deg: Any, lon_deg: Any, alt_km: Any) -> NDArray[np.float64]:
    """Geodetic coordinates on WGS 84 as x, y and z in km, in the last axis."""
    lat, lon = np.radians(lat_deg), np.radians(lon_deg)
    square = _FLATTENING * (2 - _FLATTENING)
    radius = _AXIS_KM / np.sqrt(1 - square * np.sin(lat) ** 2)
    out = (radius + alt_km) * np.cos(lat)
    up = (radius * (1 - square) + alt_km) * np.sin(lat)
    return np.stack([out * np.cos(lon), out * np.sin(lon), up], axis=-1)


def _paths(made: Network) -> dict[str, Numbers]:
    """The paths of all ordered pairs, without those of a station to itself, by from and to.

    `path_rows` is how many rows each pair has. A row has the step at which it begins, and its route: 0 for
    none, else 1 + 2 i for route i, and 1 more for route i from its end. Routes are lists of nodes.
    """
    rows = made.paths.sort("from", "to", "t_s")
    routes: dict[tuple[int, ...], int] = {}
    chosen = []
    for via, delay_s in zip(rows["via"].to_list(), rows["delay_s"].to_list(), strict=True):
        if delay_s is None:
            chosen.append(0)
            continue
        way = tuple(via)
        back = way[::-1]
        chosen.append(1 + 2 * routes.setdefault(min(way, back), len(routes)) + (back < way))
    return {
        "path_rows": rows.group_by("from", "to", maintain_order=True).len()["len"].to_numpy(),
        "path_step": np.rint(rows["t_s"].to_numpy() / made.info["step_s"]),
        "path_route": chosen,
        "route_length": [len(way) for way in routes],
        "route_via": [one for way in routes for one in way],
    }


def _coast() -> dict[str, Numbers]:
    """Land and lakes: how many points each has, whether it is a lake, and hundredths of a degree."""
    shapes = [
        shape
        for shape in sorted(coasts("c"), key=lambda shape: shape.level == LAKE)
        if shape.level != ISLAND_IN_LAKE and np.ptp(shape.points, axis=0).max() > _LEAST_DEG
    ]
    points = np.rint(100 * (np.vstack([shape.points for shape in shapes]) + (180, 90)))
    return {
        "coast_points": [len(shape.points) for shape in shapes],
        "coast_is_lake": [int(shape.level == LAKE) for shape in shapes],
        "coast_lon": points[:, 0],
        "coast_lat": points[:, 1],
    }


def _load(load: pl.DataFrame, duration_s: float) -> tuple[dict[str, Any], dict[str, Numbers]]:
    """The links that are not always idle, and by interval and link: per cent busy, queue in tenths, drops."""
    starts, lengths = (np.array(part) for part in loads.intervals(load, duration_s))
    used = load.filter((load["busy"] > 0) | (load["queue_mean_packets"] > 0) | (load["dropped_packets"] > 0))
    # 0 stands for the ground.
    to = used["to"].fill_null(-1).to_numpy() + 1
    most = int(to.max(initial=0)) + 1
    links, link = np.unique(used["from"].to_numpy() * most + to, return_inverse=True)
    at = np.searchsorted(starts, used["t_s"].to_numpy()), link
    tables = {}
    joined = max(1, math.ceil(len(starts) * len(links) / MOST_CELLS))
    begins = np.arange(0, len(starts), joined)
    for name in ("busy", "queue_mean_packets", "dropped_packets"):
        whole = np.zeros((len(starts), len(links)))
        whole[at] = used[name].to_numpy()
        if joined > 1:
            is_mean = name != "dropped_packets"
            weights = lengths[:, None] if is_mean else 1.0
            whole = np.add.reduceat(whole * weights, begins)
            if is_mean:
                whole /= np.add.reduceat(lengths, begins)[:, None]
        tables[name] = whole.ravel()
    known = {
        "starts": starts[begins].tolist(),
        "end_s": float(starts[-1] + lengths[-1]) if len(starts) else 0.0,
    }
    return known, {
        "load_from": links // most,
        "load_to": links % most,
        "load_busy": np.rint(100 * np.minimum(tables["busy"], 1)),
        "load_queue": np.rint(10 * tables["queue_mean_packets"]),
        "load_dropped": tables["dropped_packets"],
    }


def _own(name: str) -> str:
    """A file of this package."""
    return files("bentpipe.orbit.globe").joinpath(name).read_text(encoding="utf-8")
