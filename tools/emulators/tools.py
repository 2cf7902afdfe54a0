"""The emulators that are measured: a link of each, with a near and a far end in namespaces of their own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from loads import LoadedLink

from bentpipe.emulation.session import Emulation

_PACKET = 1500
_MAHIMAHI_PACKET = 1504
"""Bytes of one opportunity of a trace of mm-link: an IP packet and the header of a TUN device."""
_FEWEST = 100
_SETTINGS = (
    "net.ipv4.tcp_rmem=4096 131072 67108864",
    "net.ipv4.tcp_wmem=4096 65536 67108864",
    "net.ipv4.tcp_no_metrics_save=1",
)
_NOBODY = 65534


def queue_packets(rate_mbps: float, rtt_ms: float) -> int:
    """One bandwidth-delay product, and some where that is very little."""
    return max(_FEWEST, round(rate_mbps * 1e3 * rtt_ms / 8 / _PACKET))


class Bentpipe:
    """Ours."""

    name = "bentpipe"

    def lacks(self) -> str:
        """The reason why it cannot be measured here; empty if it can."""
        return "" if os.geteuid() == 0 else "it takes root"

    @contextmanager
    def link(self, rate_mbps: float, rtt_ms: float) -> Iterator[LoadedLink]:
        """A link, forwarded by this process."""
        queue = {"kind": "drop-tail", "limit": f"{queue_packets(rate_mbps, rtt_ms)} packets"}
        link = {"rate": f"{rate_mbps:g} Mbit/s", "delay": f"{rtt_ms / 2:g} ms", "queue": queue}
        with Emulation({"link": {"link": link}}) as emulation:
            made = _Ours(emulation)
            yield made
        made.report = emulation.report()


class _Ours:
    def __init__(self, emulation: Emulation) -> None:
        self._emulation = emulation
        self.peer = emulation.peer
        self.report: Mapping[str, Any] = {}

    def popen(self, words: Sequence[str], side: Any, **given: Any) -> subprocess.Popen[Any]:
        return self._emulation.popen(words, side, **given)

    def processor_s(self) -> float:
        return time.process_time()

    def lateness(self) -> dict[str, Any]:
        ways = [self.report[way] for way in ("forward", "reverse")]
        names = [f"lateness_{part}_s" for part in ("p50", "p99", "p999", "max")]
        return {name: max(way[name] for way in ways) for name in names}


class Mahimahi:
    """mm-delay around mm-link, in a namespace of its own, because they change that which they begin in."""

    name = "mahimahi"

    def lacks(self) -> str:
        """The reason why it cannot be measured here."""
        for program in ("mm-link", "mm-delay"):
            path = shutil.which(program)
            if path is None:
                return f"{program} is not in PATH"
            if not os.stat(path).st_mode & 0o4000:
                return f"{path} is not setuid"
        return "" if os.geteuid() == 0 else "it takes root here"

    @contextmanager
    def link(self, rate_mbps: float, rtt_ms: float) -> Iterator[LoadedLink]:
        """A link, forwarded by the processes of mm-delay and mm-link."""
        total = round(rate_mbps * 1e6 / 8 / _MAHIMAHI_PACKET)
        with TemporaryDirectory() as directory:
            trace = Path(directory) / "trace"
            trace.write_text("".join(f"{i * 1000 // total + 1}\n" for i in range(total)), encoding="utf-8")
            os.chmod(directory, 0o755)
            queue = f"packets={queue_packets(rate_mbps, rtt_ms)}"
            queues = [f"--{way}-queue{more}" for way in ("uplink", "downlink")
                      for more in ("=droptail", f"-args={queue}")]  # fmt: skip
            last = ["mm-link", str(trace), str(trace), *queues, "--", "tail", "-f", "/dev/null"]
            # mm-link refuses to begin in a namespace that does not forward, as that of mm-delay is at first.
            wait = 'until [ "$(cat /proc/sys/net/ipv4/ip_forward)" = 1 ]; do sleep 0.1; done; exec "$@"'
            chain = ["mm-delay", f"{rtt_ms / 2:.0f}", "sh", "-c", wait, "sh", *last]
            user = ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups"]
            begin = 'ip link set lo up && sysctl -qw net.ipv4.ip_forward=1 "$0" && exec "$@"'
            words = ["unshare", "-n", "sh", "-c", begin, _SETTINGS[-1], *user, *chain]
            quiet = subprocess.DEVNULL  # its end is one of errors
            at_home = os.environ | {"HOME": directory}
            process = subprocess.Popen(words, env=at_home, stdin=subprocess.PIPE, stderr=quiet)
            try:
                inner = _waited(lambda: _forwarding(process.pid))
                yield _Nested(process.pid, inner)
            finally:
                for one in _family(process.pid):  # the innermost ends first, then all others by themselves
                    with suppress(OSError):
                        if _name(one) == "tail":
                            os.kill(one, signal.SIGTERM)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(5)
                for one in _family(process.pid):
                    with suppress(OSError):
                        os.kill(one, signal.SIGKILL)
                process.wait()


class _Spaces:
    """Programs in two namespaces, those of processes at either end."""

    peer = "10.77.0.2"

    def __init__(self, near: int, far: int) -> None:
        self._pids = {"near": near, "far": far}
        for pid in self._pids.values():
            subprocess.run([*_inside(pid), "sysctl", "-qw", *_SETTINGS], check=True)

    def popen(self, words: Sequence[str], side: str, **given: Any) -> subprocess.Popen[Any]:
        return subprocess.Popen([*_inside(self._pids[side]), *words], **given)

    def processor_s(self) -> float:
        return 0.0  # part of the kernel's work for the programs

    def lateness(self) -> dict[str, Any]:
        return {}


class _Nested(_Spaces):
    """Programs in the namespace of mahimahi's shell, the near end, and around it, the far end."""

    def __init__(self, outer: int, inner: int) -> None:
        super().__init__(inner, outer)
        environment = Path(f"/proc/{inner}/environ").read_bytes().split(b"\0")
        self.peer = next(
            item.partition(b"=")[2].decode() for item in environment if item.startswith(b"MAHIMAHI_BASE=")
        )

    def processor_s(self) -> float:
        return sum(_processor_s(one) for one in _family(self._pids["far"]) if _name(one).startswith("mm-"))


