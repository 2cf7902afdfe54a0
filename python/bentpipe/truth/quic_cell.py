"""Cells of the comparison with QUIC: a controller and a link, in four worlds."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

from bentpipe.truth.cell import Cell, Sender

SIMULATED, KERNEL, QUIC_SIMULATED, QUIC = "simulated", "kernel", "quic_simulated", "quic"
WORLDS = {
    SIMULATED: "TCP sim.",
    KERNEL: "TCP real",
    QUIC_SIMULATED: "QUIC sim.",
    QUIC: "QUIC real",
}
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


def full(seeds: int, length_s: float) -> list[QuicCell]:
    """Every controller on every link, the seeds outermost."""
    return [
        QuicCell(algorithm, rtt, per, seed, length_s)
        for seed in range(1, seeds + 1)
        for rtt, per, algorithm in product(RTTS_MS, PACKET_ERRORS, SENDERS)
    ]


def quick(seeds: int, length_s: float) -> list[QuicCell]:
    """Every controller on one link, RTT 100 ms and PER 1e-3."""
    return [
        QuicCell(algorithm, 100, 1e-3, seed, length_s)
        for seed in range(1, seeds + 1)
        for algorithm in SENDERS
    ]
