"""Constellations for the simulator: the table `network` of a scenario, as nodes, positions and next hops.

The simulator does not depend on orbits. It asks for a constellation by the keys of a scenario, and
`crates/py` passes the request here.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import _core, units
from bentpipe.orbit import hypatia, loads
from bentpipe.orbit.ground import Point, Track
from bentpipe.orbit.networks import ROUTES, Network, cities, network, populations
from bentpipe.orbit.paths import SELECT
from bentpipe.result import Result
from bentpipe.sweeps.execution import cores

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

_PLACE = ("lat", "lon")


def constellation(request: str) -> dict[str, Any]:
    """The constellation of a request.

    Args:
        request: JSON with the keys `network` (the table of a scenario), `station` (its own stations by
            name), and `duration_s`.

    Returns:
        satellites (their number), stations (names), inhabitants (of their cities; empty if unknown), lasers
        (pairs of satellites), first_ns, spacing_ns and xyz_km (positions: knots x nodes in rows of three),
        at_ns, node, destination, next (changes of the next hops; -1 for none), failed (two ends of a laser,
        or a node twice, and from when to when it fails, ns), warnings.

    Raises:
        ScenarioError: a key is wrong.
        OSError: a file cannot be read.
    """
    asked = json.loads(request)
    return _columns(*_made(asked["network"], asked["station"], asked["duration_s"], paths=False))


def network_of(scenario: dict[str, Any]) -> Network:
    """The network of a scenario, by its keys.

    Raises:
        ScenarioError: it has none, or a key is wrong.
        OSError: a file cannot be read.
    """
    if not scenario.get("network"):
        raise _core.ScenarioError("the scenario has no table [network]")
    duration_s = units.seconds(scenario["duration"], "duration")
    made, tables = _made(scenario["network"], scenario.get("station") or {}, duration_s, paths=True)
    return replace(made, tables=tables)


def is_stored(folder: Path) -> bool:
    """Whether a folder holds the result of a run."""
    return (folder / "run.json").is_file()


def stored(folder: Path) -> tuple[Network, pl.DataFrame | None]:
    """The network of a stored run, and the load of its links if the run has recorded it.

    Raises:
        ScenarioError: the folder holds no result, or one without a network.
        OSError: a file cannot be read.
    """
    result = Result.load(folder)
    made = network_of(result.scenario)
    return made, loads.of_ports(result.port_trace) if result.port_trace.height else None


def _made(
    keys: dict[str, Any], own: dict[str, Any], duration_s: float, *, paths: bool
) -> tuple[Network, pl.DataFrame]:
    """The network of a table `network`, and its next hops, which a folder of Hypatia may give."""
    if keys.get("hypatia") is not None:
        return _of_folder(Path(keys["hypatia"]), keys, duration_s, paths=paths)
    options = _options(keys, duration_s, paths=paths)
    made = network(_stations(keys, own), shell=keys.get("shell"), tle=keys.get("tle"), **options)
    return made, made.tables


def _options(keys: dict[str, Any], duration_s: float, *, paths: bool) -> dict[str, Any]:
    """What `network` takes besides satellites and stations."""
    return {
        "duration": f"{duration_s} s",
        "step": keys.get("update") or "1 s",
        "epoch": keys.get("epoch"),
        "min_elevation": keys.get("min_elevation"),
        "reach": keys.get("reach") or "elevation",
        "lasers": None if keys.get("isl") else [],
        "route": keys.get("route") or ROUTES[0],
        "select": keys.get("select") or SELECT[0],
        "every": keys.get("every"),
        "relays": keys.get("relays") or False,
        "failures": keys.get("failures") or (),
        "threads": cores(),
        "knots": True,
        "paths": paths,
    }


def _stations(keys: dict[str, Any], own: dict[str, Any]) -> list[str | Point | Track]:
    names = keys.get("stations") or [*cities()]
    return [
        Point(name, *(own[name][key] for key in _PLACE)) if isinstance(name, str) and name in own else name
        for name in names
    ]


def _of_folder(
    folder: Path, keys: dict[str, Any], duration_s: float, *, paths: bool
) -> tuple[Network, pl.DataFrame]:
    """The constellation of a folder of Hypatia, with its own forwarding state if that covers the run."""
    read = hypatia.read(folder)
    options = _options(keys, duration_s, paths=paths)
    del options["reach"], options["lasers"]  # which the folder says
    if read.tables is None:
        made = hypatia.network_of(read, **options)
        return made, made.tables
    # The folder has the tables: one of our own is enough.
    made = hypatia.network_of(read, **options | {"step": f"{duration_s} s"})
    if read.duration_s is not None and duration_s > read.duration_s:
        made.info["warnings"].append(
            f"the forwarding state of {folder} ends at {read.duration_s:g} s; the last tables stay"
        )
    return made, read.tables


def _columns(made: Network, tables: pl.DataFrame) -> dict[str, Any]:
    import numpy as np
    import polars as pl

    at: np.ndarray = np.rint(tables["t_s"].to_numpy() * 1e9)
    following = tables["next"].cast(pl.Int64).fill_null(-1)
    assert made.knots is not None
    return {
        "satellites": len(made.satellites),
        "stations": [point.name for point in made.stations],
        "inhabitants": populations(made.stations),
        "lasers": made.lasers,
        "first_ns": made.knots.first_ns,
        "spacing_ns": made.knots.spacing_ns,
        "xyz_km": made.knots.xyz_km,
        "at_ns": at.astype(np.uint64),
        "node": tables["node"].to_numpy(),
        "destination": tables["destination"].to_numpy(),
        "next": following.to_numpy(),
        "failed": [
            (node, node if other is None else other, round(from_s * 1e9), round(to_s * 1e9))
            for _, node, other, from_s, to_s in made.failed.iter_rows()
        ],
        "warnings": made.info["warnings"],
    }
