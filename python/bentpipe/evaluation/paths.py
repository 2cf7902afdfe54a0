"""Experiments on kinds of paths: queues, radio, changing paths and satellites (RFC 9743 sections 6.4 and 7)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from bentpipe.evaluation.experiment import (
    JAIN,
    LOSS,
    QUEUEING,
    QUEUEING_P95,
    UTILISATION,
    Course,
    Curves,
    Experiment,
    Measured,
    Metric,
    Setting,
)
from bentpipe.evaluation.network import RECORD, bdp_packets, bottleneck, drop_tail, flow, link, out_of_step
from bentpipe.evaluation.observation import Observation
from bentpipe.models import (
    Arq,
    BitError,
    Bulk,
    Codel,
    DualPi2,
    FqCodel,
    GilbertElliott,
    PacketError,
    Pie,
    Queue,
    Red,
)
from bentpipe.scenario import Flow, Link, Scenario
from bentpipe.source import Source
from bentpipe.stats import jain

# Active queue management ------------------------------------------------------------------------------------

AQM_RATE, AQM_RTT, AQM_FLOWS = 20.0, 40.0, 4
AQM_ROOM = "400 packets"


def _queues(name: str) -> Queue:
    ecn = name.endswith(" ECN") or None
    match name.removesuffix(" ECN"):
        case "drop-tail":
            return drop_tail(400)
        case "RED":
            return Red(AQM_ROOM, min="20 packets", max="60 packets", ecn=ecn)
        case "CoDel":
            return Codel(AQM_ROOM, ecn=ecn)
        case "PIE":
            return Pie(AQM_ROOM, ecn=ecn)
        case "FQ-CoDel":
            return FqCodel(AQM_ROOM, ecn=ecn)
        case _:
            return DualPi2(AQM_ROOM)


QUEUES = ("drop-tail", "RED", "CoDel", "PIE", "FQ-CoDel", "DualPI2", "CoDel ECN", "PIE ECN", "DualPI2 ECN")


def _aqm_build(s: Setting, cc: Any, seed: int) -> Scenario:
    name = str(s["queue"])
    ecn = {"ecn": True} if name.endswith(" ECN") else {}
    flows = flow(cc, count=AQM_FLOWS, start_jitter="1 s", **ecn, **out_of_step(AQM_RATE))
    return bottleneck(link(AQM_RATE, AQM_RTT, _queues(name)), [flows], 30, seed)


def _aqm_measure(run: Observation) -> Measured:
    delivered = run.link()["delivered_packets"]
    yield (
        {},
        {
            "utilisation": run.link()["utilisation"],
            "queueing_p95": run.queueing_p95(AQM_RTT / 1e3),
            "loss": run.loss(),
            "marked": run.link()["marked"] / delivered if delivered else math.nan,
            "jain": jain(f["goodput_bps"] for f in run.named()),
        },
    )


AQM = Experiment(
    name="queues",
    title="Active queue management",
    question="Does a queue that drops or marks early keep the delay short, and is the link still used?",
    setup="4 flows over 20 Mbit/s and 40 ms for 30 s; each queue has room for 400 packets (240 ms) and its "
    'usual values otherwise (RED: 20 and 60 packets). With "ECN" the flows say that they understand marks, '
    "with ECT(0), and the queue marks.",
    source="RFC 9743 section 7.1",
    deviation="Marks for L4S need ECT(1) and a sender of RFC 9331; the flows here send ECT(0), so DualPI2 treats "
    "them as classic traffic.",
    axes={"queue": "queue"},
    metrics={
        "utilisation": UTILISATION,
        "queueing_p95": QUEUEING_P95,
        "loss": LOSS,
        "marked": Metric("packets marked", "%", 100, most=1),
        "jain": JAIN,
    },
    settings=lambda full: [{"queue": name} for name in QUEUES],
    build=_aqm_build,
    measure=_aqm_measure,
    charts=(
        Curves("queueing_p95", "queue", log_y=True),
        Curves("utilisation", "queue"),
        Curves("loss", "queue"),
        Curves("marked", "queue"),
    ),
)


# Losses of the channel --------------------------------------------------------------------------------------

RADIO_RATE, RADIO_RTT = 10.0, 100.0
BURST = 8.0
"""Mean packets of a burst of losses."""


def _radio_settings(full: bool) -> list[Setting]:
    rates = (1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2) if full else (1e-4, 1e-3, 1e-2, 3e-2)
    return [
        {"kind": kind, "per": per} for kind in ("independent", "in bursts", "repeated by the link") for per in rates
    ]


def _radio_build(s: Setting, cc: Any, seed: int) -> Scenario:
    per, kind = float(s["per"]), s["kind"]
    more: dict[str, Any] = {"loss": PacketError(per)}
    if kind == "in bursts":
        more = {"loss": GilbertElliott(p=per / (1 - per) / BURST, r=1 / BURST)}
    elif kind == "repeated by the link":
        more["arq"] = Arq(tries=4, round_trip="20 ms")
    path = link(RADIO_RATE, RADIO_RTT, drop_tail(bdp_packets(RADIO_RATE, RADIO_RTT)), **more)
    return bottleneck(path, [flow(cc, **out_of_step(RADIO_RATE))], 60, seed)


def _radio_measure(run: Observation) -> Measured:
    yield (
        {},
        {
            "goodput": run.goodput() / (RADIO_RATE * 1e6),
            "again": run.named()[0]["retransmitted_packets"] / max(run.named()[0]["sent_packets"], 1),
        },
    )


RADIO = Experiment(
    name="random-loss",
    title="Losses of the channel",
    question="How much is delivered when packets are lost that no queue dropped?",
    setup="One flow over 10 Mbit/s and 100 ms with a drop-tail queue of one bandwidth-delay product, for 60 s. "
    "Losses are independent; or come in bursts of 8 packets on average (Gilbert's model) with the same mean "
    "rate; or are independent and repeated by the link up to three times, 20 ms apart and in order, which "
    "turns loss into jitter.",
    source="RFC 9743 section 6.4",
    axes={"kind": "losses", "per": "packet error rate"},
    metrics={
        "goodput": Metric("goodput, of the rate", "%", 100, most=1),
        "again": Metric("packets sent again", "%", 100, most=1),
    },
    settings=_radio_settings,
    build=_radio_build,
    measure=_radio_measure,
    charts=(Curves("goodput", "per", panel="kind", log_x=True),),
    seeds=(3, 10),
)


# A delay that varies ----------------------------------------------------------------------------------------

DELAY_RATE, DELAY_MS, DELAY_S = 20.0, 20.0, 60.0
PATTERNS = ("constant", "jitter", "slow", "steps up", "steps down", "LEO pass")


def _steps(pattern: str) -> list[list[str]]:
    """One-way delays by instant; all start at 20 ms."""
    if pattern == "jitter":
        # Every 50 ms another delay between 18 and 24 ms, in an order without pattern (multiples of 3 mod 7).
        return [[f"{50 * i} ms", f"{18 + (3 * i) % 7} ms"] for i in range(round(DELAY_S * 20))]
    if pattern == "slow":
        return [
            [f"{100 * i} ms", f"{30 - 10 * math.cos(2 * math.pi * i / 200):.3f} ms"]
            for i in range(round(DELAY_S * 10))
        ]
    levels = {"steps up": (20, 28, 36, 44), "steps down": (44, 36, 28, 20), "LEO pass": (20, 31, 24, 38)}
    return [[f"{15 * i} s", f"{ms} ms"] for i, ms in enumerate(levels.get(pattern, (20,)))]


def _delay_build(s: Setting, cc: Any, seed: int) -> Scenario:
    path = Link(
        rate=f"{DELAY_RATE:g} Mbit/s",
        delay=_steps(str(s["delay"])),
        nominal={"rate": f"{DELAY_RATE:g} Mbit/s", "delay": f"{DELAY_MS:g} ms"},
        queue=drop_tail(bdp_packets(DELAY_RATE, 2 * DELAY_MS)),
    )
    return bottleneck(path, [flow(cc, **out_of_step(DELAY_RATE))], DELAY_S, seed)


def _delay_measure(run: Observation) -> Measured:
    yield (
        {},
        {
            "utilisation": run.link()["utilisation"],
            "queueing": run.queueing(),
            "loss": run.loss(),
        },
    )


DELAY = Experiment(
    name="varying-delay",
    title="A delay that varies",
    question="What is left of the goodput when the smallest round-trip time changes for reasons other than "
    "congestion?",
    setup="One flow over 20 Mbit/s with a drop-tail queue of 67 packets, for 60 s. The one-way delay is 20 ms "
    "throughout; or jumps between 18 and 24 ms every 50 ms (jitter); or swings from 20 to 40 ms and back in "
    "20 s (slow); or takes another value every 15 s, upwards from 20 to 44 ms, downwards from 44 to 20 ms, or "
    "20, 31, 24 and 38 ms (LEO pass). Packets never overtake each other.",
    source="RFC 9743 section 7.3",
    axes={"delay": "one-way delay"},
    metrics={"utilisation": UTILISATION, "queueing": QUEUEING, "loss": LOSS},
    settings=lambda full: [{"delay": pattern} for pattern in PATTERNS],
    build=_delay_build,
    measure=_delay_measure,
    charts=(Curves("utilisation", "delay"), Curves("queueing", "delay")),
)


# A path that changes at once --------------------------------------------------------------------------------

CHANGE_S, CHANGE_END = 30.0, 60.0
CHANGES: dict[str, tuple[float, float, float, float]] = {
    "delay up": (20, 20, 20, 60),
    "delay down": (20, 20, 60, 20),
    "rate up": (5, 20, 40, 40),
    "rate down": (20, 5, 40, 40),
    "to satellite": (20, 10, 20, 280),
    "from satellite": (10, 20, 280, 20),
}
"""Rates in Mbit/s and one-way delays in ms before and after."""
HANDOVERS = "LEO handovers"


def _change_build(s: Setting, cc: Any, seed: int) -> Scenario:
    what = str(s["change"])
    if what == HANDOVERS:
        table = Source("leo-handover").load()
        shipped = Scenario.from_dict({"link": table["link"], "duration": "90 s", "seed": seed})
        shipped.flows = [flow(cc, path="leo", ack_jitter="1 ms")]
        shipped.record = RECORD
        return shipped
    rates, delays = CHANGES[what][:2], CHANGES[what][2:]
    packets = max(bdp_packets(rate, 2 * delay) for rate, delay in zip(rates, delays, strict=True))
    path = Link(
        rate=_at_change([f"{rate:g} Mbit/s" for rate in rates]),
        delay=_at_change([f"{delay:g} ms" for delay in delays]),
        nominal={"rate": f"{rates[0]:g} Mbit/s", "delay": f"{delays[0]:g} ms"},
        queue=drop_tail(packets),
    )
    return bottleneck(path, [flow(cc, **out_of_step(min(rates)))], CHANGE_END, seed, traced=True)


def _at_change(values: Sequence[str]) -> list[list[str]]:
    return [["0 s", values[0]], [f"{CHANGE_S:g} s", values[1]]]


def _change_measure(run: Observation) -> Measured:
    what = str(run.setting["change"])
    if what == HANDOVERS:
        # The mean rate of 0 to 90 s by the scenario's steps: six of 15 s each.
        mean = (150 + 180 + 120 + 150 + 200 + 130) / 6
        yield {}, {"after": run.goodput() / (mean * 1e6), "back": math.nan, "loss": run.loss()}
        return
    rate = CHANGES[what][1] * 1e6
    yield (
        {},
        {
            "after": run.delivered_between(CHANGE_S, CHANGE_S + 10) / rate,
            "back": run.reached(0.8 * rate, CHANGE_S + 1),
            "loss": run.loss(),
        },
    )


CHANGE = Experiment(
    name="path-change",
    title="A path that changes at once",
    question="What happens to a flow whose path suddenly has another delay or another rate?",
    setup="One flow; at 30 of 60 s the one-way delay goes from 20 to 60 ms or back (20 Mbit/s), the rate from 5 to "
    "20 Mbit/s or back (40 ms one way), or both: from 20 Mbit/s and 20 ms to 10 Mbit/s and 280 ms, as from a "
    "terrestrial path to a satellite, or back. The drop-tail queue holds the larger of the two "
    "bandwidth-delay products. In the last case the path of the shipped scenario leo-handover takes another "
    "rate and delay every 15 s, after 100 ms without a path, for 90 s; there the first metric is over the "
    "whole run.",
    source="RFC 9743 sections 7.9 and 7.8 (routing change, mobility)",
    axes={"change": "change of the path"},
    metrics={
        "after": Metric("goodput in the 10 s after the change, of the new rate", "%", 100, most=None),
        "back": Metric("time from the change until 80 % of the new rate, at least 1 s", "s"),
        "loss": Metric("packets lost in the whole run", "%", 100, most=1),
    },
    settings=lambda full: [{"change": what} for what in (*CHANGES, HANDOVERS)],
    build=_change_build,
    measure=_change_measure,
    charts=(
        Curves("after", "change"),
        Curves("loss", "change", log_y=True),
        Course("goodput, Mbit/s", "change"),
    ),
    course=lambda run: (run.rates()[0], [rate / 1e6 for rate in run.rates()[1]]),
)


# Reordering -------------------------------------------------------------------------------------------------


def _reorder_build(s: Setting, cc: Any, seed: int) -> Scenario:
    jump = float(s["jump"])
    delays = [[f"{100 * i} ms", f"{20 + (jump if i % 2 else 0):g} ms"] for i in range(400)]
    path = Link(
        rate="10 Mbit/s",
        delay=delays,
        nominal={"rate": "10 Mbit/s", "delay": "20 ms"},
        queue=drop_tail(66),
        reorder=True,
    )
    return bottleneck(path, [flow(cc, **out_of_step(10))], 40, seed)


def _reorder_measure(run: Observation) -> Measured:
    test = run.named()[0]
    needless = max(test["retransmitted_packets"] - test["dropped_packets"], 0)
    yield (
        {},
        {
            "utilisation": run.goodput() / 10e6,
            "needless": needless / max(test["sent_packets"], 1),
            "timeouts": test["timeouts"],
        },
    )


REORDER = Experiment(
    name="reordering",
    title="Extreme reordering",
    question="What is left of the goodput when packets overtake each other again and again?",
    setup="One flow over 10 Mbit/s for 40 s. Every 100 ms the one-way delay changes between 20 ms and so many ms "
    "more. Whenever it falls, packets that were sent later overtake those on their way: at 40 ms up to 33 of "
    "them. The queue has room for 66 packets. Senders detect losses by time (RACK, RFC 8985), as Linux does; "
    "part of the answer is theirs and not the algorithm's.",
    source="RFC 9743 section 7.7",
    axes={"jump": "how much the delay falls, ms"},
    metrics={
        "utilisation": Metric("goodput, of the rate", "%", 100, most=1),
        "needless": Metric("packets sent again although they were not lost", "%", 100, most=1),
        "timeouts": Metric("timeouts"),
    },
    settings=lambda full: [
        {"jump": jump} for jump in ((0, 2, 5, 10, 20, 40, 80) if full else (0, 5, 10, 20, 40))
    ],
    build=_reorder_build,
    measure=_reorder_measure,
    charts=(Curves("utilisation", "jump"), Curves("needless", "jump")),
)


# Satellites -------------------------------------------------------------------------------------------------

SATELLITES = ("geo", "geo, bit errors", "vsat", "vsat-dama", "leo")
BIT_ERRORS = 1e-6
FILE = "2 MB"
SATELLITE_S = 60.0


def _satellite_build(s: Setting, cc: Any, seed: int) -> Scenario:
    name, _, errors = str(s["link"]).partition(", ")
    table = Source(name).load()
    shipped = Scenario.from_dict({key: table[key] for key in ("link", "station") if key in table})
    model = next(f for f in table["flow"] if f.get("traffic", {}).get("kind") != "cbr")
    place = {key: model[key] for key in ("path", "ack_path", "extra_delay") if key in model}
    if errors:
        shipped.links[name].loss = BitError(BIT_ERRORS)
    shipped.duration, shipped.seed = f"{SATELLITE_S:g} s", seed
    if s["traffic"] == "long flow":
        shipped.flows = [Flow(cc, name="test", ack_jitter="1 ms", **place)]
    else:
        shipped.flows = [Flow(cc, name="test", ack_jitter="1 ms", traffic=Bulk(FILE), **place)]
    return shipped


def _satellite_measure(run: Observation) -> Measured:
    test = run.named()[0]
    if run.setting["traffic"] != "long flow":
        done = test["completion_s"]
        yield {}, {"done": run.seconds if done is None else done}
        return
    yield (
        {},
        {
            "goodput": run.goodput(),
            "loss": run.loss(),
            "rtt": math.nan if test["rtt_p95_s"] is None else test["rtt_p95_s"] - test["rtt_min_s"],
        },
    )


SATELLITE = Experiment(
    name="satellite",
    title="Satellites",
    question="How does the algorithm do where the delay is long, the two ways differ, and the channel loses?",
    setup="One long flow for 60 s, and one file of 2 MB, over the links of shipped scenarios: geo (10 Mbit/s, 500 ms), "
    "without losses and with a bit error rate of 1e-6; vsat (50 and 5 Mbit/s, bursts of losses); vsat-dama (its "
    "return channel on demand); and leo (a path that changes hands every 15 s).",
    source="RFC 9743 sections 7.5 and 7.3; RFC 2488, which it names",
    axes={"link": "scenario", "traffic": "traffic"},
    metrics={
        "goodput": Metric("goodput", "Mbit/s", 1e-6),
        "loss": LOSS,
        "rtt": Metric("95th percentile of the round-trip time above the least", "ms", 1e3),
        "done": Metric("completion time of 2 MB, at most 60 s", "s", most=SATELLITE_S),
    },
    settings=lambda full: [
        {"link": name, "traffic": traffic} for traffic in ("long flow", "file") for name in SATELLITES
    ],
    build=_satellite_build,
    measure=_satellite_measure,
    charts=(
        Curves("goodput", "link", where={"traffic": "long flow"}, log_y=True),
        Curves("loss", "link", where={"traffic": "long flow"}),
        Curves("done", "link", where={"traffic": "file"}),
    ),
    seeds=(3, 10),
)

PATHS = (AQM, RADIO, DELAY, CHANGE, REORDER, SATELLITE)
"""These experiments, in the order of their chapters."""
