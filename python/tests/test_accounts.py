"""The sum of the packets of a run, from outside: `bentpipe run --json`."""

import json

import pytest
from typer.testing import CliRunner

from bentpipe.cli.application import application

EXAMPLE = """duration = "10 s"
[link.x]
rate = "1 kbit/s"
delay = "10 ms"
queue = {{ kind = "{kind}", limit = "100000 packets" }}
loss = {{ kind = "packet-error", rate = 0.5 }}
[[flow]]
path = ["x"]
traffic = {{ kind = "cbr", rate = "1 Mbit/s", packet = "1000 bytes" }}
"""


def ran(*arguments):
    done = CliRunner().invoke(application(["run"]), ["run", *arguments, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def check(report):
    for link in report["links"]:
        fates = ("delivered_packets", "dropped_queue", "dropped_error", "thinned_acks", "inside_packets")
        assert link["offered_packets"] == sum(link[fate] for fate in fates), link
    rows = [flow for flow in report["flows"] if flow["half"] != "subflow"]
    arrived = sum(flow["sent_packets"] - flow["dropped_packets"] - flow["inside_packets"] for flow in rows)
    assert arrived == report["packets"]


@pytest.mark.parametrize("kind", ["drop-tail", "priority"])
def test_packets_that_wait_are_not_lost(kind, tmp_path):
    """A packet takes 8 s: in 10 s one transmission ends. One comes every 8 ms, the first at 0."""
    scenario = tmp_path / "slow.toml"
    scenario.write_text(EXAMPLE.format(kind=kind))
    report = ran(str(scenario))
    check(report)
    link, flow = report["links"][0], report["flows"][0]
    assert flow["sent_packets"] == 1251
    assert (link["delivered_packets"] + link["dropped_error"], link["inside_packets"]) == (1, 1250)
    assert flow["dropped_packets"] == link["dropped_error"]


@pytest.mark.parametrize(
    "name", ["vsat-arq", "leo-handover", "geo-pep", "geo-leo-multipath", "vsat-thinning", "geo-web-load"]
)
def test_each_packet_of_a_shipped_scenario_has_one_fate(name):
    check(ran(name, "--set", "duration=20 s"))
