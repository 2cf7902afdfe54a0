"""Rate or window as a function of the loss rate: Mathis, PFTK, RFC 5348, AIMD and binomial controls.

`p` is always the probability that a packet begins a loss event. Rates count segments per second; with `mss`
in bytes they count bytes per second. Windows are time averages in segments: the rate times the round-trip
time.
"""

from __future__ import annotations

import math

import numpy as np

from bentpipe.analysis._values import Array, Value, array, same

RENO = math.sqrt(3 / 2)
"""The mean window of Reno times the root of the loss rate, if losses are periodic and every segment is
acknowledged. With an acknowledgement for every second segment it is sqrt(3/4)."""


def mathis(p: Value, rtt: Value, mss: Value = 1.0, constant: Value = RENO) -> Value:
    """The rate of Reno by its square-root law: constant * mss / (rtt * sqrt(p)).

    M. Mathis, J. Semke, J. Mahdavi, T. Ott: The Macroscopic Behavior of the TCP Congestion Avoidance
    Algorithm, CCR 27(3), 1997, eq 3. No timeouts, no limit by the receiver.

    Args:
        p: loss events per packet, above 0 and at most 1.
        rtt: round-trip time in seconds, above 0.
        mss: weight of one segment: 1 gives segments/s, its size in bytes gives bytes/s.
        constant: sqrt(3/2) for periodic losses and an ACK per segment; the paper's table 1 has others.

    Raises:
        ValueError: an argument is outside its domain.
    """
    loss = array("p", p, above=0, at_most=1)
    scale = array("constant", constant, above=0) * array("mss", mss, above=0)
    return same(scale / (array("rtt", rtt, above=0) * np.sqrt(loss)))


def pftk(p: Value, rtt: Value, t0: Value, b: Value = 1.0, w_max: Value = math.inf, mss: Value = 1.0) -> Value:
    """The rate of Reno with timeouts, the approximate model of PFTK.

    min(w_max / rtt, 1 / (rtt sqrt(2bp/3) + t0 min(1, 3 sqrt(3bp/8)) p (1 + 32 p^2))).
    J. Padhye, V. Firoiu, D. Towsley, J. Kurose: Modeling TCP Throughput: A Simple Model and its Empirical
    Validation, SIGCOMM 1998, the approximate model at the end of section 2. Spectrum, eq 9, is the same for
    b = 1.

    Args:
        p: loss events per packet, above 0 and at most 1.
        rtt: round-trip time in seconds, above 0.
        t0: first retransmission timeout in seconds, at least 0.
        b: segments per ACK, at least 1.
        w_max: the receiver's window in segments, above 0; may be infinite.
        mss: weight of one segment: 1 gives segments/s, its size in bytes gives bytes/s.

    Raises:
        ValueError: an argument is outside its domain.
    """
    loss, trip, per_ack, limit, size = _reno(p, rtt, b, w_max, mss)
    timeout = np.minimum(1, 3 * np.sqrt(3 * per_ack * loss / 8)) * loss * (1 + 32 * loss**2)
    per_segment = trip * np.sqrt(2 * per_ack * loss / 3) + array("t0", t0, at_least=0) * timeout
    return same(size * np.minimum(limit / trip, 1 / per_segment))


def pftk_full(
    p: Value, rtt: Value, t0: Value, b: Value = 1.0, w_max: Value = math.inf, mss: Value = 1.0
) -> Value:
    """The rate of Reno with timeouts and a limited window, the full model of PFTK.

    Padhye et al., SIGCOMM 1998, section 2.3: the model that the approximate one (`pftk`) shortens. It counts
    the segments that are sent, retransmissions among them. Arguments and errors as in `pftk`, but p must be
    below 1.

    Raises:
        ValueError: an argument is outside its domain.
    """
    loss, trip, per_ack, limit, size = _reno(p, rtt, b, w_max, mss)
    loss = array("p", loss, below=1)
    base = (2 + per_ack) / (3 * per_ack)
    free = base + np.sqrt(8 * (1 - loss) / (3 * per_ack * loss) + base**2)
    window = np.minimum(free, limit)
    timeouts = _by_timeout(loss, window)
    rounds = np.where(
        free < limit,
        per_ack / 2 * free + 1,
        per_ack / 8 * window + (1 - loss) / (loss * window) + 2,
    )
    sent = (1 - loss) / loss + window + timeouts / (1 - loss)
    powers = np.arange(1, 7)
    backoff = 1 + np.sum(2.0 ** (powers - 1) * loss[..., np.newaxis] ** powers, axis=-1)
    time = trip * rounds + timeouts * array("t0", t0, at_least=0) * backoff / (1 - loss)
    return same(size * sent / time)


