"""DCTCP, AccECN and Prague: what queues and shares they make."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest

import bentpipe as bp

PACKET = 1500 * 8


def queue(flows: int, one_way_s: float, threshold: int, **flow: Any) -> tuple[pl.Series, bp.Result]:
    """The queue of DCTCP flows at 1 Gbit/s in the steady state. DualPI2 marks above so many packets."""
    step = f"{threshold * PACKET / 1e9 * 1e9:.0f} ns"
    link = bp.Link(
        rate="1 Gbit/s", delay=f"{one_way_s * 1e9:.0f} ns", queue=bp.DualPi2("2000 packets", step=step)
    )
    dctcp = {"cc": "dctcp", "path": ["x"], "profile": "paper", "ect1": True, "count": flows, **flow}
    found = bp.run(
        bp.Scenario(
            links={"x": link},
            flows=[bp.Flow(**dctcp, start_jitter="1 ms")],
            duration="500 ms",
            record=bp.Record(interval="20 us", flows=False, links=True),
        )
    )
    assert found.link_trace is not None
    steady = found.link_trace.filter((pl.col("link") == "x/forward") & (pl.col("t_s") > 0.2))
    return steady["queue_packets"], found


@pytest.mark.parametrize(
    ("flows", "one_way_s", "threshold"),
    [(1, 1e-4, 20), (1, 2e-4, 40), (2, 2e-4, 40), (4, 2e-4, 40), (1, 1e-3, 40)],
)
def test_the_queue_of_dctcp_swings_as_the_paper_computes(
    flows: int, one_way_s: float, threshold: int
) -> None:
    # Alizadeh et al. 2010, section 3.3: Qmax = K + N (eq. 10), amplitude sqrt(2 N (C RTT + K)) / 2 (eq. 8),
    # for flows in step.
    waiting, found = queue(flows, one_way_s, threshold)
    in_pipe = 1e9 / PACKET * 2 * one_way_s + 1
    amplitude = math.sqrt(2 * flows * (in_pipe + threshold)) / 2
    assert waiting.max() == pytest.approx(threshold + flows, abs=1)
    assert waiting.quantile(0.01) == pytest.approx(threshold + flows - amplitude, abs=2)
    assert found.links["utilisation"][0] > 0.96 and found.links["dropped_queue"][0] == 0


@pytest.mark.parametrize("ecn", ["dctcp", "accecn"])
def test_exact_echoes_and_counters_tell_the_same_with_delayed_acknowledgements(ecn: str) -> None:
    waiting, _ = queue(1, 2e-4, 40, ecn=ecn, delayed_ack=True, initial_window=10)
    assert 33 <= waiting.min() and waiting.max() <= 42


def beside(cc: str, delay: str) -> tuple[dict[str, Any], dict[str, Any], float]:
    link = bp.Link(rate="50 Mbit/s", delay=delay, queue=bp.DualPi2("2000 packets"))
    flows = [bp.Flow("prague", path=["x"]), bp.Flow(cc, path=["x"])]
    found = bp.run(bp.Scenario(links={"x": link}, flows=flows, duration="30 s"))
    assert not found.warnings
    prague, classic = found.json["flows"]
    return prague, classic, found.links["utilisation"][0]


@pytest.mark.parametrize("cc", ["reno", "cubic"])
def test_prague_waits_for_less_than_a_millisecond_beside_a_classic_flow(cc: str) -> None:
    # RFC 9332: the L4S queue is marked from 1 ms, the classic one aims at 15 ms; the coupling makes the
    # rates alike.
    prague, classic, utilisation = beside(cc, "10 ms")
    assert 1e3 * (prague["rtt_p95_s"] - prague["rtt_min_s"]) < 1.0
    assert 10 < 1e3 * (classic["rtt_p50_s"] - classic["rtt_min_s"]) < 20
    assert prague["dropped_packets"] == 0 and utilisation > 0.95
    assert 0.5 < prague["goodput_bps"] / classic["goodput_bps"] < 3


def test_prague_flows_share_evenly() -> None:
    link = bp.Link(rate="50 Mbit/s", delay="10 ms", queue=bp.DualPi2("2000 packets"))
    flows = [bp.Flow("prague", path=["x"], count=2, start_jitter="1 s")]
    found = bp.run(bp.Scenario(links={"x": link}, flows=flows, duration="30 s"))
    one, other = (flow["goodput_bps"] for flow in found.json["flows"])
    assert one / other == pytest.approx(1, abs=0.15)
    assert one + other > 46e6 * 1448 / 1500


def test_prague_of_a_short_round_trip_does_not_starve_a_long_one() -> None:
    # Once they are independent of their RTT (transition), 5 ms and 25 ms share about evenly; DCTCP flows
    # share by RTT.
    def ratio(cc: Any) -> float:
        link = bp.Link(rate="50 Mbit/s", delay="2 ms", queue=bp.DualPi2("2000 packets"))
        flows = [bp.Flow(cc, path=["x"], ect1=True), bp.Flow(cc, path=["x"], ect1=True, extra_delay="10 ms")]
        found = bp.run(bp.Scenario(links={"x": link}, flows=flows, duration="40 s"))
        short, long = (flow["goodput_bps"] for flow in found.json["flows"])
        return short / long

    assert ratio({"name": "prague", "transition": 0.0}) < 2 < ratio("dctcp")


def test_ecn_takes_the_names_of_its_rules() -> None:
    def run(**flow: Any) -> bp.Result:
        red = bp.Red("100 packets", min="5 packets", max="15 packets", weight=0.02, ecn=True)
        link = bp.Link(rate="4 Mbit/s", delay="50 ms", queue=red)
        return bp.run(
            bp.Scenario(links={"x": link}, flows=[bp.Flow("reno", path=["x"], **flow)], duration="20 s")
        )

    assert run(ecn=True).json["flows"] == run(ecn="rfc3168").json["flows"]
    # The first slow start overflows the queue, whatever the rule. After that Reno is cut by marks alone.
    for found in (run(ecn="dctcp", initial_ssthresh=40), run(ecn="accecn", initial_ssthresh=40)):
        assert found.json["flows"][0]["dropped_packets"] == 0 and found.links["marked"][0] > 3
    with pytest.raises(bp.ScenarioError, match="ecn"):
        run(ecn="rfc9999")


def test_a_lost_acknowledgement_loses_no_count() -> None:
    # A third of the acknowledgements is lost. DualPI2 marks the same flow; AccECN still keeps the queue
    # below its step.
    link = bp.Link(
        rate="50 Mbit/s",
        delay="10 ms",
        queue=bp.DualPi2("2000 packets"),
        reverse={"loss": bp.PacketError(0.33)},
    )
    found = bp.run(bp.Scenario(links={"x": link}, flows=[bp.Flow("prague", path=["x"])], duration="20 s"))
    (flow,) = found.json["flows"]
    assert 1e3 * (flow["rtt_p95_s"] - flow["rtt_min_s"]) < 2.5 and flow["goodput_bps"] > 40e6
