"""Ground points: by name, by coordinates, and ground."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bentpipe import orbit
from bentpipe._core import ScenarioError
from bentpipe.orbit import ground

ROOT = Path(__file__).parents[2]
EARTH_M = 2 * math.pi * 6_371_008.8


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Rio", "Rio de Janeiro"),
        ("saint petersburg", "Saint Petersburg"),
        ("St. Petersburg", "Saint Petersburg"),
        ("sao-paulo", "São Paulo"),
        ("SÃO PAULO", "São Paulo"),
        ("Xian", "Xi'an"),
        ("new-york", "New York"),
    ],
)
def test_a_place_is_found_without_its_accents_case_and_hyphens(text: str, name: str) -> None:
    assert ground.point(text).name == name


def test_the_cities_of_hypatias_pairs_are_where_hypatia_has_them() -> None:
    # The lines 18, 73, 17, 85, 14, 96, 24 and 21 of its list of cities.
    assert {
        name: (ground.point(name).lat_deg, ground.point(name).lon_deg) for name in ("Rio", "Saint Petersburg")
    } == {
        "Rio": (-22.90278, -43.2075),
        "Saint Petersburg": (59.929858, 30.326228),
    }
    wanted = {
        "Manila": (14.6042, 120.9822),
        "Dalian": (38.913811, 121.602322),
        "Istanbul": (41.0138, 28.9497),
        "Nairobi": (-1.28333, 36.81667),
        "Paris": (48.85341, 2.3488),
        "Moscow": (55.754996, 37.621849),
    }
    for name, (lat, lon) in wanted.items():
        assert (ground.point(name).lat_deg, ground.point(name).lon_deg) == (lat, lon)


def test_the_table_has_a_hundred_cities_of_hypatia_and_each_place_once_of_a_kind() -> None:
    table = orbit.places()
    assert table.filter(table["source"].str.contains("Hypatia")).height == 100
    assert table.select("kind", "name").is_unique().all()
    assert table["lat_deg"].is_between(-90, 90).all()
    assert table["lon_deg"].is_between(-180, 180).all()
    assert (table["source"].str.len_chars() > 10).all()
    assert set(table["kind"]) == set(ground.KINDS)


def test_every_station_of_the_simulator_is_a_place_within_its_rounding() -> None:
    text = (ROOT / "crates/sim/src/orbit/stations.rs").read_text(encoding="utf-8")
    stations = re.findall(r'\("([a-z-]+)", at\((-?[0-9.]+), (-?[0-9.]+)\)\)', text)
    assert len(stations) > 20
    for name, lat, lon in stations:
        point = ground.find(name)
        # The middle of a city is not one point. Beijing is where a paper has it, half a degree away.
        assert abs(point.lat_deg - float(lat)) <= (0.6 if name == "beijing" else 0.15), name
        assert abs(point.lon_deg - float(lon)) <= 0.15, name


def test_coordinates_are_a_point_too() -> None:
    assert ground.point("35.69,139.69") == ground.Point("35.69,139.69", 35.69, 139.69, 0.0)
    assert ground.point(" -23.5 , -46.6 , 11 km ") == ground.Point(
        "-23.5 , -46.6 , 11 km", -23.5, -46.6, 11_000.0
    )
    assert ground.point("0,0,36000 ft").alt_m == pytest.approx(10_972.8)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Parris", "no place is called 'Parris'; did you mean Paris"),
        ("Qwxyz", "see bentpipe orbit places"),
        ("", "no place is called ''"),
        ("95,0", "latitude 95 is not between -90 and 90 degrees"),
        ("0,361", "longitude 361 is not between -180 and 360 degrees"),
        ("0,0,200 km", "altitude 200000 is not between"),
        ("1,2,high", "'high' is not a length"),
        ("1,2,", "write latitude and longitude in degrees"),
        ("Paris to Rome at 900", "'900' is not a speed"),
        ("Paris to Rome at 900 km/s", "'900 km/s' is not a speed"),
        ("Paris to Rome at 90000 km/h", "at most 3600 km/h"),
        ("Paris to Rome at 900 km/h, 11 miles", "'11 miles' is not a length"),
        ("Paris to Rome at 900 km/h, after 3", "'3' is not a duration"),
        ("10,20 to -10,-160 at 900 km/h", "opposite to each other"),
    ],
)
def test_a_wrong_place_is_one_clear_line(text: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=re.escape(message)) as wrong:
        ground.place(text, "place", 60.0)
    assert "\n" not in str(wrong.value)


def test_an_aircraft_is_on_the_great_circle_at_its_speed() -> None:
    # A quarter of the equator, then the same along a meridian, at 900 km/h: 10,007.6 km in 40,030.3 s.
    east = ground.place("0,0 to 0,90 at 900 km/h, 11 km", "place", 1e6)
    assert isinstance(east, ground.Track)
    assert east.rows[0] == (0.0, 0.0, 0.0, 11_000.0)
    assert east.rows[-1][0] == pytest.approx(EARTH_M / 4 / 250)
    assert east.rows[-1][1:] == (0.0, 90.0, 11_000.0)
    north = ground.place("0,10 to 90,10 at 250 m/s", "place", EARTH_M / 8 / 250)
    assert isinstance(north, ground.Track)
    assert north.rows[-1] == pytest.approx((EARTH_M / 8 / 250, 45.0, 10.0, 0.0))


def test_a_voyage_may_be_under_way_and_rests_when_it_is_over() -> None:
    half = ground.place("0,0 to 0,90 at 250 m/s, after 20015.115 s", "place", 100.0)
    assert isinstance(half, ground.Track)
    assert half.rows[0][2] == pytest.approx(45.0, abs=1e-4)
    over = ground.place("0,0 to 0,1 at 250 m/s, after 10 h", "place", 100.0)
    assert isinstance(over, ground.Track)
    assert over.rows == ((0.0, 0.0, 1.0, 0.0),)


def test_a_ship_is_as_fast_as_its_knots() -> None:
    # A degree of the mean sphere is 60.04 nautical miles: at 60 knots an hour and 2.4 s.
    ship = ground.place("0,0 to 1,0 at 60 knots", "place", 1e5)
    assert isinstance(ship, ground.Track)
    assert ship.rows[-1][0] == pytest.approx(3602.4, abs=0.2)


def test_positions_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "track.csv"
    file.write_text("t_s,lat,lon,alt\n0,50,8,100\n60,50.5,8.5,\n")
    found = ground.place(str(file), "place", 60.0)
    assert found == ground.Track("track.csv", ((0.0, 50.0, 8.0, 100.0), (60.0, 50.5, 8.5, 0.0)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time,lat,lon\n0,1,2\n", "no column t_s"),
        ("t_s,lat,lon\n", "no positions"),
        ("t_s,lat,lon\n0,1,2\n0,1,2\n", "line 3: t_s 0 is not after 0; times must increase"),
        ("t_s,lat,lon\n0,1,2\n5,x,2\n", "line 3: lat 'x' is not a number"),
        ("t_s,lat,lon\n0,1\n", "line 2: lon '' is not a number"),
        ("t_s,lat,lon\n0,nan,2\n", "line 2: lat 'nan' is not a number"),
        ("t_s,lat,lon\n0,91,2\n", "line 2 'track.csv': latitude 91"),
    ],
)
def test_a_wrong_file_of_positions_names_its_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "track.csv"
    file.write_text(text)
    with pytest.raises(ScenarioError, match=re.escape(message)):
        ground.read(file)


def test_the_command_lists_places_and_finds_one(cli: Callable[..., object]) -> None:
    one = cli("orbit", "places", "rio")
    assert one.exit_code == 0
    assert "-22.90278" in one.stdout
    every = cli("orbit", "places", "--kind", "gateway")
    assert "Merrillan" in every.stdout
    assert "Tokyo" not in every.stdout
    wrong = cli("orbit", "places", "Pariss")
    assert wrong.exit_code == 2
    assert wrong.stderr.startswith("bentpipe: no place is called 'Pariss'; did you mean Paris")
