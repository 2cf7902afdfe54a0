"""An emulated link with connections whose algorithm is attached to the kernel, for tests of that."""

from __future__ import annotations

import json
import os
import shutil
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from bentpipe import Controller, _core
from bentpipe.emulation.session import Emulation

SUPPORT = json.loads(_core.kernel_support())
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
MARKS = [
    pytest.mark.root,
    pytest.mark.skipif(not SUPPORT["supported"], reason=str(SUPPORT["reason"])),
    pytest.mark.skipif(
        not Path("/dev/net/tun").exists(), reason="no /dev/net/tun: the link cannot be emulated"
    ),
]

PATIENCE_S = 8.0
#: The kernel's names of what these tests attach: others may have attached something, too.
OWN = f"t{os.getpid()}_"


def link(rate: str = "20 Mbit/s", delay: str = "10 ms", **more: Any) -> dict[str, Any]:
    """A scenario of one link."""
    sat = {"rate": rate, "delay": delay, "queue": {"kind": "drop-tail", "limit": "200 packets"}, **more}
    return {"duration": "60 s", "seed": 1, "link": {"sat": sat}, "flow": [{"cc": "reno", "path": ["sat"]}]}


def until(true: Callable[[], Any], what: str) -> Any:
    """Waits until something is true, and returns it."""
    end = time.monotonic() + PATIENCE_S
    while not (found := true()):
        assert time.monotonic() < end, what
        time.sleep(0.02)
    return found


def bpf_objects() -> dict[str, set[int]]:
    """Ids of all maps, links and tables of operations of the machine."""
    found: dict[str, set[int]] = {}
    for kind in ("map", "link", "struct_ops"):
        listed = subprocess.run(
            ["bpftool", "-j", kind, "list"], capture_output=True, text=True, check=True
        ).stdout
        found[kind] = {row["id"] for row in json.loads(listed or "[]")}
    return found


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """After the test the kernel has the BPF objects, algorithms and control groups that it had before."""
    if shutil.which("bpftool") is None:
        pytest.skip("bpftool is missing: it tells whether anything is left behind")
    root = Path(SUPPORT["cgroup"]["reason"]) if SUPPORT["cgroup"]["ok"] else Path("/nowhere")
    groups = f"bentpipe-run-{os.getpid()}-*"
    before = bpf_objects()
    yield
    # Only what came up meanwhile is waited for: other programs may have objects, too.
    made = {kind: ids - before[kind] for kind, ids in bpf_objects().items()}
    until(lambda: not any(ids & made[kind] for kind, ids in bpf_objects().items()), f"{made} are left behind")
    assert OWN not in AVAILABLE.read_text().split()
    assert not list(root.glob(groups))


class Transfer:
    """A connection from the near to the far end whose far end reads all that comes."""

    def __init__(self, emulation: Emulation, algorithm: str | None) -> None:
        with ExitStack() as stack:
            listener = emulation.within("far", socket.socket)
            stack.enter_context(listener)
            listener.bind((emulation.peer, 0))
            listener.listen()
            near: socket.socket = emulation.within("near", socket.socket)
            if algorithm is not None:
                near.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm.encode())
            near.settimeout(PATIENCE_S)
            near.connect(listener.getsockname())
            far, _ = listener.accept()
        self.near, self.far, self.received = near, far, 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while piece := self.far.recv(1 << 16):
            self.received += len(piece)

    def send(self, count: int) -> None:
        """Sends, and waits until all has arrived."""
        goal = self.received + count
        self.near.sendall(bytes(count))
        until(lambda: self.received >= goal, f"{self.received} of {goal} bytes arrived")

    def window(self) -> tuple[int, int]:
        """cwnd and ssthresh in segments, as the kernel tells any program (TCP_INFO, which ss prints)."""
        info = self.near.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
        words = struct.unpack_from("24I", info, 8)
        return words[18], words[17]

    def close(self) -> None:
        """Closes both ends. A link that ended before the last segments crossed it would keep the near end."""
        name = "{}:{}".format(*self.near.getsockname())
        self.near.close()
        self._reader.join(PATIENCE_S)
        self.far.close()

        def gone() -> bool:
            flows = [flow["local"] for one in attached() for flow in one["flows"]]
            return name not in flows

        until(gone, "the connection is still open")


@contextmanager
def transfer(emulation: Emulation, algorithm: str | None) -> Iterator[Transfer]:
    one = Transfer(emulation, algorithm)
    try:
        yield one
    finally:
        one.close()


@contextmanager
def steered(
    cc: Any, scenario: dict[str, Any], **options: Any
) -> Iterator[tuple[Emulation, _core.KernelAgent, Transfer]]:
    """An emulated link, an agent with this controller, and a connection that it steers."""
    with Emulation(scenario) as emulation, _core.KernelAgent(cc, name=OWN, **options) as agent:
        with transfer(emulation, agent.name) as one:
            yield emulation, agent, one


def attached() -> list[dict[str, Any]]:
    """What these tests have attached now."""
    return [one for one in json.loads(_core.kernel_status()) if one["name"].startswith(OWN)]


def flow_of(status: str) -> dict[str, Any]:
    (flow,) = json.loads(status)["flows"]
    assert isinstance(flow, dict)
    return flow


def settled(agent: _core.KernelAgent) -> dict[str, Any]:
    """The status once the agent has answered all reports."""

    def answered() -> Any:
        now = json.loads(agent.status())
        return now if now["reports"] >= sum(flow["reports"] for flow in now["flows"]) else None

    found = until(answered, "the agent has not answered all reports")
    assert isinstance(found, dict)
    return found


class Fixed(Controller):
    """A window of 17 segments, and a threshold of 9."""

    def __init__(self, mss: int, initial_window: float) -> None:
        super().__init__(mss, initial_window)
        self.cwnd, self.ssthresh = 17.0, 9.0

    def on_ack(self, flow: Any, ack: Any) -> None:
        pass

    def on_congestion(self, flow: Any, why: Any) -> None:
        pass

    def backoff(self, flow: Any, why: Any) -> tuple[float, float]:
        return 17.0, 9.0
