"""Paths between two ground points through satellites, as a time line.

The geometry and the choice of satellites are in `crates/orbit`; this module turns a user's words into its
request, and its columns into a table. Results are kept by the hash of request and compiled module.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from bentpipe import _core, units
from bentpipe.io.caches import Cache
from bentpipe.orbit import elements
from bentpipe.orbit.ground import KINDS, Point, Track, checked, place, table
from bentpipe.registry import unknown
from bentpipe.sweeps.fingerprint import simulator_hash

if TYPE_CHECKING:
    import polars as pl

    _Solved = tuple[pl.DataFrame, list[list[int]], dict[str, Any]]

End = str | Point | Track | tuple[float, float] | tuple[float, float, float]
ShellName = str | dict[str, Any]
"""A shell: its name, or a dict of a Walker shell."""
Progress = Callable[[float], object]

SHELL = "starlink-s1"
"""The shell of a path that names none."""
SELECT = ("shortest-path", "highest-elevation", "longest-visible")
"""Rules for the choice of satellites."""
EARTH_KM = 6378.135
"""Equatorial radius of WGS 72, km."""
LEAST_DEG = 25.0
"""Least elevation of a shell that names none, degrees."""
REACH = ("elevation", "length")
"""The criterion of reach for a satellite: its elevation, or as in Hypatia the length of the link."""
KEPT = Cache("orbit", most=200)
"""Paths that were computed before."""
_FORMAT = 2
"""Version of an entry of it: another one is never read."""


@dataclass(frozen=True)
class Solution:
    """A path over time.

    Attributes:
        frame: the time line, as `path` returns it.
        routes: the routes that it takes: satellites from the first-named end to the other. The column `route`
            of `frame` is an index into them.
        info: epoch (UTC), satellites (how many), mode, min_elevation_deg, shell, warnings.
        request: the request to the compiled module, JSON.
        ends: names of the two ends; the second is the gateway in use if no second place was named.
    """

    frame: pl.DataFrame
    routes: list[list[int]]
    info: dict[str, Any]
    request: str
    ends: tuple[str, str]

    def snapshot(self, t_s: float) -> dict[str, Any]:
        """Satellites and ground points at an instant: sat, lat, lon, alt_km, points and lasers."""
        return _core.orbit_snapshot(self.request, t_s)


def path(a: End, b: End | None = None, **options: Any) -> pl.DataFrame:
    """The path between two places through satellites, and its round-trip time, over time.

        bp.orbit.path("Rio", "Saint Petersburg", shell="hypatia-kuiper-k1", duration="200 s", step="100 ms")

    The frame is a time line (columns t_s, delay_s, up, handover), which a link takes as `timeline`. delay_s
    is half the round trip, in seconds; where there is no path it has the value before (or the next one), and
    `up` is false. More columns: reachable, rtt_ms, first_sat (over the first-named place) and last_sat (plane
    x satellites per plane + slot, from 0; of a TLE the NORAD number), hops, gateway (its name), access (a
    handover of the first or last satellite or the gateway, not only of the route between),
    first_elevation_deg, last_elevation_deg, route (an index). Without a path these are null.

    Args:
        a: a place: its name, "35.69,139.69", "lat,lon,altitude", a tuple of these
            numbers (degrees, metres), a `Point`; or one that moves: "Frankfurt to
            New York at 900 km/h, 11 km", "track.csv", a `Track`.
        b: the other place; None: the path ends at the gateway.
        options: as `solve` takes them.

    Raises:
        ScenarioError: a value is wrong, or a place is in reach of no satellite at any time.
        OSError: a file cannot be read.
    """
    return solve(a, b, **options).frame


def solve(
    a: End,
    b: End | None = None,
    *,
    shell: ShellName | Sequence[ShellName] | None = None,
    tle: str | Path | Sequence[str | Path] | None = None,
    duration: str = "200 s",
    step: str = "1 s",
    epoch: str | None = None,
    mode: str | None = None,
    gateway: str | Sequence[End] | None = None,
    select: str = "shortest-path",
    every: str | None = None,
    handover_break: str | None = None,
    min_elevation: float | None = None,
    reach: str = "elevation",
    progress: Progress | None = None,
    keep: bool = True,
) -> Solution:
    """The same as `path`, with the routes and the positions for a map.

    Args:
        a: the first place.
        b: the other place.
        shell: a shell's name (`shells`), or a dict of a Walker shell: planes, per_plane, inclination_deg,
            altitude_km and more; or a list, whose satellites are numbered one shell after the other. By
            default `SHELL`.
        tle: instead of a shell, a file of TLEs, or of OMMs in CSV, JSON, KVN or XML; its content says which.
            Or a list of files.
        duration: how long, "200 s".
        step: time between two rows, "1 s".
        epoch: UTC at the start, "2026-11-22T10:00:00Z"; by default the shell's, or that of the newest TLE.
        mode: "lasers" or "bent-pipe"; by default lasers if the shell has them.
        gateway: of a bent pipe the gateways, as names or points; "all": every one of the table.
        select: how satellites are chosen, one of `SELECT`.
        every: when they are chosen: None at every step, "15 s", or "lost": when one is lost.
        handover_break: time after a change of satellite or gateway in which nothing passes, "500 ms".
        min_elevation: least elevation in degrees; by default the shell's.
        reach: one of `REACH`.
        progress: called with the share that is done.
        keep: take the result from the store, and put it there.

    Raises:
        ScenarioError: a value is wrong.
        OSError: a file cannot be read.
    """
    duration_s, step_s = units.seconds(str(duration), "duration"), units.seconds(str(step), "step")
    ends = [
        None if end is None else _end(end, what, duration_s) for end, what in ((a, "place"), (b, "place"))
    ]
    if select not in SELECT:
        raise _core.ScenarioError(unknown("way to select", select, list(SELECT)))
    if reach not in REACH:
        raise _core.ScenarioError(unknown("rule of reach", reach, list(REACH)))
    if mode not in (None, "lasers", "bent-pipe"):
        raise _core.ScenarioError(unknown("mode", str(mode), ["lasers", "bent-pipe"]))
    gateways = _gateways(gateway, duration_s)
    request = {
        "satellites": satellites_of(shell, tle),
        "a": ends[0],
        "b": ends[1],
        "gateways": gateways,
        "duration_s": duration_s,
        "step_s": step_s,
        "epoch": epoch,
        "mode": mode or ("bent-pipe" if gateway is not None else None),
        "choose": select,
        "when": when_of(every),
        "min_elevation_deg": min_elevation,
        "reach": reach,
        "handover_break_s": 0.0 if handover_break is None else units.seconds(handover_break, "break"),
    }
    if min_elevation is not None and not math.isfinite(min_elevation):
        raise _core.ScenarioError(f"min_elevation {min_elevation}: write degrees, for example 25")
    text = json.dumps(request, allow_nan=False)
    name = hashlib.sha256(f"{_FORMAT} {simulator_hash()} {text}".encode()).hexdigest()[:32]
    found: _Solved | None = None
    if keep:
        with suppress(LookupError):
            (kept_routes, kept_info), kept_frame = KEPT.read(name)
            found = cast("pl.DataFrame", kept_frame), kept_routes, kept_info
    if found is None:
        raw = _core.orbit_path(text, progress)
        found = _solved(raw, gateways)
        _check_reach(request, raw["columns"], found[2])
        if keep:
            KEPT.write(name, found[1:], found[0])
    frame, routes, info = found
    known = [end["name"] if end is not None else "the gateway" for end in ends]
    return Solution(frame, routes, info, text, (known[0], known[1]))


def shells() -> pl.DataFrame:
    """The shells that have a name: planes, inclination, altitude, least elevation, lasers, source."""
    import polars as pl

    return pl.DataFrame(
        [{**one, "phase": json.dumps(one["phase"])} for one in json.loads(_core.orbit_shells())]
    )


def places(kind: str | None = None) -> pl.DataFrame:
    """The places that have a name.

    Columns: kind (city, station or gateway), name, aliases, country, lat_deg, lon_deg, alt_m, source.

    Args:
        kind: only these.

    Raises:
        ScenarioError: there is no such kind.
    """
    import polars as pl

    if kind is not None and kind not in KINDS:
        raise _core.ScenarioError(unknown("kind of place", kind, list(KINDS)))
    return table() if kind is None else table().filter(pl.col("kind") == kind)


def _end(end: End, what: str, duration_s: float) -> dict[str, Any]:
    if isinstance(end, str):
        return place(end, what, duration_s).request()
    if isinstance(end, tuple):
        end = Point(",".join(f"{value:.10g}" for value in end), *end)
    return (checked(end, what) if isinstance(end, Point) else end).request()


def satellites_of(
    shell: ShellName | Sequence[ShellName] | None, tle: str | Path | Sequence[str | Path] | None
) -> dict[str, Any] | list[dict[str, Any]]:
    """The satellites of a request: of shells, of files, or by default of `SHELL`; of several a list.

    Raises:
        ScenarioError: both are given, or the file is of another kind.
        OSError: it cannot be read.
    """
    shells = [shell] if isinstance(shell, str | dict) else list(shell or [])
    files = [tle] if isinstance(tle, str | Path) else list(tle or [])
    if shells and files:
        raise _core.ScenarioError("a shell and a TLE file exclude each other")
    found: list[dict[str, Any]] = [elements.read(Path(file)) for file in files] or [
        {"walker": one} if isinstance(one, dict) else {"shell": one} for one in shells or [SHELL]
    ]
    return found if len(found) > 1 else found[0]


def _gateways(given: str | Sequence[End] | None, duration_s: float) -> list[dict[str, Any]]:
    if given is None:
        return []
    if given == "all" or given == ["all"]:
        return [
            Point(row["name"], row["lat_deg"], row["lon_deg"], row["alt_m"]).request()
            for row in places("gateway").iter_rows(named=True)
        ]
    return [_end(one, "gateway", duration_s) for one in ([given] if isinstance(given, str) else given)]


def when_of(every: str | None) -> str | dict[str, float]:
    """The key `when` of a request: at every step, when a satellite is lost, or at intervals.

    Raises:
        ScenarioError: the interval is no time.
    """
    if every is None or every == "step":
        return "every-step"
    return "when-lost" if every == "lost" else {"every_s": units.seconds(every, "every")}


def _check_reach(request: dict[str, Any], columns: dict[str, Any], info: dict[str, Any]) -> None:
    """Refuses an end over which no satellite of the shell can rise high enough, at any time."""
    if shells_of(request["satellites"]) is None:
        return
    for end, seen in ((request["a"], columns["a_in_reach"]), (request["b"], columns["b_in_reach"])):
        if end is None or seen.any() or (end is request["b"] and request["mode"] == "bent-pipe"):
            continue
        lat = min(abs(row[1]) for row in end["waypoints"]) if "waypoints" in end else abs(end["lat"])
        limit = furthest(request)
        if lat > limit:
            raise _core.ScenarioError(
                f"{end['name']}: no satellite of {info['shell'] or 'the shell'} ever stands "
                f"{info['min_elevation_deg']:g} degrees high at latitude {lat:.4g}; "
                f"it serves latitudes up to {limit:.3g} degrees"
            )


def shells_of(satellites: dict[str, Any] | list[dict[str, Any]]) -> list[dict[str, Any]] | None:
    """The numbers of a request's shells; None if satellites are of a file."""
    known = {one["name"]: one for one in json.loads(_core.orbit_shells())}
    sources = satellites if isinstance(satellites, list) else [satellites]
    found = [one.get("walker") or known.get(one.get("shell")) for one in sources]
    shells = [dict(one) for one in found if one is not None]
    return shells if len(shells) == len(found) else None


