"""What is said of results that ought not to be trusted: rows of zeros, and keys that cannot be meant."""

import json

import pytest

import bentpipe as bp


def run(link=None, flows=None, duration="10 s", **flow):
    link = {"rate": "2 Mbit/s", "delay": "100 ms", **(link or {})}
    flows = flows or [bp.Flow("reno", path=["sat"], name="f", **flow)]
    return bp.run(bp.Scenario(links={"sat": bp.Link(**link)}, flows=flows, duration=duration))


@pytest.mark.parametrize(
    ("link", "flow", "said"),
    [
        (
            {"loss": bp.PacketError(1.0)},
            {},
            "it never connects: link sat/forward loses every packet to errors",
        ),
        (
            {"reverse": {"loss": bp.PacketError(1.0)}},
            {},
            "it never connects: link sat/reverse loses every packet to errors",
        ),
        (
            {"delay": "250 min"},
            {},
            "it never connects: a round trip takes 30000 s, and the run ends 10 s after its start",
        ),
        (
            {"delay": "8 s"},
            {"handshake": False, "start": "3 s"},
            "it delivers nothing: the way there takes 8 s, and the run ends 7 s after its start",
        ),
        (
            {"up": [["0 s", False]], "nominal": {"rate": "2 Mbit/s"}},
            {},
            "it never connects: link sat/forward is never up",
        ),
        (
            {"queue": bp.DropTail("10 bytes"), "loss": bp.PacketError(1.0)},
            {"handshake": False, "profile": "paper"},
            "it delivers nothing: link sat/forward loses every packet to errors",
        ),
        ({"rate": "10 bit/s"}, {}, "it never connects: its handshake is still going on when the run ends"),
        ({"loss": bp.Outage(from_="0 s", to="9.9 s")}, {}, "it never connects: "),
    ],
)
def test_a_flow_that_delivers_nothing_says_why(link, flow, said):
    result = run(link, **flow)
    assert result.json["flows"][0]["delivered_bytes"] == 0
    mine = [text for text in result.warnings if text.startswith("flow f: it ")]
    assert len(mine) == 1 and mine[0].startswith(f"flow f: {said}"), result.warnings


def test_constant_rate_traffic_that_is_lost_is_told_too():
    noise = bp.Flow(path=["sat"], name="noise", traffic=bp.Cbr("500 kbit/s"))
    said = run({"loss": bp.PacketError(1.0)}, [noise]).warnings
    assert said == ["flow noise: it delivers nothing: link sat/forward loses every packet to errors"]


def test_what_waits_is_not_said_to_be_lost():
    """A packet takes 8 s, so in 10 s one is lost, and 1250 wait."""
    noise = bp.Flow(path=["sat"], name="noise", traffic=bp.Cbr("1 Mbit/s", packet="1000 bytes"))
    link = {"rate": "1 kbit/s", "queue": bp.DropTail("2000 packets"), "loss": bp.PacketError(1.0)}
    (said,) = (text for text in run(link, [noise]).warnings if text.startswith("flow noise"))
    assert said.endswith("what it sends is lost, or still under way when the run ends (link sat/forward)")


def test_many_flows_with_one_fate_are_one_line():
    flows = [bp.Flow("reno", path=["sat"], name="f", count=500)]
    said = run({"loss": bp.PacketError(1.0)}, flows).warnings
    assert said == [
        "flow f-1, and 499 more: it never connects: link sat/forward loses every packet to errors"
    ]


def test_flows_that_deliver_are_not_warned_of():
    assert run().warnings == []
    assert run({"loss": bp.PacketError(0.3)}).warnings == []


def test_a_flow_that_cannot_start_in_time_is_told_once():
    said = run(start="20 s").warnings
    assert said == ["flow f: it may start only when the run is over"]


@pytest.mark.parametrize(
    ("link", "flow", "said"),
    [
        (
            {"loss": [bp.PacketError(0.01), bp.BitError(1e-6)]},
            {},
            ["link sat: it has both bit errors and packet errors, and they add up; leave one out if they are "
             "the same losses"],
        ),
        ({"loss": [bp.PacketError(0.0), bp.BitError(1e-6)]}, {}, []),
        (
            {},
            {"mss": "9 bytes"},
            ["flow f: its segments carry 9 bytes behind a header of 52; mss may be meant larger"],
        ),
        (
            {"queue": bp.DropTail("0 packets")},
            {},
            ["link sat: its queue has no room; what comes while a packet is sent is dropped",
             "link sat, reverse: its queue has no room; what comes while a packet is sent is dropped"],
        ),
    ],
)  # fmt: skip
def test_what_is_hardly_meant_is_a_warning(link, flow, said):
    assert run(link, **flow).warnings == said


def test_a_warning_is_on_stderr_and_in_the_results(scenario_file, tmp_path, cli):
    lost = ("--set", "link.sat.loss.rate=1.0")
    said = "flow reno: it never connects: link sat/forward loses every packet to errors"
    ran = cli("run", scenario_file, *lost, "--out", tmp_path / "r")
    assert (ran.exit_code, ran.stderr) == (0, f"bentpipe: warning: {said}\n")
    assert bp.Result.load(tmp_path / "r").warnings == [said]
    ran = cli("run", scenario_file, *lost, "--json")
    assert ran.stderr == f"bentpipe: warning: {said}\n" and json.loads(ran.stdout)["warnings"] == [said]
    compared = cli(
        "compare", "--link", scenario_file, "--per", "1", "--cc", "reno", "--seeds", 2, "--for", "5 s"
    )
    assert compared.exit_code == 0
    assert compared.stderr == f"bentpipe: warning: {said.replace('reno', 'compared')}\n"


def test_bit_errors_and_packet_errors_of_compare_are_both_kept_with_a_warning(scenario_file, cli):
    both = ("--ber", "1e-7", "--per", "1e-3", "--cc", "reno", "--seeds", 1, "--for", "5 s")
    compared = cli("compare", "--link", scenario_file, *both)
    assert compared.exit_code == 0 and "both bit errors and packet errors" in compared.stderr
