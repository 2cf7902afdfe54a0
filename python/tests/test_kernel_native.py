"""The native programs in the kernel's TCP: real transfers over emulated links, as any program sees them."""

from __future__ import annotations

import hashlib
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from kernel_link import MARKS

from bentpipe import _core
from bentpipe.emulation.session import Emulation

pytestmark = MARKS

NATIVE = ("a-liad", "hswa", "hybla", "star", "vegas-l")
BDP = 83
"""Segments of 1500 bytes in the link: 10 Mbit/s in 100 ms."""
RUN_S = 6.0
PATIENCE_S = 20.0
CWR, RECOVERY, LOSS = 2, 3, 4
"""tcpi_ca_state after a mark, in fast recovery, and while a timeout is repaired."""
INFINITE = 0x7FFFFFFF


def link(**more: Any) -> dict[str, Any]:
    """A scenario of one link whose queue holds a bandwidth-delay product."""
    sat = {"rate": "10 Mbit/s", "delay": "50 ms", "queue": {"kind": "drop-tail", "limit": f"{BDP} packets"}}
    return {
        "duration": "60 s",
        "seed": 4,
        "link": {"sat": sat | more},
        "flow": [{"cc": "reno", "path": ["sat"]}],
    }


@dataclass
class Seen:
    """What was seen of a connection every 10 ms: state, cwnd and ssthresh in segments, RTT in ms.

    `in_time` of the delivered bytes had arrived when the sender stopped.
    """

    algorithm: str = ""
    rows: list[tuple[int, int, int, float]] = field(default_factory=list)
    delivered: int = 0
    in_time: int = 0
    intact: bool = False
    drops: int = 0
    marked: int = 0


def attached(algorithm: str) -> _core.KernelAgent:
    """The native program; names are the whole machine's, so another test may hold it for a while."""
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            return _core.KernelAgent(algorithm, native=True)
        except _core.KernelError as error:
            if "already" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.1)


def watched(algorithm: str, scenario: dict[str, Any], buffer: int | None) -> Seen:
    """A transfer for RUN_S under the native program of `algorithm`; the receiver has `buffer` bytes."""
    seen = Seen()
    with ExitStack() as stack:
        agent = stack.enter_context(attached(algorithm))
        emulation = stack.enter_context(Emulation(scenario))
        for side in ("near", "far"):
            emulation.within(side, lambda: Path("/proc/sys/net/ipv4/tcp_ecn").write_text("1"))
        listener = stack.enter_context(emulation.within("far", socket.socket))
        if buffer is not None:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        listener.bind((emulation.peer, 0))
        listener.listen()
        near = stack.enter_context(emulation.within("near", socket.socket))
        near.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, agent.name.encode())
        near.connect(listener.getsockname())
        far, _ = listener.accept()
        stack.enter_context(far)
        for end in (near, far):  # nothing of a connection outlives it, or the kernel keeps the program for it
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sent, received = hashlib.sha256(), hashlib.sha256()

        def read() -> None:
            while piece := far.recv(1 << 16):
                received.update(piece)
                seen.delivered += len(piece)

        def write() -> None:
            number, end = 0, time.monotonic() + RUN_S
            while time.monotonic() < end:
                piece = number.to_bytes(8, "big") * 1000
                near.sendall(piece)
                sent.update(piece)
                number += 1
            seen.in_time = seen.delivered
            near.shutdown(socket.SHUT_WR)

        threads = [threading.Thread(target=work, daemon=True) for work in (read, write)]
        for thread in threads:
            thread.start()
        while threads[1].is_alive():
            info = near.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
            words = struct.unpack_from("24I", info, 8)
            seen.rows.append((info[1], words[18], words[17], words[15] / 1000))
            time.sleep(0.01)
        name = near.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
        seen.algorithm = name.rstrip(b"\0").decode()
        threads[0].join(5)
        seen.intact = sent.digest() == received.digest()
        way = emulation.snapshot()["forward"]
        seen.marked = way["marked"]
        seen.drops = way["dropped_error"] + way["dropped_queue"]
    return seen


def all_at_once(scenario: dict[str, Any], buffer: int | None = None) -> dict[str, Seen]:
    with ThreadPoolExecutor(len(NATIVE)) as pool:
        runs = {algorithm: pool.submit(watched, algorithm, scenario, buffer) for algorithm in NATIVE}
        return {algorithm: run.result() for algorithm, run in runs.items()}


@pytest.fixture(scope="module")
def lossy() -> Iterator[dict[str, Seen]]:
    yield all_at_once(link(loss={"kind": "packet-error", "rate": 2e-3}))


@pytest.fixture(scope="module")
def interrupted() -> Iterator[dict[str, Seen]]:
    """For 1.5 s nothing is sent; nothing is lost, since the buffer is small: the timeouts are spurious."""
    handover = {"at": ["3 s"], "outage": "1500 ms", "in_flight": "delivered", "queue": "kept"}
    yield all_at_once(
        link(handover=handover, queue={"kind": "drop-tail", "limit": "300 packets"}), buffer=100_000
    )


