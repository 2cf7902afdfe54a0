"""Connections whose both ends write, and acknowledgements that ride on data."""

from __future__ import annotations

from typing import Any

import pytest

import bentpipe as bp


def result(link: bp.Link | None = None, duration: str = "20 s", **flow: Any) -> bp.Result:
    link = link or bp.Link(rate="10 Mbit/s", delay="20 ms", queue=bp.DropTail("100 packets"))
    flows = [bp.Flow(**{"cc": "reno", "path": ["sat"], **flow})]
    return bp.run(bp.Scenario(links={"sat": link}, flows=flows, duration=duration))


def pure(found: bp.Result) -> dict[str, int]:
    """Acknowledgements that travelled alone, by the way they went; the handshake is among them."""
    (there, back) = found.json["flows"]
    sent = {"forward": there["sent_packets"], "reverse": back["sent_packets"]}
    return {
        row["direction"]: row["delivered_packets"]
        + row["dropped_queue"]
        + row["dropped_error"]
        - sent[row["direction"]]
        for row in found.links.iter_rows(named=True)
    }


def test_ten_segments_each_way_are_acknowledged_alone() -> None:
    # Both windows of ten segments are out before anything comes: five pure acknowledgements each way.
    # Beside them SYN, the third segment of the handshake, FIN and the last acknowledgement there; SYN-ACK
    # and FIN-ACK back.
    found = result(traffic=bp.Bulk("14480 bytes"), both_ways=True)
    assert pure(found) == {"forward": 5 + 4, "reverse": 5 + 2}
    there, back = found.json["flows"]
    assert [there["name"], back["name"]] == ["reno/there", "reno/back"]
    # SYN, SYN-ACK, ACK, then ten segments of 1500 bytes at 10 Mbit/s. The other end sends as much at the
    # same time, and all its five acknowledgements wait behind that.
    handshake = 0.04 + 2 * 60 * 8 / 1e7
    assert there["completion_s"] == pytest.approx(
        handshake + 0.04 + (52 + 10 * 1500 + 5 * 52) * 8 / 1e7, abs=1e-6
    )
    # The other end is open half a round trip later.
    assert back["completion_s"] == pytest.approx(there["completion_s"] + 0.02, abs=3e-4)


def test_acknowledgements_of_paced_data_ride() -> None:
    # Data leaves each end at even times, so a segment leaves between any two that come: no acknowledgement
    # is alone. Five of the first ten segments each way are, and four or two segments of the handshake; no
    # more than what the end of the run cuts off is missing.
    there_alone, back_alone = pure(result(both_ways=True, pacing=True, receive_window="20 segments")).values()
    one_way = result(pacing=True, receive_window="20 segments")
    alone = one_way.links["delivered_packets"][1]
    assert alone > 4500
    assert abs(there_alone) < 20 and abs(back_alone) < 20


def test_a_comparison_has_the_data_of_both_ends() -> None:
    there, back = result(both_ways=True).json["flows"]
    scenario = bp.Scenario(
        links={"sat": bp.Link(rate="10 Mbit/s", delay="20 ms", queue=bp.DropTail("100 packets"))},
        flows=[bp.Flow("reno", path=["sat"], both_ways=True)],
        duration="20 s",
    )
    found = bp.compare(scenario, ["reno"], whole=True, seeds=1)
    assert found["goodput_bps"][0] == pytest.approx(there["goodput_bps"] + back["goodput_bps"], rel=1e-6)


def test_what_rides_is_no_duplicate() -> None:
    # RFC 5681 section 2. Every pure acknowledgement is followed by data that repeats its number; nothing is
    # lost, so nothing is sent again, though NewReno counts duplicates.
    found = result(both_ways=True, recovery="newreno", receive_window="40 segments")
    assert [flow["retransmitted_packets"] for flow in found.json["flows"]] == [0, 0]
    assert min(flow["goodput_bps"] for flow in found.json["flows"]) > 6e6


@pytest.mark.parametrize("recovery", ["sack", "newreno", "reno"])
def test_losses_in_both_directions_are_repaired(recovery: str) -> None:
    lossy = bp.PacketError(0.01)
    link = bp.Link(rate="10 Mbit/s", delay="20 ms", loss=lossy, reverse={"loss": lossy})
    found = result(link, "300 s", both_ways={"size": "3 MB"}, traffic=bp.Bulk("5 MB"), recovery=recovery)
    there, back = found.json["flows"]
    assert (there["delivered_bytes"], back["delivered_bytes"]) == (5_000_000, 3_000_000)
    assert min(there["retransmitted_packets"], back["retransmitted_packets"]) > 10
    assert there["completion_s"] and back["completion_s"]


def test_acknowledgements_wait_behind_data_on_a_slow_return_link() -> None:
    # Zhang, Shenker and Clark 1991; RFC 3449 section 4. The return link carries the pure acknowledgements
    # of 10 Mbit/s easily. Data of the other end fills its queue of 50 packets, where each waits for up to
    # 50 * 1500 * 8 / 256 kbit/s = 2.3 s.
    slow = {"rate": "256 kbit/s", "queue": bp.DropTail("50 packets")}
    link = bp.Link(rate="10 Mbit/s", delay="20 ms", queue=bp.DropTail("100 packets"), reverse=slow)
    (alone,) = result(link, "60 s").json["flows"]
    there, back = result(link, "60 s", both_ways=True).json["flows"]
    assert alone["goodput_bps"] > 9.4e6
    assert there["goodput_bps"] < 0.6 * alone["goodput_bps"]
    assert there["rtt_mean_s"] > 1.8 * alone["rtt_mean_s"]
    assert back["rtt_mean_s"] > 0.5


def test_the_other_end_has_what_it_is_given() -> None:
    found = result(both_ways={"cc": "cubic", "size": "100 kB", "initial_window": 2}, traffic=bp.Bulk("1 MB"))
    there, back = found.json["flows"]
    assert (there["cc"], back["cc"]) == ("reno", "cubic")
    assert (there["delivered_bytes"], back["delivered_bytes"]) == (1_000_000, 100_000)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"traffic": bp.Cbr("1 Mbit/s"), "cc": None}, "constant-rate"),
        ({"traffic": bp.OnOff(on="1 s", off="1 s")}, "bulk data"),
        ({"read_rate": "1 Mbit/s", "receive_window": "100 kB"}, "read_rate"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(bp.ScenarioError, match=said):
        result(both_ways=True, **given)


def test_a_written_out_scenario_is_the_same() -> None:
    link = bp.Link(rate="10 Mbit/s", delay="20 ms", queue=bp.DropTail("100 packets"))
    flow = bp.Flow("prague", path=["sat"], both_ways={"cc": "reno", "size": "1 MB"})
    given = bp.Scenario(links={"sat": link}, flows=[flow], duration="5 s")
    first = bp.run(given)
    again = bp.run(
        bp.Scenario.from_dict(first.scenario) if isinstance(first.scenario, dict) else first.scenario
    )
    assert again.json["flows"] == first.json["flows"]
