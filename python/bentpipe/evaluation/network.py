"""Links, flows and traffic of the experiments."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any, cast

from bentpipe import units
from bentpipe.document.plain import is_datagrams
from bentpipe.models import Bulk, DropTail, Flow, Link, Queue, Record
from bentpipe.scenario import Scenario
from bentpipe.units import PACKET

EDGE_RTTS = (4, 28, 54, 74, 98, 124, 150, 174, 200)
"""Milliseconds of the nine pairs of hosts of a dumbbell (tcpeval section 4.1, table 1)."""
RECORD = Record("100 ms", flows=True)
"""Data that a traced run records: a row each `observation.ROW_S`."""

WINDOW, LEAST_WINDOW = 4.0, 64
"""The window of every receiver, in multiples of what link and queue can hold, and in segments at least.

Receivers under Linux take 6 MB at most (net.ipv4.tcp_rmem). Without a bound a controller that never shrinks
its window sends ever more into a queue that is full."""

SMALLEST, LARGEST, SHAPE = 20e3, 20e6, 1.1
"""Sizes of transfers in bytes and the exponent of their distribution, a bounded Pareto: most are short and a
few carry most bytes, as tcpeval's appendix A asks."""


def bdp_packets(rate: float, rtt: float, times: float = 1.0) -> int:
    """Full packets in this number of bandwidth-delay products; rate in Mbit/s, rtt in ms; at least 2."""
    return max(round(rate * 1e6 * rtt / 1e3 / 8 / PACKET * times), 2)


def drop_tail(packets: int) -> DropTail:
    """A first-in, first-out queue of this number of packets."""
    return DropTail(f"{packets} packets")


def link(rate: float, rtt: float, queue: Queue, **more: Any) -> Link:
    """A link of a rate in Mbit/s whose both ways take `rtt` ms."""
    return Link(rate=f"{rate:g} Mbit/s", delay=_ms(rtt / 2), queue=queue, **more)


def buffered(rate: float, rtt: float, times: float = 1.0, **more: Any) -> Link:
    """The same with a drop-tail queue of this number of bandwidth-delay products."""
    return link(rate, rtt, drop_tail(bdp_packets(rate, rtt, times)), **more)


def flow(
    cc: Any,
    name: str = "test",
    path: str | Sequence[str] = "link",
    *,
    rtt: float = 0,
    at: float = 0,
    **more: Any,
) -> Flow:
    """A flow whose own part of the round trip takes `rtt` ms.

    At a bottleneck of `at` Mbit/s it does not fall into step with others: its acknowledgements wait up to the
    time of one full packet there (phase effects: Floyd and Jacobson, 1991).
    """
    if rtt:
        more["extra_delay"] = _ms(rtt / 2)
    if at:
        more["ack_jitter"] = f"{PACKET * 8 / at * 1e3:.0f} ns"
    return Flow(cc, path=[path] if isinstance(path, str) else list(path), name=name, **more)


def scenario(
    links: Link | dict[str, Link], flows: list[Flow], seconds: float, seed: int, *, traced: bool = False
) -> Scenario:
    """A scenario of this number of seconds, whose receivers have a window (`WINDOW`); one link is "link"."""
    links = links if isinstance(links, dict) else {"link": links}
    own = [units.seconds(one.extra_delay, "extra_delay") for one in flows if one.extra_delay]
    delays = (max(units.seconds(d, "delay") for d in _values(each.delay)) for each in links.values())
    rtt = 2 * (max(own, default=0.0) + sum(delays))
    rates = [units.bits_per_second(text, "rate") for each in links.values() for text in _values(each.rate)]
    room = max(int(str(cast(Any, each.queue).limit).removesuffix(" packets")) for each in links.values())
    window = max(math.ceil(WINDOW * (bdp_packets(max(rates) / 1e6, rtt * 1e3) + room)), LEAST_WINDOW)
    for one in flows:
        if not is_datagrams(one.traffic):
            one.receive_window = f"{window} segments"
    record = RECORD if traced else None
    return Scenario(links=links, flows=flows, duration=f"{seconds:g} s", seed=seed, record=record)


def capacity(links: Mapping[str, Mapping[str, Any]]) -> list[tuple[float, float]]:
    """Instants in seconds and bits per second of a scenario's only link; nothing if there are several."""
    if len(links) != 1:
        return []
    (only,) = links.values()
    given = only["rate"]
    steps = [["0 s", given]] if isinstance(given, str) else given
    return [(units.quantity("time", at, "rate"), units.quantity("rate", bps, "rate")) for at, bps in steps]


def transfers(
    cc: Any,
    *,
    name: str,
    rate: float,
    load: float,
    seconds: float,
    seed: int,
    path: str | Sequence[str] = "link",
) -> list[Flow]:
    """Transfers that arrive as a Poisson process and offer `load` times `rate` Mbit/s.

    They are the same for every algorithm: seed and name alone decide. Each takes one of the round trips
    `EDGE_RTTS` of its own. tcpeval's appendix A models sessions so; its traces of a campus are not used.
    """
    drawn = random.Random(f"{seed}//{name}")
    low, high, a = SMALLEST, LARGEST, SHAPE
    mean = low**a / (1 - (low / high) ** a) * a / (a - 1) * (low ** (1 - a) - high ** (1 - a))
    per_second = load * rate * 1e6 / 8 / mean
    made: list[Flow] = []
    at = drawn.expovariate(per_second)
    while at < seconds:
        u = drawn.random()
        size = Bulk(f"{(low**-a - u * (low**-a - high**-a)) ** (-1 / a):.0f} bytes")
        when: dict[str, Any] = {"rtt": drawn.choice(EDGE_RTTS), "start": f"{at * 1e6:.0f} us"}
        made.append(flow(cc, f"{name}-{len(made) + 1}", path, traffic=size, **when))
        at += drawn.expovariate(per_second)
    return made


def _ms(value: float) -> str:
    """Milliseconds in whole nanoseconds, as a scenario has it."""
    return f"{value * 1e6:.0f} ns"


def _values(given: Any) -> list[str]:
    """A value, or all of its values over time."""
    return [given] if isinstance(given, str) else [value for _, value in given]
