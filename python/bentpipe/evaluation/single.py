"""Experiments with one algorithm alone on a link (RFC 9743 section 5.1, and 6.1 and 6.3)."""

from __future__ import annotations

import math
from typing import Any

from bentpipe.evaluation.experiment import (
    JAIN,
    LOSS,
    QUEUEING_P95,
    UTILISATION,
    Course,
    Curves,
    Experiment,
    Extent,
    Metric,
    Numbers,
    Setting,
    product,
)
from bentpipe.evaluation.network import bdp_packets, bottleneck, drop_tail, flow, link, out_of_step
from bentpipe.evaluation.observation import Observation
from bentpipe.models import Outage, PacketError
from bentpipe.scenario import Scenario
from bentpipe.stats import jain

RATE, RTT = 10.0, 40.0
"""Mbit/s and ms of the link of most of these experiments."""


# Utilisation ------------------------------------------------------------------------------------------------


def _range_settings(extent: Extent) -> list[Setting]:
    if extent == "full":
        return product(rate=(2, 10, 50, 100), rtt=(10, 20, 50, 100, 200, 600), buffer=(0.1, 0.25, 0.5, 1, 2))
    return product(rate=(2, 10, 50), rtt=(10, 50, 200, 600), buffer=(0.25, 1))


def _range_build(s: Setting, cc: Any, seed: int) -> Scenario:
    rate, rtt = float(s["rate"]), float(s["rtt"])
    queue = drop_tail(bdp_packets(rate, rtt, float(s["buffer"])))
    return bottleneck(link(rate, rtt, queue), [flow(cc, **out_of_step(rate))], _range_seconds(rtt), seed)


def _range_seconds(rtt: float) -> float:
    """Long enough for 150 round trips."""
    return max(30.0, 0.15 * rtt)


def _alone(run: Observation) -> Numbers:
    rtt = float(run.setting.get("rtt", RTT)) / 1e3
    return {
        "utilisation": run.link()["utilisation"],
        "queueing_p95": run.queueing_p95(rtt),
        "loss": run.loss(),
        "jain": jain(f["goodput_bps"] for f in run.named()),
    }


RANGE = Experiment(
    name="range",
    title="Capacity used, over rates, delays and buffers",
    question="How much of a wired link does one long flow use, and how long do its packets wait?",
    setup="One flow over one link with a drop-tail queue, from its start on, for 30 s or 150 round trips. "
    "The buffer is given in bandwidth-delay products of the link without queue.",
    source="RFC 9743 sections 6, 6.1 and 6.3",
    axes={"rate": "rate, Mbit/s", "rtt": "round trip without queue, ms", "buffer": "buffer, BDP"},
    metrics={"utilisation": UTILISATION, "queueing_p95": QUEUEING_P95, "loss": LOSS},
    settings=_range_settings,
    build=_range_build,
    measure=_alone,
    charts=(
        Curves("utilisation", "rtt", panel="rate", where={"buffer": 1}, log_x=True),
        Curves("queueing_p95", "rtt", panel="rate", where={"buffer": 1}, log_x=True, log_y=True),
    ),
)


# Many flows -------------------------------------------------------------------------------------------------


def _many_build(s: Setting, cc: Any, seed: int) -> Scenario:
    queue = drop_tail(bdp_packets(RATE, RTT))
    flows = flow(cc, count=int(s["flows"]), start_jitter="1 s", **out_of_step(RATE))
    return bottleneck(link(RATE, RTT, queue), [flows], 30, seed)


def _many_measure(run: Observation) -> Numbers:
    return {
        "loss": run.loss(),
        "useful": run.goodput() / (RATE * 1e6),
        "again": run.resent(),
        "timeouts": sum(f["timeouts"] for f in run.named()) / len(run.named()),
        "jain": jain(f["goodput_bps"] for f in run.named()),
    }


