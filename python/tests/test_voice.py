"""The quality of calls by ITU-T G.107, and mixed traffic summed up by source."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import bentpipe as bp
from bentpipe.analysis.voice import opinion, quality, rating
from bentpipe.cli.tables import together


def test_the_rating_is_that_of_the_e_model() -> None:
    """93.2 without impairments, MOS 4.41. At 400 ms X = 2: Idd = 25 (65^(1/6) - 3 (793/729)^(1/6) + 2)."""
    assert rating(0.1, 0.0) == 93.2 and opinion(93.2) == pytest.approx(4.41, abs=0.005)
    idd = 25 * (65 ** (1 / 6) - 3 * (793 / 729) ** (1 / 6) + 2)
    assert rating(0.4, 0.0) == pytest.approx(93.2 - idd) and idd == pytest.approx(24.1, abs=0.1)
    # Ie,eff of 5 % with Bpl 25.1: 95 * 5 / 30.1.
    assert rating(0.02, 0.05) == pytest.approx(93.2 - 15.78, abs=0.01)
    # G.729A: Ie 11, Bpl 19; 11 + 84 * 2 / 21 with 2 % of losses.
    assert rating(0.02, 0.02, 8_000) == pytest.approx(93.2 - 19)
    assert (opinion(-3), opinion(100), opinion(0)) == (1.0, 4.5, 1.0)
    assert rating(5.0, 1.0) == 0.0


def call(queue: str, cc: str = "cubic") -> dict[str, Any]:
    link = {"rate": "2 Mbit/s", "delay": "250 ms", "queue": {"kind": queue, "limit": "100 packets"}}
    talk = {"name": "call", "path": ["sat"], "traffic": {"kind": "voice"}}
    return {"duration": "60 s", "link": {"sat": link}, "flow": [{"cc": cc, "path": ["sat"]}, talk]}


def test_a_call_over_a_satellite_has_delay_jitter_and_a_rating(cli: Any, tmp_path: Path) -> None:
    """Alone: 250 ms, 20 ms of speech, a hundredth too late: Idd = 11.3, Ie,eff = 3.64, R = 78.2, MOS 3.95."""
    alone = call("drop-tail") | {"flow": call("drop-tail")["flow"][1:]}
    ran = bp.run(alone)
    of = quality(ran.json["flows"][0], ran.scenario["flow"][0]["traffic"])
    assert of is not None and of.r is not None and of.mos is not None
    assert of.delay_s[2] == pytest.approx(0.25 + 200 * 8 / 2e6) and of.jitter_s == pytest.approx(0, abs=1e-6)
    assert of.r == pytest.approx(78.2, abs=0.1) and of.mos == pytest.approx(3.95, abs=0.01)
    file = tmp_path / "call.json"
    rated = {}
    for queue in ("drop-tail", "fq-codel"):
        file.write_text(bp.Scenario.of(call(queue)).as_written())
        beside = bp.run(file).json["flows"][1]
        found = quality(beside, ran.scenario["flow"][0]["traffic"])
        assert found is not None and found.r is not None
        rated[queue] = found.r
        said = cli("run", file).stdout
        assert f"{found.r:.1f}" in said and f"{found.mos:.2f}" in said and "ITU-T G.107" in said
        assert "together" not in said  # one TCP flow and a call share nothing that Jain's index is of
    assert rated["fq-codel"] > rated["drop-tail"] + 10


def test_another_codec_has_no_rating() -> None:
    talk = call("drop-tail")["flow"][1] | {"traffic": {"kind": "voice", "payload": "50 bytes"}}
    ran = bp.run(call("drop-tail") | {"flow": [talk]})
    of = quality(ran.json["flows"][0], ran.scenario["flow"][0]["traffic"])
    assert of is not None and of.r is None and of.delay_s[0] > 0.25


def test_many_flows_of_one_source_are_one_row(cli: Any, tmp_path: Path) -> None:
    web = {"name": "web", "cc": "cubic", "path": ["sat"], "count": 20, "traffic": {"kind": "web"}}
    talk = {"name": "call", "path": ["sat"], "traffic": {"kind": "voice"}}
    link = {"sat": {"rate": "20 Mbit/s", "delay": "50 ms"}}
    file = tmp_path / "mix.json"
    file.write_text(bp.Scenario.of({"duration": "30 s", "link": link, "flow": [web, talk]}).as_written())
    flows = bp.run(file).json["flows"]
    rows = together(flows)
    assert [row["name"] for row in rows] == ["web x 20/requests", "web x 20/responses", "call"]
    pages = [flow for flow in flows if flow["name"].endswith("/responses")]
    assert rows[1]["goodput_bps"] == pytest.approx(math.fsum(flow["goodput_bps"] for flow in pages))
    assert rows[1]["transfers"] == sum(flow["transfers"] for flow in pages)
    done = [flow for flow in pages if flow["completed"]]
    total = math.fsum(flow["completion_mean_s"] * flow["completed"] for flow in done)
    assert rows[1]["completion_mean_s"] == pytest.approx(total / sum(flow["completed"] for flow in done))
    p95 = sorted(flow["rtt_p95_s"] for flow in pages if flow["rtt_p95_s"] is not None)
    assert rows[1]["rtt_p95_s"] == p95[math.ceil(0.95 * len(p95)) - 1]
    said = cli("run", file).stdout
    assert "web x 20/responses" in said and "call" in said and "flows more" not in said
    assert together(flows[:12]) == flows[:12]
