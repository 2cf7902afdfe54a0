"""Confidence intervals of means and medians, and of differences run by run."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal, NamedTuple

from bentpipe.stats.sample import (
    TOLERANCE,
    centre_of,
    check_confidence,
    quantile_of_t,
    read,
    size_of,
    spread_of,
    standard_error,
)
from bentpipe.units import exponent

Centre = Literal["mean", "median"]
Method = Literal["t", "bootstrap"]

#: Resamples of a bootstrap: the default of scipy.
_RESAMPLES = 9999
#: Any number does: with a fixed one the same values have the same interval.
_SEED = 14


class Interval(NamedTuple):
    """A centre with its confidence interval, in the unit of the values.

    `low` and `high` are NaN if there is one run only (`n` is 1). If all runs gave the same value, `alike` is
    true and both ends are the centre: nothing random has had an effect so far. It may still have one in other
    seeds, if losses are so rare that most runs meet none.
    """

    centre: float
    low: float
    high: float
    n: int
    alike: bool

    def times(self, factor: float) -> Interval:
        """The same in another unit."""
        return self._replace(centre=factor * self.centre, low=factor * self.low, high=factor * self.high)

    @property
    def arms(self) -> tuple[float, float]:
        """How far the interval reaches below the centre and above it."""
        return self.centre - self.low, self.high - self.centre

    @property
    def half_width(self) -> float:
        """The longer arm: half of an interval by t that does not end at the possible range."""
        return max(self.arms)


def interval(
    values: Iterable[float],
    *,
    of: Centre = "mean",
    by: Method | None = None,
    least: float | None = None,
    most: float | None = None,
    confidence: float = 0.95,
) -> Interval:
    """The mean or the median of independent runs, one value a seed, with its confidence interval.

    How to read it: of all 95 % intervals that are computed in this way, about 95 % hold the true mean. It
    does not describe the range of single runs. Values are alike if their range is at most 1e-9 of the
    largest.

    When it is wrong: the t interval supposes that means scatter like a normal distribution. Few and skewed
    values break that. A bootstrap of few values is too narrow, because five values cannot show their own
    tails. Of 95 % intervals of 5 normal values, 94.5 % held the mean by t, and 82.5 % by bootstrap; of 5
    lognormal ones 81.3 % and 71.5 % (docs/statistics.md has more). Both are wrong if the values are not
    independent: flows of one run are not, seeds are.

    Args:
        values: one value for each seed.
        of: the centre. A median is not moved by one odd run, and needs more runs for the same width.
        by: "t" is Student's t distribution with n - 1 degrees of freedom (Student, The Probable Error of a
            Mean, Biometrika 6, 1908), for means only; the default for means. "bootstrap" is that of Efron
            by `scipy.stats.bootstrap` with a fixed seed: for means bias-corrected and accelerated (B. Efron,
            Better Bootstrap Confidence Intervals, JASA 82, 1987), for medians by percentiles.
        least: the smallest possible value: 0 for a rate, 1/n for Jain's index of n flows. No end goes below.
        most: the largest possible value: 1 for a share, the rate of the link for a goodput.
        confidence: the share of such intervals that should contain the true value.

    Raises:
        ValueError: there are no values, one is not finite or beyond the possible range; a median by t.
    """
    sample = read(values)
    check_confidence(confidence)
    _check_range(sample, least, most)
    method = by or ("t" if of == "mean" else "bootstrap")
    if method == "t" and of == "median":
        raise ValueError("Student's t is for means; the interval of a median is by='bootstrap'")
    found = _interval(sample, size_of(sample), of, method, confidence)
    centre, low, high = (_clipped(v, least, most) for v in (found.centre, found.low, found.high))
    return Interval(centre, low, high, found.n, found.alike)


def paired(a: Iterable[float], b: Iterable[float], *, confidence: float = 0.95) -> Interval:
    """The mean of a - b, run by run on common random numbers, with its t interval.

    Value i of both samples comes from the same seed, so both met the same losses and the same arrivals.
    That cancels the common part of the seeds, and the interval is narrower than that of two unpaired
    means (A. M. Law, Simulation Modeling and Analysis, sections 10.2.1 and 11.2). If it leaves out 0, the
    two differ.

    When it is wrong: if the seeds mean different things to a and b (another number of flows, another link),
    pairing does no harm to the truth of the interval, but gains nothing. Few and skewed differences break it
    as they break `interval`. Differences are alike if their range is at most 1e-9 of the largest value.

    Raises:
        ValueError: the samples have no values or different numbers of them, or one is not finite.
    """
    first, second = read(a, "values of a"), read(b, "values of b")
    check_confidence(confidence)
    if len(first) != len(second):
        raise ValueError(
            f"pairs need as many values of a as of b, but there are {len(first)} and {len(second)}"
        )
    differences = [x - y for x, y in zip(first, second, strict=True)]
    return _interval(differences, size_of(first, second), "mean", "t", confidence)


def shown(found: Interval) -> str:
    """An interval in words, with no more digits than it supports.

    "9.43 ± 0.02"; "0.98 (0.91 to 1.00)" if the centre is not in the middle; "9.43 (one run)";
    "9.43 (all runs alike)".
    """
    if found.n == 1:
        return f"{_three_digits(found.centre)} (one run)"
    if found.alike:
        return f"{_three_digits(found.centre)} (all runs alike)"
    below, above = found.arms
    half = found.half_width
    decimals = _decimals(half)
    centre, width, low, high = (f"{v:.{decimals}f}" for v in (found.centre, half, found.low, found.high))
    if abs(above - below) <= 0.05 * half:
        return f"{centre} ± {width}"
    return f"{centre} ({low} to {high})"


def _interval(sample: list[float], size: float, of: Centre, by: Method, confidence: float) -> Interval:
    """Dust is measured by `size`: differences of large numbers have more of it than they are large."""
    import statistics

    n = len(sample)
    centre = centre_of(sample) if of == "mean" else statistics.median(sample)
    if n == 1:
        return Interval(centre, math.nan, math.nan, 1, False)
    if spread_of(sample, size) == 0:
        centre = centre if abs(centre) > TOLERANCE * size else 0.0
        return Interval(centre, centre, centre, n, True)
    if by == "t":
        half = quantile_of_t(n, confidence) * standard_error(sample)
        return Interval(centre, centre - half, centre + half, n, False)
    low, high = _bootstrap(sample, of, confidence)
    return Interval(centre, low, high, n, False)


def _bootstrap(sample: list[float], of: Centre, confidence: float) -> tuple[float, float]:
    import numpy as np
    from scipy.stats import bootstrap

    found = bootstrap(
        (np.array(sample),),
        np.mean if of == "mean" else np.median,
        n_resamples=_RESAMPLES,
        vectorized=True,
        confidence_level=confidence,
        method="BCa" if of == "mean" else "percentile",
        rng=np.random.default_rng(_SEED),
    ).confidence_interval
    return float(found.low), float(found.high)


def _check_range(sample: list[float], least: float | None, most: float | None) -> None:
    """Values beyond the possible range by more than dust are a mistake of the caller."""
    dust = TOLERANCE * size_of(sample, [abs(end) for end in (least, most) if end is not None])
    for v in sample:
        if (least is not None and v < least - dust) or (most is not None and v > most + dust):
            low, high = -math.inf if least is None else least, math.inf if most is None else most
            raise ValueError(f"a value of {v:g} lies beyond the possible range, {low:g} to {high:g}")


def _clipped(end: float, least: float | None, most: float | None) -> float:
    """NaN stays NaN."""
    if least is not None and end < least:
        return least
    return most if most is not None and end > most else end


def _three_digits(v: float) -> str:
    if v == 0:
        return "0"
    return f"{v:.{max(0, 2 - exponent(v))}f}"


def _decimals(half: float) -> int:
    """Decimals that show one significant digit of a half-width, two if the first is a 1."""
    if half == 0:
        return 2
    rounded = float(f"{half:.1e}")
    power = exponent(rounded)
    return max(0, (1 if rounded < 1.95 * 10**power else 0) - power)
