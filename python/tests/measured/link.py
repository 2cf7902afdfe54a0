"""A link of known rate, delay, losses and buffer between two network namespaces, for README.md.

Packets from "left" (10.78.0.1) to "right" (10.78.0.2) pass the transmitter, those of the other way are
delayed only. It runs until SIGTERM, and then says how many packets it saw, dropped and lost.
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import heapq
import os
import random
import select
import signal
import struct
import subprocess
import time

_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000


def tun(namespace: str, name: str, mine: str, peer: str) -> int:
    """A TUN device in a namespace; its packets are those of the descriptor."""
    libc = ctypes.CDLL(None, use_errno=True)
    here, there = (os.open(p, os.O_RDONLY) for p in ("/proc/self/ns/net", f"/var/run/netns/{namespace}"))
    if libc.setns(there, 0) != 0:
        raise OSError(ctypes.get_errno(), f"cannot enter the namespace {namespace}")
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH", name.encode(), _IFF_TUN | _IFF_NO_PI))
    libc.setns(here, 0)
    ip = ["ip", "-n", namespace]
    subprocess.run([*ip, "addr", "add", mine, "peer", peer, "dev", name], check=True)
    subprocess.run([*ip, "link", "set", name, "up", "txqueuelen", "10000"], check=True)
    return device


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for option, kind in (("rate", float), ("delay", float), ("loss", float), ("buffer", int), ("seed", int)):
        parser.add_argument(f"--{option}", type=kind, required=True)
    given = parser.parse_args()
    left = tun("left", "tuna", "10.78.0.1", "10.78.0.2")
    right = tun("right", "tunb", "10.78.0.2", "10.78.0.1")
    chance = random.Random(given.seed)
    idle_from = 0.0  # when the transmitter will have sent all that it has
    under_way: list[tuple[float, int, int, bytes]] = []
    seen = {"sent": 0, "dropped": 0, "lost": 0}
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for number in range(1 << 62):
            wait = 0.5 if not under_way else max(under_way[0][0] - time.monotonic() - 0.001, 0.0)
            for device in select.select([left, right], [], [], wait)[0]:
                packet, now = os.read(device, 4096), time.monotonic()
                if device == right:
                    heapq.heappush(under_way, (now + given.delay, number, left, packet))
                    continue
                seen["sent"] += 1
                if max(idle_from - now, 0.0) * given.rate / 8 + len(packet) > given.buffer:
                    seen["dropped"] += 1
                    continue
                idle_from = max(idle_from, now) + len(packet) * 8 / given.rate
                if chance.random() < given.loss:
                    seen["lost"] += 1
                    continue
                heapq.heappush(under_way, (idle_from + given.delay, number, right, packet))
            while under_way and under_way[0][0] <= time.monotonic():
                _, _, device, packet = heapq.heappop(under_way)
                os.write(device, packet)
    except KeyboardInterrupt:
        print(", ".join(f"{count} {what}" for what, count in seen.items()))


if __name__ == "__main__":
    main()
