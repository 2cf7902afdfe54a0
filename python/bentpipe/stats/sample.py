"""The values of a quantity, one of each run or flow: their common properties, mean and fairness."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

#: Values whose range is at most this share of the largest of them are alike. Sums of floating-point numbers
#: differ by 1e-16 to 1e-12 of their size when the runs are the same. A difference that means something in a
#: network is far larger: one packet of a run with a million is 1e-6.
TOLERANCE = 1e-9


def read(values: Iterable[float], what: str = "values") -> list[float]:
    """The values as floats.

    Raises:
        ValueError: there are none, or one of them is not finite.
    """
    sample = [float(v) for v in values]
    if not sample:
        raise ValueError(f"there are no {what}")
    for v in sample:
        if not math.isfinite(v):
            raise ValueError(f"the {what} must be finite, but one is {v}")
    return sample


def check_confidence(confidence: float) -> None:
    """Refuses a confidence that is not a probability strictly between 0 and 1 (`ValueError`)."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence}")


def size_of(*samples: Iterable[float]) -> float:
    """The largest magnitude of all samples: the scale for floating-point dust."""
    return max(abs(v) for sample in samples for v in sample)


def spread_of(sample: list[float], size: float) -> float:
    """Largest less smallest value; 0 if that is dust beside `size`."""
    spread = max(sample) - min(sample)
    return 0.0 if spread <= TOLERANCE * size else spread


def centre_of(sample: list[float]) -> float:
    """The mean."""
    return math.fsum(sample) / len(sample)


def standard_error(sample: list[float]) -> float:
    """The estimated standard deviation of the mean of two or more independent values."""
    n, centre = len(sample), centre_of(sample)
    return math.sqrt(math.fsum((v - centre) ** 2 for v in sample) / (n - 1) / n)


def quantile_of_t(n: int, confidence: float) -> float:
    """The half-width of the t interval of a mean of `n` values, in standard errors."""
    from scipy.special import stdtrit  # a quarter of the time that scipy.stats takes to load

    return float(stdtrit(n - 1, (1 + confidence) / 2))


class Mean(NamedTuple):
    """A sample mean with the half-width of its confidence interval, the sample's size, the possible range.

    No end of the interval lies beyond that range. The half-width is that of the interval without it.
    """

    mean: float
    half_width: float
    n: int
    least: float = -math.inf
    most: float = math.inf

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return max(self.mean - self.half_width, self.least)

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return min(self.mean + self.half_width, self.most)

    @property
    def arms(self) -> tuple[float, float]:
        """How far the interval reaches below the mean and above it."""
        return self.mean - self.low, self.high - self.mean


def mean(values: Iterable[float], confidence: float = 0.95) -> Mean:
    """The mean and its confidence interval by Student's t distribution with n - 1 degrees of freedom.

    The values must be independent, one per seed. The half-width of a single value is NaN: one run says
    nothing about how runs differ. Values that are alike up to floating-point dust have a half-width of 0.
    `interval` is the longer form, with bounds and medians.

    Raises:
        ValueError: there are no values, or `confidence` is not between 0 and 1.
    """
    sample = [float(v) for v in values]
    if not sample:
        raise ValueError("the mean of no values is not defined")
    check_confidence(confidence)
    n, centre = len(sample), centre_of(sample)
    if n == 1:
        return Mean(centre, math.nan, 1)
    if spread_of(sample, size_of(sample)) == 0:
        return Mean(centre, 0.0, n)
    return Mean(centre, quantile_of_t(n, confidence) * standard_error(sample), n)


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