@pytest.fixture(scope="module")
def marked() -> Iterator[dict[str, Seen]]:
    """A queue that marks what stands in it."""
    queue = {"kind": "codel", "ecn": True, "limit": "1000 packets", "target": "10 ms"}
    yield all_at_once(link(queue=queue))


@pytest.mark.parametrize("algorithm", NATIVE)
def test_a_transfer_arrives_and_fills_the_link_as_its_algorithm_does(
    algorithm: str, lossy: dict[str, Seen]
) -> None:
    seen = lossy[algorithm]
    assert seen.algorithm == "bpn_" + algorithm.replace("-", "_")
    assert seen.intact, f"{seen.delivered} bytes arrived"
    assert seen.drops > 0
    # Vegas-L doubles every other round trip and takes a loss for a loss; the others fill the link.
    share = seen.in_time * 8 / RUN_S / 10e6
    assert share > (0.15 if algorithm == "vegas-l" else 0.6), share
    windows = [cwnd for _, cwnd, _, _ in seen.rows]
    assert windows[0] >= 10 and max(windows) > 20
    assert max(windows) < 20 * BDP, "the window runs away"


@pytest.mark.parametrize("algorithm", NATIVE)
def test_ssthresh_after_a_loss_is_the_algorithms(algorithm: str, lossy: dict[str, Seen]) -> None:
    """Hybla and HSWA keep half, Vegas-L 3/4, A-LIAD at least half; STAR goes to rate x RTTmin."""
    cuts = []
    for before, after in zip(lossy[algorithm].rows, lossy[algorithm].rows[1:], strict=False):
        if before[0] <= 1 and after[0] == RECOVERY and after[2] != before[2] and after[2] < INFINITE:
            cuts.append((before[1], after[2]))
    assert cuts, "no loss was seen as it happened"
    kept = [ssthresh / cwnd for cwnd, ssthresh in cuts]
    middle = sorted(kept)[len(kept) // 2]
    if algorithm == "star":
        assert any(0.5 * BDP < ssthresh < 2 * BDP for _, ssthresh in cuts), cuts
        return
    low, high = {
        "a-liad": (0.45, 1.05), "hswa": (0.45, 0.6), "hybla": (0.45, 0.6), "vegas-l": (0.7, 0.85)
    }[algorithm]  # fmt: skip
    assert low <= middle <= high, cuts


@pytest.mark.parametrize("algorithm", NATIVE)
def test_a_timeout_collapses_the_window_and_a_spurious_one_is_undone(
    algorithm: str, interrupted: dict[str, Seen]
) -> None:
    seen = interrupted[algorithm]
    assert seen.intact and seen.drops == 0
    begun = next((i for i, row in enumerate(seen.rows) if row[0] == LOSS), None)
    assert begun is not None, "no timeout was seen"
    before = seen.rows[begun - 1][1]
    collapsed = [row[1] for row in seen.rows[begun:] if row[0] == LOSS]
    assert min(collapsed) <= 2
    later = [row for row in seen.rows[begun:] if row[0] <= 1]
    assert later, "it never left the repair"
    assert later[0][1] >= before - 1, (before, later[:5])


@pytest.mark.parametrize("algorithm", NATIVE)
def test_a_mark_cuts_the_window_as_a_loss_does(algorithm: str, marked: dict[str, Seen]) -> None:
    """Vegas-L keeps the queue too short for a mark."""
    seen = marked[algorithm]
    assert seen.intact
    if algorithm == "vegas-l":
        return
    assert seen.marked > 0
    cwr = [i for i, row in enumerate(seen.rows) if row[0] == CWR]
    assert cwr, "no reduction was seen"
    before, during = seen.rows[cwr[0] - 1], seen.rows[cwr[0]]
    assert during[2] < INFINITE
    if algorithm in ("hswa", "hybla"):
        assert 0.4 * before[1] <= during[2] <= 0.6 * before[1], (before, during)


def test_the_commands_of_the_page_work() -> None:
    """Those that begin with "# as root", as a reader would paste them."""
    text = (Path(__file__).parents[2] / "docs" / "native.md").read_text(encoding="utf-8")
    block = next(part for part in text.split("```sh\n") if part.startswith("# as root")).split("```")[0]
    shell = f'set -e; bentpipe() {{ "{sys.executable}" -m bentpipe "$@"; }}\n{block}'
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "bpn_a_liad" in done.stdout and "bpn_star" in done.stdout.splitlines()[-1]


def test_nothing_stays_behind(
    lossy: dict[str, Seen], interrupted: dict[str, Seen], marked: dict[str, Seen]
) -> None:
    algorithms = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    assert not [name for name in algorithms if name.startswith("bpn_")]


def test_an_algorithm_without_a_native_program_is_refused_with_the_list() -> None:
    with pytest.raises(_core.KernelError, match="a-liad, hswa, hybla, star, vegas-l"):
        _core.KernelAgent("cubic", native=True)