def altitude_km(shell: dict[str, Any]) -> float:
    """The height of a shell over the equator of WGS 72, km; of a mean motion by Kepler's third law."""
    if shell.get("altitude_km") is not None:
        return float(shell["altitude_km"])
    gravity, motion = 398_600.8, shell["mean_motion_rev_per_day"] * 2 * math.pi / 86_400
    return float((gravity / motion**2) ** (1 / 3) - EARTH_KM)


def greatest_length_km(shell: dict[str, Any], least: float) -> float:
    """The longest link to the ground by Hypatia's rule, km; `least`: the least elevation, degrees."""
    return shell.get("greatest_length_km") or altitude_km(shell) / math.sin(max(math.radians(least), 0.01))


def furthest(request: dict[str, Any]) -> float:
    """The latitude in degrees up to which satellites of shells may be in reach, and half a degree more.

    A satellite overhead at the orbit's highest latitude is in reach within the Earth-central angle of the
    least elevation (Wertz, Larson: Space Mission Analysis and Design, section 5.2), or of the greatest
    length.
    """
    return max(_furthest(shell, request) for shell in shells_of(request["satellites"]) or [])


def _furthest(shell: dict[str, Any], request: dict[str, Any]) -> float:
    least = request["min_elevation_deg"]
    if least is None:
        least = shell.get("min_elevation_deg", LEAST_DEG)
    height_km = altitude_km(shell)
    axis_km = EARTH_KM + height_km
    e = math.radians(least)
    angle = math.acos(min(EARTH_KM * math.cos(e) / axis_km, 1.0)) - e
    if request["reach"] == "length":
        length_km = greatest_length_km(shell, least)
        cosine = (EARTH_KM**2 + axis_km**2 - length_km**2) / (2 * EARTH_KM * axis_km)
        angle = math.acos(max(-1.0, min(cosine, 1.0)))
    inclination = float(shell["inclination_deg"])
    return min(inclination, 180.0 - inclination) + math.degrees(angle) + 0.5


def _solved(raw: dict[str, Any], gateways: list[dict[str, Any]]) -> _Solved:
    """The columns of the compiled module as a time line."""
    import polars as pl

    columns = pl.DataFrame(raw["columns"])
    names = pl.Series([one["name"] for one in gateways], dtype=pl.String)
    reachable = pl.col("reachable")

    def known(name: str) -> pl.Expr:
        return pl.when(reachable).then(pl.col(name)).otherwise(None).alias(name)

    frame = columns.select(
        "t_s",
        (known("rtt_ms") / 2000).round(9).forward_fill().backward_fill().alias("delay_s"),
        "up",
        "handover",
        "reachable",
        known("rtt_ms"),
        *(known(name) for name in ("first_sat", "last_sat", "hops")),
        *(known(name) for name in ("first_elevation_deg", "last_elevation_deg", "route")),
        "access",
    )
    if gateways:
        at = columns["gateway"].to_list()
        frame = frame.with_columns(
            pl.Series("gateway", [names[i] if i >= 0 else None for i in at], dtype=pl.String)
        )
    return frame, [list(map(int, route)) for route in raw["routes"]], json.loads(raw["info"])
