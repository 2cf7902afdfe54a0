"""Experiments with one algorithm alone on a link (RFC 9743 section 5.1, and 6.1 and 6.3)."""

from __future__ import annotations

import math
from typing import Any

from bentpipe.evaluation.chapter import Numbers, Setting, chapter
from bentpipe.evaluation.network import bdp_packets, bottleneck, drop_tail, flow, link, out_of_step
from bentpipe.evaluation.observation import Observation
from bentpipe.models import Outage, PacketError
from bentpipe.scenario import Scenario
from bentpipe.stats import jain

RATE, RTT = 10.0, 40.0
"""Mbit/s and ms of the link of most of these experiments."""


# Utilisation ------------------------------------------------------------------------------------------------


def _range_build(s: Setting, cc: Any, seed: int) -> Scenario:
    rate, rtt = float(s["rate"]), float(s["rtt"])
    queue = drop_tail(bdp_packets(rate, rtt, float(s["buffer"])))
    seconds = max(30.0, 0.15 * rtt)  # long enough for 150 round trips
    return bottleneck(link(rate, rtt, queue), [flow(cc, **out_of_step(rate))], seconds, seed)


def _alone(run: Observation) -> Numbers:
    rtt = float(run.setting.get("rtt", RTT)) / 1e3
    return {
        "utilisation": run.link()["utilisation"],
        "queueing_p95": run.queueing_p95(rtt),
        "loss": run.loss(),
        "jain": jain(f["goodput_bps"] for f in run.named()),
    }


RANGE = chapter("range", _range_build, _alone)


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


MANY = chapter("many-flows", _many_build, _many_measure)


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


BACKOFF = chapter("heavy-loss", _backoff_build, _backoff_measure)


# Buffers ----------------------------------------------------------------------------------------------------


def _buffer_build(s: Setting, cc: Any, seed: int) -> Scenario:
    queue = drop_tail(bdp_packets(RATE, RTT, float(s["buffer"])))
    flows = flow(cc, count=int(s["flows"]), start_jitter="2 s", **out_of_step(RATE))
    return bottleneck(link(RATE, RTT, queue), [flows], 40, seed)


BUFFERS = chapter("buffers", _buffer_build, _alone)


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


SILENT = chapter("silence", _silence_build, _silence_measure, course=lambda run: run.mbits())


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


NEWCOMER = chapter("newcomer", _newcomer_build, _newcomer_measure, course=lambda run: run.mbits(over=2.0))


SINGLE = (RANGE, MANY, BUFFERS, BACKOFF, SILENT, NEWCOMER)
"""These experiments, in the order of their chapters."""
