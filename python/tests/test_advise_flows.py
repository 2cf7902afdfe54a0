"""What `advise` judges: all flows of a scenario together, in bytes that can have arrived."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bentpipe as bp
from bentpipe.advice.judged import arrived, steady_goodput

PAYLOAD = 1448 / 1500
"""Share of a packet that is payload."""


def asked(scenario: bp.Scenario | str, plan: str = "2x1x30s+0", cc: str = "cubic") -> bp.Advice:
    return bp.advise(scenario=scenario, cc=[cc], plan=plan)


def test_all_connections_of_a_flow_are_judged() -> None:
    """Of ten flows Vegas' first takes more than its share; together they have less than CUBIC's."""
    found = asked("geo-backhaul", "3x1x120s+0", "vegas")
    full = 9.549e6 * PAYLOAD
    assert 0.97 * full < found.trials["cubic"].mean("goodput_bps") <= full
    assert found.recommended == "cubic"
    beside = bp.compare("geo-backhaul", ["vegas"], whole=True, seeds=1)
    assert found.trials["vegas"].mean("goodput_bps") > 0.97 * beside["goodput_bps"][0]
    assert found.trials["vegas"].mean("jain") == pytest.approx(beside["jain"][0], abs=0.01)
    assert beside["jain"][0] < 0.9
    assert any("are the sum of 10 flows; Jain's index" in said for said in found.sentences())
    assert any("all its 10 flows together" in said for said in found.assumptions)
    assert found.to_dict()["connections"] == 10


def test_a_multipath_connection_is_judged_whole() -> None:
    found = asked("geo-leo-multipath")
    seen = bp.compare("geo-leo-multipath", ["cubic"], whole=True, duration="30 s", seeds=1)
    goodput = found.trials["cubic"].mean("goodput_bps")
    assert seen["goodput_bps"][0] < goodput < 204.71e6 * PAYLOAD
    assert found.trials["cubic"].mean("startup_s") < 15
    beside = bp.advise("geo-leo-multipath", cc=["cubic"], plan="2x1x30s+1").trials["cubic"]
    assert beside.mean("beside_cubic_bps") > 50e6


LINKS = {
    "near": bp.Link(rate="10 Mbit/s", delay="10 ms"),
    "far": bp.Link(rate="10 Mbit/s", delay="300 ms"),
}


def test_flows_of_several_tables_are_judged_together() -> None:
    """Windows of 8 and 100 segments over paths of 20 and 600 ms, and no queue: the sum, and no delay."""
    flows = [
        bp.Flow("cubic", path=["near"], receive_window="8 segments"),
        bp.Flow("cubic", path=["far"], receive_window="100 segments", name="second"),
        bp.Flow(path=["near"], traffic=bp.Cbr("100 kbit/s")),
    ]
    found = asked(bp.Scenario(links=LINKS, flows=flows))
    near, far = (8 * 1448 * segments / (trip + 0.002) for segments, trip in ((8, 0.02), (100, 0.6)))
    own = found.trials["cubic"]
    assert own.mean("first_flow_bps") == pytest.approx(near, rel=0.1)
    assert own.mean("goodput_bps") == pytest.approx(near + far, rel=0.1)
    assert own.mean("jain") == pytest.approx((near + far) ** 2 / 2 / (near**2 + far**2), rel=0.05)
    assert own.mean("queue_p95_s") < 0.02
    assert any("the first, which takes the algorithm, has 4." in said for said in found.sentences())


def test_both_directions_of_a_connection_are_judged() -> None:
    """Each waits for acknowledgements behind the data of the other, so neither direction is full."""
    link = bp.Link(rate="10 Mbit/s", delay="20 ms", reverse={"rate": "2 Mbit/s"})
    flow = bp.Flow("cubic", path=["sat"], both_ways=True)
    found = asked(bp.Scenario(links={"sat": link}, flows=[flow]))
    assert found.to_dict()["connections"] == 2
    there, back = (
        row["goodput_bps"]
        for row in bp.run(bp.Scenario(links={"sat": link}, flows=[flow], duration="30 s")).json["flows"]
    )
    assert min(there, back) > 1e6
    assert found.trials["cubic"].mean("goodput_bps") == pytest.approx(there + back, rel=0.05)
    assert found.trials["cubic"].mean("jain") == pytest.approx(
        (there + back) ** 2 / 2 / (there**2 + back**2), abs=0.01
    )


def test_short_flows_behind_a_relay_are_judged() -> None:
    """Twenty flows of 50 kB a second beside a long one that its window holds back: 8 Mbit/s of the sum."""
    links = {
        name: bp.Link(rate="20 Mbit/s", delay=delay) for name, delay in (("lan", "5 ms"), ("sat", "50 ms"))
    }
    short = bp.ShortFlows(per_second=20.0, size="50 kB")
    flows = [
        bp.Flow("cubic", path=["lan", "sat"], receive_window="8 segments"),
        bp.Flow(
            "cubic", path=["lan", "sat"], name="web", traffic=short, relay={"at": "lan", "buffer": "1 MB"}
        ),
    ]
    own = asked(bp.Scenario(links=links, flows=flows)).trials["cubic"]
    assert own.mean("goodput_bps") - own.mean("first_flow_bps") == pytest.approx(8e6, rel=0.15)


def test_sized_flows_one_after_the_other_are_no_rate_above_the_link() -> None:
    flows = [
        bp.Flow("cubic", path=["near"], traffic=bp.Bulk("2 MB"), start=f"{start} s", name=f"at-{start}")
        for start in (0, 10, 20)
    ]
    found = asked(bp.Scenario(links=LINKS, flows=flows))
    goodput = found.trials["cubic"].mean("goodput_bps")
    assert 8 * 6e6 / 23 < goodput < 8 * 6e6 / 21  # the last one ends 1.7 s after its start


def test_nothing_arrived_is_no_answer(cli: Any, tmp_path: Path) -> None:
    place = tmp_path / "short.toml"
    place.write_text(
        'duration = "30 s"\n[link.sat]\nrate = "4 Mbit/s"\ndelay = "20 ms"\n'
        'up = [["0 s", true], ["5 s", false]]\n'
        '[[flow]]\ncc = "cubic"\npath = ["sat"]\n'
    )
    asks = ("advise", "--scenario", place, "--cc", "cubic,bbr", "--plan", "3x2x30s+0")
    shown = json.loads(cli(*asks, "--json").stdout)
    assert shown["recommended"] is None and shown["known"] is False
    done = cli(*asks)
    assert done.stdout.startswith("Nothing can be recommended: in runs of 30 s nothing arrives")
    assert "0 Mbit/s" not in done.stdout.split("\n\n")[0]


def test_no_goodput_is_above_what_the_link_can_carry() -> None:
    """H-TCP fills a lossless GEO link; a repair at the middle of the run once gave it 9.71 Mbit/s of 10."""
    found = bp.advise("geo", cc=["htcp", "bic", "scalable", "illinois"], plan="6x1x60s+2")
    for one in found.trials.values():
        for name in ("goodput_bps", "beside_cubic_bps", "cubic_bps"):
            assert max(one.of(name)) <= 1e7 * PAYLOAD * (1 + 1e-9), (one.candidate.id, name)
    assert found.trials["cubic"].mean("goodput_bps") > 0.99e7 * PAYLOAD


def test_what_a_hole_holds_back_had_arrived() -> None:
    """100 bytes come each second. From 50 to 55 s a hole holds them back, and at 56 s all are there."""
    t = np.arange(0.0, 101.0)
    came = 100 * t
    delivered = np.where((t >= 50) & (t < 56), 5000.0, came)
    assert steady_goodput(t, delivered) > 8 * 100 * 0.999
    delivered = np.where((t >= 49) & (t < 56), 4900.0, came)
    assert steady_goodput(t, delivered) > 8 * 101, "as it is delivered it is too much"
    assert arrived(delivered, came) == pytest.approx(came)
    assert steady_goodput(t, arrived(delivered, came)) == pytest.approx(8 * 100, rel=1e-9)
    unknown = np.full_like(t, np.inf)
    assert arrived(delivered, unknown) == pytest.approx(delivered)


def test_the_terminal_shows_fairness_where_there_are_several_flows(cli: Any) -> None:
    several = cli("advise", "--link", "geo", "--flows", "3", "--cc", "cubic", "--plan", "2x1x20s+1").stdout
    single = cli("advise", "--link", "geo", "--cc", "cubic", "--plan", "2x1x20s+1").stdout
    assert "Jain: fairness between the 3 flows" in several and "Jain" not in single
    head = next(line for line in several.splitlines() if "Mbit/s" in line and "seeds" in line)
    assert "Jain" in head
    for shown in (several, single):
        assert "Lost, resent: of the packets of the whole run" in " ".join(shown.split())
