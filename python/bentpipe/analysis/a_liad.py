"""The increase factor alpha of A-LIAD over the round-trip time, solved and fitted.

A-LIAD is the adaptive logarithmic increase, adaptive decrease control: after a loss at the window w_max,
which takes the share beta, the gap to w_max shrinks by the factor alpha per round trip. Equation numbers are
those of the A-LIAD paper, section 3.3. It chooses alpha such that an epoch lasts equally long for every
round-trip time, and fits a curve to alpha, but prints neither the curve nor the beta and p behind its
constant 1.5787. `alpha_fit` is a curve for beta = 0.46 and p = 1e-8.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq

from bentpipe.analysis._values import Array, Value, array, same

BETA = 0.46
"""The share of the window that a loss takes for which alpha is designed: 2 at 75 ms needs 0.4586."""

LOSS_RATE = 1e-8
"""The loss rate for which alpha is designed, as in fig 1 of the paper."""

EPOCH = 1.5787
"""The length of an epoch in seconds, eq 11."""

FIT_RANGE = (0.005, 1.0)
"""The round-trip times in seconds for which `alpha_fit` is defined; it is best from 25 to 600 ms."""

_FIT = (10.8606, 0.6194, -0.165)


def rounds(alpha: Value, w_max: Value, beta: Value = BETA) -> Value:
    """N, the round trips from a loss at `w_max` until one segment is missing: log_alpha(beta w_max).

    Eq 8.

    Args:
        alpha: increase factor, above 1.
        w_max: window before the loss in segments, above 0.
        beta: share of the window that the loss takes, above 0 and below 1.

    Raises:
        ValueError: an argument is outside its domain, or beta w_max is below 1.
    """
    factor, window, loss = array("alpha", alpha, above=1), array("w_max", w_max, above=0), _share(beta)
    gap = array("beta w_max", loss * window, at_least=1)
    return same(np.log(gap) / np.log(factor))


def rate(alpha: Value, w_max: Value, rtt: Value, beta: Value = BETA) -> Value:
    """The mean rate in an epoch in segments per second: w_max ((N + 1) - beta alpha / (alpha - 1)) / (N rtt).

    Eq 9, with N of `rounds`. `rtt` is in seconds, above 0; the other arguments as in `rounds`, but
    beta w_max must be above 1.

    Raises:
        ValueError: an argument is outside its domain.
    """
    trip, loss = array("rtt", rtt, above=0), _share(beta)
    factor, window = array("alpha", alpha, above=1), array("w_max", w_max, above=0)
    array("beta w_max", loss * window, above=1)
    count = np.asarray(rounds(factor, window, loss))
    return same(window * (count + 1 - loss * factor / (factor - 1)) / (count * trip))


def window_at_loss(alpha: Value, beta: Value = BETA, p: Value = LOSS_RATE) -> Value:
    """The window w_max at which the loss comes if one segment in 1 / p is lost, in segments.

    The root of w_max ((N + 1) - beta alpha / (alpha - 1)) = 1 / p, the segments of an epoch by eq 9, with N
    of `rounds`.

    Args:
        alpha: increase factor, above 1.
        beta: share of the window that the loss takes, above 0 and below 1.
        p: losses per segment, above 0 and below 1.

    Raises:
        ValueError: an argument is outside its domain, or p is so large that beta w_max would be below 1.
    """
    factor, chance = array("alpha", alpha, above=1), array("p", p, above=0, below=1)
    return same(np.vectorize(_window_at_loss, otypes=[float])(factor, _share(beta), chance))


def _window_at_loss(alpha: float, beta: float, p: float) -> float:
    tail = beta * alpha / (alpha - 1)

    def surplus(log_gap: float) -> float:
        room = log_gap / math.log(alpha) + 1 - tail
        return math.log(max(room, 1e-300)) + log_gap - math.log(beta / p)

    low = max(0.0, (tail - 1) * math.log(alpha))
    if surplus(low) > 0:
        raise ValueError(f"p must be small enough for a window at the loss of 1 / beta, not {p:g}")
    high = low + 1.0
    while surplus(high) < 0:
        high *= 2
    return math.exp(brentq(surplus, low, high, xtol=1e-13, rtol=1e-14)) / beta


def epoch_seconds(alpha: Value, rtt: Value, beta: Value = BETA, p: Value = LOSS_RATE) -> Value:
    """The length of an epoch in seconds, rtt log_alpha(beta w_max(alpha)): the constant of eq 11.

    Eq 10 with w_max of `window_at_loss`. For alpha = 2 and 75 ms, the reference of the paper, it is the
    printed 1.5787 s if beta = 0.45859 and p = 1e-8. `rtt` is in seconds, above 0; the other arguments as in
    `window_at_loss`.

    Raises:
        ValueError: an argument is outside its domain.
    """
    count = rounds(alpha, window_at_loss(alpha, beta, p), beta)
    return same(np.asarray(count) * array("rtt", rtt, above=0))


def alpha(rtt: Value, beta: Value = BETA, p: Value = LOSS_RATE, epoch: Value = EPOCH) -> Value:
    """The increase factor for which an epoch lasts `epoch` seconds: eq 11, solved numerically.

    Args:
        rtt: round-trip time in seconds, above 0.
        beta: share of the window that a loss takes, above 0 and below 1.
        p: losses per segment, above 0 and below 1.
        epoch: length of an epoch in seconds, above 0.

    Returns:
        alpha, above 1; 2.000 at 75 ms and 527 at 600 ms by default.

    Raises:
        ValueError: an argument is outside its domain, or no alpha gives an epoch of that length.
    """
    trip, loss, chance = array("rtt", rtt, above=0), _share(beta), array("p", p, above=0, below=1)
    count = array("epoch", epoch, above=0) / trip
    return same(np.vectorize(_alpha, otypes=[float])(count, loss, chance))


def _alpha(count: float, beta: float, p: float) -> float:
    """The root of count * log(alpha) = log(beta w_max), where count rounds of alpha send 1 / p segments."""

    def surplus(log_alpha: float) -> float:
        room = count + 1 + beta / math.expm1(-log_alpha)
        return count * log_alpha + math.log(max(room, 1e-300)) - math.log(beta / p)

    # At `low` an epoch would send nothing, and the surplus has no lower bound.
    low = -math.log1p(-beta / (count + 1))
    high = 2 * low
    while surplus(high) < 0:
        high *= 2
        if high > 700:
            raise ValueError(f"rtt must be less: no alpha below 1e304 has an epoch of {count:g} round trips")
    return math.exp(brentq(surplus, low, high, xtol=1e-15, rtol=1e-14))


def alpha_fit(rtt: Value) -> Value:
    """The increase factor as a curve: exp(R (10.8606 + 0.6194 ln R - 0.165 R)), R the round-trip time.

    Fitted to `alpha` with its default arguments. Its relative error is below 0.02 % from 25 to 600 ms and
    below 0.6 % over all of `FIT_RANGE`; `fit_error` measures it.

    Args:
        rtt: round-trip time in seconds, in `FIT_RANGE`.

    Raises:
        ValueError: `rtt` is outside its domain.
    """
    trip = array("rtt", rtt, at_least=FIT_RANGE[0], at_most=FIT_RANGE[1])
    constant, slope, bend = _FIT
    return same(np.exp(trip * (constant + slope * np.log(trip) + bend * trip)))


def fit_error(rtt: Value) -> Value:
    """The relative error of `alpha_fit` against `alpha`; `rtt` in seconds, in `FIT_RANGE`.

    Raises:
        ValueError: `rtt` is outside its domain.
    """
    return same(np.asarray(alpha_fit(rtt)) / np.asarray(alpha(rtt)) - 1)


def _share(beta: Value) -> Array:
    return array("beta", beta, above=0, below=1)
