"""Experiments with one algorithm alone on a link (RFC 9743 section 5.1, and 6.1 and 6.3)."""

from __future__ import annotations

import math

from bentpipe.evaluation.chapter import Numbers, chapter
from bentpipe.evaluation.network import bdp_packets, buffered, flow, scenario
from bentpipe.evaluation.observation import Observation
from bentpipe.models import Outage, PacketError
from bentpipe.stats import jain

RATE, RTT = 10.0, 40.0
"""Mbit/s and ms of the link of most of these experiments."""


def _alone(run: Observation) -> Numbers:
    return {
        "utilisation": run.link()["utilisation"],
        "queueing_p95": run.queueing_p95(run.setting.get("rtt", RTT)),
        "loss": run.loss(),
        "jain": run.jain(),
    }


RANGE = chapter(
    "range",
    lambda s, cc, seed: scenario(
        buffered(s["rate"], s["rtt"], s["buffer"]),
        [flow(cc, at=s["rate"])],
        max(30.0, 0.15 * s["rtt"]),  # long enough for 150 round trips
        seed,
    ),
    _alone,
)

MANY = chapter(
    "many-flows",
    lambda s, cc, seed: scenario(
        buffered(RATE, RTT), [flow(cc, at=RATE, count=s["flows"], start_jitter="1 s")], 30, seed
    ),
    lambda run: {
        "loss": run.loss(),
        "useful": run.goodput() / (RATE * 1e6),
        "again": run.resent(),
        "timeouts": sum(f["timeouts"] for f in run.named()) / len(run.named()),
        "jain": run.jain(),
    },
)

BUFFERS = chapter(
    "buffers",
    lambda s, cc, seed: scenario(
        buffered(RATE, RTT, s["buffer"]), [flow(cc, at=RATE, count=s["flows"], start_jitter="2 s")], 40, seed
    ),
    _alone,
)

BACKOFF = chapter(
    "heavy-loss",
    lambda s, cc, seed: scenario(
        buffered(RATE, RTT, loss=PacketError(s["drop"])), [flow(cc, at=RATE, handshake=False)], 60, seed
    ),
    lambda run: {
        "sent": run.named()[0]["sent_packets"] * RTT / 1e3 / run.seconds,
        "waiting": run.named()[0]["limited_timeout"],
    },
)

SILENCE = (15.0, 35.0)
"""Seconds from which on nothing comes through, and until when."""

SILENT = chapter(
    "silence",
    lambda s, cc, seed: scenario(
        buffered(RATE, s["rtt"], loss=Outage(from_=f"{SILENCE[0]:g} s", to=f"{SILENCE[1]:g} s")),
        [flow(cc, at=RATE)],
        70,
        seed,
        traced=True,
    ),
    lambda run: {
        "into": run.link()["dropped_error"] / bdp_packets(RATE, run.setting["rtt"]),
        "timeouts": run.named()[0]["timeouts"],
        "back": run.reached(0.8 * RATE * 1e6, SILENCE[1]),
    },
    course=lambda run: run.mbits(),
)

NEWCOMER_S, NEWCOMER_END = 20.0, 80.0
"""When the second flow starts, and the end of the run."""


def _newcomer_measure(run: Observation) -> Numbers:
    last = NEWCOMER_END - 20
    shares = [run.delivered_between(last, NEWCOMER_END, name) for name in ("first", "test")]
    return {
        "until": run.reached(0.8 * RATE * 1e6 / 2, NEWCOMER_S, over=2.0),
        "jain": jain(shares) if all(math.isfinite(share) for share in shares) else math.nan,
    }


NEWCOMER = chapter(
    "newcomer",
    lambda s, cc, seed: scenario(
        buffered(RATE, s["rtt"]),
        [flow(cc, "first", at=RATE), flow(cc, at=RATE, start=f"{NEWCOMER_S:g} s")],
        NEWCOMER_END,
        seed,
        traced=True,
    ),
    _newcomer_measure,
    course=lambda run: run.mbits(over=2.0),
)

SINGLE = (RANGE, MANY, BUFFERS, BACKOFF, SILENT, NEWCOMER)
"""These experiments, in the order of their chapters."""
