"""The scenarios of links in rain, and the time lines that come with them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import bentpipe as bp
from bentpipe.registry import SCENARIOS
from bentpipe.weather.climate import rain_attenuation
from bentpipe.weather.fades import series_sum

# What each file says that it was made by: station, availability, seed, and the sum of its series.
MADE = {
    "geo-rain": (
        {"at": "Singapore", "band": "ka", "geo": "119.5E"},
        {"availability": 99.5, "seed": 3},
        "25816520891b",
    ),
    "geo-rain-ku": (
        {"at": "Paris", "band": "ku", "geo": "9E"},
        {"availability": 99.99, "seed": 4},
        "67a52abfb1d7",
    ),
}


@pytest.mark.parametrize("name", MADE)
def test_a_run_over_a_link_in_rain_carries_what_the_time_line_adds_up_to(name: str):
    scenario = bp.Scenario.load(name)
    # More than the link can carry, so that its transmitter never rests.
    scenario.flows = [bp.Flow(path=["sat"], traffic=bp.Cbr("20 Mbit/s", packet="1500 bytes"))]
    scenario.duration = "20 min"
    (forward, _) = bp.run(scenario).links.to_dicts()
    line = bp.timeline.read(SCENARIOS / f"{name}.csv").filter(pl.col("t_s") < 1200)
    bits = line["rate_bps"].sum()  # in steps of a second
    # What arrives by the end was sent a propagation delay before: 239.6 to 279.0 ms (RFC 2488, section 2).
    least, most = (int((bits - line["rate_bps"][-1] * delay) / 12000) for delay in (0.279, 0.2396))
    assert least - 1 <= forward["delivered_packets"] <= most + 1
    assert forward["dropped_error"] == 0


@pytest.mark.parametrize("name", MADE)
def test_the_time_line_of_a_preset_is_the_one_that_its_text_names(name: str):
    where, given, wanted = MADE[name]
    text = (SCENARIOS / f"{name}.toml").read_text()
    for part in (
        f"--at {where['at']} --band {where['band']} --geo {where['geo']}",
        f"--availability {given['availability']}",
        f"--seed {given['seed']}",
        '--for "30 min"',
        '--symbol-rate "3 Mbaud"',
    ):
        assert part in text
    line = bp.timeline.read(SCENARIOS / f"{name}.csv")
    assert line.height == 1800
    assert series_sum(line["attenuation_db"])[:12] == wanted
    # The rate that the queue goes by is the one under a clear sky.
    modem = bp.weather.Modem(symbol_rate="3 Mbaud")
    assert f'rate = "{modem.clear_rate_bps / 1e6} Mbit/s"' in text
    assert line["rate_bps"].max() == modem.clear_rate_bps


@pytest.mark.parametrize("name", MADE)
def test_the_command_makes_the_time_line_of_a_preset_again(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("itur")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    where, given, _ = MADE[name]
    station, modem = bp.weather.Station(**where), bp.weather.Modem(symbol_rate="3 Mbaud")
    again = bp.weather.timeline(station, modem=modem, duration="30 min", **given)
    shipped = bp.timeline.read(SCENARIOS / f"{name}.csv")
    # Another machine may round a hundredth of a dB otherwise.
    assert (again["attenuation_db"] - shipped["attenuation_db"]).abs().max() <= 0.011
    assert (again["rate_bps"] == shipped["rate_bps"]).mean() > 0.999
    text = (SCENARIOS / f"{name}.toml").read_text()
    exceeded = round(100 - given["availability"], 2)
    depth = rain_attenuation(station, exceeded)
    assert f"{depth:.1f} dB are exceeded {exceeded:g} % of an average year" in text
