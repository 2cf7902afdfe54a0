"""What is compared: cells, which are a sender, a link and a seed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import product
from typing import Any

RATE = "10 Mbit/s"
RTTS_MS = (20, 100, 500)
PACKET_ERRORS = (0.0, 1e-4, 1e-3)
BUFFERS_BDP = (0.5, 1.0)
SAMPLE_S = 0.025
"""Distance of the samples of window and RTT in both worlds."""

KERNEL = ("reno", "cubic", "bbr")
"""The kernel's own algorithms."""
AGENT = ("star", "hybla", "westwood", "veno", "vegas-l", "a-liad", "hswa")
"""Controllers of this laboratory that steer the kernel through the agent."""
NATIVE = ("star", "hybla", "vegas-l", "a-liad", "hswa")
"""Those that run inside the kernel."""


@dataclass(frozen=True)
class Sender:
    """Who decides about the window of a real transfer: `kernel:cubic`, `agent:star`, `native:star`."""

    home: str
    algorithm: str

    @staticmethod
    def named(text: str) -> Sender:
        """The sender of this name."""
        home, _, algorithm = text.partition(":")
        return Sender(home, algorithm)

    def __str__(self) -> str:
        return f"{self.home}:{self.algorithm}"

    def name_in_kernel(self, mark: int) -> str:
        """What the kernel calls it, 15 characters at most; `mark` tells jobs on one machine apart.

        A native program has its name in it, which is the same for all jobs.
        """
        plain = self.algorithm.replace("-", "_")
        names = {"kernel": self.algorithm, "agent": f"t{mark % 1000:03}_{plain}", "native": f"bpn_{plain}"}
        return names[self.home][:15]


SENDERS = tuple(
    Sender(home, algorithm)
    for home, algorithms in (("kernel", KERNEL), ("agent", AGENT), ("native", NATIVE))
    for algorithm in algorithms
)


@dataclass(frozen=True)
class Cell:
    """One transfer to be made in both worlds.

    Args:
        rtt_ms: round trip without queues.
        per: packet error rate, both ways.
        buffer_bdp: limit of the queue.
        length_s: how long it is watched, from the first SYN on.
    """

    sender: Sender
    rtt_ms: int
    per: float
    buffer_bdp: float
    seed: int
    length_s: float

    @property
    def key(self) -> str:
        """The name of its row, which is that of its file."""
        link = f"{self.rtt_ms}ms-{self.per:g}-{self.buffer_bdp:g}bdp"
        return f"{self.sender.home}-{self.sender.algorithm}-{link}-{self.length_s:g}s-{self.seed}"

    @property
    def link(self) -> tuple[int, float, float]:
        """RTT, packet error rate and buffer."""
        return self.rtt_ms, self.per, self.buffer_bdp

    def as_dict(self) -> dict[str, Any]:
        """Its columns in a table."""
        return {
            "sender": str(self.sender),
            "rtt_ms": self.rtt_ms,
            "per": self.per,
            "buffer_bdp": self.buffer_bdp,
            "seed": self.seed,
            "length_s": self.length_s,
        }

    def scenario(self, *, traced: bool = False) -> dict[str, Any]:
        """The scenario of both worlds."""
        flow: dict[str, Any] = {
            "name": "bulk",
            "cc": self.sender.algorithm,
            "path": ["link"],
            "profile": "linux",
        }
        if self.sender.home != "kernel":
            flow |= {"aen": False}  # the kernel has no such probe
        link = {
            "rate": RATE,
            "delay": f"{self.rtt_ms / 2:g} ms",
            "queue": {"kind": "drop-tail", "limit": f"{self.buffer_bdp:g} bdp"},
        }
        if self.per > 0:
            link["loss"] = {"kind": "packet-error", "rate": self.per}
        made: dict[str, Any] = {
            "title": self.key,
            "duration": f"{self.length_s:g} s",
            "seed": self.seed,
            "link": {"link": link},
            "flow": [flow],
        }
        if traced:
            made["record"] = {"flows": True, "interval": f"{SAMPLE_S * 1e3:g} ms"}
        return made


def full(seeds: int, length_s: float) -> list[Cell]:
    """The whole grid, the seeds outermost: a job that is stopped has whole tables of fewer seeds."""
    return [
        Cell(sender, rtt, per, buffer, seed, length_s)
        for seed in range(1, seeds + 1)
        for rtt, per, buffer, sender in product(RTTS_MS, PACKET_ERRORS, BUFFERS_BDP, SENDERS)
    ]


def quick(seeds: int, length_s: float) -> list[Cell]:
    """Three cells: two of the kernel's algorithms, and TCP-STAR through the agent."""
    senders = (Sender("kernel", "reno"), Sender("kernel", "cubic"), Sender("agent", "star"))
    return [
        Cell(sender, 100, 1e-3, 1.0, seed, length_s) for seed in range(1, seeds + 1) for sender in senders
    ]


def chosen(cells: list[Cell], patterns: list[str]) -> list[Cell]:
    """The cells of which a pattern fits the sender's name, or the name of the row without its seed.

    Raises:
        ScenarioError: a pattern fits none.
    """
    from bentpipe._core import ScenarioError

    def fits(cell: Cell, pattern: str) -> bool:
        return fnmatchcase(str(cell.sender), pattern) or fnmatchcase(cell.key, pattern)

    for pattern in patterns:
        if not any(fits(cell, pattern) for cell in cells):
            known = ", ".join(sorted({str(cell.sender) for cell in cells}))
            raise ScenarioError(f"--only {pattern}: fits no cell; the senders are {known}")
    return [cell for cell in cells if not patterns or any(fits(cell, p) for p in patterns)]


def of_dict(row: dict[str, Any]) -> Cell:
    """The cell that `Cell.as_dict` described."""
    sender = Sender.named(row["sender"])
    rest = {name: row[name] for name in ("rtt_ms", "per", "buffer_bdp", "seed", "length_s")}
    return replace(Cell(sender, 0, 0.0, 0.0, 0, 0.0), **rest)
