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


def settings(text: str) -> dict[str, str]:
    """The settings of a file of /etc/sysctl.d; each has its reason in the lines above."""
    found = {}
    for part in text.strip().split("\n\n"):
        reason, *last = part.splitlines()
        assert reason.startswith("# ")
        if last and not last[-1].startswith("#"):
            name, _, value = last[-1].partition(" = ")
            found[name] = value
    return found


def test_a_file_of_settings_has_all_with_their_reasons(cli: Any, tmp_path: Path) -> None:
    """50 Mbit/s times 600 ms are 3.75 MB. Every name is one of Linux's."""
    place = tmp_path / "90-satellite.conf"
    asked = "--rate", "50 Mbit/s", "--rtt", "600 ms", "--per", "1e-4", "--not-shared", "--cc", "bbr"
    done = cli("advise", *asked, "--plan", "3x3x30s+0", "--sysctl", place)
    assert done.exit_code == 0 and str(place) in done.stdout.replace("\n", "")
    text = place.read_text(encoding="utf-8")
    assert "50 Mbit/s" in text.splitlines()[0]
    found = settings(text)
    assert found["net.ipv4.tcp_congestion_control"] == "bbr" and "modprobe tcp_bbr" in text
    assert found["net.core.default_qdisc"] == "fq"
    assert found["net.ipv4.tcp_notsent_lowat"] == "131072"
    for name in ("tcp_rmem", "tcp_wmem"):
        assert 7_500_000 <= int(found[f"net.ipv4.{name}"].split()[-1]) <= 7_700_000
    for name in found:
        assert Path("/proc/sys", *name.split(".")).exists(), name


def test_a_file_of_settings_keeps_what_linux_has_for_a_small_product() -> None:
    found = settings(linux.sysctl_file("cubic", 3e5, "a link"))
    assert found["net.ipv4.tcp_rmem"].split()[-1] == "6291456"
    assert found["net.ipv4.tcp_congestion_control"] == "cubic"


def test_an_algorithm_that_linux_lacks_is_told_in_words() -> None:
    text = linux.sysctl_file("star", 3e5, "a link")
    assert "bentpipe kernel attach star" in text
    assert "net.ipv4.tcp_congestion_control" not in settings(text)


def test_page_and_terminal_have_the_settings(cli: Any, tmp_path: Path) -> None:
    asked = "--rate", "50 Mbit/s", "--rtt", "600 ms", "--per", "1e-4", "--not-shared"
    done = cli("advise", *asked, "--cc", "bbr", "--plan", "3x3x30s+0", "--out", tmp_path)
    for text in (done.stdout, (tmp_path / "advice.html").read_text(encoding="utf-8")):
        assert "/etc/sysctl.d/90-satellite.conf" in text and "net.ipv4.tcp_rmem = 4096 131072 7" in text
