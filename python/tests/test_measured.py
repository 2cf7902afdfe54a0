"""Links from measurements: real files of a known link, simulated captures, and files that are damaged."""

from __future__ import annotations

import gzip
import json
import math
import shutil
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bentpipe as bp
from bentpipe.measured import Estimates, draws, estimate, scenario_text
from bentpipe.measured import link as measured_link
from bentpipe.measured.quantities import bursts, floor, share
from bentpipe.measured.transfers import Pausing

REAL = Path(__file__).parent / "measured"
RATE, RTT, BUFFER, LOSS = 8e6, 0.1, 100e3, 0.02
"""The link of the files there; its round-trip time is exact to `ABOUT`."""
ABOUT = 0.0004
needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark, which is not here")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of the packets; what is drawn from them has tests of its own (test_measured_draws.py)."""
    monkeypatch.setattr(draws, "PACKETS", draws.PACKETS // 24)


def holds(found: Estimates, name: str, truth: float, about: float = 0.0) -> bool:
    one = found.of(name)
    assert one is not None
    assert one.low <= one.value <= one.high
    return one.low - about <= truth and (one.bound == "least" or truth <= one.high + about)


@pytest.mark.parametrize("name", ["clean-ping.log", "lossy-ping.log", "lossy-irtt.json.gz"])
def test_probes_tell_round_trip_and_loss(name: str) -> None:
    found = estimate([REAL / name])
    assert holds(found, "rtt_s", RTT, ABOUT)
    assert holds(found, "loss", LOSS if "lossy" in name else 0.0)
    assert found.of("rate_bps") is None


def test_iperf3_tells_rate_and_buffer() -> None:
    found = estimate([REAL / "clean-iperf3.json"])
    assert holds(found, "rate_bps", RATE)
    assert holds(found, "rtt_s", RTT)
    assert holds(found, "buffer_bytes", BUFFER)
    assert holds(found, "loss", 0.0)


def test_a_ping_beside_iperf3_narrows_what_it_tells() -> None:
    alone = estimate([REAL / "clean-iperf3.json"])
    both = estimate([REAL / "clean-iperf3.json", REAL / "clean-ping.log"])
    assert holds(both, "rtt_s", RTT, ABOUT)
    assert holds(both, "buffer_bytes", BUFFER, 10e3)
    widths = [one.high - one.low for found in (alone, both) if (one := found.of("buffer_bytes"))]
    assert widths[1] < widths[0] / 2


def test_datagrams_tell_loss_and_a_rate_that_came_through() -> None:
    found = estimate([REAL / "lossy-udp.json"])
    assert holds(found, "loss", LOSS)
    assert holds(found, "rate_bps", RATE)
    rate = found.of("rate_bps")
    assert rate is not None and rate.bound == "least" and 3.9e6 < rate.value < 4.1e6


@needs_tshark
def test_a_real_capture_tells_everything() -> None:
    found = estimate([REAL / "clean.pcap.gz"])
    assert holds(found, "rate_bps", RATE)
    assert holds(found, "rtt_s", RTT, ABOUT)
    assert holds(found, "loss", 0.0)
    assert holds(found, "buffer_bytes", BUFFER, 10e3)  # pauses of the emulator look like queue
    assert abs(found.of("rate_bps").value - RATE) < 0.05 * RATE  # type: ignore[union-attr]


@needs_tshark
@pytest.mark.parametrize(
    ("cc", "loss", "rate"),
    [
        ("cubic", None, 0.0),
        ("bbr", bp.PacketError(2e-3), 2e-3),
        ("bbr", bp.GilbertElliott(3e-3, 0.25, 0.0, 0.5), 3e-3 / (3e-3 + 0.25) * 0.5),
    ],
    ids=["none", "packets", "bursts"],
)
def test_a_simulated_link_lies_in_the_ranges_of_its_capture(
    cc: str, loss: Any, rate: float, tmp_path: Path
) -> None:
    link = bp.Link(rate="5 Mbit/s", delay="50 ms", queue=bp.DropTail("80000 bytes"), loss=loss)
    scenario = bp.Scenario(links={"sat": link}, flows=[bp.Flow(cc, path=["sat"])], duration="30 s", seed=3)
    bp.run(scenario, pcap=tmp_path / "run.pcapng")
    found = estimate([tmp_path / "run.pcapng"])
    assert holds(found, "rate_bps", 5e6, 5e4)
    assert holds(found, "rtt_s", 0.1)
    assert holds(found, "loss", rate)
    assert holds(found, "buffer_bytes", 80e3)
    lost, room = found.of("loss"), found.of("buffer_bytes")
    assert lost is not None and room is not None
    if cc == "cubic":
        assert room.bound == ""  # it is seen to fill the buffer
    assert (lost.bursts is not None) == isinstance(loss, bp.GilbertElliott)


def test_the_parameters_of_bursts_are_found_again() -> None:
    draw = np.random.default_rng(5)
    p, r, bad_loss = 2e-3, 0.2, 0.6
    bad, lost = False, []
    for leaves, loses in draw.random((400_000, 2)):
        lost.append(bool(bad and loses < bad_loss))
        bad = leaves >= r if bad else leaves < p
    found = bursts(lost)
    assert found is not None
    assert (found.p, found.r, found.bad_loss) == pytest.approx((p, r, bad_loss), rel=0.15)
    assert bursts(list(draw.random(400_000) < 3e-3)) is None


def test_the_range_of_a_share_is_wilsons() -> None:
    p, n, z = 0.01, 1000, 1.959964
    middle, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    ends = [(middle + sign * half) / (1 + z * z / n) for sign in (-1, 1)]
    assert share(10, 1000) == pytest.approx((p, *ends), rel=1e-6)


def test_the_least_possible_round_trip_is_in_its_range_in_95_of_100_cases() -> None:
    draw = np.random.default_rng(1)
    for size in (2, 5, 200):
        held = 0
        for _ in range(1000):
            least, low = floor(0.1 + 0.02 * draw.random(size))
            held += low <= 0.1 <= least
        assert held >= 930
    assert floor(np.full(50, 0.6)) == (0.6, 0.6)


@pytest.mark.slow
def test_what_is_measured_becomes_a_scenario(cli: Any, tmp_path: Path) -> None:
    place = tmp_path / "link.toml"
    test, ping = REAL / "clean-iperf3.json", REAL / "clean-ping.log"
    done = cli("scenario", "new", "--measured", test, ping, "--out", place)
    assert done.exit_code == 0, done.stderr
    written = tomllib.loads(place.read_text())
    link = written["link"]["sat"]
    assert link["delay"] == "50 ms"
    assert 7 < float(link["rate"].split()[0]) < 9
    assert link["queue"]["limit"].endswith(" bytes")
    assert link["loss"]["rate"] < 5e-3  # of 300 probes none was lost
    bp.Scenario.load(place).check()
    assert place.read_text() == scenario_text([test, ping])


def test_traffic_of_others_is_a_flow_of_the_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = draws.Draw(8e6, 0.1, "100000 bytes", (), "none", 0.0, load=Pausing(0.25, 4.0, 2.0))
    monkeypatch.setattr(measured_link, "typical", lambda left: link)
    place = tmp_path / "link.toml"
    place.write_text(scenario_text([REAL / "clean-iperf3.json", REAL / "clean-ping.log"], budget_s=0.0))
    asked, other = bp.Scenario.load(place).flows
    assert asked.cc == "cubic"
    assert (other.name, other.path) == ("load", ["sat"])
    assert other.traffic == bp.Cbr("2 Mbit/s", on="4 s", off="2 s")


def test_advice_takes_measurements_and_says_so() -> None:
    found = bp.advise(
        measured=[REAL / "clean-iperf3.json", REAL / "lossy-ping.log"], cc=["vegas"], plan="3x2x5s"
    )
    assert not found.question.spans
    draws = found.question.draws
    assert len({one.rate_bps for one in draws}) > 1 and len({one.loss for one in draws}) > 1
    for n in (0, 1, len(draws)):
        base, _ = found.question.link_of(n)
        (link,) = base.links.values()
        assert link.rate == draws[n % len(draws)].values()["rate"]
        assert list(link.loss) == list(draws[n % len(draws)].losses)
    assert any(
        line.startswith("Measured: round-trip time without queues 100.0 ms") for line in found.assumptions
    )
    assert "--measured" in found.command


def test_files_follow_the_option_or_are_refused(cli: Any) -> None:
    test, ping = REAL / "clean-iperf3.json", REAL / "clean-ping.log"
    done = cli("advise", "--measured", test, ping, "--cc", "vegas", "--plan", "3x1x2s", "--json")
    assert done.exit_code == 0, done.stderr
    assert any("(clean-ping.log)" in line for line in json.loads(done.stdout)["assumptions"])
    for verb in (["advise"], ["scenario", "new"]):
        done = cli(*verb, ping)
        assert done.exit_code == 2
        assert "--measured" in done.stderr


def test_what_the_files_do_not_tell_is_asked_for() -> None:
    with pytest.raises(bp.ScenarioError, match=r"the rate is not in .*clean-ping.log; give rate \("):
        scenario_text([REAL / "clean-ping.log"])
    with pytest.raises(bp.ScenarioError, match=r"rate is not in .*clean-ping.log, .*lossy-ping.log; give"):
        scenario_text([REAL / "clean-ping.log", REAL / "lossy-ping.log"])
    with pytest.raises(bp.ScenarioError, match=r"the rtt is not in .*lossy-udp.json; give rtt \("):
        scenario_text([REAL / "lossy-udp.json"])
    with pytest.raises(bp.ScenarioError, match="no file is given"):
        estimate([])


def damaged() -> dict[str, bytes]:
    report = json.loads((REAL / "clean-iperf3.json").read_text())
    ping = (REAL / "clean-ping.log").read_bytes()
    trips = json.loads(gzip.decompress((REAL / "lossy-irtt.json.gz").read_bytes()))
    capture = gzip.decompress((REAL / "clean.pcap.gz").read_bytes())
    return {
        "empty": b"",
        "text": b"hello\n",
        "binary": bytes(range(256)) * 8,
        "json-cut": json.dumps(report).encode()[:2000],
        "json-other": b'{"a": 1}',
        "json-list": b"[1, 2]",
        "gzip-cut": gzip.compress(ping)[:200],
        "ping-nothing-back": ping.splitlines()[0] + b"\n\n--- 10.78.0.2 ping statistics ---\n",
        "iperf3-failed": b'{"start": {}, "intervals": [], "end": {}, "error": "unable to connect"}',
        "iperf3-no-intervals": json.dumps({**report, "intervals": []}).encode(),
        "iperf3-odd": json.dumps({**report, "end": {"streams": 5}}).encode(),
        "iperf3-start": json.dumps({**report, "start": "now"}).encode(),
        "irtt-none": json.dumps({**trips, "round_trips": []}).encode(),
        "irtt-odd": json.dumps({**trips, "round_trips": [{"lost": "false"}]}).encode(),
        "pcap-head": capture[:24],
        "pcap-short": capture[:3000],
        "pcapng-cut": b"\x0a\x0d\x0d\x0a\x1c\x00",
    }


@pytest.mark.parametrize("name", sorted(damaged()))
def test_a_damaged_file_is_answered_in_one_line_that_names_it(name: str, tmp_path: Path, cli: Any) -> None:
    if name.startswith("pcap") and shutil.which("tshark") is None:
        pytest.skip("needs tshark, which is not here")
    place = tmp_path / name
    place.write_bytes(damaged()[name])
    done = cli("scenario", "new", "--measured", place)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.startswith("bentpipe: ")
    assert done.stderr.count("\n") == 1
    assert str(place) in done.stderr


def test_a_report_of_iperf3_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    reads, real = [], measured_link.iperf3_report
    monkeypatch.setattr(measured_link, "iperf3_report", lambda path: reads.append(path) or real(path))
    monkeypatch.setattr("bentpipe.timeline.traces.iperf3.report", measured_link.iperf3_report)
    test = REAL / "clean-iperf3.json"
    assert estimate([test]).of("rate_bps") is not None and reads == [test]
