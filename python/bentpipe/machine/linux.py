"""Availability of an algorithm on Linux: built in, as a module, by `bentpipe kernel attach`, or not at all.

Source: the kernel's net/ipv4/Kconfig (the TCP_CONG_* options, their names and defaults), and
net/ipv4/Makefile (the names of the modules). Reno is part of net/ipv4/tcp_cong.c and always there. CUBIC is
`default y`; the rest are modules, and a distribution builds those that it wants. `_core.kernel_gaps` lists
what else can be attached, and which features the kernel then lacks (docs/kernel.md).
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
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
"""By the id of an algorithm: "built in", or the name of its kernel module. Linux has no others."""
_BUFFERS = {"tcp_rmem": (4096, 131_072, 6_291_456), "tcp_wmem": (4096, 16_384, 4_194_304)}
"""The least, the first and the largest buffer of a socket, as Linux has them with enough memory
(Documentation/networking/ip-sysctl.rst)."""
_UNSENT = 131_072
"""Bytes that a socket takes beyond what may be sent: two of the largest that TCP hands to a device."""
_OPTIONS = {"highspeed": "HSTCP"}
"""Modules whose names differ from those of their options."""

KINDS = ("built in", "module", "attach", "router", "simulation")
"""Ways to obtain an algorithm, the easiest first."""


@dataclass(frozen=True)
class Way:
    """The way to obtain an algorithm.

    Attributes:
        kind: one of `KINDS`.
        text: in a few words, "Linux module tcp_hybla".
        commands: what root types on the sender to make it the default; empty if it is not available.
        lacks: features that the kernel cannot support, a sentence each.
    """

    kind: str
    text: str
    commands: Sequence[str] = ()
    lacks: Sequence[str] = field(default=())

    @property
    def had(self) -> bool:
        """Whether it is available today, without a change to routers."""
        return self.kind in ("built in", "module", "attach")

    @property
    def in_linux(self) -> bool:
        """Whether Linux itself has it, built in or as a module."""
        return self.kind in ("built in", "module")

    @property
    def effort(self) -> int:
        """Its rank by ease of installation: 0 is already present."""
        return KINDS.index(self.kind)


def way(cc: str) -> Way:
    """The way to obtain the algorithm of this id; an id that is not registered is a user's class."""
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


def sysctl(cc: str, bdp_bytes: float) -> list[str]:
    """The lines of a file in /etc/sysctl.d that make an algorithm and its buffers the default.

    Linux offers half of a receive buffer as window, so the buffers are twice the bandwidth-delay product.
    What Linux has without the file is left out.
    """
    found = way(cc)
    lines = []
    if found.in_linux and cc != "cubic":
        lines.append(_setting(found))
    return lines + [line for _, line, grown in _buffers(bdp_bytes) if grown]


def sysctl_file(cc: str, bdp_bytes: float, link: str) -> str:
    """A file for /etc/sysctl.d with every setting that suits a link, and the reason above each.

    Args:
        cc: the id of the algorithm.
        bdp_bytes: the bandwidth-delay product.
        link: the link in words, for the head.
    """
    found = way(cc)
    parts = [
        f"# Settings for {link}.\n"
        f"# Its bandwidth-delay product is {bdp_bytes / 1e6:.3g} MB: a flow alone needs that window.\n"
        "# Save it as /etc/sysctl.d/90-satellite.conf, then: sysctl --system"
    ]
    if found.in_linux:
        why = "# The algorithm for this link. It counts at the end that sends: for downloads at the server."
        if found.kind == "module":
            name = MODULES[cc]
            start = f"echo {name} > /etc/modules-load.d/{name}.conf"
            why += f"\n# Its module: modprobe {name}; at every start: {start}"
        parts.append(f"{why}\n{_setting(found)}")
    else:
        how = "; ".join(found.commands) or found.text
        parts.append(f"# The algorithm for this link is {cc}, and no setting chooses it: {how}")
    parts.append(
        "# fq spaces the segments of every flow over the round trip. Bursts of a large window would fill\n"
        "# the queue of the modem, and BBR sends by its rate. It holds for devices that come up later.\n"
        "net.core.default_qdisc = fq"
    )
    ends = {"tcp_rmem": "receives: Linux offers half of it as window", "tcp_wmem": "sends, with its overhead"}
    for name, line, grown in _buffers(bdp_bytes):
        why = "twice the product" if grown else "what Linux has, and enough"
        parts.append(f"# The largest buffer of a socket that {ends[name]}; {why}.\n{line}")
    parts.append(
        "# Data beyond this waits in the program and not in the socket: what is urgent now does not wait\n"
        "# behind megabytes of what was written before.\n"
        f"net.ipv4.tcp_notsent_lowat = {_UNSENT}"
    )
    return "\n\n".join(parts) + "\n"


def _setting(found: Way) -> str:
    """The line that makes an algorithm of Linux the default."""
    return found.commands[-1].removeprefix("sysctl -w ").replace("=", " = ")


def _buffers(bdp_bytes: float) -> Iterator[tuple[str, str, bool]]:
    """The largest buffers of sockets: their names, the lines, and whether they are above those of Linux."""
    for name, (least, usual, most) in _BUFFERS.items():
        grown = 2 * bdp_bytes > most
        largest = min(math.ceil(2 * bdp_bytes / 1e5) * 100_000, 2**31 - 1) if grown else most
        yield name, f"net.ipv4.{name} = {least} {usual} {largest}", grown


def in_a_word(cc: str) -> str:
    """The way to obtain it, for a narrow column: the module's name, or the kind."""
    return MODULES.get(cc) or way(cc).kind


def where(cc: str) -> str:
    """Its file in the kernel's source, and its option; empty if Linux does not have it."""
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
