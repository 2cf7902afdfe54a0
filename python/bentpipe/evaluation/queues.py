"""Active queue management (RFC 9743 section 7.1)."""

from __future__ import annotations

import math
from typing import Any

from bentpipe.evaluation.experiment import Numbers, Setting, experiment
from bentpipe.evaluation.network import bottleneck, drop_tail, flow, link, out_of_step
from bentpipe.evaluation.observation import Observation
from bentpipe.models import Codel, DualPi2, FqCodel, Pie, Queue, Red
from bentpipe.scenario import Scenario
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


def _aqm_build(s: Setting, cc: Any, seed: int) -> Scenario:
    name = str(s["queue"])
    ecn: dict[str, Any] = {"ecn": True} if name.endswith(" ECN") else {}
    flows = flow(cc, count=AQM_FLOWS, start_jitter="1 s", **ecn, **out_of_step(AQM_RATE))
    return bottleneck(link(AQM_RATE, AQM_RTT, _queues(name)), [flows], 30, seed)


def _aqm_measure(run: Observation) -> Numbers:
    delivered = run.link()["delivered_packets"]
    return {
        "utilisation": run.link()["utilisation"],
        "queueing_p95": run.queueing_p95(AQM_RTT / 1e3),
        "loss": run.loss(),
        "marked": run.link()["marked"] / delivered if delivered else math.nan,
        "jain": jain(f["goodput_bps"] for f in run.named()),
    }


AQM = experiment("queues", _aqm_build, _aqm_measure)
