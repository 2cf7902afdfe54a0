"""Support of this machine for controllers in its kernel, read from /proc and /sys; nothing is changed."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator, Set
from contextlib import suppress
from glob import iglob
from pathlib import Path
from typing import Any

OLDEST = (6, 1)
"""The first Linux on which the datapath has been run."""

BTF = Path("/sys/kernel/btf/vmlinux")
"""The kernel's description of its own types."""

BPFFS = Path("/sys/fs/bpf")
"""The usual mount point of a bpffs."""

_CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21, "CAP_PERFMON": 38, "CAP_BPF": 39}
"""Bits of the capabilities that matter here (linux/capability.h)."""

_ALL_PROCESSES = "pid:[4026531836]"
"""The process namespace of the machine, outside any container (PROC_PID_INIT_INO, linux/proc_ns.h)."""


def text(path: str | Path) -> str:
    """The text of a file of the system; empty where it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def support() -> dict[str, Any]:
    """The extension's facts about the kernel and about itself, each as `{"ok", "reason", ...}`."""
    from bentpipe import _core

    return dict(json.loads(_core.kernel_support()))


def release() -> str | None:
    """The running Linux, "6.1.0-28-amd64"; None if it is too old, or no Linux."""
    number = re.match(r"(\d+)\.(\d+)", platform.release())
    if platform.system() != "Linux" or number is None:
        return None
    return platform.release() if (int(number[1]), int(number[2])) >= OLDEST else None


def capabilities() -> set[str]:
    """The relevant capabilities that this process has."""
    found = re.search(r"^CapEff:\s*([0-9a-f]+)", text("/proc/self/status"), re.MULTILINE)
    bits = int(found[1], 16) if found else 0
    return {name for name, bit in _CAPABILITIES.items() if bits >> bit & 1}


def privilege() -> str | None:
    """The capabilities with which a datapath can be loaded, in words; None if there are not enough."""
    held = capabilities()
    load = "CAP_SYS_ADMIN" if "CAP_SYS_ADMIN" in held else "CAP_BPF, CAP_PERFMON"
    if "CAP_SYS_ADMIN" not in held and not {"CAP_BPF", "CAP_PERFMON"} <= held:
        return None
    return f"{load}, CAP_NET_ADMIN" if "CAP_NET_ADMIN" in held else f"{load} (no CAP_NET_ADMIN)"


def mounted(kind: str) -> Path | None:
    """The mount point of a file system of this kind, "cgroup2" or "bpf"; None if it is not mounted."""
    for line in text("/proc/self/mounts").splitlines():
        words = line.split(" ")
        if len(words) > 2 and words[2] == kind:
            return Path(re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), words[1]))
    return None


def bpffs() -> Path | None:
    """The mount point of the machine's bpffs, /sys/fs/bpf; None if it is not mounted."""
    return BPFFS if BPFFS.is_mount() and mounted("bpf") is not None else None


def registered() -> set[str]:
    """The congestion-control algorithms that the kernel offers now, ours among them."""
    return set(text("/proc/sys/net/ipv4/tcp_available_congestion_control").split())


def held(namespaces: Set[int]) -> Set[int]:
    """Those of these network namespaces, by inode, that a process, an open file or a mount holds.

    Sockets of programs that were killed keep a namespace that nothing else holds for some minutes: they wait
    for acknowledgements, and no program can reach them. Only root outside a container sees who holds what:
    for others the answer is all of them.
    """
    if os.geteuid() != 0 or os.readlink("/proc/self/ns/pid") != _ALL_PROCESSES:
        return namespaces
    found: set[int] = set()
    for inode in _holds():
        found |= {inode} & namespaces
        if found == namespaces:
            break
    return found


def _holds() -> Iterator[int]:
    """The network namespaces of all mounts, threads and open files."""
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    yield from map(int, re.findall(r" net:\[(\d+)\] ", mounts))
    for pattern in ("/proc/[0-9]*/task/[0-9]*/ns/net", "/proc/[0-9]*/fd/[0-9]*"):
        for link in iglob(pattern):
            with suppress(OSError):  # it has ended meanwhile
                if of_network := re.fullmatch(r"net:\[(\d+)\]", os.readlink(link)):
                    yield int(of_network[1])


def clang() -> str | None:
    """A clang, by the names that scripts/features.sh tries; None if there is none."""
    names = ["clang", *(f"clang-{n}" for n in range(21, 13, -1))]
    return next((path for path in map(shutil.which, names) if path is not None), None)


def qemu() -> str | None:
    """QEMU for this machine's kind of processor; None if it is not installed."""
    return shutil.which(f"qemu-system-{platform.machine()}")


def first_line(command: list[str]) -> str | None:
    """The first line that a program prints; None if it is missing or fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=10, check=True, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip().split("\n")[0] or None


def readable(path: Path) -> str | None:
    """The path itself if this process may read it, else None."""
    return str(path) if os.access(path, os.R_OK) else None


def octets() -> tuple[int, int]:
    """Bytes of IP that were received and sent in the network of this thread so far; 0 if it is not known."""
    lines = [line.split() for line in text("/proc/thread-self/net/netstat").splitlines()]
    found = {
        name: int(value)
        for names, values in zip(lines[::2], lines[1::2], strict=False)
        for name, value in zip(names[1:], values[1:], strict=False)
    }
    return found.get("InOctets", 0), found.get("OutOctets", 0)
