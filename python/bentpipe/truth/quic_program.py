"""Cells of the comparison with QUIC, and their transfers by the program `bentpipe-quic` of crates/quic."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from bentpipe.truth.cell import Cell, Sender
from bentpipe.truth.real import TransferFailed, end

SIMULATED = "simulated"
WORLDS = {SIMULATED: "TCP sim.", "kernel": "TCP real", "quic_simulated": "QUIC sim.", "quic": "QUIC real"}
"""The worlds, in the order of the table."""

SENDERS = {
    "reno": ("kernel:reno",),
    "cubic": ("kernel:cubic",),
    "star": ("native:star", "agent:star"),
    "hybla": ("native:hybla", "agent:hybla"),
    "vegas-l": ("native:vegas-l", "agent:vegas-l"),
    "bbr": ("kernel:bbr",),
}
"""Six controllers, and the senders that run each in the kernel's TCP: the first that the kernel accepts."""

RTTS_MS = (20, 100, 500)
PACKET_ERRORS = (0.0, 1e-3)
BUFFER_BDP = 1.0


@dataclass(frozen=True)
class QuicCell:
    """One transfer to be made in all worlds.

    Args:
        rtt_ms: round trip without queues.
        per: packet error rate of the forward direction. The return direction loses nothing.
        length_s: observed time, from the first packet on.
    """

    algorithm: str
    rtt_ms: int
    per: float
    seed: int
    length_s: float

    @property
    def key(self) -> str:
        """Its name, which is that of its file."""
        return f"quic-{self.algorithm}-{self.rtt_ms}ms-{self.per:g}-{self.length_s:g}s-{self.seed}"

    def kernels(self) -> list[Cell]:
        """The same transfer with the kernel's TCP, by each sender that could run the controller."""
        senders = [Sender.named(name) for name in SENDERS[self.algorithm]]
        return [
            Cell(sender, self.rtt_ms, self.per, BUFFER_BDP, self.seed, self.length_s) for sender in senders
        ]

    def scenario(self) -> dict[str, Any]:
        """The scenario of QUIC's worlds, on the kernel's link; its flow only gives the path.

        Links of one name and seed lose packets of the same numbers.
        """
        return {**self.kernels()[0].scenario(), "flow": [{"cc": "reno", "path": ["link"]}]}

    def as_dict(self) -> dict[str, Any]:
        """Its columns in a table."""
        return {
            "controller": self.algorithm,
            "rtt_ms": self.rtt_ms,
            "per": self.per,
            "seed": self.seed,
            "length_s": self.length_s,
        }


def full(seeds: int = 3, length_s: float = 60.0) -> list[QuicCell]:
    """Every controller on every link, the seeds outermost."""
    return [
        QuicCell(algorithm, rtt, per, seed, length_s)
        for seed in range(1, seeds + 1)
        for rtt, per, algorithm in product(RTTS_MS, PACKET_ERRORS, SENDERS)
    ]


def quick(seeds: int = 1, length_s: float = 20.0) -> list[QuicCell]:
    """Every controller on one link, RTT 100 ms and PER 1e-3."""
    return [
        QuicCell(algorithm, 100, 1e-3, seed, length_s)
        for seed in range(1, seeds + 1)
        for algorithm in SENDERS
    ]


NAME = "bentpipe-quic"
INTERVAL_S = 0.1
"""Distance of the samples."""
PATIENCE_S = 10.0
"""Time limit for a transfer after its end."""
LISTENS_S = 5.0
"""Time limit for the receiver to listen."""
_UDP = ("/proc/net/udp", "/proc/net/udp6")


class NotBuilt(OSError):
    """The program is not there; the message says how to get it."""


def program() -> str:
    """The path of the program: beside this Python, on PATH, or as the checkout built it.

    Raises:
        NotBuilt: the program is nowhere.
    """
    beside = Path(sys.executable).with_name(NAME)
    built = Path(__file__).parents[3] / "target" / "release" / NAME
    for place in (str(beside), shutil.which(NAME), str(built)):
        if place and os.access(place, os.X_OK):
            return place
    raise NotBuilt(f"{NAME} is not there; build it in a checkout: make quic")


