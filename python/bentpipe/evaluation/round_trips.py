"""Fairness between round-trip times (tcpeval section 6.2, RFC 9743 section 5.1.4)."""

from __future__ import annotations

import math
from typing import Any

from bentpipe.evaluation.experiment import (
    DROPS,
    Curves,
    Experiment,
    Extent,
    Metric,
    Numbers,
    Setting,
    product,
)
from bentpipe.evaluation.network import (
    bdp_packets,
    bottleneck,
    drop_tail,
    flow,
    link,
    out_of_step,
)
from bentpipe.evaluation.observation import Observation
from bentpipe.scenario import Scenario

# Fairness by round-trip time --------------------------------------------------------------------------------

PAIR_RATE, LONG_RTT = 10.0, 160.0
SAME, UNEQUAL = "equal round trips", "the other has 160 ms"


def _pair_settings(extent: Extent) -> list[Setting]:
    buffers = (25, 50, 100, 200) if extent == "full" else (25, 100)
    return product(pair=(UNEQUAL, SAME), rtt=(10, 20, 40, 80, 160), buffer=buffers)


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


PAIR = Experiment(
    name="round-trips",
    title="Fairness between round-trip times",
    question="How do two flows of the algorithm share a link when their round-trip times differ, or are "
    "equal?",
    setup="Two flows over 10 Mbit/s with a drop-tail queue of 25 and 100 % (full: 25 to 200 %) of the "
    "bandwidth-delay product of 100 ms, for 60 s; both start within the first 6 s. One has 160 ms, the "
    "other 10 to 160 ms; or both have the same. The ratio is the goodput of the flow with the shorter round "
    "trip to that of the other; of equal ones, the larger to the smaller. By theory it is, for Reno, the "
    "inverse ratio of the round trips, queue included, to a power between 1 and 2.",
    source="tcpeval section 6.2; RFC 9743 section 5.1.4",
    deviation="Without the draft's background traffic, and at 10 Mbit/s only.",
    axes={"pair": "pair", "rtt": "round trip, ms", "buffer": "buffer, % of the BDP"},
    metrics={"ratio": Metric("ratio of the goodputs", good=""), "drops": DROPS},
    settings=_pair_settings,
    build=_pair_build,
    measure=_pair_measure,
    charts=(
        Curves("ratio", "rtt", panel="buffer", where={"pair": UNEQUAL}, log_x=True, log_y=True),
        Curves("ratio", "rtt", where={"pair": SAME, "buffer": 100}, log_x=True, log_y=True),
    ),
    seeds={"quick": 3, "full": 20},
)
