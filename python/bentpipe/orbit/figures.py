"""Pictures of a path through satellites (its round-trip time, the way on a map), and of a network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray

from bentpipe import _core, plot, terminal
from bentpipe.document.spans import merged
from bentpipe.orbit import loads
from bentpipe.orbit.coasts import LAKE, borders, coasts
from bentpipe.orbit.networks import Network, satellites_at
from bentpipe.orbit.paths import Solution
from bentpipe.plot.looks import grey, size

MOST_LINES = 40
"""Handovers up to which each has a line in the picture of the round-trip time; more are a strip below it."""
MOST_POINTS = 20_000
"""Points of a curve beyond which it is a picture inside the drawing: viewers are slow with more."""
MOST_WAYS = 12
"""Ways on a map beside the first one."""

_SEA, _LAND, _COAST, _BORDER = "#eef3f7", "#dcded3", "#9aa196", "#b7bcb0"
_WAY, _OTHER, _DARK, _CHANGE = "#d62728", "#1f77b4", "#f6d5d5", "#1f77b4"
_BUSY = LinearSegmentedColormap.from_list("busy", ["#e8c547", "#e58e26", "#d1491f", "#9b1b1b", "#4a0d1f"])
"""Colours of a laser from nearly idle to full, as on the page (globe/scene.js)."""
_LEAST = 0.004
"""Size of the smallest island or lake that is drawn, as a share of the map."""
_RIM = 150.0
"""Degrees from the centre of a map beyond which nothing is drawn."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PathInstant:
    """A path at one instant.

    Attributes:
        t_s: the instant.
        satellites: from the first-named end to the other.
        corners: of shape (satellites + 2, 2) or, with a gateway and a second place, one more: longitude and
            latitude in degrees.
        others: where all satellites are, of shape (n, 2).
        ends: names and positions of the two ends, and of the gateway in use.
    """

    t_s: float
    satellites: tuple[int, ...]
    corners: Floats
    others: Floats
    ends: tuple[tuple[str, float, float], ...]


def rtt(found: Solution) -> Figure:
    """Round-trip time over time, with each handover, and each time without a path."""
    fig, axes = plot.figure(2 * plot.WIDTH, plot.HEIGHT)
    with plot.styled():
        _rtt(axes, found.frame)
        axes.set_title(_title(found), loc="left", pad=16)
    return fig


def world(found: Solution) -> Figure:
    """The path on a map at the first instant that has one, and fainter as it is at some later ones."""
    fig, axes = plot.figure(2 * plot.WIDTH, 1.9 * plot.HEIGHT)
    with plot.styled():
        _world(axes, found)
        axes.set_title(_title(found), loc="left")
    return fig


def both(found: Solution) -> Figure:
    """Both pictures, one above the other."""
    with plot.styled():
        fig = Figure(figsize=(2 * plot.WIDTH, 2.9 * plot.HEIGHT), layout="constrained")
        above, below = fig.subplots(2, 1, height_ratios=(1, 1.9))
        _rtt(above, found.frame)
        above.set_title(_title(found), loc="left", pad=16)
        _world(below, found)
    return fig


