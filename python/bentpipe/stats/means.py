"""A mean and the half-width of its t interval, in the fewest words."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from bentpipe.stats import sample as of


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
    nothing about how runs differ. Values that are alike up to floating-point dust have a half-width of 0.
    `interval` is the longer form, with bounds and medians.

    Raises:
        ValueError: there are no values, or `confidence` is not between 0 and 1.
    """
    sample = [float(v) for v in values]
    if not sample:
        raise ValueError("the mean of no values is not defined")
    of.check_confidence(confidence)
    n, centre = len(sample), of.centre_of(sample)
    if n == 1:
        return Mean(centre, math.nan, 1)
    if of.spread_of(sample, of.size_of(sample)) == 0:
        return Mean(centre, 0.0, n)
    return Mean(centre, of.quantile_of_t(n, confidence) * of.standard_error(sample), n)
