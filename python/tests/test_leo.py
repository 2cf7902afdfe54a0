"""docs/leo.md: its numbers are those of its table, and a recovery is what it says."""

from __future__ import annotations

import dataclasses
import importlib
import math
from pathlib import Path
from types import ModuleType

import numpy as np
import polars as pl
import pytest

import bentpipe as bp

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    monkeypatch.syspath_prepend(DOCS.parent / "scripts")
    return {
        name: importlib.import_module(name)
        for name in ("leo_paths", "leo_measure", "leo_page", "leo_md", "run_table")
    }


def test_page_and_table_agree_and_have_every_controller(scripts):
    rows = scripts["run_table"].read(DOCS / "leo.csv", scripts["leo_measure"].Measured)
    assert (DOCS / "leo.md").read_text(encoding="utf-8") == scripts["leo_page"].text(rows)
    for path in scripts["leo_page"].PATHS:
        known = {row.cc for row in rows if row.path == path}
        # The measured paths are not ours to ship: they have the controllers of the time of their measurement.
        everybody = {entry["id"] for entry in bp.controllers()}
        wanted = {"cubic", "bbr", "leocc", "star"} if path.startswith("starlink") else everybody
        assert known >= wanted, path
    for row in rows:
        assert 0 <= row.share < 1.1, row
        assert 0 <= row.lost < 1, row
        assert math.isnan(row.recovery_s) or 0 <= row.recovery_s <= 120, row


def test_a_table_that_is_read_and_written_again_has_the_same_bytes(scripts, tmp_path):
    row = scripts["leo_measure"].Measured
    rows = scripts["run_table"].read(DOCS / "leo.csv", row)
    scripts["run_table"].write(tmp_path / "again.csv", row, reversed(rows))
    assert (tmp_path / "again.csv").read_bytes() == (DOCS / "leo.csv").read_bytes()


def test_a_recovery_is_the_time_until_the_share_of_before_is_back(scripts):
    # Handovers at 20 and 40 s, after which the path is twice as fast. After the first nothing comes for 2 s,
    # after the second half of what should come, for ever.
    frame = pl.DataFrame(
        {"t_s": [0.0, 20.0, 40.0], "rate_bps": [1e6, 2e6, 2e6], "delay_s": 0.01, "up": True},
    ).with_columns(handover=pl.col("t_s") > 0)
    path = scripts["leo_paths"].MovingPath("made-up", "", "leo", frame, 60.0, {}, 1e6)
    t = np.arange(0.0, 60.05, 0.1)
    rate = np.select([t < 20, t < 22, t < 40], [1e6, 0.0, 2e6], 1e6)
    delivered = np.append(0.0, np.cumsum(rate[:-1] * 0.1))
    first, second = scripts["leo_measure"].recovery(path, t, delivered)
    assert first == pytest.approx(2.0, abs=0.1)
    assert second == 20.0


def test_on_the_shipped_path_a_reset_more_than_doubles_what_vegas_gets(scripts):
    path = dataclasses.replace(scripts["leo_paths"].shipped(), duration_s=62.0)
    ccs = ["vegas", "vegas path_change=reset", "leocc"]
    shares = {row.cc: row.share for row in scripts["leo_md"].run(path, ccs, seed=1)}
    assert shares["vegas path_change=reset"] > 2 * shares["vegas"]
    assert shares["leocc"] > 0.85


def test_the_shipped_scenario_and_the_path_of_the_page_are_one(scripts, tmp_path):
    shipped = bp.run(scripts["leo_paths"].SCENARIO)
    ours = scripts["leo_paths"].shipped().scenario("vegas", 1, tmp_path)
    ours.flows[0].start_jitter = None
    assert bp.run(ours).json["flows"][0]["goodput_bps"] == pytest.approx(
        shipped.json["flows"][0]["goodput_bps"], rel=0.05
    )