def network(made: Network, load: pl.DataFrame | None = None, at_s: float = 0.0) -> plot.Drawing:
    """Satellites, lasers and stations of a network on a map of the world at an instant.

    Args:
        made: the network.
        load: the load of links over time (columns: `bentpipe.orbit.loads.COLUMNS`): lasers have the colour of
            the busier of their directions.
        at_s: the instant.

    Returns:
        A figure whose numbers are a row for each laser: from, to, and how busy it is both ways (`busy`,
        `busy_back`).

    Raises:
        ScenarioError: the instant is outside the network or the load, or the load is not of this network.
    """
    if not 0 <= at_s <= made.info["duration_s"]:
        raise _core.ScenarioError(
            f"the instant is {at_s:g} s; the network lasts from 0 s to {made.info['duration_s']:g} s"
        )
    busy = _busy(made, load, at_s)
    ends = [station.at(at_s) for station in made.stations]
    there = satellites_at(made, at_s)
    places = np.column_stack([there["lon"], there["lat"]])
    lines = [_split(great_circle(tuple(places[a]), tuple(places[b]), 16)) for a, b in made.lasers]
    now = size()
    width = now.at_least(2 * plot.WIDTH)
    fig, axes = plot.figure(width, width * (0.55 if load is None else 0.62))
    with plot.styled():
        _plane(axes)
        most = busy.max(axis=1, initial=0.0) if load is not None else np.zeros(len(lines))
        idle = [part for share, parts in zip(most, lines, strict=True) if share == 0 for part in parts]
        label = "laser" if load is None else "idle laser"
        axes.add_collection(
            LineCollection(idle, color=grey(0.62), linewidth=0.3 * now.type, zorder=3, label=label),
            autolim=False,
        )
        used = [(most[i], part) for i in np.argsort(most, kind="stable") if most[i] > 0 for part in lines[i]]
        if load is not None:
            shares = np.array([share for share, _ in used])
            drawn = LineCollection(
                [part for _, part in used], array=100 * shares, cmap=_BUSY, norm=Normalize(0, 100),
                linewidths=now.type * (0.5 + 1.1 * shares), capstyle="round", zorder=4,
            )  # fmt: skip
            axes.add_collection(drawn, autolim=False)
            bar = fig.colorbar(drawn, ax=axes, orientation="horizontal", fraction=0.05, pad=0.02, aspect=50)
            bar.set_label("utilisation of the laser's busier direction, %")
        axes.plot(
            *places.T, "o", color=grey(0.25), markersize=1.1 * now.type, markeredgewidth=0, zorder=5,
            label="satellite",
        )  # fmt: skip
        axes.plot(
            *np.array([((point.lon_deg + 180) % 360 - 180, point.lat_deg) for point in ends]).T, "s",
            color=_WAY, markersize=2.4 * now.type, markeredgecolor="white", markeredgewidth=0.3, zorder=6,
            label="station",
        )  # fmt: skip
        axes.set_title(f"{_name(made.info['shell'] or 'TLEs')}, {at_s:g} s", loc="left")
        axes.legend(
            loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, frameon=False, borderaxespad=0.2,
            borderpad=0.1,
        )  # fmt: skip
    fig.data = pl.DataFrame(made.lasers, schema={"from": pl.Int64, "to": pl.Int64}, orient="row")
    if load is not None:
        fig.data = fig.data.with_columns(busy=busy[:, 0], busy_back=busy[:, 1])
    return fig


def _busy(made: Network, load: pl.DataFrame | None, at_s: float) -> Floats:
    """How busy each laser is in its two directions, of shape (lasers, 2)."""
    busy = np.zeros((len(made.lasers), 2))
    if load is None:
        return busy
    found = loads.checked(load, made)
    starts, lengths = loads.intervals(found, made.info["duration_s"])
    within = [start for start, long in zip(starts, lengths, strict=True) if start <= at_s < start + long]
    if not within:
        covered = f"from {starts[0]:g} s to {starts[-1] + lengths[-1]:g} s" if starts else "no time"
        raise _core.ScenarioError(f"the instant is {at_s:g} s; the load of links covers {covered}")
    rows = found.filter(pl.col("t_s") == within[0], pl.col("to").is_not_null())
    shares = {(a, b): share for a, b, share in rows.select("from", "to", "busy").iter_rows()}
    for i, (a, b) in enumerate(made.lasers):
        busy[i] = shares.get((a, b), 0.0), shares.get((b, a), 0.0)
    return busy


def _split(line: Floats) -> list[Floats]:
    """A line of longitudes and latitudes, in two where it crosses the edge of the map."""
    cut = np.flatnonzero(np.abs(np.diff(line[:, 0])) > 180)
    if not len(cut):
        return [line]
    before, after = line[: cut[0] + 1], line[cut[0] + 1 :]
    turn = 360.0 if before[-1, 0] > 0 else -360.0
    # Both parts end at a point beyond the edge, which the frame cuts off.
    return [np.vstack([before, after[0] + (turn, 0)]), np.vstack([before[-1] - (turn, 0), after])]


def _plane(axes: Axes) -> None:
    """The map of the world by longitude and latitude."""
    axes.set(xlim=(-180, 180), ylim=(-90, 90), facecolor=_SEA, xticks=[], yticks=[])
    axes.set_aspect("equal")
    axes.grid(visible=False)
    axes.spines[:].set(visible=True, color="0.7")
    for is_lake in (False, True):
        shapes = [one.points for one in coasts("c") if (one.level == LAKE) == is_lake]
        colour = _SEA if is_lake else _LAND
        axes.add_collection(PolyCollection(shapes, facecolor=colour, linewidth=0, zorder=1), autolim=False)


def ways(found: Solution) -> list[PathInstant]:
    """The path at the first instant that has one, then at some of the instants with another route."""
    rows = found.frame.filter(
        pl.col("reachable") & (pl.col("route") != pl.col("route").shift(1)).fill_null(value=True)
    )
    if rows.height > MOST_WAYS + 1:
        rows = rows[np.unique(np.linspace(0, rows.height - 1, MOST_WAYS + 1).round().astype(int)).tolist()]
    return [_way(found, row) for row in rows.iter_rows(named=True)]


