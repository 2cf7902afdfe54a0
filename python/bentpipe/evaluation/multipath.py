"""Experiments with connections over several paths (RFC 9743 section 7.10)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from bentpipe.evaluation.experiment import (
    ALONE,
    MORE_HARM,
    OWN_KIND,
    Curves,
    Experiment,
    Extent,
    Metric,
    Numbers,
    Setting,
    product,
)
from bentpipe.evaluation.network import bdp_packets, bottleneck, drop_tail, flow, link, out_of_step, scenario
from bentpipe.evaluation.observation import Observation
from bentpipe.models import Flow
from bentpipe.scenario import Scenario

RATE, RTT = 10.0, 40.0
"""Mbit/s and ms of each link."""


def _compare(rows: list[dict[str, Any]], controls: Mapping[str, dict[str, Any]]) -> None:
    """Harm (Ware et al.): the share of its goodput alone that the other flow loses."""
    alone, own_kind = (controls.get(name, {}).get("other_share", math.nan) for name in (ALONE, OWN_KIND))
    for row in rows:
        row["harm"] = 1 - row["other_share"] / alone if alone else math.nan
        row["more_harm"] = (own_kind - row["other_share"]) / alone if alone else math.nan


def _settings(extent: Extent, axis: str, quick: Sequence[int], full: Sequence[int]) -> list[Setting]:
    """The other flow's algorithm, the values of an axis, and buffers in BDPs."""
    values, buffers = (full, (0.5, 1, 4)) if extent == "full" else (quick, (1,))
    return product(**{"other": ("reno", "cubic"), axis: values, "buffer": buffers})


# Several paths that share a bottleneck ----------------------------------------------------------------------

SHARED_S = 60.0


def _shared_settings(extent: Extent) -> list[Setting]:
    return _settings(extent, "paths", (2, 4), (2, 3, 4))


def _shared_build(s: Setting, cc: Any, seed: int) -> Scenario:
    """A flow of the other algorithm and one of `cc` over several paths; the other one alone if it is None."""
    path = link(RATE, RTT, drop_tail(bdp_packets(RATE, RTT, float(s["buffer"]))))
    flows = [flow(s["other"], "other", start_jitter="1 s", **out_of_step(RATE))]
    if cc is not None:
        more = [{"path": ["link"]} for _ in range(int(s["paths"]) - 1)]
        test = flow(cc, "test", start_jitter="1 s", subflow=more or None, **out_of_step(RATE))
        flows.append(test)
    return bottleneck(path, flows, SHARED_S, seed)


def _shared_measure(run: Observation) -> Numbers:
    return {
        "other_share": run.goodput("other") / (RATE * 1e6),
        "own_share": run.goodput() / (RATE * 1e6),
        "other_loss": run.loss("other"),
    }


SHARED = Experiment(
    name="shared-bottleneck",
    title="Several paths that share a bottleneck",
    question="How much harm does one connection over several paths do where all of them cross one link?",
    setup="One connection of the algorithm with 2 or 4 (full: also 3) subflows shares a link with one flow "
    "of Reno or CUBIC for 60 s. The link has 10 Mbit/s, 40 ms and a drop-tail queue of one (full: 0.5 to 4) "
    "bandwidth-delay products. All start within the first second. Harm is the share of its "
    "goodput alone that the other flow loses. It is compared with the harm by a flow of the other one's own "
    "kind with one path, seed by seed. Subflows that know nothing of each other take as much as so many "
    "flows; coupled algorithms (RFC 6356) are to take no more than one.",
    source="RFC 9743 section 7.10; RFC 6356 section 2 (goal 2, do no harm)",
    deviation="All subflows begin and end at the same hosts.",
    axes={"other": "other flow", "paths": "subflows", "buffer": "buffer, BDP"},
    metrics={
        "harm": Metric("harm to the other flow's goodput", "%", 100, least=None, most=1),
        "more_harm": MORE_HARM,
        "other_share": Metric("the other flow's share of the rate", "%", 100, most=1, good="more"),
        "own_share": Metric("the connection's share of the rate", "%", 100, most=1, good=""),
        "other_loss": Metric("packets that the other flow lost", "%", 100, most=1),
    },
    settings=_shared_settings,
    build=_shared_build,
    measure=_shared_measure,
    controls={
        ALONE: lambda s, seed: _shared_build(s, None, seed),
        OWN_KIND: lambda s, seed: _shared_build({**s, "paths": 1}, s["other"], seed),
    },
    compare=_compare,
    charts=(
        Curves("harm", "paths", panel="other", where={"buffer": 1}),
        Curves("more_harm", "paths", panel="other", where={"buffer": 1}),
    ),
    seeds={"quick": 5, "full": 10},
)


# A path that fails ------------------------------------------------------------------------------------------

FAILS_S, SETTLED_S, FAILOVER_S = 30.0, 35.0, 60.0
"""Times at which the first path goes dark, goodput begins to count, and the run ends."""


def _failover_settings(extent: Extent) -> list[Setting]:
    return _settings(extent, "connections", (1, 4), (1, 2, 4))


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


FAILOVER = Experiment(
    name="failover",
    title="A path that fails",
    question="When connections lose one of their two paths, what do they do to those that have only the "
    "other path, and does anybody starve?",
    setup="1 or 4 (full: also 2) connections of the algorithm have a subflow over each of two links for 60 "
    "s. One flow of Reno or CUBIC crosses the second link. Each link has 10 Mbit/s, 40 ms and a drop-tail "
    "queue of one (full: 0.5 to 4) bandwidth-delay products. At 30 s the first link goes dark for good, for "
    "all connections at once. Shares are those of the second link from 35 s on. Harm is the share of its "
    "goodput alone that the other flow loses. It is compared with the harm by as many newcomers of its own "
    "kind that start on the second link at 30 s.",
    source="RFC 9743 section 7.10",
    deviation="The second path is in use from the start; no connection keeps one in reserve.",
    axes={"other": "other flow", "connections": "connections", "buffer": "buffer, BDP"},
    metrics={
        "harm": Metric("harm to the other flow's goodput", "%", 100, least=None, most=1),
        "more_harm": MORE_HARM,
        "other_share": Metric("the other flow's share of the rate", "%", 100, most=1, good="more"),
        "least": Metric(
            "goodput of the flow that has least, of an equal share", "%", 100, most=1, good="more"
        ),
        "back": Metric("time until each connection has half of an equal share", "s"),
    },
    settings=_failover_settings,
    build=_failover_build,
    measure=_failover_measure,
    controls={ALONE: lambda s, seed: _failover_build(s, None, seed), OWN_KIND: _newcomers},
    compare=_compare,
    charts=(
        Curves("more_harm", "connections", panel="other", where={"buffer": 1}),
        Curves("least", "connections", panel="other", where={"buffer": 1}),
    ),
    traced=True,
    seeds={"quick": 5, "full": 10},
)

MULTIPATH = (SHARED, FAILOVER)
"""These experiments, in the order of their chapters."""
