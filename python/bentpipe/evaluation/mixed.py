"""Experiments in which an algorithm meets other traffic (RFC 9743 sections 5.1.5 and 5.2)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from bentpipe.evaluation.chapter import ALONE, OWN_KIND, Measured, Numbers, Setting, chapter
from bentpipe.evaluation.network import bdp_packets, bottleneck, drop_tail, flow, link, out_of_step
from bentpipe.evaluation.observation import Observation
from bentpipe.models import Bulk, Cbr
from bentpipe.scenario import Scenario

RATE, RTT = 10.0, 40.0
"""Mbit/s and ms of the link."""


# Beside Reno, CUBIC and BBR ---------------------------------------------------------------------------------

HARM_S = 60.0


def two_flows(s: Setting, cc: Any, seed: int, **more: Any) -> Scenario:
    """Two flows, the one of `cc` with more options; the other one alone if `cc` is None."""
    rtt = float(s["rtt"])
    path = link(RATE, rtt, drop_tail(bdp_packets(RATE, rtt, float(s["buffer"]))))
    flows = [flow(s["other"], "other", start_jitter="1 s", **out_of_step(RATE))]
    if cc is not None:
        flows.append(flow(cc, "test", start_jitter="1 s", **more, **out_of_step(RATE)))
    return bottleneck(path, flows, HARM_S, seed)


def shares(run: Observation) -> Numbers:
    """What each of the two gets of the link, and the losses of the other one."""
    return {
        "other_share": run.goodput("other") / (RATE * 1e6),
        "own_share": run.goodput() / (RATE * 1e6),
        "other_loss": run.loss("other"),
    }


def _harm_measure(run: Observation) -> Numbers:
    queueing = run.queueing_p95(float(run.setting["rtt"]) / 1e3, "other")
    return {**shares(run), "other_queueing": queueing}


def _harm_compare(rows: list[dict[str, Any]], controls: Mapping[str, dict[str, Any]]) -> None:
    """Harm (Ware et al.), and G and L of tcpeval section 6.1.3."""
    alone, own_kind = controls.get(ALONE), controls.get(OWN_KIND)
    for row in rows:
        row |= dict.fromkeys(("harm", "more_harm", "kept", "gain"), math.nan)
        if alone is None or own_kind is None:
            continue
        row["harm"] = _harm(row, alone)
        row["more_harm"] = row["harm"] - _harm(own_kind, alone)
        if own_kind["other_share"]:
            row["kept"] = row["other_share"] / own_kind["other_share"]
        if own_kind["own_share"]:
            row["gain"] = row["own_share"] / own_kind["own_share"]


def _harm(row: Mapping[str, Any], alone: Mapping[str, Any]) -> float:
    """The share of its goodput alone that the flow loses."""
    return 1 - float(row["other_share"] / alone["other_share"]) if alone["other_share"] else math.nan


HARM = chapter(
    "beside-others",
    two_flows,
    _harm_measure,
    controls={
        ALONE: lambda s, seed: two_flows(s, None, seed),
        OWN_KIND: lambda s, seed: two_flows(s, s["other"], seed),
    },
    compare=_harm_compare,
)


# Real-time traffic ------------------------------------------------------------------------------------------

MEDIA_RATE = "1 Mbit/s"


def _media_build(s: Setting, cc: Any, seed: int) -> Scenario:
    path = link(RATE, RTT, drop_tail(bdp_packets(RATE, RTT, float(s["buffer"]))))
    flows = [
        flow(cc, "test", count=int(s["flows"]), start_jitter="1 s", **out_of_step(RATE)),
        flow(None, "media", traffic=Cbr(MEDIA_RATE, packet="1000 bytes"), start_jitter="1 s"),
    ]
    return bottleneck(path, flows, 40, seed)


def _media_measure(run: Observation) -> Numbers:
    return {
        "media_loss": run.loss("media"),
        "queueing_p95": run.queueing_p95(RTT / 1e3),
        "goodput": run.goodput(),
    }


MEDIA = chapter("real-time", _media_build, _media_measure)


# Short and long flows ---------------------------------------------------------------------------------------

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000, 2_000_000)
"""Bytes of the short flows."""
FIRST_S, APART_S = 10.0, 8.0
"""Start of the first short flow, and the interval to each next one."""
SHORT_END = FIRST_S + APART_S * len(SIZES)


def _short_build(s: Setting, cc: Any, seed: int) -> Scenario:
    path = link(RATE, RTT, drop_tail(bdp_packets(RATE, RTT)))
    short, _, beside = str(s["short"]).partition(" beside ")
    named = {"own": cc, "CUBIC": "cubic", "Reno": "reno"}
    flows = [flow(named.get(beside, cc), "long", start_jitter="1 s", **out_of_step(RATE))]
    if beside:
        flows += [
            flow(
                named[short],
                f"short-{size}",
                start=f"{FIRST_S + i * APART_S:g} s",
                start_jitter="1 s",
                traffic=Bulk(f"{size} bytes"),
                **out_of_step(RATE),
            )
            for i, size in enumerate(SIZES)
        ]
    return bottleneck(path, flows, SHORT_END, seed)


def _short_measure(run: Observation) -> Measured:
    yield {"size": 0}, {"long": run.goodput("long"), "done": math.nan}
    for i, size in enumerate(SIZES):
        for short in run.named(f"short-{size}"):
            done = short["completion_s"]
            # A flow that was not done within the run took at least the rest of it.
            least = SHORT_END - FIRST_S - i * APART_S
            yield {"size": size}, {"long": math.nan, "done": least if done is None else done}


SHORT = chapter("short-flows", _short_build, _short_measure)

MIXED = (HARM, SHORT, MEDIA)
"""These experiments, in the order of their chapters."""