def _way(found: Solution, row: dict[str, Any]) -> PathInstant:
    there = found.snapshot(row["t_s"])
    at = {
        int(sat): (lon, lat) for sat, lon, lat in zip(there["sat"], there["lon"], there["lat"], strict=True)
    }
    points = [(name, lon, lat) for name, lat, lon, _ in there["points"]]
    route = found.routes[row["route"]]
    first, gateway = points[0], row.get("gateway")
    after = [next(p for p in points[1:] if p[0] == gateway)] if gateway is not None else []
    if found.ends[1] != first[0] and len(points) > 1 and points[1][0] == found.ends[1]:
        after.append(points[1])
    ends = (first, *after)
    corners = [first[1:], *(at[sat] for sat in route), *(p[1:] for p in after)]
    return PathInstant(row["t_s"], tuple(route), np.array(corners), np.array(list(at.values())), ends)


def _nowhere(found: Solution) -> PathInstant:
    """The ends alone, at the start: of a path that never is."""
    there = found.snapshot(0.0)
    ends = tuple((name, lon, lat) for name, lat, lon, _ in there["points"])
    return PathInstant(
        0.0, (), np.array([end[1:] for end in ends]), np.column_stack([there["lon"], there["lat"]]), ends
    )


def _title(found: Solution) -> str:
    a, b = (_name(name) for name in found.ends)
    return f"{a} \u2013 {b}, {_name(found.info['shell'] or 'TLEs')}"


def _name(name: str) -> str:
    """A name in a picture: of a voyage its ends only; dollars are no mathematics."""
    return terminal.plain(name.partition(" at ")[0]).replace("$", r"\$")


def _rtt(axes: Axes, frame: pl.DataFrame) -> None:
    time = frame["t_s"].to_numpy()
    reachable, changes = frame["reachable"].to_numpy(), frame["handover"].to_numpy()
    unit, per = ("h", 3600.0) if time[-1] > 2 * 3600 else ("min", 60.0) if time[-1] > 600 else ("s", 1.0)
    label: str | None = "no path"
    for begin, end in dark(time, reachable):
        axes.axvspan(begin / per, end / per, color=_DARK, linewidth=0, label=label)
        label = None
    at = time[changes] / per
    if 0 < len(at) <= MOST_LINES:
        for place in at:
            axes.axvline(place, color=_CHANGE, linewidth=0.6, linestyle=(0, (2, 2)), alpha=0.7)
        axes.plot([], [], color=_CHANGE, linewidth=0.6, linestyle=(0, (2, 2)), label="handover")
    elif len(at):
        axes.plot(
            at, np.full(len(at), 0.02), "|", transform=axes.get_xaxis_transform(), color=_CHANGE,
            markersize=4, markeredgewidth=0.3, alpha=0.6, label=f"{len(at):,} handovers",
            rasterized=len(at) > 2000,
        )  # fmt: skip
    values = frame["rtt_ms"].fill_null(np.nan).to_numpy()
    many = len(time) > MOST_POINTS
    # A step and not a slope where the path changes.
    cut = np.flatnonzero(changes)
    line: dict[str, Any] = {"color": "0.15", "linewidth": 0.9, "rasterized": many}
    axes.plot(np.insert(time, cut, time[cut]) / per, np.insert(values, cut, np.nan), **line)
    alone = reachable & (changes | ~np.roll(reachable, 1)) & (np.roll(changes, -1) | ~np.roll(reachable, -1))
    axes.plot(time[alone] / per, values[alone], ".", color="0.15", markersize=2, rasterized=many)
    axes.set(xlabel=f"time, {unit}", ylabel="round-trip time, ms", xmargin=0)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(ncols=2, loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2)


def dark(time: NDArray[np.float64], reachable: NDArray[np.bool_]) -> list[tuple[float, float]]:
    """The times without a path: where each begins and ends, in seconds.

    The last row lasts as long as the one before it.
    """
    after = np.append(time[1:], time[-1] + (time[-1] - time[-2] if len(time) > 1 else 0.0))
    return merged(zip(time[~reachable].tolist(), after[~reachable].tolist(), strict=True))


