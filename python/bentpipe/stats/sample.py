"""The values of a quantity, one of each run or flow: their common properties, and fairness."""

from __future__ import annotations

import math
from collections.abc import Iterable

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
