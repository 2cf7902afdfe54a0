"""A share of losses with its range, and whether losses come in bursts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bentpipe.measured.quantities import Bursts

LEAST_PAIRS = 5
"""Pairs of losses in a row below which nothing is said about bursts."""
CHANCE = 1e-3
"""Losses are bursts if independent ones would show that number of pairs with less than this probability."""


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
