"""The experiments of the common TCP evaluation suite, draft-irtf-iccrg-tcpeval-01 ("tcpeval").

D. Hayes, D. Ros, L. Andrew, S. Floyd, 2014. Its traffic comes from traces of a campus (Tmix), which are not
part of this project. `network.transfers` replaces it, with the load that the draft asks for.
"""

from __future__ import annotations

import math
from typing import Any

from bentpipe.evaluation.experiment import (
    DROPS,
    QUEUEING,
    UTILISATION,
    Curves,
    Experiment,
    Extent,
    Metric,
    Numbers,
    Setting,
    Tradeoff,
    product,
)
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
from bentpipe.evaluation.round_trips import PAIR
from bentpipe.evaluation.transients import FLOOD
from bentpipe.models import Bulk
from bentpipe.scenario import Scenario

TRAFFIC = (
    "Instead of the draft's traces of a campus, transfers arrive as a Poisson process; their sizes, 20 kB "
    "to 20 MB, follow a bounded Pareto distribution with exponent 1.1, and their mean is 110 kB. Packets "
    "are all full ones."
)


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
    seconds = _basic_seconds(name)
    path = link(rate, rtt, drop_tail(bdp_packets(rate, buffer)))
    flows = transfers(cc, name="test", rate=rate, load=load, seconds=seconds, seed=seed)
    if name == "satellite":
        up = UPLINK * part
        path.reverse = {"rate": f"{up:g} Mbit/s", "queue": drop_tail(bdp_packets(up, UPLINK_BUFFER))}
        flows += transfers(
            cc, name="up", rate=up, load=0.5 * load, seconds=seconds, seed=seed, path="link/reverse"
        )
    return bottleneck(path, flows, seconds, seed)


def _basic_seconds(name: str) -> float:
    return {"access": 20.0, "satellite": 60.0}.get(name, 600.0)


def _aggregate(run: Observation) -> Numbers:
    return {
        "utilisation": run.link()["utilisation"],
        "drops": run.drops(),
        "queueing": run.queueing(),
    }


BASIC = Experiment(
    name="basic-scenarios",
    title="The suite's basic scenarios",
    question="What do link, queue and losses look like when all traffic of a link uses the algorithm?",
    setup="Many transfers in both short and long, with nine round-trip times from 4 to 200 ms beside that "
    "of the central link. Access link: 100 Mbit/s, 4 ms, buffer 100 ms, 20 s. Satellite: 40 Mbit/s down and "
    "4 Mbit/s up, 600 ms, buffers 100 and 1000 ms, 60 s, with transfers in both directions. Dial-up: 64 "
    "kbit/s, 10 ms, buffer 1250 ms, 600 s. Offered load 85 % (full: 60, 85 and 110 %); the metrics are "
    "those of the central link, downwards.",
    source="tcpeval sections 4.4.2, 4.4.4, 4.4.6 and 4.5; RFC 9743 section 6",
    deviation=TRAFFIC
    + " Without prefill, warm-up counts. A quick evaluation divides the rates of the access link "
    "by 5 and of the satellite by 4. Upwards half of the load is offered. Not evaluated: data centre, "
    "trans-oceanic link and wireless LAN.",
    axes={"link": "scenario", "load": "offered load, %"},
    metrics={"utilisation": UTILISATION, "drops": DROPS, "queueing": QUEUEING},
    settings=_basic_settings,
    build=_basic_build,
    measure=_aggregate,
    charts=(
        Curves("utilisation", "link", panel="load"),
        Curves("drops", "link", panel="load"),
        Curves("queueing", "link", panel="load", log_y=True),
    ),
)


# Delay and throughput ---------------------------------------------------------------------------------------

TRADE_RTT = 4.0


def _trade_build(s: Setting, cc: Any, seed: int) -> Scenario:
    rate = float(s["rate"])
    queue = drop_tail(bdp_packets(rate, 100, float(s["buffer"]) / 100))
    flows = transfers(cc, name="test", rate=rate, load=0.85, seconds=20, seed=seed)
    return bottleneck(link(rate, TRADE_RTT, queue), flows, 20, seed)


