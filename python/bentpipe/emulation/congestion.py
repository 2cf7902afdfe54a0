"""Default congestion control of the programs at the ends of an emulation."""

from __future__ import annotations

import errno
import socket
from pathlib import Path
from typing import Literal

from bentpipe import _core
from bentpipe.kernel import machine, routes
from bentpipe.kernel.choice import LONGEST_NAME, kernel_names
from bentpipe.machine.linux import MODULES
from bentpipe.registry import controllers

Means = Literal["sysctl", "route"]
"""Means by which the kernel learns of it: the default of a network namespace, or its routes."""

_SETTINGS = Path("/proc/sys/net/ipv4")
_DEFAULT = _SETTINGS / "tcp_congestion_control"
_ALLOWED = _SETTINGS / "tcp_allowed_congestion_control"


def default() -> str:
    """The kernel's name of the default in the network namespace of this thread."""
    return _DEFAULT.read_text(encoding="ascii").strip()


def chosen(name: str) -> str:
    """The kernel's name of a controller: of our native program or agent if it is attached, else its own.

    A module of the kernel that is not loaded yet is loaded, if this process may.

    Raises:
        ScenarioError: the kernel has none of this name.
    """
    for candidate in kernel_names(name):
        if is_there(candidate):
            return candidate
    raise _core.ScenarioError(f"cc: this kernel has no congestion control called {name}; {_advice(name)}")


def _advice(name: str) -> str:
    """What a message about a missing controller adds: what there is, and how to get it, or near names."""
    there = sorted(machine.registered())
    modules = {module.removeprefix("tcp_") for module in MODULES.values() if module.startswith("tcp_")}
    ours = {entry["id"] for entry in controllers()}
    ways = [f"modprobe tcp_{name}"] * (name in modules) + [f"bentpipe kernel attach {name}"] * (name in ours)
    if ways:
        more = f"; it may be had by {' or by '.join(ways)}"
    elif near := _core.nearest(name, there):
        more = f"; did you mean {' or '.join(near)}?"
    else:
        more = f"; modprobe tcp_{name} loads a module of that name" if name.isidentifier() else ""
    return f"it has {', '.join(there)}{more}"


def is_there(name: str) -> bool:
    """Whether the kernel has an algorithm of this name; a module is loaded, if this process may.

    It is asked by a socket: the list in /proc has only loaded algorithms.
    """
    if not 0 < len(name) <= LONGEST_NAME:
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as asking:
        try:
            asking.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
        except OSError as refused:
            return refused.errno == errno.EPERM  # it exists, but not for this user
    return True


def set_default(name: str) -> Means:
    """Makes an algorithm of the kernel that of new connections in the network namespace of this thread.

    The default of a namespace can only be one that everybody may use (tcp_allowed_congestion_control). Any
    other is written into the routes, which need no such permission. The default is not even tried: Linux 6.18
    refuses it and keeps a reference to the algorithm (tcp_set_default_congestion_control).

    Raises:
        ScenarioError: it takes the program ip, which is not there.
        OSError: the kernel refuses.
    """
    if name in _ALLOWED.read_text(encoding="ascii").split():
        _DEFAULT.write_text(name, encoding="ascii")
        return "sysctl"
    routes.choose_everywhere(name)
    return "route"
