"""`bentpipe bdp`: numbers from RFC 7323, 5681 and 9438, and a simulation beside them."""

from __future__ import annotations

import json

import forked
import pytest

import bentpipe as bp
from bentpipe.cli.bdp import bdp


def test_a_geostationary_link_needs_what_the_documents_say() -> None:
    """1,500,000 bytes are 1000 segments of 1500, as `run` says, and 1,448,000 bytes of payload.

    A window of 65,535 * 2^4 is too small for those, 2^5 is enough; 10 * 2^7 is the first above 1000 segments.
    """
    done = forked.run(["bdp", "20 Mbit/s", "600 ms", "--json"])
    found = json.loads(done.stdout)
    assert (found["bdp_bytes"], found["window_scale"]) == (1_500_000, 5)
    assert (found["bdp_segments"], found["window_bytes"]) == (1000, 1_448_000)
    assert found["slow_start_s"] == pytest.approx(7 * 0.6)
    # Half of the window at a segment a round trip; K = cbrt(W (1 - 0.7) / 0.4).
    assert found["recovery_s"]["reno"] == pytest.approx(300)
    assert found["recovery_s"]["cubic"] == pytest.approx(750 ** (1 / 3))
    shown = forked.run(["bdp", "20Mbps", "0.6 s"]).stdout
    assert "1,500,000 bytes on the wire, 1000 segments" in shown and "300.0 s" in shown


def test_no_goodput_is_above_the_payload_that_the_link_carries() -> None:
    """10 Mbit/s carry 9.653 of payload, and so say the window of a run and its goodput."""
    found = bdp(10e6, 0.5)
    best = found["goodput_bps"]["1e-06"]["cubic"]
    assert best == pytest.approx(10e6 * 1448 / 1500)
    flow = bp.Flow("cubic", path=["sat"], receive_window=f"{2 * found['bdp_segments']:.0f} segments")
    link = bp.Link(rate="10 Mbit/s", delay="250 ms", queue=bp.DropTail(limit="1 bdp"))
    long = bp.run(bp.Scenario(links={"sat": link}, flows=[flow], duration="500 s")).json["flows"][0]
    assert 0.97 * best < long["goodput_bps"] <= best


@pytest.mark.parametrize(("cc", "more"), [("reno", 1.0), ("cubic", 1.23)])
def test_a_simulation_has_the_goodput_at_a_loss_rate(cc: str, more: float) -> None:
    """Random losses; those of the formulas have equal distances (docs/validation/closed-forms.md)."""
    link = bp.Link(rate="10 Mbit/s", delay="50 ms", loss={"kind": "packet-error", "rate": 1e-3})
    flow = bp.Flow(cc, path=["sat"], mss="1448 bytes")
    simulated = bp.run(bp.Scenario(links={"sat": link}, flows=[flow], duration="300 s"))
    found = bdp(10e6, 0.1)["goodput_bps"]["0.001"][cc]
    assert simulated.json["flows"][0]["goodput_bps"] == pytest.approx(more * found, rel=0.1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["20", "600 ms"], "RATE: '20'"),
        (["1 kbit/s", "0 s"], "RTT"),
        (["1 kbit/s", "-5 ms"], "RTT: a duration must be positive, not '-5 ms'"),
        (["1 Mbit/s", "1 s", "--per", "0"], "above 0"),
        (["1 Mbit/s", "1 s", "--per", "2"], "'2' is no probability"),
    ],
)
def test_what_is_no_rate_or_no_time_is_refused(words: list[str], said: str) -> None:
    done = forked.run(["bdp", *words])
    assert done.returncode == 2 and said in done.stderr


def test_a_loss_rate_may_be_asked_for() -> None:
    done = forked.run(["bdp", "100 Mbit/s", "1 s", "--per", "0.01 %", "--json"])
    # Reno: sqrt(1.5 / p) segments of 1448 bytes a round trip.
    (p,), (goodput,) = zip(*json.loads(done.stdout)["goodput_bps"].items(), strict=True)
    assert p == "0.0001" and goodput["reno"] == pytest.approx(1448 * 8 * 15000**0.5, rel=0.01)


def test_a_link_of_less_than_a_segment_needs_nothing() -> None:
    found = bdp(64e3, 0.01)
    assert (found["window_scale"], found["slow_start_s"]) == (0, 0)
    assert found["goodput_bps"]["0.01"] == dict.fromkeys(("reno", "cubic"), 64e3 * 1448 / 1500)
