"""Figure 1 of the Vegas-L paper, the rules of Vegas-A, beside those of Vegas: both per round trip.

With them the proof that these rules cannot put Vegas-A below Vegas while losses keep the queue empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

#: Vegas's fixed thresholds, packets; Vegas-A begins with them and keeps them apart by the same two packets.
ALPHA, APART = 1.0, 2.0


class Round(NamedTuple):
    """The state in a round trip: Vegas-A's alpha, the packets queued, and whether the throughput rose."""

    alpha: float
    diff: float
    rising: bool


class Step(NamedTuple):
    """Packets by which the window and alpha (and beta) change."""

    cwnd: int
    alpha: int


def vegas(diff: float) -> int:
    """The change of Vegas's window, equation 4, packets."""
    return 1 if diff < ALPHA else -1 if diff > ALPHA + APART else 0


def vegas_a(of: Round) -> Step:
    """The action of figure 1 in a round; the comments give its lines."""
    if of.alpha < of.diff < of.alpha + APART:
        return Step(1, 1) if of.rising else Step(0, 0)  # 3, 5
    if of.diff < of.alpha:
        if of.alpha > ALPHA:
            return Step(1, 0) if of.rising else Step(-1, -1)  # 10, 12
        return Step(1, 0)  # 15
    if of.diff > of.alpha + APART and of.alpha > ALPHA:
        return Step(-1, -1)  # 19
    return Step(0, 0)  # 21, and equality


def lead(of: Round) -> int:
    """The change of Vegas-A's window less its alpha in a round, minus that of Vegas's window.

    alpha is 1 at the start, so where no round has a negative lead Vegas-A's window is never below Vegas's.
    """
    mine = vegas_a(of)
    return mine.cwnd - mine.alpha - vegas(of.diff)


def rounds(most: int = 12) -> Iterator[Round]:
    """Every kind of round with alpha up to ``most``: Diff on, between and beyond all thresholds."""
    for alpha, half, rising in product(range(1, most + 1), range(2 * most + 8), (False, True)):
        yield Round(float(alpha), half / 2 + 0.25 * (half % 2), rising)
