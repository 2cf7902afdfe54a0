"""Experiments in which an algorithm meets other traffic (RFC 9743 sections 5.1.5 and 5.2)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from bentpipe.evaluation.experiment import (
    ALONE,
    MORE_HARM,
    OWN_KIND,
    QUEUEING_P95,
    Curves,
    Experiment,
    Extent,
    Measured,
    Metric,
    Numbers,
    Setting,
    product,
)
from bentpipe.evaluation.network import bdp_packets, bottleneck, drop_tail, flow, link, out_of_step
from bentpipe.evaluation.observation import Observation
from bentpipe.models import Bulk, Cbr
from bentpipe.scenario import Scenario

RATE, RTT = 10.0, 40.0
"""Mbit/s and ms of the link."""


# Beside Reno, CUBIC and BBR ---------------------------------------------------------------------------------

HARM_S = 60.0


def _harm_settings(extent: Extent) -> list[Setting]:
    full = extent == "full"
    others = ("reno", "cubic", "bbr") if full else ("reno", "cubic")
    buffers = (0.1, 0.25, 0.5, 1, 2, 4, 8) if full else (0.25, 0.5, 1, 2, 4)
    rtts = (RTT, 600.0) if full else (RTT,)
    return product(other=others, rtt=rtts, buffer=buffers)


def _harm_build(s: Setting, cc: Any, seed: int) -> Scenario:
    """Two flows; the other one alone if `cc` is None."""
    rtt = float(s["rtt"])
    path = link(RATE, rtt, drop_tail(bdp_packets(RATE, rtt, float(s["buffer"]))))
    flows = [flow(s["other"], "other", start_jitter="1 s", **out_of_step(RATE))]
    if cc is not None:
        flows.append(flow(cc, "test", start_jitter="1 s", **out_of_step(RATE)))
    return bottleneck(path, flows, HARM_S, seed)


def _harm_measure(run: Observation) -> Numbers:
    return {
        "other_share": run.goodput("other") / (RATE * 1e6),
        "own_share": run.goodput() / (RATE * 1e6),
        "other_loss": run.loss("other"),
        "other_queueing": run.queueing_p95(float(run.setting["rtt"]) / 1e3, "other"),
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
        if own_kind["other_share"]:
            row["kept"] = row["other_share"] / own_kind["other_share"]
        if own_kind["own_share"]:
            row["gain"] = row["own_share"] / own_kind["own_share"]


def _harm(row: Mapping[str, Any], alone: Mapping[str, Any]) -> float:
    """The share of its goodput alone that the flow loses."""
    return 1 - float(row["other_share"] / alone["other_share"]) if alone["other_share"] else math.nan


HARM = Experiment(
    name="beside-others",
    title="Beside Reno and CUBIC",
    question="How much harm does a flow of the algorithm do to one of a standard algorithm, and more than a "
    "second flow of that kind would do?",
    setup="One flow of the algorithm and one of Reno or CUBIC (full: also BBR, and 600 ms) over 10 Mbit/s "
    "and "
    "40 ms with a drop-tail queue of 0.25 to 4 (full: 0.1 to 8) bandwidth-delay products, for 60 s. They "
    "start within the first second. Harm is the share of its goodput alone that the other flow loses. It is "
    "compared with the harm by a flow of the other one's own kind in the same place, seed by seed.",
    source="RFC 9743 sections 5.2 and 5.2.1 (RFC 5681, RFC 9438); tcpeval section 6.1; R. Ware, M. K. "
    "Mukerjee, S. Seshan, J. Sherry: Beyond Jain's Fairness Index, HotNets 2019",
    deviation="tcpeval offers 50 and 100 % of load in pairs of transfers from traces of a campus. Here two "
    "long flows meet. L and G are as there: goodput of the other flow and of the own flow, as multiples of "
    "what both have where both use the other flow's algorithm. QUIC (RFC 9002) is not simulated; its "
    "controller is NewReno's.",
    axes={"other": "other flow", "rtt": "round trip without queue, ms", "buffer": "buffer, BDP"},
    metrics={
        "harm": Metric("harm to the other flow's goodput", "%", 100, least=None, most=1),
        "more_harm": MORE_HARM,
        "other_share": Metric("the other flow's share of the rate", "%", 100, most=1, good="more"),
        "own_share": Metric("the own share of the rate", "%", 100, most=1, good=""),
        "other_loss": Metric("packets that the other flow lost", "%", 100, most=1),
        "other_queueing": Metric("95th percentile of the other flow's wait", "ms", 1e3),
        "kept": Metric("L: the other flow's goodput, to that beside its own kind", good="more"),
        "gain": Metric("G: the own goodput, to that of the other kind in its place", good=""),
    },
    settings=_harm_settings,
    build=_harm_build,
    measure=_harm_measure,
    controls={
        ALONE: lambda s, seed: _harm_build(s, None, seed),
        OWN_KIND: lambda s, seed: _harm_build(s, s["other"], seed),
    },
    compare=_harm_compare,
    charts=(
        Curves("harm", "buffer", panel="other", where={"rtt": RTT}, log_x=True),
        Curves("more_harm", "buffer", panel="other", where={"rtt": RTT}, log_x=True),
        Curves("other_loss", "buffer", panel="other", where={"rtt": RTT}, log_x=True),
        Curves("other_queueing", "buffer", panel="other", where={"rtt": RTT}, log_x=True),
    ),
    seeds={"quick": 5, "full": 20},
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


MEDIA = Experiment(
    name="real-time",
    title="Beside real-time traffic",
    question="What do the losses and the delay of a call look like that shares the queue?",
    setup="1 or 4 flows of the algorithm, and unresponsive traffic of 1 Mbit/s in packets of 1000 bytes, "
    "over 10 Mbit/s and 40 ms for 40 s. The wait is that of the algorithm's own packets, which stand in the "
    "same first-in, first-out queue.",
    source="RFC 9743 section 5.2.2",
    deviation="No real-time congestion control is simulated: the traffic does not adapt.",
    axes={"flows": "flows", "buffer": "buffer, BDP"},
    metrics={
        "media_loss": Metric("packets that the real-time traffic lost", "%", 100, most=1),
        "queueing_p95": QUEUEING_P95,
        "goodput": Metric("goodput of the algorithm's flows", "Mbit/s", 1e-6, good="more"),
    },
    settings=lambda extent: product(
        flows=(1, 4), buffer=(0.25, 0.5, 1, 2, 4, 8) if extent == "full" else (0.5, 1, 4)
    ),
    build=_media_build,
    measure=_media_measure,
    charts=(
        Curves("media_loss", "buffer", panel="flows", log_x=True),
        Curves("queueing_p95", "buffer", panel="flows", log_x=True),
    ),
)


# Short and long flows ---------------------------------------------------------------------------------------

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000, 2_000_000)
"""Bytes of the short flows."""
FIRST_S, APART_S = 10.0, 8.0
"""Start of the first short flow, and the interval to each next one."""
SHORT_END = FIRST_S + APART_S * len(SIZES)


def _short_settings(extent: Extent) -> list[Setting]:
    pairs = ["own beside own", "CUBIC beside own", "own beside CUBIC", "no short flows"]
    if extent == "full":
        pairs.append("Reno beside own")
    return product(short=pairs)


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


SHORT = Experiment(
    name="short-flows",
    title="Short flows and a long one",
    question="How long do short flows take beside a long one, and what do they cost it?",
    setup="A long flow over 10 Mbit/s and 40 ms with a drop-tail queue of one bandwidth-delay product. From "
    "10 s on a short flow of 10 kB, 30 kB, 100 kB, 300 kB, 1 MB and 2 MB starts, one each 8 s. Short and "
    "long "
    'flow are of the algorithm ("own") or of CUBIC. Completion counts from the start of the flow, the '
    "handshake included, to when all is acknowledged.",
    source="RFC 9743 sections 5.1.5 and 5.2.3",
    axes={"short": "short flow beside long flow", "size": "size of the short flow, bytes"},
    metrics={
        "done": Metric("completion time of the short flow", "s"),
        "long": Metric("goodput of the long flow", "Mbit/s", 1e-6, good="more"),
    },
    settings=_short_settings,
    build=_short_build,
    measure=_short_measure,
    charts=(
        Curves("done", "size", where={"short": "own beside own"}, log_x=True, log_y=True),
        Curves("done", "size", where={"short": "CUBIC beside own"}, log_x=True, log_y=True),
        Curves("done", "size", where={"short": "own beside CUBIC"}, log_x=True, log_y=True),
        Curves("long", "short", where={"size": 0}),
    ),
    seeds={"quick": 5, "full": 20},
)

MIXED = (HARM, SHORT, MEDIA)
"""These experiments, in the order of their chapters."""
