"""Causes that docs/validation/ns2.md names for a flow of 20 Mbit/s over 560 ms: without each, ns-2 agrees."""

from __future__ import annotations

import dataclasses
import math
import re
from itertools import pairwise
from typing import Any

import pytest

import bentpipe as bp
from bentpipe import ns2
from bentpipe.ns2.dumbbell import packets

pytestmark = pytest.mark.skipif(not ns2.available(), reason=ns2.MISSING)

RATE, RTT = 20e6, 0.56
BDP = packets(RATE, RTT)


def one(agent: str, duration: float, **flow: Any) -> bp.Scenario:
    """One flow with a buffer of a bandwidth-delay product and no losses."""
    return ns2.dumbbell(
        ns2.AGENTS[agent], rate=RATE, rtt=RTT, buffer=BDP, duration=duration, access=False, **flow
    )


def goodputs(agent: str, duration: float, **flow: Any) -> tuple[ns2.FlowRun, dict[str, Any]]:
    """What ns-2 and Bentpipe found."""
    said = one(agent, duration, **flow)
    return ns2.run(said, agents=ns2.AGENTS[agent]).flows[0], bp.run(said).json["flows"][0]


def with_defaults(said: bp.Scenario) -> str:
    """The script with ns-2's own start of a connection: a SYN, growth delayed, and an initial window of 2."""
    text = ns2.script(said)
    for ours, theirs in (
        ("set syn_ false", "set syn_ true"),
        ("set delay_growth_ false", "set delay_growth_ true"),
        ("set windowInit_ 1", "set windowInit_ 2"),
    ):
        assert text.count(ours) == 1, ours
        text = text.replace(ours, theirs)
    return text


@pytest.mark.parametrize("first", [1, 2, 3, 5, 7])
def test_slow_start_of_vegas_ends_at_the_first_doubling_above_the_root_of_six_bdp(first: int) -> None:
    """In the round that doubles the window to W, W/2 packets queue at its end, W/4 on average.

    Diff is then W^2 / (4 BDP), and ns-2 rounds it: slow start ends when it is 1.5 or more, at 7/8 of W.
    """
    end = first * 2 ** math.ceil(math.log2(math.sqrt(6.0 * BDP) / first))
    said = dataclasses.replace(one("vegas", 14.0, initial_window=first), record=bp.Record(interval="10 ms"))
    theirs = [cwnd for _, cwnd, ssthresh in ns2.run(said).windows[0] if ssthresh == 2.0]
    ours = bp.run(said).trace["cwnd"].to_list()
    # From there on a segment for each round trip in both.
    assert theirs[0] == pytest.approx(end * 7 / 8, abs=1.0)
    assert ours[-1] == pytest.approx(theirs[-1], abs=1.0)
    assert next(a for a, b in pairwise(ours) if b < a) == pytest.approx(end, abs=1.0)


def test_vegas_differs_by_the_first_window_alone() -> None:
    """A SYN and `windowInit_ 2` give a first window of 3, two round trips later."""
    there, here = goodputs("vegas", 150.0)
    assert here["goodput_bps"] == pytest.approx(there.goodput_bps, rel=0.002)
    printed, _ = ns2.execute(with_defaults(one("vegas", 150.0)))
    found = re.search(r"^flow \S+ (\S+) ", printed, re.MULTILINE)
    assert found is not None
    defaults = float(found[1])
    assert here["goodput_bps"] / defaults == pytest.approx(4.65 / 4.12, abs=0.02)
    begun = 2.0 * RTT
    three = bp.run(one("vegas", 150.0, initial_window=3, start=f"{begun} s")).json["flows"][0]
    assert three["goodput_bps"] * (150.0 - begun) / 150.0 == pytest.approx(defaults, rel=0.01)


@pytest.mark.slow
def test_sack1_differs_by_an_overshoot_alone() -> None:
    """Half of a window is lost at once, and `pipe_` goes on counting it; the timer then runs out."""
    there, here = goodputs("sack", 60.0)
    # Everything lost is sent once here, and all that was outstanding twice there.
    assert (here["timeouts"], there.timeouts) == (0, 1)
    assert there.retransmitted == pytest.approx(2 * here["retransmitted_packets"], rel=0.01)
    assert here["goodput_bps"] > 1.15 * there.goodput_bps
    # The timeout is a part of it: ns-2 measures one round-trip time per window.
    patient, _ = goodputs("sack", 60.0, min_rto="30 s")
    assert (patient.timeouts, patient.retransmitted) == (
        0,
        pytest.approx(here["retransmitted_packets"], abs=1),
    )
    assert there.goodput_bps < patient.goodput_bps < 0.93 * here["goodput_bps"]
    # ns-2's other sender with SACK, and a threshold that prevents the overshoot.
    linux = ns2.AGENTS["linux-reno"]
    said = ns2.dumbbell(linux, rate=RATE, rtt=RTT, buffer=BDP, duration=60.0, access=False)
    there = ns2.run(said, agents=linux).flows[0]
    assert bp.run(said).json["flows"][0]["goodput_bps"] == pytest.approx(there.goodput_bps, rel=0.01)
    there, here = goodputs("sack", 60.0, initial_ssthresh=BDP)
    assert here["goodput_bps"] == pytest.approx(there.goodput_bps, rel=0.01)
