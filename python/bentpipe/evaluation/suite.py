"""The experiments of the common TCP evaluation suite, draft-irtf-iccrg-tcpeval-01 ("tcpeval").

D. Hayes, D. Ros, L. Andrew, S. Floyd, 2014. Its traffic comes from traces of a campus (Tmix), which are not
part of this project. `network.transfers` replaces it, with the load that the draft asks for.
"""

from __future__ import annotations

import math
from typing import Any

from bentpipe.evaluation.chapter import Extent, Numbers, Setting, chapter
from bentpipe.evaluation.network import (
    bdp_packets,
    bottleneck,
    drop_tail,
    flow,
    link,
    out_of_step,
    scenario,
    transfers,
)
from bentpipe.evaluation.observation import Observation
from bentpipe.models import Bulk, Cbr, Flow, Link
from bentpipe.scenario import Scenario
from bentpipe.units import PACKET

# Basic scenarios --------------------------------------------------------------------------------------------

BASIC_LINKS: dict[str, tuple[float, float, float, float]] = {
    "access": (100, 4, 100, 5),
    "satellite": (40, 600, 100, 4),
    "dial-up": (0.064, 10, 1250, 1),
}
"""Rate in Mbit/s, round trip of the central link in ms, its buffer in ms, and by how much a quick evaluation
divides the rate."""
UPLINK, UPLINK_BUFFER = 4.0, 1000.0
"""Of the satellite scenario, Mbit/s and ms."""


def _basic_settings(extent: Extent) -> list[Setting]:
    return [
        {"link": name, "load": load, "part": 1.0 if extent == "full" else 1 / BASIC_LINKS[name][3]}
        for name in BASIC_LINKS
        for load in ((60, 85, 110) if extent == "full" else (85,))
    ]


def _basic_build(s: Setting, cc: Any, seed: int) -> Scenario:
    name, load, part = str(s["link"]), float(s["load"]) / 100, float(s["part"])
    whole, rtt, buffer, _ = BASIC_LINKS[name]
    rate = whole * part
    seconds = {"access": 20.0, "satellite": 60.0}.get(name, 600.0)
    path = link(rate, rtt, drop_tail(bdp_packets(rate, buffer)))
    flows = transfers(cc, name="test", rate=rate, load=load, seconds=seconds, seed=seed)
    if name == "satellite":
        up = UPLINK * part
        path.reverse = {"rate": f"{up:g} Mbit/s", "queue": drop_tail(bdp_packets(up, UPLINK_BUFFER))}
        flows += transfers(
            cc, name="up", rate=up, load=0.5 * load, seconds=seconds, seed=seed, path="link/reverse"
        )
    return bottleneck(path, flows, seconds, seed)


def _aggregate(run: Observation) -> Numbers:
    return {
        "utilisation": run.link()["utilisation"],
        "drops": run.drops(),
        "queueing": run.queueing(),
    }


BASIC = chapter("basic-scenarios", _basic_build, _aggregate, settings=_basic_settings)


# Delay and throughput ---------------------------------------------------------------------------------------

TRADE_RTT = 4.0


def _trade_build(s: Setting, cc: Any, seed: int) -> Scenario:
    rate = float(s["rate"])
    queue = drop_tail(bdp_packets(rate, 100, float(s["buffer"]) / 100))
    flows = transfers(cc, name="test", rate=rate, load=0.85, seconds=20, seed=seed)
    return bottleneck(link(rate, TRADE_RTT, queue), flows, 20, seed)


def _trade_measure(run: Observation) -> Numbers:
    return {**_aggregate(run), "throughput": run.link()["utilisation"] * float(run.setting["rate"]) * 1e6}


TRADE = chapter("delay-throughput", _trade_build, _trade_measure)


# Ramp-up ----------------------------------------------------------------------------------------------------

RAMP_RATE, RAMP_S = 10.0, 15.0
RAMP_RTTS = {"80 and 80 ms": (80, 80), "120 and 30 ms": (120, 30), "30 and 120 ms": (30, 120)}
RAMP_WAITS = {15_000: 10.0, 150_000: 15.0, 1_500_000: 30.0, 15_000_000: 90.0}
"""Bytes of the new flow, and for how many seconds they are waited for."""
WITHOUT = "without slow start"


