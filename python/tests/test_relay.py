"""Relays as Python sees them: the halves in a result and in a comparison."""

import dataclasses

import pytest

import bentpipe as bp
from bentpipe.comparison import run_comparison
from bentpipe.document.relays import listed, relay_of
from bentpipe.document.source import Source
from bentpipe.registry import SCENARIOS


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
    with pytest.raises(bp.ScenarioError, match=r"flow\.0\.relay\.at: .*\"gate\".*it is: core") as caught:
        two_links(relay={"at": "gate", "buffer": "1 MB"}).check()
    assert "\n" not in str(caught.value)


def test_what_an_option_says_of_a_relay():
    own = {"at": "core", "buffer": "1 MB", "cc": "hybla"}
    assert relay_of("none", own) is None
    assert relay_of("BBR", own) == {"at": "core", "buffer": "1 MB", "cc": "BBR"}
    assert relay_of("hybla") == {"at": "gateway", "buffer": "4 MB", "cc": "hybla"}
    assert relay_of("hybla, buffer=8 MB", own) == {**own, "buffer": "8 MB"}
    assert relay_of("gateway", own) == {"at": "gateway", "buffer": "4 MB"}  # the sender's algorithm sends on
    assert relay_of("star, cc=cubic", path=["star", "sat"]) == {"at": "star", "buffer": "4 MB", "cc": "cubic"}
    assert listed("none,hybla, gateway, buffer=8 MB, cc=bbr,vegas alpha=2") == [
        "none", "hybla", "gateway, buffer=8 MB, cc=bbr", "vegas alpha=2",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["", "=", "gateway, buffer", "gateway, cc=", "gateway, size=4 MB", "none, cc=bbr"]
)
def test_a_relay_that_is_not_understood_is_refused(text):
    with pytest.raises(bp.ScenarioError, match='write "none", "hybla", or "gateway, '):
        relay_of(text)


def test_a_misspelt_algorithm_is_no_place_of_the_path():
    places = "is no algorithm and no place of this path, whose places are gateway and net"
    for name, more in (("cubik", "did you mean cubic"), ("moon", "bentpipe cc list has the algorithms")):
        with pytest.raises(bp.ScenarioError, match=f"--relay: '{name}' {places}; {more}"):
            relay_of(name, path=["net", "sat"])


def test_two_algorithms_for_one_relay_are_refused():
    with pytest.raises(bp.ScenarioError, match="hybla and bbr are two algorithms"):
        relay_of("hybla, cc=bbr")


def test_a_comparison_has_a_row_for_each_algorithm_with_each_relay():
    options = {"whole": True, "seeds": 1, "relay": "none, hybla, gateway"}
    rows = bp.compare("geo-pep", ["cubic", "bbr"], **options).to_dicts()
    found = {(row["cc"], row["relay"]): row["completion_s"] for row in rows}
    assert found.keys() == {
        *(("cubic", name) for name in (None, "Hybla", "CUBIC")),
        *(("bbr", name) for name in (None, "Hybla", "BBR")),
    }
    # docs/tcp.md has these: CUBIC from end to end, in both halves, and with Hybla in the second.
    assert [round(found["cubic", name], 1) for name in (None, "CUBIC", "Hybla")] == [12.4, 12.0, 10.0]


def test_rows_that_a_relay_makes_alike_say_so():
    fixed = run_comparison("geo-pep", "cubic,bbr", whole=True, seeds=1)
    assert [row["relay"] for row in fixed.rows] == ["Hybla", "Hybla"]
    (note,) = fixed.notes
    assert "the half behind it runs Hybla" in note and "--relay cubic,bbr" in note
    assert run_comparison("geo-pep", "cubic,bbr", whole=True, seeds=1, relay="gateway").notes == []
    assert run_comparison("geo-pep", "cubic", whole=True, seeds=1).notes == []  # nothing beside it
    slow_first = two_links(relay={"at": "core", "buffer": "1 MB", "cc": "hybla"})
    slow_first.links["core"].rate = "1 Mbit/s"
    slow_first.links["core"].loss = bp.PacketError(0.02)
    assert run_comparison(slow_first, "reno,star", whole=True, seeds=1).notes == []  # the sender matters


def test_the_table_of_a_comparison_names_both_halves(cli):
    ran = cli("compare", "--scenario", "geo-pep", "--cc", "cubic", "--relay", "none,bbr", "--seeds", 1)
    assert ran.exit_code == 0
    rows = [line.split()[:2] for line in ran.stdout.splitlines()]
    assert ["CUBIC", "BBR"] in rows and ["CUBIC", "none"] in rows and "relay" in ran.stdout
    assert "relay" not in cli("compare", "--link", "vsat", "--cc", "cubic", "--seeds", 1).stdout


def test_relays_of_one_algorithm_are_told_apart_and_none_stands_twice():
    relays = ["core, cc=hybla, buffer=100 kB", {"at": "core", "buffer": "2 MB", "cc": "hybla"}]
    frame = bp.compare(two_links(), ["cubic"], seeds=1, relay=relays)
    assert sorted(frame["relay"]) == ["Hybla at core, 100 kB", "Hybla at core, 2 MB"]
    with pytest.raises(bp.ScenarioError, match="relay: hybla is there twice"):
        bp.compare("geo-pep", ["cubic"], relay="hybla,bbr,hybla")
    with pytest.raises(bp.ScenarioError, match="a path of one link has no place for a relay"):
        bp.compare("geo", ["cubic"], relay="hybla")


def test_none_takes_a_relay_away_in_a_sweep_and_by_set():
    own = {"at": "gateway", "buffer": "4 MB", "cc": "cubic"}
    rows = bp.sweep("geo-pep", {"flow.0.relay": ["none", own]}).select("flow.0.relay", "half", "completion_s")
    assert [half for _, half, _ in rows.rows()] == [None, "first", "second"]
    assert rows["flow.0.relay"][0] == "none" and "gateway" in rows["flow.0.relay"][2]
    assert [round(rows["completion_s"][i], 1) for i in (0, 2)] == [12.4, 12.0]
    for key in ("flow.0.relay", "flow.*.relay"):
        assert "relay" not in Source("geo-pep").load([(key, "none")])["flow"][0]
    later = [("flow.0.relay", "none"), ("flow.0.relay", '{ at = "internet", buffer = "1 MB" }')]
    assert Source("geo-pep").load(later)["flow"][0]["relay"]["at"] == "internet"
    with pytest.raises(bp.ScenarioError, match=r"flow\.1\.relay: flow is a list; its items are 0 to 0"):
        Source("geo-pep").load([("flow.1.relay", "none")])
