"""Runs over the path that they share, as a figure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import bentpipe as bp
from bentpipe import plot
from bentpipe.comparison import run_comparison
from bentpipe.document.spans import LinkSpec


def traced(path: Path) -> dict[str, bp.Result]:
    """Two algorithms over a link that changes hands at 5 s: half the rate, and 20 ms longer."""
    path.write_text(
        "t_s,rate_bps,delay_s,up,handover\n0,20e6,0.03,true,false\n5,10e6,0.05,false,true\n5.5,10e6,0.05,true,false\n"
    )
    results: dict[str, bp.Result] = {}
    link = bp.Link(rate="20 Mbit/s", delay="30 ms")
    run_comparison(link, ["cubic", "bbr"], LinkSpec(timeline=path), duration="10 s", seeds=1, traced=results)
    return results


def test_capacity_base_round_trip_and_handovers_of_the_path_are_drawn(tmp_path: Path):
    results = traced(tmp_path / "path.csv")
    above, below = plot.over_path(results).axes
    drawn = {
        axes: [line for line in axes.get_lines() if line.get_label() in results] for axes in (above, below)
    }
    assert [line.get_label() for line in drawn[above]] == ["CUBIC", "BBR"]
    (capacity,), (base, *_bands) = above.collections, below.collections
    heights = np.unique(np.round(capacity.get_paths()[0].vertices[:, 1], 6))
    assert set(heights) == {0.0, 10.0, 20.0}
    floor = base.get_paths()[0].vertices
    assert floor[floor[:, 0] < 4.9, 1].max() == pytest.approx(60.0)
    assert floor[(floor[:, 0] > 5.1), 1].max() == pytest.approx(100.0)
    marks = [line.get_xdata()[0] for line in above.get_lines() if len(set(line.get_xdata())) == 1]
    assert marks == [pytest.approx(5.0)]
    # Goodput stays below capacity, and the round trip above its floor.
    for line in drawn[above]:
        assert np.max(line.get_ydata()) < 20.5
    for line in drawn[below]:
        assert np.min(line.get_ydata()) > 60.0


def test_dense_round_trips_of_several_runs_are_envelopes_and_of_one_are_samples():
    """A band of samples hid what was drawn before it; of its percentiles nothing is made up."""
    link = bp.Link(rate="20 Mbit/s", delay="30 ms")
    record = bp.Record(interval="5 ms", links=True)
    dense = {
        name: bp.run(
            bp.Scenario(
                links={"sat": link}, flows=[bp.Flow(cc, path=["sat"])], duration="10 s", record=record
            )
        )
        for name, cc in {"CUBIC": "cubic", "BBR": "bbr"}.items()
    }
    drawn = plot.over_path(dense)
    below = drawn.axes[1]
    assert len(below.collections) == 3  # the floor and two bands
    rows = drawn.data.filter((pl.col("run") == "BBR") & pl.col("rtt_s").is_not_null())
    assert rows.height == pytest.approx(200, abs=3)
    assert rows.select(
        ((pl.col("rtt_low_s") <= pl.col("rtt_s")) & (pl.col("rtt_s") <= pl.col("rtt_high_s"))).all()
    ).item()
    seen = dense["BBR"].trace.filter(pl.col("rtt_s").is_finite() & (pl.col("rtt_s") > 0))
    third = seen.filter(pl.col("t_s").is_between(3.0, 3.05, closed="left"))["rtt_s"]
    row = rows.filter(pl.col("t_s").is_between(3.0, 3.05))
    assert row["rtt_s"][0] == pytest.approx(third.median(), rel=0.05)
    (alone,) = plot.rtt(dense["BBR"]).axes
    assert len(alone.collections) == 1 and len(alone.get_lines()[0].get_xdata()) == seen.height
    both = plot.rtt(dense)
    assert "low" in both.data.columns and len(both.axes[0].collections) == 3


def test_the_link_trace_says_what_the_time_line_says(tmp_path: Path):
    rows = traced(tmp_path / "path.csv")["CUBIC"].link_trace
    forward = rows.filter(rows["link"].cast(str) == "link/forward")
    for at, rate, delay, handovers in ((4.0, 20e6, 0.03, 0), (5.25, 0.0, 0.05, 1), (9.0, 10e6, 0.05, 1)):
        row = forward.filter((forward["t_s"] - at).abs() < 1e-9).to_dicts()[0]
        assert (row["rate_bps"], row["handovers"]) == (rate, handovers)
        assert row["delay_s"] == pytest.approx(delay)


def test_a_result_without_traces_is_refused(tmp_path: Path):
    result = bp.run(bp.Scenario.load("geo"))
    with pytest.raises(bp.ScenarioError, match="has no trace of links"):
        plot.over_path({"Reno": result})
