"""Paths through satellites: the frame, the command, its files, and what is refused."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

import bentpipe as bp
from bentpipe import _core
from bentpipe.orbit import paths, tables

LIGHT_M_S = 299_792_458.0
KUIPER = {"shell": "hypatia-kuiper-k1"}
ISS = (  # celestrak.org's example of the format, with its checksums
    "ISS (ZARYA)\n"
    "1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  2927\n"
    "2 25544  51.6416 247.4627 0006703 130.5360 325.0288 15.72125391563537\n"
)


@pytest.fixture(autouse=True)
def _own_store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(name="counted")
def _counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The requests that were really computed."""
    asked: list[str] = []
    real = _core.orbit_path

    def count(request: str, progress: object = None) -> object:
        asked.append(request)
        return real(request, progress)

    monkeypatch.setattr(_core, "orbit_path", count)
    yield asked


def test_a_path_is_a_time_line_with_half_the_round_trip_as_delay() -> None:
    frame = bp.orbit.path("Paris", "Moscow", duration="20 s", step="2 s", **KUIPER)
    assert frame["t_s"].to_list() == [2.0 * i for i in range(10)]
    assert frame.columns[:4] == ["t_s", "delay_s", "up", "handover"]
    bp.timeline.check(frame)
    assert frame["reachable"].all()
    assert (frame["delay_s"] - frame["rtt_ms"] / 2000).abs().max() <= 0.5e-9
    # No path is shorter than the great circle of 2,486 km over the ground, nor are satellites far off it.
    assert frame["rtt_ms"].min() > 2e3 * 2_486e3 / LIGHT_M_S
    assert frame["rtt_ms"].max() < 40


def test_without_a_path_the_cells_are_null_and_the_delay_is_that_before() -> None:
    frame = bp.orbit.path("Rio", "Saint Petersburg", **KUIPER)
    lost = frame.filter(~pl.col("reachable"))
    assert 0 < lost.height < frame.height
    assert (
        lost.select(pl.col("rtt_ms", "first_sat", "last_sat", "hops").null_count()).row(0)
        == (lost.height,) * 4
    )
    assert not lost["up"].any()
    assert frame["delay_s"].null_count() == 0
    bp.timeline.check(frame)


def test_the_first_satellite_is_over_the_first_named_place() -> None:
    there = bp.orbit.solve("Paris", "Moscow", duration="2 s", **KUIPER)
    back = bp.orbit.solve("Moscow", "Paris", duration="2 s", **KUIPER)
    assert there.frame["first_sat"][0] == back.frame["last_sat"][0]
    assert there.frame["rtt_ms"].to_list() == pytest.approx(back.frame["rtt_ms"].to_list(), abs=1e-9)
    sky = there.snapshot(0.0)
    at = {sat: (lat, lon) for sat, lat, lon in zip(sky["sat"], sky["lat"], sky["lon"], strict=True)}

    def apart(sat: int, lat: float, lon: float) -> float:
        y, x = (math.radians(v) for v in at[sat])
        a, b = math.radians(lat), math.radians(lon)
        return math.degrees(
            math.acos(math.sin(y) * math.sin(a) + math.cos(y) * math.cos(a) * math.cos(x - b))
        )

    # At 30 degrees of elevation a satellite 630 km high is 8.0 degrees of arc away.
    assert apart(there.frame["first_sat"][0], 48.85, 2.35) < 8.5
    assert apart(there.frame["last_sat"][0], 55.75, 37.62) < 8.5


def test_json_has_a_row_a_step_and_nulls_where_there_is_no_path(cli: Callable[..., SimpleNamespace]) -> None:
    done = cli(
        "orbit", "path", "Rio", "Saint Petersburg", "--shell", "hypatia-kuiper-k1", "--step", "10 s", "--json"
    )
    assert done.exit_code == 0
    answer = json.loads(done.stdout)
    assert answer["schema"] == 1
    assert [row["t_s"] for row in answer["rows"]] == [10.0 * i for i in range(20)]
    for row in answer["rows"]:
        assert list(row) == ["t_s", "rtt_ms", "first_sat", "last_sat", "hops", "reachable"]
        values = [row[name] for name in ("rtt_ms", "first_sat", "last_sat", "hops")]
        assert all(v is None for v in values) != row["reachable"]
        assert row["first_sat"] is None or isinstance(row["first_sat"], int)


