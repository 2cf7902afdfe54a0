"""Kinds of paths: managed queues, radio, changes, satellites (RFC 9743 sections 6.4, 7.1, 7.3, 7.5, 7.9)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import bentpipe as bp
from bentpipe.document.source import Source
from bentpipe.evaluation.chapter import Numbers, Setting, chapter
from bentpipe.evaluation.network import RECORD, bdp_packets, buffered, drop_tail, flow, link, scenario
from bentpipe.evaluation.observation import Observation
from bentpipe.models import Queue
from bentpipe.scenario import Scenario

AQM_RATE, AQM_RTT = 20.0, 40.0
ROOM = "400 packets"


QUEUES: dict[str, Callable[..., Queue]] = {
    "RED": partial(bp.Red, min="20 packets", max="60 packets"), "CoDel": bp.Codel, "PIE": bp.Pie,
    "FQ-CoDel": bp.FqCodel,
}  # fmt: skip
"""Queues that mark if the flows say that they understand marks; DualPI2 always does."""


def _aqm_build(s: Setting, cc: Any, seed: int) -> Scenario:
    name = s["queue"].removesuffix(" ECN")
    ecn = name != s["queue"] or None
    flows = flow(cc, at=AQM_RATE, count=4, start_jitter="1 s", ecn=ecn)
    plain = bp.DualPi2 if name == "DualPI2" else bp.DropTail
    queue = QUEUES[name](ROOM, ecn=ecn) if name in QUEUES else plain(ROOM)
    return scenario(link(AQM_RATE, AQM_RTT, queue), [flows], 30, seed)


def _aqm_measure(run: Observation) -> Numbers:
    link = run.link()
    return {
        "utilisation": link["utilisation"],
        "queueing_p95": run.queueing_p95(AQM_RTT),
        "loss": run.loss(),
        "marked": link["marked"] / link["delivered_packets"] if link["delivered_packets"] else math.nan,
        "jain": run.jain(),
    }


AQM = chapter("queues", _aqm_build, _aqm_measure)

RADIO_RATE, RADIO_RTT = 10.0, 100.0
BURST = 8.0
"""Mean packets of a burst of losses."""


def _radio_build(s: Setting, cc: Any, seed: int) -> Scenario:
    per, kind = s["per"], s["kind"]
    more: dict[str, Any] = {"loss": bp.PacketError(per)}
    if kind == "in bursts":
        more = {"loss": bp.GilbertElliott(p=per / (1 - per) / BURST, r=1 / BURST)}
    elif kind == "repeated by the link":
        more["arq"] = bp.Arq(tries=4, round_trip="20 ms")
    return scenario(buffered(RADIO_RATE, RADIO_RTT, **more), [flow(cc, at=RADIO_RATE)], 60, seed)


RADIO = chapter(
    "random-loss",
    _radio_build,
    lambda run: {"goodput": run.goodput() / (RADIO_RATE * 1e6), "again": run.resent()},
)

DELAY_RATE, DELAY_MS, DELAY_S = 20.0, 20.0, 60.0


def _steps(pattern: str) -> list[list[str]]:
    """One-way delays by instant; all start at 20 ms."""
    if pattern == "jitter":
        # Every 50 ms another delay between 18 and 24 ms, in an order without pattern (multiples of 3 mod 7).
        return [[f"{50 * i} ms", f"{18 + (3 * i) % 7} ms"] for i in range(round(DELAY_S * 20))]
    if pattern == "slow":
        return [
            [f"{100 * i} ms", f"{30 - 10 * math.cos(2 * math.pi * i / 200):.3f} ms"]
            for i in range(round(DELAY_S * 10))
        ]
    levels = {"steps up": (20, 28, 36, 44), "steps down": (44, 36, 28, 20), "LEO pass": (20, 31, 24, 38)}
    return [[f"{15 * i} s", f"{ms} ms"] for i, ms in enumerate(levels.get(pattern, (20,)))]


def _delay_build(s: Setting, cc: Any, seed: int) -> Scenario:
    path = buffered(DELAY_RATE, 2 * DELAY_MS, nominal=_nominal(DELAY_RATE, DELAY_MS))
    path.delay = _steps(s["delay"])
    return scenario(path, [flow(cc, at=DELAY_RATE)], DELAY_S, seed)


def _nominal(rate: float, delay: float) -> dict[str, str]:
    return {"rate": f"{rate:g} Mbit/s", "delay": f"{delay:g} ms"}


DELAY = chapter(
    "varying-delay",
    _delay_build,
    lambda run: {"utilisation": run.link()["utilisation"], "queueing": run.queueing(), "loss": run.loss()},
)

CHANGE_S, CHANGE_END = 30.0, 60.0
CHANGES: dict[str, tuple[float, float, float, float]] = {
    "delay up": (20, 20, 20, 60),
    "delay down": (20, 20, 60, 20),
    "rate up": (5, 20, 40, 40),
    "rate down": (20, 5, 40, 40),
    "to satellite": (20, 10, 20, 280),
    "from satellite": (10, 20, 280, 20),
}
"""Rates in Mbit/s and one-way delays in ms before and after."""
HANDOVERS = "LEO handovers"


def _change_build(s: Setting, cc: Any, seed: int) -> Scenario:
    if s["change"] == HANDOVERS:
        table = Source("leo-handover").load()
        shipped = Scenario.from_dict({"link": table["link"], "duration": "90 s", "seed": seed})
        shipped.flows, shipped.record = [flow(cc, path="leo", ack_jitter="1 ms")], RECORD
        return shipped
    rates, delays = CHANGES[s["change"]][:2], CHANGES[s["change"]][2:]
    packets = max(bdp_packets(rate, 2 * delay) for rate, delay in zip(rates, delays, strict=True))
    path = bp.Link(
        rate=_at_change([f"{rate:g} Mbit/s" for rate in rates]),
        delay=_at_change([f"{delay:g} ms" for delay in delays]),
        nominal=_nominal(rates[0], delays[0]),
        queue=drop_tail(packets),
    )
    return scenario(path, [flow(cc, at=min(rates))], CHANGE_END, seed, traced=True)


def _at_change(values: Sequence[str]) -> list[list[str]]:
    return [["0 s", values[0]], [f"{CHANGE_S:g} s", values[1]]]


def _change_measure(run: Observation) -> Numbers:
    if run.setting["change"] == HANDOVERS:
        # The mean rate of 0 to 90 s by the scenario's steps: six of 15 s each.
        mean = (150 + 180 + 120 + 150 + 200 + 130) / 6
        return {"after": run.goodput() / (mean * 1e6), "back": math.nan, "loss": run.loss()}
    rate = CHANGES[run.setting["change"]][1] * 1e6
    return {
        "after": run.delivered_between(CHANGE_S, CHANGE_S + 10) / rate,
        "back": 1 + run.reached(0.8 * rate, CHANGE_S + 1),  # the mean over 1 s is all of the new path
        "loss": run.loss(),
    }


CHANGE = chapter("path-change", _change_build, _change_measure, course=lambda run: run.mbits())


def _reorder_build(s: Setting, cc: Any, seed: int) -> Scenario:
    delays = [[f"{100 * i} ms", f"{20 + (s['jump'] if i % 2 else 0):g} ms"] for i in range(400)]
    path = bp.Link(
        rate="10 Mbit/s", delay=delays, nominal=_nominal(10, 20), queue=drop_tail(66), reorder=True
    )
    return scenario(path, [flow(cc, at=10)], 40, seed)


def _reorder_measure(run: Observation) -> Numbers:
    (test,) = run.named()
    needless = max(test["retransmitted_packets"] - test["dropped_packets"], 0)
    return {
        "utilisation": run.goodput() / 10e6,
        "needless": needless / max(test["sent_packets"], 1),
        "timeouts": test["timeouts"],
    }


REORDER = chapter("reordering", _reorder_build, _reorder_measure)

PATHS = (RADIO, DELAY, CHANGE, REORDER)
"""These experiments, in the order of their chapters."""

SATELLITES = ("geo", "geo, bit errors", "vsat", "vsat-dama", "leo")
BIT_ERRORS = 1e-6
FILE = "2 MB"


def _satellite_build(s: Setting, cc: Any, seed: int) -> Scenario:
    name, _, errors = s["link"].partition(", ")
    table = Source(name).load()
    shipped = Scenario.from_dict({key: table[key] for key in ("link", "station") if key in table})
    model = next(f for f in table["flow"] if f.get("traffic", {}).get("kind") != "cbr")
    place = {key: model[key] for key in ("path", "ack_path", "extra_delay") if key in model}
    if errors:
        shipped.links[name].loss = bp.BitError(BIT_ERRORS)
    shipped.duration, shipped.seed = "60 s", seed
    traffic = None if s["traffic"] == "long flow" else bp.Bulk(FILE)
    shipped.flows = [bp.Flow(cc, name="test", ack_jitter="1 ms", traffic=traffic, **place)]
    return shipped


def _satellite_measure(run: Observation) -> Numbers:
    (test,) = run.named()
    if run.setting["traffic"] != "long flow":
        return {"done": run.completion(test, run.seconds)}
    return {
        "goodput": run.goodput(),
        "loss": run.loss(),
        "rtt": math.nan if test["rtt_p95_s"] is None else test["rtt_p95_s"] - test["rtt_min_s"],
    }


SATELLITE = chapter(
    "satellite",
    _satellite_build,
    _satellite_measure,
    settings=lambda _: [
        {"link": name, "traffic": traffic} for traffic in ("long flow", "file") for name in SATELLITES
    ],
)
