"""The usual comparison: host - router - router - host with one flow, stated for both programs at once."""

from __future__ import annotations

from typing import Any

from bentpipe.models import DropTail, Flow, Link, LossTrace, PacketError
from bentpipe.ns2.agents import Agent
from bentpipe.scenario import Scenario

MSS = 1460
"""Payload bytes of a data segment."""
WIRE = 1500
"""Bytes that a bandwidth-delay product is counted in."""
ENDLESS = DropTail("1000000 packets")
"""A queue that never fills."""


def packets(rate: float, rtt: float) -> int:
    """A bandwidth-delay product in packets, from bit/s and seconds."""
    return int(rate * rtt / 8.0 / WIRE)


def flow(agent: Agent, path: list[str], cc: Any = None, **other: Any) -> Flow:
    """A flow with the sender options that make it equal to an agent's; `cc` instead of the agent's own."""
    return Flow(
        agent.controller() if cc is None else cc,
        path=path,
        profile="paper",
        recovery=agent.recovery,
        header=f"{40 + (12 if agent.timestamps else 0)} bytes",
        timestamps=bool(agent.timestamps),
        ack_size="40 bytes",
        **other,
    )


def dumbbell(
    agent: Agent,
    *,
    rate: float,
    rtt: float,
    buffer: int,
    duration: float,
    cc: Any = None,
    per: float = 0.0,
    drops: str | None = None,
    seed: int = 1,
    access: bool = True,
    **sender: Any,
) -> Scenario:
    """One flow of `agent` over an access link, the bottleneck "core", and another access link.

    Args:
        agent: the sender in ns-2.
        rate: of the bottleneck, bit/s; the access links have 1 Gbit/s and 1 ms.
        rtt: two-way propagation delay of the whole path, s.
        buffer: packets that may wait at the bottleneck.
        duration: simulated seconds.
        cc: the controller here, if it is not to be the agent's counterpart.
        per: probability of losing a packet behind the bottleneck, data only.
        drops: file with the 0-based numbers of the packets lost there instead.
        seed: of the run.
        access: with False the access links are left out, and their delay is the bottleneck's.
        sender: further options of the flow.
    """
    loss = PacketError(per) if per > 0.0 else LossTrace(drops) if drops is not None else None
    edge = Link(rate="1 Gbit/s", delay="1 ms", queue=ENDLESS)
    core = Link(
        rate=f"{rate:.0f} bit/s",
        delay=f"{rtt * 500.0 - (2.0 if access else 0.0):.6f} ms",
        queue=DropTail(f"{buffer} packets"),
        loss=loss,
        reverse={"queue": ENDLESS},
    )
    links = {"access": edge, "core": core, "egress": edge} if access else {"core": core}
    return Scenario(
        links=links, flows=[flow(agent, list(links), cc, **sender)], duration=f"{duration!r} s", seed=seed
    )