MANY = Experiment(
    name="many-flows",
    title="More and more flows",
    question="Do losses stay bounded and does the link still do useful work when many flows share it, "
    "and is it shared evenly?",
    setup="1 to 64 (full: 128) flows of the same algorithm over 10 Mbit/s and 40 ms with a drop-tail queue "
    "of one bandwidth-delay product (33 packets), for 30 s. They start within the first second. With more "
    "than about 40 flows the fair share is below one packet per round trip.",
    source="RFC 9743 sections 5.1.1, 5.1.3, 5.1.4 and 7.2",
    axes={"flows": "flows"},
    metrics={
        "loss": LOSS,
        "useful": Metric("capacity that carried new data", "%", 100, most=1, good="more"),
        "again": Metric("packets sent again", "%", 100, most=1),
        "timeouts": Metric("timeouts of a flow in 30 s"),
        "jain": JAIN,
    },
    settings=lambda extent: product(flows=(1, 2, 4, 8, 16, 32, 64, *([128] if extent == "full" else []))),
    build=_many_build,
    measure=_many_measure,
    charts=(
        Curves("loss", "flows", log_x=True),
        Curves("useful", "flows", log_x=True),
        Curves("jain", "flows", log_x=True),
        Curves("timeouts", "flows", log_x=True),
    ),
)


# Heavy loss -------------------------------------------------------------------------------------------------

BACKOFF_S = 60.0


def _backoff_build(s: Setting, cc: Any, seed: int) -> Scenario:
    path = link(RATE, RTT, drop_tail(bdp_packets(RATE, RTT)), loss=PacketError(float(s["drop"])))
    return bottleneck(path, [flow(cc, handshake=False, **out_of_step(RATE))], BACKOFF_S, seed)


def _backoff_measure(run: Observation) -> Numbers:
    test = run.named()[0]
    return {
        "sent": test["sent_packets"] * RTT / 1e3 / run.seconds,
        "waiting": test["limited_timeout"],
    }


