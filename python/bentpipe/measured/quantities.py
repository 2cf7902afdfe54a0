"""One quantity of a link as estimated: a value, a range, and where it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

NAMES = {
    "rate_bps": "rate",
    "rtt_s": "round-trip time without queues",
    "loss": "packet loss",
    "buffer_bytes": "buffer",
}
"""The quantities that are estimated, with their words."""


@dataclass(frozen=True)
class Bursts:
    """Losses in bursts, as the model of Gilbert and Elliott has them; see `losses.bursts`.

    Attributes:
        p: probability, a packet, that a burst begins.
        r: probability, a packet, that it ends.
        bad_loss: share of packets that are lost in a burst.
        length: mean number of losses in a row, as counted.
        found: how many runs of losses there were.
    """

    p: float
    r: float
    bad_loss: float
    length: float
    found: int


@dataclass(frozen=True)
class Estimate:
    """A quantity as estimated from one file.

    Attributes:
        name: one of `NAMES`, whose ending is the unit; loss is a share of packets.
        value: the best guess.
        low: the least that it may be ...
        high: ... and the most.
        method: how it was found, one clause.
        source: the file.
        bound: "" for an estimate; "least" if the truth may well be above `high`.
        weight: how good the method is for this quantity; the heaviest estimate is taken.
        bursts: of loss, whether losses come in bursts.
    """

    name: str
    value: float
    low: float
    high: float
    method: str
    source: Path
    bound: str = ""
    weight: int = 1
    bursts: Bursts | None = None

    def __str__(self) -> str:
        more = " or more" if self.bound == "least" else ""
        shown = f"{_shown(self.name, self.value)}{more}"
        if self.low != self.high:
            shown += f" ({_shown(self.name, self.low)} to {_shown(self.name, self.high)})"
        return f"{NAMES[self.name]} {shown}: {self.method} ({self.source.name})"


def best(estimates: Sequence[Estimate], name: str) -> Estimate | None:
    """The estimate to take of several files: the heaviest, then the one with the narrowest range.

    Of round-trip times without queues the least of all files is the best: queues only add. Of rates and
    buffers it is the greatest of the heaviest: no transfer gets more than there is.
    """
    known = [one for one in estimates if one.name == name]
    if name == "rtt_s":
        return min(known, key=lambda one: one.value, default=None)
    if name in ("rate_bps", "buffer_bytes"):
        return max(known, key=lambda one: (one.weight, one.value), default=None)
    return max(known, key=lambda one: (one.weight, one.low - one.high), default=None)


def _shown(name: str, value: float) -> str:
    from bentpipe.units import digits, rate

    match name:
        case "rate_bps":
            return rate(value)
        case "rtt_s":
            return f"{digits(value * 1e3)} ms"
        case "loss":
            return f"{value:.2g}"
        case _:
            return f"{digits(value / 1e3)} kB"
