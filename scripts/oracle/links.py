"""The links and algorithms of the oracle, as links.toml has them."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_GIVEN = tomllib.loads(Path(__file__).with_name("links.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Link:
    """A path of one queue, in the guest: three network namespaces in a row, the queue in the middle one.

    `rate_kbit` and `queue` (packets) are those of the data's direction; all of `rtt_ms` is on the way of the
    ACKs. Every `drop_every`-th packet is lost after the queue (0: none), and for `outage_s` (from, to) all.
    """

    name: str
    about: str
    rate_kbit: int
    rtt_ms: int
    queue: int
    seconds: float
    drop_every: int = 0
    outage_s: Sequence[float] | None = None


LINKS = {name: Link(name, **of) for name, of in _GIVEN["links"].items()}


@dataclass(frozen=True)
class Module:
    """An algorithm of the kernel: its name there, the module's name, and the functions that it registers."""

    name: str
    module: str
    cong_avoid: str
    ssthresh: str
    pkts_acked: str = ""
    set_state: str = ""
    cwnd_event: str = ""
    in_ack_event: str = ""
    smoothed: bool = False
    """Whether it, or our controller of that name, reads the smoothed RTT. Then the table has it."""
    ticks: bool = False
    """Whether it counts the kernel's clock ticks. Then the table has them."""


MODULES = {name: Module(name, **of) for name, of in _GIVEN["modules"].items()}