BACKOFF = Experiment(
    name="heavy-loss",
    title="When most packets are dropped",
    question="Does the sender go down to one packet per round trip, and below, when the drop rate is extreme "
    "and stays so?",
    setup="One flow over 10 Mbit/s and 40 ms for 60 s; the link drops each packet with the given "
    "probability, whatever the flow does. One packet per round trip is the line at which full backoff "
    "begins. The connection is there from the start. The retransmission timer, which doubles, is the "
    "sender's and not the algorithm's.",
    source="RFC 9743 section 5.1.1 (and RFC 3714, which it names)",
    axes={"drop": "drop probability"},
    metrics={
        "sent": Metric("packets sent per round trip of 40 ms"),
        "waiting": Metric("time spent waiting for the retransmission timer", "%", 100, most=1, good=""),
    },
    settings=lambda extent: product(
        drop=(0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
        if extent == "full"
        else (0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
    ),
    build=_backoff_build,
    measure=_backoff_measure,
    charts=(Curves("sent", "drop", log_y=True), Curves("waiting", "drop")),
)


# Buffers ----------------------------------------------------------------------------------------------------


def _buffer_build(s: Setting, cc: Any, seed: int) -> Scenario:
    queue = drop_tail(bdp_packets(RATE, RTT, float(s["buffer"])))
    flows = flow(cc, count=int(s["flows"]), start_jitter="2 s", **out_of_step(RATE))
    return bottleneck(link(RATE, RTT, queue), [flows], 40, seed)


BUFFERS = Experiment(
    name="buffers",
    title="Small and large buffers",
    question="How much of a large buffer is filled for good, and how much is lost at a small one?",
    setup="1 and 4 flows over 10 Mbit/s and 40 ms for 40 s; the drop-tail queue holds 0.1 to 8 (full: 16) "
    "bandwidth-delay products, 3 to 267 packets or 4 ms to 320 ms.",
    source="RFC 9743 sections 5.1.2, 5.1.3 and 6.1; section 5.1.3 names losses below 1.5 BDP as a failure",
    axes={"flows": "flows", "buffer": "buffer, BDP"},
    metrics={"queueing_p95": QUEUEING_P95, "loss": LOSS, "utilisation": UTILISATION, "jain": JAIN},
    settings=lambda extent: product(
        flows=(1, 4), buffer=(0.1, 0.25, 0.5, 1, 1.5, 2, 4, 8, *([16] if extent == "full" else []))
    ),
    build=_buffer_build,
    measure=_alone,
    charts=(
        Curves("queueing_p95", "buffer", panel="flows", log_x=True),
        Curves("loss", "buffer", panel="flows", log_x=True),
        Curves("utilisation", "buffer", panel="flows", log_x=True),
    ),
)


# Silence ----------------------------------------------------------------------------------------------------

SILENCE = (15.0, 35.0)
SILENCE_END = 70.0


def _silence_build(s: Setting, cc: Any, seed: int) -> Scenario:
    start, end = (f"{t:g} s" for t in SILENCE)
    rtt = float(s["rtt"])
    path = link(RATE, rtt, drop_tail(bdp_packets(RATE, rtt)), loss=Outage(from_=start, to=end))
    return bottleneck(path, [flow(cc, **out_of_step(RATE))], SILENCE_END, seed, traced=True)


def _silence_measure(run: Observation) -> Numbers:
    test = run.named()[0]
    into = run.link()["dropped_error"]
    return {
        "into": into / bdp_packets(RATE, float(run.setting["rtt"])),
        "timeouts": test["timeouts"],
        "back": run.reached(0.8 * RATE * 1e6, SILENCE[1]),
    }


SILENT = Experiment(
    name="silence",
    title="Loss of all feedback",
    question="Does the sender back off when nothing comes back any more, and does it return afterwards?",
    setup="One flow over 10 Mbit/s; from 15 s to 35 s every packet is lost, then the link is as before. A "
    "sender whose timer doubles from about 1 s times out four or five times in 20 s; one that does not back "
    "off would do so about 20 times.",
    source="RFC 9743 section 5.2 (loss of all feedback); 7.8 (link disconnections)",
    axes={"rtt": "round trip without queue, ms"},
    metrics={
        "into": Metric("packets sent into the silence", "BDP"),
        "timeouts": Metric("timeouts", good=""),
        "back": Metric("time from the end of the silence to 80 % of the capacity", "s"),
    },
    settings=lambda extent: product(rtt=(40, 200, 600) if extent == "full" else (40, 600)),
    build=_silence_build,
    measure=_silence_measure,
    charts=(Course("goodput, Mbit/s", "rtt"),),
    course=lambda run: run.mbits(),
)


# A newcomer -------------------------------------------------------------------------------------------------

NEWCOMER_S, NEWCOMER_END = 20.0, 80.0


def _newcomer_build(s: Setting, cc: Any, seed: int) -> Scenario:
    rtt = float(s["rtt"])
    path = link(RATE, rtt, drop_tail(bdp_packets(RATE, rtt)))
    first = flow(cc, "first", **out_of_step(RATE))
    second = flow(cc, "test", start=f"{NEWCOMER_S:g} s", **out_of_step(RATE))
    return bottleneck(path, [first, second], NEWCOMER_END, seed, traced=True)


def _newcomer_measure(run: Observation) -> Numbers:
    last = NEWCOMER_END - 20
    shares = [run.delivered_between(last, NEWCOMER_END, name) for name in ("first", "test")]
    return {
        "until": run.reached(0.8 * RATE * 1e6 / 2, NEWCOMER_S, over=2.0),
        "jain": jain(shares) if all(math.isfinite(share) for share in shares) else math.nan,
    }


NEWCOMER = Experiment(
    name="newcomer",
    title="A flow that comes later",
    question="How long does a new flow need for its share beside an old one of the same algorithm?",
    setup="10 Mbit/s with a drop-tail queue of one bandwidth-delay product. The second flow starts 20 s "
    "after the first, with slow start. Its share is half of the rate; its goodput is averaged over 2 s.",
    source="RFC 9743 section 5.1.4",
    axes={"rtt": "round trip without queue, ms"},
    metrics={
        "until": Metric("time until the new flow has 80 % of its share", "s"),
        "jain": Metric("Jain's index of the last 20 of 80 s", most=1, good="more"),
    },
    settings=lambda extent: product(rtt=(20, 40, 100, 200, 600) if extent == "full" else (40, 200)),
    build=_newcomer_build,
    measure=_newcomer_measure,
    charts=(Course("goodput of the newcomer, Mbit/s", "rtt"),),
    course=lambda run: run.mbits(over=2.0),
)


SINGLE = (RANGE, MANY, BUFFERS, BACKOFF, SILENT, NEWCOMER)
"""These experiments, in the order of their chapters."""
