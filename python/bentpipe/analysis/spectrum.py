"""The (k, l) controls with history: constants, window over time, and the length of an epoch.

"Spectrum" throughout this package is S. Jin, L. Guo, I. Matta, A. Bestavros: A Spectrum of TCP-friendly
Window-based Congestion Control Algorithms, BUCS-TR-2001-015, 2001. A control with k > -1 and l <= 1 raises
its window w by alpha / (w - w_0)^k per round trip, and a loss takes beta w^l. w_0 is the window after the
last loss, w_max the one before it. AIMD is (0, 1), SIMD (-1/2, 1), AIAD (0, 0).

Windows are in segments, times in round trips. beta w_max^l must be below w_max: a loss leaves a window.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import gamma, gammaln

from bentpipe.analysis._values import Array, Value, array, same


def exponent(k: Value) -> Value:
    """The exponent u = 1 / (k + 1) of the growth w_0 + c t^u; `k` is above -1.

    Spectrum, section 2, eq 1 and 2.

    Raises:
        ValueError: `k` is outside its domain.
    """
    return same(1 / (array("k", k, above=-1) + 1))


def gamma_factor(k: Value) -> Value:
    """Gamma(u + 1), the factor by which random losses raise the mean increase over periodic ones.

    Spectrum, appendix A, eq 11. `k` is above -1; below k = -0.994 the result overflows to infinity.

    Raises:
        ValueError: `k` is outside its domain.
    """
    return same(gamma(np.asarray(exponent(k)) + 1))


def alpha_factor(k: Value) -> Value:
    """The constant of eq 6, alpha = factor * beta^(k+1) * w_max^(kl+l-1): 3 / (2 (k+1) Gamma(u+1)^(k+1)).

    Table 1 prints 1.89 for k = -1/3, which comes of Gamma(5/2) rounded to 1.3; it is 1.861.

    Raises:
        ValueError: `k`, which is above -1, is outside its domain.
    """
    order = array("k", k, above=-1) + 1
    return same(1.5 / order * np.exp(-order * gammaln(1 / order + 1)))


def c_factor(k: Value) -> Value:
    """The constant of eq 7, c = factor * beta * w_max^(l-u): (3/2)^u / Gamma(u+1).

    Table 1 prints 1.4 for k = -1/3; it is 1.382.

    Raises:
        ValueError: `k`, which is above -1, is outside its domain.
    """
    u = np.asarray(exponent(k))
    return same(np.exp(u * np.log(1.5) - gammaln(u + 1)))


def alpha(k: Value, l: Value, beta: Value, w_max: Value, *, simplified: bool = False) -> Value:  # noqa: E741
    """The increase constant alpha that makes the (k, l) control TCP-friendly.

    Spectrum, eq 4; with `simplified` eq 6, for beta w_max^l much smaller than w_max.

    Args:
        k: exponent of the increase, above -1.
        l: exponent of the decrease, at most 1.
        beta: constant of the decrease, above 0 and below 1.
        w_max: window before the last loss in segments, above 0.
        simplified: leave out the factor 1 - beta w_max^(l-1) / (k+2).

    Returns:
        alpha in segments^(k+1) per round trip.

    Raises:
        ValueError: an argument is outside its domain.
    """
    rise, fall, loss, window = _control(k, l, beta, w_max)
    room = 1.0 if simplified else 1 - loss * window ** (fall - 1) / (rise + 2)
    return same(alpha_factor(rise) * loss ** (rise + 1) * window ** (rise * fall + fall - 1) / room)


def c(k: Value, l: Value, beta: Value, w_max: Value, *, simplified: bool = False) -> Value:  # noqa: E741
    """The constant c of the growth w_0 + c t^u of the TCP-friendly (k, l) control.

    Spectrum, eq 5; with `simplified` eq 7. Arguments and errors as in `alpha`; c = ((k+1) alpha)^u.

    Raises:
        ValueError: an argument is outside its domain.
    """
    rise, fall, loss, window = _control(k, l, beta, w_max)
    u = 1 / (rise + 1)
    room = 1.0 if simplified else 1 - loss * window ** (fall - 1) / (rise + 2)
    return same(c_factor(rise) * loss * window ** (fall - u) / room**u)


def c_periodic(k: Value, l: Value, beta: Value, w_max: Value) -> Value:  # noqa: E741
    """The constant c that makes the control TCP-friendly if losses are periodic, not random.

    Spectrum, appendix A, eq 10: `c` times Gamma(u + 1). Arguments and errors as in `alpha`.

    Raises:
        ValueError: an argument is outside its domain.
    """
    rise, fall, loss, window = _control(k, l, beta, w_max)
    u = 1 / (rise + 1)
    room = 1 - loss * window ** (fall - 1) / (rise + 2)
    return same((1.5 / room) ** u * loss * window ** (fall - u))


def window(t: Value, w_0: Value, constant: Value, k: Value) -> Value:
    """The window w_0 + c t^u at `t` round trips after the loss.

    Spectrum, section 2, eq 1.

    Args:
        t: round trips since the loss, at least 0.
        w_0: window after the loss in segments, at least 0.
        constant: c, as from `c`, at least 0.
        k: exponent of the increase, above -1.

    Raises:
        ValueError: an argument is outside its domain.
    """
    growth = array("constant", constant, at_least=0) * array("t", t, at_least=0) ** np.asarray(exponent(k))
    return same(array("w_0", w_0, at_least=0) + growth)


def epoch_rounds(k: Value, l: Value, beta: Value, w_max: Value, *, periodic: bool = False) -> Value:  # noqa: E741
    """The round trips from a loss at `w_max` until the window is `w_max` again: (beta w_max^l / c)^(1/u).

    Spectrum, appendix A. With `periodic` c is `c_periodic`, otherwise `c`. Other arguments as in `alpha`.

    Raises:
        ValueError: an argument is outside its domain.
    """
    rise, fall, loss, window = _control(k, l, beta, w_max)
    constant = (c_periodic if periodic else c)(rise, fall, loss, window)
    return same((loss * window**fall / np.asarray(constant)) ** (rise + 1))


def epoch_packets(k: Value, l: Value, beta: Value, w_max: Value, *, periodic: bool = False) -> Value:  # noqa: E741
    """The segments sent from a loss at `w_max` until the window is `w_max` again.

    Spectrum, appendix A: (w_max - beta w_max^l) T + c T^(u+1) / (u+1) with T of `epoch_rounds`. For periodic
    losses its inverse is the loss rate p, and packets / T = sqrt(3 / (2p)). Arguments and errors as in
    `epoch_rounds`.

    Raises:
        ValueError: an argument is outside its domain.
    """
    rise, fall, loss, window = _control(k, l, beta, w_max)
    rounds = np.asarray(epoch_rounds(rise, fall, loss, window, periodic=periodic))
    cut = loss * window**fall
    return same(rounds * (window - cut + cut * (rise + 1) / (rise + 2)))


def window_before(w_0: Value, l: Value, beta: Value) -> Value:  # noqa: E741
    """The window w_max that a loss turns into `w_0`: the root of w_max - beta w_max^l = w_0.

    Spectrum, section 2, footnote 2: how a flow that leaves slow start without a loss gets its first w_max.

    Args:
        w_0: window after the loss in segments, at least 1.
        l: exponent of the decrease, at most 1.
        beta: constant of the decrease, above 0 and below 1.

    Raises:
        ValueError: an argument is outside its domain.
    """
    after, fall = array("w_0", w_0, at_least=1), array("l", l, at_most=1)
    return same(np.vectorize(_before, otypes=[float])(after, fall, array("beta", beta, above=0, below=1)))


def _before(after: float, fall: float, loss: float) -> float:
    def excess(w: float) -> float:
        return float(w - loss * w**fall - after)

    # w >= 1 and fall <= 1, so a loss takes at most loss * w: the root is not above after / (1 - loss).
    return float(brentq(excess, after, after / (1 - loss) * (1 + 1e-9), xtol=1e-12, rtol=1e-14))


def _control(k: Value, l: Value, beta: Value, w_max: Value) -> tuple[Array, Array, Array, Array]:  # noqa: E741
    """The arguments that every formula takes, checked; a loss must leave a window above 0."""
    window = array("w_max", w_max, above=0)
    fall, loss = array("l", l, at_most=1), array("beta", beta, above=0, below=1)
    array("beta w_max^(l-1)", loss * window ** (fall - 1), below=1)
    return array("k", k, above=-1), fall, loss, window