def _by_timeout(loss: Array, window: Array) -> Array:
    """The probability that a loss in a window of this size ends in a timeout (PFTK, section 2.2)."""
    stay = np.log1p(-loss)
    first3 = -np.expm1(3 * stay)
    rest = -np.expm1((np.maximum(window, 3) - 3) * stay)
    found = first3 * (1 + np.exp(3 * stay) * rest) / -np.expm1(np.maximum(window, 3) * stay)
    return np.asarray(np.where(window <= 3, 1.0, np.minimum(1, found)))


def _reno(p: Value, rtt: Value, b: Value, w_max: Value, mss: Value) -> tuple[Array, ...]:
    """The arguments that both models share, checked."""
    return (
        array("p", p, above=0, at_most=1),
        array("rtt", rtt, above=0),
        array("b", b, at_least=1),
        array("w_max", w_max, above=0, infinite=True),
        array("mss", mss, above=0),
    )


def tfrc(p: Value, rtt: Value, t_rto: Value | None = None, b: Value = 1.0, s: Value = 1.0) -> Value:
    """The rate that TFRC allows: s / (R sqrt(2bp/3) + t_RTO 3 sqrt(3bp/8) p (1 + 32 p^2)).

    RFC 5348, section 3.1. Unlike `pftk` it does not bound the share of timeouts by 1.

    Args:
        p: loss event rate, above 0 and at most 1.
        rtt: round-trip time in seconds, above 0.
        t_rto: retransmission timeout in seconds; the RFC's suggestion of 4 round-trip times if absent.
        b: segments per ACK; the RFC recommends 1.
        s: segment size: 1 gives segments/s, bytes give bytes/s.

    Raises:
        ValueError: an argument is outside its domain.
    """
    loss, trip, per_ack, _, size = _reno(p, rtt, b, math.inf, s)
    timer = 4 * trip if t_rto is None else array("t_rto", t_rto, at_least=0)
    timeout = 3 * np.sqrt(3 * per_ack * loss / 8) * loss * (1 + 32 * loss**2)
    return same(size / (trip * np.sqrt(2 * per_ack * loss / 3) + timer * timeout))


def aimd_rate(
    p: Value, rtt: Value, t0: Value, alpha: Value, beta: Value, w_max: Value = math.inf, mss: Value = 1.0
) -> Value:
    """The rate of AIMD(alpha, beta) with timeouts.

    Spectrum, eq 9: Y. Yang, S. Lam: General AIMD Congestion Control, ICNP 2000. The window rises by alpha
    segments per round trip, above 0, and falls by the share beta, above 0 and below 1. AIMD(1, 1/2) is `pftk`
    with b = 1. Other arguments as in `pftk`.

    Raises:
        ValueError: an argument is outside its domain.
    """
    loss, trip, _, limit, size = _reno(p, rtt, 1.0, w_max, mss)
    up, down = array("alpha", alpha, above=0), array("beta", beta, above=0, below=1)
    share = np.minimum(1, 3 * np.sqrt(down * (2 - down) * loss / (2 * up)))
    timeout = array("t0", t0, at_least=0) * share * loss * (1 + 32 * loss**2)
    per_segment = trip * np.sqrt(2 * down * loss / (up * (2 - down))) + timeout
    return same(size * np.minimum(limit / trip, 1 / per_segment))


