"""Windows under losses, from the rules of the papers alone: the second opinion beside the closed forms.

Nothing here is shared with the controllers or with the simulator. A rule says what a loss leaves of the
window, and how far `n` acknowledged segments carry it from there. To that a sender adds what the closed forms
leave out:

* a loss is found by the third duplicate acknowledgement, three segments or 3/w round trips later, and
  repaired in one round trip; in neither does the window grow;
* the segments in flight when it is found, a window of them and three, are not counted for growth and cannot
  begin another loss event;
* only whole segments are sent: half a segment less than the window, on average.

Windows are in segments, times in round trips; every function takes arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from bentpipe.analysis import highspeed, spectrum

Array = np.ndarray

DUPLICATES = 3
"""Duplicate acknowledgements that say that a segment is lost: RFC 5681 section 3.2, RFC 6675 section 2."""


class Rule(Protocol):
    """What a loss does and how the window grows."""

    def cut(self, w: Array) -> Array:
        """The window after a loss at `w`."""

    def grow(self, w0: Array, n: Array, w_max: Array) -> tuple[Array, Array]:
        """Window and round trips `n` acknowledged segments after `w0`, which a loss left of `w_max`."""


@dataclass(frozen=True)
class Binomial:
    """alpha / w^k per round trip, beta w^l at a loss: alpha / w^(k+1) per segment, which integrates."""

    alpha: float
    beta: float
    k: float = 0.0
    l: float = 1.0  # noqa: E741

    def cut(self, w: Array) -> Array:
        """See `Rule`."""
        return w - self.beta * w**self.l

    def grow(self, w0: Array, n: Array, w_max: Array) -> tuple[Array, Array]:
        """See `Rule`."""
        k = self.k
        w = (w0 ** (k + 2) + (k + 2) * self.alpha * n) ** (1 / (k + 2))
        return w, (w ** (k + 1) - w0 ** (k + 1)) / ((k + 1) * self.alpha)


@dataclass(frozen=True)
class Scalable:
    """Kelly 2003: `a` per segment, the share `b` at a loss."""

    a: float = 0.01
    b: float = 0.125

    def cut(self, w: Array) -> Array:
        """See `Rule`."""
        return (1 - self.b) * w

    def grow(self, w0: Array, n: Array, w_max: Array) -> tuple[Array, Array]:
        """See `Rule`."""
        w = w0 + self.a * n
        return w, np.log(w / w0) / self.a


class HighSpeed:
    """RFC 3649 section 5: a(w) per round trip and b(w) at a loss, integrated over a grid of windows."""

    def __init__(self) -> None:
        self.w = np.geomspace(1, 5e5, 20_000)
        steps = np.diff(self.w)
        middle = (self.w[1:] + self.w[:-1]) / 2
        rise = np.asarray(highspeed.hstcp_increase(middle))
        self.n = np.concatenate([[0.0], np.cumsum(steps * middle / rise)])
        self.t = np.concatenate([[0.0], np.cumsum(steps / rise)])

    def cut(self, w: Array) -> Array:
        """See `Rule`."""
        return w * (1 - np.asarray(highspeed.hstcp_decrease(w)))

    def grow(self, w0: Array, n: Array, w_max: Array) -> tuple[Array, Array]:
        """See `Rule`."""
        end = np.interp(w0, self.w, self.n) + n
        return np.interp(end, self.n, self.w), np.interp(end, self.n, self.t) - np.interp(w0, self.w, self.t)


@dataclass(frozen=True)
class Simd:
    """Spectrum, eq 1 and 5: w0 + c t^2, the share beta at a loss."""

    beta: float = 1 / 16

    def cut(self, w: Array) -> Array:
        """See `Rule`."""
        return (1 - self.beta) * w

    def grow(self, w0: Array, n: Array, w_max: Array) -> tuple[Array, Array]:
        """See `Rule`."""
        c = np.asarray(spectrum.c(-0.5, 1.0, self.beta, w_max))
        t = solve(lambda t: w0 * t + c * t**3 / 3, n, n / w0)
        return w0 + c * t**2, t


@dataclass(frozen=True)
class Cubic:
    """RFC 9438 without fast convergence: the cubic or, if that is larger throughout, Reno's estimate."""

    rtt: float
    friendly: bool
    c: float = 0.4
    beta: float = 0.7

    def cut(self, w: Array) -> Array:
        """See `Rule`."""
        return self.beta * w

    def grow(self, w0: Array, n: Array, w_max: Array) -> tuple[Array, Array]:
        """See `Rule`."""
        if self.friendly:
            # Section 4.3: alpha segments per round trip up to the window of the last loss, one from there.
            alpha = 3 * (1 - self.beta) / (1 + self.beta)
            to_max = (w_max - w0) / alpha
            until = (w0 + w_max) / 2 * to_max
            slow = Binomial(alpha, 0.0).grow(w0, np.minimum(n, until), w_max)
            fast = Binomial(1.0, 0.0).grow(w_max, np.maximum(n - until, 0.0), w_max)
            return np.where(n < until, slow[0], fast[0]), np.where(n < until, slow[1], to_max + fast[1])
        # Section 4.4: (target - w) / w per segment, and the target is the cubic one round trip ahead: w grows
        # by W(t + rtt) - w per round trip. So w is W + rtt^2 / 2 d2W/dt2 - rtt^3 / 3 d3W/dt3 and a part that
        # fades as exp(-t / rtt).
        c, r = self.c, self.rtt
        k = np.cbrt((w_max - w0) / c)

        def steady(t: Array) -> Array:
            return w_max + c * (t - k) ** 3 + 3 * c * r**2 * (t - k) - 2 * c * r**3

        fading = w0 - steady(np.zeros_like(k))

        def sent(t: Array) -> Array:
            cubic = c * ((t - k) ** 4 - k**4) / 4 + 1.5 * c * r**2 * ((t - k) ** 2 - k**2)
            return (w_max * t + cubic - 2 * c * r**3 * t + fading * r * (1 - np.exp(-t / r))) / r

        seconds = solve(sent, n, 2 * n / w0 * r)
        return steady(seconds) + fading * np.exp(-seconds / r), seconds / r


