"""What an answer advises beside an algorithm: a queue to cure, settings to keep, warnings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import bentpipe as bp
from bentpipe.machine import linux


def shared(queue: dict[str, Any], **more: Any) -> bp.Scenario:
    """A download beside an upload that fills the return link, whose queue holds two seconds."""
    reverse = {"rate": "3 Mbit/s", "queue": queue, **more}
    link = bp.Link(rate="50 Mbit/s", delay="300 ms", queue=bp.DropTail("1 bdp"), reverse=reverse)
    flows = [
        bp.Flow("cubic", path=["sat"], name="download"),
        bp.Flow("cubic", path=["sat/reverse"], name="upload"),
    ]
    return bp.Scenario(links={"sat": link}, flows=flows)


TAIL = {"kind": "drop-tail", "limit": "750 kB"}


def test_a_queue_that_is_worth_more_than_any_algorithm_is_cured_first() -> None:
    found = bp.advise(scenario=shared(TAIL), cc=["hybla"], plan="3x1x60s+2")
    cure = found.to_dict()["cure"]
    assert cure["directions"] == ["sat/reverse"] and cure["worth"] and cure["goodput_bps"]["runs"] == 2
    by_hand = bp.run(bp.Scenario.from_dict(shared({"kind": "fq-codel"}).to_dict() | {"duration": "60 s"}))
    assert cure["goodput_bps"]["centre"] > 40e6 > found.trials["hybla"].mean("goodput_bps")
    assert by_hand.json["flows"][0]["goodput_bps"] > 30e6, "start-up included"
    (said,) = [
        said for said in found.sentences() if said.startswith("Cure the queue of the return link first")
    ]
    assert "acknowledgements wait at sat/reverse behind" in said
    assert f"CUBIC has {cure['goodput_bps']['centre'] / 1e6:.1f} Mbit/s in place of" in said


@pytest.mark.parametrize("queue", [{"kind": "fq-codel"}, TAIL], ids=["cured", "alone"])
def test_where_nothing_waits_nothing_is_cured(queue: dict[str, Any]) -> None:
    scenario = shared(queue)
    if queue is TAIL:
        scenario.flows = scenario.flows[:1]
    found = bp.advise(scenario=scenario, cc=["cubic"], plan="2x1x10s+1")
    assert found.cure is None and not any(said.startswith("Cure") for said in found.sentences())


def test_acknowledgements_that_are_thinned_in_a_long_queue_are_warned_of(cli: Any, tmp_path: Path) -> None:
    """One acknowledgement in the two seconds of the queue: the download has a twentieth of what it had."""
    thin = shared(TAIL, ack_thinning={"keep": 1})
    place = tmp_path / "thin.json"
    place.write_text(bp.Scenario.from_dict(thin.to_dict() | {"duration": "60 s"}).as_written())
    warned = "link sat/reverse thins acknowledgements: one acknowledgement of a flow in 1."
    done = cli("run", place)
    assert warned in " ".join(done.stderr.split()) + " ".join(done.stdout.split())
    found = bp.advise(scenario=thin, cc=["cubic"], plan="2x1x60s+0")
    assert any(said.startswith(f"Check first: {warned}") for said in found.sentences())
    assert not bp.run("vsat-thinning").warnings, "acknowledgements alone wait for 38 ms"


def test_the_settings_have_the_buffers_that_the_path_demands() -> None:
    """50 Mbit/s times 600 ms are 3.75 MB; Linux offers half of a buffer as window (docs/tcp.md)."""
    found = bp.advise(rate="50 Mbit/s", rtt="600 ms", per=1e-4, cc=["bbr"], plan="3x3x30s+0", shared=False)
    assert found.recommended == "bbr"
    setting, receive, send = found.to_dict()["sysctl"]
    assert setting == "net.ipv4.tcp_congestion_control = bbr"
    for line, name in ((receive, "tcp_rmem"), (send, "tcp_wmem")):
        assert line.startswith(f"net.ipv4.{name} = 4096 ")
        assert 7_500_000 <= int(line.split()[-1]) <= 7_700_000


def test_settings_that_linux_has_are_left_out() -> None:
    assert linux.sysctl("cubic", 3e5) == linux.sysctl("star", 3e5) == []
    assert linux.sysctl("westwood-plus", 3e5) == ["net.ipv4.tcp_congestion_control = westwood"]
    assert linux.sysctl("cubic", 2.5e6) == ["net.ipv4.tcp_wmem = 4096 16384 5000000"]


def test_page_and_terminal_have_the_settings(cli: Any, tmp_path: Path) -> None:
    asked = "--rate", "50 Mbit/s", "--rtt", "600 ms", "--per", "1e-4", "--not-shared"
    done = cli("advise", *asked, "--cc", "bbr", "--plan", "3x3x30s+0", "--out", tmp_path)
    for text in (done.stdout, (tmp_path / "advice.html").read_text(encoding="utf-8")):
        assert "/etc/sysctl.d/90-satellite.conf" in text and "net.ipv4.tcp_rmem = 4096 131072 7" in text
