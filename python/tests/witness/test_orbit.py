"""Positions and paths beside other programs, in short; in full by scripts/validate.py."""

from __future__ import annotations

import json

import orbit_paths
import orbit_positions
import polars as pl
import pytest
import satgenpy_paths

from bentpipe import _core

DAY = [0.0, 21_600.0, 43_200.0, 86_400.0]


@pytest.mark.parametrize("name", ["hypatia-kuiper-k1", "hypatia-starlink-s1", "hypatia-telesat-t1"])
def test_a_shell_is_where_sgp4_has_it_within_a_metre(name: str) -> None:
    pytest.importorskip("sgp4")
    (one,) = (one for one in json.loads(_core.orbit_shells()) if one["name"] == name)
    found = orbit_positions.shell(one, DAY, every=37)
    assert found.row()[-1] == "agrees", found.row()


def test_satellites_are_where_skyfield_has_them_within_a_hundred_metres() -> None:
    pytest.importorskip("skyfield")
    tles = [*list(orbit_positions.verification())[::4], *orbit_positions.of_shells(6)]
    found = orbit_positions.skyfield(tles, DAY, "some")
    assert found.row()[-1] == "agrees", found.row()


@pytest.mark.parametrize("shell", list(satgenpy_paths.SHELLS))
@pytest.mark.parametrize("rule", satgenpy_paths.RULES)
@pytest.mark.parametrize("pair", [":".join(pair) for pair in satgenpy_paths.PAIRS])
def test_a_path_is_the_one_of_satgenpy(shell: str, pair: str, rule: str) -> None:
    reference = pl.read_parquet(orbit_paths.REFERENCE)
    # ephem's positions may move a change of path by one step, python-sgp4's by none. Both steps stand there.
    for found, most in zip(orbit_paths.beside(reference, shell, pair, rule), (3, 0), strict=True):
        rows = found.rows.with_columns(pl.col("ours").fill_null(""))
        other = rows.filter(pl.col("path") != pl.col("ours"))
        assert other.height <= most, (found.positions, other)
        for tick, path in other.select("tick", "ours").iter_rows():
            beside = rows.filter((pl.col("tick") - tick).abs() == 1)["path"].to_list()
            assert path in beside, (found.positions, tick)
        same = rows.filter(pl.col("path") == pl.col("ours"))
        assert same.height >= 40
        assert (same["rtt_ms"] - same["ours_ms"]).abs().fill_null(0.0).max() <= orbit_paths.TOLERANCE_MS
