"""Experiments with connections over several paths (RFC 9743 section 7.10)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from bentpipe.evaluation.chapter import ALONE, OWN_KIND, Numbers, Setting, chapter
from bentpipe.evaluation.mixed import RATE, RTT, shares, two_flows
from bentpipe.evaluation.network import bdp_packets, drop_tail, flow, link, out_of_step, scenario
from bentpipe.evaluation.observation import Observation
from bentpipe.models import Flow
from bentpipe.scenario import Scenario


def _compare(rows: list[dict[str, Any]], controls: Mapping[str, dict[str, Any]]) -> None:
    """Harm (Ware et al.): the share of its goodput alone that the other flow loses."""
    alone, own_kind = (controls.get(name, {}).get("other_share", math.nan) for name in (ALONE, OWN_KIND))
    for row in rows:
        row["harm"] = 1 - row["other_share"] / alone if alone else math.nan
        row["more_harm"] = (own_kind - row["other_share"]) / alone if alone else math.nan


# Several paths that share a bottleneck ----------------------------------------------------------------------


def _shared_build(s: Setting, cc: Any, seed: int) -> Scenario:
    """A flow of the other algorithm and one of `cc` over several paths; the other one alone if it is None."""
    more = [{"path": ["link"]} for _ in range(int(s["paths"]) - 1)]
    return two_flows({**s, "rtt": RTT}, cc, seed, subflow=more or None)


SHARED = chapter(
    "shared-bottleneck",
    _shared_build,
    shares,
    controls={
        ALONE: lambda s, seed: _shared_build(s, None, seed),
        OWN_KIND: lambda s, seed: _shared_build({**s, "paths": 1}, s["other"], seed),
    },
    compare=_compare,
)


# A path that fails ------------------------------------------------------------------------------------------

FAILS_S, SETTLED_S, FAILOVER_S = 30.0, 35.0, 60.0
"""Times at which the first path goes dark, goodput begins to count, and the run ends."""


def _failover_build(s: Setting, cc: Any, seed: int) -> Scenario:
    """Connections over both links; the other flow alone if `cc` is None."""
    jitter = {"start_jitter": "1 s", **out_of_step(RATE)}
    flows = [flow(s["other"], "other", "second", **jitter)]
    if cc is not None:
        over_both = [{"path": ["second"]}]
        flows.append(flow(cc, "test", "first", count=int(s["connections"]), subflow=over_both, **jitter))
    return _failover_scenario(s, flows, seed)


def _newcomers(s: Setting, seed: int) -> Scenario:
    """As many flows of the other one's kind, which begin where the path would fail."""
    jitter = {"start_jitter": "1 s", **out_of_step(RATE)}
    flows = [
        flow(s["other"], "other", "second", **jitter),
        flow(s["other"], "new", "second", count=int(s["connections"]), start=f"{FAILS_S:g} s", **jitter),
    ]
    return _failover_scenario(s, flows, seed)


def _failover_scenario(s: Setting, flows: list[Flow], seed: int) -> Scenario:
    queue = drop_tail(bdp_packets(RATE, RTT, float(s["buffer"])))
    links = {
        "first": link(RATE, RTT, queue, up=[["0 s", True], [f"{FAILS_S:g} s", False]]),
        "second": link(RATE, RTT, queue),
    }
    return scenario(links, flows, FAILOVER_S, seed, traced=True)


def _failover_measure(run: Observation) -> Numbers:
    count = int(run.setting["connections"])
    own = ["test/2"] if count == 1 else [f"test-{number}/2" for number in range(1, count + 1)]
    equal = RATE * 1e6 / (count + 1)
    after = {name: run.delivered_between(SETTLED_S, FAILOVER_S, name) for name in ("other", *own)}
    return {
        "other_share": after["other"] / (RATE * 1e6),
        "least": min(after.values()) / equal,
        "back": max(run.reached(equal / 2, FAILS_S, name) for name in own),
    }


FAILOVER = chapter(
    "failover",
    _failover_build,
    _failover_measure,
    controls={ALONE: lambda s, seed: _failover_build(s, None, seed), OWN_KIND: _newcomers},
    compare=_compare,
)

MULTIPATH = (SHARED, FAILOVER)
"""These experiments, in the order of their chapters."""