class QuicTransfer:
    """A real transfer over QUIC that is under way. Leave it by `finish` or `abandon`."""

    def __init__(self, cell: QuicCell, tool: str) -> None:
        from bentpipe.emulation.session import Emulation

        self.cell = cell
        self._held = ExitStack()
        try:
            self._emulation: Any = self._held.enter_context(Emulation(cell.scenario(), seed=cell.seed))
            self._receiver = self._start([tool, "serve", "--once"], "far")
            _await_listener(self._receiver)
            command = [tool, "send", self._emulation.peer, "--cc", cell.algorithm]
            command += ["--for", str(cell.length_s), "--interval", str(INTERVAL_S)]
            self._sender = self._start(command, "near")
        except BaseException:
            self.abandon()
            raise
        self._end = time.monotonic() + cell.length_s + PATIENCE_S

    def _start(self, command: list[str], side: str) -> subprocess.Popen[str]:
        process: subprocess.Popen[str] = self._emulation.popen(
            command, side=side, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._held.callback(end, process)
        return process

    def step(self) -> bool:
        """Whether the sender has ended, or has had the time to."""
        return self._sender.poll() is not None or time.monotonic() > self._end

    def finish(self) -> tuple[dict[str, float], dict[str, Any]]:
        """The numbers of the transfer (`numbers`) and the emulator's report, once it is over.

        Raises:
            TransferFailed: a program at one of the ends failed.
        """
        try:
            try:
                said, wrong = self._sender.communicate(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                raise TransferFailed(f"{self.cell.key}: the sender did not end") from None
            if self._sender.returncode != 0:
                raise TransferFailed(f"{self.cell.key}: {wrong.strip() or 'the sender died'}")
        finally:
            self.abandon()
        return numbers(json.loads(said)), self._emulation.report()

    def abandon(self) -> None:
        """Ends the programs and the emulated link."""
        self._held.close()


def simulate(cell: QuicCell, tool: str, folder: Path) -> dict[str, float]:
    """The numbers of the same transfer in simulated time.

    Raises:
        TransferFailed: the program failed.
    """
    scenario = folder / f"{cell.key}.scenario.json"
    scenario.write_text(json.dumps(cell.scenario()), encoding="utf-8")
    command = [tool, "simulate", str(scenario), "--cc", cell.algorithm, "--seed", str(cell.seed)]
    command += ["--for", str(cell.length_s), "--interval", str(INTERVAL_S)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    scenario.unlink()
    if done.returncode != 0:
        raise TransferFailed(f"{cell.key}: {done.stderr.strip()}")
    return numbers(json.loads(done.stdout))


def numbers(report: dict[str, Any]) -> dict[str, float]:
    """The compared quantities of a report: goodput, mean RTT after the handshake, losses per packet sent.

    Also the worst lateness of the program, which a busy machine causes.
    """
    samples = report["samples"]
    settled = [row["rtt_s"] for row in samples if row["t_s"] > 2 * report["rtt_min_s"]]
    return {
        "goodput_bps": report["goodput_bps"],
        "rtt_s": sum(settled) / max(1, len(settled)),
        "lost": report["lost_packets"] / max(1, report["sent_packets"]),
        "late_s": report.get("late_max_s", 0.0),
    }


def _await_listener(process: subprocess.Popen[str]) -> None:
    """Waits until the process holds a UDP socket: the kernel lists those of its network namespace."""
    deadline = time.monotonic() + LISTENS_S
    while time.monotonic() < deadline and process.poll() is None:
        for table in _UDP:
            try:
                lines = Path(f"/proc/{process.pid}{table.removeprefix('/proc')}").read_text(encoding="ascii")
            except OSError:
                continue
            if any(line.split()[1].endswith(":1151") for line in lines.splitlines()[1:]):  # 4433
                return
        time.sleep(0.01)
    if process.poll() is not None:
        _, wrong = process.communicate()
        raise TransferFailed(wrong.strip() or f"{NAME} serve died")
    raise TransferFailed(f"{NAME} serve does not listen after {LISTENS_S:g} s")
