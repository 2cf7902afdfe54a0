"""Connections over several paths in Python: rows, comparisons, sums."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import bentpipe as bp
from bentpipe import comparison, plot
from bentpipe.sweeps.job import goodput

LINKS = {
    "geo": bp.Link(rate="20 Mbit/s", delay="300 ms"),
    "leo": bp.Link(rate="10 Mbit/s", delay="20 ms"),
}


def scenario(cc: str = "lia", **keys: Any) -> bp.Scenario:
    flow = bp.Flow(cc, ["leo"], name="m", subflow=[{"path": ["geo"]}], **keys)
    return bp.Scenario(links=LINKS, flows=[flow], duration="20 s")


def test_a_connection_and_its_subflows_are_rows_and_count_once() -> None:
    result = bp.run(scenario())
    assert result.flows.select("name", "half", "cc").rows() == [
        ("m", None, "lia"),
        ("m/1", "subflow", "lia"),
        ("m/2", "subflow", "lia"),
    ]
    whole, fast, slow = result.json["flows"]
    assert whole["sent_packets"] == fast["sent_packets"] + slow["sent_packets"]
    assert goodput(result.json["flows"]) == whole["goodput_bps"]


def test_each_subflow_may_have_a_controller_of_its_own() -> None:
    flow = bp.Flow("cubic", ["leo"], name="m", subflow=[{"path": ["geo"], "cc": "hybla"}])
    result = bp.run(bp.Scenario(links=LINKS, flows=[flow], duration="5 s"))
    assert result.flows["cc"].to_list() == ["cubic+hybla", "cubic", "hybla"]


def test_a_scenario_survives_json_with_its_subflows() -> None:
    made = scenario(scheduler="round-robin", receive_window="200 segments", opportunistic=True)
    again = bp.Scenario.from_json(made.to_json())
    assert {**bp.run(again).json, "wall_s": 0} == {**bp.run(made).json, "wall_s": 0}


def test_a_comparison_takes_the_connection_and_draws_both_subflows(tmp_path: Path) -> None:
    made = scenario()
    made.record = bp.Record(interval="100 ms", links=True)
    drawn = plot.over_path({"LIA": bp.run(made)})
    assert drawn.data["run"].unique(maintain_order=True).to_list() == ["LIA, 1", "LIA, 2", "LIA, the whole"]
    plot.save(drawn, tmp_path / "both.svg")
    rows = comparison.compare(scenario(), ["lia", "reno"], whole=True, seeds=1).to_dicts()
    for row in rows:
        assert row["flows"] == 1
        assert row["goodput_bps"] > 15e6  # more than either path alone could carry in 20 s from a slow start


def test_a_relay_does_not_go_with_subflows() -> None:
    with pytest.raises(bp.ScenarioError, match=r"a relay ends one connection"):
        bp.run(scenario(relay={"at": "leo", "buffer": "1 MB"}))