def _world(axes: Axes, found: Solution) -> None:
    drawn = ways(found) or [_nowhere(found)]
    around = middle(np.vstack([way.corners for way in drawn]))
    on = around.xy(np.vstack([_line(way.corners) for way in drawn]))
    low, high = on.min(axis=0), on.max(axis=0)
    margin = 4.0 + 0.08 * float((high - low).max())
    box = axes.get_window_extent()
    _frame(axes, low - margin, high + margin, box.width / box.height)
    _land(axes, around)
    first, rest = drawn[0], drawn[1:]
    stars = around.xy(first.others)
    axes.plot(*stars.T, ".", color="0.45", markersize=2.4, markeredgewidth=0, zorder=3, label="satellites")
    for way in rest:
        axes.plot(*around.xy(_line(way.corners)).T, color=_OTHER, linewidth=0.7, alpha=0.5, zorder=4)
    if rest:
        axes.plot([], [], color=_OTHER, linewidth=0.7, alpha=0.6, label="later")
    if first.satellites:
        line, when = around.xy(_line(first.corners)), f"at {first.t_s:.10g} s"
        axes.plot(*line.T, color=_WAY, linewidth=1.3, zorder=5, label=when)
    sats = around.xy(first.corners[1 : 1 + len(first.satellites)])
    axes.plot(
        *sats.T, "o", color=_WAY, markersize=3.2, markeredgecolor="white", markeredgewidth=0.4, zorder=6
    )
    if len(sats) <= 24:
        for sat, place in zip(first.satellites, sats, strict=True):
            axes.annotate(
                str(sat),
                place,
                xytext=(2.5, 2.5),
                textcoords="offset points",
                fontsize=5,
                color="0.3",
                zorder=6,
            )
    for name, lon, lat in first.ends:
        place = around.xy(np.array([[lon, lat]]))[0]
        axes.plot(
            *place, "s", color="0.1", markersize=4, markeredgecolor="white", markeredgewidth=0.5, zorder=7
        )
        axes.annotate(
            _name(name), place, xytext=(0, -5), textcoords="offset points",
            ha="center", va="top", fontsize=7, fontweight="bold", zorder=7,
            bbox={"facecolor": "white", "alpha": 0.7, "linewidth": 0, "pad": 0.6},
        )  # fmt: skip
    axes.legend(loc="upper right", frameon=True, framealpha=0.8, edgecolor="none", fontsize=6, borderpad=0.3)


def _line(corners: Floats) -> Floats:
    """Great circles from corner to corner."""
    return np.vstack([great_circle(tuple(a), tuple(b)) for a, b in zip(corners, corners[1:], strict=False)])


def _frame(axes: Axes, low: Floats, high: Floats, shape: float) -> None:
    """Shows the map from `low` to `high`, widened to the shape of the axes."""
    centre, size = (low + high) / 2, high - low
    size = np.array([max(size[0], size[1] * shape), max(size[1], size[0] / shape)])
    size = np.minimum(size, 2 * _RIM)
    x, y = np.array([centre - size / 2, centre + size / 2]).T
    axes.set(xlim=x, ylim=y, facecolor=_SEA, xticks=[], yticks=[])
    axes.set_aspect("equal", adjustable="box")
    axes.grid(visible=False)
    axes.spines[:].set(visible=True, color="0.7")


def _land(axes: Axes, around: Around) -> None:
    seen = np.array([axes.get_xlim(), axes.get_ylim()])
    least = _LEAST * float((seen[:, 1] - seen[:, 0]).max())
    shapes: dict[int, list[Floats]] = {}
    for outline in coasts():
        on = around.xy(outline.points)
        if _touches(on, seen) and float((on.max(axis=0) - on.min(axis=0)).max()) > least:
            shapes.setdefault(outline.level, []).append(_rimmed(on))
    for level in sorted(shapes):  # land, lakes in it, islands in those
        colour = _SEA if level == LAKE else _LAND
        drawn = PolyCollection(shapes[level], facecolor=colour, edgecolor=_COAST, linewidth=0.3, zorder=1)
        axes.add_collection(drawn, autolim=False)
    lines = [around.xy(outline.points) for outline in borders()]
    lines = [on for on in lines if _touches(on, seen) and float(np.hypot(*on.T).max()) < _RIM]
    axes.add_collection(LineCollection(lines, color=_BORDER, linewidth=0.3, zorder=2), autolim=False)


def _touches(on: Floats, seen: Floats) -> bool:
    return bool(((on.min(axis=0) < seen[:, 1]) & (on.max(axis=0) > seen[:, 0])).all())


def _rimmed(on: Floats) -> Floats:
    """A polygon pulled in to the rim: near the point opposite to the centre it would fold over."""
    share: Floats = np.minimum(1.0, _RIM / np.maximum(np.hypot(*on.T), 1e-9))
    return np.column_stack([on[:, 0] * share, on[:, 1] * share])


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
