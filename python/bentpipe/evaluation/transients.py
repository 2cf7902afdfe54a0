"""Experiments in which load comes and goes (tcpeval section 5.3, RFC 9743 section 7.8)."""

from __future__ import annotations

import math
from typing import Any

from bentpipe.evaluation.experiment import Course, Curves, Experiment, Metric, Numbers, Setting, product
from bentpipe.evaluation.network import (
    FULL_PACKET,
    bottleneck,
    drop_tail,
    flow,
    link,
    out_of_step,
)
from bentpipe.evaluation.observation import Observation
from bentpipe.models import Cbr, Flow, Link
from bentpipe.scenario import Scenario

# Transients -------------------------------------------------------------------------------------------------

FLOOD_RATE, FLOOD_RTT, FLOOD_PACKETS = 100.0, 100.0, 1024
FLOOD_S = 20.0
LEAVES, COMES, GROWS, HALVES = "load leaves", "load comes", "load grows", "capacity halves"


def _flood_build(s: Setting, cc: Any, seed: int) -> Scenario:
    what, end = s["event"], FLOOD_S + float(s["after"])
    path = link(FLOOD_RATE, FLOOD_RTT, drop_tail(FLOOD_PACKETS))
    cross: list[Flow] = []
    if what == LEAVES:
        cross = [_cross("75 Mbit/s", 1, stop=f"{FLOOD_S:g} s")]
    elif what == COMES:
        cross = [_cross("75 Mbit/s", 1, start=f"{FLOOD_S:g} s")]
    elif what == GROWS:
        cross = [_cross("2.5 Mbit/s", i + 1, start=f"{FLOOD_S + i:g} s") for i in range(30)]
    else:
        path = Link(
            rate=[["0 s", "100 Mbit/s"], [f"{FLOOD_S:g} s", "50 Mbit/s"]],
            delay=path.delay,
            nominal={"rate": "100 Mbit/s", "delay": "50 ms"},
            queue=path.queue,
        )
    return bottleneck(path, [flow(cc, **out_of_step(FLOOD_RATE)), *cross], end, seed, traced=True)


def _cross(rate: str, nth: int, **when: Any) -> Flow:
    return flow(None, f"cross-{nth}", traffic=Cbr(rate, packet=f"{FULL_PACKET} bytes"), **when)


def _flood_measure(run: Observation) -> Numbers:
    numbers = dict.fromkeys(("to60", "to80", "to90", "jump", "cross", "loss"), math.nan)
    numbers["loss"] = run.loss()
    if run.setting["event"] == LEAVES:
        bdp = FLOOD_RATE * 1e6 * FLOOD_RTT / 1e3 / 8 / FULL_PACKET
        times, cwnd = run.column("cwnd")
        for share in (60, 80, 90):
            first = (
                t - FLOOD_S
                for t, w in zip(times, cwnd, strict=True)
                if t > FLOOD_S and w >= share / 100 * bdp
            )
            numbers[f"to{share}"] = next(first, run.seconds - FLOOD_S)
        steps = zip(times, cwnd, cwnd[1:], strict=False)
        grown = [b - a for t, a, b in steps if FLOOD_S <= t <= FLOOD_S + numbers["to90"]]
        numbers["jump"] = max(grown, default=math.nan)
    elif run.setting["event"] in (COMES, GROWS):
        numbers["cross"] = float(sum(f["dropped_packets"] for f in run.named("cross")))
    return numbers


FLOOD = Experiment(
    name="transients",
    title="Load that comes and goes",
    question="How quickly is capacity taken that becomes free, and how much do others lose when load comes?",
    setup="One flow over 100 Mbit/s and 100 ms with a queue of 1024 packets. After 20 s unresponsive "
    "traffic of 75 Mbit/s leaves; or comes; or grows by 2.5 Mbit/s each second, 30 times; or the capacity "
    "halves. The run goes on for 40 s (full: 100 s).",
    source="tcpeval section 5.3; RFC 9743 section 7.8 (sudden onset of congestion)",
    deviation="That capacity halves is added. The window's change within a round trip is read from rows 100 "
    "ms apart. A quick evaluation counts drops for 40 s, not 100.",
    axes={"event": "event"},
    metrics={
        "to60": Metric("time until the window is 60 % of the BDP", "s"),
        "to80": Metric("time until the window is 80 % of the BDP", "s"),
        "to90": Metric("time until the window is 90 % of the BDP", "s"),
        "jump": Metric(
            "largest growth of the window in one round trip on the way", "packets", least=None, good=""
        ),
        "cross": Metric("packets of the other traffic that were dropped"),
        "loss": Metric("packets that the flow lost", "%", 100, most=1),
    },
    settings=lambda extent: product(
        event=(LEAVES, COMES, GROWS, HALVES), after=[100.0 if extent == "full" else 40.0]
    ),
    build=_flood_build,
    measure=_flood_measure,
    charts=(Course("goodput, Mbit/s", "event"), Curves("cross", "event", log_y=True)),
    course=lambda run: run.mbits(),
)