def test_coordinates_may_begin_with_a_minus(
    cli: Callable[..., SimpleNamespace],
) -> None:
    options = ["--shell", "hypatia-kuiper-k1", "--for", "2 s", "--json"]
    done = cli("orbit", "path", "-23.5,-46.6", *options, "-34.6,-58.4")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["rows"][0]["reachable"]


def test_the_command_tells_reach_round_trip_and_handovers(cli: Callable[..., SimpleNamespace]) -> None:
    done = cli(
        "orbit", "path", "Rio", "Saint Petersburg", "--shell", "hypatia-kuiper-k1", "--reach", "length"
    )
    assert done.exit_code == 0
    assert "hypatia-kuiper-k1, 1,156 satellites, at least 30 degrees high" in done.stdout
    assert "% of the time" in done.stdout
    assert "path again" in done.stdout
    assert "no path" in done.stdout


def test_saint_petersburg_is_at_the_edge_of_kuipers_first_shell(cli: Callable[..., SimpleNamespace]) -> None:
    done = cli("orbit", "path", "Rio", "Saint Petersburg", "--shell", "kuiper-k1", "--for", "200 s")
    assert done.exit_code == 0, done.stderr
    assert "a path in 26.0 % of the time (2 outages)" in done.stdout


def test_a_long_table_of_handovers_is_folded(cli: Callable[..., SimpleNamespace]) -> None:
    given = ["Paris", "Moscow", "--shell", "hypatia-kuiper-k1", "--for", "30 min", "--step", "5 s"]
    done = cli("orbit", "path", *given)
    assert done.exit_code == 0
    lines = [line for line in done.stdout.splitlines() if "handover " in line or "other route " in line]
    assert len(lines) <= tables.MOST
    assert " more" in done.stdout


