"""How an algorithm is had on Linux: built in, as a module, by `bentpipe kernel attach`, or not at all.

Source: the kernel's net/ipv4/Kconfig (the TCP_CONG_* options, their names and defaults), and
net/ipv4/Makefile (the names of the modules). Reno is part of net/ipv4/tcp_cong.c and always there. CUBIC is
`default y`; of the rest, which are modules, a distribution builds those that it wants. What else can be
attached, and what the kernel then lacks of it, `_core.kernel_gaps` knows (docs/kernel.md).
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

from bentpipe import _core
from bentpipe.registry import controllers

MODULES = {
    "reno": "built in",
    "cubic": "built in",
    "bic": "tcp_bic",
    "westwood-plus": "tcp_westwood",
    "htcp": "tcp_htcp",
    "highspeed": "tcp_highspeed",
    "hybla": "tcp_hybla",
    "vegas": "tcp_vegas",
    "scalable": "tcp_scalable",
    "veno": "tcp_veno",
    "yeah": "tcp_yeah",
    "illinois": "tcp_illinois",
    "bbr": "tcp_bbr",
    "lp": "tcp_lp",
    "cdg": "tcp_cdg",
    "nv": "tcp_nv",
    "dctcp": "tcp_dctcp",
}
"""By the id of an algorithm: "built in", or the name of its kernel module. Linux has no others of ours."""
_OPTIONS = {"highspeed": "HSTCP"}
"""Where the name of an option is not that of the module."""

KINDS = ("built in", "module", "attach", "router", "simulation")
"""How an algorithm is had, the easiest first."""


@dataclass(frozen=True)
class Way:
    """How an algorithm is had.

    Attributes:
        kind: one of `KINDS`.
        text: in a few words, "Linux module tcp_hybla".
        commands: what root types on the machine that sends to make it the default; empty if it cannot be had.
        lacks: what the kernel cannot carry of it, a sentence each.
    """

    kind: str
    text: str
    commands: Sequence[str] = ()
    lacks: Sequence[str] = field(default=())

    @property
    def had(self) -> bool:
        """Can it be had today, without a change to routers?"""
        return self.kind in ("built in", "module", "attach")

    @property
    def effort(self) -> int:
        """How easy it is: 0 is there already."""
        return KINDS.index(self.kind)


def way(cc: str) -> Way:
    """How the algorithm of this id is had; an id that is not registered is a class of the user's."""
    if (found := MODULES.get(cc)) is not None:
        return _of_linux(cc, found)
    entry = next((entry for entry in controllers() if entry["id"] == cc), None)
    if entry is None:
        return Way("attach", "a class of yours, by bentpipe kernel attach", [_attach("FILE.py:" + cc)])
    if entry["queue"] is not None:
        return Way("router", f"needs queues of kind {entry['queue']} in the routers")
    if entry["uses_extra_segments"]:
        return Way("router", "needs routers that drop segments of low priority first")
    if entry["uses_subflows"]:
        return Way("simulation", "needs Multipath TCP with this algorithm, which Linux does not have")
    if entry["uses_receiver"] and entry["header"]:
        return Way("simulation", "needs a receiver that works out the rate, which Linux does not have")
    return Way("attach", "by bentpipe kernel attach", [_attach(cc)], _core.kernel_gaps(cc))


def in_a_word(cc: str) -> str:
    """How it is had, for a narrow column: the module's name, or the kind of its way."""
    return MODULES.get(cc) or way(cc).kind


def where(cc: str) -> str:
    """Where it is in the kernel's source, and its option; empty if Linux does not have it."""
    found = MODULES.get(cc)
    if found is None:
        return ""
    if cc == "reno":
        return "net/ipv4/tcp_cong.c"
    name = "cubic" if cc == "cubic" else found.removeprefix("tcp_")
    return f"net/ipv4/tcp_{name}.c, option TCP_CONG_{_OPTIONS.get(name, name.upper())}"


def _of_linux(cc: str, found: str) -> Way:
    if found == "built in":
        return Way(found, "built into Linux", [_default(cc)])
    name = found.removeprefix("tcp_")
    return Way("module", f"Linux module {found}", [f"modprobe {found}", _default(name)])


def _default(name: str) -> str:
    return f"sysctl -w net.ipv4.tcp_congestion_control={name}"


def _attach(cc: str) -> str:
    return f"bentpipe kernel attach {shlex.quote(cc)} --congctl default"