def _trade_measure(run: Observation) -> Numbers:
    return {**_aggregate(run), "throughput": run.link()["utilisation"] * float(run.setting["rate"]) * 1e6}


TRADE = Experiment(
    name="delay-throughput",
    title="Delay against throughput",
    question="How much throughput does a small buffer cost, and how much delay a large one?",
    setup="The access link with 85 % offered load for 20 s, and a drop-tail queue of 10, 20, 50, 100 and "
    "200 % of the bandwidth-delay product of 100 ms. Along each curve the buffer grows.",
    source="tcpeval section 5.1; RFC 9743 section 6.1",
    deviation=TRAFFIC + " A quick evaluation has 20 Mbit/s instead of 100.",
    axes={"buffer": "buffer, % of the BDP"},
    metrics={
        "throughput": Metric("throughput", "Mbit/s", 1e-6, good="more"),
        "queueing": QUEUEING,
        "drops": DROPS,
        "utilisation": UTILISATION,
    },
    settings=lambda extent: product(
        buffer=(10, 20, 50, 100, 200), rate=[100.0 if extent == "full" else 20.0]
    ),
    build=_trade_build,
    measure=_trade_measure,
    charts=(
        Tradeoff("queueing", "throughput", along="buffer"),
        Tradeoff("queueing", "drops", along="buffer"),
    ),
)


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


RAMP = Experiment(
    name="ramp-up",
    title="Ramp-up beside an old flow",
    question="How quickly does an old flow make room for a new one?",
    setup="10 Mbit/s with a drop-tail queue of 80 ms; half of the rate is offered by transfers. One flow "
    "has run for 15 s when another starts. The new one's slow-start threshold is its initial window of 10 "
    "segments, the draft's worst case; full: also with slow start. Round-trip times of the old and the new "
    "flow are 80 and 80, 120 and 30, 30 and 120 ms. All use the algorithm.",
    source="tcpeval section 5.2",
    deviation=TRAFFIC
    + " The draft's second rate, 1 Gbit/s, is left out. Each number of bytes is a run of its own, "
    "timed from the flow's SYN to the acknowledgement of the last byte. 15 MB are in full evaluations only. "
    "What is not done after 10, 15, 30 or 90 s counts as that.",
    axes={"rtts": "round trips, old and new", "bytes": "bytes received of the new flow", "start": "start"},
    metrics={"done": Metric("time until these bytes of the new flow are received", "s")},
    settings=lambda extent: product(
        rtts=RAMP_RTTS,
        start=(WITHOUT, "with slow start") if extent == "full" else (WITHOUT,),
        bytes=RAMP_WAITS if extent == "full" else tuple(RAMP_WAITS)[:3],
    ),
    build=_ramp_build,
    measure=_ramp_measure,
    charts=(Curves("done", "bytes", panel="rtts", where={"start": WITHOUT}, log_x=True, log_y=True),),
)


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


PARKING_LOT = Experiment(
    name="parking-lot",
    title="Several bottlenecks in a row",
    question="How does a flow over three bottlenecks do beside flows over one each?",
    setup="Three links of 20 Mbit/s (full: 100), one flow over all of them and one over each, all with a "
    "round trip of 60 ms, for 40 s. The drop-tail queues hold 0.5 and 1 bandwidth-delay products. The ratio "
    "is the mean goodput of the flows over one bottleneck to that of the flow over three.",
    source="tcpeval section 6.3",
    deviation="The draft offers 60 to 100 % of load on each link from traces; here long flows fill it.",
    axes={"buffer": "buffer, BDP"},
    metrics={"ratio": Metric("ratio of the goodputs", good=""), "drops": DROPS},
    settings=lambda extent: product(
        buffer=(0.25, 0.5, 1, 2) if extent == "full" else (0.5, 1),
        rate=[100.0 if extent == "full" else 20.0],
    ),
    build=_lot_build,
    measure=_lot_measure,
    charts=(Curves("ratio", "buffer", log_x=True),),
)


SUITE = (BASIC, TRADE, RAMP, FLOOD, PAIR, PARKING_LOT)
"""These experiments, in the order of the draft's sections."""
