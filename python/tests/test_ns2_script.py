"""A scenario as an ns-2 script: what is said, and what is refused by its key."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import bentpipe as bp
from bentpipe import ns2
from bentpipe.ns2.dumbbell import packets

ENDLESS = bp.DropTail("1000000 packets")


def scenario(
    flow: dict[str, Any] | None = None, link: dict[str, Any] | None = None, **other: Any
) -> bp.Scenario:
    """One flow over one link, in a form that ns-2 can follow but for what is given."""
    base = {
        "rate": "10 Mbit/s",
        "delay": "50 ms",
        "queue": bp.DropTail("82 packets"),
        "reverse": {"queue": ENDLESS},
    }
    options = {"cc": "reno", "path": ["sat"], "profile": "paper", "ack_size": "40 bytes"}
    return bp.Scenario(
        links={
            "sat": bp.Link(**{**base, **(link or {})}),
            "late": bp.Link(rate="1 Mbit/s", delay="1 ms", queue=ENDLESS),
        },
        flows=[bp.Flow(**{**options, **(flow or {})})],
        **{"duration": "20 s", **other},
    )


def test_a_bandwidth_delay_product_is_counted_in_packets_of_1500_bytes() -> None:
    assert packets(10e6, 0.5) == 416


def test_what_a_scenario_says_stands_in_the_script() -> None:
    tcl = ns2.script(
        scenario(
            {
                "initial_window": 2,
                "initial_ssthresh": 40,
                "receive_window": "60 segments",
                "min_rto": "500 ms",
            },
            {"loss": [bp.PacketError(0.01)]},
            seed=7,
        )
    )
    # ns-2 counts the packet in transmission among those that a drop-tail queue holds.
    for line in (
        "$ns simplex-link $n0 $n1 10000000 0.050000000s DropTail",
        "$ns queue-limit $n0 $n1 83",
        "$errors set rate_ 0.01",
        "lose $errors [draws 7] $n0 $n1",
        "new Agent/TCP/Sack1",
        "set windowInit_ 2",
        "{begin 0 40 {}}",
        "set window_ 60",
        # Without it ns-2's cwnd grows while window_ limits the sender.
        "set maxcwnd_ 60",
        "set minrto_ 0.5",
        "$ns at 20.000000000 {",
    ):
        assert line in tcl


def test_a_private_delay_becomes_a_link_of_its_own() -> None:
    tcl = ns2.script(scenario({"extra_delay": "30 ms"}))
    assert "$ns duplex-link $own0 $n0 1e13 0.030000000s DropTail" in tcl
    assert "transfer 0 $own0 $n1 " in tcl


def test_a_flow_may_cross_a_link_the_other_way() -> None:
    """Its sender stands where the forward direction ends, and its data meets what the reverse one has."""
    tcl = ns2.script(scenario({"path": ["sat/reverse"]}, {"reverse": {"rate": "2 Mbit/s", "queue": ENDLESS}}))
    for line in (
        "$ns simplex-link $n1 $n0 2000000 0.050000000s DropTail",
        "$ns simplex-link $n0 $n1 10000000 0.050000000s DropTail",
        "transfer 0 $n1 $n0 ",
    ):
        assert line in tcl


def test_all_options_that_ns2_lacks_are_named_with_the_profile_that_sets_them() -> None:
    said = r"prr: ns-2 has false here, not true \(also byte_counting, .*\); profile = \"paper\" in the flow"
    with pytest.raises(bp.ScenarioError, match=said):
        ns2.script(scenario({"profile": "modern"}))


@pytest.mark.parametrize(
    ("flow", "link", "message"),
    [
        ({"cc": "star"}, {}, r"flow\.0\.cc: ns-2 has no sender with the rules of 'star'; it has bic, "),
        (
            {"cc": "cubic"},
            {},
            r"flow\.0\.cc\.c: the cubic of ns-2 has 0\.400390625, not 0\.4; write cc = \{ name",
        ),
        ({"cc": "hybla"}, {}, r"flow\.0\.cc\.ssthresh_est: the hybla of ns-2 has False, not True"),
        ({"cc": "bic", "recovery": "newreno"}, {}, r"flow\.0\.recovery: the bic of ns-2 does 'sack'"),
        ({"cc": "bic"}, {}, r"flow\.0\.timestamps: Agent/TCP/Linux needs true"),
        ({"prr": True}, {}, r"flow\.0\.prr: ns-2 has false here, not true"),
        ({"delayed_ack": True}, {}, r"flow\.0\.delayed_ack"),
        (
            {"cc": "reno", "recovery": "newreno", "newreno_exit": "flight-size"},
            {},
            r'flow\.0\.newreno_exit: ns-2 has "ssthresh" here',
        ),
        ({"traffic": bp.Bulk("1 MB")}, {}, r"flow\.0\.traffic"),
        (
            {"cc": None, "traffic": bp.Cbr("1 Mbit/s")},
            {},
            r"flow\.0\.traffic\.kind: this script has TCP senders",
        ),
        (
            {"receive_window": "9 segments", "read_rate": "1 Mbit/s"},
            {},
            r"flow\.0\.read_rate: ns-2's receivers",
        ),
        ({"receive_window": "9 kB"}, {}, r"flow\.0\.receive_window: ns-2 needs it in segments, not '9"),
        (
            {"path": ["sat", "late"], "ack_path": ["late", "sat"]},
            {},
            r"link\.sat: ns-2 has one link between two",
        ),
        (
            {},
            {"queue": bp.DropTail("1 bdp")},
            r"link\.sat\.queue\.limit: ns-2 needs it in packets, not '1 bdp'",
        ),
        (
            {},
            {"loss": [bp.PacketError(0.1), bp.PacketError(0.1)]},
            r"link\.sat\.loss: a link of ns-2 has one loss",
        ),
        ({}, {"loss": [bp.GilbertElliott(0.1, 0.5)]}, r"link\.sat\.loss\.kind: .*gilbert-elliott"),
        (
            {},
            {"delay": None, "from_": "beijing", "to": "tokyo", "satellite": {"geo": "100E"}},
            r"link\.sat\.satellite: this script has fixed delays; write `delay`",
        ),
    ],
)
def test_what_ns2_cannot_follow_is_refused_by_its_key(flow: Any, link: Any, message: str) -> None:
    with pytest.raises(bp.ScenarioError, match=message):
        ns2.script(scenario(flow, link))


def test_a_path_that_ns2_would_not_take_is_refused() -> None:
    links = {
        name: bp.Link(rate="1 Mbit/s", delay="1 ms", queue=ENDLESS)
        for name in ("up", "a", "b", "c", "d", "short", "down")
    }

    def flow(name: str, *path: str) -> bp.Flow:
        return bp.Flow("reno", name=name, path=["up", *path, "down"], profile="paper", ack_size="40 bytes")

    alone = bp.Scenario(links=links, flows=[flow("long", "a", "b")])
    assert "{begin 0 " in ns2.script(alone)
    shorter, equal = flow("other", "short"), flow("other", "c", "d")
    for other in (shorter, equal):
        both = bp.Scenario(links=links, flows=[flow("long", "a", "b"), other])
        with pytest.raises(
            bp.ScenarioError, match=r"flow\.0\.path: ns-2 sends packets over the fewest links"
        ):
            ns2.script(both)


def test_a_controller_in_python_needs_an_agent_to_stand_for_it() -> None:
    class Mine(bp.Controller):
        def on_ack(self, flow: Any, ack: Any) -> None: ...

        def on_congestion(self, flow: Any, why: str) -> None: ...

    with pytest.raises(
        bp.ScenarioError, match=r"flow\.0\.cc: ns-2 has no counterpart of a controller of one's own"
    ):
        ns2.script(scenario({"cc": Mine}))
    assert "new Agent/TCP/Sack1" in ns2.script(scenario({"cc": Mine}), agents=ns2.AGENTS["sack"])


@pytest.mark.parametrize("name", ns2.AGENTS)
def test_every_agent_has_a_scenario_that_it_follows(name: str) -> None:
    agent = ns2.AGENTS[name]
    said = ns2.dumbbell(agent, rate=10e6, rtt=0.1, buffer=82, duration=10.0)
    assert f"new {agent.tcl}]" in ns2.script(said, agents=agent)
    found = ns2.agent_for(agent.controller(), agent.recovery, "flow.0.cc")
    assert (found.cc, found.args, found.recovery) == (agent.cc, agent.args, agent.recovery)


def test_the_command_prints_the_script_or_one_line_of_complaint(scenario_file: Path) -> None:
    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "bentpipe.ns2", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    refused = call(str(scenario_file))
    assert refused.returncode == 2
    needs = "ns-2 needs it in packets, not '1 bdp'; write for example \"100 packets\""
    assert refused.stderr == f"error: link.sat.queue.limit: {needs}\n"
    text = scenario_file.read_text().replace('"1 bdp"', '"40 packets"') + 'profile = "paper"\n'
    scenario_file.write_text(text)
    printed = call(str(scenario_file), "--script")
    assert printed.returncode == 0
    assert printed.stdout.endswith("$ns run\n")
