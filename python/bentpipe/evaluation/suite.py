"""The experiments of the common TCP evaluation suite, draft-irtf-iccrg-tcpeval-01 ("tcpeval").

D. Hayes, D. Ros, L. Andrew, S. Floyd, 2014. Its traffic comes from traces of a campus (Tmix), which are not
part of this project. `network.transfers` replaces it, with the load that the draft asks for.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bentpipe.evaluation.chapter import Extent, Numbers, Setting, chapter
from bentpipe.evaluation.network import bdp_packets, drop_tail, flow, link, scenario, transfers
from bentpipe.evaluation.observation import Observation
from bentpipe.models import Bulk, Cbr, Flow
from bentpipe.scenario import Scenario
from bentpipe.units import PACKET

BASIC_LINKS: dict[str, tuple[float, float, float, float, float]] = {
    "access": (100, 4, 100, 20, 5),
    "satellite": (40, 600, 100, 60, 4),
    "dial-up": (0.064, 10, 1250, 600, 1),
}
"""Rate in Mbit/s, round trip of the central link in ms, its buffer in ms, the length of a run in s, and by
how much a quick evaluation divides the rate."""
UPLINK, UPLINK_BUFFER = 4.0, 1000.0
"""Of the satellite scenario, Mbit/s and ms."""


def _basic_settings(extent: Extent) -> list[Setting]:
    return [
        {"link": name, "load": load, "part": 1.0 if extent == "full" else 1 / divisor}
        for name, (*_, divisor) in BASIC_LINKS.items()
        for load in ((60, 85, 110) if extent == "full" else (85,))
    ]


def _basic_build(s: Setting, cc: Any, seed: int) -> Scenario:
    name, load, part = s["link"], s["load"] / 100, s["part"]
    whole, rtt, buffer, seconds, _ = BASIC_LINKS[name]
    rate, up = whole * part, UPLINK * part
    path = link(rate, rtt, drop_tail(bdp_packets(rate, buffer)))
    of: dict[str, Any] = {"seconds": seconds, "seed": seed}
    flows = transfers(cc, name="test", rate=rate, load=load, **of)
    if name == "satellite":
        path.reverse = {"rate": f"{up:g} Mbit/s", "queue": drop_tail(bdp_packets(up, UPLINK_BUFFER))}
        flows += transfers(cc, name="up", rate=up, load=0.5 * load, path="link/reverse", **of)
    return scenario(path, flows, seconds, seed)


def _aggregate(run: Observation) -> Numbers:
    return {"utilisation": run.link()["utilisation"], "drops": run.drops(), "queueing": run.queueing()}


BASIC = chapter("basic-scenarios", _basic_build, _aggregate, settings=_basic_settings)


def _trade_build(s: Setting, cc: Any, seed: int) -> Scenario:
    queue = drop_tail(bdp_packets(s["rate"], 100, s["buffer"] / 100))
    flows = transfers(cc, name="test", rate=s["rate"], load=0.85, seconds=20, seed=seed)
    return scenario(link(s["rate"], 4, queue), flows, 20, seed)


TRADE = chapter(
    "delay-throughput",
    _trade_build,
    lambda run: {**_aggregate(run), "throughput": run.link()["utilisation"] * run.setting["rate"] * 1e6},
)

RAMP_RATE, RAMP_S = 10.0, 15.0
RAMP_RTTS = {"80 and 80 ms": (80, 80), "120 and 30 ms": (120, 30), "30 and 120 ms": (30, 120)}
RAMP_WAITS = {15_000: 10.0, 150_000: 15.0, 1_500_000: 30.0, 15_000_000: 90.0}
"""Bytes of the new flow, and for how many seconds they are waited for."""
WITHOUT = "without slow start"


def _ramp_build(s: Setting, cc: Any, seed: int) -> Scenario:
    old, new = RAMP_RTTS[s["rtts"]]
    late: dict[str, Any] = {"initial_window": 10, "initial_ssthresh": 10} if s["start"] == WITHOUT else {}
    end = RAMP_S + RAMP_WAITS[s["bytes"]]
    late |= {"start": f"{RAMP_S:g} s", "traffic": Bulk(f"{s['bytes']} bytes")}
    flows = [
        flow(cc, "first", rtt=old - 4, at=RAMP_RATE),
        flow(cc, rtt=new - 4, at=RAMP_RATE, **late),
        *transfers(cc, name="behind", rate=RAMP_RATE, load=0.5, seconds=end, seed=seed),
    ]
    return scenario(link(RAMP_RATE, 4, drop_tail(bdp_packets(RAMP_RATE, 80))), flows, end, seed)


RAMP = chapter(
    "ramp-up", _ramp_build, lambda run: {"done": run.completion(run.named()[0], run.seconds - RAMP_S)}
)

FLOOD_RATE, FLOOD_RTT, FLOOD_PACKETS = 100.0, 100.0, 1024
FLOOD_S = 20.0
LEAVES, COMES, GROWS = "load leaves", "load comes", "load grows"


def _flood_build(s: Setting, cc: Any, seed: int) -> Scenario:
    path = link(FLOOD_RATE, FLOOD_RTT, drop_tail(FLOOD_PACKETS))
    cross: list[Flow] = []
    if s["event"] == LEAVES:
        cross = [_cross("75 Mbit/s", 1, stop=f"{FLOOD_S:g} s")]
    elif s["event"] == COMES:
        cross = [_cross("75 Mbit/s", 1, start=f"{FLOOD_S:g} s")]
    elif s["event"] == GROWS:
        cross = [_cross("2.5 Mbit/s", i + 1, start=f"{FLOOD_S + i:g} s") for i in range(30)]
    else:
        path.rate = [["0 s", "100 Mbit/s"], [f"{FLOOD_S:g} s", "50 Mbit/s"]]
        path.nominal = {"rate": "100 Mbit/s", "delay": "50 ms"}
    return scenario(path, [flow(cc, at=FLOOD_RATE), *cross], FLOOD_S + s["after"], seed, traced=True)


def _cross(rate: str, nth: int, **when: Any) -> Flow:
    return flow(None, f"cross-{nth}", traffic=Cbr(rate, packet=f"{PACKET} bytes"), **when)


def _flood_measure(run: Observation) -> Numbers:
    numbers = dict.fromkeys(("to60", "to80", "to90", "jump", "cross", "loss"), math.nan)
    numbers["loss"] = run.loss()
    if run.setting["event"] == LEAVES:
        bdp = FLOOD_RATE * 1e6 * FLOOD_RTT / 1e3 / 8 / PACKET
        t, cwnd = run.column("cwnd")
        for share in (60, 80, 90):
            reached = t[(t > FLOOD_S) & (cwnd >= share / 100 * bdp)]
            numbers[f"to{share}"] = float(reached[0] if len(reached) else run.seconds) - FLOOD_S
        within = (FLOOD_S <= t[:-1]) & (t[:-1] <= FLOOD_S + numbers["to90"])
        numbers["jump"] = float(max(np.diff(cwnd)[within], default=math.nan))
    elif run.setting["event"] in (COMES, GROWS):
        numbers["cross"] = float(sum(f["dropped_packets"] for f in run.named("cross")))
    return numbers


FLOOD = chapter("transients", _flood_build, _flood_measure, course=lambda run: run.mbits())

PAIR_RATE, LONG_RTT = 10.0, 160.0
SAME, UNEQUAL = "equal round trips", "the other has 160 ms"


def _pair_build(s: Setting, cc: Any, seed: int) -> Scenario:
    rtts = {"test": s["rtt"], "other": LONG_RTT if s["pair"] == UNEQUAL else s["rtt"]}
    queue = drop_tail(bdp_packets(PAIR_RATE, 100, s["buffer"] / 100))
    flows = [flow(cc, name, rtt=rtt - 2, at=PAIR_RATE, start_jitter="6 s") for name, rtt in rtts.items()]
    return scenario(link(PAIR_RATE, 2, queue), flows, 60, seed)


def _pair_measure(run: Observation) -> Numbers:
    test, other = run.goodput(), run.goodput("other")
    if run.setting["pair"] == SAME:
        test, other = max(test, other), min(test, other)
    return {"ratio": test / other if other else math.nan, "drops": run.drops()}


PAIR = chapter("round-trips", _pair_build, _pair_measure)

LOT = ("a", "b", "c")


def _lot_build(s: Setting, cc: Any, seed: int) -> Scenario:
    rate, queue = s["rate"], drop_tail(bdp_packets(s["rate"], 60, s["buffer"]))
    flows = [flow(cc, path=LOT, at=rate, start_jitter="1 s")]
    for i, name in enumerate(LOT):
        flows.append(flow(cc, f"single-{i + 1}", name, rtt=40, at=rate, start_jitter="1 s"))
    return scenario({name: link(rate, 20, queue) for name in LOT}, flows, 40, seed)


def _lot_measure(run: Observation) -> Numbers:
    through, single = run.goodput(), run.goodput("single") / len(LOT)
    return {"ratio": single / through if through else math.nan, "drops": max(run.drops(name) for name in LOT)}


PARKING_LOT = chapter("parking-lot", _lot_build, _lot_measure)

SUITE = (BASIC, TRADE, RAMP, FLOOD, PAIR, PARKING_LOT)
"""These experiments, in the order of the draft's sections."""