def aimd_window(p: Value, alpha: Value = 1.0, beta: Value = 0.5) -> Value:
    """The mean window of AIMD(alpha, beta) under periodic losses: sqrt(alpha (2 - beta) / (2 beta p)).

    S. Floyd, M. Handley, J. Padhye: A Comparison of Equation-Based and AIMD Congestion Control, 2000; the
    first term of spectrum, eq 9.

    Args:
        p: loss events per packet, above 0 and at most 1.
        alpha: segments per round trip, above 0.
        beta: share of the window that a loss takes, above 0 and below 1.

    Raises:
        ValueError: an argument is outside its domain.
    """
    loss = array("p", p, above=0, at_most=1)
    up, down = array("alpha", alpha, above=0), array("beta", beta, above=0, below=1)
    return same(np.sqrt(up * (2 - down) / (2 * down * loss)))


def aimd_window_random(p: Value, alpha: Value = 1.0, beta: Value = 0.5) -> Value:
    """The mean window of AIMD(alpha, beta) under independent losses: 1.3098 / sqrt(p) for Reno.

    The square of the window before a loss is 2 alpha times the sum of q^i E_i over i >= 0, with
    q = (1 - beta)^2 and E_i the packets between losses, exponential with mean 1/p. The mean of its root is
    sqrt(2 alpha / p) Gamma(3/2) times the product of (1 - q^(i+1/2)) / (1 - q^i) over i >= 1, and the mean
    window, packets over round trips of an epoch, is alpha / (beta p) over that.
    T. Ott, J. Kemperman, M. Mathis: The Stationary Behavior of Ideal TCP Congestion Avoidance, 1996, for
    Reno; F. Guillemin, P. Robert, B. Zwart: AIMD Algorithms and Exponential Functionals, 2004, for any beta.
    Arguments as in `aimd_window`.

    Raises:
        ValueError: an argument is outside its domain.
    """
    loss = array("p", p, above=0, at_most=1)
    up, down = array("alpha", alpha, above=0), array("beta", beta, above=0, below=1)
    root = 1 - down  # the root of q
    # The factors fall as q^i: as many as it takes until they are 1 in double precision.
    count = int(np.ceil(-20 / np.log(np.max(root)))) + 1
    power = root[..., np.newaxis] ** (2 * np.arange(1, count + 1))
    product = np.prod((1 - power * root[..., np.newaxis]) / (1 - power), axis=-1)
    before = np.sqrt(2 * up / loss) * math.gamma(1.5) * product
    return same(up / (down * loss * before))


def aimd_friendly_alpha(beta: Value) -> Value:
    """The increase in segments per round trip that makes AIMD as fast as Reno: 3 beta / (2 - beta).

    Spectrum, section 3, below eq 7. `beta` is the share of the window that a loss takes, in (0, 1).

    Raises:
        ValueError: `beta` is outside its domain.
    """
    down = array("beta", beta, above=0, below=1)
    return same(3 * down / (2 - down))


def binomial_window(p: Value, alpha: Value, beta: Value, k: Value, l: Value) -> Value:  # noqa: E741
    """The mean window of a binomial control: (alpha / (beta p))^(1 / (k + l + 1)).

    D. Bansal, H. Balakrishnan: Binomial Congestion Control Algorithms, INFOCOM 2001. The window rises by
    alpha / w^k per round trip and falls by beta w^l. The decrease is taken to be small against the window:
    for AIMD(1, 1/2), which is k = 0 and l = 1, `aimd_window` is 13 % lower.

    Args:
        p: loss events per packet, above 0 and at most 1.
        alpha: increase constant, above 0.
        beta: decrease constant, above 0.
        k: exponent of the increase.
        l: exponent of the decrease; k + l must be above -1.

    Raises:
        ValueError: an argument is outside its domain.
    """
    loss = array("p", p, above=0, at_most=1)
    ratio = array("alpha", alpha, above=0) / (array("beta", beta, above=0) * loss)
    order = array("k + l", array("k", k) + array("l", l), above=-1) + 1
    return same(ratio ** (1 / order))
