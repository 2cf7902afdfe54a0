"""HighSpeed of `TCP/Linux` beside ours below 39 segments, where both are Reno: three rules differ."""

from __future__ import annotations

import random
import statistics
from pathlib import Path

import pytest
from linux26 import HighSpeed

import bentpipe as bp
from bentpipe import ns2
from bentpipe.controller import FlowState
from bentpipe.ns2.dumbbell import packets

RATE, RTT, DURATION = 10e6, 0.02, 60.0
AGENT = ns2.AGENTS["linux-highspeed"]


class RoundedDown(HighSpeed):
    """Half of an odd window is rounded down, as Reno's is, not up."""

    def cut(self, flow: FlowState, why: str) -> int:
        return int(self.cwnd) * (256 - self.ROWS[self.row()][1]) >> 8


class BelowThreshold(HighSpeed):
    """Slow start ends at the threshold, and not one segment above it."""

    def start_slowly(self, flow: FlowState) -> None:
        if self.cwnd < self.ssthresh:
            super().start_slowly(flow)
        else:
            self.grow_by_row()


class AtOnce(HighSpeed):
    """The window falls when the loss is found, not by a segment for two ACKs."""

    lowest_share = 1.0

    def on_congestion(self, flow: FlowState, why: str) -> None:
        super().on_congestion(flow, why)
        self.cwnd = min(self.cwnd, self.ssthresh)


class Ours(RoundedDown, BelowThreshold, AtOnce):
    """Without all three."""


@pytest.mark.skipif(not ns2.available(), reason=ns2.MISSING)
@pytest.mark.slow
def test_three_rules_of_tcp_linux_make_its_tenth_at_small_windows(tmp_path: Path) -> None:
    buffer = packets(RATE, RTT) - 1
    patterns = []
    for seed in (1, 2):
        draw = random.Random(seed)
        patterns.append(tmp_path / f"{seed}")
        patterns[-1].write_text("".join(f"{i}\n" for i in range(60_000) if draw.random() < 0.01))

    def scenarios(cc: object) -> list[bp.Scenario]:
        return [
            ns2.dumbbell(
                AGENT,
                rate=RATE,
                rtt=RTT,
                buffer=buffer,
                duration=DURATION,
                cc=cc,
                drops=str(lost),
                initial_ssthresh=buffer + 1,
                rack=True,
            )
            for lost in patterns
        ]

    theirs = statistics.fmean(ns2.run(s, agents=AGENT).flows[0].goodput_bps for s in scenarios(None))

    def apart(cc: object) -> float:
        ours = bp.run_many(scenarios(cc), 1)
        return statistics.fmean(r.json["flows"][0]["goodput_bps"] for r in ours) / theirs - 1.0

    module, here = apart(HighSpeed), apart(None)
    assert abs(module) < 0.02
    assert here == pytest.approx(-0.10, abs=0.02)
    # The parts of the difference: each costs something, and all three together what ours costs.
    parts = [apart(one) - module for one in (BelowThreshold, RoundedDown, AtOnce)]
    assert [round(100 * part) for part in parts] == pytest.approx([-6, -3, -2], abs=1)
    assert apart(Ours) == pytest.approx(here, abs=0.02)