def solve(rising, value: Array, high: Array) -> Array:  # noqa: ANN001
    """Where a rising function has the value; it is 0 at 0, and at least the value at `high`."""
    low = np.zeros_like(high)
    for _ in range(36):
        middle = (low + high) / 2
        below = rising(middle) < value
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


def periodic(rule: Rule, p: float, start: float) -> tuple[float, float]:
    """The mean window if every (1/p)th packet is lost, and the window before a loss."""
    before = np.array([start])
    means, windows = [], []
    for loss in range(6000):
        # Of the 1/p packets from one loss to the next, a window of them was in flight when it was found.
        n = np.maximum(1 / p - before - DUPLICATES, 1.0)
        w, t = rule.grow(rule.cut(before), n, before)
        means.append((1 / p) / (recovery(before) + whole(n, t)))
        windows.append(w)
        before = w
        if loss > 50 and abs(float(windows[-1][0]) / float(windows[-2][0]) - 1) < 1e-7:
            break
    return float(means[-1][0]), float(windows[-1][0])


def random(rule: Rule, p: float, start: float, chains: int = 200, losses: int = 240) -> float:
    """The mean window under independent losses, one packet in 1/p."""
    draw = np.random.default_rng(1)
    before = np.full(chains, start)
    packets = rounds = 0.0
    for loss in range(losses):
        n = draw.geometric(p, chains).astype(float)
        w, t = rule.grow(np.maximum(rule.cut(before), 1.0), n, before)
        if loss >= losses // 4:
            packets += float(np.sum(n + before + DUPLICATES))
            rounds += float(np.sum(recovery(before) + whole(n, t)))
        before = w
    return packets / rounds


def recovery(before: Array) -> Array:
    """The round trips without growth that a loss at this window takes."""
    return 1 + DUPLICATES / before


def whole(n: Array, rounds: Array) -> Array:
    """The round trips that `n` segments take if half a segment less than the window is in flight."""
    return rounds * (1 + 0.5 * rounds / n)
