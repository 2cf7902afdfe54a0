"""Rain over a place, attenuation over time, and the verb. The modem's tests are in test_weather_modem.py."""

from __future__ import annotations

import json
import math
import os
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import bentpipe as bp
from bentpipe._core import ScenarioError
from bentpipe.weather import fades
from bentpipe.weather.climate import KEPT, climate, kept, rain_attenuation
from bentpipe.weather.fades import Law, Process, depth_db, law, series_sum
from bentpipe.weather.station import geo_elevation

PARIS, SINGAPORE, NEW_YORK = "48.86,2.35", "1.29,103.85", "40.71,-74.01"


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One folder of kept values for all tests here."""
    whole = tmp_path_factory.getbasetemp() / "weather-cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(whole))
    return whole / "bentpipe" / "weather"


def at_once(fitted: Law, count: int, step_s: float, seed: int = 1) -> np.ndarray:
    return fitted.attenuation(Process(step_s, seed).next(count))


# The station


def test_a_satellite_overhead_and_one_at_the_horizon_stand_where_they_should():
    assert geo_elevation(0.0, 0.0) == pytest.approx(90.0)
    assert geo_elevation(0.0, 81.3) == pytest.approx(0.0, abs=0.05)
    assert geo_elevation(-81.3, 0.0) == pytest.approx(0.0, abs=0.05)


def test_the_elevation_fits_the_length_of_the_path_from_paris_to_9_degrees_east():
    # scenarios/vsat.toml: 38305 km. Cosine rule: sin(elevation) = (r^2 - R^2 - d^2) / (2 R d).
    r, earth, d = 42164.17, 6378.137, 38305.0
    wanted = math.degrees(math.asin((r**2 - earth**2 - d**2) / (2 * earth * d)))
    assert bp.weather.Station(PARIS, band="ku", geo="9E").elevation_deg == pytest.approx(wanted, abs=0.2)


def test_west_is_negative_and_the_own_meridian_is_the_highest():
    west = bp.weather.Station(NEW_YORK, band="ka", geo="74W").elevation_deg
    assert west == pytest.approx(bp.weather.Station(NEW_YORK, band="ka").elevation_deg, abs=0.01)
    assert bp.weather.Station(NEW_YORK, band="ka", geo="30W").elevation_deg < west


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"at": "91,0", "band": "ka"}, "latitude 91 is not between -90 and 90 degrees"),
        ({"at": "1,2,3", "band": "ka"}, "height by itself"),
        ({"at": "Singapur", "band": "ka"}, "did you mean Singapore"),
        ({"at": "1,2"}, "say which band"),
        ({"at": "1,2", "band": "ka", "frequency": "20 GHz"}, "give one of band"),
        ({"at": "1,2", "band": "x"}, "'x' is none of ku, ka, q, v"),
        ({"at": "1,2", "frequency": "20"}, "write for example '20 GHz'"),
        ({"at": "1,2", "frequency": "90 GHz"}, "from 4 to 55 GHz"),
        ({"at": "1,2", "frequency": "nan GHz"}, "write for example '20 GHz'"),
        ({"at": "1,2", "band": "ka", "geo": "100"}, 'write for example "100E"'),
        ({"at": "1,2", "band": "ka", "geo": "100E"}, "under the horizon"),
        ({"at": "78,2", "band": "ka"}, "begin at 5 degrees"),
        ({"at": "1,2", "band": "ka", "geo": "2E", "elevation": "30 deg"}, "one of geo and elevation"),
        ({"at": "1,2", "band": "ka", "elevation": "3 deg"}, "from 5 to 90 deg"),
        ({"at": "1,2", "band": "ka", "polarisation": "l"}, "none of circular, horizontal, vertical"),
        ({"at": "1,2", "band": "ka", "antenna": "0 m"}, "out of range"),
        ({"at": "1,2", "band": "ka", "height": "9 km"}, "from -0.5 to 6 km"),
    ],
)
def test_a_station_that_is_none_is_refused_in_one_line(given: dict[str, str], message: str):
    with pytest.raises(ScenarioError, match=message) as wrong:
        bp.weather.Station(**given)
    assert "\n" not in str(wrong.value)


# The recommendations


# ITU-R Study Group 3's validation examples for P.618-13 (sheets P618-13 A_Rain and Att_Tot), as the tests of
# ITU-Rpy have them. A station; the rain attenuation in dB exceeded 1, 0.1, 0.01 and 0.001 % of the year; the
# whole attenuation exceeded 0.1 %.
EXAMPLES = [
    (
        "51.5,-0.14",
        "0.031382984 km",
        "14.25 GHz",
        "31.07699124 deg",
        "horizontal",
        (0.495317069, 2.185847422, 6.798072267, 14.89982248),
        2.901523272,
    ),
    (
        "41.9,12.49",
        "0.046122988 km",
        "29 GHz",
        "40.232036 deg",
        "horizontal",
        (2.823465634, 10.73100773, 28.74272193, 54.25561152),
        12.47579603,
    ),
    (
        "25.78,-80.22",
        "0.00861728 km",
        "29 GHz",
        "52.67898486 deg",
        "horizontal",
        (6.654855651, 25.56295492, 58.47438336, 93.39562548),
        28.5467365,
    ),
    (
        "22.9,-43.23",
        "0.0 km",
        "14.25 GHz",
        "22.27833468 deg",
        "horizontal",
        (1.706901281, 8.271647438, 18.94410356, 29.91171296),
        9.28165675,
    ),
    (
        "3.133,101.7",
        "0.051251456 km",
        "14.25 GHz",
        "85.80459566 deg",
        "vertical",
        (2.001026654, 11.00145492, 21.61057916, 28.81950409),
        11.82080134,
    ),
    (
        "9.05,38.7",
        "2.539861878 km",
        "29 GHz",
        "20.14335809 deg",
        "vertical",
        (3.70158394, 19.23910378, 35.97037673, 45.67419098),
        22.53547444,
    ),
    (
        "28.717,77.3",
        "0.209383699 km",
        "29 GHz",
        "48.24117054 deg",
        "vertical",
        (5.887821871, 22.22622902, 52.83372062, 87.96233699),
        26.06108561,
    ),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example[0]} {example[2]}")
def test_attenuation_is_that_of_the_validation_examples_of_the_itu(example):
    pytest.importorskip("itur")
    at, height, frequency, elevation, polarisation, rain, whole = example
    station = bp.weather.Station(
        at,
        frequency=frequency,
        elevation=elevation,
        polarisation=polarisation,
        antenna="1 m",
        height=height,
    )
    # The rain rates of the examples differ from the map's by up to 0.04 %.
    ours = [rain_attenuation(station, exceeded) for exceeded in (1.0, 0.1, 0.01, 0.001)]
    assert ours == pytest.approx(rain, rel=3e-4)
    # The examples' antenna has an efficiency of 65 %, ours P.618's 50 %: a little more scintillation.
    (total,) = bp.weather.attenuation(station, [0.1])["total_db"]
    assert total == pytest.approx(whole, rel=5e-4)


def test_attenuation_at_the_zenith_of_paris_is_that_of_p618_by_hand():
    pytest.importorskip("itur")
    station = bp.weather.Station(PARIS, band="ka", elevation="90 deg")
    found = climate(station)
    # P.838-3, table 5, 20 GHz; circular polarisation by its equations 4 and 5.
    k_h, alpha_h, k_v, alpha_v = 0.09164, 1.0568, 0.09611, 0.9847
    k = (k_h + k_v) / 2
    alpha = (k_h * alpha_h + k_v * alpha_v) / (2 * k)
    gamma = k * found.rain_rate_mm_h**alpha
    # P.618-13, section 2.2.1.1. Straight up there is no horizontal part: r = 1, and the path in the rain is
    # its height; north of 36 degrees chi = 0.
    path = found.rain_height_km - found.height_km
    v = 1 / (1 + 31 * (1 - math.exp(-90.0)) * math.sqrt(path * gamma) / 20**2 - 0.45)
    assert rain_attenuation(station, 0.01) == pytest.approx(gamma * path * v, rel=2e-3)
    # Step 10 with beta = 0: A(p) = A(0.01) (p / 0.01)^-(0.655 + 0.033 ln p - 0.045 ln A(0.01)).
    a = gamma * path * v
    wanted = a * (0.1 / 0.01) ** -(0.655 + 0.033 * math.log(0.1) - 0.045 * math.log(a))
    assert rain_attenuation(station, 0.1) == pytest.approx(wanted, rel=2e-3)


def test_specific_attenuation_is_that_of_table_5_of_p838():
    itu838 = pytest.importorskip("itur.models.itu838")
    # P.838-3, table 5: k and alpha, horizontal and vertical.
    rows = {12: (0.02386, 1.1825, 0.02455, 1.1216), 20: (0.09164, 1.0568, 0.09611, 0.9847)}
    for frequency, (k_h, alpha_h, k_v, alpha_v) in rows.items():
        for tilt, k, alpha in ((0.0, k_h, alpha_h), (90.0, k_v, alpha_v)):
            ours = itu838.rain_specific_attenuation(50.0, frequency, 0.0, tilt).value
            assert ours == pytest.approx(k * 50**alpha, rel=5e-4)


def test_horizontal_waves_fade_more_than_vertical_ones_and_circular_ones_between():
    pytest.importorskip("itur")
    flat, round_, upright = (
        rain_attenuation(bp.weather.Station(PARIS, band="ku", elevation="20 deg", polarisation=kind), 0.01)
        for kind in ("horizontal", "circular", "vertical")
    )
    assert upright * 1.05 < round_ * 1.02 < flat  # raindrops are flat


def test_causes_add_up_as_p618_says():
    pytest.importorskip("itur")
    station = bp.weather.Station(SINGAPORE, band="ka", elevation="45 deg")
    frame = bp.weather.attenuation(station, (0.01, 0.1, 0.5, 1.0))
    for row in frame.iter_rows(named=True):
        rough = math.hypot(row["rain_db"] + row["cloud_db"], row["scintillation_db"])
        assert row["total_db"] == pytest.approx(row["gas_db"] + rough, rel=1e-9)
    assert frame["rain_db"].is_sorted(descending=True)
    assert rain_attenuation(station, 0.1) == pytest.approx(frame["rain_db"][1], rel=1e-9)


def test_a_share_that_p618_does_not_know_is_refused():
    station = bp.weather.Station(SINGAPORE, band="ka")
    with pytest.raises(ScenarioError, match=r"exceeded: 6 is out of range; .* from 0.001 to 5 %"):
        bp.weather.attenuation(station, [6.0])


# The series


def test_the_process_has_mean_0_variance_1_and_the_correlation_of_p1853():
    x = np.log(at_once(Law(0.0, 1.0, 0.0), 1 << 21, 100.0))
    assert x.mean() == pytest.approx(0.0, abs=0.02)
    assert x.var() == pytest.approx(1.0, abs=0.03)
    for lag_s in (1000, 5000, 10000):  # 5000 s is 1 / beta
        lag = lag_s // 100
        assert (x[:-lag] * x[lag:]).mean() == pytest.approx(math.exp(-lag_s / 5000), abs=0.02)


def test_the_process_begins_in_its_stationary_distribution():
    first = np.array([np.log(at_once(Law(0.0, 1.0, 0.0), 1, 1.0, seed)[0]) for seed in range(3000)])
    assert first.mean() == pytest.approx(0.0, abs=0.06)
    assert first.std() == pytest.approx(1.0, abs=0.05)


def test_the_slope_of_a_fade_is_that_of_the_filter():
    sigma = 1.7
    steps = np.diff(np.log(at_once(Law(-1.0, sigma, 0.0), 1 << 20, 1.0)))
    # The variance of X(k) - X(k-1) is 2 (1 - rho), with rho = exp(-2e-4).
    assert steps.std() == pytest.approx(sigma * math.sqrt(2 * (1 - math.exp(-2e-4))), rel=5e-3)


def test_a_long_series_has_the_distribution_of_its_law_and_nearly_that_of_p618():
    pytest.importorskip("itur")
    station = bp.weather.Station(NEW_YORK, band="ka", geo="97W")
    found = climate(station)
    fitted = law(found)
    # 320 years in steps of ten minutes: at 0.01 % some 230 independent events (1 / beta is 83 minutes).
    series = at_once(fitted, 1 << 24, 600.0)
    assert (series > 0).mean() * 100 == pytest.approx(found.rain_percent, rel=0.02)
    for exceeded in (0.01, 0.03, 0.1, 0.3, 1.0):
        measured = float(np.quantile(series, 1 - exceeded / 100))
        assert measured == pytest.approx(fitted.exceeded(exceeded), rel=0.03)
        # What remains is P.1853's own: a log-normal law for a curve that is none, and the offset.
        assert measured == pytest.approx(rain_attenuation(station, exceeded), rel=0.2)


def test_rain_falls_as_often_as_p837_says():
    fitted = Law(-3.0, 1.7, math.exp(-3.0 + 1.7 * 1.6448536))  # an offset for 5 %
    assert fitted.exceeded(5.0) == pytest.approx(0.0, abs=1e-6)
    assert fitted.exceeded(4.9) > 0


def test_a_series_is_the_same_everywhere():
    # From the words of PCG64(7), which numpy promises; in hundredths of a dB.
    made = at_once(Law(1.0, 1.5, 0.5), 6, 1.0, seed=7)
    assert [round(value * 100) for value in made] == [405, 416, 405, 398, 414, 380]
    assert np.random.PCG64(7).random_raw() == 11530976094092348043


def test_the_event_of_an_availability_is_as_deep_as_p618_says_and_not_at_an_edge():
    pytest.importorskip("itur")
    station = bp.weather.Station(SINGAPORE, band="ka")
    depth = depth_db(station, 99.5)
    assert depth == pytest.approx(rain_attenuation(station, 0.5))
    for seed in (1, 2):
        fade = bp.weather.fade(station, availability=99.5, duration="30 min", step="2 s", seed=seed)
        assert fade.height == 900
        assert fade["t_s"].to_list() == [2.0 * i for i in range(900)]
        assert fade["attenuation_db"].max() == pytest.approx(depth, rel=0.03)
        assert fade["attenuation_db"].max() == fade["attenuation_db"][450]
    again = bp.weather.fade(station, availability=99.5, duration="30 min", step="2 s", seed=2)
    assert again.equals(fade)
    assert series_sum(again["attenuation_db"]) == series_sum(fade["attenuation_db"])


@pytest.mark.parametrize("depth", [1.0, 2.5, 6.0])
def test_the_event_is_the_one_of_the_year_whose_peak_is_nearest(depth: float):
    fitted, count, step_s = Law(-3.5, 1.75, 0.33), 1000, 600.0
    whole = at_once(fitted, 52_596 + (1 << 20), step_s)  # a year, and the batch that holds its end
    event = np.array(fades._event(fitted, depth, count, step_s, 1, None)) / 100
    windows = np.lib.stride_tricks.sliding_window_view(whole[: (1 << 20) + count], count)
    middle = windows[:, count // 2]
    peaks = np.flatnonzero(middle == windows.max(axis=1))
    nearest = peaks[np.abs(middle[peaks] - depth).argmin()]
    assert np.abs(windows[nearest] - event).max() <= 0.0051


def test_the_same_rain_is_as_rare_on_another_path():
    pytest.importorskip("itur")
    down = bp.weather.Station(SINGAPORE, frequency="20 GHz", geo="98E")
    up = bp.weather.Station(SINGAPORE, frequency="30 GHz", geo="98E")
    shares = [0.01, 0.1, 1.0, 4.0]
    below, above = (law(climate(station)) for station in (down, up))
    depths = [*(below.exceeded(share) for share in shares), 0.0]
    fades_ = pl.DataFrame({"t_s": [0.0, 1.0, 2.0, 3.0, 4.0], "attenuation_db": depths})
    scaled = bp.weather.same_rain(fades_, down, up)["attenuation_db"].to_list()
    assert scaled == pytest.approx([*(above.exceeded(share) for share in shares), 0.0], abs=0.0051)
    # What P.618 itself has at 30 GHz, as near as the two laws are to it.
    wanted = rain_attenuation(up, 0.1) / rain_attenuation(down, 0.1)
    assert scaled[1] / depths[1] == pytest.approx(wanted, rel=0.1)
    assert bp.weather.same_rain(fades_, down, down)["attenuation_db"].to_list() == pytest.approx(
        depths, abs=0.0051
    )
    with pytest.raises(ScenarioError, match="rain differs from place to place"):
        bp.weather.same_rain(fades_, down, bp.weather.Station(PARIS, band="ka"))


def test_a_kept_series_is_read_and_a_damaged_one_made_anew(cache: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("itur")
    station = bp.weather.Station(PARIS, band="ku", geo="9E")
    given = {"availability": 99.9, "duration": "10 min", "step": "5 s", "seed": 11}
    before = set(cache.glob("fade-*"))
    first = bp.weather.fade(station, **given)
    (kept,) = set(cache.glob("fade-*")) - before
    made = []
    event = fades._event
    monkeypatch.setattr(fades, "_event", lambda *all: made.append(1) or event(*all))
    assert bp.weather.fade(station, **given).equals(first)
    assert not made
    whole = kept.read_text()
    place = whole.index('"value": [') + len('"value": [')
    kept.write_text(whole[:place] + "9" + whole[place:])
    assert bp.weather.fade(station, **given).equals(first)
    assert made == [1]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"availability": 90.0}, "availability: 90 is out of range; P.618 knows 95 to 99.999 %"),
        ({"availability": math.nan}, "availability: nan is out of range"),
        ({"duration": "1"}, "duration: '1' is not a duration"),
        ({"duration": "1 us"}, "are 0 rows"),
        ({"duration": "1000 h", "step": "1 ms"}, "3,600,000,000 rows; there may be 2 to 4,194,304"),
        ({"step": "-1 s"}, "must be positive"),
        ({"seed": -1}, "seed: -1 is negative"),
    ],
)
def test_a_fade_that_cannot_be_made_is_refused(given: dict[str, object], message: str):
    with pytest.raises(ScenarioError, match=message):
        bp.weather.fade(bp.weather.Station(SINGAPORE, band="ka"), **given)


def test_a_desert_and_an_availability_without_rain_are_told():
    pytest.importorskip("itur")
    with pytest.raises(ScenarioError, match=r"rain falls 4.26 % of the time .* means no rain at all"):
        bp.weather.fade(bp.weather.Station(SINGAPORE, band="ka"), availability=95.5)
    with pytest.raises(ScenarioError, match=r"rain falls 0.00\d+ % of the time"):
        bp.weather.fade(bp.weather.Station("25,25", band="ka"), availability=99.9)
    with pytest.raises(ScenarioError, match=r"P.1853 needs more than 0.02 %"):
        bp.weather.fade(bp.weather.Station("25,25", band="ka"), availability=99.999)


def test_without_itur_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "itur", None)
    with pytest.raises(ScenarioError, match="needs the package itur: pip install itur") as wrong:
        bp.weather.attenuation(bp.weather.Station(PARIS, band="ka"))
    assert "\n" not in str(wrong.value)


# The verb


def test_the_verb_writes_a_time_line_and_a_picture_and_says_what_they_hold(cli, tmp_path, monkeypatch):
    pytest.importorskip("itur")
    monkeypatch.chdir(tmp_path)
    ran = cli("weather", "--at", SINGAPORE, "--band", "ka", "--availability", "99.5", "--for", "10 min")
    assert ran.exit_code == 0, ran.stderr
    assert "some rain 4.3 % of it (P.837)" in ran.stdout
    line = bp.timeline.read(tmp_path / "weather-1.29-103.85-ka.parquet")
    assert line.height == 600
    assert {"rate_bps", "loss_rate", "up", "attenuation_db", "modcod"} <= set(line.columns)
    assert (tmp_path / "weather-1.29-103.85-ka.svg").read_text().startswith("<?xml")


def test_the_verb_answers_in_json_and_writes_only_what_is_named(cli, tmp_path, monkeypatch):
    pytest.importorskip("itur")
    monkeypatch.chdir(tmp_path)
    given = ["weather", "--at", SINGAPORE, "--band", "ka", "--for", "10 min", "--json", "--out", "a.csv"]
    ran = cli(*given)
    assert ran.exit_code == 0, ran.stderr
    answer = json.loads(ran.stdout)
    assert answer["schema"] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
    line = bp.timeline.read(tmp_path / "a.csv")
    assert answer["link"]["mean_rate_bps"] == pytest.approx(line["rate_bps"].mean())
    assert sum(row["share"] for row in answer["link"]["modcods"]) == pytest.approx(1.0)
    assert answer["event"]["greatest_db"] == pytest.approx(answer["event"]["depth_db"], rel=0.01)
    assert answer["event"]["sha256"] == series_sum(line["attenuation_db"])
    assert [row["exceeded_percent"] for row in answer["attenuation"]] == [0.01, 0.1, 0.5, 1.0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--band", "ka"], "Missing option '--at'"),
        (["--at", "1,2", "--band", "ka", "--out", "x.txt"], "must end in .parquet or .csv"),
        (["--at", "1,2", "--band", "ka", "--figure", "x.gif"], "must end in .pdf, .png, .svg"),
        (["--at", "1,2", "--band", "ka", "--standard", "dvb"], "none of dvb-s2, dvb-s2x"),
        (["--at", "nowhere at all", "--band", "ka"], "nowhere at all"),
        (["--at", "1,2", "--band", "ka", "--for", "1"], "--for: '1' is not a duration"),
        (["--at", "1,2", "--band", "ka", "--availability", "90"], "P.618 knows 95 to 99.999 %"),
    ],
)
def test_a_wrong_request_gets_one_line(cli, given, message):
    ran = cli("weather", *given)
    assert ran.exit_code == 2
    assert message in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_the_picture_shows_the_modes_from_slow_to_fast():
    line = pl.DataFrame(
        {
            "t_s": [0.0, 1.0, 2.0, 3.0],
            "rate_bps": [100e6, 50e6, 0.0, 100e6],
            "loss_rate": [0.0, 1.0, 0.0, 0.0],
            "attenuation_db": [0.0, 5.0, 20.0, 0.0],
            "modcod": ["fast", "slow", "", "fast"],
        }
    )
    fade, mode, rate = bp.weather.draw(line, "a title", 20.0).axes
    assert [tick.get_text() for tick in mode.get_yticklabels()] == ["none", "slow", "fast"]
    assert [text.get_text() for text in rate.get_legend().get_texts()] == ["rate", "of it lost"]
    assert fade.get_title(loc="left") == "a title"


def test_the_oldest_kept_values_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(KEPT, "most", 3)
    for i in range(5):
        assert kept("number", {"i": i}, lambda i=i: i) == i
        for path in KEPT.folder.glob("*.json"):
            os.utime(path, ns=(path.stat().st_mtime_ns - 10**9,) * 2)
    made: list[int] = []
    for i in (4, 3, 2):
        assert kept("number", {"i": i}, lambda i=i: made.append(i)) == i
    assert not made
    assert len(list(KEPT.folder.glob("*.json"))) == 3
