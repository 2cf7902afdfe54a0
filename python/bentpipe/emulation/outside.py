"""A way out of an emulation, and what must be undone when it is over.

The devices and the rules of the packet filter are made in Rust and go with the process. What remains are
programs in its namespaces, and that an interface forwards packets: it is turned on here. A watcher ends the
programs, and turns it off when the last emulation that needs it is over.
"""

from __future__ import annotations

import fcntl
import ipaddress
import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Thread

from bentpipe._core import ScenarioError
from bentpipe.emulation import watcher
from bentpipe.kernel import machine

_CLAIMS = Path("/run/bentpipe")
"""The folder with a file for each interface that forwards for emulations; it holds the previous setting."""
_NETLINK_NETFILTER = 12
_NF_TABLES = 10
"""The subsystem of the packet filter (include/uapi/linux/netfilter/nfnetlink.h)."""
_RESOLVER = Path("/etc/resolv.conf")
_BETWEEN_S = 0.1
"""Between two attempts to start a watcher, if watchers end as soon as they begin."""


@dataclass(frozen=True)
class Forwarding:
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


def claim(interface: str) -> Forwarding:
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
                    return Forwarding(setting, file, descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


class Guard:
    """A watcher, and another in its place when it is killed.

    In the moment between, an emulator that is killed would leave its programs behind: it has two guards, each
    with a claim of its own.

    Args:
        namespaces: descriptors of the namespaces.
        claimed: the claim that the watcher gives back at the end. It belongs to the guard from
            now on.
    """

    def __init__(self, namespaces: Sequence[int], claimed: Forwarding | None = None) -> None:
        self._namespaces = list(namespaces)
        #: The claim that is given back at the end.
        self.claimed = claimed
        self._lock = Lock()
        self._closing = False
        self._watcher = self._start()
        Thread(target=self._keep, daemon=True, name="guard").start()

    def _start(self) -> subprocess.Popen[bytes]:
        """A process that waits for the end of its standard input.

        It then ends the processes left in the namespaces, and gives the claim back.
        """
        undo: list[str] = []
        passed = self._namespaces
        if self.claimed is not None:
            undo = ["claim", str(self.claimed.descriptor), str(self.claimed.file), str(self.claimed.setting)]
            passed = [self.claimed.descriptor, *passed]
        return subprocess.Popen(
            [sys.executable, "-I", "-S", str(watcher.__file__), *undo, *map(str, self._namespaces)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=passed,
            start_new_session=True,
        )

    def _keep(self) -> None:
        while True:
            began = time.monotonic()
            self._watcher.wait()
            with self._lock:
                if self._closing:
                    return
                self._close()
                with suppress(OSError):  # no more processes just now
                    self._watcher = self._start()
            time.sleep(max(0.0, began + _BETWEEN_S - time.monotonic()))

    def end(self) -> None:
        """Makes the watcher end processes left behind by programs, and give the claim back."""
        with self._lock:
            if self.claimed is not None and not self._closing:
                os.close(self.claimed.descriptor)  # the watcher's own is the last
            self._closing = True
            self._close()

    def _close(self) -> None:
        if self._watcher.stdin is not None:
            self._watcher.stdin.close()

    def wait(self, most_s: float) -> None:
        """Waits until that is done, within this time limit."""
        with suppress(subprocess.TimeoutExpired):
            self._watcher.wait(most_s)


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
    rows = machine.text(_RESOLVER).splitlines()
    servers = [row.split()[1] for row in rows if row.startswith("nameserver") and len(row.split()) > 1]
    return bool(servers) and all(_is_loopback(server) for server in servers)


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False
