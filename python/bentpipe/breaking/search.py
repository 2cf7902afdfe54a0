"""A search for the point of the highest score in a space of numbers and choices, by ask and tell.

It draws points at random, climbs from the best of them, and starts again when a climb ends. The climb is
CatCMAwM, a covariance matrix adaptation evolution strategy for continuous and categorical variables
(R. Hamano et al., CatCMA with Margin for Single- and Multi-Objective Mixed-Variable Black-Box Optimization,
2025), of the package cmaes.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bentpipe.machine import extras

BATCH = 24
"""Points of a batch. It depends on nothing else, so the points do not depend on the number of workers."""
_SPREAD = 8
"""Batches that are drawn at random before the first climb; later climbs have half as many."""
_PLAIN = 0.5
"""Share of random points that have the first option of a choice."""
_STEP = 0.2
"""Standard deviation at the start of a climb, as a share of the range of a number."""
_SURE = 0.7
"""Share of points at the start of a climb that have the option of its first point."""
_STALLED = 10
"""Batches without a better point after which a climb ends."""
_BETTER = 1e-3
"""Least gain of a score that counts."""

Value = float | str
Point = Mapping[str, Value]
"""A value for each variable."""


@dataclass(frozen=True)
class Between:
    """A variable with a range of numbers.

    Attributes:
        name: its name.
        low: its least value.
        high: its greatest value, above the least.
        log: whether equal ratios count alike; both ends are then above 0.
    """

    name: str
    low: float
    high: float
    log: bool = False

    def at(self, share: float) -> float:
        """The value at this share of the range, 0 to 1."""
        if self.log:
            return self.low * float((self.high / self.low) ** share)
        return self.low + (self.high - self.low) * share


@dataclass(frozen=True)
class OneOf:
    """A variable with some options, at least two. The first is the plain one."""

    name: str
    options: tuple[str, ...]


class Search:
    """A search in the space of some variables. The same seed and the same scores give the same points.

    Args:
        variables: the space.
        seed: of all random draws.

    Raises:
        ScenarioError: the package cmaes is not installed.
    """

    def __init__(self, variables: Sequence[Between | OneOf], seed: int) -> None:
        # The strategy needs a number; one that nobody reads does no harm.
        self._numbers = [one for one in variables if isinstance(one, Between)] or [Between("", 0.0, 1.0)]
        self._choices = [one for one in variables if isinstance(one, OneOf)]
        self._random = np.random.default_rng(seed)
        self._asked: list[Any] = []
        self._climb: Any = None
        self._left = _SPREAD
        #: The best point since the last climb ended, as an inner point.
        self._start: tuple[float, np.ndarray, np.ndarray] | None = None
        self._highest, self._since = -math.inf, 0
        self._make = _strategy()

    def ask(self) -> list[Point]:
        """The next points, `BATCH` of them."""
        if self._climb is None:
            self._asked = [self._drawn() for _ in range(BATCH)]
            inner = self._asked
        else:
            self._asked = [self._climb.ask() for _ in range(BATCH)]
            inner = [(found.x, None if found.c is None else found.c.argmax(axis=1)) for found in self._asked]
        return [self._outer(x, c) for x, c in inner]

    def tell(self, scores: Sequence[float]) -> None:
        """Takes the scores of the points that were asked for last; of one without an answer, -inf."""
        if self._climb is None:
            self._drew(scores)
        else:
            self._climbed(scores)

    def _drew(self, scores: Sequence[float]) -> None:
        for (x, c), score in zip(self._asked, scores, strict=True):
            if self._start is None or score > self._start[0]:
                self._start = score, x, c
        self._left -= 1
        if self._left == 0 and self._start is not None:
            _, x, c = self._start
            self._climb = self._make(
                x_space=[[0.0, 1.0]] * len(self._numbers),
                c_space=[len(one.options) for one in self._choices] or None,
                population_size=BATCH,
                mean=x.clip(0.01, 0.99),
                sigma=_STEP,
                cov=np.eye(len(self._numbers)),
                cat_param=self._around(c) if self._choices else None,
                seed=int(self._random.integers(2**31)),
            )
            self._highest, self._since = -math.inf, 0

    def _climbed(self, scores: Sequence[float]) -> None:
        top = max(scores)
        self._since = 0 if top > self._highest + _BETTER else self._since + 1
        self._highest = max(self._highest, top)
        if math.isfinite(top):
            # It seeks the lowest, takes finite numbers alone, and needs some difference between them.
            worst = 1 - min(filter(math.isfinite, scores))
            costs = [-score if math.isfinite(score) else worst for score in scores]
            pairs = enumerate(zip(self._asked, costs, strict=True))
            self._climb.tell([(one, cost + 1e-9 * i) for i, (one, cost) in pairs])
        if not math.isfinite(top) or self._since >= _STALLED or self._climb.should_stop():
            self._climb, self._start, self._left = None, None, _SPREAD // 2

    def _drawn(self) -> tuple[np.ndarray, np.ndarray]:
        x = self._random.random(len(self._numbers))
        plain = self._random.random(len(self._choices)) < _PLAIN
        other = [int(self._random.integers(1, len(one.options))) for one in self._choices]
        return x, np.where(plain, 0, np.array(other, dtype=int))

    def _around(self, chosen: np.ndarray) -> np.ndarray:
        """The probabilities of options at the start of a climb."""
        most = max(len(one.options) for one in self._choices)
        shares = np.zeros((len(self._choices), most))
        for i, one in enumerate(self._choices):
            shares[i, : len(one.options)] = (1 - _SURE) / (len(one.options) - 1)
            shares[i, chosen[i]] = _SURE
        return shares

    def _outer(self, x: np.ndarray, c: np.ndarray | None) -> Point:
        numbers = {one.name: one.at(float(share)) for one, share in zip(self._numbers, x, strict=True)}
        if c is None:
            return numbers
        return numbers | {one.name: one.options[int(at)] for one, at in zip(self._choices, c, strict=True)}


def _strategy() -> Any:
    # Of scipy.stats it needs functions for whole numbers, which no variable is; it takes 0.8 s to load.
    hidden = "scipy.stats" not in sys.modules
    if hidden:
        sys.modules["scipy.stats"] = None  # type: ignore[assignment]
    try:
        from cmaes import CatCMAwM
    except ImportError:
        raise extras.missing("break", "cmaes") from None
    finally:
        if hidden:
            del sys.modules["scipy.stats"]
    return CatCMAwM