def _ramp_build(s: Setting, cc: Any, seed: int) -> Scenario:
    old, new = RAMP_RTTS[str(s["rtts"])]
    size = int(s["bytes"])
    late: dict[str, Any] = {"initial_window": 10, "initial_ssthresh": 10} if s["start"] == WITHOUT else {}
    end = RAMP_S + RAMP_WAITS[size]
    late |= {"start": f"{RAMP_S:g} s", "traffic": Bulk(f"{size} bytes")}
    flows = [
        flow(cc, "first", rtt=old - 4, **out_of_step(RAMP_RATE)),
        flow(cc, "test", rtt=new - 4, **late, **out_of_step(RAMP_RATE)),
        *transfers(cc, name="behind", rate=RAMP_RATE, load=0.5, seconds=end, seed=seed),
    ]
    return bottleneck(link(RAMP_RATE, 4, drop_tail(bdp_packets(RAMP_RATE, 80))), flows, end, seed)


def _ramp_measure(run: Observation) -> Numbers:
    done = run.named()[0]["completion_s"]
    return {"done": run.seconds - RAMP_S if done is None else done}


RAMP = chapter("ramp-up", _ramp_build, _ramp_measure)


# Transients -------------------------------------------------------------------------------------------------

FLOOD_RATE, FLOOD_RTT, FLOOD_PACKETS = 100.0, 100.0, 1024
FLOOD_S = 20.0
LEAVES, COMES, GROWS = "load leaves", "load comes", "load grows"


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
    return flow(None, f"cross-{nth}", traffic=Cbr(rate, packet=f"{PACKET} bytes"), **when)


def _flood_measure(run: Observation) -> Numbers:
    numbers = dict.fromkeys(("to60", "to80", "to90", "jump", "cross", "loss"), math.nan)
    numbers["loss"] = run.loss()
    if run.setting["event"] == LEAVES:
        bdp = FLOOD_RATE * 1e6 * FLOOD_RTT / 1e3 / 8 / PACKET
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


FLOOD = chapter("transients", _flood_build, _flood_measure, course=lambda run: run.mbits())


# Fairness by round-trip time --------------------------------------------------------------------------------

PAIR_RATE, LONG_RTT = 10.0, 160.0
SAME, UNEQUAL = "equal round trips", "the other has 160 ms"


def _pair_build(s: Setting, cc: Any, seed: int) -> Scenario:
    rtt = float(s["rtt"])
    other = LONG_RTT if s["pair"] == UNEQUAL else rtt
    queue = drop_tail(bdp_packets(PAIR_RATE, 100, float(s["buffer"]) / 100))
    flows = [
        flow(cc, name, rtt=own - 2, start_jitter="6 s", **out_of_step(PAIR_RATE))
        for name, own in (("test", rtt), ("other", other))
    ]
    return bottleneck(link(PAIR_RATE, 2, queue), flows, 60, seed)


def _pair_measure(run: Observation) -> Numbers:
    test, other = run.goodput(), run.goodput("other")
    if run.setting["pair"] == SAME:
        test, other = max(test, other), min(test, other)
    return {"ratio": test / other if other else math.nan, "drops": run.drops()}


PAIR = chapter("round-trips", _pair_build, _pair_measure)


# Several bottlenecks ----------------------------------------------------------------------------------------

LOT = ("a", "b", "c")


def _lot_build(s: Setting, cc: Any, seed: int) -> Scenario:
    rate = float(s["rate"])
    queue = drop_tail(bdp_packets(rate, 60, float(s["buffer"])))
    flows = [flow(cc, path=LOT, start_jitter="1 s", **out_of_step(rate))]
    flows += [
        flow(cc, f"single-{i + 1}", name, rtt=40, start_jitter="1 s", **out_of_step(rate))
        for i, name in enumerate(LOT)
    ]
    return scenario({name: link(rate, 20, queue) for name in LOT}, flows, 40, seed)


def _lot_measure(run: Observation) -> Numbers:
    through = run.goodput()
    single = run.goodput("single") / len(LOT)
    drops = max(run.drops(name) for name in LOT)
    return {"ratio": single / through if through else math.nan, "drops": drops}


PARKING_LOT = chapter("parking-lot", _lot_build, _lot_measure)


SUITE = (BASIC, TRADE, RAMP, FLOOD, PAIR, PARKING_LOT)
"""These experiments, in the order of the draft's sections."""
