"""Statistics over runs: means with confidence intervals, and fairness."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple


class Mean(NamedTuple):
    """A sample mean with the half-width of its confidence interval and the sample's size."""

    mean: float
    half_width: float
    n: int

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.mean + self.half_width


def mean(values: Iterable[float], confidence: float = 0.95) -> Mean:
    """The mean and its confidence interval by Student's t distribution with n - 1 degrees of freedom.

    The values must be independent, one per seed. The half-width of a single value is NaN: one run says
    nothing about how runs differ.

    Raises:
        ValueError: there are no values, or `confidence` is not between 0 and 1.
    """
    sample = [float(v) for v in values]
    if not sample:
        raise ValueError("the mean of no values is not defined")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence}")
    n = len(sample)
    centre = math.fsum(sample) / n
    if n == 1:
        return Mean(centre, math.nan, 1)
    from scipy.special import stdtrit  # a quarter of the time that scipy.stats takes to load

    variance = math.fsum((v - centre) ** 2 for v in sample) / (n - 1)
    t = float(stdtrit(n - 1, (1 + confidence) / 2))
    return Mean(centre, t * math.sqrt(variance / n), n)


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
