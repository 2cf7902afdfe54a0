"""Traffic over a measured link: TCP at full speed, or probes beside some UDP."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any, Protocol

_PORT = 5201
_EVERY_S = 0.01
"""Between two probes."""
_SETTLES_S = 1.0

_ECHO = """
import socket
at = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
at.bind(("", 5202))
while True: at.sendto(*at.recvfrom(100))
"""
_PROBE = """
import json, socket, struct, sys, threading, time
peer, seconds, every, rtt = sys.argv[1], *map(float, sys.argv[2:])
at = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
at.connect((peer, 5202))
at.settimeout(2 + rtt)
found, number = [], int(seconds / every)
def receive():
    try:
        while len(found) < number:
            sent = struct.unpack("d", at.recv(100))[0]
            found.append(time.monotonic() - sent)
    except TimeoutError: pass
thread = threading.Thread(target=receive)
thread.start()
due = time.monotonic()
for _ in range(number):
    at.send(struct.pack("d", time.monotonic()))
    due += every
    time.sleep(max(0, due - time.monotonic()))
thread.join()
print(json.dumps(found))
"""


class LoadedLink(Protocol):
    """A link with programs at its ends."""

    peer: str

    def popen(self, words: Sequence[str], side: str, **given: Any) -> subprocess.Popen[Any]:
        """Starts a program at the near or the far end."""

    def processor_s(self) -> float:
        """Processor time of the emulator so far."""

    def lateness(self) -> dict[str, Any]:
        """After the end: the emulator's report on its own lateness."""


def tcp(link: LoadedLink, seconds: float, skip_s: float) -> tuple[float, float]:
    """Goodput in Mbit/s without the first `skip_s` seconds, and all that was sent and received, in Mbit."""
    words = ["-P", "4", "-C", "cubic", "-O", f"{skip_s:.0f}", "-t", f"{seconds - skip_s:.0f}"]
    server = _server(link)
    client = link.popen([*_client(link), "-J", *words], "near", stdout=subprocess.PIPE, text=True)
    text, _ = client.communicate(timeout=300)
    _end(server)
    said: dict[str, Any] = json.loads(text)
    if "error" in said:
        raise RuntimeError(f"iperf3: {said['error']}")
    received = said["end"]["sum_received"]
    whole = sum(one["sum"]["bytes"] for one in said["intervals"])
    return received["bits_per_second"] / 1e6, 8e-6 * whole


def excess(link: LoadedLink, rate_mbps: float, rtt_ms: float, seconds: float) -> dict[str, float]:
    """The excess of the probes' round trips over the link's, while UDP takes some of the rate."""
    echo = link.popen([sys.executable, "-c", _ECHO], "far")
    try:
        server = _server(link)
        words = [*_client(link), "-u", "-b", f"{rate_mbps}M", "-l", "1400", "-t", f"{seconds + 2:.0f}"]
        load = link.popen(words, "near", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(_SETTLES_S)
        times = [str(seconds), str(_EVERY_S), str(rtt_ms / 1e3)]
        command = [sys.executable, "-c", _PROBE, link.peer, *times]
        probe = link.popen(command, "near", stdout=subprocess.PIPE, text=True)
        said, _ = probe.communicate(timeout=seconds + 60)
        load.wait(60)
        _end(server)
    finally:
        _end(echo)
    longer = sorted(rtt - rtt_ms / 1e3 for rtt in json.loads(said))
    if not longer:
        raise RuntimeError("no probe came back")
    return {
        "probes": len(longer),
        "excess_p50_s": longer[len(longer) // 2],
        "excess_p99_s": longer[int(0.99 * len(longer))],
        "excess_max_s": longer[-1],
    }


def _client(link: LoadedLink) -> list[str]:
    return ["iperf3", "-c", link.peer, "-p", str(_PORT)]


def _server(link: LoadedLink) -> subprocess.Popen[Any]:
    words = ["iperf3", "-s", "-p", str(_PORT)]
    made = link.popen(words, "far", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(_SETTLES_S)
    return made


def _end(process: subprocess.Popen[Any]) -> None:
    process.terminate()
    process.wait()
