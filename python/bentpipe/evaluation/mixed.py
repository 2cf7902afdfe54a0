"""Experiments in which an algorithm meets other traffic (RFC 9743 sections 5.1.5 and 5.2)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from bentpipe.evaluation.chapter import ALONE, OWN_KIND, Measured, Numbers, Setting, chapter
from bentpipe.evaluation.network import buffered, flow, scenario
from bentpipe.evaluation.observation import Observation
from bentpipe.models import Bulk, Cbr
from bentpipe.scenario import Scenario

RATE, RTT = 10.0, 40.0
"""Mbit/s and ms of the link."""


def two_flows(s: Setting, cc: Any, seed: int, **more: Any) -> Scenario:
    """Two flows, the one of `cc` with more options; the other one alone if `cc` is None."""
    flows = [flow(s["other"], "other", at=RATE, start_jitter="1 s")]
    if cc is not None:
        flows.append(flow(cc, at=RATE, start_jitter="1 s", **more))
    return scenario(buffered(RATE, s["rtt"], s["buffer"]), flows, 60, seed)


def shares(run: Observation) -> Numbers:
    """What each of the two gets of the link, and the losses of the other one."""
    return {
        "other_share": run.goodput("other") / (RATE * 1e6),
        "own_share": run.goodput() / (RATE * 1e6),
        "other_loss": run.loss("other"),
    }


def _harm_compare(rows: list[dict[str, Any]], controls: Mapping[str, dict[str, Any]]) -> None:
    """Harm (Ware et al.), and G and L of tcpeval section 6.1.3."""
    alone, own_kind = controls.get(ALONE), controls.get(OWN_KIND)
    for row in rows:
        row |= dict.fromkeys(("harm", "more_harm", "kept", "gain"), math.nan)
        if alone is None or own_kind is None:
            continue
        row["harm"] = _harm(row, alone)
        row["more_harm"] = row["harm"] - _harm(own_kind, alone)
        for what, share in (("kept", "other_share"), ("gain", "own_share")):
            if own_kind[share]:
                row[what] = row[share] / own_kind[share]


def _harm(row: Mapping[str, Any], alone: Mapping[str, Any]) -> float:
    """The share of its goodput alone that the flow loses."""
    return 1 - float(row["other_share"] / alone["other_share"]) if alone["other_share"] else math.nan


HARM = chapter(
    "beside-others",
    two_flows,
    lambda run: {**shares(run), "other_queueing": run.queueing_p95(run.setting["rtt"], "other")},
    controls={
        ALONE: lambda s, seed: two_flows(s, None, seed),
        OWN_KIND: lambda s, seed: two_flows(s, s["other"], seed),
    },
    compare=_harm_compare,
)

MEDIA = chapter(
    "real-time",
    lambda s, cc, seed: scenario(
        buffered(RATE, RTT, s["buffer"]),
        [
            flow(cc, at=RATE, count=s["flows"], start_jitter="1 s"),
            flow(None, "media", traffic=Cbr("1 Mbit/s", packet="1000 bytes"), start_jitter="1 s"),
        ],
        40,
        seed,
    ),
    lambda run: {
        "media_loss": run.loss("media"),
        "queueing_p95": run.queueing_p95(RTT),
        "goodput": run.goodput(),
    },
)

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000, 2_000_000)
"""Bytes of the short flows."""
FIRST_S, APART_S = 10.0, 8.0
"""Start of the first short flow, and the interval to each next one."""
SHORT_END = FIRST_S + APART_S * len(SIZES)


def _short_build(s: Setting, cc: Any, seed: int) -> Scenario:
    short, _, beside = s["short"].partition(" beside ")
    named = {"own": cc, "CUBIC": "cubic", "Reno": "reno"}
    flows = [flow(named.get(beside, cc), "long", at=RATE, start_jitter="1 s")]
    for i, size in enumerate(SIZES if beside else ()):
        start: dict[str, Any] = {"start": f"{FIRST_S + i * APART_S:g} s", "start_jitter": "1 s"}
        flows.append(flow(named[short], f"short-{size}", at=RATE, traffic=Bulk(f"{size} bytes"), **start))
    return scenario(buffered(RATE, RTT), flows, SHORT_END, seed)


def _short_measure(run: Observation) -> Measured:
    yield {"size": 0}, {"long": run.goodput("long"), "done": math.nan}
    for i, size in enumerate(SIZES):
        for short in run.named(f"short-{size}"):
            # A flow that was not done within the run took at least the rest of it.
            least = SHORT_END - FIRST_S - i * APART_S
            yield {"size": size}, {"long": math.nan, "done": run.completion(short, least)}


SHORT = chapter("short-flows", _short_build, _short_measure)

MIXED = (HARM, SHORT, MEDIA)
"""These experiments, in the order of their chapters."""
