"""Cells of the comparison: a sender, a link and a seed each."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import product
from typing import Any, Protocol, TypeVar

from bentpipe.io.toml_tables import beside

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
    """The controller of the window of a real transfer: `kernel:cubic`, `agent:star`, `native:star`."""

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
        """Its name in the kernel, 15 characters at most; `mark` distinguishes jobs on one machine.

        A native program has its name in it, which is the same for all jobs.
        """
        plain = self.algorithm.replace("-", "_")
        names = {"kernel": self.algorithm, "agent": f"t{mark % 1000:03}_{plain}", "native": f"bpn_{plain}"}
        return names[self.home][:15]


LINKS = beside(__file__, "cell.toml")
"""Links beside the grid's: values that replace 10 Mbit/s, 100 ms, no losses and a queue of one BDP."""
PRESETS = ("vsat-arq", "vsat-dama", "geo-pep", "leo-handover")
"""Shipped scenarios whose links are compared, too, with the path and the relay of their flow."""

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
        per: packet error rate of the forward direction. The return direction loses nothing.
        buffer_bdp: limit of the queue.
        length_s: observed time, from the first SYN on.
        named: one of `LINKS` or `PRESETS` instead of the link of the three numbers, which are 0 then.
    """

    sender: Sender
    rtt_ms: int
    per: float
    buffer_bdp: float
    seed: int
    length_s: float
    named: str = ""

    @property
    def key(self) -> str:
        """The name of its row, which is that of its file."""
        link = self.named or f"{self.rtt_ms}ms-{self.per:g}-{self.buffer_bdp:g}bdp"
        return f"{self.sender.home}-{self.sender.algorithm}-{link}-{self.length_s:g}s-{self.seed}"

    @property
    def link(self) -> tuple[int, float, float, str]:
        """RTT, packet error rate, buffer, and the name of a link that has one."""
        return self.rtt_ms, self.per, self.buffer_bdp, self.named

    def as_dict(self) -> dict[str, Any]:
        """Its columns in a table."""
        return {
            "sender": str(self.sender),
            "rtt_ms": self.rtt_ms,
            "per": self.per,
            "buffer_bdp": self.buffer_bdp,
            "link": self.named,
            "seed": self.seed,
            "length_s": self.length_s,
        }

    def scenario(self, *, traced: bool = False) -> dict[str, Any]:
        """The scenario of both worlds."""
        flow: dict[str, Any] = {"name": "bulk", "cc": self.sender.algorithm, "profile": "linux"}
        if self.sender.home != "kernel":
            flow |= {"aen": False}  # the kernel has no such probe
        links, way = self._links()
        made: dict[str, Any] = {
            "title": self.key,
            "duration": f"{self.length_s:g} s",
            "seed": self.seed,
            "link": links,
            "flow": [flow | way],
        }
        if traced:
            made["record"] = {"flows": True, "interval": f"{SAMPLE_S * 1e3:g} ms"}
        return made

    def _links(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The tables of the links, and the flow's way over them."""
        if self.named in PRESETS:
            from bentpipe.document.source import Source

            shipped = Source(self.named).raw()
            (flow,) = shipped["flow"]
            way = {"path": flow["path"]}
            if relay := flow.get("relay"):
                way["relay"] = {**relay, "cc": self.sender.algorithm}  # one that every kernel has
            return shipped["link"], way
        link: dict[str, Any] = {"rate": RATE, "delay": f"{self.rtt_ms / 2:g} ms"}
        if self.named:
            link |= {"delay": "50 ms", **LINKS[self.named]}
        else:
            link["queue"] = {"kind": "drop-tail", "limit": f"{self.buffer_bdp:g} bdp"}
        if self.per > 0:
            link["loss"] = {"kind": "packet-error", "rate": self.per}
        return {"link": link}, {"path": ["link"]}


def on_link(named: str, sender: Sender, seed: int, length_s: float) -> Cell:
    """The cell of a link that has a name."""
    return Cell(sender, 0, 0.0, 0.0, seed, length_s, named)


def full(seeds: int = 5, length_s: float = 120.0) -> list[Cell]:
    """The whole grid, the seeds outermost: a job that is stopped has complete tables of fewer seeds."""
    return [
        Cell(sender, rtt, per, buffer, seed, length_s)
        for seed in range(1, seeds + 1)
        for rtt, per, buffer, sender in product(RTTS_MS, PACKET_ERRORS, BUFFERS_BDP, SENDERS)
    ]


def further(seeds: int = 3, length_s: float = 30.0) -> list[Cell]:
    """The kernel's own algorithms on every link that has a name, the seeds outermost."""
    return [
        on_link(named, Sender("kernel", algorithm), seed, length_s)
        for seed in range(1, seeds + 1)
        for named, algorithm in product((*LINKS, *PRESETS), KERNEL)
    ]


def quick(seeds: int = 1, length_s: float = 20.0) -> list[Cell]:
    """Three cells: two of the kernel's algorithms, and TCP-STAR through the agent."""
    senders = (Sender("kernel", "reno"), Sender("kernel", "cubic"), Sender("agent", "star"))
    return [
        Cell(sender, 100, 1e-3, 1.0, seed, length_s) for seed in range(1, seeds + 1) for sender in senders
    ]


class Named(Protocol):
    """What `chosen` looks at."""

    sender: Sender

    @property
    def key(self) -> str:
        """The name of its row."""


Some = TypeVar("Some", bound=Named)


def chosen(cells: list[Some], patterns: list[str]) -> list[Some]:
    """The cells for which a pattern fits the sender's name, or the name of the row without its seed.

    Raises:
        ScenarioError: a pattern fits none.
    """
    from bentpipe._core import ScenarioError

    def fits(cell: Some, pattern: str) -> bool:
        return fnmatchcase(str(cell.sender), pattern) or fnmatchcase(cell.key, pattern)

    for pattern in patterns:
        if not any(fits(cell, pattern) for cell in cells):
            known = ", ".join(sorted({str(cell.sender) for cell in cells}))
            raise ScenarioError(f"--only {pattern}: fits no cell; the senders are {known}")
    return [cell for cell in cells if not patterns or any(fits(cell, p) for p in patterns)]


def of_dict(row: dict[str, Any]) -> Cell:
    """The cell that `Cell.as_dict` described."""
    names = ("rtt_ms", "per", "buffer_bdp", "seed", "length_s")
    return Cell(Sender.named(row["sender"]), **{name: row[name] for name in names}, named=row["link"] or "")
