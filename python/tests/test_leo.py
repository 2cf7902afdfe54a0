"""docs/leo.md: its numbers are those of its table, and a recovery is what it says."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import bentpipe as bp
from bentpipe.controller import named_algorithm
from bentpipe.experiments.leo import measure, page
from bentpipe.experiments.leo.page import Leo
from bentpipe.experiments.rows import Rows

DOCS = Path(__file__).parents[2] / "docs"


def test_page_and_table_agree_and_have_every_controller():
    rows = Leo(DOCS).read()
    assert Leo(DOCS).stale() == []
    for path in page.PATHS:
        known = set(rows.column("cc", path=path))
        # The measured paths are not ours to ship: they have the controllers of the time of their measurement.
        everybody = {entry["id"] for entry in bp.controllers()}
        wanted = {"cubic", "bbr", "leocc", "star"} if path.startswith("starlink") else everybody
        assert known >= wanted, path
    for row in rows:
        assert 0 <= row["share"] < 1.1, row
        assert 0 <= row["lost"] < 1, row
        assert math.isnan(row["recovery_s"]) or 0 <= row["recovery_s"] <= 120, row


def test_a_table_that_is_read_and_written_again_has_the_same_bytes(tmp_path):
    Leo(tmp_path, quick=True).finish(Rows(reversed(Leo(DOCS).read())))
    assert (tmp_path / "leo.csv").read_bytes() == (DOCS / "leo.csv").read_bytes()


def test_a_recovery_is_the_time_until_the_share_of_before_is_back():
    # Handovers at 20 and 40 s, after which the path is twice as fast. After the first nothing comes for 2 s,
    # after the second half of what should come, for ever.
    frame = pl.DataFrame(
        {"t_s": [0.0, 20.0, 40.0], "rate_bps": [1e6, 2e6, 2e6], "delay_s": 0.01, "up": True},
    ).with_columns(handover=pl.col("t_s") > 0)
    path = measure.MovingPath("made-up", "leo", frame, 60.0, 1e6)
    t = np.arange(0.0, 60.05, 0.1)
    rate = np.select([t < 20, t < 22, t < 40], [1e6, 0.0, 2e6], 1e6)
    delivered = np.append(0.0, np.cumsum(rate[:-1] * 0.1))
    first, second = measure.recovery(path, t, delivered)
    assert first == pytest.approx(2.0, abs=0.1)
    assert second == 20.0


def test_on_the_shipped_path_a_reset_more_than_doubles_what_vegas_gets(tmp_path):
    path = dataclasses.replace(measure.shipped(), duration_s=62.0)
    ccs = ["vegas", "vegas path_change=reset", "leocc"]
    results = bp.run_many([path.scenario(named_algorithm(cc), 1, tmp_path) for cc in ccs])
    shares = {cc: measure.measure(path, result)["share"] for cc, result in zip(ccs, results, strict=True)}
    assert shares["vegas path_change=reset"] > 2 * shares["vegas"]
    assert shares["leocc"] > 0.85


def test_the_shipped_scenario_and_the_path_of_the_page_are_one(tmp_path):
    shipped = bp.run(measure.SCENARIO)
    ours = measure.shipped().scenario("vegas", 1, tmp_path)
    ours.flows[0].start_jitter = None
    assert bp.run(ours).json["flows"][0]["goodput_bps"] == pytest.approx(
        shipped.json["flows"][0]["goodput_bps"], rel=0.05
    )
