"""Experiments with connections over several paths (RFC 9743 section 7.10)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from bentpipe.evaluation.chapter import ALONE, OWN_KIND, Numbers, Setting, chapter
from bentpipe.evaluation.mixed import RATE, RTT, shares, two_flows
from bentpipe.evaluation.network import buffered, flow, scenario
from bentpipe.evaluation.observation import Observation
from bentpipe.models import Flow
from bentpipe.scenario import Scenario


def _compare(rows: list[dict[str, Any]], controls: Mapping[str, dict[str, Any]]) -> None:
    """Harm (Ware et al.): the share of its goodput alone that the other flow loses."""
    alone, own_kind = (controls.get(name, {}).get("other_share", math.nan) for name in (ALONE, OWN_KIND))
    for row in rows:
        row["harm"] = 1 - row["other_share"] / alone if alone else math.nan
        row["more_harm"] = (own_kind - row["other_share"]) / alone if alone else math.nan


def _shared_build(s: Setting, cc: Any, seed: int) -> Scenario:
    """A flow of the other algorithm and one of `cc` over several paths; the other one alone if it is None."""
    more = [{"path": ["link"]} for _ in range(s["paths"] - 1)]
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

FAILS_S, SETTLED_S, FAILOVER_S = 30.0, 35.0, 60.0
"""Times at which the first path goes dark, goodput begins to count, and the run ends."""


def _failover(s: Setting, seed: int, *more: Flow) -> Scenario:
    """The other flow over the second link, and more flows; the first link fails."""
    links = {
        "first": buffered(RATE, RTT, s["buffer"], up=[["0 s", True], [f"{FAILS_S:g} s", False]]),
        "second": buffered(RATE, RTT, s["buffer"]),
    }
    other = flow(s["other"], "other", "second", at=RATE, start_jitter="1 s")
    return scenario(links, [other, *more], FAILOVER_S, seed, traced=True)


def _connections(s: Setting, cc: Any, name: str, path: str, **more: Any) -> Flow:
    return flow(cc, name, path, at=RATE, start_jitter="1 s", count=s["connections"], **more)


def _failover_measure(run: Observation) -> Numbers:
    count = run.setting["connections"]
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
    # Connections over both links.
    lambda s, cc, seed: _failover(
        s, seed, _connections(s, cc, "test", "first", subflow=[{"path": ["second"]}])
    ),
    _failover_measure,
    controls={
        ALONE: _failover,
        # As many flows of the other one's kind, which begin where the path would fail.
        OWN_KIND: lambda s, seed: _failover(
            s, seed, _connections(s, s["other"], "new", "second", start=f"{FAILS_S:g} s")
        ),
    },
    compare=_compare,
)

MULTIPATH = (SHARED, FAILOVER)
"""These experiments, in the order of their chapters."""