def test_every_output_is_written_and_a_link_can_take_the_time_line(
    cli: Callable[..., SimpleNamespace], tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    outs = [folder, tmp_path / "line.csv", tmp_path / "line.parquet", tmp_path / "both.png"]
    given = ["Paris", "Moscow", "--shell", "hypatia-kuiper-k1", "--for", "10 s"]
    done = cli("orbit", "path", *given, *(part for out in outs for part in ("--out", out)))
    assert done.exit_code == 0, done.stderr
    assert sorted(p.name for p in folder.iterdir()) == [
        "handovers.csv",
        "map.svg",
        "rtt.svg",
        "timeline.parquet",
    ]
    frame = bp.timeline.read(tmp_path / "line.parquet")
    assert frame["delay_s"].to_list() == bp.timeline.read(tmp_path / "line.csv")["delay_s"].to_list()
    assert (tmp_path / "both.png").read_bytes().startswith(b"\x89PNG")
    assert "Saint" not in (folder / "map.svg").read_text()
    assert "Moscow" in (folder / "map.svg").read_text()


def test_there_are_pictures_of_a_path_that_never_is_and_of_one_instant(
    cli: Callable[..., SimpleNamespace], tmp_path: Path
) -> None:
    start = ["--shell", "hypatia-kuiper-k1", "--epoch", "2000-01-01T00:00:02Z"]
    never = cli(
        "orbit", "path", "Saint Petersburg", "Paris", *start, "--for", "2 s", "--out", tmp_path / "never.svg"
    )
    assert never.exit_code == 0, never.stderr
    assert "Paris" in (tmp_path / "never.svg").read_text()
    once = cli("orbit", "path", "Rome", "Paris", *start, "--for", "1 s", "--out", tmp_path / "once.svg")
    assert once.exit_code == 0, once.stderr
    assert "Rome" in (tmp_path / "once.svg").read_text()


def test_a_place_may_be_numbers() -> None:
    frame = bp.orbit.path((48.85341, 2.3488), (55.754996, 37.621849, 0.0), duration="2 s", **KUIPER)
    assert frame.equals(bp.orbit.path("Paris", "Moscow", duration="2 s", **KUIPER))
    with pytest.raises(bp.ScenarioError, match="latitude 95 is not between"):
        bp.orbit.path((95.0, 0.0), "Paris", **KUIPER)
    with pytest.raises(bp.ScenarioError, match="'200' is not a duration"):
        bp.orbit.path("Rome", "Paris", duration=200, **KUIPER)


def test_a_second_request_is_read_and_a_damaged_entry_computed_again(counted: list[str]) -> None:
    def ask() -> pl.DataFrame:
        return bp.orbit.path("Paris", "Moscow", duration="5 s", **KUIPER)

    first = ask()
    assert ask().equals(first)
    assert len(counted) == 1
    (table,) = paths.KEPT.folder.glob("*.parquet")
    raw = bytearray(table.read_bytes())
    raw[len(raw) // 2] ^= 1
    table.write_bytes(raw)
    assert ask().equals(first)
    assert len(counted) == 2
    (about,) = paths.KEPT.folder.glob("*.json")
    about.write_text(about.read_text().replace('"epoch": "2', '"epoch": "3'))
    assert ask().equals(first)
    assert len(counted) == 3
    ask()
    assert len(counted) == 3
    bp.orbit.path("Paris", "Moscow", duration="5 s", keep=False, **KUIPER)
    assert len(counted) == 4


def test_no_more_entries_are_kept_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths.KEPT, "most", 2)
    for lat in range(4):
        bp.orbit.path(f"{lat},0", "5,5", duration="1 s", **KUIPER)
    assert len(list(paths.KEPT.folder.iterdir())) == 4


def test_a_bent_pipe_goes_through_the_gateway_in_reach() -> None:
    frame = bp.orbit.path(
        "Seattle",
        gateway=["Conrad", "North Bend", "Baxley"],
        shell="starlink-s1",
        duration="60 s",
        step="5 s",
    )
    assert set(frame["gateway"].drop_nulls()) <= {"Conrad", "North Bend"}
    assert (frame["first_sat"] == frame["last_sat"]).all()
    assert frame["rtt_ms"].min() > 2e3 * 2 * 540e3 / LIGHT_M_S


def test_an_aircraft_changes_its_satellites(cli: Callable[..., SimpleNamespace]) -> None:
    there = "Frankfurt to New York at 900 km/h, 11 km, after 2 h"
    done = cli(
        "orbit",
        "path",
        there,
        "London",
        "--shell",
        "starlink-s1",
        "--for",
        "10 min",
        "--step",
        "10 s",
        "--json",
    )
    assert done.exit_code == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert len({row["first_sat"] for row in rows if row["reachable"]}) > 2


LONG = ["orbit", "path", "Paris", "Moscow", "--shell", "starlink-s1", "--for", "720 h", "--step", "1 s"]


def test_a_long_path_shows_how_far_it_is(on_a_terminal: Callable[..., tuple[int, bytes]]) -> None:
    at_once = (
        "from bentpipe import terminal; terminal.Bar._AFTER_S = 0.0; "
        "from bentpipe.cli import application; application.main()"
    )
    given = [*LONG[:-4], "--for", "2 h", "--step", "1 s"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    status, said = on_a_terminal([sys.executable, "-c", at_once, *given], environment)
    assert status == 0, said
    assert b"Paris to Moscow" in said
    assert b"%" in said


def test_tles_have_their_numbers(tmp_path: Path) -> None:
    file = tmp_path / "iss.tle"
    file.write_text(ISS)
    frame = bp.orbit.path(
        "45,10",
        "48,15",
        tle=file,
        duration="24 h",
        step="30 s",
        mode="bent-pipe",
        min_elevation=10,
    )
    seen = frame.filter(pl.col("reachable"))
    assert 0 < seen.height < frame.height
    assert set(seen["first_sat"]) == {25544}
    # It passes at some 350 km: up and down is at least twice that.
    assert 2e3 * 2 * 330e3 / LIGHT_M_S < seen["rtt_ms"].min() < 12


def test_shells_have_sources_and_the_named_ones_are_there() -> None:
    shells = bp.orbit.shells()
    assert {"hypatia-kuiper-k1", "hypatia-starlink-s1", "hypatia-telesat-t1"} <= set(shells["name"])
    assert (shells["source"].str.len_chars() > 10).all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["Rio", "Atlantis"], "no place is called 'Atlantis'"),
        (["Rio", "95,0"], "latitude 95 is not between -90 and 90"),
        (["Rio", "Paris", "--shell", "starlink-1"], "starlink-s1"),
        (["Rio", "Paris", "--step", "0 s"], "step: a duration must be positive"),
        (["Rio", "Paris", "--step", "1"], "step: '1' is not a duration"),
        (["Rio", "Paris", "--for", "200"], "--for: '200' is not a duration"),
        (["Rio", "Paris", "--for", "-5 s"], "a duration must be positive"),
        (["Rio", "Paris", "--break", "500"], "break: '500' is not a duration"),
        (["Rio", "Paris", "--every", "15"], "every: '15' is not a duration"),
        (["Rio", "Paris", "--epoch", "yesterday"], "yesterday"),
        (["Rio", "Paris", "--select", "shortest"], "shortest-path"),
        (["Rio", "Paris", "--reach", "far"], "no rule of reach is called 'far'"),
        (["Rio", "Paris", "--min-elevation", "91"], "91"),
        (["Rio", "Paris", "--min-elevation", "nan"], "min_elevation nan"),
        (["Rio"], "name a second place, or a --gateway"),
        (["Rio", "Paris", "--lasers", "--gateway", "Conrad"], "--lasers and --gateway exclude each other"),
        (["Rio", "Paris", "--out", "x.txt"], "a time line (.parquet, .csv), a picture"),
        (["Svalbard", "Paris", "--shell", "hypatia-kuiper-k1"], "it serves latitudes up to 60.4 degrees"),
        (
            ["Paris", "80,0", "--shell", "starlink-s1"],
            "80,0: no satellite of starlink-s1 ever stands 25 degrees",
        ),
    ],
)
def test_what_is_wrong_is_one_clear_line(
    cli: Callable[..., SimpleNamespace], given: list[str], message: str
) -> None:
    done = cli("orbit", "path", *given)
    assert done.exit_code == 2, done.stdout
    assert message in done.stderr
    assert done.stderr.startswith("bentpipe: ")
    assert done.stderr.count("\n") == 1


