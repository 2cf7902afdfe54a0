"""The study of a loaded constellation: its scenarios, and its measures of made-up runs by hand."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from bentpipe.experiments import hypatia
from bentpipe.orbit.ground import Point
from bentpipe.orbit.simulated import network_of
from bentpipe.stats import Interval, interval

STATIONS = ["Tokyo", "Paris"]


def small(path: str) -> dict[str, Any]:
    """The scenario of a path between two cities, for 10 s."""
    made = hypatia.scenario(path, "reno", 1) | {"duration": "10 s"}
    made["network"]["stations"] = STATIONS
    return made


def ends() -> pl.DataFrame:
    return pl.DataFrame({"flow": ["x"], "from": ["Tokyo"], "to": ["Paris"]})


def test_light_takes_67_ms_over_a_quarter_of_the_earth_and_back() -> None:
    quarter = hypatia.geodesic_rtt_s(Point("a", 0.0, 10.0), Point("b", 0.0, 100.0))
    assert quarter == pytest.approx(2 * 6371 * math.pi / 2 / 299792.458)
    assert hypatia.geodesic_rtt_s(Point("a", 90.0, 0.0), Point("b", 0.0, 77.0)) == pytest.approx(quarter)


def test_a_path_has_unused_what_its_busiest_port_leaves() -> None:
    scenario = small(hypatia.MOVING)
    via = network_of(scenario).paths.filter(pl.col("from") == 1156)["via"].to_list()[0]
    ports = [(1156, 1156), (via[0], via[1]), (via[-1], via[-1]), (1157, 1157), (via[1], via[0])]
    # The port of Paris and the laser back are not on the way, so their load does not count.
    busy = [0.2, 0.7, 0.4, 0.9, 1.0]
    load = pl.DataFrame(
        {"t_s": [1.0] * 5, "from": [a for a, _ in ports], "to": [b for _, b in ports], "busy": busy},
        schema_overrides={"from": pl.UInt32, "to": pl.UInt32},
    )
    quiet = load.head(1).with_columns(t_s=pl.lit(2.0))
    run: Any = SimpleNamespace(network_flows=ends(), port_trace=pl.concat([load, quiet]))
    found = hypatia.unused(scenario, run).sort("t_s")
    assert found["t_s"].to_list() == [1.0, 2.0]
    assert found["unused"].to_list() == pytest.approx([0.3, 0.8])


def test_flows_over_a_failed_plane_are_told_from_others(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = small(hypatia.HEALTHY)
    via = network_of(scenario).paths.filter(pl.col("from") == 1156)["via"].to_list()[0]
    # 8 Mbit/s, and nothing from 6 to 9 s: 2 of 5 s after the failure.
    t = np.arange(0, 10.01, 0.1)
    delivered = np.round(1e6 * (np.minimum(t, 6) + np.maximum(t - 9, 0)))
    run: Any = SimpleNamespace(
        network_flows=ends(),
        trace=pl.DataFrame({"t_s": t, "flow": ["x"] * t.size, "delivered_bytes": delivered}),
    )
    monkeypatch.setattr(hypatia, "plane", lambda _seed: [via[1]])
    row = hypatia._failed(scenario, run, 1)
    assert (row["hit"], row["rest_mbps"]) == (1, 0)
    assert row["hit_mbps"] == pytest.approx(8 * 2 / 5)
    assert row["silent_s"] == pytest.approx(3.1)
    monkeypatch.setattr(hypatia, "plane", lambda _seed: [(via[1] + 500) % 1156])
    row = hypatia._failed(scenario, run, 1)
    assert (row["hit"], row["hit_mbps"], math.isnan(row["silent_s"])) == (0, 0, True)


def test_tcp_star_runs_against_itself_and_its_largest_estimate_is_kept() -> None:
    both = hypatia.scenario(hypatia.TWO_WAY, hypatia.DELIVERY, 1)["flow"]
    assert [(flow["from"], flow["to"]) for flow in both] == [("Istanbul", "Nairobi"), ("Nairobi", "Istanbul")]
    assert both[0]["cc"] == {"name": "star", "estimator": "delivery-rate"}
    assert len(hypatia.scenario(hypatia.ONE_WAY, "star", 1)["flow"]) == 1
    # 1,000 segments of 1,380 bytes in a second.
    probes = [("bw_segments_per_s", 900.0), ("bw_segments_per_s", 1000.0), ("w_reno_segments", 5000.0)]
    run: Any = SimpleNamespace(probes=pl.DataFrame(probes, schema=["probe", "value"], orient="row"))
    assert hypatia._estimate(run) == pytest.approx(11.04)


def test_a_plane_is_a_ring_of_lasers() -> None:
    lasers = {frozenset(pair) for pair in network_of(small(hypatia.HEALTHY)).lasers}
    for seed in range(1, hypatia.PLANES + 1):
        there = hypatia.plane(seed)
        assert len(there) == 34
        assert all(frozenset((a, b)) in lasers for a, b in zip(there, [*there[1:], there[0]], strict=True))
    failures = hypatia.scenario("detected after 1 s", "cubic", 2)["network"]["failures"]
    assert failures[0] == "satellite 238, from 5 s, detected after 1 s"
    assert len(failures) == 34


def test_the_shares_of_near_and_far_flows() -> None:
    # Of eight flows the two with the shortest propagation have 6 Mbit/s, the longest two 2.
    base = [0.05, 0.01, 0.02, 0.03, 0.04, 0.06, 0.07, None]
    mbps = [1.0, 8.0, 4.0, 1.0, 1.0, 3.0, 1.0, 0.0]
    flows = pl.DataFrame({"rtt_p50_s": [0.1] * 8})
    network = pl.DataFrame({"base_rtt_s": base, "acked_goodput_bps": [1e6 * x for x in mbps]})
    json = {"flows": [{"sent_packets": 50, "dropped_packets": 1}] * 8}
    row = hypatia._flows(SimpleNamespace(flows=flows, network_flows=network, json=json))  # type: ignore[arg-type]
    assert (row["mbps"], row["near"], row["lost"]) == pytest.approx((19.0, 3.0, 2.0))
    assert row["stretch"] == pytest.approx(0.1 / 0.04)


@pytest.mark.parametrize(
    ("values", "above", "verdict"),
    [([93, 94, 95], True, "holds"), ([79, 80, 81], True, "undecided"), ([60, 61, 62], True, "differs")]
    + [([60, 61, 62], False, "holds"), ([93, 94, 95], False, "differs")],
)
def test_a_statement_is_judged_by_the_whole_interval(
    values: list[float],
    above: bool,  # noqa: FBT001
    verdict: str,
) -> None:
    known: Interval = interval(values)
    assert hypatia._judged(known, 80.0, above=above) == verdict
