"""Cells of the comparison of traffic that pauses: a sender, a link, a kind of traffic and a repeat each."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

from bentpipe.io.toml_tables import beside
from bentpipe.truth.cell import KERNEL, PRESETS, Sender

_GIVEN = beside(__file__, "paused.toml")
HANDOVERS = "leo-handover"
"""The shipped scenario whose link is compared, too."""
assert HANDOVERS in PRESETS
LINKS = (*_GIVEN["link"], HANDOVERS)
TRAFFIC: dict[str, dict[str, Any]] = _GIVEN["traffic"]
OURS = ("agent:tfrc", "agent:vivace", "agent:hybla", "native:star", "native:vegas-l")
"""Senders of this laboratory; the first two send by rate."""
LINKS_OF_OURS = ("20-mbit-300-ms", "geo-10")

REQUEST = 350
"""Bytes of a request."""
START_S = 2.0
"""From the beginning of the link to that of the traffic: both worlds meet the same handovers."""
LIMIT_S = 120.0
"""Time after which nothing more is waited for."""
_SIZES = ("response", "size", "main", "embedded")
_TIMES = ("think", "off", "parsing", "reading", "segment", "buffer", "startup")


@dataclass(frozen=True)
class PausedCell:
    """Traffic to be made in both worlds.

    Args:
        link: one of `LINKS`.
        traffic: one of `TRAFFIC`.
        seed: of the losses; each repeat has one of its own.
    """

    sender: Sender
    link: str
    traffic: str
    seed: int

    @property
    def key(self) -> str:
        """The name of its row, which is that of its file."""
        return f"{self.sender.home}-{self.sender.algorithm}-{self.link}-{self.traffic}-{self.seed}"

    @property
    def plan(self) -> dict[str, Any]:
        """Its traffic, as the real program takes it: bytes and seconds."""
        return {**TRAFFIC[self.traffic], "request": REQUEST}

    def as_dict(self) -> dict[str, Any]:
        """Its columns in a table."""
        return {
            "sender": str(self.sender),
            "link": self.link,
            "traffic": self.traffic,
            "seed": self.seed,
        }

    def scenario(self) -> dict[str, Any]:
        """The link of both worlds and its traffic; what is sent crosses it forward."""
        flow: dict[str, Any] = {
            "name": "talk",
            "cc": self.sender.algorithm,
            "profile": "linux",
            "start": f"{START_S:g} s",
            "traffic": _written(self.plan),
        }
        if self.sender.home != "kernel":
            flow |= {"aen": False}  # the kernel has no such probe
        if self.sender.home == "agent":
            flow |= {
                "idle_restart": "none"
            }  # the datapath has `cong_control`, so Linux leaves the window alone
        if self.link == HANDOVERS:
            from bentpipe.document.source import Source

            shipped = Source(self.link).raw()
            links, path = shipped["link"], shipped["flow"][0]["path"]
        else:
            links, path = {"link": _GIVEN["link"][self.link]}, ["link"]
        return {
            "title": self.key,
            "duration": f"{START_S + LIMIT_S:g} s",
            "seed": self.seed,
            "link": links,
            "flow": [flow | {"path": path}],
            "record": {"transfers": True},
        }

    def simulation(self) -> dict[str, Any]:
        """The scenario that is simulated: the sender has the interface of a host."""
        found = self.scenario()
        (flow,) = found["flow"]
        way = {"path": ["host", *flow["path"]]}
        return {**found, "link": {**found["link"], "host": _GIVEN["host"]}, "flow": [flow | way]}


def _written(plan: dict[str, Any]) -> dict[str, Any]:
    """The traffic of a plan, as a scenario has it."""
    found: dict[str, Any] = {"kind": plan["kind"]}
    if plan["kind"] in ("requests", "web"):
        found["request"] = f"{plan['request']} bytes"
    if plan["kind"] == "web":
        found["objects"] = plan["objects"]
    if plan["kind"] == "video":
        found["ladder"] = [f"{plan['bitrate']} bit/s"]
    found |= {name: f"{plan[name]} bytes" for name in _SIZES if name in plan}
    return found | {name: f"{plan[name]:g} s" for name in _TIMES if name in plan}


def full(seeds: int = 3) -> list[PausedCell]:
    """The kernel's own algorithms on every link, and ours on two; the repeats outermost."""
    senders = [(Sender("kernel", algorithm), LINKS) for algorithm in KERNEL]
    senders += [(Sender.named(name), LINKS_OF_OURS) for name in OURS]
    return [
        PausedCell(sender, link, traffic, seed)
        for seed, link, traffic in product(range(1, seeds + 1), LINKS, TRAFFIC)
        for sender, on in senders
        if link in on
    ]


def quick(seeds: int = 1) -> list[PausedCell]:
    """Each kind of traffic once, by CUBIC, and small responses by BBR: the link of 20 Mbit/s and 60 ms."""
    kinds = ("requests-small", "page", "on-off", "film")
    named = [("cubic", kind) for kind in kinds] + [("bbr", "requests-small")]
    return [
        PausedCell(Sender("kernel", algorithm), "20-mbit-60-ms", kind, seed)
        for seed in range(1, seeds + 1)
        for algorithm, kind in named
    ]


def of_dict(row: dict[str, Any]) -> PausedCell:
    """The cell that `PausedCell.as_dict` described."""
    return PausedCell(Sender.named(row["sender"]), row["link"], row["traffic"], row["seed"])