def test_a_place_that_sees_no_satellite_for_a_while_is_a_warning(cli: Callable[..., SimpleNamespace]) -> None:
    given = [
        "Saint Petersburg",
        "Paris",
        "--shell",
        "hypatia-kuiper-k1",
        "--for",
        "2 s",
        "--epoch",
        "2000-01-01T00:00:02Z",
    ]
    done = cli("orbit", "path", *given, "--json")
    assert done.exit_code == 0
    assert [row["reachable"] for row in json.loads(done.stdout)["rows"]] == [False, False]
    assert done.stderr.startswith(
        "bentpipe: warning: no path at any time: no satellite ever comes in reach of Saint"
    )
    assert done.stderr.count("\n") == 1


def test_an_epoch_far_from_the_tles_is_refused(cli: Callable[..., SimpleNamespace], tmp_path: Path) -> None:
    file = tmp_path / "iss.tle"
    file.write_text(ISS)
    given = ["Rome", "Vienna", "--tle", file, "--bent-pipe"]
    far = cli("orbit", "path", *given, "--epoch", "2026-11-22T00:00:00Z")
    assert far.exit_code == 2
    assert "14 days" in far.stderr
    file.write_text(ISS.replace("15.72125391", "15.72125392"))
    damaged = cli("orbit", "path", *given)
    assert damaged.exit_code == 2
    assert "line" in damaged.stderr
    missing = cli("orbit", "path", "Rome", "Vienna", "--tle", tmp_path / "none.tle")
    assert missing.exit_code == 2
    both = cli("orbit", "path", *given, "--shell", "starlink-s1")
    assert both.exit_code == 2
    assert "exclude each other" in both.stderr


def test_an_option_behind_two_dashes_is_not_taken_for_a_place(cli: Callable[..., SimpleNamespace]) -> None:
    done = cli("orbit", "path", "--", "-33.9,18.4", "Nairobi", "--shell", "starlink-s1")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "--shell stands behind --" in done.stderr and "coordinates need no --" in done.stderr
