"""Two users in the Chiu-Jain plane: trajectories of the (k, l) controls, and where they converge.

D. Chiu, R. Jain: Analysis of the Increase and Decrease Algorithms for Congestion Avoidance in Computer
Networks, Computer Networks and ISDN Systems 17, 1989: a point is the shares of two users; both learn of
congestion at once. Spectrum (see `bentpipe.analysis.spectrum`), section 4.1, section 4.2 and appendix B.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from bentpipe.analysis import spectrum
from bentpipe.analysis._values import Array, Value, array, number, same


class Trajectory(NamedTuple):
    """Two windows at the corners of their trajectory: the start, then a peak and the loss there, repeated.

    Attributes:
        t: round trips since the start, shape (2 * epochs + 1,); a peak and its loss have the same.
        w: windows in segments, shape (2 * epochs + 1, 2).
    """

    t: Array
    w: Array

    @property
    def gap(self) -> Array:
        """The difference of the windows in segments, not negative, shape (2 * epochs + 1,)."""
        found: Array = np.abs(self.w[:, 1] - self.w[:, 0])
        return found


def fairness_index(x1: Value, x2: Value) -> Value:
    """max(x1 / x2, x2 / x1), 1 for equal shares; both above 0.

    Spectrum, section 4.1. Unlike `bentpipe.stats.jain` it grows with unfairness.

    Raises:
        ValueError: a share is not above 0.
    """
    first, second = array("x1", x1, above=0), array("x2", x2, above=0)
    return same(np.maximum(first / second, second / first))


def converges(k: float, l: float) -> Literal["always", "bounded", "open", "never"]:  # noqa: E741
    """The known result on the convergence of the (k, l) control to fairness.

    Spectrum, section 4.1 and appendix B. The spectrum, shaded in fig 2, is -1 <= l - 1/(k+1) <= 0.

    Args:
        k: exponent of the increase, above -1.
        l: exponent of the decrease, at most 1.

    Returns:
        "always": in the spectrum with l = 1 or l = 1/(k+1); "bounded": in the spectrum with l >= 0, if
        `bounded_enough` holds; "open": in the spectrum with l < 0, which the paper does not treat;
        "never": outside of it, where the increase may worsen fairness or go too far.

    Raises:
        ValueError: an argument is outside its domain.
    """
    fall, u = number("l", l, at_most=1), float(spectrum.exponent(number("k", k, above=-1)))
    near = 1e-12 * max(1.0, u)
    if not -1 - near <= fall - u <= near:
        return "never"
    if fall == 1 or (abs(fall - u) <= near and fall > 0):
        return "always"
    return "bounded" if fall >= 0 else "open"


def bounded_enough(overshoot: Value, undershoot: Value) -> bool | NDArray[np.bool_]:
    """Whether overshoot + 3 undershoot < 2, which suffices for an epoch to improve fairness.

    Spectrum, appendix B, eq 14, for l >= 0: the sum of the two shares stays between 1 - undershoot and
    1 + overshoot. For k = l = 0 and an epoch that starts at 1 - undershoot and crosses the line of equal
    shares the condition is also necessary.

    Args:
        overshoot: Delta_I, share of the capacity, at least 0.
        undershoot: Delta_D, share of the capacity, at least 0 and below 1.

    Returns:
        A bool, or an array of bool.

    Raises:
        ValueError: an argument is outside its domain.
    """
    over = array("overshoot", overshoot, at_least=0)
    found = over + 3 * array("undershoot", undershoot, at_least=0, below=1) < 2
    return bool(found) if found.ndim == 0 else found


def increase(x1: Value, x2: Value, total: Value, k: Value, l: Value) -> tuple[Value, Value]:  # noqa: E741
    """The point where two (k, l) users that start at (x1, x2) reach x1 + x2 = total.

    Spectrum, section 4.1 and footnote 4: the increases are in the proportion of x^(l - 1/(k+1)), as eq 7
    without its constant gives. AIMD (0, 1) moves along the diagonal, SIMD (-1/2, 1) by 1/x.

    Args:
        x1: share of the first user, above 0.
        x2: share of the second, above 0.
        total: the sum to reach, at least x1 + x2.
        k: exponent of the increase, above -1.
        l: exponent of the decrease, at most 1.

    Returns:
        The two shares.

    Raises:
        ValueError: an argument is outside its domain.
    """
    first, second = array("x1", x1, above=0), array("x2", x2, above=0)
    missing = array("total - x1 - x2", array("total", total) - first - second, at_least=-1e-12)
    power = array("l", l, at_most=1) - np.asarray(spectrum.exponent(k))
    share = 1 / (1 + (second / first) ** power)
    return same(first + share * missing), same(second + (1 - share) * missing)


def decrease(x1: Value, x2: Value, total: Value, l: Value) -> tuple[Value, Value]:  # noqa: E741
    """The point where two users that lose in the proportion of x^l come down to x1 + x2 = total.

    Spectrum, section 4.1 and appendix B.

    Args:
        x1: share of the first user, above 0.
        x2: share of the second, above 0.
        total: the sum to reach, at most x1 + x2.
        l: exponent of the decrease, at most 1.

    Returns:
        The two shares.

    Raises:
        ValueError: an argument is outside its domain, or a user would be left with nothing.
    """
    first, second = array("x1", x1, above=0), array("x2", x2, above=0)
    surplus = array("x1 + x2 - total", first + second - array("total", total), at_least=-1e-12)
    share = 1 / (1 + (second / first) ** array("l", l, at_most=1))
    left = first - share * surplus, second - (1 - share) * surplus
    array("the share left by the decrease", np.minimum(*left), above=0)
    return same(left[0]), same(left[1])


def bounded_trajectory(
    x1: float,
    x2: float,
    k: float,
    l: float,  # noqa: E741
    *,
    overshoot: float,
    undershoot: float,
    epochs: int = 50,
) -> Array:
    """The shares of two (k, l) users whose sum moves between 1 - undershoot and 1 + overshoot.

    Spectrum, appendix B and fig 24: `increase` to 1 + overshoot and `decrease` to 1 - undershoot in turn.

    Args:
        x1: share of the first user at the start, above 0.
        x2: share of the second, above 0; the sum is at most 1 + overshoot.
        k: exponent of the increase, above -1.
        l: exponent of the decrease, at most 1.
        overshoot: Delta_I, at least 0.
        undershoot: Delta_D, at least 0 and below 1.
        epochs: how many increases and decreases, at least 1.

    Returns:
        The start and the corners, shape (2 * epochs + 1, 2).

    Raises:
        ValueError: an argument is outside its domain, or a decrease would leave a user with nothing.
    """
    high = 1 + number("overshoot", overshoot, at_least=0)
    low = 1 - number("undershoot", undershoot, at_least=0, below=1)
    points: list[tuple[Value, Value]] = [(number("x1", x1), number("x2", x2))]
    for _ in range(int(number("epochs", epochs, at_least=1))):
        points.append(increase(*points[-1], high, k, l))
        points.append(decrease(*points[-1], low, l))
    return np.asarray(points, dtype=np.float64)


def trajectory(
    w1: float,
    w2: float,
    capacity: float,
    k: float,
    l: float,  # noqa: E741
    beta: float,
    *,
    epochs: int = 50,
) -> Trajectory:
    """The windows of two TCP-friendly (k, l) users that lose together whenever they fill the capacity.

    Spectrum, section 4: the windows grow by `spectrum.window` with the constant of eq 5, each from its own
    last loss; the first w_max is that of footnote 2 (`spectrum.window_before`). No window falls below 1.

    Args:
        w1: window of the first user at the start in segments, at least 1.
        w2: window of the second, at least 1.
        capacity: the sum at which both lose, in segments, at least w1 + w2 and above 2.
        k: exponent of the increase, above -1.
        l: exponent of the decrease, at most 1.
        beta: constant of the decrease, above 0 and below 1.
        epochs: how many losses, at least 1.

    Raises:
        ValueError: an argument is outside its domain.
    """
    u = float(spectrum.exponent(number("k", k, above=-1)))

    def grow(start: Array, before: Array, total: float) -> tuple[float, Array]:
        rates = np.asarray(spectrum.c(k, l, beta, before))
        missing = total - start.sum()
        return float((missing / rates.sum()) ** (1 / u)), start + rates / rates.sum() * missing

    return _follow(grow, w1, w2, capacity, l, beta, epochs)


def binomial_trajectory(
    w1: float,
    w2: float,
    capacity: float,
    k: float,
    l: float,  # noqa: E741
    beta: float,
    *,
    alpha: float | None = None,
    epochs: int = 50,
) -> Trajectory:
    """As `trajectory`, for the binomial controls, which have no history: w grows by alpha / w^k.

    D. Bansal, H. Balakrishnan: Binomial Congestion Control Algorithms, INFOCOM 2001; spectrum, fig 4b, for
    IIAD, which is (1, 0). SQRT is (1/2, 1/2), AIMD (0, 1). `alpha` is the constant of the increase, above 0;
    3 beta / 2, TCP-friendly for k + l = 1, if absent. Other arguments as in `trajectory`.

    Raises:
        ValueError: an argument is outside its domain.
    """
    order = number("k", k, above=-1) + 1
    rate = order * (1.5 * beta if alpha is None else number("alpha", alpha, above=0))

    def grow(start: Array, _: Array, total: float) -> tuple[float, Array]:
        def at(t: float) -> Array:
            grown: Array = (start**order + rate * t) ** (1 / order)
            return grown

        longest = (total**order - start.min() ** order) / rate
        t = float(brentq(lambda t: float(at(t).sum() - total), 0, longest, xtol=1e-9, rtol=1e-13))
        return t, at(t)

    return _follow(grow, w1, w2, capacity, l, beta, epochs)


_Growth = Callable[[Array, Array, float], tuple[float, Array]]


def _follow(
    grow: _Growth, w1: float, w2: float, capacity: float, fall: float, beta: float, epochs: int
) -> Trajectory:
    """Lets `grow` and losses alternate; it gets the windows after and before a loss, and the sum to reach."""
    start = np.array([number("w1", w1, at_least=1), number("w2", w2, at_least=1)])
    loss = number("beta", beta, above=0, below=1)
    power = number("l", fall, at_most=1)
    total = number("capacity", capacity, above=2, at_least=float(start.sum()))
    before = np.asarray(spectrum.window_before(start, power, loss))
    t, w = [0.0], [start]
    for _ in range(int(number("epochs", epochs, at_least=1))):
        rounds, before = grow(w[-1], before, total)
        after = np.maximum(before - loss * before**power, 1)
        t += [t[-1] + rounds] * 2
        w += [before, after]
    return Trajectory(np.asarray(t), np.asarray(w))
