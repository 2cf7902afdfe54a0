"""Relays as Python sees them: the halves in a result and in a comparison."""

import dataclasses

import pytest

import bentpipe as bp
from bentpipe.source import SCENARIOS


def two_links(**flow):
    links = {
        "core": bp.Link(rate="20 Mbit/s", delay="10 ms"),
        "sat": bp.Link(rate="5 Mbit/s", delay="250 ms"),
    }
    given = {"cc": "cubic", "path": ["core", "sat"], **flow}
    return bp.Scenario(links=links, flows=[bp.Flow(**given)], duration="20 s")


def test_a_relayed_flow_has_a_row_for_each_half():
    plain = bp.run(two_links()).flows
    halves = bp.run(two_links(relay={"at": "gateway", "cc": "hybla", "buffer": "1 MB"})).flows
    assert plain["half"].to_list() == [None]
    assert halves.select("name", "half", "cc").rows() == [
        ("cubic/first", "first", "cubic"),
        ("cubic/second", "second", "hybla"),
    ]
    first, second = halves.iter_rows(named=True)
    assert first["rtt_min_s"] < 0.03 and second["rtt_min_s"] > 0.5
    assert 0 <= first["delivered_bytes"] - second["delivered_bytes"] <= 1_000_000


def test_a_relay_shortens_a_download_over_a_geostationary_link():
    with_relay = bp.Scenario.load(SCENARIOS / "geo-pep.toml")
    without = dataclasses.replace(with_relay, flows=[dataclasses.replace(with_relay.flows[0], relay=None)])
    split = bp.run(with_relay).flows.filter(half="second")["completion_s"][0]
    whole = bp.run(without).flows["completion_s"][0]
    assert split < whole


def test_a_comparison_counts_what_the_client_gets(tmp_path):
    file = tmp_path / "pep.toml"
    scenario = two_links(relay={"at": "core", "buffer": "1 MB"})
    file.write_text(
        """
        duration = "20 s"
        link.core = { rate = "20 Mbit/s", delay = "10 ms" }
        link.sat = { rate = "5 Mbit/s", delay = "250 ms" }
        [[flow]]
        cc = "reno"
        path = ["core", "sat"]
        relay = { at = "core", buffer = "1 MB" }
        """
    )
    (row,) = bp.compare(file, cc=["cubic"], seeds=1).iter_rows(named=True)
    second = bp.run(scenario).flows.filter(half="second")
    assert row["goodput_bps"] == pytest.approx(second["goodput_bps"][0], rel=0.02)
    assert row["goodput_bps"] < 5e6


def test_a_wrong_relay_is_one_line():
    with pytest.raises(bp.ScenarioError, match=r"flow\.0\.relay\.at: .*\"gate\".*stands: core") as caught:
        two_links(relay={"at": "gate", "buffer": "1 MB"}).check()
    assert "\n" not in str(caught.value)
