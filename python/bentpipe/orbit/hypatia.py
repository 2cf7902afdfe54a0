"""Folders of Hypatia: a constellation with its stations and forwarding state.

The formats are those of Hypatia's satgenpy (IMC 2020): tles.txt, isls.txt, ground_stations.txt,
gsl_interfaces_info.txt, description.txt, and a folder dynamic_state_*_for_* with fstate_<ns>.txt and
gsl_if_bandwidth_<ns>.txt, which hold what has changed. Every node has one interface to the ground, behind
those of its lasers; lasers are numbered at each satellite in the order of isls.txt.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import _core
from bentpipe.io.files import make_folder, replace_text
from bentpipe.io.foreign import lines
from bentpipe.orbit.ground import Point, checked
from bentpipe.orbit.networks import Network, network
from bentpipe.orbit.paths import EARTH_KM, altitude_km, greatest_length_km, shells_of

if TYPE_CHECKING:
    import polars as pl

_FLATTENING72 = 1 / 298.26
"""Flattening of WGS 72, on whose ellipsoid Hypatia places its stations."""
_LOWEST_M = 80_000.0
"""Height below which no laser of Hypatia passes."""
_STATE = "dynamic_state_"
_NUMBER = r"-?\d+(?:\.\d+)?"
_STATION = rf"\d+,([^,]+),({_NUMBER}),({_NUMBER}),({_NUMBER})" + 3 * f",{_NUMBER}"
"""A line of ground_stations.txt, and its groups."""
_MS = 1_000_000
"""Nanoseconds."""


@dataclass(frozen=True)
class HypatiaFolder:
    """What a folder of Hypatia says.

    Attributes:
        tles: its satellites, as TLEs.
        lasers: pairs of satellites, by index.
        stations: the ground stations.
        greatest_length_km: of a link to the ground.
        tables: the forwarding state, as `Network.tables`; None if there is none.
        step_s: time between two states; None without any.
        duration_s: the time that they cover.
    """

    tles: str
    lasers: list[tuple[int, int]]
    stations: list[Point]
    greatest_length_km: float
    tables: pl.DataFrame | None
    step_s: float | None
    duration_s: float | None


def read(folder: Path) -> HypatiaFolder:
    """Reads a folder.

    Raises:
        ScenarioError: a file or a line is not as Hypatia writes it; the message names it.
        OSError: a file cannot be read.
    """
    first, *rest = lines(folder / "tles.txt")
    if not re.fullmatch(r"\s*\d+ \d+\s*", first):
        raise _core.ScenarioError(
            f"{folder / 'tles.txt'}, line 1: {first.strip()!r}; expected planes and satellites per plane"
        )
    lasers = [(int(a), int(b)) for a, b in _rows(folder / "isls.txt", r"(\d+) (\d+)", "2 numbers")]
    file = folder / "ground_stations.txt"
    stations = [
        checked(Point(name, float(lat), float(lon), float(alt_m)), str(file))
        for name, lat, lon, alt_m in _rows(
            file, _STATION, "number, name, latitude, longitude, elevation, x, y, z"
        )
    ]
    said = dict(line.strip().split("=", 1) for line in lines(folder / "description.txt") if "=" in line)
    try:
        greatest = float(said["max_gsl_length_m"]) / 1000
    except (KeyError, ValueError):
        raise _core.ScenarioError(f"{folder / 'description.txt'}: no line max_gsl_length_m=METRES") from None
    state = sorted(folder.glob(f"{_STATE}*"))
    satellites = len(rest) // 3
    nodes = satellites, satellites + len(stations)
    tables, step_s, duration_s = _state(state[0], *nodes) if state else (None, None, None)
    return HypatiaFolder("\n".join(rest), lasers, stations, greatest, tables, step_s, duration_s)


def _state(folder: Path, satellites: int, nodes: int) -> tuple[pl.DataFrame, float, float]:
    import polars as pl

    found = re.fullmatch(rf"{_STATE}(\d+)ms_for_(\d+)s", folder.name)
    if found is None:
        raise _core.ScenarioError(f"{folder}: expected a name such as {_STATE}100ms_for_200s")
    named = ((re.fullmatch(r"fstate_(\d+)", file.stem), file) for file in folder.glob("fstate_*.txt"))
    by_time = {int(name[1]): file for name, file in named if name is not None}
    if 0 not in by_time:
        raise _core.ScenarioError(f"{folder}: no file fstate_0.txt")
    rows: list[tuple[float, int, int, int | None]] = []
    changes = (item for item in sorted(by_time.items()) if item[1].stat().st_size > 0)
    for t_ns, file in changes:
        for node, to, after in _rows(file, r"(\d+),(\d+),(-1|\d+),-?\d+,-?\d+", "5 numbers"):
            if not (int(node) < nodes and satellites <= int(to) < nodes and int(after) < nodes):
                raise _core.ScenarioError(
                    f"{file}: {node},{to},{after}; satellites have the numbers below {satellites}, "
                    f"and stations, which are the destinations, follow up to {nodes - 1}"
                )
            rows.append((t_ns / 1e9, int(node), int(to), None if after == "-1" else int(after)))
    schema = {"t_s": pl.Float64, "node": pl.UInt32, "destination": pl.UInt32, "next": pl.UInt32}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return frame, int(found[1]) / 1000, float(found[2])


def _rows(file: Path, form: str, what: str) -> Iterator[tuple[str, ...]]:
    """The groups of a pattern that every line of a file has; `what` names it in the message.

    Raises:
        ScenarioError: a line has another form.
        OSError: the file cannot be read.
    """
    whole = re.compile(form)
    for number, line in enumerate(lines(file), 1):
        found = whole.fullmatch(line.strip())
        if found is None:
            raise _core.ScenarioError(f"{file}, line {number}: {line.strip()!r}; expected {what}")
        yield found.groups()


def network_of(folder: HypatiaFolder, **options: Any) -> Network:
    """The tables of a folder's constellation, worked out anew; `options` as `network` takes them.

    Raises:
        ScenarioError: as `network`.
    """
    return network(
        folder.stations, satellites={"tle": folder.tles, "file": "tles.txt"}, lasers=folder.lasers,
        reach="length", greatest_length_km=folder.greatest_length_km, **options,
    )  # fmt: skip


@dataclass(frozen=True)
class Agreement:
    """How much of a forwarding state another one repeats, over all its steps.

    Attributes:
        entries: entries of all tables.
        same_entries: those with the same next hop.
        paths: paths of all pairs of stations at all steps.
        same_paths: those over the same nodes.
    """

    entries: int
    same_entries: int
    paths: int
    same_paths: int


def agreement(made: Network, tables: pl.DataFrame) -> Agreement:
    """Compares the tables of a network with others of the same nodes, step by step."""
    import numpy as np
    import polars as pl

    first, count = len(made.satellites), len(made.stations)
    to, start = (grid.ravel() for grid in np.meshgrid(np.arange(count), np.arange(count)))
    pairs = start != to
    to, start = to[pairs], start[pairs] + first
    hop = pl.col("next").cast(pl.Int64).fill_null(-1)
    states = [np.full((first + count, count), -2, dtype=np.int64) for _ in range(2)]
    rows = [
        frame.select("t_s", "node", "destination", hop).to_numpy().astype(np.float64)
        for frame in (made.tables, tables)
    ]
    sums = np.zeros(4, dtype=np.int64)
    for t_s in np.arange(0.0, made.info["duration_s"] - 1e-9, made.info["step_s"]):
        for which, (state, changes) in enumerate(zip(states, rows, strict=True)):
            due = np.searchsorted(changes[:, 0], t_s + 1e-9, side="right")
            node, destination, after = changes[:due, 1:].astype(np.int64).T
            state[node, destination - first] = after
            rows[which] = changes[due:]
        known = states[0] != -2
        same = np.ones(len(to), dtype=bool)
        at = [start, start]
        under_way = same.copy()
        while under_way.any():
            one, other = (state[nodes, to] for state, nodes in zip(states, at, strict=True))
            same &= ~under_way | (one == other)
            under_way &= same & (one >= 0) & (one != to + first)
            at = [np.where(under_way, one, start), np.where(under_way, other, start)]
        sums += [known.sum(), (known & (states[0] == states[1])).sum(), len(to), same.sum()]
    return Agreement(*map(int, sums))


def check_times(duration_s: float, step_s: float) -> tuple[int, int]:
    """Both in nanoseconds, as files and folders of Hypatia name them.

    Raises:
        ScenarioError: Hypatia cannot name them.
    """
    duration_ns, step_ns = round(duration_s * 1e9), round(step_s * 1e9)
    if step_ns % _MS or duration_ns % (1000 * _MS):
        raise _core.ScenarioError("Hypatia has steps of whole milliseconds, and durations of whole seconds")
    return duration_ns, step_ns


def write(made: Network, folder: Path) -> None:
    """Writes a network as Hypatia's programs read it.

    Raises:
        ScenarioError: its satellites are no shell, or the times are not whole milliseconds and seconds.
        OSError: it cannot be written.
    """
    shells = shells_of(made.request["satellites"])
    if made.tles is None or shells is None:
        raise _core.ScenarioError(
            "a folder of Hypatia needs a shell, and just one: its first line has planes and slots"
        )
    (shell,) = shells
    points = [point for point in made.stations if isinstance(point, Point)]
    if len(points) < len(made.stations):
        raise _core.ScenarioError("stations of Hypatia stand; leave out those that move")
    duration_ns, step_ns = check_times(made.info["duration_s"], made.info["step_s"])
    state = folder / f"{_STATE}{step_ns // _MS}ms_for_{duration_ns // (1000 * _MS)}s"
    make_folder(state)
    count, nodes = len(made.satellites), range(len(made.satellites) + len(made.stations))
    own = Counter(node for pair in made.lasers for node in pair)
    planes = int(shell["planes"])
    replace_text(folder / "tles.txt", f"{planes} {count // planes}\n{made.tles}")
    replace_text(folder / "isls.txt", _text(f"{a} {b}" for a, b in made.lasers))
    replace_text(folder / "ground_stations.txt", _text(starmap(_station, enumerate(points))))
    replace_text(folder / "gsl_interfaces_info.txt", _text(f"{node},1,1.000000" for node in nodes))
    length_m = greatest_length_km(shell, made.info["min_elevation_deg"]) * 1000
    earth_m = EARTH_KM * 1000
    laser_m = 2 * math.sqrt((earth_m + altitude_km(shell) * 1000) ** 2 - (earth_m + _LOWEST_M) ** 2)
    described = f"max_gsl_length_m={length_m:.10f}\nmax_isl_length_m={laser_m:.10f}\n"
    replace_text(folder / "description.txt", described)
    ports = _ports(made)
    by_time: dict[int, list[str]] = {t_ns: [] for t_ns in range(0, duration_ns, step_ns)}
    for t_s, node, to, after in made.tables.iter_rows():
        cells = (-1, -1, -1) if after is None else (
            after, ports.get((node, after), own[node]), ports.get((after, node), own[after])
        )  # fmt: skip
        by_time[round(t_s * 1e9)].append(f"{node},{to},{cells[0]},{cells[1]},{cells[2]}")
    for t_ns, rows in by_time.items():
        replace_text(state / f"fstate_{t_ns}.txt", _text(rows))
        rates = [f"{node},{own[node]},1.000000" for node in nodes] if t_ns == 0 else []
        replace_text(state / f"gsl_if_bandwidth_{t_ns}.txt", _text(rates))


def _ports(made: Network) -> dict[tuple[int, int], int]:
    """The interface of each satellite for each of its lasers."""
    used: Counter[int] = Counter()
    ports: dict[tuple[int, int], int] = {}
    for a, b in made.lasers:
        for one, other in ((a, b), (b, a)):
            ports[one, other] = used[one]
            used[one] += 1
    return ports


def _text(rows: Any) -> str:
    return "".join(f"{row}\n" for row in rows)


def _station(number: int, point: Point) -> str:
    """A line of ground_stations.txt: number, name, latitude, longitude, elevation, and x, y, z in metres."""
    lat, lon = math.radians(point.lat_deg), math.radians(point.lon_deg)
    e2 = _FLATTENING72 * (2 - _FLATTENING72)
    n = EARTH_KM * 1000 / math.sqrt(1 - e2 * math.sin(lat) ** 2)
    around = (n + point.alt_m) * math.cos(lat)
    x, y, z = around * math.cos(lon), around * math.sin(lon), (n * (1 - e2) + point.alt_m) * math.sin(lat)
    name = point.name.replace(",", " ")
    return f"{number},{name},{point.lat_deg:f},{point.lon_deg:f},{point.alt_m:f},{x:f},{y:f},{z:f}"
