"""The model of a Starlink link, its verb, and links of scenarios that are drawn from it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import bentpipe as bp
from bentpipe.timeline.drawn import PERIOD_S, PHASE_S, PROFILES, draw

CAR = PROFILES["car-2024"]
SEEDS = range(1, 101)


def drawn(seed: int, duration_s: float = 117.0, direction: str = "down", blackout_s: float = 0.0):
    table = {"generator": "starlink", "direction": direction, "blackout": f"{blackout_s:g} s"}
    return draw(table, seed, duration_s).line


def outages(seed: int, duration_s: float) -> list[tuple[float, float]]:
    return draw({"generator": "starlink"}, seed, duration_s).outages


@pytest.fixture(scope="module")
def half_seconds() -> np.ndarray:
    """The rate of half seconds: for each seed and each of 7 whole periods, 30 of them."""
    found = []
    for seed in SEEDS:
        rate = drawn(seed)["rate_bps"].to_numpy()[:-1].reshape(-1, 10).mean(axis=1)
        found.append(rate[2 * int(PHASE_S) :].reshape(-1, 30))
    return np.array(found)


def test_the_levels_of_periods_have_the_measured_distribution(half_seconds: np.ndarray) -> None:
    """On the wire; by the fit of 27 May 2024 p10 is 101 to 146 and p90 324 to 361 Mbit/s of payload."""
    levels = half_seconds.mean(axis=2)
    ten, half, ninety = np.percentile(levels, [10, 50, 90]) / 1e6
    assert 101 * 1.02 < ten < 146 * 1.02
    assert CAR.rate_down_bps.low < half * 1e6 < CAR.rate_down_bps.high
    assert 324 * 1.02 < ninety < 361 * 1.05
    assert CAR.level_cv.low < levels.std() / levels.mean() < CAR.level_cv.high
    successive = np.corrcoef(levels[:, :-1].ravel(), levels[:, 1:].ravel())[0, 1]
    assert CAR.level_slow.low < successive < CAR.level_slow.high


def test_the_course_within_a_period_has_the_measured_spread_and_correlation(half_seconds) -> None:
    course = half_seconds / half_seconds.mean(axis=2, keepdims=True) - 1
    spread = course.std(axis=2)
    assert CAR.course_cv.low < np.median(spread) < CAR.course_cv.high
    assert CAR.course_spread.low < np.log(spread).std() < CAR.course_spread.high
    alike = course / spread[..., None]
    # Measured about the mean of a period: 0.38 (0.35 to 0.43) at 0.5 s, 0.09 (0.05 to 0.13) at 1 s.
    assert 0.33 < np.mean(alike[..., 1:] * alike[..., :-1]) < 0.43
    assert 0.05 < np.mean(alike[..., 2:] * alike[..., :-2]) < 0.13


def test_outages_come_and_last_as_the_dish_lists_them() -> None:
    each = [outages(seed, 600.0) for seed in SEEDS]
    lengths = np.array([end - begin for found in each for begin, end in found])
    assert CAR.outage_every_s.low < 600 * len(each) / len(lengths) < CAR.outage_every_s.high
    assert CAR.outage_length_s.low < np.median(lengths) < CAR.outage_length_s.high
    assert CAR.outage_spread.low < np.log(lengths).std() < CAR.outage_spread.high
    begins = np.array([begin for found in each for begin, _ in found])
    assert np.histogram(begins, 6, (0, 600))[0] == pytest.approx(len(begins) / 6, rel=0.35)  # at any time
    for found in each:
        assert all(a[1] < b[0] for a, b in zip(found, found[1:], strict=False))


def test_the_round_trip_is_that_of_the_pings() -> None:
    trips = np.concatenate([2e3 * drawn(seed)["delay_s"].to_numpy()[::4] for seed in SEEDS])
    measured = {1: (28.3, 30.7), 10: (32.7, 35.3), 50: (41.4, 44.8), 90: (66.9, 82.0), 99: (109, 187)}
    for share, (low, high) in measured.items():
        assert low < np.percentile(trips, share) < high, share


def test_a_period_begins_every_15_s_with_a_dark_path_and_a_step() -> None:
    found = drawn(5, 60.0, blackout_s=0.15)
    begins = found.filter("handover")["t_s"].to_list()
    assert begins == [12, 27, 42, 57]
    assert bp.timeline.summary(found)["dark_s"] == pytest.approx(4 * 0.15)
    for begin in begins:
        dark = found.filter((pl.col("t_s") >= begin) & (pl.col("t_s") < begin + PERIOD_S) & ~pl.col("up"))
        assert dark["t_s"].to_list() == pytest.approx([begin, begin + 0.05, begin + 0.1])
    odd = drawn(5, 60.0, blackout_s=0.12).filter(pl.col("t_s") >= 12)
    assert odd.head(4)["t_s"].to_list() == pytest.approx([12, 12.05, 12.1, 12.12])
    assert odd.head(4)["up"].to_list() == [False, False, False, True]
    assert drawn(5, 60.0)["up"].all()


def test_a_seed_is_one_draw_and_both_directions_share_outages_and_delays() -> None:
    long, short = drawn(7, 100.0), drawn(7, 40.0)
    assert long.filter(pl.col("t_s") <= 40).equals(short)
    assert outages(7, 300.0)[:3] == outages(7, 600.0)[:3]
    up = drawn(7, 100.0, "up")
    assert up["delay_s"].equals(long["delay_s"]) and not up["rate_bps"].equals(long["rate_bps"])
    assert not drawn(8, 100.0)["delay_s"].equals(long["delay_s"])
    # The same bytes on every machine.
    whole = long.select((pl.col("rate_bps") / 1e3).round(), (pl.col("delay_s") * 1e6).round()).cast(pl.Int64)
    text = whole.write_csv().encode()
    assert hashlib.sha256(text).hexdigest()[:12] == "38f421620fbc"


def test_the_verb_writes_what_python_draws(cli, tmp_path: Path) -> None:
    out = tmp_path / "line.parquet"
    done = cli(
        "timeline", "starlink", "--rate-median", "100Mbit/s", "--direction", "up", "--seed", 3,
        "--for", "90 s", "--share", 0.5, "--losses", "1e-5", "--blackout", "0 s", "-o", out,
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    wanted = bp.timeline.generate(
        direction="up", rate_median="100 Mbit/s", seed=3, duration="90 s", share=0.5, losses=1e-5,
        blackout="0 s",
    )  # fmt: skip
    found = bp.timeline.read(out)
    assert found.equals(wanted)
    assert found["rate_bps"].mean() == pytest.approx(50e6, rel=0.4)
    dark = sum(end - begin for begin, end in outages(3, 90.0))
    lost = bp.timeline.summary(found)["loss_rate"]["mean"] * 90
    assert lost == pytest.approx(dark + 1e-5 * (90 - dark)) and dark > 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--profile", "fixed"], "profile"),
        (["--profile", "car-2025"], "car-2024"),
        (["--direction", "sideways"], "must be one of down, up"),
        (["--share", "1.5"], "out of range"),
        (["--rate-median", "fast"], "is not a number with a unit"),
        (["--for", "2 weeks"], 'unit "weeks"'),
        (["--for", "2 d"], "at most a day"),
        (["--for", "25 h"], "at most a day"),
    ],
)
def test_wrong_wishes_are_named(cli, tmp_path: Path, options: list[str], said: str) -> None:
    done = cli("timeline", "starlink", *options, "-o", tmp_path / "x.csv")
    assert done.exit_code == 2 and said in done.stderr.replace("\n", " ")
