"""A whole constellation: forwarding tables, paths, folders of Hypatia, the command."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import bentpipe as bp
from bentpipe import _core
from bentpipe.orbit import hypatia, networks

CITIES = ["Tokyo", "Paris", "Lagos"]
NORTH = bp.orbit.Point("Longyearbyen", 78.2, 15.6)
KUIPER = {"shell": "hypatia-kuiper-k1", "reach": "length"}


@pytest.fixture(name="made", scope="module")
def _made() -> networks.Network:
    return networks.network([*CITIES, NORTH], duration="20 s", step="1 s", **KUIPER)


def test_tables_lead_along_the_paths(made: networks.Network) -> None:
    first = len(made.satellites)
    start = made.tables.filter(pl.col("t_s") == 0)
    after = {(node, to): hop for _, node, to, hop in start.iter_rows()}
    assert len(after) == (first + 3) * 4  # a station has no next hop to itself
    for _, a, b, via, delay_s in made.paths.filter(pl.col("t_s") == 0).iter_rows():
        at, way = a, []
        while at is not None and at != b:
            at = after[at, b]
            way += [at]
        assert way == ([*via, b] if delay_s is not None else [None])


def test_a_path_is_the_one_of_orbit_path(made: networks.Network) -> None:
    line = bp.orbit.path("Tokyo", "Paris", duration="20 s", step="1 s", **KUIPER)
    first = len(made.satellites)
    rows = made.paths.filter((pl.col("from") == first) & (pl.col("to") == first + 1))
    at = line.join(rows, on="t_s", suffix="_network")
    assert at.height == rows.height > 1
    assert (at["delay_s"] - at["delay_s_network"]).abs().max() < 1e-9
    assert at["via"].list.len().to_list() == (at["hops"] - 1).to_list()


def test_stations_that_no_satellite_serves_are_named(made: networks.Network) -> None:
    (warning,) = made.info["warnings"]
    assert warning.startswith("no path ever leads to Longyearbyen: the satellites serve latitudes up to 6")


def test_a_folder_of_hypatia_comes_back_as_it_was_written(made: networks.Network, tmp_path: Path) -> None:
    hypatia.write(made, tmp_path / "out")
    folder = hypatia.read(tmp_path / "out")
    assert folder.lasers == made.lasers
    assert [point.name for point in folder.stations] == [*CITIES, NORTH.name]
    assert (folder.step_s, folder.duration_s, folder.greatest_length_km) == (1.0, 20.0, 1260.0)
    assert folder.tables is not None
    assert folder.tables.equals(made.tables)
    again = hypatia.network_of(folder, duration="20 s", step="1 s")
    found = hypatia.agreement(again, folder.tables)
    assert found.entries == 20 * made.tables.filter(pl.col("t_s") == 0).height
    assert found.paths == 20 * 12
    assert (found.same_entries, found.same_paths) == (found.entries, found.paths)


def test_an_agreement_counts_what_differs(made: networks.Network) -> None:
    first = len(made.satellites)
    # From 10 s on Tokyo sends elsewhere to Paris, until a row of the table says otherwise.
    key = (pl.col("node") == first) & (pl.col("destination") == first + 1)
    other = pl.DataFrame([(10.0, first, first + 1, 0)], schema=made.tables.schema, orient="row")
    changed = pl.concat([made.tables.filter(~key | (pl.col("t_s") < 10)), other]).sort("t_s")
    found = hypatia.agreement(made, changed)
    assert found.entries - found.same_entries == 10
    assert found.paths - found.same_paths == 10


def test_satellites_of_a_file_make_no_folder(made: networks.Network, tmp_path: Path) -> None:
    with pytest.raises(_core.ScenarioError, match="needs a shell"):
        hypatia.write(replace(made, tles=None), tmp_path)


def test_lines_that_hypatia_would_not_write_are_named(made: networks.Network, tmp_path: Path) -> None:
    hypatia.write(made, tmp_path)
    (tmp_path / "isls.txt").write_text("0 1\n1\n", encoding="utf-8")
    with pytest.raises(_core.ScenarioError, match=r"isls.txt, line 2: '1'; expected 2 numbers"):
        hypatia.read(tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "ground_stations.txt",
            "0,Tokyo,x,1,0,1,2,3\n",
            "line 1: '0,Tokyo,x,1,0,1,2,3'; expected number, name",
        ),
        (
            "dynamic_state_1000ms_for_20s/fstate_3000000000.txt",
            "9999,1156,4,0,0\n",
            "9999,1156,4; satellites have",
        ),
        ("dynamic_state_1000ms_for_20s/fstate_3000000000.txt", "0,7,4,0,0\n", "0,7,4; satellites have"),
    ],
)
def test_what_cannot_be_is_named_with_its_file(
    made: networks.Network, tmp_path: Path, name: str, text: str, said: str
) -> None:
    hypatia.write(made, tmp_path)
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(_core.ScenarioError, match=f"{Path(name).name}.*{said}"):
        hypatia.read(tmp_path)


def test_times_of_hypatia_are_whole() -> None:
    assert hypatia.check_times(2.0, 0.029) == (2_000_000_000, 29_000_000)  # 0.029 x 1000 is no whole number
    with pytest.raises(_core.ScenarioError, match="steps of whole milliseconds"):
        hypatia.check_times(2.0, 0.0005)


def test_stations_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "stations.csv"
    file.write_text("name,lat,lon,alt\nHome,48.1,11.6,520\nAway,-33.9,18.4,\n", encoding="utf-8")
    assert [point.alt_m for point in networks.stations([str(file)])] == [520.0, 0.0]
    file.write_text("name,lat,lon\nHome,x,11.6\n", encoding="utf-8")
    with pytest.raises(_core.ScenarioError, match="line 2: lat 'x' is not a number"):
        networks.stations([str(file)])


def test_the_thousand_cities_are_near_those_of_hypatia() -> None:
    large = networks.stations(["top-1000"])
    assert len({point.name for point in large}) == 1000
    places = np.radians([(point.lat_deg, point.lon_deg) for point in large])
    up = np.column_stack([np.cos(places[:, 0]) * f(places[:, 1]) for f in (np.cos, np.sin)])
    up = np.column_stack([up, np.sin(places[:, 0])])
    apart = np.arccos(np.clip(up @ up.T - 2 * np.eye(1000), -1, 1)) * 6371
    assert apart.min() > 15
    far = []
    for point in bp.orbit.cities("top-100"):
        lat, lon = np.radians([point.lat_deg, point.lon_deg])
        there = np.array([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
        if np.arccos(np.clip(up @ there, -1, 1)).min() * 6371 > 15:
            far.append(point.name)
    assert far == ["Miami", "Atlanta"]  # cities proper of half a million people
    with pytest.raises(_core.ScenarioError, match="no list of cities is called 'top-500'; .*top-100"):
        networks.stations(["top-500"])


def test_a_station_is_named_once() -> None:
    with pytest.raises(_core.ScenarioError, match="station 'Tokyo' is named twice"):
        networks.network(["Tokyo", "Paris", "tokyo"])


def test_the_command_writes_what_it_says(cli: Callable[..., SimpleNamespace], tmp_path: Path) -> None:
    out, folder = tmp_path / "net", tmp_path / "hypatia"
    options = ["--shell", "hypatia-kuiper-k1", "--for", "5 s", "--reach", "length", "--json"]
    said = cli("orbit", "network", *CITIES, *options, "-o", out, "--hypatia", folder)
    sums = json.loads(said.stdout)
    assert (sums["satellites"], sums["lasers"], sums["stations"], sums["tables"]) == (1156, 2312, 3, 5)
    assert pl.read_parquet(out / "tables.parquet").columns == ["t_s", "node", "destination", "next"]
    assert pl.read_csv(out / "nodes.csv", infer_schema=False)["name"].to_list()[-3:] == CITIES
    again = json.loads(cli("orbit", "network", "--from", folder, "--json").stdout)
    agreement = again["agreement"]
    assert agreement["entries"] == agreement["same_entries"] == 5 * sums["entries"]
    assert agreement["paths"] == agreement["same_paths"] == 5 * 6


# Eight satellites around the equator at 11,000 km: satellite k begins over longitude 45 k - 99.968 degrees
# by the sidereal time of that midnight. crates/orbit/tests/orbit/networks.rs works out the paths by hand.
RING: dict[str, Any] = {
    "planes": 1,
    "per_plane": 8,
    "inclination_deg": 0,
    "altitude_km": 11000,
    "min_elevation_deg": 50,
    "lasers": False,
}
NEIGHBOURS: list[tuple[int, int]] = [(k, (k + 1) % 8) for k in range(8)]


def _under(satellite: int, name: str) -> bp.orbit.Point:
    return bp.orbit.Point(name, 0.0, 45 * satellite - 97.968)


def _ways(*stations: bp.orbit.Point, **rules: Any) -> list[tuple[float, list[int]]]:
    """When the path from the first station to the second one changes, and the nodes on it."""
    options: dict[str, Any] = {
        "shell": RING,
        "lasers": NEIGHBOURS,
        "duration": "60 s",
        "step": "10 s",
    } | rules
    made = networks.network(stations, **options)
    rows = made.paths.filter((pl.col("from") == 8) & (pl.col("to") == 9))
    return [(t_s, via) for t_s, via in rows.select("t_s", "via").iter_rows()]


def test_the_fewest_links_may_be_the_longer_way() -> None:
    ends = (_under(0, "a"), _under(3, "b"))
    lasers = [(0, 1), (1, 2), (2, 3), (0, 5), (5, 3)]
    assert _ways(*ends, lasers=lasers) == [(0.0, [0, 1, 2, 3])]
    assert _ways(*ends, lasers=lasers, route="hops") == [(0.0, [0, 5, 3])]


def test_a_station_keeps_the_satellite_that_a_rule_chooses() -> None:
    # 20.5 degrees east of satellite 2, which is the highest for 3,703 s and in reach for 7,239 s.
    ends = [bp.orbit.Point(name, 0.0, 45 * k - 79.468) for k, name in ((2, "a"), (6, "b"))]
    options: dict[str, Any] = {"duration": "7500 s", "step": "60 s", "min_elevation": 5.0}
    for select, every, wanted in (
        ("highest-elevation", None, [(0.0, 2), (3720.0, 1)]),
        ("highest-elevation", "3000 s", [(0.0, 2), (6000.0, 1)]),
        ("longest-visible", "lost", [(0.0, 2), (7260.0, 0)]),
    ):
        made = networks.network(ends, shell=RING, lasers=NEIGHBOURS, select=select, every=every, **options)
        first = made.tables.filter((pl.col("node") == 8) & (pl.col("destination") == 9))
        assert first.select("t_s", "next").rows() == wanted


def test_stations_relay_where_no_laser_leads() -> None:
    # Each sees satellites up to 63.6 degrees away: 8 sees 7, 0 and 1; 9 sees 2, 3 and 4; 10 sees 1 and 2.
    ends = [bp.orbit.Point(name, 0.0, lon - 99.968) for name, lon in (("a", -15), ("b", 150), ("c", 67.5))]
    rules: dict[str, Any] = {"lasers": [], "min_elevation": 5.0}
    assert _ways(*ends, **rules) == [(0.0, [])]
    assert _ways(*ends, relays=True, **rules) == [(0.0, [1, 10, 2])]


def test_routes_avoid_what_fails_and_the_failure_is_told(tmp_path: Path) -> None:
    near, far = [2, 3, 4], [2, 1, 0, 7, 6, 5, 4]
    ends = (_under(2, "a"), _under(4, "b"))
    laser = "laser 3-2, from 5 s to 20 s, detected after 10 s"
    assert _ways(*ends, failures=[laser]) == [(0.0, near), (20.0, far), (30.0, near)]
    assert _ways(*ends, failures=["satellite 3, from 20 s"]) == [(0.0, near), (20.0, far)]
    assert _ways(*ends, failures=["station B, from 20 s"]) == [(0.0, near), (20.0, [])]
    share = "25 % of satellites, seed 1"
    made = networks.network(
        ends, shell=RING, lasers=NEIGHBOURS, duration="60 s", step="10 s", failures=[laser, share]
    )
    laser_row, *satellites = made.failed.rows()
    assert laser_row == ("laser", 2, 3, 5.0, 20.0)
    assert [row[0] for row in satellites] == ["satellite"] * 2
    networks.write(made, tmp_path)
    assert pl.read_csv(tmp_path / "failed.csv").rows() == made.failed.rows()


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({"route": "hop"}, "no route is called 'hop'; did you mean hops"),
        ({"select": "path"}, "shortest-path"),
        ({"every": "15 s"}, "every goes with select"),
        ({"failures": ["satelite 3"]}, 'write "satellite 17" or "laser 17-18"'),
        ({"failures": ["satellite 3, at 5 s"]}, "from 20 s to 60 s"),
        ({"failures": ["satellite 8"]}, "satellite is 8, but must be from 0 to 7"),
        ({"failures": ["station c"]}, "no station is called 'c'; there are a, b"),
        ({"failures": ["laser 0-2"]}, "no laser from 0 to 2; 0 has lasers to 1, 7"),
    ],
)
def test_rules_that_do_not_exist_are_named(rules: dict[str, Any], said: str) -> None:
    with pytest.raises(_core.ScenarioError, match=said):
        _ways(_under(2, "a"), _under(4, "b"), **rules)


def test_shells_are_numbered_one_after_the_other(cli: Callable[..., SimpleNamespace], tmp_path: Path) -> None:
    # The second station is 22.5 degrees from the nearest of eight satellites, which serve up to 19.4 degrees
    # away, and from the second of four, which serve up to 63.6 degrees. By hand: crates/orbit/tests/orbit.
    eight, four = (
        RING | {"per_plane": count, "min_elevation_deg": degrees, "lasers": True}
        for count, degrees in ((8, 60), (4, 5))
    )
    ends = [_under(0, "a"), bp.orbit.Point("b", 0.0, 67.5 - 99.968)]
    made = networks.network(ends, shell=[eight, four], duration="10 s")
    assert made.satellites == list(range(12))
    assert sorted(made.lasers)[-4:] == [(8, 9), (8, 11), (9, 10), (10, 11)]
    (via,) = made.paths.filter(pl.col("from") == 12)["via"].to_list()
    assert via == [8, 9]
    assert networks.satellites_at(made, 0.0)["sat"].tolist() == made.satellites
    assert networks.network(ends, shell=eight, duration="10 s").info["warnings"]
    with pytest.raises(_core.ScenarioError, match="and just one"):
        hypatia.write(made, tmp_path)
    kuiper = [word for k in (1, 2, 3) for word in ("--shell", f"kuiper-k{k}")]
    sums = json.loads(cli("orbit", "network", *CITIES, *kuiper, "--for", "2 s", "--json").stdout)
    # 34 x 34 + 36 x 36 + 28 x 28 satellites, two lasers each.
    assert (sums["satellites"], sums["lasers"]) == (3236, 6472)


@pytest.mark.parametrize(
    ("shells", "said"),
    [
        (["kuiper-k1", "kuiper-k1"], "satellites.shell: kuiper-k1 is named twice; give each shell once"),
        (["kuiper-k1", "kuiper-k9"], 'no shell is called "kuiper-k9"; did you mean "kuiper-k'),
    ],
)
def test_shells_that_cannot_be_are_named(shells: list[str], said: str) -> None:
    with pytest.raises(_core.ScenarioError, match=said):
        networks.network(CITIES, shell=shells)


def test_elements_of_two_files_are_one_network(tmp_path: Path) -> None:
    made = networks.network(CITIES, duration="2 s", **KUIPER)
    assert made.tles is not None
    lines = made.tles.splitlines()
    files = [tmp_path / "one.tle", tmp_path / "two.tle"]
    for file, part in zip(files, (lines[:300], lines[300:600]), strict=True):
        file.write_text("\n".join(part) + "\n", encoding="utf-8")
    both = networks.network(CITIES, tle=files, duration="2 s")
    assert both.satellites == list(range(1, 201))
    with pytest.raises(_core.ScenarioError, match="1 is in two files; give each satellite once"):
        networks.network(CITIES, tle=[files[0], files[0]])


def test_a_station_that_moves_passes_the_satellites(tmp_path: Path) -> None:
    # It begins 20.5 degrees east of satellite 2 and goes west by 0.008 degrees/s. Satellite 1 is as near
    # after 43 degrees at 0.01161 + 0.008 degrees/s, 2,193 s.
    begin = 45 * 2 - 79.468
    rows = [f"{t_s},0,{begin - 0.008 * t_s}" for t_s in (0, 2000, 4000)]
    (tmp_path / "ship.csv").write_text("\n".join(["t_s,lat,lon", *rows]) + "\n", encoding="utf-8")
    far = bp.orbit.Point("b", 0.0, 45 * 6 - 79.468)
    options: dict[str, Any] = {"duration": "3000 s", "step": "60 s", "min_elevation": 5.0}
    made = networks.network(
        [f"Liner = {tmp_path / 'ship.csv'}", far], shell=RING, lasers=NEIGHBOURS, select="highest-elevation",
        **options,
    )  # fmt: skip
    assert [station.name for station in made.stations] == ["Liner", "b"]
    first = made.tables.filter((pl.col("node") == 8) & (pl.col("destination") == 9))
    assert first.select("t_s", "next").rows() == [(0.0, 2), (2220.0, 1)]
    there = made.stations[0].at(1500.0)
    assert (there.lat_deg, there.lon_deg) == pytest.approx((0, begin - 12))
    networks.write(made, tmp_path / "net")
    assert networks.read(tmp_path / "net").stations == made.stations
    assert pl.read_csv(tmp_path / "net/nodes.csv")["lon_deg"][8] == pytest.approx(begin)


def test_stations_have_names_of_their_own(tmp_path: Path) -> None:
    voyage = "Frankfurt to New York at 900 km/h, 11 km"
    (tmp_path / "t.csv").write_text("t_s,lat,lon\n0,1,2\n", encoding="utf-8")
    found = networks.stations(["Jet = " + voyage, voyage, "Home=48.1,11.6", str(tmp_path / "t.csv")], 100.0)
    assert [station.name for station in found] == ["Jet", voyage, "Home", "t.csv"]
    # 100 s at 250 m/s on a sphere of 6,371.0088 km are 0.2248 degrees.
    start, end = found[0].at(0.0), found[0].at(100.0)
    assert (start.alt_m, end.alt_m) == (11_000, 11_000)
    north, east = end.lat_deg - start.lat_deg, end.lon_deg - start.lon_deg
    assert np.hypot(north, east * np.cos(np.radians((start.lat_deg + end.lat_deg) / 2))) == pytest.approx(
        0.22483, abs=2e-5
    )
    with pytest.raises(_core.ScenarioError, match='write "NAME = PLACE"'):
        networks.stations(["= Tokyo"])


def test_the_command_takes_the_rules(cli: Callable[..., SimpleNamespace]) -> None:
    options = ["--shell", "hypatia-kuiper-k1", "--for", "3 s", "--reach", "length", "--json"]
    rules = ["--route", "hops", "--select", "highest-elevation", "--every", "lost", "--relays"]
    fail = ["--fail", "satellite 0", "--fail", "1 % of lasers, seed 2"]
    sums = json.loads(cli("orbit", "network", *CITIES, *options, *rules, *fail).stdout)
    assert (sums["failed"], sums["lasers"]) == (1 + 23, 2312)
    alone = json.loads(cli("orbit", "network", *CITIES, *options, "--no-lasers").stdout)
    assert (alone["lasers"], alone["reachable"]) == (0, 0.0)
