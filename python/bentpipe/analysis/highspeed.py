"""Windows of the controls for large windows: HighSpeed TCP, Scalable TCP, CUBIC.

`p` is the probability that a packet begins a loss event; windows are in segments.
"""

from __future__ import annotations

import math

import numpy as np

from bentpipe.analysis._values import Value, array, same

LOW_WINDOW = 38.0
"""RFC 3649, section 5: up to this window, in segments, HighSpeed TCP is Reno."""

HIGH_WINDOW = 83_000.0
"""RFC 3649, section 5: at this window, in segments, the decrease is `HIGH_DECREASE`."""

HIGH_DECREASE = 0.1
"""RFC 3649, section 5: the share of the window that a loss takes at `HIGH_WINDOW`."""

LARGEST_WINDOW = LOW_WINDOW * (HIGH_WINDOW / LOW_WINDOW) ** (0.5 / (0.5 - HIGH_DECREASE))
"""567 000 segments: where the decrease of RFC 3649 would reach 0."""

RENO_ROUNDED = 1.2
"""The constant of Reno's window, sqrt(3/2), as RFC 3649 and the tables of RFC 9438 round it."""


def hstcp_window(p: Value) -> Value:
    """The mean window of HighSpeed TCP: 0.12 / p^0.835, but 1.2 / sqrt(p) above a loss rate of 1e-3.

    RFC 3649, section 5, with its rounded constants, which its tables use; the two anchors (38 segments at
    1e-3, 83 000 at 1e-7) give 38.4 and 83 981. `p` is above 0 and at most 1.

    Raises:
        ValueError: `p` is outside its domain.
    """
    loss = array("p", p, above=0, at_most=1)
    return same(np.where(loss > 1e-3, RENO_ROUNDED / np.sqrt(loss), 0.12 / loss**0.835))


def hstcp_decrease(w: Value) -> Value:
    """The share b(w) of the window that a loss takes in HighSpeed TCP: 0.5 up to 38 segments, then less.

    RFC 3649, section 5: linear in log w, 0.1 at 83 000 segments. `w` is in segments, above 0 and below
    `LARGEST_WINDOW`.

    Raises:
        ValueError: `w` is outside its domain.
    """
    window = array("w", w, above=0, below=LARGEST_WINDOW)
    slope = (HIGH_DECREASE - 0.5) / math.log(HIGH_WINDOW / LOW_WINDOW)
    return same(0.5 + slope * np.log(np.maximum(window, LOW_WINDOW) / LOW_WINDOW))


def hstcp_increase(w: Value) -> Value:
    """The increase a(w) of HighSpeed TCP per round trip: w^2 p(w) 2 b(w) / (2 - b(w)) segments, at least 1.

    RFC 3649, section 5; Reno's 1 up to 38 segments. `w` is in segments, above 0 and below `LARGEST_WINDOW`.

    Raises:
        ValueError: `w` is outside its domain.
    """
    share, window = np.asarray(hstcp_decrease(w)), array("w", w)
    rise = 0.078 * window**0.8 * 2 * share / (2 - share)
    return same(np.where(window <= LOW_WINDOW, 1.0, np.maximum(1, rise)))


def scalable_window(p: Value, a: Value = 0.01, b: Value = 0.125) -> Value:
    """The mean window of Scalable TCP: a / (p ln(1 / (1 - b))), 0.0749 / p by default.

    T. Kelly: Scalable TCP: Improving Performance in Highspeed Wide Area Networks, CCR 33(2), 2003. Each ACK
    adds `a` segments and a loss takes the share `b`. It holds for any pattern of losses, as the
    logarithm of the window has no drift; Kelly's a / (b p) is the window at the loss.

    Args:
        p: loss events per packet, above 0 and at most 1.
        a: segments per ACK, above 0.
        b: share of the window, above 0 and below 1.

    Raises:
        ValueError: an argument is outside its domain.
    """
    up = array("a", a, above=0)
    share = array("b", b, above=0, below=1)
    return same(up / (array("p", p, above=0, at_most=1) * -np.log1p(-share)))


def cubic_window(
    p: Value, rtt: Value, c: Value = 0.4, beta: Value = 0.7, reno: Value = RENO_ROUNDED
) -> Value:
    """The mean window of CUBIC: (C (3 + beta) / (4 (1 - beta)))^(1/4) (rtt / p)^(3/4), or Reno's if larger.

    RFC 9438, section 5, eq 5 (periodic losses, concave region only) and section 5.1 (Reno-friendly region).

    Args:
        p: loss events per packet, above 0 and at most 1.
        rtt: round-trip time in seconds, above 0.
        c: C in segments/s^3, above 0.
        beta: share of the window that is kept, above 0 and below 1.
        reno: constant of the Reno-friendly region, reno / sqrt(p): 1.2 as in the RFC's tables, sqrt(3/2)
            unrounded, 0 without that region.

    Raises:
        ValueError: an argument is outside its domain.
    """
    loss = array("p", p, above=0, at_most=1)
    keep = array("beta", beta, above=0, below=1)
    scale = (array("c", c, above=0) * (3 + keep) / (4 * (1 - keep))) ** 0.25
    cubic = scale * (array("rtt", rtt, above=0) / loss) ** 0.75
    return same(np.maximum(cubic, array("reno", reno, at_least=0) / np.sqrt(loss)))
