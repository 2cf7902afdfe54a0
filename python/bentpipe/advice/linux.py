"""Which algorithms Linux has, and how to turn them on.

Source: the kernel's net/ipv4/Kconfig (the TCP_CONG_* options, their names and defaults), and
net/ipv4/Makefile (the names of the modules). Reno is part of net/ipv4/tcp_cong.c and always there. CUBIC is
`default y`; of the rest, which are modules, a distribution builds those that it wants.
"""

from __future__ import annotations

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
}
"""By the id of an algorithm: "built in", or the name of its kernel module. Linux has no others of ours."""
_OPTIONS = {"highspeed": "HSTCP"}
"""Where the name of an option is not that of the module."""


def module(cc: str) -> str | None:
    """How mainline Linux has the algorithm: "built in", a module's name, or None if it has not."""
    return MODULES.get(cc)


def commands(cc: str) -> list[str]:
    """What root types to make it the default of a machine; empty if Linux does not have it."""
    found = MODULES.get(cc)
    if found is None:
        return []
    name = cc if found == "built in" else found.removeprefix("tcp_")
    load = [] if found == "built in" else [f"modprobe {found}"]
    return [*load, f"sysctl -w net.ipv4.tcp_congestion_control={name}"]


def where(cc: str) -> str:
    """Where it is in the kernel's source, and its option; empty if Linux does not have it."""
    found = MODULES.get(cc)
    if found is None:
        return ""
    if cc == "reno":
        return "net/ipv4/tcp_cong.c"
    name = "cubic" if cc == "cubic" else found.removeprefix("tcp_")
    return f"net/ipv4/tcp_{name}.c, option TCP_CONG_{_OPTIONS.get(name, name.upper())}"