class Netem:
    """The kernel's netem qdisc on both ends of a veth."""

    name = "netem"

    def lacks(self) -> str:
        """The reason why it cannot be measured here."""
        if os.geteuid() != 0:
            return "it takes root"
        words = ["unshare", "-n", "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return "" if done.returncode == 0 else f"this kernel has none ({done.stderr.strip().rstrip('.')})"

    @contextmanager
    def link(self, rate_mbps: float, rtt_ms: float) -> Iterator[LoadedLink]:
        """A link, forwarded by the kernel."""
        ends = {}
        for side in ("near", "far"):
            ends[side] = subprocess.Popen(["unshare", "-n", "sleep", "1d"])
        try:
            time.sleep(0.5)
            near, far = (ends[side].pid for side in ("near", "far"))
            add = ["ip", "link", "add", "v", "type", "veth", "peer", "name", "v", "netns", str(far)]
            subprocess.run([*_inside(near), *add], check=True)
            queue = queue_packets(rate_mbps, rtt_ms) + round(rate_mbps * 1e3 * rtt_ms / 16 / _PACKET)
            netem = f"netem rate {rate_mbps:g}mbit delay {rtt_ms / 2:g}ms limit {queue}"
            for number, pid in ((1, near), (2, far)):
                for command in (
                    f"ip addr add 10.77.0.{number}/24 dev v",
                    "ip link set v up",
                    f"tc qdisc add dev v root {netem}",
                ):
                    subprocess.run([*_inside(pid), *command.split()], check=True)
                # Offloads would make one packet of many.
                off = ["ethtool", "-K", "v", "tso", "off", "gso", "off", "gro", "off"]
                subprocess.run([*_inside(pid), *off], check=True)
            yield _Spaces(near, far)
        finally:
            for process in ends.values():
                process.kill()
                process.wait()


Tool = Bentpipe | Mahimahi | Netem
"""An emulator: each has links of a rate both ways, with a queue of one bandwidth-delay product."""


def _inside(pid: int) -> list[str]:
    return ["nsenter", "-t", str(pid), "-n"]


def _stat(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()


def _name(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()


def _processor_s(pid: int) -> float:
    try:
        fields = _stat(pid)
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _family(root: int) -> list[int]:
    """A process and all that it has started, directly or not, innermost last."""
    found, parents = [root], {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                parents[int(entry.name)] = int(_stat(int(entry.name))[1])
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


def _forwarding(root: int) -> int | None:
    """The program in the innermost shell, once it is there; until then all namespaces learn to forward."""
    for one in _family(root):
        with suppress(OSError):
            if _name(one) == "tail":
                return one
            words = [*_inside(one), "sysctl", "-qw", "net.ipv4.ip_forward=1"]
            subprocess.run(words, stderr=subprocess.DEVNULL, check=False)
    return None


def _waited(ask: Any) -> int:
    until = time.monotonic() + 10
    while (found := ask()) is None:
        if time.monotonic() > until:
            raise RuntimeError("the emulator has not begun")
        time.sleep(0.05)
    return int(found)
