"""One quantity of a link as estimated: a value, a range, and where it comes from.

Also the statistics behind several estimates: the least of many round trips, a share of losses, and bursts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

NAMES = {
    "rate_bps": "rate",
    "rtt_s": "round-trip time without queues",
    "loss": "packet loss",
    "buffer_bytes": "buffer",
}
"""The quantities that are estimated, with their words."""
_CONFIDENCE = 0.95
_SPACED = 10
"""Number of least values that give the spacing: more would include queueing."""
LEAST_PAIRS = 5
"""Pairs of losses in a row below which nothing is said about bursts."""
CHANCE = 1e-3
"""Losses are bursts if independent ones would show that number of pairs with less than this probability."""


@dataclass(frozen=True)
class Bursts:
    """Losses in bursts, as the model of Gilbert and Elliott has them; see `bursts`.

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


def floor(trips: NDArray[np.float64]) -> tuple[float, float]:
    """The least value, and the lower end of the 95 % interval of the least possible one.

    From the least k values x1 to xk the end is x1 - F (xk - x1) / (k - 1), with F the 95 % point of the F
    distribution of 2 and 2 (k - 1) degrees of freedom. For k = 2, F is 19, the rule of D. S. Robson,
    J. H. Whitlock, Estimation of a Truncation Point, Biometrika 51, 1964. It supposes that values close to
    the least possible one are about as frequent as somewhat larger ones: spacings are then exponential.

    Args:
        trips: round-trip times in seconds, at least one.
    """
    from scipy.special import fdtri

    count = min(len(trips), _SPACED)
    least = np.sort(np.partition(trips, count - 1)[:count])
    first = float(least[0])
    if count < 2:
        return first, first
    spacing = float(least[-1] - first) / (count - 1)
    return first, max(first - float(fdtri(2, 2 * (count - 1), _CONFIDENCE)) * spacing, 0.0)


def share(lost: int, sent: int) -> tuple[float, float, float]:
    """The share of losses with its 95 % interval.

    The interval is that of E. B. Wilson, Probable Inference, the Law of Succession, and Statistical
    Inference, Journal of the American Statistical Association 22, 1927, as scipy computes it.
    """
    from scipy.stats import binomtest

    found = binomtest(lost, sent).proportion_ci(method="wilson")
    return lost / sent, float(found.low), float(found.high)


def bursts(lost: Sequence[bool] | NDArray[np.bool_]) -> Bursts | None:
    """The parameters of bursts, from the packets in the order of sending; None if losses look independent.

    A chain of two states (E. N. Gilbert, Capacity of a Burst-Noise Channel, Bell System Technical Journal
    39, 1960): no losses in the good one, a share of losses in the bad one. Its parameters follow from three
    counts, by Gilbert's equations in section IV: how many packets are lost (a), how many of those after a
    lost one (b), and of three in a row whose outer ones are lost, how many have lost the middle one too (c).
    If they are not probabilities, as with few losses, each run of losses is taken for a burst in which all
    is lost.
    """
    from scipy.stats import binom

    x = np.asarray(lost, dtype=bool)
    n, k = len(x), int(x.sum())
    if n < 3 or k == 0:
        return None
    pairs = int((x[:-1] & x[1:]).sum())
    a = k / n
    if pairs < LEAST_PAIRS or binom.sf(pairs - 1, n - 1, a * a) > CHANCE:
        return None
    runs = k - pairs
    length = k / runs
    b = pairs / k
    outer = x[:-2] & x[2:]
    c = float((outer & x[1:-1]).sum() / outer.sum()) if outer.any() else 1.0
    below = 2 * a * c - b * (a + c)
    if below != 0:
        r = 1 - (a * c - b * b) / below
        share_lost = b / (1 - r) if r < 1 else 0.0
        p = a * r / (share_lost - a) if share_lost > a else 0.0
        if 0 < r < 1 and 0 < share_lost <= 1 and 0 < p < 1:
            return Bursts(p, r, share_lost, length, runs)
    return Bursts(runs / (n - k), 1 / length, 1.0, length, runs)
