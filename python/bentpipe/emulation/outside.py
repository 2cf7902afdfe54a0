"""A way out of an emulation: its changes to this machine, and their reversal.

The devices and the rules of the packet filter are made in Rust and go with the process. What remains is that
an interface forwards packets: it is turned on here, and turned off by the watcher when the last emulation
that needs it is over.
"""

from __future__ import annotations

import fcntl
import ipaddress
import os
import socket
import struct
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bentpipe._core import ScenarioError

_CLAIMS = Path("/run/bentpipe")
"""The folder with a file for each interface that forwards for emulations; it holds the previous setting."""
_NETLINK_NETFILTER = 12
_NF_TABLES = 10
"""The subsystem of the packet filter (include/uapi/linux/netfilter/nfnetlink.h)."""
_RESOLVER = Path("/etc/resolv.conf")


@dataclass(frozen=True)
class Claim:
    """That an interface forwards packets as long as this is held."""

    #: The setting that controls forwarding.
    setting: Path
    #: The file of the emulations that need it, and a descriptor of it with a shared lock.
    file: Path
    descriptor: int

    @property
    def closed(self) -> bool:
        """Whether it did not forward before. If so, only packets of emulations may pass."""
        return os.pread(self.descriptor, 8, 0) == b"0"

    def turn_on(self) -> None:
        """From now on it forwards. A watcher that turns it off must run before."""
        self.setting.write_text("1", encoding="ascii")


def claim(interface: str) -> Claim:
    """Notes that an emulation needs this interface to forward.

    Raises:
        ScenarioError: this machine has no such interface.
        OSError: not for this user.
    """
    names = [name for _, name in socket.if_nameindex() if name != "lo"]
    if interface not in names:
        there = ", ".join(names) or "none but the loopback"
        raise ScenarioError(f"--nat {interface}: there is no such network interface; there are: {there}")
    setting = Path("/proc/sys/net/ipv4/conf", interface, "forwarding")
    _CLAIMS.mkdir(mode=0o755, exist_ok=True)
    file = _CLAIMS / f"forwarding-{os.stat('/proc/thread-self/ns/net').st_ino}-{interface}"
    while True:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            with suppress(BlockingIOError):  # others need it too, and have stored the previous setting
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if not os.pread(descriptor, 8, 0):
                    os.pwrite(descriptor, setting.read_bytes().strip(), 0)
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            with suppress(FileNotFoundError):  # the last of them has just removed it
                if os.path.samestat(os.fstat(descriptor), os.stat(file)) and os.pread(descriptor, 8, 0):
                    return Claim(setting, file, descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def packet_filter() -> bool:
    """Whether the kernel's packet filter, nf_tables, is accessible. A way out needs it."""
    generation = struct.pack("=IHHIIBBH", 20, _NF_TABLES << 8 | 16, 1, 1, 0, 0, 0, 0)  # NFT_MSG_GETGEN
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_NETFILTER) as asked:
            asked.settimeout(1)
            asked.send(generation)
            answer = asked.recv(4096)
    except OSError:
        return False
    return int.from_bytes(answer[4:6], sys.byteorder) >> 8 == _NF_TABLES


def names_stay_unresolved() -> bool:
    """Whether all resolvers of this machine are on its loopback, out of reach of the ends of a link."""
    try:
        rows = _RESOLVER.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    servers = [row.split()[1] for row in rows if row.startswith("nameserver") and len(row.split()) > 1]
    return bool(servers) and all(_is_loopback(server) for server in servers)


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False
