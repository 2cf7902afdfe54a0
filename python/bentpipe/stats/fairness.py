"""Fairness of shares among flows."""

from __future__ import annotations

import math
from collections.abc import Iterable


def jain(shares: Iterable[float]) -> float:
    """Jain's fairness index of non-negative shares: 1 if all are equal, 1/n if one has everything.

    R. Jain, D. Chiu, W. Hawe: A Quantitative Measure of Fairness and Discrimination for Resource Allocation
    in Shared Computer Systems, DEC-TR-301, 1984. If all shares are 0 they are equal, and the index is 1.

    Raises:
        ValueError: there are no shares, or one is negative.
    """
    given = [float(s) for s in shares]
    if not given:
        raise ValueError("the fairness of no shares is not defined")
    if min(given) < 0:
        raise ValueError(f"a share must not be negative, but one is {min(given)}")
    largest = max(given)
    if largest == 0:
        return 1.0
    scaled = [s / largest for s in given]
    return math.fsum(scaled) ** 2 / (len(scaled) * math.fsum(s * s for s in scaled))
